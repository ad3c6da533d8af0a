#include "runtime/text/jinja/expression_parser.h"

#include <charconv>
#include <cstdlib>
#include <utility>

namespace vantage::text::jinja {

ExpressionRef ExpressionParser::make(Kind kind, int line, std::string text, std::vector<ExpressionRef> parts) const {
    auto made = std::make_unique<Expression>(Expression{.kind = kind, .line = line, .text = std::move(text)});
    made->parts = std::move(parts);
    deepen(*made);
    return made;
}

void ExpressionParser::deepen(Expression& e) const {
    const auto around = [&](const ExpressionRef& part) {
        if (part && part->depth >= e.depth) e.depth = part->depth + 1;
    };
    for (const ExpressionRef& part : e.parts) around(part);
    for (const auto& [key, part] : e.named) around(part);
    if (e.depth > deepest_tree) too_deep();
}

ExpressionRef ExpressionParser::tuple(bool conditional) {
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

bool ExpressionParser::ends_tuple() const {
    return now().kind == Token::Kind::close_block || now().kind == Token::Kind::close_output || at_sign(")");
}

ExpressionRef ExpressionParser::expression() {
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

ExpressionRef ExpressionParser::disjunction() {
    return chain(&ExpressionParser::conjunction, [&] { return at_word("or"); });
}

ExpressionRef ExpressionParser::conjunction() {
    return chain(&ExpressionParser::negation, [&] { return at_word("and"); });
}

ExpressionRef ExpressionParser::negation() {
    if (!at_word("not")) return comparison();
    const Level level(*this);
    const int line = take().line;
    return make(Kind::unary, line, "not", list_of(negation()));
}

ExpressionRef ExpressionParser::comparison() {
    ExpressionRef left = sum();
    const int line = now().line;
    std::vector<std::string> operators;
    std::vector<ExpressionRef> parts;
    for (;;) {
        if (at_word("not") && is(ahead(), Token::Kind::name, "in")) {
            take(), take();
            operators.emplace_back("not in");
        } else if (at_word("in") || (now().kind == Token::Kind::sign && is_comparison(now().text))) {
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

bool ExpressionParser::is_comparison(std::string_view sign) {
    return sign == "==" || sign == "!=" || sign == "<" || sign == "<=" || sign == ">" || sign == ">=";
}

ExpressionRef ExpressionParser::sum() {
    return chain(&ExpressionParser::concatenation, [&] { return at_sign("+") || at_sign("-"); });
}

ExpressionRef ExpressionParser::concatenation() {
    return chain(&ExpressionParser::product, [&] { return at_sign("~"); });
}

ExpressionRef ExpressionParser::product() {
    return chain(&ExpressionParser::unary_filtered,
                 [&] { return at_sign("*") || at_sign("/") || at_sign("//") || at_sign("%"); });
}

ExpressionRef ExpressionParser::unary_filtered() {
    ExpressionRef e = filtered(unary());
    if (at_sign("**")) not_supported("the operator **");
    return e;
}

ExpressionRef ExpressionParser::unary() {
    if (!at_sign("-") && !at_sign("+")) return postfix(primary());
    const Level level(*this);
    const Token token = take();
    return postfix(make(Kind::unary, token.line, token.text, list_of(unary())));
}

ExpressionRef ExpressionParser::primary() {
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

ExpressionRef ExpressionParser::constant(int line, Value value) const {
    ExpressionRef made = make(Kind::constant, line);
    made->value = std::move(value);
    return made;
}

ExpressionRef ExpressionParser::word(const Token& token) const {
    const std::string& text = token.text;
    if (text == "true" || text == "True") return constant(token.line, true);
    if (text == "false" || text == "False") return constant(token.line, false);
    if (text == "none" || text == "None") return constant(token.line, None{});
    if (macros_ > 0 && (text == "varargs" || text == "kwargs" || text == "caller"))
        throw_at(ErrorKind::unsupported, template_name(), token.line, in_quotes(text) + " in a macro is not supported");
    return make(Kind::name, token.line, text);
}

ExpressionRef ExpressionParser::text(const Token& token) {
    std::string all = token.text;
    while (now().kind == Token::Kind::string) all += take().text;
    return constant(token.line, std::make_shared<const std::string>(std::move(all)));
}

std::int64_t ExpressionParser::integer(const Token& token) const {
    std::int64_t number = 0;
    const char* end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, number).ec != std::errc())
        throw_at(ErrorKind::bad_file, template_name(), token.line,
                 "the integer " + in_quotes(token.text) + " is beyond 64 bits");
    return number;
}

ExpressionRef ExpressionParser::list(int line) {
    const Level level(*this);
    std::vector<ExpressionRef> parts;
    separated("]", [&] { parts.push_back(expression()); });
    return make(Kind::list, line, "", std::move(parts));
}

ExpressionRef ExpressionParser::dict(int line) {
    const Level level(*this);
    std::vector<ExpressionRef> parts;
    separated("}", [&] {
        parts.push_back(expression());
        expect_sign(":");
        parts.push_back(expression());
    });
    return make(Kind::dict, line, "", std::move(parts));
}

ExpressionRef ExpressionParser::postfix(ExpressionRef e) {
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

ExpressionRef ExpressionParser::subscript(ExpressionRef from) {
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

ExpressionRef ExpressionParser::call(ExpressionRef callee) {
    ExpressionRef made = make(Kind::call, now().line, "", list_of(std::move(callee)));
    arguments(*made);
    return made;
}

void ExpressionParser::arguments(Expression& call) {
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

ExpressionRef ExpressionParser::filtered(ExpressionRef e) {
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

ExpressionRef ExpressionParser::filter(ExpressionRef input) {
    const int line = now().line;
    std::string which = name("a filter");
    ExpressionRef made = make(Kind::filter, line, std::move(which), list_of(std::move(input)));
    if (at_sign("(")) arguments(*made);
    return made;
}

ExpressionRef ExpressionParser::test(ExpressionRef input) {
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

bool ExpressionParser::begins_argument() const {
    switch (now().kind) {
        case Token::Kind::name: return !at_word({"else", "or", "and", "if", "is", "not", "in", "recursive"});
        case Token::Kind::string:
        case Token::Kind::integer:
        case Token::Kind::real: return true;
        default: return at_sign("[") || at_sign("{");
    }
}

}  // namespace vantage::text::jinja
