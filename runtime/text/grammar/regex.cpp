#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/text/grammar/cursor.h"
#include "runtime/text/grammar/formats.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

constexpr std::size_t longest_regex = std::size_t{16} << 10;
constexpr char32_t first_low_surrogate = 0xDC00;

// As in ECMAScript: digits and words of ASCII.
const CharRanges& regex_digits() {
    static const CharRanges all{{'0', '9'}};
    return all;
}
const CharRanges& regex_word() {
    static const CharRanges all{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    return all;
}
const CharRanges& regex_space() {
    static const CharRanges all{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                                {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                                {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    return all;
}
const CharRanges& regex_line_ends() {
    static const CharRanges all{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    return all;
}

std::optional<CharRanges> regex_class_escape(char32_t letter) {
    switch (letter) {
        case 'd': return regex_digits();
        case 'D': return complement(regex_digits());
        case 'w': return regex_word();
        case 'W': return complement(regex_word());
        case 's': return regex_space();
        case 'S': return complement(regex_space());
        default: return {};
    }
}

bool is_single_char(const CharRanges& ranges) { return ranges.size() == 1 && ranges[0].first == ranges[0].last; }

class RegexParser {
public:
    RegexParser(RuleBuilder& rules, std::string_view valid, const CharPart& one_of, bool somewhere)
        : rules_(rules), text_(valid), in_(valid), one_of_(one_of), somewhere_(somewhere) {}

    Part run() {
        std::vector<Part> all{top_alternative()};
        while (in_.skip("|")) all.push_back(top_alternative());
        if (!in_.at_end()) fail(in_.at(), "a ) without a (");  // what else ends a sequence
        return choice(std::move(all));
    }

private:
    [[noreturn]] void fail(std::size_t at, const std::string& what) const {
        throw usage_error("regular expression: character {}: {}", code_points(text_.substr(0, at)).size() + 1, what);
    }
    [[noreturn]] void fail_not_supported(std::size_t at, const std::string& what) const {
        fail(at, what + " are not supported");
    }
    [[noreturn]] void fail_anchor(char sign) const {
        fail(in_.at(), format("{:c} is only supported at the {} of the whole or of an alternative outside of groups",
                              sign, sign == '^' ? "beginning" : "end"));
    }
    std::string since(std::size_t at) const { return escape_controls(in_.taken_since(at)); }

    Part choice(std::vector<Part> parts) { return parts.size() == 1 ? parts.front() : rules_.choice(std::move(parts)); }
    // A class may be empty, such as [^\d\D].
    Part one_of(const CharRanges& ranges) { return ranges.empty() ? rules_.never() : one_of_(rules_, ranges); }
    Part anything() { return rules_.repeat(one_of(any_code_point()), 0, {}); }

    Part top_alternative() {
        const bool from_start = in_.skip("^");
        const Part inner = sequence(0);
        const Cursor before = in_;
        const bool to_end = in_.skip("$");
        if (to_end && !in_.at_end() && !in_.here("|")) {
            in_ = before;
            fail_anchor('$');
        }
        if (!somewhere_ || (from_start && to_end)) return inner;
        return rules_.sequence(
            {from_start ? rules_.nothing() : anything(), inner, to_end ? rules_.nothing() : anything()});
    }

    Part sequence(int depth) {
        std::vector<Part> parts;
        while (!in_.at_end() && !in_.here("|") && !in_.here(")") && !in_.here("$")) parts.push_back(repeated(depth));
        return parts.size() == 1 ? parts.front() : rules_.sequence(std::move(parts));
    }

    Part repeated(int depth) {
        if (const std::size_t at = in_.at(); repetition()) fail(at, "there is nothing to repeat");
        const Part part = atom(depth);
        const auto times = repetition();
        if (!times) return part;
        in_.skip("?");  // lazy: the same texts
        const std::size_t at = in_.at();
        if (in_.here("+")) fail_not_supported(at, "possessive repetitions");
        if (repetition()) fail(at, "a repetition of a repetition needs a group");
        return rules_.repeat(part, times->least, times->most);
    }

    std::optional<Repetition> repetition() {
        if (const auto sign = in_.take_repetition_sign()) return sign;
        const std::size_t at = in_.at();
        Cursor ahead = in_;
        if (!ahead.skip("{")) return {};
        const auto least = ahead.take_number();
        const bool comma = ahead.skip(",");
        const auto most = comma ? ahead.take_number() : least;
        if (!ahead.skip("}") || (!least && !comma)) return {};  // a { that stands for itself
        in_ = ahead;
        // Python repeats from 0 times on here, ECMAScript takes the characters.
        if (!least) fail(at, format("write {{0,}} or \\{{, as the meaning of {} differs between languages", since(at)));
        if (*least > most_repetitions || most.value_or(0) > most_repetitions)
            fail(at, format("a repetition of more than {} times", most_repetitions));
        if (most && *most < *least) fail(at, format("at least {} and at most {} times", *least, *most));
        return Repetition{*least, most};
    }

    Part atom(int depth) {
        const std::size_t at = in_.at();
        if (in_.here("^")) fail_anchor('^');
        if (in_.skip("(")) return group(at, depth + 1);
        if (in_.skip("[")) return one_of(char_class(at));
        if (in_.skip(".")) return one_of(complement(regex_line_ends()));
        return one_of(character(false));
    }

    Part group(std::size_t open, int depth) {
        if (depth > most_nested_groups) fail(open, format("more than {} groups in each other", most_nested_groups));
        if (in_.skip("?")) group_kind(open);
        std::vector<Part> all{sequence(depth)};
        while (in_.skip("|")) all.push_back(sequence(depth));
        if (in_.here("$")) fail_anchor('$');
        if (!in_.skip(")")) fail(open, "a ( without a )");
        return choice(std::move(all));
    }
    // Behind "(?".
    void group_kind(std::size_t open) {
        if (in_.skip(":")) return;
        if (in_.here("=") || in_.here("!")) fail_not_supported(open, "lookaheads");
        if (in_.here("<=") || in_.here("<!")) fail_not_supported(open, "lookbehinds");
        if (in_.here("P=")) fail_not_supported(open, "backreferences");
        if (in_.here(">")) fail_not_supported(open, "atomic groups");
        if (in_.here("#")) fail_not_supported(open, "comments");
        if (in_.here("(")) fail_not_supported(open, "conditions");
        if (in_.skip("<") || in_.skip("P<")) return group_name(open);
        if (in_.here("-") || is_ascii_letter(in_.now())) fail_not_supported(open, "inline flags");
        fail(open, format("found {} behind (?, wanted one of: : <name>", in_.found()));
    }
    void group_name(std::size_t open) {
        const std::size_t begin = in_.at();
        while (is_ascii_letter(in_.now()) || is_ascii_digit(in_.now()) || in_.here("_")) in_.take();
        if (in_.taken_since(begin).empty() || !in_.skip(">")) fail(open, "the name of the group is not a word and >");
    }

    CharRanges char_class(std::size_t open) {
        const bool negated = in_.skip("^");
        // Python takes a ] here, ECMAScript ends the class.
        if (in_.here("]")) fail(open, format("{}] has no characters; write \\] for a ]", since(open)));
        CharRanges all;
        while (!in_.skip("]")) {
            const CharRanges part = class_part(open);
            all.insert(all.end(), part.begin(), part.end());
        }
        all = normalised(std::move(all));
        return negated ? complement(all) : all;
    }
    CharRanges class_part(std::size_t open) {
        const std::size_t at = in_.at();
        const CharRanges first = class_char(open);
        if (!in_.here("-") || in_.here("-]")) return first;
        in_.take();
        const CharRanges last = class_char(open);
        if (!is_single_char(first) || !is_single_char(last))
            fail(at, format("{} is a range of more than characters", since(at)));
        if (last[0].first < first[0].first) fail(at, format("the range {} ends before it begins", since(at)));
        return {{first[0].first, last[0].first}};
    }
    CharRanges class_char(std::size_t open) {
        if (in_.at_end()) fail(open, "a [ without a ]");
        return character(true);
    }

    // A character or an escape.
    CharRanges character(bool in_class) {
        const std::size_t at = in_.at();
        const char32_t c = in_.take();
        if (c != '\\') return {{c, c}};
        if (in_.at_end()) fail(at, "a \\ with nothing behind it");
        const char32_t letter = in_.take();
        if (auto known = regex_class_escape(letter)) return *std::move(known);
        const char32_t code = escaped(at, letter, in_class);
        return {{code, code}};
    }
    char32_t escaped(std::size_t at, char32_t letter, bool in_class) {
        switch (letter) {
            case 'n': return '\n';
            case 'r': return '\r';
            case 't': return '\t';
            case 'f': return '\f';
            case 'v': return '\v';
            case 'x': return escaped_code(at, 2);
            case 'u': return escaped_unicode(at);
            case '0':
                if (!is_ascii_digit(in_.now())) return 0;
                break;
            case 'b':
                if (in_class) return '\b';
                break;
            default:
                if (!is_ascii_letter(letter) && !is_ascii_digit(letter)) return letter;
        }
        fail_escape(at, letter, in_class);
    }
    [[noreturn]] void fail_escape(std::size_t at, char32_t letter, bool in_class) const {
        const std::string found = " such as " + since(at);
        if (letter == '0' || (is_ascii_digit(letter) && in_class)) fail_not_supported(at, "octal escapes" + found);
        if (letter == 'k' || is_ascii_digit(letter)) fail_not_supported(at, "backreferences" + found);
        if (letter == 'b' || letter == 'B') fail_not_supported(at, "word boundaries" + found);
        if (letter == 'p' || letter == 'P') fail_not_supported(at, "properties of characters" + found);
        fail(at, format("the escape {} is unknown", since(at)));
    }

    char32_t escaped_code(std::size_t at, std::size_t digits) {
        const auto code = in_.take_hex(digits);
        if (!code) fail(at, format("{} wants {} hexadecimal digits", since(at), digits));
        return *code;
    }
    // \uHHHH, a pair of them for a character beyond U+FFFF, or \u{H…}
    char32_t escaped_unicode(std::size_t at) {
        if (in_.skip("{")) return escaped_in_braces(at);
        const char32_t code = escaped_code(at, 4);
        if (code >= first_surrogate && code < first_low_surrogate && in_.skip("\\u")) {
            const char32_t low = in_.take_hex(4).value_or(0);
            if (low >= first_low_surrogate && low <= last_surrogate)
                return 0x10000 + ((code - first_surrogate) << 10) + (low - first_low_surrogate);
        }
        if (is_surrogate(code)) fail(at, format("{} is half a surrogate pair", since(at)));
        return code;
    }
    char32_t escaped_in_braces(std::size_t at) {
        char32_t code = 0;
        bool has_digits = false;
        while (const auto digit = in_.take_hex(1)) {
            code = std::min(16 * code + *digit, last_code_point + 1);
            has_digits = true;
        }
        if (!has_digits || !in_.skip("}")) fail(at, "\\u{ wants hexadecimal digits and }");
        if (code > last_code_point || is_surrogate(code)) fail(at, format("{} is not a Unicode character", since(at)));
        return code;
    }

    RuleBuilder& rules_;
    std::string_view text_;
    Cursor in_;
    const CharPart& one_of_;
    bool somewhere_;
};

}  // namespace

Part regex_part(RuleBuilder& rules, std::string_view regex, const CharPart& one_of, bool somewhere) {
    if (regex.size() > longest_regex)
        throw usage_error("regular expression: it has {} bytes, wanted at most {}", regex.size(), longest_regex);
    if (!is_utf8(regex)) throw usage_error("regular expression: it is not UTF-8");
    return RegexParser(rules, regex, one_of, somewhere).run();
}

Network regex_network(std::string_view regex) {
    RuleBuilder rules;
    const Rule root = rules.declare("root");
    const CharPart one_of = [](RuleBuilder& to, const CharRanges& ranges) { return to.one_of(ranges); };
    rules.define(root, regex_part(rules, regex, one_of, false));
    return rules.build(root);
}

}  // namespace vantage::text::grammar
