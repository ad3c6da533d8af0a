// The syntax tree of a template: statements and expressions.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/jinja/value.h"

namespace vantage::text::jinja {

struct Expression;
using ExpressionRef = std::unique_ptr<Expression>;

struct Expression {
    enum class Kind {
        constant,     // value
        name,         // text
        list,         // parts
        tuple,        // parts
        dict,         // parts: key, value, key, value …
        attribute,    // parts[0].text
        item,         // parts[0][parts[1]]
        slice,        // parts[0][parts[1]:parts[2]:parts[3]], null for an omitted bound
        call,         // parts[0](parts[1] …, named)
        filter,       // parts[0] | text(parts[1] …, named)
        test,         // parts[0] is text(parts[1] …, named)
        unary,        // text parts[0]: not, -, +
        binary,       // parts[0] text parts[1]: and, or, + - * / // % ~
        comparison,   // parts[0] operators[0] parts[1] operators[1] …
        conditional,  // parts[1] if parts[0] else parts[2], which may be null
    };
    Kind kind;
    int line;
    int depth = 1;  ///< levels of the tree, including this one
    std::string text = {};
    Value value = {};
    std::vector<ExpressionRef> parts = {};
    std::vector<std::pair<std::string, ExpressionRef>> named = {};
    std::vector<std::string> operators = {};
};

/// The target of `set` and `for`: one name, several names, or a field of a namespace.
struct Target {
    std::vector<std::string> names;
    std::string field;  ///< of the namespace names[0]; empty: assigns to the names
    bool several = false;
};

struct Statement;
using Body = std::vector<Statement>;

struct Branch {
    ExpressionRef condition;  ///< null: else
    Body body;
};

struct Parameter {
    std::string name;
    ExpressionRef default_value;  ///< null: undefined
};

struct Statement {
    enum class Kind {
        text,      // text
        output,    // expression
        if_,       // branches
        for_,      // target in expression if filter: branches[0], else branches[1]
        set,       // target = expression
        set_body,  // target = output of branches[0]
        macro,     // text(parameters): branches[0]
        scope,     // branches[0]: {% generation %}, which marks the model's text
        break_,
        continue_,
    };
    Kind kind;
    int line;
    std::string text = {};
    ExpressionRef expression = {}, filter = {};
    Target target = {};
    std::vector<Parameter> parameters = {};
    std::vector<Branch> branches = {};
};

/// Throws the error of reading or rendering: "NAME, line 3: …".
[[noreturn]] void throw_at(ErrorKind kind, const std::string& name, int line, const std::string& what);

}  // namespace vantage::text::jinja
