// How an error ends the program.
#pragma once

namespace vantage::cli {

/// Logs the exception that is being handled, unless it is an interruption, and returns its exit code.
int report_error();

}  // namespace vantage::cli
