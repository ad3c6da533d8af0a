// The tokens of a template as a tree, by the grammar of Jinja 3.
#pragma once

#include <string>
#include <string_view>

#include "runtime/text/jinja/syntax.h"

namespace vantage::text::jinja {

/// `name` stands for the template in messages. Throws bad_file for what is no template (an unclosed block, a missing
/// bracket, levels without end), unsupported for a tag that is not built. Filters, tests and methods are looked for when
/// they are used: a template may have branches that a conversation never takes.
Body parse(std::string_view source, const std::string& name);

}  // namespace vantage::text::jinja
