#include "runtime/text/regex.h"

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/text/unicode.h"

namespace vantage::text {
namespace {

template <class T, void (*release)(T*)>
using Owned = std::unique_ptr<T, std::integral_constant<void (*)(T*), release>>;

using CompileContext = Owned<pcre2_compile_context, pcre2_compile_context_free>;
using MatchContext = Owned<pcre2_match_context, pcre2_match_context_free>;
using MatchData = Owned<pcre2_match_data, pcre2_match_data_free>;

constexpr std::size_t longest_pattern = 65536;
constexpr std::uint32_t memory_limit_kib = 256 * 1024;

std::string message_of(int code) {
    std::array<unsigned char, 256> buffer{};
    pcre2_get_error_message(code, buffer.data(), buffer.size());
    return reinterpret_cast<const char*>(buffer.data());
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
    throw bad_file_error("{}: {}", where, what);
}

/// Matches a pattern in a text with a number of steps that is bounded by the text's length. PCRE2 itself only limits
/// the steps per starting position, of which a text has one per character. Known patterns take a few steps at each.
class Search {
public:
    Search(const pcre2_code* code, std::string_view subject)
        : code_(code),
          subject_(subject),
          weight_(weight_of(code)),
          budget_(64 * (std::uint64_t{subject.size()} + 64) / weight_),
          context_(pcre2_match_context_create(nullptr)),
          data_(pcre2_match_data_create(1, nullptr)) {
        if (context_) pcre2_set_heap_limit(context_.get(), memory_limit_kib);
    }
    bool ready() const { return context_ && data_; }
    Match match() const {
        const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data_.get());
        return {range[0], range[1]};
    }

    /// Searches from byte `at` on. Returns the result of pcre2_match.
    int next(std::size_t at) {
        // PCRE2 cannot be interrupted: it searches so many places at a time.
        constexpr std::size_t window = 65536;
        for (;;) {
            throw_if_interrupted();
            const std::size_t last = std::min(at + window, subject_.size());
            int result = run(at, last, 0, free_steps_);
            if (result == PCRE2_ERROR_NOMATCH && last < subject_.size()) {
                for (at = last + 1; at < subject_.size() && is_continuation(subject_[at]);) ++at;
                continue;
            }
            if (!needs_more(result)) return result;
            // Some position from here on needs more steps, such as one before a long line of spaces, where `\s*[\r\n]+`
            // backtracks. Search position by position, with more steps from the budget of the text.
            std::uint64_t steps = free_steps_;
            while (steps == free_steps_) {
                throw_if_interrupted();
                while (needs_more(result = run(at, at, PCRE2_ANCHORED, steps))) {
                    steps *= 2;
                    if (steps > std::min(budget_, most_steps_ / weight_)) return result;
                    budget_ -= steps;
                }
                if (result != PCRE2_ERROR_NOMATCH || at >= subject_.size()) return result;
                at += character_at(subject_, at).bytes;
            }
        }
    }

private:
    /// A step may pass over the whole pattern: one that is large when compiled gets fewer.
    static std::uint64_t weight_of(const pcre2_code* code) {
        std::size_t bytes = 0;
        pcre2_pattern_info(code, PCRE2_INFO_SIZE, &bytes);
        return 1 + bytes / 4096;
    }
    static bool needs_more(int result) { return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT; }
    /// Searches for a match that begins at bytes `at` to `last`.
    int run(std::size_t at, std::size_t last, std::uint32_t options, std::uint64_t steps) {
        const auto limit = static_cast<std::uint32_t>(steps);
        pcre2_set_match_limit(context_.get(), limit);
        pcre2_set_depth_limit(context_.get(), limit);
        pcre2_set_offset_limit(context_.get(), last);
        // NO_UTF_CHECK: the subject is known to be valid, and a check per match would make long texts quadratic.
        return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(subject_.data()), subject_.size(), at,
                           options | PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
    }

    static constexpr std::uint64_t most_steps_ = 1 << 24;  // at once: about 0.2 s

    const pcre2_code* code_;
    std::string_view subject_;
    std::uint64_t weight_;
    std::uint64_t free_steps_ = std::max<std::uint64_t>(128 / weight_, 16);  // at each position
    std::uint64_t budget_;                                                   // for positions that exceed these
    MatchContext context_;
    MatchData data_;
};

}  // namespace

Regex::Regex(const std::string& pattern, std::string where) : where_(std::move(where)) {
    if (pattern.size() > longest_pattern)
        fail(where_,
             format("the regular expression is {} bytes long, wanted at most {}", pattern.size(), longest_pattern));
    const std::string translated = pcre_syntax(pattern, where_);
    const CompileContext context(pcre2_compile_context_create(nullptr));
    if (!context) throw Error(ErrorKind::out_of_memory, where_ + ": no memory for a regular expression");
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context.get(), 100);
    // MULTILINE: in Ruby's syntax ^ and $ match at line ends. \C would split a character.
    const std::uint32_t options =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), options, &error, &at,
                              context.get()),
                pcre2_code_free);
    if (!code_)
        fail(where_,
             format("not a regular expression, at character {}: {}", static_cast<std::size_t>(at), message_of(error)));
}

std::vector<Match> Regex::find_all(std::string_view subject) const {
    std::vector<Match> matches;
    if (subject.empty()) return matches;
    Search search(code_.get(), subject);
    if (!search.ready()) throw Error(ErrorKind::out_of_memory, where_ + ": no memory for a regular expression");
    for (std::size_t at = 0; at <= subject.size();) {
        const int result = search.next(at);
        if (result == PCRE2_ERROR_NOMATCH) break;
        if (result < 0)
            fail(where_, format("the regular expression exceeds its limits on a text of {} bytes: {}", subject.size(),
                                message_of(result)));
        const Match match = search.match();
        if (match.begin < at || match.end < match.begin)  // possible with \K in a lookbehind
            fail(where_, "the regular expression matches backwards (\\K), which cannot split a text");
        const bool empty = match.begin == match.end;
        if (!empty || matches.empty() || match.begin != matches.back().end) matches.push_back(match);
        at = match.end;
        if (empty) at += at < subject.size() ? character_at(subject, at).bytes : 1;
    }
    return matches;
}

// ---- syntax --------------------------------------------------------------------------------------------------------

namespace {

/// Translates Ruby's syntax from left to right. Everything that is not handled here is the same in both.
class Translator {
public:
    Translator(std::string_view ruby, const std::string& where) : in_(ruby), where_(where) {}

    std::string run() {
        while (at_ < in_.size()) {
            const char c = in_[at_];
            if (c == '\\')
                escape();
            else if (in_class_)
                class_character(c);
            else if (c == '[')
                open_class();
            else if (in_.substr(at_, 2) == "(?")
                group_flags();
            else
                take(1);
        }
        return out_;
    }

private:
    void take(std::size_t count) {
        out_ += in_.substr(at_, count);
        at_ += std::min(count, in_.size() - at_);
    }
    void put(std::string_view text, std::size_t consumed) {
        out_ += text;
        at_ += consumed;
    }
    /// A character set: bare inside a class, bracketed outside.
    void put_set(const char* members, bool negated) {
        put(in_class_ ? std::string(members) : std::string(negated ? "[^" : "[") + members + "]", 2);
    }

    void escape() {
        // White_Space instead of PCRE2's \s, which contains U+180E; words by Unicode, not only letters and digits.
        static constexpr const char* space = "\\t-\\r\\x{85}\\p{Z}";
        static constexpr const char* word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
        // Outside of classes ² ³ ¹ ¼ ½ ¾ are word characters: Oniguruma has its own table for Latin-1.
        static constexpr const char* bare_word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\xB2\\xB3\\xB9\\xBC-\\xBE";
        static constexpr const char* hex = "0-9a-fA-F";
        switch (at_ + 1 < in_.size() ? in_[at_ + 1] : '\0') {
            case 's': return put_set(space, false);
            case 'S': return in_class_ ? put("\\S\\x{180e}", 2) : put_set(space, true);
            case 'w': return put_set(in_class_ ? word : bare_word, false);
            case 'W': return in_class_ ? take(2) : put_set(bare_word, true);
            case 'h': return put_set(hex, false);
            case 'H': return in_class_ ? fail(where_, "\\H inside [] is not supported") : put_set(hex, true);
            case 'u': return unicode_escape();
            default: return take(2);
        }
    }

    void unicode_escape() {  // \u1234
        const std::string_view digits = in_.substr(at_ + 2, 4);
        if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
            fail(where_, "\\u in the regular expression needs four hexadecimal digits");
        put("\\x{" + std::string(digits) + "}", 6);
    }

    void open_class() {
        in_class_ = true;
        take(1);
        if (in_.substr(at_, 1) == "^") take(1);
        if (in_.substr(at_, 1) == "]") take(1);  // a bracket in first position is a member
    }

    void class_character(char c) {
        if (c == '[' && in_.substr(at_, 2) == "[:") {  // [:alpha:]
            const std::size_t end = in_.find(":]", at_ + 2);
            if (end != std::string_view::npos) return take(end + 2 - at_);
        }
        if (c == '[' || in_.substr(at_, 2) == "&&")
            fail(where_, "sets inside [] (a nested [ or &&) are not supported; write \\[ for the bracket itself");
        in_class_ = c != ']';
        take(1);
    }

    /// (?m) is "dot matches newline" in Ruby, (?s) elsewhere.
    void group_flags() {
        take(2);
        const std::size_t end = in_.find_first_not_of("imx-", at_);
        if (end == std::string_view::npos || end == at_ || (in_[end] != ')' && in_[end] != ':')) return;
        for (; at_ < end; ++at_) out_ += in_[at_] == 'm' ? 's' : in_[at_];
    }

    std::string_view in_;
    const std::string& where_;
    std::string out_;
    std::size_t at_ = 0;
    bool in_class_ = false;
};

}  // namespace

std::string pcre_syntax(std::string_view ruby, const std::string& where) { return Translator(ruby, where).run(); }

}  // namespace vantage::text
