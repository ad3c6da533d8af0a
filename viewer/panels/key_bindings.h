// Which key does what: as the actions say, or as a file of the user's says instead.
//
//   # a line each; what stands in no line stays as it is
//   layer-up = K        # any text behind a blank and a #
//   quit = none
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viewer/panels/actions.h"

namespace vantage::view {

class KeyBindings {
public:
    /// As the actions say.
    KeyBindings();
    /// As the text of a file says. A key that it gives to one action is taken from the one that had it. Throws usage naming `file`
    /// and the line.
    KeyBindings(std::string_view text, const std::string& file);

    const Shortcut& of(const Action& action) const;
    /// The action of a key, or null.
    const Action* action_of(const Shortcut& shortcut) const;
    /// All actions as such a file.
    std::string as_file() const;

private:
    void read_line(std::string_view line, const std::string& where, std::vector<std::string>& set_at);
    std::vector<Shortcut> shortcuts_;  ///< by place in actions()
};

/// What the user's own file says, $XDG_CONFIG_HOME/vantage/keys or ~/.config/vantage/keys; without one as the actions say.
KeyBindings own_keys();

}  // namespace vantage::view
