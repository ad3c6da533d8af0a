// Runs a template: what it writes for the values given.
#pragma once

#include <ctime>
#include <map>
#include <string>

#include "runtime/text/jinja/syntax.h"

namespace vantage::text::jinja {

/// The names that a template finds.
using Variables = std::map<std::string, Value, std::less<>>;

/// `name` stands for the template in messages, `now` is what strftime_now shows. Throws bad_file for what cannot be done
/// (and where a limit is reached), unsupported for what is not built, usage where the template itself refuses the values
/// by raise_exception.
std::string render(const Body& body, const std::string& name, const Variables& variables, std::time_t now,
                   Budget& budget);

}  // namespace vantage::text::jinja
