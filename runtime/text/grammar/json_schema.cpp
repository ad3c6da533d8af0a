#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/json_numbers.h"
#include "runtime/text/grammar/json_objects.h"
#include "runtime/text/grammar/json_schema_tree.h"
#include "runtime/text/grammar/json_text.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

constexpr std::size_t most_schemas = 20000;
constexpr std::string_view schema_types[] = {"null", "boolean", "integer", "number", "string", "array", "object"};

bool has_type(const Schema& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number() && (value.is_number_integer() || JsonFields::integer_of(value));
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    return type == "array" ? value.is_array() : value.is_object();
}

// Each schema becomes a rule, which is defined later than it is used: so references may lead anywhere, and a long chain
// of them takes no stack.
class SchemaRules {
public:
    SchemaRules(const Schema& root, std::vector<std::string>* left_out) : tree_(root, left_out), any_(rules_) {}

    Network network() {
        const Rule root = rule_of(tree_.root());
        for (std::size_t i = 0; i < pending_.size(); ++i) {  // grows meanwhile
            const auto [schema, rule] = pending_[i];
            rules_.define(rule, schema_part(*schema));
        }
        refuse_circles();
        return rules_.build(root);
    }

private:
    Rule rule_of(const Schema& schema) {
        const auto known = rule_of_.find(&schema);
        if (known != rule_of_.end()) return known->second;
        if (pending_.size() >= most_schemas) tree_.fail(schema, format("more than {} schemas", most_schemas));
        const Rule rule = rules_.declare("schema");
        pending_.emplace_back(&schema, rule);
        return rule_of_[&schema] = rule;
    }
    Part use(const Schema& schema) { return rules_.use(rule_of(schema)); }
    // The text of `schema` is that of `other`.
    Part same_as(const Schema& schema, const Schema& other) {
        same_[&schema].push_back(&other);
        return use(other);
    }

    Part schema_part(const Schema& schema) {
        if (schema.is_boolean()) return schema.get<bool>() ? rules_.use(any_.value) : rules_.never();
        tree_.check_keywords(schema);
        for (const char* keyword : {"$ref", "anyOf", "oneOf", "enum", "const"})
            if (schema.contains(keyword)) return keyword_part(schema, keyword);
        if (schema.contains("allOf")) return all_of_part(schema);
        const std::vector<std::string> types = types_of(schema);
        if (types.empty() && !schema.contains("type")) return rules_.use(any_.value);
        std::vector<Part> ways;
        for (const std::string& type : types) ways.push_back(type_part(schema, type));
        return rules_.choice(std::move(ways));
    }

    // A keyword that says everything.
    Part keyword_part(const Schema& schema, std::string_view keyword) {
        const bool gives_values = keyword == "enum" || keyword == "const";
        tree_.leave_out_others(schema, keyword,
                               gives_values ? std::vector<std::string_view>{"type"} : std::vector<std::string_view>{});
        if (keyword == "$ref") return same_as(schema, tree_.target(schema));
        if (gives_values) return values_part(schema, keyword);
        // of oneOf, too: that no second one fits is not checked
        std::vector<Part> ways;
        for (const Schema& one : *tree_.find_list(schema, keyword)) ways.push_back(same_as(schema, one));
        return rules_.choice(std::move(ways));
    }

    Part values_part(const Schema& schema, std::string_view keyword) {
        const std::vector<std::string> types = types_of(schema);
        std::vector<const Schema*> values;
        const auto add = [&](const Schema& value) {
            const auto fits = [&](const std::string& type) { return has_type(value, type); };
            if (!schema.contains("type") || std::ranges::any_of(types, fits)) values.push_back(&value);
        };
        if (keyword == "const")
            add(*tree_.find(schema, keyword));
        else
            for (const Schema& value : *tree_.find_list(schema, keyword)) add(value);
        return json_values(rules_, values);
    }

    // Those given, or those that the keywords are about.
    std::vector<std::string> types_of(const Schema& schema) const {
        std::vector<std::string> given, types;
        if (const Schema* type = tree_.find(schema, "type"); type == nullptr)
            given = types_by_keywords(schema);
        else
            given = type->is_string() ? std::vector{type->get<std::string>()} : tree_.texts(schema, "type");
        for (const std::string& type : given) {
            if (std::ranges::find(schema_types, type) == std::ranges::end(schema_types)) {
                tree_.leave_out(
                    schema, "type",
                    format("the type {} is unknown, wanted one of: {}", in_quotes(type), join(schema_types)));
                return {std::begin(schema_types), std::end(schema_types)};
            }
            if (std::ranges::find(types, type) == types.end()) types.push_back(type);
        }
        return types;
    }
    std::vector<std::string> types_by_keywords(const Schema& schema) const {
        static constexpr std::pair<KeywordKind, std::string_view> kinds[] = {{KeywordKind::string, "string"},
                                                                             {KeywordKind::number, "number"},
                                                                             {KeywordKind::array, "array"},
                                                                             {KeywordKind::object, "object"}};
        std::vector<std::string> types;
        for (const auto& [kind, type] : kinds)
            if (tree_.has_kind(schema, kind)) types.emplace_back(type);
        return types;
    }

    Part type_part(const Schema& schema, const std::string& type) {
        if (type == "null") return rules_.text("null");
        if (type == "boolean") return rules_.choice({rules_.text("true"), rules_.text("false")});
        if (type == "integer" || type == "number") return number_part(schema, type == "integer");
        if (type == "string") return string_part(schema);
        return type == "array" ? array_part(schema) : object_part(schema);
    }

    // ---- numbers ----

    Part number_part(const Schema& schema, bool integers) {
        tree_.leave_out_unsupported(schema, KeywordKind::number);
        const auto least = bound_of(schema, "minimum", "exclusiveMinimum", higher_bound);
        const auto most = bound_of(schema, "maximum", "exclusiveMaximum", lower_bound);
        if (!least && !most) return integers ? json_integer(rules_) : json_number(rules_);
        return integers ? json_integer_between(rules_, least, most) : json_number_between(rules_, least, most);
    }

    // In draft 4, the exclusive one is a boolean about the other.
    std::optional<NumberBound> bound_of(const Schema& schema, std::string_view keyword, std::string_view exclusive,
                                        NumberBound (*narrower)(const NumberBound&, const NumberBound&)) const {
        std::optional<NumberBound> bound;
        if (const Schema* number = tree_.find_number(schema, keyword)) bound = number_bound(*number, true);
        const Schema* excluded = tree_.find(schema, exclusive);
        if (excluded == nullptr || *excluded == false) return bound;
        if (*excluded == true) {
            if (bound) bound->included = false;
            return bound;
        }
        const NumberBound other = number_bound(*tree_.find_number(schema, exclusive), false);
        return bound ? narrower(*bound, other) : other;
    }

    // ---- strings ----

    Part string_part(const Schema& schema) {
        tree_.leave_out_unsupported(schema, KeywordKind::string);
        const bool has_pattern = schema.contains("pattern");
        if (has_pattern || schema.contains("format")) {
            const std::string_view keyword = has_pattern ? "pattern" : "format";
            for (const char* other : {"format", "minLength", "maxLength"})
                if (other != keyword && schema.contains(other))
                    tree_.leave_out(schema, other, format("\"{}\" beside \"{}\" is not supported", other, keyword));
            return has_pattern ? pattern_part(schema) : format_part(schema);
        }
        const std::optional<std::int64_t> least = tree_.find_count(schema, "minLength"),
                                          most = tree_.find_count(schema, "maxLength");
        if (!least && !most) return rules_.use(any_.string);
        if (least && most && *least > *most) return rules_.never();
        return json_quoted(rules_, rules_.repeat(rules_.use(any_.character), least.value_or(0), most));
    }

    Part pattern_part(const Schema& schema) {
        const std::string pattern = *tree_.find_text(schema, "pattern");
        try {
            return json_quoted(rules_, regex_part(rules_, pattern, json_char, true));
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::usage) throw;
            tree_.leave_out(schema, "pattern", std::string("\"pattern\": ") + error.what());
        }
        return rules_.use(any_.string);
    }

    Part format_part(const Schema& schema) {
        const std::string name = *tree_.find_text(schema, "format");
        const std::optional<std::string> regex = json_format_regex(name);
        if (regex) return json_quoted(rules_, regex_part(rules_, *regex, json_char, false));
        tree_.leave_out(
            schema, "format",
            format("the format {} is not supported, wanted one of: {}", in_quotes(name), json_format_names()));
        return rules_.use(any_.string);
    }

    // ---- arrays ----

    // Until 2019, `items` was a list like `prefixItems`, and `additionalItems` like `items`. Without a schema for what
    // comes after a list there is nothing more.
    Part array_part(const Schema& schema) {
        tree_.leave_out_unsupported(schema, KeywordKind::array);
        const Schema* items = tree_.find(schema, "items");
        const bool is_old = items != nullptr && items->is_array();
        if (is_old && schema.contains("prefixItems"))
            tree_.fail(schema, "\"items\" is a list beside \"prefixItems\", wanted a schema");
        const Schema* prefix = is_old ? items : tree_.find_list(schema, "prefixItems");
        const Schema* rest = is_old ? tree_.find(schema, "additionalItems") : items;
        const std::int64_t least = tree_.find_count(schema, "minItems").value_or(0);
        std::optional<std::int64_t> most = tree_.find_count(schema, "maxItems");
        std::vector<Part> first;
        if (prefix != nullptr)
            for (const Schema& one : *prefix) first.push_back(use(one));
        if (prefix != nullptr && rest == nullptr)
            most = std::min(most.value_or(prefix->size()), static_cast<std::int64_t>(prefix->size()));
        if (most && *most < least) return rules_.never();
        return items_part(first, rest != nullptr ? use(*rest) : rules_.use(any_.value), least, most);
    }

    // After each of the first items follows a rule in the last place, from the last one backwards.
    Part items_part(const std::vector<Part>& first, Part other, std::int64_t least, std::optional<std::int64_t> most) {
        const Rule one_more = rules_.declare("item");
        rules_.define(one_more, rules_.sequence({json_mark(rules_, ","), other}));
        std::int64_t before = static_cast<std::int64_t>(first.size());
        if (most) before = std::min(before, *most);
        Part rest = rules_.text("]");
        if (before > 0)
            rest = rules_.sequence({times(rules_.use(one_more), least - before, most, before), rest});
        else if (!most || *most > 0)
            rest = rules_.sequence({other, times(rules_.use(one_more), least - 1, most, 1), rest});
        if (before == 0 && least == 0 && (!most || *most > 0)) rest = rules_.choice({rules_.text("]"), rest});
        while (before-- > 0) {
            const Rule after = rules_.declare("items");
            rules_.define(after, rest);
            const Part item = first[static_cast<std::size_t>(before)];
            rest = rules_.sequence({item, rules_.use(after)});
            if (before > 0) rest = rules_.sequence({json_mark(rules_, ","), rest});
            if (least <= before) rest = rules_.choice({rules_.text("]"), rest});
        }
        return rules_.sequence({rules_.text("["), rest});
    }
    // A repetition of which some times are over.
    Part times(Part part, std::int64_t least, std::optional<std::int64_t> most, std::int64_t over) {
        if (most) *most -= over;
        return rules_.repeat(part, std::max<std::int64_t>(least, 0), most);
    }

    // ---- objects ----

    Part object_part(const Schema& schema) {
        tree_.leave_out_unsupported(schema, KeywordKind::object);
        const ObjectMembers object = object_members(tree_, schema, work_);
        if (object.members.empty() && object.has_others && object.others == nullptr) return rules_.use(any_.object);
        return object_with(rules_, object, [this](const Schema* value) {
            return value == nullptr ? rules_.use(any_.value) : use(*value);
        });
    }

    // Of one schema: that one. Otherwise of objects, whose members are put together.
    Part all_of_part(const Schema& schema) {
        const Schema& all = *tree_.find_list(schema, "allOf");
        bool is_alone = all.size() == 1;
        for (const auto& [name, value] : schema.items())
            is_alone = is_alone && (name == "allOf" || SchemaTree::is_annotation(name));
        return is_alone ? same_as(schema, all.front()) : object_part(schema);
    }

    // Throws if the text of a schema is that of itself, so that it never reaches a type.
    void refuse_circles() const {
        std::unordered_map<const Schema*, std::size_t> visited;  // how many of its others are done
        for (const auto& [start, ignored] : same_) {
            std::vector<const Schema*> path;
            std::set<const Schema*> on_path;
            const auto enter = [&](const Schema* schema) {
                if (!on_path.insert(schema).second) tree_.fail(*schema, "it refers to itself and never reaches a type");
                path.push_back(schema);
            };
            enter(start);
            while (!path.empty()) {
                const auto others = same_.find(path.back());
                std::size_t& done = visited[path.back()];
                if (others != same_.end() && done < others->second.size()) {
                    enter(others->second[done++]);
                } else {
                    on_path.erase(path.back());
                    path.pop_back();
                }
            }
        }
    }

    SchemaTree tree_;
    std::size_t work_ = 0;  // of object_members
    RuleBuilder rules_;
    AnyJson any_;
    std::vector<std::pair<const Schema*, Rule>> pending_;
    std::unordered_map<const Schema*, Rule> rule_of_;
    std::unordered_map<const Schema*, std::vector<const Schema*>> same_;
};

}  // namespace

Network json_schema_network(const jinja::OrderedJson& schema, std::vector<std::string>* left_out) {
    return SchemaRules(schema, left_out).network();
}

}  // namespace vantage::text::grammar
