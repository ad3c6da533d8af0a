#include "runtime/text/jinja/interpreter.h"

#include <algorithm>
#include <deque>
#include <iomanip>
#include <locale>
#include <sstream>

#include "runtime/base/json.h"
#include "runtime/text/jinja/functions.h"

namespace vantage::text::jinja {

/// Callable by its name alone: a macro, or a built-in function.
struct Function {
    enum class Kind { macro, range, namespace_, raise_exception, strftime_now };
    Kind kind;
    const Statement* macro = nullptr;
};

namespace {

constexpr Function range_function{Function::Kind::range}, namespace_function{Function::Kind::namespace_},
    raise_function{Function::Kind::raise_exception}, now_function{Function::Kind::strftime_now};

struct Loop {
    const Values& items;
    std::size_t place = 0;
};

/// The variables of one scope: the template, an iteration of a loop, a call of a macro.
struct Scope {
    const Scope* outer = nullptr;
    Variables names = {};
    const Loop* loop = nullptr;

    const Value* find(std::string_view name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
            if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
        return nullptr;
    }
    const Loop* innermost_loop() const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
            if (scope->loop != nullptr) return scope->loop;
        return nullptr;
    }
};

enum class Flow { on, break_, continue_ };

class Interpreter {
public:
    Interpreter(const Variables& variables, std::time_t now, Budget& budget) : now_(now), budget_(budget) {
        globals_.names = {{"range", &range_function},
                          {"namespace", &namespace_function},
                          {"raise_exception", &raise_function},
                          {"strftime_now", &now_function}};
        for (const auto& [name, value] : variables) globals_.names[name] = value;
        top_.outer = &globals_;
    }

    std::string run(const Body& body) {
        std::string out;
        execute(body, top_, out);
        return out;
    }
    int line() const { return line_; }

private:
    // ---- statements -------------------------------------------------------------------------------------------------

    void write(std::string& out, std::string_view text) {
        budget_.make(text.size());
        if (out.size() + text.size() > budget_.limits().output)
            fail("the output exceeds {} MiB", budget_.limits().output >> 20);
        out += text;
    }

    Flow execute(const Body& body, Scope& scope, std::string& out) {
        for (const Statement& statement : body)
            if (const Flow flow = execute(statement, scope, out); flow != Flow::on) return flow;
        return Flow::on;
    }

    Flow execute(const Statement& s, Scope& scope, std::string& out) {
        line_ = s.line;
        budget_.step();
        switch (s.kind) {
            case Statement::Kind::text: return write(out, s.text), Flow::on;
            case Statement::Kind::output: return write(out, str(evaluate(*s.expression, scope), budget_)), Flow::on;
            case Statement::Kind::if_: return choose(s, scope, out);
            case Statement::Kind::for_: return loop(s, scope, out), Flow::on;
            case Statement::Kind::set: return assign(s.target, evaluate(*s.expression, scope), scope), Flow::on;
            case Statement::Kind::set_body: return assign(s.target, budget_.text(inside(s, scope)), scope), Flow::on;
            case Statement::Kind::macro: return define(s, scope), Flow::on;
            case Statement::Kind::scope: return write(out, inside(s, scope)), Flow::on;
            case Statement::Kind::break_: return Flow::break_;
            case Statement::Kind::continue_: return Flow::continue_;
        }
        return Flow::on;
    }

    /// Renders a body in a scope of its own.
    std::string inside(const Statement& s, Scope& outer) {
        const Level level(*this);
        Scope scope{&outer};
        std::string out;
        execute(s.branches[0].body, scope, out);
        return out;
    }

    Flow choose(const Statement& s, Scope& scope, std::string& out) {
        const Level level(*this);
        for (const Branch& branch : s.branches)
            if (!branch.condition || truth(evaluate(*branch.condition, scope))) return execute(branch.body, scope, out);
        return Flow::on;
    }

    void loop(const Statement& s, Scope& outer, std::string& out) {
        const Level level(*this);
        const Values items = looped_over(s, outer);
        Loop loop{items};
        for (; loop.place < items.size(); ++loop.place) {
            Scope scope{.outer = &outer, .loop = &loop};
            assign(s.target, items[loop.place], scope);
            if (execute(s.branches[0].body, scope, out) == Flow::break_) return;
        }
        if (items.empty() && s.branches.size() > 1) execute(s.branches[1].body, outer, out);
    }

    Values looped_over(const Statement& s, Scope& outer) {
        Values items = elements(evaluate(*s.expression, outer), budget_);
        if (!s.filter) return items;
        std::erase_if(items, [&](const Value& item) {
            Scope scope{&outer};
            assign(s.target, item, scope);
            return !truth(evaluate(*s.filter, scope));
        });
        return items;
    }

    void assign(const Target& target, const Value& value, Scope& scope) {
        if (!target.field.empty()) return assign_field(target, value, scope);
        if (!target.several) {
            scope.names[target.names[0]] = value;
            return;
        }
        const Values parts = elements(value, budget_);
        if (parts.size() != target.names.size()) fail("{} values for {} names", parts.size(), target.names.size());
        for (std::size_t i = 0; i < parts.size(); ++i) scope.names[target.names[i]] = parts[i];
    }
    static void assign_field(const Target& target, const Value& value, const Scope& scope) {
        const Value* found = scope.find(target.names[0]);
        Namespace* const* space = found == nullptr ? nullptr : as<Namespace*>(*found);
        if (space == nullptr) fail("{} is not a namespace: its fields cannot be set", in_quotes(target.names[0]));
        (*space)->fields[target.field] = value;
    }

    // A macro sees the variables of the enclosing template at the time of the call.
    void define(const Statement& s, Scope& scope) {
        if (&scope != &top_) not_supported("a macro inside of a loop, a macro or another body");
        scope.names[s.text] = &functions_.emplace_back(Function{Function::Kind::macro, &s});
    }

    // ---- expressions ------------------------------------------------------------------------------------------------

    class Level : NotCopied {
    public:
        explicit Level(Interpreter& interpreter) : interpreter_(interpreter) {
            const int maximum = interpreter.budget_.limits().depth;
            if (++interpreter.levels_ > maximum)
                fail("calls nested deeper than {} levels: a macro calls itself endlessly", maximum);
        }
        ~Level() { --interpreter_.levels_; }

    private:
        Interpreter& interpreter_;
    };

    Value evaluate(const Expression& e, Scope& scope) {
        const Level level(*this);
        budget_.step();
        const int around = std::exchange(line_, e.line);
        Value value = value_of(e, scope);
        // Not restored when an exception is thrown, which then names this line.
        line_ = around;
        return value;
    }
    Value part(const Expression& e, std::size_t i, Scope& scope) { return evaluate(*e.parts[i], scope); }

    Value value_of(const Expression& e, Scope& scope) {
        switch (e.kind) {
            case Expression::Kind::constant: return e.value;
            case Expression::Kind::name: return named(e.text, scope);
            case Expression::Kind::list: return budget_.list(parts_of(e, 0, scope));
            case Expression::Kind::tuple: return budget_.list(parts_of(e, 0, scope), true);
            case Expression::Kind::dict: return dict(e, scope);
            case Expression::Kind::attribute: return attribute(e, scope);
            case Expression::Kind::item: {
                const Value from = part(e, 0, scope);
                return item_of(from, part(e, 1, scope), budget_);
            }
            case Expression::Kind::slice: return slice(e, scope);
            case Expression::Kind::call: return call(e, scope);
            case Expression::Kind::filter: {
                const Value input = part(e, 0, scope);
                return filtered(e.text, input, arguments_of(e, scope), budget_);
            }
            case Expression::Kind::test: {
                const Value input = part(e, 0, scope);
                return tested(e.text, input, arguments_of(e, scope), budget_);
            }
            case Expression::Kind::unary: return unary(e, scope);
            case Expression::Kind::binary: return binary(e, scope);
            case Expression::Kind::comparison: return comparison(e, scope);
            case Expression::Kind::conditional:
                if (truth(part(e, 0, scope))) return part(e, 1, scope);
                return e.parts[2] ? part(e, 2, scope) : Value();
        }
        return {};
    }

    Value named(const std::string& name, const Scope& scope) {
        if (const Value* found = scope.find(name)) return *found;
        if (name == "loop" && scope.innermost_loop() != nullptr) not_supported("\"loop\" as a value");
        for (const char* known : {"dict", "lipsum", "cycler", "joiner", "self", "super"})
            if (name == known) not_supported("the function " + in_quotes(name));
        return missing(name, budget_);
    }

    Values parts_of(const Expression& e, std::size_t first, Scope& scope) {
        Values all;
        for (std::size_t i = first; i < e.parts.size(); ++i) all.push_back(part(e, i, scope));
        return all;
    }

    Value dict(const Expression& e, Scope& scope) {
        Dict dict;
        for (std::size_t i = 0; i < e.parts.size(); i += 2) {
            const Value key = part(e, i, scope);
            const std::string* text = text_in(key);
            if (text == nullptr) not_supported(std::string("a mapping from ") + kind_of(key));
            dict.set(*text, part(e, i + 1, scope));
        }
        return budget_.dict(std::move(dict));
    }

    Value attribute(const Expression& e, Scope& scope) {
        if (const Loop* loop = loop_meant(*e.parts[0], scope)) return loop_field(*loop, e.text);
        const Value from = part(e, 0, scope);
        if (has_method(from, e.text)) not_supported("the method " + in_quotes(e.text) + " without a call");
        return attribute_of(from, e.text, budget_);
    }
    static const Loop* loop_meant(const Expression& e, const Scope& scope) {
        if (e.kind != Expression::Kind::name || e.text != "loop" || scope.find("loop") != nullptr) return nullptr;
        return scope.innermost_loop();
    }
    static Value loop_field(const Loop& loop, const std::string& field) {
        const auto place = static_cast<std::int64_t>(loop.place), count = static_cast<std::int64_t>(loop.items.size());
        if (field == "index0") return place;
        if (field == "index") return place + 1;
        if (field == "revindex0") return count - 1 - place;
        if (field == "revindex") return count - place;
        if (field == "length") return count;
        if (field == "first") return place == 0;
        if (field == "last") return place + 1 == count;
        if (field == "previtem") return place > 0 ? loop.items[loop.place - 1] : Value();
        if (field == "nextitem") return place + 1 < count ? loop.items[loop.place + 1] : Value();
        not_supported(in_quotes("loop." + field));
    }

    Value slice(const Expression& e, Scope& scope) {
        const Value from = part(e, 0, scope);
        const auto bound = [&](std::size_t i) { return e.parts[i] ? part(e, i, scope) : Value(None{}); };
        return slice_of(from, {bound(1), bound(2), bound(3)}, budget_);
    }

    Value unary(const Expression& e, Scope& scope) {
        const Value value = part(e, 0, scope);
        if (e.text == "not") return !truth(value);
        if (e.text == "-") return negated(value);
        if (!is_number(value)) fail("+ of {}", kind_of(value));
        return value;
    }

    Value binary(const Expression& e, Scope& scope) {
        Value left = part(e, 0, scope);
        if (e.text == "and") return truth(left) ? part(e, 1, scope) : left;
        if (e.text == "or") return truth(left) ? left : part(e, 1, scope);
        return calculated(e.text, left, part(e, 1, scope), budget_);
    }

    Value comparison(const Expression& e, Scope& scope) {
        Value left = part(e, 0, scope);
        for (std::size_t i = 0; i < e.operators.size(); ++i) {
            Value right = part(e, i + 1, scope);
            if (!holds(e.operators[i], left, right)) return false;
            left = std::move(right);
        }
        return true;
    }
    bool holds(const std::string& sign, const Value& a, const Value& b) {
        if (sign == "==") return equal(a, b, budget_);
        if (sign == "!=") return !equal(a, b, budget_);
        if (sign == "in") return contains(b, a, budget_);
        if (sign == "not in") return !contains(b, a, budget_);
        if (sign == "<") return less(a, b);
        if (sign == ">") return less(b, a);
        return equal(a, b, budget_) || (sign == "<=" ? less(a, b) : less(b, a));
    }

    // ---- calls ------------------------------------------------------------------------------------------------------

    Arguments arguments_of(const Expression& e, Scope& scope) {
        Arguments arguments{parts_of(e, 1, scope)};
        for (const auto& [name, value] : e.named) arguments.by_name.emplace_back(name, evaluate(*value, scope));
        return arguments;
    }

    Value call(const Expression& e, Scope& scope) {
        const Expression& callee = *e.parts[0];
        if (callee.kind == Expression::Kind::attribute) {
            if (loop_meant(*callee.parts[0], scope) != nullptr)
                not_supported(in_quotes("loop." + callee.text) + " as a call");
            const Value from = part(callee, 0, scope);
            require_defined(from);
            if (has_method(from, callee.text)) return method(callee.text, from, arguments_of(e, scope), budget_);
            const Value found = attribute_of(from, callee.text, budget_);
            if (is_undefined(found)) not_supported("the method " + in_quotes(callee.text) + " of " + kind_of(from));
            return call_value(found, e, scope);
        }
        const Value function = evaluate(callee, scope);
        return call_value(function, e, scope);
    }

    Value call_value(const Value& value, const Expression& e, Scope& scope) {
        require_defined(value);
        const Function* const* function = as<const Function*>(value);
        if (function == nullptr) fail("{} cannot be called", kind_of(value));
        const Arguments arguments = arguments_of(e, scope);
        switch ((*function)->kind) {
            case Function::Kind::macro: return call_macro(*(*function)->macro, arguments);
            case Function::Kind::range: return range(arguments, budget_);
            case Function::Kind::namespace_: return make_namespace(arguments);
            case Function::Kind::raise_exception: reject(arguments);
            case Function::Kind::strftime_now: return formatted_now(arguments);
        }
        return {};
    }

    Value call_macro(const Statement& macro, const Arguments& arguments) {
        const Level level(*this);
        if (arguments.by_place.size() > macro.parameters.size())
            fail("{} arguments for the {} parameters of {}", arguments.by_place.size(), macro.parameters.size(),
                 in_quotes(macro.text));
        budget_.step(macro.parameters.size() * arguments.by_name.size());
        for (const auto& [name, value] : arguments.by_name)
            if (std::ranges::count(macro.parameters, name, &Parameter::name) == 0)
                fail("{} has no parameter {}", in_quotes(macro.text), in_quotes(name));
        Scope scope{&top_};
        budget_.step(macro.parameters.size());
        for (std::size_t i = 0; i < macro.parameters.size(); ++i)
            scope.names[macro.parameters[i].name] = argument(macro.parameters[i], i, arguments, scope);
        std::string out;
        execute(macro.branches[0].body, scope, out);
        return budget_.text(std::move(out));
    }
    Value argument(const Parameter& parameter, std::size_t place, const Arguments& arguments, Scope& scope) {
        if (place < arguments.by_place.size()) return arguments.by_place[place];
        for (const auto& [name, value] : arguments.by_name)
            if (name == parameter.name) return value;
        if (parameter.default_value) return evaluate(*parameter.default_value, scope);
        return missing(parameter.name, budget_);
    }

    Value make_namespace(const Arguments& arguments) {
        Namespace& made = namespaces_.emplace_back();
        for (const Value& value : arguments.by_place) {
            const DictRef* dict = as<DictRef>(value);
            if (dict == nullptr) fail("namespace() of {}, wanted a mapping", kind_of(value));
            for (const auto& [key, field] : (*dict)->entries) made.fields[key] = field;
        }
        for (const auto& [key, field] : arguments.by_name) made.fields[key] = field;
        return &made;
    }

    [[noreturn]] void reject(const Arguments& arguments) {
        const Value* message = arguments.bind("raise_exception", {"message"})[0];
        throw Problem{ErrorKind::usage,
                      "the template rejects the input: " + in_quotes(message == nullptr ? "" : str(*message, budget_))};
    }

    Value formatted_now(const Arguments& arguments) {
        const Value* given = arguments.bind("strftime_now", {"format"})[0];
        const std::string* form = given == nullptr ? nullptr : text_in(*given);
        if (form == nullptr) fail("strftime_now needs a format");
        std::tm time{};
        if (::localtime_r(&now_, &time) == nullptr) fail("there is no local time");
        budget_.make(form->size() * 32);
        std::string out;
        for (std::size_t i = 0; i < form->size(); ++i) {
            if ((*form)[i] != '%')
                out += (*form)[i];
            else
                i += append_time(out, form->substr(i, 3), time);
        }
        return budget_.text(std::move(out));
    }
    /// Writes one conversion such as %d or %-d (no leading zeros). Returns the number of characters after the %.
    static std::size_t append_time(std::string& out, const std::string& form, const std::tm& time) {
        static constexpr std::string_view known = "aAbBcdDeFGHIjklmMnpPrRsStTuUVwWxXyYzZ%";
        const std::size_t letter = form.size() > 2 && form[1] == '-' ? 2 : 1;
        if (form.size() <= letter || known.find(form[letter]) == std::string_view::npos)
            not_supported("strftime_now with " + in_quotes(form.substr(0, letter + 1)));
        std::ostringstream stream;
        stream.exceptions(std::ios::badbit);  // else a lack of memory ends the text
        stream.imbue(std::locale::classic());
        const char conversion[] = {'%', form[letter], '\0'};
        stream << std::put_time(&time, conversion);
        std::string text = stream.str();
        if (letter == 2) text.erase(0, std::min(text.find_first_not_of("0 "), text.size() - 1));
        out += text;
        return letter;
    }

    std::time_t now_;
    Budget& budget_;
    Scope globals_, top_;
    // Owned here, because values that own them could form cycles.
    std::deque<Namespace> namespaces_;
    std::deque<Function> functions_;
    int line_ = 1, levels_ = 0;
};

}  // namespace

std::string render(const Body& body, const std::string& name, const Variables& variables, std::time_t now,
                   Budget& budget) {
    Interpreter interpreter(variables, now, budget);
    try {
        return interpreter.run(body);
    } catch (const Problem& problem) {
        throw_at(problem.kind, name, interpreter.line(), problem.what);
    }
}

}  // namespace vantage::text::jinja
