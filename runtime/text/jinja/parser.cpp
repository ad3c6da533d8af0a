// Parser of statements; expression_parser.h parses the expressions in them.
#include "runtime/text/jinja/parser.h"

#include "runtime/text/jinja/expression_parser.h"

namespace vantage::text::jinja {

namespace {

class Parser : private ExpressionParser {
public:
    Parser(std::vector<Token> tokens, const std::string& name) : ExpressionParser(std::move(tokens), name) {}

    Body run() { return body({}); }

private:
    /// Parses up to one of the tags in `ends`, which is not consumed, or to the end of the template if there are none.
    Body body(std::initializer_list<std::string_view> ends) {
        const Level level(*this);
        const int opened = line_before();
        Body all;
        for (;;) {
            const Token token = take();
            if (token.kind == Token::Kind::end) {
                if (ends.size() == 0) return all;
                throw_at(ErrorKind::bad_file, template_name(), opened,
                         "the template ends without {% " + std::string(*(ends.end() - 1)) + " %}");
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
            if (loops_ == 0) fail("{% " + tag + " %} outside of a loop");
            close_block();
            return {.kind = tag == "break" ? Statement::Kind::break_ : Statement::Kind::continue_, .line = line};
        }
        if (tag.rfind("end", 0) == 0 || tag == "else" || tag == "elif") fail("{% " + tag + " %} without an open block");
        not_supported("the tag " + in_quotes(tag));
    }

    void close_block() { expect(Token::Kind::close_block, "%}"); }
    /// Consumes the end tag of `tag`.
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
        if (at_sign("|")) not_supported("a filter on {% set %} with a body");
        s.kind = Statement::Kind::set_body;
        add_branch(s, nullptr, {"endset"});
        close("set");
        return s;
    }

    Target target(bool with_fields) {
        Target target;
        if (at_sign("(")) not_supported("parentheses around the names to set");
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
        if (at_word("recursive")) not_supported("a recursive loop");
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
                parameter.default_value = expression();
            else if (!s.parameters.empty() && s.parameters.back().default_value)
                fail("the parameter " + in_quotes(parameter.name) + " has no default, but follows one that has");
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

    int loops_ = 0;
};

}  // namespace

Body parse(std::string_view source, const std::string& name) { return Parser(tokens_of(source, name), name).run(); }

}  // namespace vantage::text::jinja
