#include "runtime/text/grammar/json_schema_tree.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"
#include "runtime/text/grammar/rules.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

constexpr int deepest_schema = 64;

struct Keyword {
    std::string_view name;
    KeywordKind kind;
    bool is_supported = true;
};
constexpr Keyword schema_keywords[] = {{"title", KeywordKind::annotation},
                                       {"description", KeywordKind::annotation},
                                       {"default", KeywordKind::annotation},
                                       {"examples", KeywordKind::annotation},
                                       {"$schema", KeywordKind::annotation},
                                       {"$id", KeywordKind::annotation},
                                       {"$comment", KeywordKind::annotation},
                                       {"$anchor", KeywordKind::annotation},  // a $ref to it is refused
                                       {"deprecated", KeywordKind::annotation},
                                       {"readOnly", KeywordKind::annotation},
                                       {"writeOnly", KeywordKind::annotation},
                                       {"$defs", KeywordKind::annotation},
                                       {"definitions", KeywordKind::annotation},
                                       {"type", KeywordKind::general},
                                       {"enum", KeywordKind::general},
                                       {"const", KeywordKind::general},
                                       {"$ref", KeywordKind::general},
                                       {"anyOf", KeywordKind::general},
                                       {"oneOf", KeywordKind::general},
                                       {"allOf", KeywordKind::general},
                                       {"minLength", KeywordKind::string},
                                       {"maxLength", KeywordKind::string},
                                       {"pattern", KeywordKind::string},
                                       {"format", KeywordKind::string},
                                       {"minimum", KeywordKind::number},
                                       {"maximum", KeywordKind::number},
                                       {"exclusiveMinimum", KeywordKind::number},
                                       {"exclusiveMaximum", KeywordKind::number},
                                       {"multipleOf", KeywordKind::number, false},
                                       {"items", KeywordKind::array},
                                       {"prefixItems", KeywordKind::array},
                                       {"additionalItems", KeywordKind::array},
                                       {"minItems", KeywordKind::array},
                                       {"maxItems", KeywordKind::array},
                                       {"uniqueItems", KeywordKind::array, false},
                                       {"contains", KeywordKind::array, false},
                                       {"minContains", KeywordKind::array, false},
                                       {"maxContains", KeywordKind::array, false},
                                       {"unevaluatedItems", KeywordKind::array, false},
                                       {"properties", KeywordKind::object},
                                       {"required", KeywordKind::object},
                                       {"additionalProperties", KeywordKind::object},
                                       {"patternProperties", KeywordKind::object, false},
                                       {"propertyNames", KeywordKind::object, false},
                                       {"minProperties", KeywordKind::object, false},
                                       {"maxProperties", KeywordKind::object, false},
                                       {"dependentRequired", KeywordKind::object, false},
                                       {"dependentSchemas", KeywordKind::object, false},
                                       {"dependencies", KeywordKind::object, false},
                                       {"unevaluatedProperties", KeywordKind::object, false}};

const Keyword* known_keyword(std::string_view name) {
    const auto* known = std::ranges::find(schema_keywords, name, &Keyword::name);
    return known == std::ranges::end(schema_keywords) ? nullptr : known;
}

// A token of a pointer: ~ and / are written ~0 and ~1.
std::string escaped_token(std::string_view token) {
    std::string escaped;
    for (const char c : token) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return escaped;
}

std::optional<std::string> unescaped_token(std::string_view escaped) {
    std::string token;
    for (std::size_t i = 0; i < escaped.size(); ++i) {
        if (escaped[i] != '~') {
            token += escaped[i];
            continue;
        }
        if (++i == escaped.size() || (escaped[i] != '0' && escaped[i] != '1')) return std::nullopt;
        token += escaped[i] == '0' ? '~' : '/';
    }
    return token;
}

// %XX, as in addresses.
std::optional<std::string> percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        if (text.size() - i < 3) return std::nullopt;
        std::uint8_t byte = 0;
        const char* const first = text.data() + i + 1;
        if (std::from_chars(first, first + 2, byte, 16).ptr != first + 2) return std::nullopt;
        decoded += static_cast<char>(byte);
        i += 2;
    }
    return decoded;
}

const Schema* child_of(const Schema& at, const std::string& token) {
    if (at.is_object()) {
        const auto found = at.find(token);
        return found == at.end() ? nullptr : &*found;
    }
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
    const bool is_index = error == std::errc() && end == token.data() + token.size();
    return at.is_array() && is_index && index < at.size() ? &at[index] : nullptr;
}

}  // namespace

SchemaTree::SchemaTree(const Schema& root, std::vector<std::string>* left_out) : root_(&root), left_out_(left_out) {
    check_depth(root, 1);
}

void SchemaTree::check_depth(const Schema& json, int depth) const {
    if (!json.is_structured()) return;
    if (depth > deepest_schema) throw usage_error("JSON schema: it is nested deeper than {} levels", deepest_schema);
    for (const Schema& element : json) check_depth(element, depth + 1);
}

// A search, because it is needed once at most.
bool SchemaTree::find_path(const Schema& from, const Schema& wanted, std::string& path) {
    if (&from == &wanted) return true;
    if (!from.is_structured()) return false;
    const std::size_t here = path.size();
    for (const auto& [token, element] : from.items()) {
        path += "/" + escaped_token(token);
        if (find_path(element, wanted, path)) return true;
        path.resize(here);
    }
    return false;
}

void SchemaTree::fail(const Schema& at, const std::string& what) const {
    constexpr std::size_t longest = 200;
    std::string path;
    find_path(*root_, at, path);
    if (!path.empty()) path = cut_short(escape_controls(repair_utf8(path)), longest) + ": ";
    throw usage_error("JSON schema: " + path + what);
}

void SchemaTree::leave_out(const Schema& at, std::string_view keyword, const std::string& what) const {
    constexpr std::size_t most = 100;
    if (left_out_ == nullptr) fail(at, what);
    if (std::ranges::find(*left_out_, keyword) != left_out_->end()) return;
    if (left_out_->size() >= most) fail(at, format("more than {} keywords are not supported", most));
    left_out_->emplace_back(keyword);
}

void SchemaTree::fail_value(const Schema& schema, std::string_view keyword, std::string_view wanted) const {
    const std::string found = describe(schema.at(std::string(keyword)));
    fail(schema, format("\"{}\" is {}, wanted {}", keyword, found, wanted));
}

const Schema* SchemaTree::find(const Schema& schema, std::string_view keyword) const {
    const auto found = schema.find(std::string(keyword));
    return found == schema.end() ? nullptr : &*found;
}
const Schema* SchemaTree::find_list(const Schema& schema, std::string_view keyword) const {
    const Schema* value = find(schema, keyword);
    if (value != nullptr && !value->is_array()) fail_value(schema, keyword, "a list");
    return value;
}
const Schema* SchemaTree::find_object(const Schema& schema, std::string_view keyword) const {
    const Schema* value = find(schema, keyword);
    if (value != nullptr && !value->is_object()) fail_value(schema, keyword, "an object");
    return value;
}
std::optional<std::string> SchemaTree::find_text(const Schema& schema, std::string_view keyword) const {
    const Schema* value = find(schema, keyword);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) fail_value(schema, keyword, "a text");
    return value->get<std::string>();
}
const Schema* SchemaTree::find_number(const Schema& schema, std::string_view keyword) const {
    const Schema* value = find(schema, keyword);
    if (value == nullptr) return nullptr;
    if (!value->is_number() || !std::isfinite(value->get<double>())) fail_value(schema, keyword, "a number");
    return value;
}
std::optional<std::int64_t> SchemaTree::find_count(const Schema& schema, std::string_view keyword) const {
    const Schema* value = find(schema, keyword);
    if (value == nullptr) return std::nullopt;
    const std::optional<std::int64_t> count = value->is_number() ? JsonFields::integer_of(*value) : std::nullopt;
    if (count && *count > most_repetitions && left_out_ != nullptr) {
        leave_out(schema, keyword, "");
        return std::nullopt;
    }
    if (!count || *count < 0 || *count > most_repetitions)
        fail_value(schema, keyword, format("an integer from 0 to {}", most_repetitions));
    return count;
}

std::vector<std::string> SchemaTree::texts(const Schema& schema, std::string_view keyword) const {
    std::vector<std::string> all;
    const Schema* list = find_list(schema, keyword);
    if (list == nullptr) return all;
    for (const Schema& text : *list) {
        if (!text.is_string()) fail_value(schema, keyword, "a list of texts");
        all.push_back(text.get<std::string>());
    }
    return all;
}

void SchemaTree::check_keywords(const Schema& schema) const {
    if (!schema.is_object()) fail(schema, "it is " + describe(schema) + ", wanted a schema: an object, true or false");
    for (const auto& [name, value] : schema.items())
        if (known_keyword(name) == nullptr) leave_out(schema, name, in_quotes(name) + " is not supported");
}

void SchemaTree::leave_out_unsupported(const Schema& schema, KeywordKind kind) const {
    for (const auto& [name, value] : schema.items()) {
        const Keyword* known = known_keyword(name);
        const bool demands_nothing = name == "uniqueItems" && value == false;
        if (known != nullptr && known->kind == kind && !known->is_supported && !demands_nothing)
            leave_out(schema, name, in_quotes(name) + " is not supported");
    }
}

void SchemaTree::leave_out_others(const Schema& schema, std::string_view keyword,
                                  std::vector<std::string_view> allowed) const {
    allowed.push_back(keyword);
    for (const auto& [name, value] : schema.items())
        if (!is_annotation(name) && std::ranges::find(allowed, name) == allowed.end())
            leave_out(schema, name, format("{} beside \"{}\" is not supported", in_quotes(name), keyword));
}

bool SchemaTree::is_annotation(std::string_view keyword) {
    const Keyword* known = known_keyword(keyword);
    return known != nullptr && known->kind == KeywordKind::annotation;
}

bool SchemaTree::has_kind(const Schema& schema, KeywordKind kind) const {
    for (const auto& [name, value] : schema.items())
        if (const Keyword* known = known_keyword(name); known != nullptr && known->kind == kind) return true;
    return false;
}

const Schema& SchemaTree::target(const Schema& schema) const {
    const std::string reference = find_text(schema, "$ref").value_or("");
    const std::optional<std::string> decoded = percent_decoded(reference);
    if (!decoded || !(*decoded == "#" || decoded->starts_with("#/"))) {
        static const Schema anything = true;
        leave_out(
            schema, "$ref",
            format("\"$ref\" is {}, wanted a place in this schema such as \"#/$defs/name\"", in_quotes(reference)));
        return anything;
    }
    const Schema* at = root_;
    for (std::size_t begin = 1; begin < decoded->size() && at != nullptr;) {
        const std::size_t end = std::min(decoded->find('/', begin + 1), decoded->size());
        const auto token = unescaped_token(std::string_view(*decoded).substr(begin + 1, end - begin - 1));
        at = token ? child_of(*at, *token) : nullptr;
        begin = end;
    }
    if (at == nullptr) fail(schema, format("\"$ref\" is {}, which is not in this schema", in_quotes(reference)));
    return *at;
}

}  // namespace vantage::text::grammar
