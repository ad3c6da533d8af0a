// Errors: one exception type with a kind, which decides the exit code, and the caller's source line.
//
// Threads: values and pure functions: any thread.
// Errors: nothing here throws.
#pragma once

#include <stdexcept>
#include <string>

namespace vantage {

/// What went wrong, as far as a caller may want to act on it. The program's exit codes follow from it (`exit_code`).
enum class ErrorKind {
    failure,        ///< anything not named below
    usage,          ///< the caller asked for something that makes no sense
    no_device,      ///< no Vulkan loader, or no device that can be used
    out_of_memory,  ///< host or device memory
    device_lost,    ///< the device stopped answering, or a wait ran into its timeout
    bad_file,       ///< a missing, damaged or contradictory file
    unsupported,    ///< a valid request that this build, device or model cannot serve
    accuracy,       ///< a result outside its tolerance, or not finite
    interrupted,    ///< Ctrl-C
};

/// 0 is success; 1 failure · 2 usage · 3 no device · 4 memory · 5 device lost · 6 file · 7 accuracy · 130 interrupted.
int exit_code(ErrorKind kind);

/// A place in the caller's source. `SourceLocation where = SourceLocation::here()` as a last parameter names the line
/// of the call.
struct SourceLocation {
    const char* file = "";
    int line = 0;
    static constexpr SourceLocation here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

/// "model.cpp:12: ", the beginning of a message; empty where the place is not known.
std::string text_of(SourceLocation where);

/// The one exception of Vantage. `what()` is one line: the thing, what was found, what was wanted, what to do.
///
/// Threads: a value.
class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string& message, SourceLocation where = {})
        : std::runtime_error(message), kind_(kind), where_(where) {}
    ErrorKind kind() const { return kind_; }
    SourceLocation where() const { return where_; }

private:
    ErrorKind kind_;
    SourceLocation where_;
};

}  // namespace vantage
