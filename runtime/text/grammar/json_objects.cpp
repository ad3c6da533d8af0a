#include "runtime/text/grammar/json_objects.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/base/json.h"
#include "runtime/text/grammar/json_text.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

constexpr std::ptrdiff_t most_optional = 1000;  // the matcher follows each that may come next

class MemberCollector {
public:
    MemberCollector(const SchemaTree& tree, std::size_t& work) : tree_(tree), work_(work) {}

    ObjectMembers members_of(const Schema& schema) {
        if (schema.contains("allOf"))
            merge_all(schema);
        else
            add_properties(schema);
        add_others(schema);
        // after the others are known: a required name may be one of them
        for (const std::string& name : required_) require(name);
        const auto optional = std::ranges::count(object_.members, false, &ObjectMembers::Member::is_required);
        if (optional > most_optional)
            tree_.fail(schema, format("{} optional properties, wanted at most {}", optional, most_optional));
        return std::move(object_);
    }

private:
    void merge_all(const Schema& schema) {
        add_merged(schema, 0);
        if (!is_object_) tree_.fail(schema, "\"allOf\" is supported of one schema, or of objects");
    }

    // A schema that is reached twice says nothing new. So the work is bounded, and references may go in circles.
    void add_merged(const Schema& schema, int depth) {
        constexpr int deepest = 64;
        if (schema == true || !seen_.insert(&schema).second) return;
        if (depth > deepest)
            tree_.fail(schema, format("\"allOf\" and \"$ref\" are nested deeper than {} levels", deepest));
        count(schema, 1 + schema.size());
        tree_.check_keywords(schema);
        if (schema.contains("$ref")) {
            tree_.leave_out_others(schema, "$ref");
            return add_merged(tree_.target(schema), depth + 1);
        }
        for (const auto& [name, value] : schema.items()) {
            const bool is_merged = name == "properties" || name == "required" || name == "allOf";
            if (!is_merged && !(name == "type" && value == "object") && !SchemaTree::is_annotation(name))
                tree_.leave_out(schema, name,
                                in_quotes(name) + (name == "type" ? " other than \"object\"" : "") +
                                    " is not supported in an \"allOf\" that is merged");
            is_object_ = is_object_ || name == "type" || name == "properties" || name == "required";
        }
        if (const Schema* all = tree_.find_list(schema, "allOf"))
            for (const Schema& one : *all) add_merged(one, depth + 1);
        add_properties(schema);
    }

    void add_properties(const Schema& schema) {
        const Schema* properties = tree_.find_object(schema, "properties");
        has_properties_ = has_properties_ || properties != nullptr;
        if (properties != nullptr)
            for (const auto& [name, value] : properties->items()) add_property(schema, name, value);
        for (std::string& name : tree_.texts(schema, "required")) {
            count_name(schema, name);
            required_.push_back(std::move(name));
        }
    }
    void count_name(const Schema& schema, const std::string& name) {
        constexpr std::size_t bytes = 16;  // that cost about as much as a name does
        count(schema, 1 + name.size() / bytes);
    }
    void count(const Schema& schema, std::size_t more) {
        constexpr std::size_t most_work = 1u << 18;
        if ((work_ += more) > most_work) tree_.fail(schema, "its objects have too many members together");
    }
    void add_property(const Schema& schema, const std::string& name, const Schema& value) {
        count_name(schema, name);
        const auto [known, is_new] = index_.try_emplace(name, object_.members.size());
        if (is_new) {
            object_.members.push_back({name, &value, false});
            return;
        }
        const Schema* const before = object_.members[known->second].value;
        if (before == &value) return;
        count_name(schema, compact_json(value));
        if (*before != value)
            tree_.leave_out(schema, "allOf", format("\"allOf\" has two schemas of the property {}", in_quotes(name)));
    }

    // Without a word about additional members there are none, unless no member is described: so do llama.cpp and vLLM.
    // JSON Schema would allow any, which is hardly meant where a model is to write an object.
    void add_others(const Schema& schema) {
        const Schema* others = tree_.find(schema, "additionalProperties");
        object_.has_others = others != nullptr ? *others != false : !has_properties_;
        if (others != nullptr && *others != true) object_.others = others;
    }

    void require(const std::string& name) {
        const auto [known, is_new] = index_.try_emplace(name, object_.members.size());
        if (is_new) object_.members.push_back({name, object_.others, true});
        object_.members[known->second].is_required = true;
    }

    const SchemaTree& tree_;
    std::size_t& work_;
    ObjectMembers object_;
    bool has_properties_ = false, is_object_ = false;
    std::unordered_map<std::string, std::size_t> index_;
    std::vector<std::string> required_;
    std::set<const Schema*> seen_;
};

}  // namespace

ObjectMembers object_members(const SchemaTree& tree, const Schema& schema, std::size_t& work) {
    return MemberCollector(tree, work).members_of(schema);
}

// Two chains of rules, from the last member backwards: what may follow before the first member was written, and after
// it. Each ends with a call of the next one, so that the text needs no depth, and the rules grow with the members only.
Part object_with(RuleBuilder& rules, const ObjectMembers& object, const std::function<Part(const Schema*)>& value_of) {
    const Part end = rules.text("}"), comma = json_mark(rules, ",");
    Rule first = rules.declare("first members"), rest = rules.declare("members");
    std::vector<Part> first_ways{end}, rest_ways{end};
    const auto add = [&](Part member, Rule behind) {
        first_ways.push_back(rules.sequence({member, rules.use(behind)}));
        rest_ways.push_back(rules.sequence({comma, member, rules.use(behind)}));
    };
    const auto define = [&] {
        rules.define(first, rules.choice(std::exchange(first_ways, {})));
        rules.define(rest, rules.choice(std::exchange(rest_ways, {})));
    };
    if (object.has_others) {
        std::vector<std::string> names;
        for (const ObjectMembers::Member& member : object.members) names.push_back(member.name);
        add(rules.sequence({json_other_name(rules, names), json_mark(rules, ":"), value_of(object.others)}), rest);
    }
    define();
    for (auto member = object.members.rbegin(); member != object.members.rend(); ++member) {
        const Rule first_behind = std::exchange(first, rules.declare("first members"));
        const Rule rest_behind = std::exchange(rest, rules.declare("members"));
        const Part key = rules.text(compact_json(member->name));
        add(rules.sequence({key, json_mark(rules, ":"), value_of(member->value)}), rest_behind);
        if (!member->is_required) {
            first_ways.push_back(rules.use(first_behind));
            rest_ways.push_back(rules.use(rest_behind));
        }
        define();
    }
    return rules.sequence({rules.text("{"), rules.use(first)});
}

}  // namespace vantage::text::grammar
