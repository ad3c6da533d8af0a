// Objects of JSON schemas: their members, and rules for them in this order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/text/grammar/json_schema_tree.h"
#include "runtime/text/grammar/rules.h"

namespace vantage::text::grammar {

/// No schema (nullptr) stands for any value.
struct ObjectMembers {
    struct Member {
        std::string name;
        const Schema* value;
        bool is_required;
    };
    std::vector<Member> members;
    bool has_others = false;         ///< with other names
    const Schema* others = nullptr;  ///< of their values
};

/// Those of a schema of an object, also from its `allOf`. Counts what it looks at in `work`, and throws where the
/// objects of a schema together have too much of it: many may refer to one that is large.
ObjectMembers object_members(const SchemaTree& tree, const Schema& schema, std::size_t& work);

/// An object with members in this order, and then others. `value_of` makes the part of a value.
Part object_with(RuleBuilder& rules, const ObjectMembers& object, const std::function<Part(const Schema*)>& value_of);

}  // namespace vantage::text::grammar
