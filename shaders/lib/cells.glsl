// Writing the cells of a tile that a launch makes from the rows [begin, end) of its parameters t.
#ifndef VANTAGE_CELLS_GLSL
#define VANTAGE_CELLS_GLSL
layout(buffer_reference, std430, buffer_reference_align = 8) restrict buffer Cells { vec2 at[]; };

// `sum` and largest of a cell whose rows begin at `first`. What launches before left there is joined: its mean was over
// the rows of the text up to `rows_before`.
void put_cell(uint at, uint first, uint size, vec2 made) {
    float rows = float(min(first + size, t.rows) - first), sum = made.x, largest = made.y;
    if (t.begin > first) {
        vec2 before = Cells(t.cells).at[at];
        sum += before.x * float(min(first + size, t.rows_before) - first);
        largest = max(largest, before.y);
    }
    Cells(t.cells).at[at] = vec2(sum / rows, largest);
}
#endif
