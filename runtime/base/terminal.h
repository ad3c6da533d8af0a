// Standard input, and what stdout and stderr are connected to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

bool is_terminal(int fd);
/// Width of the terminal, 80 when unknown.
int terminal_columns(int fd);

/// Opens /dev/null in place of a standard stream that is closed, so that no file of the program gets its number. As
/// before, reading stdin or writing to stdout and stderr then fails.
void open_standard_streams();

/// All of stdin, byte for byte. Throws bad_file for more than `limit` bytes.
std::string read_stdin(std::size_t limit = std::size_t{1} << 30);
/// The next line of stdin, without its end (\n or \r\n), or nothing at the end of the input. Throws interrupted on
/// Ctrl-C, and bad_file for more than `limit` bytes.
std::optional<std::string> read_line(std::size_t limit = std::size_t{1} << 30);

}  // namespace vantage::internal
