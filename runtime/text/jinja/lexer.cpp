#include "runtime/text/jinja/lexer.h"

#include <charconv>

#include "runtime/base/utf8.h"
#include "runtime/text/jinja/strings.h"

namespace vantage::text::jinja {

void throw_at(ErrorKind kind, const std::string& name, int line, const std::string& what) {
    throw Error(kind, name + ", line " + std::to_string(line) + ": " + what);
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c); }

/// Converts all line ends to \n, and removes the one after the last line.
std::string with_plain_lines(std::string_view source) {
    std::string out;
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
        out += source[i] == '\r' ? '\n' : source[i];
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

class Lexer {
public:
    Lexer(std::string_view source, const std::string& name) : in_(source), name_(name) {}

    std::vector<Token> run() {
        while (at_ < in_.size()) {
            const std::size_t tag = next_tag();
            text_until(tag);
            if (tag == in_.size()) break;
            const char kind = in_[tag + 1];
            move_to(tag + 2);
            if (at_ < in_.size() && (in_[at_] == '-' || in_[at_] == '+')) move_to(at_ + 1);
            if (kind == '#')
                comment();
            else
                tag_inside(kind == '%');
        }
        add(Token::Kind::end, "");
        return std::move(tokens_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const { throw_at(ErrorKind::bad_file, name_, line_, what); }
    void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
    bool here(std::string_view text) const { return in_.substr(at_, text.size()) == text; }
    void move_to(std::size_t at) {
        line_ += static_cast<int>(std::count(in_.begin() + static_cast<std::ptrdiff_t>(at_),
                                             in_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        at_ = at;
    }
    void skip_space() {
        std::size_t at = at_;
        while (at < in_.size() && is_python_space(character_at(in_, at).code)) at += character_at(in_, at).bytes;
        move_to(at);
    }

    std::size_t next_tag() const {
        std::size_t at = at_;
        while ((at = in_.find('{', at)) != std::string_view::npos) {
            if (at + 1 < in_.size() && std::string_view("{%#").find(in_[at + 1]) != std::string_view::npos) return at;
            ++at;
        }
        return in_.size();
    }

    // The text before a tag, trimmed as the tag requires.
    void text_until(std::size_t tag) {
        std::string_view text = in_.substr(at_, tag - at_);
        const char sign = tag + 2 < in_.size() ? in_[tag + 2] : ' ';
        if (tag < in_.size() && sign == '-') {
            text = strip(text, Side::right);
        } else if (tag < in_.size() && sign != '+' && in_[tag + 1] != '{') {
            const std::size_t line = text.rfind('\n') + 1;  // 0 if there is none
            if ((line > 0 || line_begins_) && strip(text.substr(line), Side::right).empty())
                text = text.substr(0, line);
        }
        if (!text.empty()) add(Token::Kind::text, std::string(text));
        move_to(tag);
    }

    // After a tag: - trims all white space; a block or a comment trims the end of its line, unless + prevents it.
    void close_tag(char sign, bool takes_line_end) {
        line_begins_ = false;
        const std::size_t before = at_;
        if (sign == '-')
            skip_space();
        else if (takes_line_end && sign != '+' && here("\n"))
            move_to(at_ + 1);
        line_begins_ = at_ > before && in_[at_ - 1] == '\n';
    }

    void comment() {
        const std::size_t end = in_.find("#}", at_);
        if (end == std::string_view::npos) fail("a comment {# is not closed");
        const char sign = end > at_ ? in_[end - 1] : ' ';
        move_to(end + 2);
        close_tag(sign, true);
    }

    void tag_inside(bool block) {
        add(block ? Token::Kind::open_block : Token::Kind::open_output, block ? "{%" : "{{");
        const std::string_view close = block ? "%}" : "}}";
        const int opened = line_;
        for (;;) {
            skip_space();
            if (at_ == in_.size()) {
                line_ = opened;
                fail(std::string(block ? "{%" : "{{") + " is not closed");
            }
            const std::size_t sign = brackets_.empty() && (in_[at_] == '-' || (block && in_[at_] == '+')) ? 1 : 0;
            if (brackets_.empty() && in_.substr(at_ + sign, 2) == close) {
                const char how = sign == 1 ? in_[at_] : ' ';
                add(block ? Token::Kind::close_block : Token::Kind::close_output, std::string(close));
                move_to(at_ + sign + 2);
                return close_tag(how, block);
            }
            token();
        }
    }

    void token() {
        const char c = in_[at_];
        if (is_digit(c)) return number();
        if (begins_name(c)) return add_until(Token::Kind::name, end_of(at_, continues_name));
        if (c == '\'' || c == '"') return string(c);
        sign();
    }

    template <class Belongs>
    std::size_t end_of(std::size_t at, const Belongs& belongs) const {
        while (at < in_.size() && belongs(in_[at])) ++at;
        return at;
    }
    void add_until(Token::Kind kind, std::size_t end) {
        add(kind, std::string(in_.substr(at_, end - at_)));
        move_to(end);
    }

    void number() {
        std::size_t end = end_of(at_, is_digit);
        bool real = false;
        if (end + 1 < in_.size() && in_[end] == '.' && is_digit(in_[end + 1])) {
            real = true;
            end = end_of(end + 1, is_digit);
        }
        if (end < in_.size() && (in_[end] == 'e' || in_[end] == 'E')) {
            const std::size_t sign = end + 1 < in_.size() && (in_[end + 1] == '-' || in_[end + 1] == '+') ? 1 : 0;
            const std::size_t last = end_of(end + 1 + sign, is_digit);
            if (last > end + 1 + sign) end = last, real = true;
        }
        if (end < in_.size() && continues_name(in_[end]))
            fail("a number goes on with " + in_quotes(std::string(in_.substr(end, 1))));
        add_until(real ? Token::Kind::real : Token::Kind::integer, end);
    }

    void sign() {
        static constexpr std::string_view signs[] = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*",
                                                     "/",  "%",  "~",  "<",  ">",  "=",  "(", ")", "[",
                                                     "]",  "{",  "}",  ",",  ".",  ":",  "|"};
        for (const std::string_view one : signs) {
            if (!here(one)) continue;
            balance(one[0]);
            return add_until(Token::Kind::sign, at_ + one.size());
        }
        fail("the character " + in_quotes(std::string(in_.substr(at_, character_at(in_, at_).bytes))) +
             " has no meaning here");
    }

    void balance(char c) {
        static constexpr std::string_view open = "([{", close = ")]}";
        if (open.find(c) != std::string_view::npos) brackets_ += c;
        const std::size_t closing = close.find(c);
        if (closing == std::string_view::npos) return;
        if (brackets_.empty() || brackets_.back() != open[closing]) fail(std::string("a ") + c + " closes nothing");
        brackets_.pop_back();
    }

    void string(char quote) {
        const int opened = line_;
        std::string out;
        move_to(at_ + 1);
        while (at_ < in_.size() && in_[at_] != quote) {
            if (in_[at_] == '\\' && at_ + 1 < in_.size()) {
                escape(out);
            } else {
                out += in_[at_];
                move_to(at_ + 1);
            }
        }
        if (at_ == in_.size()) {
            line_ = opened;
            fail("a string is not closed");
        }
        move_to(at_ + 1);
        tokens_.push_back({Token::Kind::string, std::move(out), opened});
    }

    // As in Python, a backslash before any other character stays.
    void escape(std::string& out) {
        static constexpr std::string_view letters = "\\'\"abfnrtv", meant = "\\'\"\a\b\f\n\r\t\v";
        const char c = in_[at_ + 1];
        if (const std::size_t which = letters.find(c); which != std::string_view::npos) {
            out += meant[which];
            return move_to(at_ + 2);
        }
        if (c == '\n') return move_to(at_ + 2);
        if (c == 'N')
            throw_at(ErrorKind::unsupported, name_, line_, "\\N{…} in a string is not supported; write the character");
        if (c >= '0' && c <= '7') return code_point(out, 1, 3, 8);
        if (c == 'x') return code_point(out, 2, 2, 16);
        if (c == 'u') return code_point(out, 2, 4, 16);
        if (c == 'U') return code_point(out, 2, 8, 16);
        out += '\\';
        move_to(at_ + 1);
    }

    void code_point(std::string& out, std::size_t skipped, std::size_t digits, int base) {
        const std::string_view text = in_.substr(at_ + skipped, digits);
        std::uint32_t code = 0;
        const char* end = std::from_chars(text.data(), text.data() + text.size(), code, base).ptr;
        const std::size_t at = static_cast<std::size_t>(end - in_.data());
        const bool complete = base == 8 || end == text.data() + digits;
        if (!complete || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
            fail("invalid escape sequence " + in_quotes(std::string(in_.substr(at_, at - at_))));
        append_utf8(out, static_cast<char32_t>(code));
        move_to(at);
    }

    std::string_view in_;
    const std::string& name_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool line_begins_ = true;  // at the first character of a line, apart from white space
    std::string brackets_;     // open brackets
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source, const std::string& name) {
    const std::string lines = with_plain_lines(repair_utf8(source));
    return Lexer(lines, name).run();
}

}  // namespace vantage::text::jinja
