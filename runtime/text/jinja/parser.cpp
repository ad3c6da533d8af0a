#include "runtime/text/jinja/parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>

#include "runtime/base/log.h"
#include "runtime/io/json.h"
#include "runtime/text/jinja/lexer.h"

namespace vantage::text::jinja {

namespace {

constexpr int deepest_tree = 200;  // expressions or blocks inside of each other

using Kind = Expression::Kind;

class Parser {
public:
    Parser(std::vector<Token> tokens, const std::string& name) : tokens_(std::move(tokens)), name_(name) {}

    Body run() { return body({}); }

private:
    // ---- tokens ------------------------------------------------------------------------------------------------------

    const Token& now() const { return tokens_[at_]; }
    const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    [[noreturn]] void fail(const std::string& what) const { throw_at(ErrorKind::bad_file, name_, now().line, what); }
    [[noreturn]] void not_built(const std::string& what) const {
        throw_at(ErrorKind::unsupported, name_, now().line, what + " is not built");
    }

    static bool is(const Token& token, Token::Kind kind, std::string_view text) {
        return token.kind == kind && token.text == text;
    }
    bool at_sign(std::string_view sign) const { return is(now(), Token::Kind::sign, sign); }
    bool at_word(std::string_view word) const { return is(now(), Token::Kind::name, word); }
    bool at_word(std::initializer_list<std::string_view> words) const {
        return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return at_word(word); });
    }
    bool skip_sign(std::string_view sign) { return at_sign(sign) && (take(), true); }
    bool skip_word(std::string_view word) { return at_word(word) && (take(), true); }

    static std::string seen(const Token& token) {
        if (token.kind == Token::Kind::end) return "the template ends";
        if (token.kind == Token::Kind::string) return "the text " + in_quotes(token.text) + " stands";
        return in_quotes(token.text) + " stands";
    }
    std::string found() const { return seen(now()); }
    void expect_sign(std::string_view sign) {
        if (!skip_sign(sign)) fail(found() + " where " + in_quotes(std::string(sign)) + " was wanted");
    }
    void expect(Token::Kind kind, const char* what) {
        if (now().kind != kind) fail(found() + " where " + what + " was wanted");
        take();
    }
    std::string name(const char* what) {
        if (now().kind != Token::Kind::name) fail(found() + " where " + what + " was wanted");
        return take().text;
    }

    /// A level of recursion; trees are walked by recursion again.
    class Level {
    public:
        explicit Level(Parser& parser) : parser_(parser) {
            if (++parser_.levels_ > deepest_tree) parser_.too_deep();
        }
        ~Level() { --parser_.levels_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        Parser& parser_;
    };
    [[noreturn]] void too_deep() const { fail(format("nested deeper than %d levels", deepest_tree)); }

    // ---- statements --------------------------------------------------------------------------------------------------

    /// Up to one of the tags in `ends`, which is left to the caller; to the end of the template where there are none.
    Body body(std::initializer_list<std::string_view> ends) {
        const Level level(*this);
        const int opened = at_ > 0 ? tokens_[at_ - 1].line : 1;
        Body all;
        for (;;) {
            const Token token = take();
            if (token.kind == Token::Kind::end) {
                if (ends.size() == 0) return all;
                throw_at(ErrorKind::bad_file, name_, opened,
                         "the template ends where {% " + std::string(*(ends.end() - 1)) + " %} was wanted");
            }
            if (token.kind == Token::Kind::text) {
                all.push_back({.kind = Statement::Kind::text, .line = token.line, .text = token.text});
            } else if (token.kind == Token::Kind::open_output) {
                all.push_back({.kind = Statement::Kind::output, .line = token.line, .expression = tuple(true)});
                expect(Token::Kind::close_output, "}}");
            } else {
                if (at_word(ends)) return all;
                all.push_back(statement());
            }
        }
    }

    Statement statement() {
        const int line = now().line;
        const std::string tag = name("a tag");
        if (tag == "set") return set(line);
        if (tag == "if") return if_statement(line);
        if (tag == "for") return for_statement(line);
        if (tag == "macro") return macro(line);
        if (tag == "generation") {
            Statement scope{.kind = Statement::Kind::scope, .line = line};
            add_branch(scope, nullptr, {"endgeneration"});
            close(tag);
            return scope;
        }
        if (tag == "break" || tag == "continue") {
            if (loops_ == 0) fail("{% " + tag + " %} stands outside of a loop");
            close_block();
            return {.kind = tag == "break" ? Statement::Kind::break_ : Statement::Kind::continue_, .line = line};
        }
        if (tag.rfind("end", 0) == 0 || tag == "else" || tag == "elif")
            fail("{% " + tag + " %} stands where no block is open for it");
        not_built("the tag " + in_quotes(tag));
    }

    void close_block() { expect(Token::Kind::close_block, "%}"); }
    /// Behind the body of `tag`: its end tag.
    void close(const std::string& tag) {
        take();
        if (tag == "macro" && now().kind == Token::Kind::name) take();  // {% endmacro name %}
        close_block();
    }
    void add_branch(Statement& statement, ExpressionRef condition, std::initializer_list<std::string_view> ends) {
        close_block();
        statement.branches.push_back({std::move(condition), body(ends)});
    }

    Statement set(int line) {
        Statement s{.kind = Statement::Kind::set, .line = line, .target = target(true)};
        if (skip_sign("=")) {
            s.expression = tuple(true);
            close_block();
            return s;
        }
        if (at_sign("|")) not_built("a filter on {% set %} with a body");
        s.kind = Statement::Kind::set_body;
        add_branch(s, nullptr, {"endset"});
        close("set");
        return s;
    }

    Target target(bool with_fields) {
        Target target;
        if (at_sign("(")) not_built("a bracket around the names that are set");
        do {
            if (target.several && at_word("in")) break;
            target.names.push_back(assignable());
            if (at_sign(",")) target.several = true;
        } while (skip_sign(","));
        if (with_fields && !target.several && skip_sign(".")) target.field = name("a field");
        return target;
    }
    std::string assignable() {
        const std::string word = name("a name");
        for (const char* constant : {"true", "false", "none", "True", "False", "None", "loop"})
            if (word == constant) fail(in_quotes(word) + " cannot be set");
        return word;
    }

    Statement if_statement(int line) {
        Statement s{.kind = Statement::Kind::if_, .line = line};
        add_branch(s, tuple(false), {"elif", "else", "endif"});
        while (skip_word("elif")) add_branch(s, tuple(false), {"elif", "else", "endif"});
        if (skip_word("else")) add_branch(s, nullptr, {"endif"});
        close("if");
        return s;
    }

    Statement for_statement(int line) {
        Statement s{.kind = Statement::Kind::for_, .line = line, .target = target(false)};
        if (!skip_word("in")) fail(found() + " where \"in\" was wanted");
        s.expression = tuple(false);
        if (skip_word("if")) s.filter = expression();
        if (at_word("recursive")) not_built("a recursive loop");
        ++loops_;
        add_branch(s, nullptr, {"else", "endfor"});
        --loops_;
        if (skip_word("else")) add_branch(s, nullptr, {"endfor"});
        close("for");
        return s;
    }

    Statement macro(int line) {
        Statement s{.kind = Statement::Kind::macro, .line = line, .text = name("the macro's name")};
        expect_sign("(");
        while (!at_sign(")")) {
            if (!s.parameters.empty()) expect_sign(",");
            Parameter parameter{assignable(), nullptr};
            if (skip_sign("="))
                parameter.otherwise = expression();
            else if (!s.parameters.empty() && s.parameters.back().otherwise)
                fail("the parameter " + in_quotes(parameter.name) + " has no default, but stands behind one that has");
            s.parameters.push_back(std::move(parameter));
        }
        take();
        const int loops = std::exchange(loops_, 0);
        ++macros_;
        add_branch(s, nullptr, {"endmacro"});
        --macros_;
        loops_ = loops;
        close("macro");
        return s;
    }

    // ---- expressions, from the loosest to the tightest -----------------------------------------------------------------

    ExpressionRef make(Kind kind, int line, std::string text = {}, std::vector<ExpressionRef> parts = {}) const {
        auto made = std::make_unique<Expression>(Expression{.kind = kind, .line = line, .text = std::move(text)});
        made->parts = std::move(parts);
        deepen(*made);
        return made;
    }
    /// A chain such as a + b + c … is as deep as it is long.
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

    /// One expression, or several with commas; `conditional`: where `a if b else c` may stand.
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
    bool ends_tuple() const {
        return now().kind == Token::Kind::close_block || now().kind == Token::Kind::close_output || at_sign(")");
    }

    ExpressionRef expression() {
        const Level level(*this);
        ExpressionRef e = disjunction();
        while (at_word("if")) {
            const int line = take().line;
            ExpressionRef condition = disjunction();
            ExpressionRef otherwise = skip_word("else") ? expression() : nullptr;
            e = make(Kind::conditional, line, "", list_of(std::move(condition), std::move(e), std::move(otherwise)));
        }
        return e;
    }

    using Rule = ExpressionRef (Parser::*)();
    template <class AtOperator>
    ExpressionRef chain(Rule part, const AtOperator& at_operator) {
        ExpressionRef left = (this->*part)();
        while (at_operator()) {
            const Token token = take();
            left = make(Kind::binary, token.line, token.text, list_of(std::move(left), (this->*part)()));
        }
        return left;
    }
    ExpressionRef disjunction() {
        return chain(&Parser::conjunction, [&] { return at_word("or"); });
    }
    ExpressionRef conjunction() {
        return chain(&Parser::negation, [&] { return at_word("and"); });
    }
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
    static bool is_comparison(std::string_view sign) {
        return sign == "==" || sign == "!=" || sign == "<" || sign == "<=" || sign == ">" || sign == ">=";
    }

    ExpressionRef sum() {
        return chain(&Parser::concatenation, [&] { return at_sign("+") || at_sign("-"); });
    }
    ExpressionRef concatenation() {
        return chain(&Parser::product, [&] { return at_sign("~"); });
    }
    ExpressionRef product() {
        return chain(&Parser::unary_filtered,
                     [&] { return at_sign("*") || at_sign("/") || at_sign("//") || at_sign("%"); });
    }
    ExpressionRef unary_filtered() {
        ExpressionRef e = filtered(unary());
        if (at_sign("**")) not_built("the operator **");
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
        throw_at(ErrorKind::bad_file, name_, token.line, seen(token) + " where an expression was wanted");
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
            throw_at(ErrorKind::unsupported, name_, token.line, in_quotes(text) + " in a macro is not built");
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
            throw_at(ErrorKind::bad_file, name_, token.line,
                     "the integer " + in_quotes(token.text) + " is beyond 64 bits");
        return number;
    }

    ExpressionRef list(int line) {
        const Level level(*this);
        std::vector<ExpressionRef> parts;
        while (!at_sign("]")) {
            if (!parts.empty()) expect_sign(",");
            if (at_sign("]")) break;
            parts.push_back(expression());
        }
        take();
        return make(Kind::list, line, "", std::move(parts));
    }
    ExpressionRef dict(int line) {
        const Level level(*this);
        std::vector<ExpressionRef> parts;
        while (!at_sign("}")) {
            if (!parts.empty()) expect_sign(",");
            if (at_sign("}")) break;
            parts.push_back(expression());
            expect_sign(":");
            parts.push_back(expression());
        }
        take();
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
        if (at_sign(",")) not_built("an index of several values");
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
        bool first = true;
        while (!at_sign(")")) {
            if (!std::exchange(first, false)) expect_sign(",");
            if (at_sign(")")) break;
            if (at_sign("*") || at_sign("**")) not_built("a call with * or **");
            if (now().kind == Token::Kind::name && is(ahead(), Token::Kind::sign, "=")) {
                std::string key = take().text;
                take();
                call.named.emplace_back(std::move(key), expression());
            } else {
                if (!call.named.empty()) fail("an argument without a name stands behind one with a name");
                call.parts.push_back(expression());
            }
        }
        take();
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
    /// `is divisibleby 3`: one argument may stand without brackets.
    bool begins_argument() const {
        switch (now().kind) {
            case Token::Kind::name: return !at_word({"else", "or", "and", "if", "is", "not", "in", "recursive"});
            case Token::Kind::string:
            case Token::Kind::integer:
            case Token::Kind::real: return true;
            default: return at_sign("[") || at_sign("{");
        }
    }

    std::vector<Token> tokens_;
    const std::string& name_;
    std::size_t at_ = 0;
    int levels_ = 0, loops_ = 0, macros_ = 0;
};

}  // namespace

Body parse(std::string_view source, const std::string& name) { return Parser(tokens_of(source, name), name).run(); }

}  // namespace vantage::text::jinja
