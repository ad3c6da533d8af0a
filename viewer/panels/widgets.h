// Small things that panels are made of.
#pragma once

#include <string>
#include <string_view>

#include "viewer/panels/ui.h"

namespace vantage::view {

/// A window without decoration; false when the box is empty. Ends itself.
class Panel {
public:
    Panel(const Ui& ui, const char* name, const Box& box, bool scrolls = false);
    ~Panel();
    Panel(const Panel&) = delete;
    Panel& operator=(const Panel&) = delete;
    explicit operator bool() const { return open_; }

private:
    bool open_;
};

struct Face {
    ImFont* font;
    float size;
};
Face regular(const Ui& ui);
Face small(const Ui& ui);
Face bold(const Ui& ui);
Face title(const Ui& ui);

float width_of(const Face& face, std::string_view text);
/// Text with its upper left corner at a whole pixel. Returns its right end.
float put(ImDrawList& list, const Face& face, float x, float y, ImU32 colour, std::string_view text);
/// Ends at `right`. Returns its left end.
float put_right(ImDrawList& list, const Face& face, float right, float y, ImU32 colour, std::string_view text);
/// Around `middle`.
void put_middle(ImDrawList& list, const Face& face, float middle, float y, ImU32 colour, std::string_view text);
/// Turned by 90°, read upwards: the text's beginning is at `bottom`, its line is around `middle`.
void put_upwards(ImDrawList& list, const Face& face, float middle, float bottom, ImU32 colour, std::string_view text);
/// The longest beginning that fits, with "…" where something is left out.
std::string fitted(const Face& face, std::string_view text, float width);

void fill(ImDrawList& list, const Box& box, ImU32 colour, float rounding = 0);
void outline(ImDrawList& list, const Box& box, ImU32 colour, float thickness = 1, float rounding = 0);

/// A heading in small faint capitals' stead: the panel's name at the left, what it shows at the right.
float heading(const Ui& ui, ImDrawList& list, const Box& box, std::string_view name, std::string_view what = {});

}  // namespace vantage::view
