// Key bindings: the defaults of the actions, or those of the user's keymap file.
//
//   # one line per action; actions without a line keep their default key
//   layer-up = K        # a comment
//   quit = none
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viewer/panels/actions.h"

namespace vantage::view {

class KeyBindings {
public:
    /// Default keys.
    KeyBindings();
    /// Reads the text of a keymap file. A key that is assigned to an action is removed from the action that had it.
    /// Throws usage naming `file` and the line.
    KeyBindings(std::string_view text, const std::string& file);

    const Shortcut& of(const Action& action) const;
    /// The action of a key, or null.
    const Action* action_of(const Shortcut& shortcut) const;
    /// All actions in the format of a keymap file.
    std::string as_file() const;

private:
    void read_line(std::string_view line, const std::string& where, std::vector<std::string>& set_at);
    std::vector<Shortcut> shortcuts_;  ///< by place in actions()
};

/// Reads $XDG_CONFIG_HOME/vantage/keys or ~/.config/vantage/keys; without a file the default keys.
KeyBindings own_keys();

}  // namespace vantage::view
