#!/usr/bin/env bash
# The page that `vantage view --save FILE.html` writes, in a browser (Chromium): its script runs, what it says of a cell
# is the number in the .csv file of the same view, and it is used with mouse and keys.
# Once: it is about a page; the device only gives the numbers.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
browser=$(command -v chromium || command -v google-chrome)
if ! "${browser:-false}" --version >/dev/null 2>&1; then
    echo "no Chromium: the script of HTML pages is not tested"
    exit 77 # CTest counts the test as skipped
fi
small=(-p "Mia put the red cup on the table. Mia put the" -n 2 --layer 1 --head 0)
check "view --save" "$program" view --headless "${small[@]}" --save page.html --save page.csv
check "view --compare --save" "$program" view --headless "${small[@]}" --compare weights=q4 --show difference \
    --save two.html --save two.csv

# in_browser PAGE SCRIPT: runs the page, and after its own script this one. said: the lines that SCRIPT gave to `say`.
in_browser() {
    local page=$1
    {
        sed 's|</body></html>$||' "$page"
        cat <<'END'
<pre id="said" hidden></pre>
<script>
const said = document.getElementById("said");
const say = (name, value) => said.textContent += `${name}: ${value}\n`;
const text_of = id => document.getElementById(id)?.textContent;
const point = (type, at, more) => map.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX:
    map.getBoundingClientRect().left + at[0], clientY: map.getBoundingClientRect().top + at[1], ...more }));
const middle_of = (row, column) => [x + (column + 0.5) * zoom, y + (row + 0.5) * zoom];
const press = key => window.dispatchEvent(new KeyboardEvent("keydown", { key }));
const colour_at = at => [...pen.getImageData(at[0] * devicePixelRatio, at[1] * devicePixelRatio, 1, 1).data].slice(0, 3).join();
// what a new drawing writes, and where
function written() {
  const texts = [], own = pen.fillText.bind(pen);
  pen.fillText = (text, x, y, ...more) => {
    const place = pen.getTransform(), scale = devicePixelRatio;
    texts.push({ text: String(text), x: (place.a * x + place.c * y + place.e) / scale, y: (place.b * x + place.d * y + place.f) / scale });
    own(text, x, y, ...more);
  };
  draw(); delete pen.fillText;
  return texts;
}
window.onerror = message => say("error", message);
END
        cat
        echo "</script></body></html>"
    } >"tested-$page"
    # The sandbox needs rights that a container may not give, and the pages are our own.
    HOME=$scratch "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$scratch/profile" --window-size=1280,800 --dump-dom "file://$scratch/tested-$page" \
        >dom 2>browser.err || fail "$page: the browser ended with $?: $(tail -n 3 browser.err)"
    sed -n '/<pre id="said"/,/<\/pre>/p' dom | sed 's/.*<pre id="said"[^>]*>//; s/<\/pre>.*//' \
        | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >said
    grep -q . said || fail "$page: the script does not run to its end: $(head -c 300 dom)"
    if grep "^error:" said; then fail "$page: the script fails"; fi
}
# says NAME WANTED: what the page said under this name.
says() {
    local got
    got=$(sed -n "s/^$1: //p" said)
    [[ $got == "$2" ]] || fail "$1: wanted \"$2\", got \"$got\""
}
# field FILE ROW COLUMN: a cell of a table whose labels have no comma. The first row is that below the names.
field() { grep -v '^#' "$1" | awk -F, -v r="$2" -v c="$3" 'NR == r + 1 { print $c }'; }

in_browser page.html <<'END'
say("title", document.title);
say("heading", text_of("title"));
say("caption", text_of("caption"));
say("model", document.querySelector('meta[name="Vantage-Model"]').content);
say("theme", document.body.className);
say("command", text_of("command"));
say("list", document.querySelector("#row h2").textContent);
say("lines", document.querySelectorAll("#row div").length > 2);
say("buttons", document.querySelectorAll("#runs button").length);
const largest = [...document.querySelectorAll("#row b")].map(b => Number(b.textContent));
say("descending", largest.every((value, i) => i === 0 || value <= largest[i - 1]));
point("pointermove", middle_of(5, 2));
say("cell", text_of("read"));
say("its row", document.querySelector("#row h2").textContent);
point("pointermove", middle_of(2, 5));
say("masked", text_of("read"));
press("ArrowLeft"); press("ArrowLeft"); press("ArrowLeft"); press("ArrowDown");
say("arrows", text_of("read"));
// a strong and a weak weight: light and dark, in the colours of the scale
picked = null; draw();
say("first", colour_at(middle_of(0, 0)));
say("brightest", lut[255].join());
const share = values[5 * view.columns + 2] / max;
say("scaled", colour_at(middle_of(5, 2)) === lut[Math.round(255 * Math.sqrt(share))].join());
say("hidden", colour_at(middle_of(2, 5)));
// the wheel zooms about the mouse, F fits again, a drag moves
const before = [x, y, zoom], at = middle_of(4, 4);
map.dispatchEvent(new WheelEvent("wheel", { deltaY: -400, clientX: map.getBoundingClientRect().left + at[0], clientY: map.getBoundingClientRect().top + at[1] }));
say("larger", (zoom / before[2]).toFixed(3));
say("about the mouse", Math.hypot(middle_of(4, 4)[0] - at[0], middle_of(4, 4)[1] - at[1]) < 1);
press("f");
say("fits", JSON.stringify([x, y, zoom]) === JSON.stringify(before));
say("fills", Math.min(map.clientHeight - y - cells.height * zoom, map.clientWidth - x - cells.width * zoom) < 120);
map.setPointerCapture = () => {};  // of a made-up pointer
point("pointerdown", [400, 400]); point("pointermove", [430, 410]); point("pointerup", [430, 410]);
say("moved", [x - before[0], y - before[1]]);
press("f");
// titles; the colour bar is beside the map, with the ticks of its scale
let texts = written();
const find = text => texts.find(one => one.text === text);
for (const title of [view.row_title, view.column_title, part.bar_title]) say("written", find(title) !== undefined);
const right = x + cells.width * zoom;
say("bar", part.ticks.every(([, text]) => find(text).x > right && find(text).x < right + 110));
say("quarter", Math.abs((find("0").y + find("1").y) / 2 - find("0.25").y) < 1);  // √ scale
say("row labels", texts.filter(one => one.x < x && part.row_labels.includes(one.text)).length);
// where labels are left out the others have positions
zoom = 7; draw(); texts = written();
say("thinned", texts.some(one => one.text === part.row_labels[2] + "·2"));
say("not thinned", texts.some(one => one.text === part.row_labels[1] + "·1"));
END
says title "Attention of head 1.0 of mini-world"
says heading "Attention of head 1.0 of mini-world"
[[ $(<said) == *"caption: mini-world · layer 1 · head 0 · √ scale to 1 · sum · seed 7 · one of 32 heads (4 layers × 8)"* ]] ||
    fail "caption: $(grep ^caption said)"
says model "mini-world (gpt2)"
says theme dark
[[ $(grep ^command: said) == *"vantage view "*"--layer 1 --head 0"*"--headless --save page.html" ]] || fail "command: $(grep ^command said)"
rows=$(grep -cv '^[#q]' page.csv)
[[ $(grep ^list: said) == "list: “"*"” $((rows - 1)) attends to" ]] || fail "list: $(grep ^list: said)"
says lines true
says buttons 0
says descending true
# weight ROW COLUMN: as the page writes it
weight() { LC_ALL=C awk -v v="$(field page.csv $(($1 + 1)) $(($2 + 3)))" 'BEGIN { printf "%.4g\n", v }'; }
# cell NAME ROW COLUMN: what the page says of a cell under NAME
cell() {
    local got number
    got=$(sed -n "s/^$1: //p" said)
    [[ $got == "query $2 “"*"” → key $3 “"*"”: weight "* ]] || fail "$1: $got"
    number=${got##* }
    awk -v a="$number" -v b="$(weight "$2" "$3")" 'BEGIN { d = a - b; exit !(b > 0 && d * d <= 1e-6 * b * b) }' ||
        fail "$1: the page says $number, the table $(weight "$2" "$3")"
}
cell cell 5 2
[[ $(grep "^its row:" said) == *"” 5 attends to" ]] || fail "$(grep "^its row:" said)"
[[ $(grep ^masked: said) == *"query 2 “"*"” → key 5 “"*"”: not seen" ]] || fail "$(grep ^masked: said)"
cell arrows 3 2
brightest=$(sed -n 's/^brightest: //p' said)
says first "$brightest"
says scaled true
[[ $(sed -n 's/^hidden: //p' said) != "$brightest" ]] || fail "what is not seen is drawn: $(grep ^hidden said)"
says larger 2.718
says "about the mouse" true
says fits true
says fills true
says moved "30,10"
[[ $(sed -n 's/^written: //p' said | paste -sd' ') == "true true true" ]] || fail "titles: $(grep ^written said)"
says bar true
says quarter true
says "row labels" "$rows"
says thinned true
says "not thinned" false

# two runs and their difference: buttons and keys select what is shown
in_browser two.html <<'END'
const buttons = [...document.querySelectorAll("#runs button")];
say("buttons", buttons.map(one => one.textContent).join(" | "));
say("first", part.name);
say("list", document.querySelector("#row h2").textContent);
say("ends", part.ticks.map(([, text]) => text[0]).sort().join("")[0]);
const values_of = () => Number(/[-−]?[0-9.e-]+$/.exec(text_of("read"))[0]);
point("pointermove", middle_of(5, 2));
say("difference of", text_of("read").includes("B − A: "));
const difference = values_of();
buttons[0].click();
const a = values_of();
say("a", text_of("read"));
press("]");
const b = values_of();
say("b", text_of("read"));
say("b minus a", Math.abs(b - a - difference) < 1e-3 * Math.max(a, b));
say("differs", difference !== 0);
press("d");
say("again", part.name);
END
[[ $(grep ^buttons: said) == "buttons: A · "*" | B · q4"*" | B − A" ]] || fail "$(grep ^buttons: said)"
says first "B − A"
[[ $(grep ^list: said) == *"changes most at" ]] || fail "$(grep ^list: said)"
says "difference of" true
[[ $(grep ^a: said) == *": A · "*": weight "* ]] || fail "$(grep ^a: said)"
[[ $(grep ^b: said) == *": B · q4"*": weight "* ]] || fail "$(grep ^b: said)"
says "b minus a" true
says differs true
says again "B − A"
exit $((failures > 0))
