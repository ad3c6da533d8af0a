// Regular expressions of tokenizer files. They have Oniguruma's Ruby syntax and are not trusted: PCRE2 runs them with
// limits on steps and memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::text {

/// A byte range of a string.
struct Match {
    std::size_t begin = 0, end = 0;
};

class Regex {
public:
    /// `where` names file and field in messages. Throws bad_file if the pattern cannot be compiled.
    Regex(const std::string& pattern, std::string where);
    ~Regex();
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;

    /// All matches in valid UTF-8, left to right, without overlaps. An empty match directly after another match is
    /// ignored. Throws bad_file if the pattern exceeds the limits on steps or memory.
    std::vector<Match> find_all(std::string_view subject) const;

private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
    std::string where_;
};

/// Translates Ruby's syntax to PCRE2's: replaces what both spell alike but define differently (\s, \w, \h, (?m)).
/// Throws bad_file for set operations inside classes, which PCRE2 would misread.
std::string pcre_syntax(std::string_view ruby, const std::string& where);

}  // namespace vantage::text
