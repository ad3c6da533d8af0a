// Splits a template into text and the tokens inside {{ }} and {% %}. White space is trimmed with transformers' settings
// (trim_blocks, lstrip_blocks) and by the template's - and +.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/jinja/syntax.h"

namespace vantage::text::jinja {

struct Token {
    enum class Kind {
        text,
        open_output,
        close_output,
        open_block,
        close_block,
        name,
        string,
        integer,
        real,
        sign,
        end
    };
    Kind kind;
    std::string text;  ///< for a string: its value, without quotes and escapes
    int line;
};

/// `name` names the template in messages. Throws bad_file for an invalid template, unsupported for unsupported syntax.
std::vector<Token> tokens_of(std::string_view source, const std::string& name);

constexpr int deepest_tree = 200;  // nesting of expressions or blocks

/// Reads the tokens of a template one by one, for the parsers.
class TokenReader {
protected:
    TokenReader(std::vector<Token> tokens, const std::string& name) : tokens_(std::move(tokens)), name_(name) {}

    const Token& now() const { return tokens_[at_]; }
    const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    [[noreturn]] void fail(const std::string& what) const { throw_at(ErrorKind::bad_file, name_, now().line, what); }
    [[noreturn]] void not_supported(const std::string& what) const {
        throw_at(ErrorKind::unsupported, name_, now().line, what + " is not supported");
    }

    static bool is(const Token& token, Token::Kind kind, std::string_view text) {
        return token.kind == kind && token.text == text;
    }
    bool at_sign(std::string_view sign) const { return is(now(), Token::Kind::sign, sign); }
    bool at_word(std::string_view word) const { return is(now(), Token::Kind::name, word); }
    bool at_word(std::initializer_list<std::string_view> words) const { return at_any(Token::Kind::name, words); }
    bool at_any(Token::Kind kind, std::initializer_list<std::string_view> texts) const {
        return now().kind == kind && std::ranges::count(texts, now().text) > 0;
    }
    bool skip_sign(std::string_view sign) { return at_sign(sign) && (take(), true); }
    bool skip_word(std::string_view word) { return at_word(word) && (take(), true); }

    static std::string seen(const Token& token) {
        if (token.kind == Token::Kind::end) return "the end of the template";
        if (token.kind == Token::Kind::string) return "the string " + in_quotes(token.text);
        return in_quotes(token.text);
    }
    std::string found() const { return seen(now()); }
    void expect_sign(std::string_view sign) {
        if (!skip_sign(sign)) fail(found() + " instead of " + in_quotes(std::string(sign)));
    }
    Token expect(Token::Kind kind, const char* what) {
        if (now().kind != kind) fail(found() + " where " + what + " was wanted");
        return take();
    }
    std::string name(const char* what) { return expect(Token::Kind::name, what).text; }

    /// Counts a level of recursion. The tree is also traversed by recursion.
    class Level : NotCopied {
    public:
        explicit Level(TokenReader& reader) : reader_(reader) {
            if (++reader_.levels_ > deepest_tree) reader_.too_deep();
        }
        ~Level() { --reader_.levels_; }

    private:
        TokenReader& reader_;
    };
    [[noreturn]] void too_deep() const { fail(format("nested deeper than {} levels", deepest_tree)); }

    const std::string& template_name() const { return name_; }
    /// The line of the last consumed token; 1 at the beginning.
    int line_before() const { return at_ > 0 ? tokens_[at_ - 1].line : 1; }

private:
    std::vector<Token> tokens_;
    const std::string& name_;
    std::size_t at_ = 0;
    int levels_ = 0;
};

}  // namespace vantage::text::jinja
