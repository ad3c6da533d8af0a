// Writing the cells of a tile that a launch makes from the rows [begin, end) of its parameters t.
#include "lib/slots.glsl"
layout(buffer_reference, std430, buffer_reference_align = 8) restrict buffer Cells { vec2 at[]; };

// How many there are in slots of rows.
float queries(uint first, uint end) {
    return float(tokens_before(t.row_slots, end) - tokens_before(t.row_slots, first));
}

// `sum` and largest of a cell whose rows begin at `first`. What launches before left there is joined: its mean was over
// the rows of the text up to `rows_before`.
void put_cell(uint at, uint first, uint size, vec2 made) {
    float rows = max(queries(first, min(first + size, t.rows)), 1.0), sum = made.x, largest = made.y;
    if (t.begin > first) {
        vec2 before = Cells(t.cells).at[at];
        sum += before.x * queries(first, min(first + size, t.rows_before));
        largest = max(largest, before.y);
    }
    Cells(t.cells).at[at] = vec2(sum / rows, largest);
}
