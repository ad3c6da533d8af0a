// JSON texts whatever the schema: punctuation, any values, given values, names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/grammar/rules.h"
#include "runtime/text/jinja/print.h"

namespace vantage::text::grammar {

/// On one line and without spaces. Strings have escapes only where needed, and U+FFFD for what is not UTF-8.
std::string compact_json(const jinja::OrderedJson& value);
/// A comma or a colon, and at most one space.
Part json_mark(RuleBuilder& rules, std::string_view mark);
/// A part between the quotes of a string.
Part json_quoted(RuleBuilder& rules, Part inner);

/// One of these texts, as a tree of their beginnings: a plain choice would make a place in the network of each.
Part one_of_texts(RuleBuilder& rules, std::vector<std::string> texts);

/// Rules for any JSON. A network has those of them that it needs.
struct AnyJson {
    explicit AnyJson(RuleBuilder& rules);
    Rule character;  ///< of a string, in each way of writing it
    Rule string, object, array, value;
};

/// One of these values, as `compact_json` writes them but for the spaces of `json_mark`.
Part json_values(RuleBuilder& rules, const std::vector<const jinja::OrderedJson*>& values);
/// A string other than these, in quotes and without escapes.
Part json_other_name(RuleBuilder& rules, const std::vector<std::string>& names);

/// The regular expression of the format of strings with this name, such as "date"; nothing for an unknown one.
std::optional<std::string> json_format_regex(std::string_view name);
/// All that are known, for messages.
std::string json_format_names();

}  // namespace vantage::text::grammar
