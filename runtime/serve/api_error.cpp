#include "runtime/serve/api_error.h"

namespace vantage::serve {

namespace {

int status_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::usage:
        case ErrorKind::unsupported:
        case ErrorKind::bad_file: return 400;
        case ErrorKind::no_device:
        case ErrorKind::out_of_memory:
        case ErrorKind::device_lost:
        case ErrorKind::interrupted: return 503;
        case ErrorKind::failure:
        case ErrorKind::accuracy: return 500;
    }
    return 500;
}

const char* type_of(int status) {
    switch (status) {
        case 401: return "authentication_error";
        case 403: return "permission_error";
        case 404: return "not_found_error";
        case 429: return "overloaded_error";
        case 503: return "unavailable_error";
        default: return status < 500 ? "invalid_request_error" : "server_error";
    }
}

}  // namespace

ApiError::ApiError(const Error& error) : ApiError(status_of(error.kind()), error.what()) {}

Json ApiError::json() const {
    return {{"error",
             {{"message", what()},
              {"type", type_of(status)},
              {"param", param.empty() ? Json(nullptr) : Json(param)},
              {"code", nullptr}}}};
}

}  // namespace vantage::serve
