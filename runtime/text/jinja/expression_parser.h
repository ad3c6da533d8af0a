// Parser of the expressions inside {{ }} and {% %}: recursive descent, from the lowest to the highest precedence.
#pragma once

#include <charconv>
#include <cstdlib>
#include <utility>

#include "runtime/text/jinja/lexer.h"

namespace vantage::text::jinja {

class ExpressionParser : protected TokenReader {
protected:
    ExpressionParser(std::vector<Token> tokens, const std::string& name) : TokenReader(std::move(tokens), name) {}

    ExpressionRef expression() {
        const Level level(*this);
        ExpressionRef e = disjunction();
        while (at_word("if")) {
            const int line = take().line;
            ExpressionRef condition = disjunction();
            ExpressionRef else_branch = skip_word("else") ? expression() : nullptr;
            e = make(Kind::conditional, line, "", list_of(std::move(condition), std::move(e), std::move(else_branch)));
        }
        return e;
    }

    /// One expression, or a tuple with commas. `conditional`: allows `a if b else c`.
    ExpressionRef tuple(bool conditional) {
        const int line = now().line;
        std::vector<ExpressionRef> parts;
        bool several = false;
        do {
            if (several && ends_tuple()) break;
            parts.push_back(conditional ? expression() : disjunction());
            several = several || at_sign(",");
        } while (skip_sign(","));
        return several ? make(Kind::tuple, line, "", std::move(parts)) : std::move(parts.front());
    }

    /// Nesting depth of macros. Inside of them some names are unsupported.
    int macros_ = 0;

private:
    using Kind = Expression::Kind;
    using Rule = ExpressionRef (ExpressionParser::*)();

    ExpressionRef make(Kind kind, int line, std::string text = {}, std::vector<ExpressionRef> parts = {}) const {
        auto made = std::make_unique<Expression>(Expression{.kind = kind, .line = line, .text = std::move(text)});
        made->parts = std::move(parts);
        deepen(*made);
        return made;
    }

    /// Counts a chain such as a + b + c … as one level per operator.
    void deepen(Expression& e) const {
        const auto around = [&](const ExpressionRef& part) {
            if (part && part->depth >= e.depth) e.depth = part->depth + 1;
        };
        for (const ExpressionRef& part : e.parts) around(part);
        for (const auto& [key, part] : e.named) around(part);
        if (e.depth > deepest_tree) too_deep();
    }

    template <class... Parts>
    static std::vector<ExpressionRef> list_of(Parts... parts) {
        std::vector<ExpressionRef> all;
        (all.push_back(std::move(parts)), ...);
        return all;
    }
    /// part, operator, part …, left-associative.
    ExpressionRef chain(Rule part, Token::Kind kind, std::initializer_list<std::string_view> operators) {
        ExpressionRef left = (this->*part)();
        while (at_any(kind, operators)) {
            const Token token = take();
            left = make(Kind::binary, token.line, token.text, list_of(std::move(left), (this->*part)()));
        }
        return left;
    }
    /// Parts with commas between them, and perhaps one after them, up to and including `close`.
    template <class Part>
    void separated(std::string_view close, const Part& part) {
        for (bool first = true; !at_sign(close); first = false) {
            if (!first) expect_sign(",");
            if (at_sign(close)) break;
            part();
        }
        take();
    }
    bool ends_tuple() const {
        return now().kind == Token::Kind::close_block || now().kind == Token::Kind::close_output || at_sign(")");
    }

    ExpressionRef disjunction() { return chain(&ExpressionParser::conjunction, Token::Kind::name, {"or"}); }

    ExpressionRef conjunction() { return chain(&ExpressionParser::negation, Token::Kind::name, {"and"}); }

    ExpressionRef negation() {
        if (!at_word("not")) return comparison();
        const Level level(*this);
        const int line = take().line;
        return make(Kind::unary, line, "not", list_of(negation()));
    }

    ExpressionRef comparison() {
        ExpressionRef left = sum();
        const int line = now().line;
        std::vector<std::string> operators;
        std::vector<ExpressionRef> parts;
        for (;;) {
            if (at_word("not") && is(ahead(), Token::Kind::name, "in")) {
                take(), take();
                operators.emplace_back("not in");
            } else if (at_word("in") || at_any(Token::Kind::sign, {"==", "!=", "<", "<=", ">", ">="})) {
                operators.push_back(take().text);
            } else {
                break;
            }
            parts.push_back(sum());
        }
        if (operators.empty()) return left;
        parts.insert(parts.begin(), std::move(left));
        ExpressionRef made = make(Kind::comparison, line, "", std::move(parts));
        made->operators = std::move(operators);
        return made;
    }

    ExpressionRef sum() { return chain(&ExpressionParser::concatenation, Token::Kind::sign, {"+", "-"}); }

    ExpressionRef concatenation() { return chain(&ExpressionParser::product, Token::Kind::sign, {"~"}); }

    ExpressionRef product() {
        return chain(&ExpressionParser::unary_filtered, Token::Kind::sign, {"*", "/", "//", "%"});
    }

    ExpressionRef unary_filtered() {
        ExpressionRef e = filtered(unary());
        if (at_sign("**")) not_supported("the operator **");
        return e;
    }

    ExpressionRef unary() {
        if (!at_sign("-") && !at_sign("+")) return postfix(primary());
        const Level level(*this);
        const Token token = take();
        return postfix(make(Kind::unary, token.line, token.text, list_of(unary())));
    }

    ExpressionRef primary() {
        const Token token = take();
        switch (token.kind) {
            case Token::Kind::name: return word(token);
            case Token::Kind::string: return text(token);
            case Token::Kind::integer: return constant(token.line, integer(token));
            case Token::Kind::real: return constant(token.line, std::strtod(token.text.c_str(), nullptr));
            default: break;
        }
        if (token.kind == Token::Kind::sign && token.text == "(") {
            const Level level(*this);
            ExpressionRef inside = at_sign(")") ? make(Kind::tuple, token.line) : tuple(true);
            expect_sign(")");
            return inside;
        }
        if (token.kind == Token::Kind::sign && token.text == "[") return list(token.line);
        if (token.kind == Token::Kind::sign && token.text == "{") return dict(token.line);
        throw_at(ErrorKind::bad_file, template_name(), token.line, seen(token) + " instead of an expression");
    }

    ExpressionRef constant(int line, Value value) const {
        ExpressionRef made = make(Kind::constant, line);
        made->value = std::move(value);
        return made;
    }

    ExpressionRef word(const Token& token) const {
        const std::string& text = token.text;
        if (text == "true" || text == "True") return constant(token.line, true);
        if (text == "false" || text == "False") return constant(token.line, false);
        if (text == "none" || text == "None") return constant(token.line, None{});
        if (macros_ > 0 && (text == "varargs" || text == "kwargs" || text == "caller"))
            throw_at(ErrorKind::unsupported, template_name(), token.line,
                     in_quotes(text) + " in a macro is not supported");
        return make(Kind::name, token.line, text);
    }

    ExpressionRef text(const Token& token) {
        std::string all = token.text;
        while (now().kind == Token::Kind::string) all += take().text;
        return constant(token.line, std::make_shared<const std::string>(std::move(all)));
    }

    std::int64_t integer(const Token& token) const {
        std::int64_t number = 0;
        const char* end = token.text.data() + token.text.size();
        if (std::from_chars(token.text.data(), end, number).ec != std::errc())
            throw_at(ErrorKind::bad_file, template_name(), token.line,
                     "the integer " + in_quotes(token.text) + " is beyond 64 bits");
        return number;
    }

    ExpressionRef list(int line) {
        const Level level(*this);
        std::vector<ExpressionRef> parts;
        separated("]", [&] { parts.push_back(expression()); });
        return make(Kind::list, line, "", std::move(parts));
    }

    ExpressionRef dict(int line) {
        const Level level(*this);
        std::vector<ExpressionRef> parts;
        separated("}", [&] {
            parts.push_back(expression());
            expect_sign(":");
            parts.push_back(expression());
        });
        return make(Kind::dict, line, "", std::move(parts));
    }

    /// a.b, a[b], a(b)
    ExpressionRef postfix(ExpressionRef e) {
        for (;;) {
            if (at_sign(".")) {
                const int line = take().line;
                if (now().kind == Token::Kind::integer)
                    e = make(Kind::item, line, "", list_of(std::move(e), constant(line, integer(take()))));
                else
                    e = make(Kind::attribute, line, name("a field"), list_of(std::move(e)));
            } else if (at_sign("[")) {
                e = subscript(std::move(e));
            } else if (at_sign("(")) {
                e = call(std::move(e));
            } else {
                return e;
            }
        }
    }

    ExpressionRef subscript(ExpressionRef from) {
        const Level level(*this);
        const int line = take().line;
        ExpressionRef first = at_sign(":") ? nullptr : expression();
        if (at_sign(",")) not_supported("an index of several values");
        if (first && skip_sign("]")) return make(Kind::item, line, "", list_of(std::move(from), std::move(first)));
        expect_sign(":");
        ExpressionRef end = at_sign(":") || at_sign("]") ? nullptr : expression();
        ExpressionRef step = skip_sign(":") && !at_sign("]") ? expression() : nullptr;
        expect_sign("]");
        return make(Kind::slice, line, "", list_of(std::move(from), std::move(first), std::move(end), std::move(step)));
    }

    ExpressionRef call(ExpressionRef callee) {
        ExpressionRef made = make(Kind::call, now().line, "", list_of(std::move(callee)));
        arguments(*made);
        return made;
    }

    void arguments(Expression& call) {
        const Level level(*this);
        expect_sign("(");
        separated(")", [&] {
            if (at_sign("*") || at_sign("**")) not_supported("a call with * or **");
            if (now().kind == Token::Kind::name && is(ahead(), Token::Kind::sign, "=")) {
                std::string key = take().text;
                take();
                call.named.emplace_back(std::move(key), expression());
            } else {
                if (!call.named.empty()) fail("a positional argument follows a named one");
                call.parts.push_back(expression());
            }
        });
        deepen(call);
    }

    /// e | filter, e is test
    ExpressionRef filtered(ExpressionRef e) {
        for (;;) {
            if (skip_sign("|"))
                e = filter(std::move(e));
            else if (at_word("is"))
                e = test(std::move(e));
            else if (at_sign("("))
                e = call(std::move(e));
            else
                return e;
        }
    }

    ExpressionRef filter(ExpressionRef input) {
        const int line = now().line;
        std::string which = name("a filter");
        ExpressionRef made = make(Kind::filter, line, std::move(which), list_of(std::move(input)));
        if (at_sign("(")) arguments(*made);
        return made;
    }

    ExpressionRef test(ExpressionRef input) {
        const Level level(*this);
        const int line = take().line;
        const bool negated = skip_word("not");
        std::string which = name("a test");
        ExpressionRef made = make(Kind::test, line, std::move(which), list_of(std::move(input)));
        if (at_sign("(")) {
            arguments(*made);
        } else if (begins_argument()) {
            made->parts.push_back(postfix(primary()));
            deepen(*made);
        }
        return negated ? make(Kind::unary, line, "not", list_of(std::move(made))) : std::move(made);
    }

    /// `is divisibleby 3`: a single argument may follow without parentheses.
    bool begins_argument() const {
        switch (now().kind) {
            case Token::Kind::name: return !at_word({"else", "or", "and", "if", "is", "not", "in", "recursive"});
            case Token::Kind::string:
            case Token::Kind::integer:
            case Token::Kind::real: return true;
            default: return at_sign("[") || at_sign("{");
        }
    }
};

}  // namespace vantage::text::jinja
