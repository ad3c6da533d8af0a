#include "runtime/text/grammar/json_text.h"

#include <algorithm>
#include <utility>

#include "runtime/base/utf8.h"
#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/json_numbers.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

struct ShortEscape {
    char32_t code, letter;
};
// "/" is left out: it may be escaped, but does not have to be.
constexpr ShortEscape short_escapes[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                                         {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};
constexpr char32_t first_unescaped = 0x20;

// The characters that stand for themselves in a string.
const CharRanges& unescaped_chars() {
    static const CharRanges all =
        normalised({{first_unescaped, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, last_code_point}});
    return all;
}

bool has_char(const CharRanges& ranges, char32_t code) {
    return std::ranges::any_of(ranges, [&](const CharRange& r) { return r.first <= code && code <= r.last; });
}

bool has_short_escape(char32_t code) {
    return std::ranges::find(short_escapes, code, &ShortEscape::code) != std::ranges::end(short_escapes);
}

// The control characters of `ranges` without a short escape that are written \u00HX, for the digit H.
Part long_escapes(RuleBuilder& rules, const CharRanges& ranges, char32_t high) {
    CharRanges digits;
    for (char32_t low = 0; low < 16; ++low) {
        const char32_t code = 16 * high + low;
        if (!has_char(ranges, code) || has_short_escape(code)) continue;
        const char32_t lower = low < 10 ? U'0' + low : U'a' + (low - 10), upper = low < 10 ? lower : U'A' + (low - 10);
        digits.insert(digits.end(), {{lower, lower}, {upper, upper}});
    }
    return rules.one_of(std::move(digits));
}

// Any character in any way. A surrogate must be the first of a pair, which then is the character.
Part any_json_char(RuleBuilder& rules) {
    const Part hex = rules.one_of({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
    const Part d = rules.one_of({{'D', 'D'}, {'d', 'd'}});
    const Part unpaired = rules.choice(
        {rules.sequence({rules.one_of({{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}), hex, hex, hex}),
         rules.sequence({d, rules.one_of({{'0', '7'}}), hex, hex})});
    const Part pair = rules.sequence({d, rules.one_of({{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), hex, hex,
                                      rules.text("\\u"), d, rules.one_of({{'C', 'F'}, {'c', 'f'}}), hex, hex});
    CharRanges letters{{'/', '/'}};
    for (const ShortEscape& escape : short_escapes) letters.push_back({escape.letter, escape.letter});
    return rules.choice({rules.one_of(unescaped_chars()),
                         rules.sequence({rules.text("\\"), rules.one_of(std::move(letters))}),
                         rules.sequence({rules.text("\\u"), rules.choice({unpaired, pair})})});
}

// [ or {, elements with commas, ] or }. The end is a call of a rule in the last place, so that it needs no depth.
Part any_json_list(RuleBuilder& rules, std::string_view open, Part element, std::string_view close) {
    const Rule rest = rules.declare("elements");
    const Part end = rules.text(close);
    rules.define(rest, rules.choice({end, rules.sequence({json_mark(rules, ","), element, rules.use(rest)})}));
    return rules.sequence({rules.text(open), rules.choice({end, rules.sequence({element, rules.use(rest)})})});
}

Part json_value(RuleBuilder& rules, const jinja::OrderedJson& value) {
    if (!value.is_structured()) return rules.text(compact_json(value));
    std::vector<Part> parts{rules.text(value.is_object() ? "{" : "[")};
    for (const auto& [name, element] : value.items()) {
        if (parts.size() > 1) parts.push_back(json_mark(rules, ","));
        if (value.is_object()) {
            parts.push_back(rules.text(compact_json(name)));
            parts.push_back(json_mark(rules, ":"));
        }
        parts.push_back(json_value(rules, element));
    }
    parts.push_back(rules.text(value.is_object() ? "}" : "]"));
    return rules.sequence(std::move(parts));
}

// Sorted texts from `first` to before `last` that have the same beginning, which `rule` comes after.
struct TrieNode {
    Rule rule;
    std::size_t first, last, depth;
};

// How many texts from `first` on go on with the same character.
template <class Text>
std::size_t end_of_branch(const std::vector<Text>& texts, const TrieNode& node, std::size_t first) {
    std::size_t end = first;
    while (end < node.last && texts[end][node.depth] == texts[first][node.depth]) ++end;
    return end;
}

template <class Text>
void sort_texts(std::vector<Text>& texts) {
    std::ranges::sort(texts);
    const auto repeated = std::ranges::unique(texts);
    texts.erase(repeated.begin(), repeated.end());
}

// What may follow a common beginning of names: not the end if a name ends here, and only those other characters that
// lead away from the names, after which anything goes.
void define_other_names(RuleBuilder& rules, const std::vector<std::u32string>& names, Rule anything,
                        std::vector<TrieNode>& nodes) {
    const TrieNode node = nodes.back();
    nodes.pop_back();
    std::vector<Part> ways;
    CharRanges branches;
    std::size_t at = node.first;
    if (at < node.last && names[at].size() == node.depth)
        ++at;
    else
        ways.push_back(rules.text("\""));
    while (at < node.last) {
        const char32_t code = names[at][node.depth];
        const std::size_t end = end_of_branch(names, node, at);
        branches.push_back({code, code});
        nodes.push_back({rules.declare("other name"), at, end, node.depth + 1});
        ways.push_back(rules.sequence({rules.one_of({{code, code}}), rules.use(nodes.back().rule)}));
        at = end;
    }
    const CharRanges others = intersection(unescaped_chars(), complement(normalised(std::move(branches))));
    ways.push_back(rules.sequence({rules.one_of(others), rules.use(anything)}));
    rules.define(node.rule, rules.choice(std::move(ways)));
}

}  // namespace

Part one_of_texts(RuleBuilder& rules, std::vector<std::string> texts) {
    sort_texts(texts);
    if (texts.empty()) return rules.never();
    const Rule root = rules.declare("texts");
    std::vector<TrieNode> nodes{{root, 0, texts.size(), 0}};
    while (!nodes.empty()) {
        const TrieNode node = nodes.back();
        nodes.pop_back();
        std::vector<Part> ways;
        std::size_t at = node.first;
        if (texts[at].size() == node.depth) ways.push_back(rules.nothing()), ++at;
        while (at < node.last) {
            const std::size_t end = end_of_branch(texts, node, at);
            const std::string &first = texts[at], &last = texts[end - 1];
            const auto common = static_cast<std::size_t>(std::ranges::mismatch(first, last).in1 - first.begin());
            const Part beginning = rules.text(std::string_view(first).substr(node.depth, common - node.depth));
            if (end - at > 1) nodes.push_back({rules.declare("texts"), at, end, common});
            ways.push_back(end - at > 1 ? rules.sequence({beginning, rules.use(nodes.back().rule)}) : beginning);
            at = end;
        }
        rules.define(node.rule, rules.choice(std::move(ways)));
    }
    return rules.use(root);
}

std::string compact_json(const jinja::OrderedJson& value) {
    return value.dump(-1, ' ', false, jinja::OrderedJson::error_handler_t::replace);
}

Part json_mark(RuleBuilder& rules, std::string_view mark) {
    return rules.sequence({rules.text(mark), rules.optional(rules.text(" "))});
}

Part json_quoted(RuleBuilder& rules, Part inner) { return rules.sequence({rules.text("\""), inner, rules.text("\"")}); }

Part json_char(RuleBuilder& rules, const CharRanges& ranges) {
    const CharRanges wanted = normalised(ranges);
    const CharRanges unescaped = intersection(wanted, unescaped_chars());
    std::vector<Part> ways;
    if (!unescaped.empty()) ways.push_back(rules.one_of(unescaped));
    CharRanges letters;
    for (const ShortEscape& escape : short_escapes)
        if (has_char(wanted, escape.code)) letters.push_back({escape.letter, escape.letter});
    if (!letters.empty()) ways.push_back(rules.sequence({rules.text("\\"), rules.one_of(std::move(letters))}));
    if (!wanted.empty() && wanted.front().first < first_unescaped)
        for (const char32_t high : {0u, 1u})
            ways.push_back(
                rules.sequence({rules.text(high == 0 ? "\\u000" : "\\u001"), long_escapes(rules, wanted, high)}));
    if (ways.size() == 1 && wanted.back().last < 0x80) return ways.front();
    const Rule rule = rules.declare("character");  // a rule because it may be repeated often
    rules.define(rule, rules.choice(std::move(ways)));
    return rules.use(rule);
}

AnyJson::AnyJson(RuleBuilder& rules)
    : character(rules.declare("character")),
      string(rules.declare("string")),
      object(rules.declare("object")),
      array(rules.declare("array")),
      value(rules.declare("value")) {
    const Part one = any_json_char(rules);
    rules.define(character, one);
    rules.define(string, json_quoted(rules, rules.repeat(one, 0, std::nullopt)));
    const Part member = rules.sequence({rules.use(string), json_mark(rules, ":"), rules.use(value)});
    rules.define(object, any_json_list(rules, "{", member, "}"));
    rules.define(array, any_json_list(rules, "[", rules.use(value), "]"));
    rules.define(value, rules.choice({rules.use(object), rules.use(array), rules.use(string), json_number(rules),
                                      rules.text("true"), rules.text("false"), rules.text("null")}));
}

Part json_values(RuleBuilder& rules, const std::vector<const jinja::OrderedJson*>& values) {
    std::vector<std::string> texts;
    std::vector<Part> ways;
    for (const jinja::OrderedJson* value : values) {
        if (value->is_structured())
            ways.push_back(json_value(rules, *value));
        else
            texts.push_back(compact_json(*value));
    }
    ways.push_back(one_of_texts(rules, std::move(texts)));
    return rules.choice(std::move(ways));
}

Part json_other_name(RuleBuilder& rules, const std::vector<std::string>& names) {
    std::vector<std::u32string> unescaped;  // the others are other names anyway
    for (const std::string& name : names) {
        std::u32string codes = decode_utf8(name);
        if (std::ranges::all_of(codes, [](char32_t code) { return has_char(unescaped_chars(), code); }))
            unescaped.push_back(std::move(codes));
    }
    sort_texts(unescaped);
    const Rule anything = rules.declare("end of a name"), root = rules.declare("other name");
    const Part one = rules.one_of(unescaped_chars());
    rules.define(anything, rules.sequence({rules.repeat(one, 0, std::nullopt), rules.text("\"")}));
    std::vector<TrieNode> nodes{{root, 0, unescaped.size(), 0}};
    while (!nodes.empty()) define_other_names(rules, unescaped, anything, nodes);
    return rules.sequence({rules.text("\""), rules.use(root)});
}

Network json_object_network() {
    RuleBuilder rules;
    return rules.build(AnyJson(rules).object);
}

}  // namespace vantage::text::grammar
