#include "runtime/text/pattern.h"

namespace vantage::text {

Finder make_finder(const JsonFields& component) {
    const JsonFields pattern = component.object("pattern");
    if (pattern.has("String")) {
        const std::string wanted = pattern.text("String");
        // Searching costs this length at each position of a text.
        constexpr std::size_t longest = 4096;
        if (wanted.empty() || wanted.size() > longest) pattern.fail("String", format("1 to {} bytes", longest));
        return [wanted](std::string_view text) { return find_string(text, wanted); };
    }
    if (!pattern.has("Regex")) component.fail("pattern", "one of: String, Regex");
    return Regex(pattern.text("Regex"), pattern.name() + ": " + in_quotes(pattern.path_of("Regex"))).finder();
}

std::string one_character(const JsonFields& fields, std::string_view key) {
    std::string text = fields.text(key);
    if (text.empty() || character_at(text, 0).bytes != text.size()) fields.fail(key, "one character");
    return text;
}

}  // namespace vantage::text
