// Parser of the expressions inside {{ }} and {% %}: recursive descent, from the lowest to the highest precedence.
#pragma once

#include "runtime/text/jinja/token_reader.h"

namespace vantage::text::jinja {

class ExpressionParser : protected TokenReader {
protected:
    ExpressionParser(std::vector<Token> tokens, const std::string& name) : TokenReader(std::move(tokens), name) {}

    ExpressionRef expression();
    /// One expression, or a tuple with commas. `conditional`: allows `a if b else c`.
    ExpressionRef tuple(bool conditional);

    /// Nesting depth of macros. Inside of them some names are unsupported.
    int macros_ = 0;

private:
    using Kind = Expression::Kind;
    using Rule = ExpressionRef (ExpressionParser::*)();

    ExpressionRef make(Kind kind, int line, std::string text = {}, std::vector<ExpressionRef> parts = {}) const;
    /// Counts a chain such as a + b + c … as one level per operator.
    void deepen(Expression& e) const;
    template <class... Parts>
    static std::vector<ExpressionRef> list_of(Parts... parts) {
        std::vector<ExpressionRef> all;
        (all.push_back(std::move(parts)), ...);
        return all;
    }
    /// part, operator, part …, left-associative.
    template <class AtOperator>
    ExpressionRef chain(Rule part, const AtOperator& at_operator) {
        ExpressionRef left = (this->*part)();
        while (at_operator()) {
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
    bool ends_tuple() const;
    ExpressionRef disjunction();
    ExpressionRef conjunction();
    ExpressionRef negation();
    ExpressionRef comparison();
    static bool is_comparison(std::string_view sign);
    ExpressionRef sum();
    ExpressionRef concatenation();
    ExpressionRef product();
    ExpressionRef unary_filtered();
    ExpressionRef unary();
    ExpressionRef primary();
    ExpressionRef constant(int line, Value value) const;
    ExpressionRef word(const Token& token) const;
    ExpressionRef text(const Token& token);
    std::int64_t integer(const Token& token) const;
    ExpressionRef list(int line);
    ExpressionRef dict(int line);
    /// a.b, a[b], a(b)
    ExpressionRef postfix(ExpressionRef e);
    ExpressionRef subscript(ExpressionRef from);
    ExpressionRef call(ExpressionRef callee);
    void arguments(Expression& call);
    /// e | filter, e is test
    ExpressionRef filtered(ExpressionRef e);
    ExpressionRef filter(ExpressionRef input);
    ExpressionRef test(ExpressionRef input);
    /// `is divisibleby 3`: a single argument may follow without parentheses.
    bool begins_argument() const;
};

}  // namespace vantage::text::jinja
