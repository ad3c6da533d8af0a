// What people write grammars in: GBNF, regular expressions and JSON schemas. All throw usage with the place of an
// error.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/grammar/rules.h"
#include "runtime/text/jinja/print.h"

namespace vantage::text::grammar {

/// The rules of llama.cpp's GBNF, of which "root" is the whole text.
Network gbnf_network(std::string_view gbnf);

/// How a character of a class stands in the text.
using CharPart = std::function<Part(RuleBuilder&, const CharRanges&)>;
/// A text that a regular expression matches from its start to its end, or with `somewhere` as ECMAScript's test() does:
/// at any place, unless it has ^ and $.
Part regex_part(RuleBuilder& rules, std::string_view regex, const CharPart& one_of, bool somewhere);
Network regex_network(std::string_view regex);

/// A character within a JSON string, escaped in one of JSON's ways where it has to be.
Part json_char(RuleBuilder& rules, const CharRanges& ranges);
/// A JSON text that a schema (draft 2020-12) allows; of `true` or {}: any JSON. `left_out`: takes the keywords that are
/// not supported, which then demand nothing.
Network json_schema_network(const jinja::OrderedJson& schema, std::vector<std::string>* left_out = nullptr);
/// Any JSON object.
Network json_object_network();

}  // namespace vantage::text::grammar
