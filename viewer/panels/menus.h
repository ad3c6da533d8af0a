// The menus: the same for the mouse and for the keyboard.
#pragma once

#include "viewer/panels/actions.h"
#include "viewer/panels/ui.h"

namespace vantage::view {

/// Their names in a line from `left` on, as high as `box`; returns the right end.
float draw_menu_names(Ui& ui, const Box& box, float left);
/// The one that is open, over everything else.
void draw_open_menu(Ui& ui, const KeyBindings& keys, ViewCommands& view);
/// Opens the menus, or closes them.
void open_or_close_menus(ViewCommands& view);
/// What a key does while one is open: arrows choose, Enter does, all else closes.
void act_in_menu(ViewCommands& view, const Shortcut& shortcut);

}  // namespace vantage::view
