// Renders a template with given variables.
#pragma once

#include <ctime>
#include <functional>
#include <map>
#include <string>

#include "runtime/text/jinja/syntax.h"

namespace vantage::text::jinja {

/// The variables of a template.
using Variables = std::map<std::string, Value, std::less<>>;

/// `name` names the template in messages, `now` is the time for strftime_now. Throws bad_file for errors and exceeded
/// limits, unsupported for parts of Jinja that Vantage does not support, usage if the template calls raise_exception.
std::string render(const Body& body, const std::string& name, const Variables& variables, std::time_t now,
                   Budget& budget);

}  // namespace vantage::text::jinja
