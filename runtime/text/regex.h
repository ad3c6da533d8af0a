// Regular expressions of tokenizer files. They have Oniguruma's Ruby syntax and are not trusted: PCRE2 runs them with
// limits on steps and memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;  // PCRE2's compiled pattern

namespace vantage::text {

/// A byte range of a string.
struct Match {
    std::size_t begin = 0, end = 0;
};

/// Finds places in a text, as byte ranges.
using Finder = std::function<std::vector<Match>(std::string_view)>;

/// Copies share the compiled pattern.
class Regex {
public:
    /// `where` names file and field in messages. Throws bad_file if the pattern cannot be compiled.
    Regex(const std::string& pattern, std::string where);

    /// All matches in valid UTF-8, left to right, without overlaps. An empty match directly after another match is
    /// ignored. Throws bad_file if the pattern exceeds the limits on steps or memory.
    std::vector<Match> find_all(std::string_view subject) const;
    Finder finder() const {
        return [regex = *this](std::string_view text) { return regex.find_all(text); };
    }

private:
    std::shared_ptr<const pcre2_real_code_8> code_;
    std::string where_;
};

/// Translates Ruby's syntax to PCRE2's: replaces what both spell alike but define differently (\s, \w, \h, (?m)).
/// Throws bad_file for set operations inside classes, which PCRE2 would misread.
std::string pcre_syntax(std::string_view ruby, const std::string& where);

}  // namespace vantage::text
