#include "runtime/base/line_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/base/log.h"

namespace vantage::internal {

LineFile::LineFile(const std::string& path)
    : path_(path), file_(posix::open_file(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666)) {
    if (file_.get() < 0) posix::throw_file_error("cannot write", path, errno);
}

void LineFile::add(std::string_view line) {
    const std::string text = std::string(line) + "\n";
    const ::off_t begin = ::lseek(file_.get(), 0, SEEK_END);
    const int error = posix::write_all(file_.get(), std::as_bytes(std::span(text)));
    if (error == 0) return;
    if (begin >= 0) static_cast<void>(!::ftruncate(file_.get(), begin));  // the part that was written
    if (!std::exchange(warned_, true))
        log(LogLevel::warning, "cannot write {}: {}; lines will be missing", path_, std::strerror(error));
}

}  // namespace vantage::internal
