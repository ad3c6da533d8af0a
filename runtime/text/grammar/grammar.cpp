#include "vantage/grammar.h"

#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/json_text.h"
#include "runtime/text/grammar/matcher.h"

namespace vantage {

using namespace internal;
using namespace text::grammar;

namespace {

OrderedJson parsed_schema(std::string_view text) {
    constexpr std::size_t largest = 1u << 20;
    if (text.size() > largest) throw usage_error("JSON schema: it has more than {} bytes", largest);
    try {
        return parse_json<OrderedJson>(text, "JSON schema", 6, most_ordered_keys);
    } catch (const Error& error) {
        throw usage_error(error.what());
    }
}

}  // namespace

Grammar::Grammar(Network network) : network_(std::make_shared<const Network>(std::move(network))) {
    Matcher matcher(network_);
    if (!matcher.may_go_on(matcher.start())) throw usage_error("grammar: only the empty text fits it");
}

Grammar Grammar::gbnf(std::string_view rules) { return Grammar(gbnf_network(rules)); }
Grammar Grammar::regex(std::string_view pattern) { return Grammar(regex_network(pattern)); }
Grammar Grammar::one_of(std::span<const std::string> texts) {
    RuleBuilder rules;
    const Rule root = rules.declare("root");
    rules.define(root, one_of_texts(rules, {texts.begin(), texts.end()}));
    return Grammar(rules.build(root));
}
Grammar Grammar::json_schema(std::string_view schema) { return Grammar(json_schema_network(parsed_schema(schema))); }
Grammar Grammar::json_object() { return Grammar(json_object_network()); }

bool Grammar::accepts(std::string_view utf8) const {
    Matcher matcher(network_);
    Matcher::State state = matcher.start();
    for (const char byte : utf8) {
        matcher.begin_search();
        if (matcher.is_full()) state = matcher.forget_but(state);
        state = matcher.step(state, static_cast<std::uint8_t>(byte));
    }
    return matcher.may_end(state);
}

}  // namespace vantage
