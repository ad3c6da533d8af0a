#!/usr/bin/env bash
# vantage heads: table, JSON, CSV, pictures, ablation, masks, and what it says to bad input.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
prompt="The animal didn't cross the street because it was too tired."

# holds FILE TEXT…: each text is in the file.
holds() {
    local file=$1 text
    shift
    for text in "$@"; do grep -qF -- "$text" "$file" || fail "$file has no \"$text\": $(head -c 600 "$file")"; done
}

# ---- the built-in model ----------------------------------------------------------------------------------------------

"$program" heads -p "$prompt" --values --rollout --flow --png pictures >table 2>err || fail "table: $(<err)"
holds table "“it” → “animal” (0.61)" "most salient" "patterns" "rollout" "flow" "first‖Wv‖" "sorted by salience" " sink " " sep " " dup "
for picture in patterns rollout flow; do [[ $(head -c 4 "pictures/$picture.png" | tail -c 3) == PNG ]] || fail "$picture.png"; done

"$program" heads -p "$prompt" --csv --sort entropy >csv 2>err || fail "csv: $(<err)"
holds csv "attention,layer,head,pattern,share,telling,entropy"
[[ $(awk -F, '{ print NF }' csv | sort -u | wc -l) == 1 ]] || fail "lines of the CSV differ in length"
# one vocabulary: each pattern is a row of the page's table, and the table and JSON use the same words
"$program" heads -p "$prompt" --json >json 2>err || fail "json: $(<err)"
for pattern in $(tail -n +2 csv | cut -d, -f4 | sort -u); do
    grep -qF "| \`$pattern\` |" "$VANTAGE_ROOT/docs/reading-attention.md" || fail "docs/reading-attention.md has no pattern $pattern"
    holds table "  $pattern "
    holds json "\"pattern\": \"$pattern\""
done
[[ $(tail -n +2 csv | cut -d, -f4 | sort -u | wc -l) -gt 3 ]] || fail "patterns: $(cut -d, -f4 csv | sort | uniq -c)"
"$program" heads -p "$prompt" --csv --sort telling >old 2>err && "$program" heads -p "$prompt" --csv --sort salience >new 2>err || fail "--sort: $(<err)"
cmp -s old new || fail "--sort salience is not --sort telling"
"$program" heads --help >help
holds help "salience" "separators"
grep -q "telling\|delimiters" help && fail "heads --help lists older keys"
# dup and induct are the masses that decide the pattern, in the table as in CSV
again="a red cup, a red cup, a red cup"
"$program" heads -p "$again" >again.txt 2>err || fail "table: $(<err)"
"$program" heads -p "$again" --csv >again.csv 2>err || fail "csv: $(<err)"
column=$(head -n 1 again.csv | tr , '\n' | grep -nx copies | cut -d: -f1)
copies=$(awk -F, -v c="$column" 'NR == 2 { v = sprintf("%.2f", $c); print (v >= 0.995 ? 1 : substr(v, 2)) }' again.csv)
grep -m 1 "^  $(awk -F, 'NR == 2 { print $2 "[.]" $3 }' again.csv) " again.txt | grep -qF " $copies " || fail "induct is not $copies: $(<again.txt)"
# the precision that was used: this session does not round to int8
"$program" heads -p "$prompt" --precision int8 --json >json 2>err || fail "int8: $(<err)"
holds json '"precision": "f16"'

awk -F, 'NR > 2 && $7 > last { bad = 1 } { last = $7 } END { exit bad }' csv || fail "--sort entropy"

# ---- silenced heads: one of --mask-heads is what --ablate found for it -----------------------------------------------

small=(-m "$models/gpt2" --ids 5,6,7,8,5,6,7,9,10 --ablate --sort head)  # 2 layers of 3 heads
"$program" heads "${small[@]}" --json >all.json 2>err || fail "json: $(<err)"
"$program" heads "${small[@]}" --json --mask-heads 1.2 >masked.json 2>err || fail "masked: $(<err)"
"$program" heads "${small[@]}" >table 2>err || fail "ablation table: $(<err)"
holds table "Δ loss" "nats per token"
holds all.json '"schema_version": 2' '"pattern":' '"rule":' '"received":' '"most_telling":'
loss() { sed -n 's/^  "loss": \([0-9.e+-]*\),*$/\1/p' "$1"; }
change() { awk -v want="$2" '/"loss_change":/ { if (n++ == want) { gsub(/[",]/, ""); print $2 } }' "$1"; }
# is_change ALL N MASKED: the loss of MASKED is that of ALL and the change of its head N.
is_change() {
    paste <(loss "$1") <(change "$1" "$2") <(loss "$3") |
        awk '{ d = $1 + $2 - $3; exit !(NF == 3 && d < 1e-5 && d > -1e-5) }' || fail "$3: $(loss "$1") + $(change "$1" "$2") is not $(loss "$3")"
}
is_change all.json 5 masked.json

# ---- encoder–decoders: three parts, and heads by whose they are ------------------------------------------------------

# 2 × 2 heads of the encoder, 2 × 4 of the decoder, 2 × 4 across
pair=(-m "$models/bart" --ids 5,6,7,5,8 --decoder-ids 2,8,9,8)
"$program" heads "${pair[@]}" --ablate --sort head --json >all.json 2>err || fail "bart: $(<err)"
for place in 1:e0.1 19:x1.3; do
    "$program" heads "${pair[@]}" --ablate --sort head --json --mask-heads "${place#*:}" >masked.json 2>err || fail "masked: $(<err)"
    is_change all.json "${place%:*}" masked.json
done
holds all.json '"attention": "encoder"' '"attention": "decoder"' '"attention": "cross"' '"source":' '"distance": null'
"$program" heads "${pair[@]}" --values --rollout --flow --png parts --mask-heads e0.0 >table 2>err || fail "bart's table: $(<err)"
holds table "5 source tokens, 4 decoder tokens" "of the encoder's text" "which attend to the encoder's text" " e1.1 " " d1.3 " " x0.2 " "–"
for picture in patterns-encoder patterns-decoder patterns-cross rollout-encoder rollout-decoder flow-encoder; do
    [[ -s parts/$picture.png ]] || fail "$picture.png"
done
[[ ! -e parts/rollout-cross.png ]] || fail "cross attention has no rollout"
"$program" heads "${pair[@]}" --csv >csv 2>err || fail "bart's CSV: $(<err)"
[[ $(awk -F, '{ print NF }' csv | sort -u | wc -l) == 1 ]] || fail "lines of bart's CSV differ in length"
# two texts have no distances, and no tokenizer says what a delimiter is
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    ($at["distance"] == "") != ($1 == "cross") || $at["delimiters"] != "" { bad = 1 } END { exit bad }' csv || fail "distances: $(<csv)"

# ---- images: distances on the grid, the class as the first token, the loss of the label ------------------------------

cp -r "$models/vit" vit
echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}}' >vit/preprocessor_config.json
"$program" heads -m vit --image "$VANTAGE_ROOT/tests/data/images/photo.png" --ablate --rollout --png image >table 2>err || fail "image: $(<err)"
holds table "16 patches" "Δ loss" "means over [CLS] and 16 patches" "“cls”" "rollout-cls.png"
[[ -s image/rollout-cls.png ]] || fail "rollout-cls.png"

# ---- other models: an encoder, and ids; what is not defined, and what is small ---------------------------------------

"$program" heads -m "$models/gpt2" --ids 5,6,6,7,8 --csv --sort duplicate_score >csv 2>err || fail "ids: $(<err)"
# a token comes back right behind itself: there is a score, small as it may be, but no head could copy
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    $at["duplicate_score"] == "" || $at["copies"] != "" { bad = 1 } END { exit bad }' csv || fail "what is defined: $(<csv)"

"$program" heads -m "$models/bert" --ids 5,6,7,5,6,8 --csv >encoder 2>err || fail "encoder: $(<err)"
[[ $(wc -l <encoder) -gt 2 ]] || fail "encoder: $(<encoder)"
"$program" run -m "$models/gpt2" -p "The red boat" -n 4 --temp 0 --mask-heads 0.0,1.1 >run 2>err || fail "run --mask-heads: $(<err)"
"$program" embed -m "$models/bert" -p "the" --mask-heads 0.0 >vector 2>err || fail "embed --mask-heads: $(<err)"

# ---- bad input -------------------------------------------------------------------------------------------------------

ends 2 "no input; give -p TEXT" heads
ends 2 "has no tokens" heads -p ""
ends 2 "is not a head; give layer.head" heads -p a --mask-heads 3
ends 2 "is not a head; give layer.head" run -p a --mask-heads 0.0,
ends 2 "is not a head; give layer.head" run -p a --mask-heads -1.0
ends 2 "head 99.0 cannot be masked" run -p a --mask-heads 99.0
ends 2 "head 0.99 cannot be masked" inspect -p a --mask-heads 0.99
ends 2 "needs --ablate" heads -p "a b c" --sort loss_change
ends 2 "is no encoder–decoder" heads -p a --mask-heads e0.0
ends 2 "head x9.0 cannot be masked" inspect "${pair[@]}" --mask-heads x9.0
ends 2 "needs --values" heads -p "a b c" --sort first_by_values
ends 2 "give --image FILE" heads -m vit --ids 5,6
ends 2 "needs an encoder–decoder" heads -p a --decoder-ids 5
ends 2 "token id 500 is outside" heads -m "$models/bart" --ids 5,6 --decoder-ids 2,500
ends 2 "--flow supports at most 64 tokens" heads -m "$models/t5" --flow --ids "$(seq -s, 1 65)"
ends 2 "value projections of their own" heads -m "$models/longformer" --ids 5,6 --values --global-tokens 1
touch in-the-way
ends 6 "cannot create the folder" heads -p a --png in-the-way
ends 2 "is an encoder" heads -m "$models/bert" --ids 5,6 --ablate
ends 2 "at least two tokens" heads --ids 5 --ablate
ends 2 "--flow supports at most 64 tokens" heads --flow --ids "$(seq -s, 1 65)"
ends 2 "outside the vocabulary" heads --ids 1,99999999
gives "longformer" heads -m "$models/longformer" --ids 5,6,7,8 --global-at 1,3
ends 2 "excludes" heads -m "$models/longformer" --ids 5,6 --global-tokens 1 --global-at 0
ends 2 "value projections of their own" heads -m "$models/longformer" --ids 5,6 --values --global-at 0
ends 2 "--sort" heads -p a --sort beauty
ends 2 "excludes" heads -p a --json --csv

if ((failures)); then
    echo "$failures failures"
    exit 1
fi
echo "heads: ok"
