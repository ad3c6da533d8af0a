#include "cli/shared/token_ids.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
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

std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

}  // namespace

std::vector<std::int32_t> read_ids(std::string_view text, const std::string& source, const char* what) {
    text = without_blanks(text);
    if (text.starts_with('[') && text.ends_with(']') && text.size() > 1)
        text = without_blanks(text.substr(1, text.size() - 2));
    std::vector<std::int32_t> ids;
    for (bool more = !text.empty(); more;) {
        throw_if_interrupted();
        const std::size_t end = std::min(text.find_first_of(", \t\r\n"), text.size());
        ids.push_back(read_id(text.substr(0, end), source, what));  // refuses what is empty
        text = without_blanks(text.substr(end));
        more = !text.empty();
        if (text.starts_with(',')) text = without_blanks(text.substr(1));
    }
    return ids;
}

}  // namespace vantage::cli
