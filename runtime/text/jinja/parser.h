// Parses a template into a tree, by the grammar of Jinja 3.
#pragma once

#include <string>
#include <string_view>

#include "runtime/text/jinja/syntax.h"

namespace vantage::text::jinja {

/// `name` names the template in messages. Throws bad_file for an invalid template (an unclosed block, a missing
/// bracket, too deep nesting), unsupported for an unsupported tag. Filters, tests and methods are resolved when they
/// are used, because a template may have branches that are never taken.
Body parse(std::string_view source, const std::string& name);

}  // namespace vantage::text::jinja
