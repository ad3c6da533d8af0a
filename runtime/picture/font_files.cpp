#include "runtime/picture/font_files.h"

#include <filesystem>
#include <initializer_list>
#include <map>
#include <system_error>

#include "runtime/base/log.h"
#include "runtime/base/options.h"

namespace vantage::internal {
namespace {

namespace fs = std::filesystem;

/// Font files below the standard folders, by name. Distributions differ in the folders between.
const std::map<std::string, std::string>& font_index() {
    static const std::map<std::string, std::string> index = [] {
        std::vector<std::string> roots{"/usr/share/fonts", "/usr/local/share/fonts",
                                       "/run/current-system/sw/share/X11/fonts"};
        if (const auto home = environment("HOME")) roots.push_back(*home + "/.local/share/fonts");
        std::map<std::string, std::string> found;
        for (const std::string& root : roots) {
            std::error_code error;
            fs::recursive_directory_iterator entry(root, fs::directory_options::skip_permission_denied, error);
            for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
                found.emplace(entry->path().filename().string(), entry->path().string());
        }
        return found;
    }();
    return index;
}

void add_first_of(std::vector<std::string>& fonts, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const auto font = font_index().find(name);
        if (font == font_index().end()) continue;
        fonts.push_back(font->second);
        return;
    }
}

}  // namespace

std::vector<std::string> installed_fonts(TextWeight weight) {
    std::vector<std::string> fonts;
    if (const auto wish = environment("VANTAGE_FONT")) {
        std::error_code ignored;
        if (fs::is_regular_file(*wish, ignored))  // FreeType would wait for a pipe
            fonts.push_back(*wish);               // also for bold text: titles in another family would look wrong
        else if (weight == TextWeight::regular)
            log(LogLevel::warning, "{}: cannot read this font: it is no file", *wish);
    }
    if (weight == TextWeight::bold)
        add_first_of(fonts, {"DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf", "LiberationSans-Bold.ttf"});
    add_first_of(fonts, {"DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf"});
    add_first_of(fonts, {"NotoSansCJK-Regular.ttc", "wqy-zenhei.ttc"});
    return fonts;
}

}  // namespace vantage::internal
