// Regular expressions of tokenizer files. They are written for Oniguruma's Ruby syntax and are not trusted: PCRE2 runs
// them with limits on steps and memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::text {

/// A part of a string, by byte.
struct Match {
    std::size_t begin = 0, end = 0;
};

class Regex {
public:
    /// `where` names file and field in messages. Throws bad_file when the pattern cannot be compiled.
    Regex(const std::string& pattern, std::string where);
    ~Regex();
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;

    /// All matches in valid UTF-8, left to right, not overlapping; an empty match right behind another one is none.
    /// Throws bad_file when the pattern needs more steps or memory than any sensible one.
    std::vector<Match> find_all(std::string_view subject) const;

private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
    std::string where_;
};

/// Ruby's syntax in PCRE2's: what the two spell alike but mean differently (\s, \w, \h, (?m)) is spelled out. Throws
/// bad_file for set operations inside classes, which PCRE2 would misread.
std::string pcre_syntax(std::string_view ruby, const std::string& where);

}  // namespace vantage::text
