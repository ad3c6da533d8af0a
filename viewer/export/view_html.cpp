// A view as one HTML file: the numbers in base64, and a page that draws them, with pan, zoom and the cell under the
// mouse.
#include <bit>
#include <nlohmann/json.hpp>

#include "runtime/base/format.h"
#include "runtime/picture/colour_map.h"
#include "viewer/export/view_export.h"

namespace vantage::view {

namespace {

// The page before the data and after it. `view` is the object of page_data below.
const char* const page_begin = R"HTML(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Vantage</title>
<style>
body { margin: 0; font: 14px "DejaVu Sans", sans-serif; display: flex; flex-direction: column; height: 100vh; }
body.dark { background: #16181f; color: #eceef4; } body.light { background: #fff; color: #181a20; }
header, footer { padding: 8px 16px; } h1 { font-size: 17px; margin: 0; } small, details { opacity: .7; }
details { font-size: 12px; } pre { margin: 4px 0; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
main { flex: 1; min-height: 0; display: flex; }
canvas { flex: 1; min-width: 0; height: 100%; touch-action: none; cursor: crosshair; }
aside { width: 280px; padding: 8px 16px; overflow: auto; } @media (max-width: 700px) { aside { display: none; } }
aside h2 { font-size: 14px; } aside div { position: relative; padding: 3px 6px; margin: 2px 0; display: flex; }
aside div span { flex: 1; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
aside div i { position: absolute; left: 0; top: 0; bottom: 0; background: #48dbcd55; border-radius: 3px; }
footer { font-variant-numeric: tabular-nums; min-height: 1.4em; }
</style></head><body>
<header><h1 id="title"></h1><small id="caption"></small>
<details id="others"><summary>Another head</summary>In a terminal, with another layer and head:<pre id="command"></pre></details>
<div id="runs"></div></header>
<main><canvas id="map" tabindex="0" aria-describedby="read"></canvas><aside id="row"></aside></main>
<footer id="read">Wheel: zoom · drag: move · F: fit · arrows: next cell</footer>
<script>
const view = )HTML";

const char* const page_end = R"HTML(;
const numbers = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
let part, values, lut, max;
const map = document.getElementById("map"), pen = map.getContext("2d"), read = document.getElementById("read");
document.body.className = view.theme;
document.title = document.getElementById("title").textContent = view.title;
document.getElementById("caption").textContent = view.caption + view.heads;
document.getElementById("command").textContent = view.command;
document.getElementById("others").hidden = !view.command;
for (const [key, value] of Object.entries(view.facts)) {
  const meta = document.createElement("meta"); meta.name = key; meta.content = value; document.head.append(meta);
}
const hidden = (r, c) => Number.isNaN(values[r * view.columns + c]);
function place(value) {
  if (part.difference) return value ? Math.round(128 + Math.sign(value) * 127 * scaled(Math.abs(value), 0)) : 128;
  return Math.round(scaled(value, view.min) * 255);
}
function scaled(value, min) {
  const share = value / max, low = min / max, root = Math.sqrt(low);
  if (!(share > low)) return 0;
  const at = view.scale === "log" ? 1 - Math.log(share) / Math.log(Math.max(low, 1e-4))
    : view.scale === "sqrt" ? (Math.sqrt(share) - root) / (1 - root) : (share - low) / (1 - low);
  return Math.max(0, Math.min(1, at));
}
const cells = document.createElement("canvas"); cells.width = Math.max(view.columns, 1); cells.height = Math.max(view.rows, 1);
function use(which) {
  part = view.parts[which]; values = numbers(part.values);
  lut = part.difference ? view.difference_colours : view.colours; max = part.max;
  const image = cells.getContext("2d").createImageData(cells.width, cells.height);
  for (let i = 0; i < values.length; ++i)
    if (!Number.isNaN(values[i])) image.data.set([...lut[place(values[i])], 255], 4 * i);
  cells.getContext("2d").putImageData(image, 0, 0);
}
use(view.first);
if (view.parts.length > 1)
  view.parts.forEach((one, i) => {
    const button = document.createElement("button"); button.textContent = one.name;
    button.onclick = () => turn_to(i); document.getElementById("runs").append(button);
  });
let zoom = 1, x = 0, y = 0, picked = null, drag = null, listed = view.rows - 1;
function turn_to(which) {
  use(which);
  if (picked) pick(...picked); else { list_row(listed); draw(); }
}
const room = 130, beside = 110; // for labels and titles; for the colour bar
function fit() {
  const wide = map.clientWidth - room - beside, high = map.clientHeight - room - 16;
  zoom = Math.max(0.01, Math.min(wide / cells.width, high / cells.height));
  x = Math.max(room, (map.clientWidth - beside + room - cells.width * zoom) / 2); y = room; draw();
}
// Where labels are missing in between they have the positions of their first tokens: then the words alone tell no place.
function labels(names, first, size, write) {
  const step = Math.max(1, Math.ceil(14 / size)), places = (step > 1 || view.level > 0) && view.positions;
  const label = i => places && first !== null ? `${names[i]}·${first + i * 2 ** view.level}` : names[i];
  for (let i = 0; i < names.length; i += step) write(label(i), (i + 0.5) * size);
}
function colour_bar(ink) {
  const left = Math.max(room, Math.min(x + cells.width * zoom + 24, map.clientWidth - beside + 16));
  const top = room, high = Math.min(280, map.clientHeight - room - 24);
  for (let i = 0; i < 256; ++i) {
    pen.fillStyle = `rgb(${lut[i]})`; pen.fillRect(left, top + high - (i + 1) * high / 256, 16, high / 256 + 0.5);
  }
  pen.fillStyle = ink; pen.fillText(part.bar_title, left, top - 10);
  for (const [position, text] of part.ticks) {
    const at = top + high * (1 - position);
    pen.fillRect(left + 16, at - 0.5, 4, 1); pen.fillText(text, left + 24, at + 4);
  }
}
function upwards(left, bottom, text, align) {
  pen.save(); pen.translate(left, bottom); pen.rotate(-Math.PI / 2); pen.textAlign = align;
  pen.fillText(text, 0, 0, room - 26); pen.restore();
}
function titles() {
  pen.textAlign = "left"; pen.globalAlpha = 0.7;
  pen.fillText(view.column_title, Math.max(x, room), 14);
  upwards(Math.max(x, room) - room + 16, Math.max(y, room), view.row_title, "right"); pen.globalAlpha = 1;
}
function draw() {
  const scale = devicePixelRatio; map.width = map.clientWidth * scale; map.height = map.clientHeight * scale;
  pen.setTransform(scale, 0, 0, scale, 0, 0); pen.imageSmoothingEnabled = false;
  pen.drawImage(cells, x, y, cells.width * zoom, cells.height * zoom);
  const ink = getComputedStyle(document.body).color;
  pen.fillStyle = ink; pen.font = "12px DejaVu Sans, sans-serif"; pen.textAlign = "right";
  labels(part.row_labels, view.first_row, zoom, (text, at) => {
    if (y + at > room) pen.fillText(text, Math.max(x, room) - 6, y + at + 4, room - 26);
  });
  labels(part.column_labels, view.column_word === "key" ? view.first_column : null, zoom, (text, at) => {
    if (x + at > room) upwards(x + at + 4, Math.max(y, room) - 6, text, "left");
  });
  titles(); colour_bar(ink);
  if (picked) { pen.strokeStyle = "#48dbcd"; pen.lineWidth = 2; pen.strokeRect(x + picked[1] * zoom, y + picked[0] * zoom, zoom, zoom); }
}
// The cells of a row that are largest.
const make = name => document.createElement(name);
function list_row(r) {
  if (view.rows === 0 || view.columns === 0) return;
  const row = document.getElementById("row"), at = c => values[r * view.columns + c], head = make("h2");
  const largest = Array.from({ length: view.columns }, (_, c) => c).filter(c => !hidden(r, c))
    .sort((a, b) => Math.abs(at(b)) - Math.abs(at(a)))
    .filter((c, i, all) => at(c) !== 0 && Math.abs(at(c)) > Math.abs(at(all[0])) / 500).slice(0, 20);
  const position = view.positions ? `${view.first_row + r * 2 ** view.level} ` : "";
  head.textContent = `“${part.row_labels[r]}” ${position}` + (part.difference ? "changes most at" : "attends to");
  listed = r;
  row.replaceChildren(head, ...largest.map(c => {
    const line = make("div"), bar = make("i"), name = make("span"), number = make("b");
    const place = view.column_word === "key" && view.positions ? `·${view.first_column + c * 2 ** view.level}` : "";
    bar.style.width = 100 * Math.min(1, Math.abs(at(c)) / Math.abs(at(largest[0]))) + "%";
    name.textContent = part.column_labels[c] + place;
    number.textContent = Math.abs(at(c)) < 1e-3 ? at(c).toExponential(1) : at(c).toFixed(3); line.append(bar, name, number); return line;
  }));
}
function pick(r, c) {
  if (r < 0 || c < 0 || r >= view.rows || c >= view.columns) return;
  picked = [r, c]; list_row(r);
  const size = 2 ** view.level, value = values[r * view.columns + c];
  read.textContent = `query ${view.first_row + r * size} “${part.row_labels[r]}” → ${view.column_word} ${view.first_column + c * size} “${part.column_labels[c]}”: ` +
    (part.name ? part.name + ": " : "") + (hidden(r, c) ? "not seen" : `${view.pooling} ${value.toPrecision(4)}`);
  draw();
}
map.onpointerdown = e => { drag = [e.clientX - x, e.clientY - y]; map.setPointerCapture(e.pointerId); };
map.onpointerup = () => drag = null;
map.onpointermove = e => {
  if (drag) { x = e.clientX - drag[0]; y = e.clientY - drag[1]; return draw(); }
  pick(Math.floor((e.offsetY - y) / zoom), Math.floor((e.offsetX - x) / zoom));
};
map.onwheel = e => {
  e.preventDefault();
  const factor = Math.exp(-e.deltaY / 400); zoom *= factor;
  x = e.offsetX - (e.offsetX - x) * factor; y = e.offsetY - (e.offsetY - y) * factor; draw();
};
onkeydown = e => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
  if (e.key === "f" || e.key === "F") fit();
  const which = ["[", "]", "d"].indexOf(e.key);
  if (which >= 0 && which < view.parts.length) turn_to(which);
  if (step) { e.preventDefault(); pick((picked ?? [0, 0])[0] + step[0], (picked ?? [0, 0])[1] + step[1]); }
};
onresize = document.getElementById("others").ontoggle = draw; fit(); list_row(listed);
</script></body></html>
)HTML";

/// Numbers as little-endian float32, NaN where a cell is hidden.
std::string bytes_of(const ViewSubject& s) {
    std::string bytes;
    for (std::int64_t r = 0; r < s.cells.rows; ++r)
        for (std::int64_t c = 0; c < s.cells.columns; ++c) {
            const std::uint32_t word = s.hidden(r, c) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(s.at(r, c));
            for (int byte = 0; byte < 4; ++byte) bytes += static_cast<char>(word >> (8 * byte) & 0xff);
        }
    return bytes;
}

nlohmann::json bytes_in(const ColourTable& colours) {
    nlohmann::json list = nlohmann::json::array();
    for (const Rgb& c : colours) list.push_back({c.r, c.g, c.b});
    return list;
}

/// One of the maps that the page shows in turn.
nlohmann::json part_data(const ViewSubject& s) {
    std::vector<std::string> rows, columns;
    for (std::int64_t r = 0; r < s.cells.rows; ++r) rows.push_back(s.row_label(r));
    for (std::int64_t c = 0; c < s.cells.columns; ++c) columns.push_back(s.column_label(c));
    nlohmann::json ticks = nlohmann::json::array();
    for (const ScaleTick& tick : s.ticks()) ticks.push_back({tick.position, tick.text});
    return {{"name", s.difference() ? "B − A" : s.part_name()},
            {"ticks", ticks},
            {"bar_title", s.bar_title()},
            {"difference", s.difference()},
            {"max", s.difference() ? s.state.difference_max : s.state.range.max},
            {"row_labels", rows},
            {"column_labels", columns},
            {"values", base64(bytes_of(s))}};
}

/// Of two runs A, B and the difference, whatever is shown first.
nlohmann::json parts_of(const ViewSubject& s) {
    nlohmann::json parts = nlohmann::json::array();
    if (!s.second) parts.push_back(part_data(s));
    for (const ShownRuns shown : {ShownRuns::a, ShownRuns::b, ShownRuns::difference})
        if (s.second) parts.push_back(part_data(s.as_shown(shown)));
    return parts;
}

/// The page has one head, as files of a view do. It says of how many, and how a page of another one is made.
std::string heads_text(const ViewSubject& s) {
    const std::int64_t layers = std::ssize(s.model.layers_of(s.head.kind)), heads = s.model.heads_of(s.head.kind);
    return layers == 0 ? "" : format(" · one of {} heads ({} layers × {})", layers * heads, layers, heads);
}

nlohmann::json page_data(const ViewSubject& subject) {
    const ViewSubject s = subject.with_plain_labels();
    nlohmann::json facts;
    for (const auto& [key, value] : facts_of(s)) facts[key] = value;
    const int first = !s.second || s.state.shown == ShownRuns::both ? 0 : static_cast<int>(s.state.shown) - 1;
    const AttentionScale scale = s.state.scale;
    return {{"title", facts_of(s).front().second},
            {"caption", caption_of(s)},
            {"heads", heads_text(s)},
            {"command", s.command.empty() ? "" : s.command + " --headless --save page.html"},
            {"facts", facts},
            {"theme", name_of(s.state.theme)},
            {"scale", scale == AttentionScale::linear        ? "linear"
                      : scale == AttentionScale::logarithmic ? "log"
                                                             : "sqrt"},
            {"min", s.state.range.min},
            {"positions", s.has_positions()},
            {"pooling", s.cells.level == 0 ? "weight" : name_of(s.state.pooling)},
            {"level", s.cells.level},
            {"rows", s.cells.rows},
            {"columns", s.cells.columns},
            {"first_row", s.cells.first_row},
            {"first_column", s.cells.first_column},
            {"row_title", query_title},
            {"column_title", s.column_title()},
            {"column_word", s.state.axis == KeyAxis::relative ? "distance" : "key"},
            {"colours", bytes_in(colours_of(s.state.colours, s.state.theme == Theme::dark))},
            {"difference_colours", bytes_in(difference_colours(s.state.theme == Theme::dark))},
            {"first", first},
            {"parts", parts_of(s)}};
}

}  // namespace

std::string as_html(const ViewSubject& subject) {
    const std::string data = page_data(subject).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string page = page_begin;
    // "</script>" would end the page's script, and "<!--" with "<script" would let it never end.
    for (std::size_t at = 0; at < data.size();) {
        const std::size_t end = std::min(data.find('<', at), data.size());
        page.append(data, at, end - at);
        if (end < data.size()) page += "\\u003c";
        at = end + 1;
    }
    return page + page_end;
}

}  // namespace vantage::view
