#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/text/grammar/cursor.h"
#include "runtime/text/grammar/formats.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

constexpr std::size_t longest_gbnf = std::size_t{256} << 10;

bool continues_gbnf_name(char32_t c) { return is_ascii_letter(c) || is_ascii_digit(c) || c == '-' || c == '_'; }

class GbnfParser {
public:
    explicit GbnfParser(std::string_view valid) : text_(valid), in_(valid) {}

    Network run() {
        in_.skip(byte_order_mark);
        blanks(true);
        while (!in_.at_end()) rule();
        const auto root = known_.find("root");
        if (root == known_.end()) throw usage_error("grammar: there is no rule \"root\", which is the whole text");
        for (const FirstUse& use : in_order_)
            if (!rules_.is_defined(use.rule)) fail(use.at, format("the rule \"{}\" is not defined", use.name));
        return rules_.build(root->second);
    }

private:
    struct FirstUse {
        Rule rule;
        std::string name;
        std::size_t at;
    };

    std::string place(std::size_t at) const {
        const std::string_view before = text_.substr(0, at);
        const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
        return format("{}:{}", std::ranges::count(before, '\n') + 1, code_points(before.substr(line_begin)).size() + 1);
    }
    [[noreturn]] void fail(std::size_t at, const std::string& what) const {
        throw usage_error("grammar: {}: {}", place(at), what);
    }
    [[noreturn]] void fail_wanted(const std::string& wanted) const {
        fail(in_.at(), format("found {}, wanted {}", in_.found(), wanted));
    }

    // Spaces and comments, and the ends of lines where a rule may go on.
    void blanks(bool with_lines) {
        for (;;) {
            if (in_.here("#")) {
                while (!in_.at_end() && !at_line_end()) in_.take();
            } else if (in_.here(" ") || in_.here("\t") || (with_lines && at_line_end())) {
                in_.take();
            } else {
                return;
            }
        }
    }
    bool at_line_end() const { return in_.here("\n") || in_.here("\r"); }

    void rule() {
        const std::size_t at = in_.at();
        if (!continues_gbnf_name(in_.now())) fail_wanted("the name of a rule");
        const std::string name = take_name();
        blanks(false);
        if (!in_.skip("::=")) fail_wanted(format("::= behind the name of the rule \"{}\"", name));
        blanks(true);
        const Rule rule = rule_of(name, at);
        if (rules_.is_defined(rule)) fail(at, format("the rule \"{}\" is defined a second time", name));
        rules_.define(rule, alternatives(0));
        if (!in_.at_end() && !at_line_end()) fail_wanted(format("the end of the rule \"{}\"", name));
        blanks(true);
    }

    std::string take_name() {
        const std::size_t begin = in_.at();
        while (continues_gbnf_name(in_.now())) in_.take();
        return std::string(in_.taken_since(begin));
    }
    Rule rule_of(const std::string& name, std::size_t at) {
        if (const auto known = known_.find(name); known != known_.end()) return known->second;
        const Rule rule = rules_.declare(name);
        in_order_.push_back({rule, name, at});
        return known_[name] = rule;
    }

    Part alternatives(int depth) {
        std::vector<Part> all{sequence(depth)};
        while (next_alternative()) all.push_back(sequence(depth));
        return all.size() == 1 ? all.front() : rules_.choice(std::move(all));
    }
    // The | may be in a later line.
    bool next_alternative() {
        const Cursor before = in_;
        blanks(true);
        if (in_.skip("|")) {
            blanks(true);
            return true;
        }
        in_ = before;
        return false;
    }

    Part sequence(int depth) {
        std::vector<Part> parts;
        bool may_repeat = false;
        for (;; blanks(depth > 0)) {
            const std::size_t at = in_.at();
            if (const auto times = repetition(depth)) {
                if (parts.empty()) fail(at, "there is nothing to repeat");
                if (!may_repeat) fail(at, "a repetition of a repetition needs parentheses");
                parts.back() = rules_.repeat(parts.back(), times->least, times->most);
                may_repeat = false;
            } else if (const auto part = item(depth)) {
                parts.push_back(*part);
                may_repeat = true;
            } else {
                return parts.size() == 1 ? parts.front() : rules_.sequence(std::move(parts));
            }
        }
    }

    std::optional<Repetition> repetition(int depth) {
        if (const auto sign = in_.take_repetition_sign()) return sign;
        const std::size_t at = in_.at();
        if (!in_.skip("{")) return {};
        const std::int64_t least = times(depth);
        Repetition found{least, least};
        if (in_.skip(",")) {
            blanks(depth > 0);
            found.most.reset();
            if (is_ascii_digit(in_.now())) found.most = times(depth);
        }
        if (!in_.skip("}")) fail_wanted("} behind a number of times");
        if (found.most && *found.most < least) fail(at, format("at least {} and at most {} times", least, *found.most));
        return found;
    }
    std::int64_t times(int depth) {
        blanks(depth > 0);
        const std::size_t at = in_.at();
        const auto number = in_.take_number();
        if (!number) fail_wanted("a number of times");
        if (*number > most_repetitions) fail(at, format("a repetition of more than {} times", most_repetitions));
        blanks(depth > 0);
        return *number;
    }

    std::optional<Part> item(int depth) {
        const std::size_t at = in_.at();
        if (in_.skip("\"")) return literal(at);
        if (in_.skip("[")) return char_class(at);
        if (in_.skip("(")) return group(at, depth + 1);
        if (in_.skip(".")) return rules_.one_of(any_code_point());
        if (in_.here("<") || in_.here("!<"))
            fail(at, "tokens in <…> are not supported, only the text that they stand for");
        if (!continues_gbnf_name(in_.now())) return {};
        return rules_.use(rule_of(take_name(), at));
    }

    Part group(std::size_t open, int depth) {
        if (depth > most_nested_groups) fail(open, format("more than {} groups in each other", most_nested_groups));
        blanks(true);
        const Part inner = alternatives(depth);
        if (!in_.skip(")")) fail_wanted(format(") for the ( at {}", place(open)));
        return inner;
    }

    Part literal(std::size_t open) {
        std::string bytes;
        while (!in_.skip("\"")) append_utf8(bytes, character(open, "\""));
        return rules_.text(bytes);
    }

    Part char_class(std::size_t open) {
        const bool negated = in_.skip("^");
        CharRanges ranges;
        while (!in_.skip("]")) {
            const std::size_t at = in_.at();
            const char32_t first = character(open, "]");
            char32_t last = first;
            if (in_.here("-") && !in_.here("-]")) {
                in_.take();
                last = character(open, "]");
            }
            if (last < first) fail(at, format("the range {} ends before it begins", quoted_since(at)));
            ranges.push_back({first, last});
        }
        if (ranges.empty()) fail(open, format("{} has no characters", in_.taken_since(open)));
        ranges = normalised(std::move(ranges));
        return rules_.one_of(negated ? complement(ranges) : std::move(ranges));
    }

    char32_t character(std::size_t open, std::string_view close) {
        if (in_.at_end()) fail(open, format("there is no {} for the {} here", close, text_.substr(open, 1)));
        const std::size_t at = in_.at();
        return in_.skip("\\") ? escaped(at) : in_.take();
    }
    char32_t escaped(std::size_t at) {
        if (in_.at_end()) fail(at, "the text ends behind a \\");
        switch (const char32_t c = in_.take()) {
            case 'n': return '\n';
            case 'r': return '\r';
            case 't': return '\t';
            case 'x': return escaped_code(at, 2);
            case 'u': return escaped_code(at, 4);
            case 'U': return escaped_code(at, 8);
            default:
                if (std::u32string_view(U"\\\"[]-").find(c) != std::u32string_view::npos) return c;
                fail(at, format("the escape {} is unknown", quoted_since(at)));
        }
    }
    char32_t escaped_code(std::size_t at, std::size_t digits) {
        const auto code = in_.take_hex(digits);
        if (!code) fail(at, format("{} wants {} hexadecimal digits", in_.taken_since(at), digits));
        if (*code > last_code_point || is_surrogate(*code))
            fail(at, format("{} is not a Unicode character", in_.taken_since(at)));
        return *code;
    }
    std::string quoted_since(std::size_t at) const { return "\"" + escape_controls(in_.taken_since(at)) + "\""; }

    std::string_view text_;
    Cursor in_;
    RuleBuilder rules_;
    std::map<std::string, Rule> known_;
    std::vector<FirstUse> in_order_;
};

}  // namespace

Network gbnf_network(std::string_view gbnf) {
    if (gbnf.size() > longest_gbnf)
        throw usage_error("grammar: it has {} bytes, wanted at most {}", gbnf.size(), longest_gbnf);
    if (!is_utf8(gbnf)) throw usage_error("grammar: it is not UTF-8");
    return GbnfParser(gbnf).run();
}

}  // namespace vantage::text::grammar
