#!/usr/bin/env bash
# vantage view without a window: pictures that can be made again, files of the map, and what is refused. No display is
# there.
# Once: it is about files and texts; what is drawn is compared with the weights in tests/view.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset DISPLAY WAYLAND_DISPLAY

text=(-p "Mia put the red cup on the table. Mia put the" -n 3 --size 640x480)
check "view --png" "$program" view --headless "${text[@]}" --png a.png --save map.csv --save map.svg
check "view --png again" "$program" view --headless "${text[@]}" --png b.png
cmp -s a.png b.png || fail "the same view gives another picture"
[[ $(head -c 8 a.png | od -An -tx1) == " 89 50 4e 47 0d 0a 1a 0a" ]] || fail "a.png is no PNG"
[[ $(head -c 24 a.png | tail -c 8 | od -An -tx1) == " 00 00 02 80 00 00 01 e0" ]] || fail "a.png is not 640 x 480"
grep -aq "Vantage-Model" a.png || fail "a.png does not say of which model it is"
grep -q "mini-world" map.csv || fail "map.csv does not say of which model it is"
grep -q "<svg" map.svg || fail "map.svg is no SVG"

# more vertices than 16 bits count
pins=()
for ((i = 0; i < 3000; ++i)); do pins+=(--pin "q$((i % 3))"); done
check "view --headless with 3000 pins" "$program" view --headless "${text[@]}" "${pins[@]}" --png pinned.png

# the line that a file says makes it again
check "view -m --weights" "$program" view --headless -m "$VANTAGE_ROOT/assets/models/mini-world" --weights q8 --precision f32 --ctx 64 \
    -p "it's the red" -n 4 --size 700x500 --ui-scale 1.1 --compare weights=q4 --show b --value-weighted --png said.png --save said.csv
line=$(sed -n 's/^# Vantage-Command: //p' said.csv)
[[ $line == "vantage view "*"-m "*" --weights q8 --precision f32 --ctx 64 "* ]] || fail "the command of said.csv: $line"
eval "$(printf %q "$program") ${line#vantage } --headless --png again.png" || fail "$line"
cmp -s said.png again.png || fail "another picture by: $line"

# a picture for each token that is shown; the last one is the view
check "view --frames --rows" "$program" view --headless "${text[@]}" --rows 5 --frames frames --apng frames.apng --png fifth.png
[[ $(ls frames) == $(printf '%05d.png\n' 1 2 3 4 5) ]] || fail "frames of 5 rows: $(ls frames)"
cmp -s frames/00005.png fifth.png || fail "the last frame is not the view"
cmp -s fifth.png a.png && fail "--rows is forgotten"
check "view --rows 3" "$program" view --headless "${text[@]}" --rows 3 --png third.png
cmp -s frames/00003.png third.png || fail "a frame is another picture than --rows of it"

# another head, theme and scale: other pictures
check "view --layer" "$program" view --headless "${text[@]}" --layer 0 --head 2 --theme light --scale log --png c.png
cmp -s a.png c.png && fail "another head, theme and scale give the same picture"

# two runs: both, and the difference
small=(-p "Mia put the red cup on the table. Mia" -n 2 --size 640x480 --layer 1 --head 0)
check "view --compare" "$program" view --headless "${small[@]}" --compare weights=q4 --png both.png --save both.csv
check "view --show difference" "$program" view --headless "${small[@]}" --compare weights=q4 --show difference \
    --png difference.png --save difference.json --save difference.html
cmp -s both.png difference.png && fail "two runs and their difference give the same picture"
grep -aq "Vantage-Compared" difference.png || fail "difference.png does not say what it compares"
grep -q '^"B",' both.csv || fail "both.csv does not hold the second run"
grep -q '"difference"' difference.json || fail "difference.json holds no difference"
check "view --compare prompt" "$program" view --headless "${small[@]}" --compare "prompt=Tom put the old cup on the table. Mia" \
    --show b --png prompt.png

ends 2 "--model excludes --keys" bench view --keys 800 -m "$models/gpt2"
ends 2 "tokens; mini-world holds 256" view --headless --png a.png -p "$(printf 'cup %.0s' {1..540})"
ends 2 "prompt=TEXT" view --headless --png a.png --compare q4
ends 2 "one of f32, f16" view --headless --png a.png --compare weights=q3
ends 2 "precision int8 is not supported" view --headless --png a.png --precision int8
ends 2 "precision int8 is not supported" view --headless --png a.png --compare precision=int8
ends 2 "a second run" view --headless --png a.png --show difference
ends 6 "nowhere" view --headless --png a.png --compare model=nowhere
ends 2 "--png FILE" view --headless
ends 2 "--headless" view --png a.png
ends 2 "the map has rows 0:" view --headless "${text[@]}" --png a.png --part 100:120,0:4
ends 2 "--rows 99999: the map has " view --headless "${text[@]}" --png a.png --rows 99999
ends 2 "--pin q99999: the map has queries 0 to " view --headless "${text[@]}" --png a.png --pin q99999
ends 2 "--pin k99999: the map has keys 0 to " view --headless "${text[@]}" --png a.png --pin k99999
ends 2 "rows and columns from 0" view --headless "${text[@]}" --png a.png --part -1:2,0:1
ends 2 "a number above 0" view --headless "${text[@]}" --png a.png --max-difference 0
ends 2 "an image (--image)" view --headless "${text[@]}" --png a.png --image-index 4
ends 2 "one prompt: there is one second run" view --headless "${text[@]}" --png a.png --compare prompt=A --compare prompt=B
"$program" view --headless -p Mia -c 2 -n 5 --png a.png 2>err || fail "a view of a full context"
grep -q "the context of 2 tokens is full" err || fail "a run ends early without a reason: $(<err)"
"$program" view --headless -p Mia -c 8 -n 2 --png a.png 2>err || fail "a view that ends with -n"
grep -q "is full" err && fail "a run that ends with -n: $(<err)"
ends 2 "has no tokenizer; give token ids with -p, such as" view --headless -m "$models/t5" --png a.png
check "token ids as a prompt" "$program" view --headless -m "$models/t5" -p "5, 9, 2" --of encoder --save ids.csv
grep -q '^query,token,"0 #5","1 #9","2 #2"' ids.csv || fail "ids.csv is not of the token ids 5, 9, 2: $(grep ^query ids.csv)"
ends 6 "nowhere/a.png" view --headless "${text[@]}" --apng nowhere/a.png
long=$(printf 'word %.0s' {1..500})
ends 2 "…" view --headless --png a.png --layer "$long"
[[ $(wc -c <err) -lt 300 ]] || fail "a long text stands in an error message: $(<err)"
ends 2 "one of entropy, effective, largest, attention-sink, previous-token, self, induction, duplicate-token, " \
    view --headless --png a.png --statistic sink
ends 2 "one of f16, f32" view --headless --png a.png --compare precision=f64
ends 2 "WIDTHxHEIGHT" view --headless --png a.png --size 12
ends 2 "a number above --min" view --headless --png a.png --min 0.5 --max 0.4
ends 2 "a number above --min" view --headless --png a.png --max 0
check "a bright end that follows the values" "$program" view --headless --png a.png --value-weighted --min 0.01
check "a window of one pixel" "$program" view --headless --png a.png --size 1x1
check "a part of a map by distance in the future" "$program" view --headless -m "$models/bert" -p "a b c d e f g h" --axis relative --part 0:3,10:14 --png a.png

# images: a picture, and where the map is of another; what does not fit the model
vit=(-m "$models/vit" --image "$models/vit/expected.safetensors")
check "view --image" "$program" view --headless "${vit[@]}" --png vit.png --save vit.csv
grep -q "Vantage-Image: .*expected.safetensors" vit.csv || fail "vit.csv does not say which image it is of"
grep -q '^query,token,"0 cls","1 r0 c0",' vit.csv || fail "vit.csv: patches are not named by row and column: $(grep ^query vit.csv)"
check "view --image-index" "$program" view --headless "${vit[@]}" --image-index 2 --png other.png
cmp -s vit.png other.png && fail "two images give the same picture"
ends 2 "is a vision model; give --image FILE" view --headless -m "$models/vit" --png a.png
ends 2 "give --image FILE instead of -p" view --headless "${vit[@]}" -p text --png a.png
ends 2 "images 0 to 2" view --headless "${vit[@]}" --image-index 3 --png a.png
ends 2 "is a text model" view --headless --image a.png --png c.png

# keys: what is printed is a file of them, and what is wrong in one is named
mkdir -p "$XDG_CONFIG_HOME/vantage"
"$program" view --keys >defaults || fail "view --keys"
grep -q "^theme  *= T  *# Light theme" defaults || fail "view --keys: $(<defaults)"
sed 's/^theme .*/theme = F7/' defaults >"$XDG_CONFIG_HOME/vantage/keys"
gives "theme          = F7" view --keys
"$program" view --keys | diff <(sed 's/^theme  *= T  */theme          = F7           /' defaults) - || fail "view --keys: another than the file"
echo "them = F7" >"$XDG_CONFIG_HOME/vantage/keys"
ends 2 "vantage/keys:1: there is no action \"them\"" view --keys
rm "$XDG_CONFIG_HOME/vantage/keys"
ends 2 "such as q12" view --headless --png a.png --pin 20
ends 1 "display" view
exit $((failures > 0))
