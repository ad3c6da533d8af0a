#include "viewer/panels/key_bindings.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/options.h"
#include "runtime/base/terminal.h"
#include "runtime/picture/shown_text.h"

namespace vantage::view {
namespace {

constexpr std::size_t max_bytes = 1 << 20;  // of a file

/// Names of actions in keymap files of earlier releases. Readable for one release.
const std::map<std::string_view, std::string_view> renamed_actions{
    {"telling", "suggest-head"},     {"grid", "thumbnails"},       {"closer", "zoom-in"},
    {"farther", "zoom-out"},         {"pick-left", "select-left"}, {"pick-right", "select-right"},
    {"pick-up", "select-up"},        {"pick-down", "select-down"}, {"sink-off", "exclude-first"},
    {"bright-down", "maximum-down"}, {"bright-up", "maximum-up"},  {"dark-down", "minimum-down"},
    {"dark-up", "minimum-up"},       {"range", "reset-range"},
};

std::string_view current_name(std::string_view name) {
    const auto renamed = renamed_actions.find(name);
    return renamed != renamed_actions.end() ? renamed->second : name;
}

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

std::string in_quotes(std::string_view text) { return "\"" + without_controls(std::string(text)) + "\""; }

}  // namespace

KeyBindings::KeyBindings() {
    for (const Action& action : actions()) shortcuts_.push_back(action.shortcut);
}

KeyBindings::KeyBindings(std::string_view text, const std::string& file) : KeyBindings() {
    std::vector<std::string> set_at(shortcuts_.size());  // by action, where in the file
    for (int number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        read_line(trimmed(text.substr(0, end)), format("{}:{}", file, number), set_at);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void KeyBindings::read_line(std::string_view line, const std::string& where, std::vector<std::string>& set_at) {
    if (line.empty() || line.front() == '#') return;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
        throw usage_error("{}: {} is not a line such as \"layer-up = Up\"", where, in_quotes(line));
    const std::string_view name = current_name(trimmed(line.substr(0, equals)));
    std::string_view wanted = trimmed(line.substr(equals + 1));
    const std::size_t blank = std::min(wanted.find_first_of(" \t"), wanted.size());
    const std::string_view rest = trimmed(wanted.substr(blank));
    if (rest.empty() || rest.front() == '#') wanted = wanted.substr(0, blank);
    const auto action = std::ranges::find_if(actions(), [&](const Action& a) { return name == a.word; });
    if (action == actions().end())
        throw usage_error("{}: there is no action {}; vantage view --keys lists them", where, in_quotes(name));
    const auto shortcut = shortcut_named(wanted);
    if (!shortcut)
        throw usage_error("{}: {} is not a key: give one such as x, Shift+X, Ctrl+X, Alt+Left, F5, Space or none",
                          where, in_quotes(wanted));
    const auto own = static_cast<std::size_t>(action - actions().begin());
    if (!set_at[own].empty())
        throw usage_error("{}: {} already has a key from {}", where, in_quotes(name), set_at[own]);
    for (std::size_t i = 0; i < shortcuts_.size() && *shortcut != Shortcut{}; ++i) {
        if (shortcuts_[i] != *shortcut || i == own) continue;
        if (!set_at[i].empty())
            throw usage_error("{}: {} is the key of \"{}\" from {}", where, word_of(*shortcut), actions()[i].word,
                              set_at[i]);
        shortcuts_[i] = {};
    }
    shortcuts_[own] = *shortcut;
    set_at[own] = where;
}

const Shortcut& KeyBindings::of(const Action& action) const { return at(shortcuts_, &action - actions().data()); }

const Action* KeyBindings::action_of(const Shortcut& shortcut) const {
    const auto found = std::ranges::find(shortcuts_, shortcut);
    if (shortcut == Shortcut{} || found == shortcuts_.end()) return nullptr;
    return &at(actions(), found - shortcuts_.begin());
}

std::string KeyBindings::as_file() const {
    std::string text;
    for (int menu = 0; menu < menu_count; ++menu) {
        text += std::string(menu > 0 ? "\n" : "") + "# " + name_of(static_cast<Menu>(menu)) + "\n";
        for (const Action& action : actions())
            if (action.menu == static_cast<Menu>(menu))
                text += format("{:<14} = {:<12} # {}\n", action.word, word_of(of(action)), action.name);
    }
    return text;
}

KeyBindings own_keys() {
    const std::string folder = config_directory(), file = folder + "/keys";
    std::error_code ignored;
    if (folder.empty() || !std::filesystem::exists(file, ignored)) return {};
    return {read_file(file, max_bytes), file};
}

}  // namespace vantage::view
