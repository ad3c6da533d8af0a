// The menus, for mouse and keyboard.
#pragma once

#include "viewer/panels/actions.h"
#include "viewer/panels/ui.h"

namespace vantage::view {

/// Draws the menu names in a line from `left`, as high as `box`. Returns the right end.
float draw_menu_names(const Ui& ui, const Box& box, float left);
/// Draws the open menu over everything else.
void draw_open_menu(const Ui& ui, Viewer& view);
/// Opens the menus, or closes them.
void open_or_close_menus(Viewer& view);
/// Handles a key while a menu is open: arrows select, Enter runs, others close.
void act_in_menu(Viewer& view, const Shortcut& shortcut);

}  // namespace vantage::view
