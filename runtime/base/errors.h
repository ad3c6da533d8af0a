// Errors with a message made by format: throw usage_error("{} has {} layers", name, layers).
#pragma once

#include <string>

#include "runtime/base/format.h"
#include "vantage/error.h"

namespace vantage::internal {

inline Error usage_error(const std::string& message) { return Error(ErrorKind::usage, message); }
template <class... Arguments>
Error usage_error(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    return usage_error(format(text, arguments...));
}

inline Error bad_file_error(const std::string& message) { return Error(ErrorKind::bad_file, message); }
template <class... Arguments>
Error bad_file_error(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    return bad_file_error(format(text, arguments...));
}

inline Error unsupported_error(const std::string& message) { return Error(ErrorKind::unsupported, message); }
template <class... Arguments>
Error unsupported_error(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    return unsupported_error(format(text, arguments...));
}

}  // namespace vantage::internal
