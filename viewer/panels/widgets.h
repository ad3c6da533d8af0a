// Building blocks of panels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viewer/panels/ui.h"

namespace vantage::view {

inline constexpr ImGuiWindowFlags fixed_window =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav;
/// The next window has this place and size.
void place_window(const Box& box);

/// A window without decoration, open while the object lives; false if the box is empty.
class Panel : NotCopied {
public:
    Panel(const char* name, const Box& box, ImGuiWindowFlags more = ImGuiWindowFlags_NoBringToFrontOnFocus);
    ~Panel();
    explicit operator bool() const { return open_; }

private:
    bool open_;
};

/// A part of a panel that scrolls where its room is small. It ends with the object, also by an exception: a panel cannot
/// end before it.
class ScrolledPart : NotCopied {
public:
    ScrolledPart(const char* name, const ImVec2& size) { ImGui::BeginChild(name, size); }
    ~ScrolledPart() { ImGui::EndChild(); }
};

/// Whether the mouse is in the box; and over the current window.
bool has_mouse(const Box& box);
bool is_pointed_at(const Box& box);
/// Whether it has moved since the last picture.
bool mouse_moved();

inline const Face& regular(const Ui& ui) { return ui.fonts.regular; }
inline const Face& small(const Ui& ui) { return ui.fonts.small; }
inline const Face& bold(const Ui& ui) { return ui.fonts.bold; }
inline const Face& title(const Ui& ui) { return ui.fonts.title; }

/// Keeps the texts that this thread's panels draw and where, while it lives: a test reads them.
class TextLog : NotCopied {
public:
    TextLog();
    ~TextLog();
    std::vector<std::string> texts;
    std::vector<Box> places;     ///< of the texts
    std::vector<Box> explained;  ///< have a tooltip that explains a number
};

float width_of(const Face& face, std::string_view text);

// ---- drawing: into the current window, or over all of them (`foreground`)
inline ImDrawList& window_list() { return *ImGui::GetWindowDrawList(); }
inline ImDrawList& foreground() { return *ImGui::GetForegroundDrawList(); }
/// Text with its upper left corner at a whole pixel. Returns its right end.
float put(const Face& face, float x, float y, ImU32 colour, std::string_view text, ImDrawList& list = window_list());
/// Ends at `right`. Returns its left end.
float put_right(const Face& face, float right, float y, ImU32 colour, std::string_view text);
/// Around `middle`.
void put_middle(const Face& face, float middle, float y, ImU32 colour, std::string_view text,
                ImDrawList& list = window_list());
/// Rotated by 90°, reading upwards: begins at `bottom`, centred on `middle`.
void put_upwards(const Face& face, float middle, float bottom, ImU32 colour, std::string_view text);
/// In lines of at most the box's width; what has no room in its height is cut off.
void put_wrapped(const Face& face, const Box& box, ImU32 colour, std::string_view text);
/// Height of those lines.
float wrapped_height(const Face& face, std::string_view text, float width);
/// The text, shortened with "…" if it does not fit.
std::string fitted(const Face& face, std::string_view text, float width);

void fill(const Box& box, ImU32 colour, float rounding = 0, ImDrawList& list = window_list());
void outline(const Box& box, ImU32 colour, float thickness = 1, float rounding = 0, ImDrawList& list = window_list());

/// Of ImGui's last item.
Box box_of_item();
/// Notes for a test a text that ImGui draws here.
void note_text(std::string_view text, const Box& place);
/// Notes for a test that this box has a tooltip.
void note_tooltip(const Box& box);
/// The explanation of a number, in a tooltip while its box is pointed at.
void explain_number(const Ui& ui, const Box& box, std::string_view name);

/// A panel's heading: its name at the left, what it shows at the right.
float heading(const Ui& ui, const Box& box, std::string_view name, std::string_view what = {});

}  // namespace vantage::view
