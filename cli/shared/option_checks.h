// Checks of numbers on the command line. (CLI::PositiveNumber and NonNegativeNumber write the largest double, with its
// 309 digits, into their messages.)
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace vantage::cli {

inline const CLI::Validator above_zero{[](std::string& text) {
                                           double number = 0;
                                           return CLI::detail::lexical_cast(text, number) && number > 0
                                                      ? std::string()
                                                      : "expected a number above 0, got " + text;
                                       },
                                       "POSITIVE"};
inline const CLI::Validator zero_or_more{[](std::string& text) {
                                             double number = 0;
                                             return CLI::detail::lexical_cast(text, number) && number >= 0
                                                        ? std::string()
                                                        : "expected a number, 0 or more, got " + text;
                                         },
                                         "NONNEGATIVE"};

}  // namespace vantage::cli
