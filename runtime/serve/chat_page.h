// The chat page, runtime/serve/page, as it is built in.
#pragma once

#include <string_view>

namespace vantage::serve {

struct PageFile {
    std::string_view path, type, text;
};
/// The file behind a path; null where there is none.
const PageFile* page_file(std::string_view path);

}  // namespace vantage::serve
