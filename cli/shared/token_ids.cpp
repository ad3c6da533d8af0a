#include "cli/shared/token_ids.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"

namespace vantage::cli {

namespace {

std::int32_t read_id(std::string_view word, const std::string& source, const char* what) {
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error == std::errc() && end == word.data() + word.size()) return id;
    throw usage_error("{}: {} is not a {}; give numbers separated by commas or spaces: 1,2,3", source,
                      describe(Json(repair_utf8(word))), what);
}

}  // namespace

std::vector<std::int32_t> read_ids(std::string_view text, const std::string& source, const char* what) {
    constexpr std::string_view separators = ", \t\r\n";
    const std::size_t first = text.find_first_not_of(separators), last = text.find_last_not_of(separators);
    if (first == std::string_view::npos) return {};
    text = text.substr(first, last - first + 1);
    if (text.starts_with('[') && text.ends_with(']') && text.size() > 1) text = text.substr(1, text.size() - 2);
    std::vector<std::int32_t> ids;
    for (std::size_t at = text.find_first_not_of(separators); at != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
        ids.push_back(read_id(text.substr(at, end - at), source, what));
        at = text.find_first_not_of(separators, end);
    }
    return ids;
}

}  // namespace vantage::cli
