#include "vantage/error.h"

namespace vantage {

std::string text_of(SourceLocation where) {
    return where.line > 0 ? where.file + (":" + std::to_string(where.line)) + ": " : std::string();
}

int exit_code(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::failure:
        case ErrorKind::unsupported: return 1;  // not 2: the request is valid, but not possible here
        case ErrorKind::usage: return 2;
        case ErrorKind::no_device: return 3;
        case ErrorKind::out_of_memory: return 4;
        case ErrorKind::device_lost: return 5;
        case ErrorKind::bad_file: return 6;
        case ErrorKind::accuracy: return 7;
        case ErrorKind::interrupted: return 130;
    }
    return 1;
}

}  // namespace vantage
