#include "cli/shared/report_error.h"

#include <filesystem>
#include <new>
#include <system_error>

#include "runtime/base/log.h"
#include "vantage/error.h"

namespace vantage::cli {

int report_error() {
    using internal::log;
    try {
        throw;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) log(LogLevel::error, "{}", error.what());
        return exit_code(error.kind());
    } catch (const std::bad_alloc&) {
        log(LogLevel::error, "out of host memory");
        return exit_code(ErrorKind::out_of_memory);
    } catch (const std::filesystem::filesystem_error& error) {
        log(LogLevel::error, "{}: {}", error.path1().string(), error.code().message());
        return exit_code(ErrorKind::bad_file);
    } catch (const std::system_error& error) {  // such as a thread that cannot be started
        log(LogLevel::error, "{}", error.what());
        const bool exhausted = error.code() == std::errc::resource_unavailable_try_again;
        return exit_code(exhausted ? ErrorKind::out_of_memory : ErrorKind::failure);
    } catch (const std::exception& error) {
        log(LogLevel::error, "{}", error.what());
        return exit_code(ErrorKind::failure);
    }
}

}  // namespace vantage::cli
