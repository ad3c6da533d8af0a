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
holds table "“it” → “animal” (0.61)" "most salient" "patterns" "rollout" "flow" "first‖Wv‖" "sorted by salience" " distance " " sink " " sep " " dup "
for picture in patterns layers rollout flow; do [[ $(head -c 4 "pictures/$picture.png" | tail -c 3) == PNG ]] || fail "$picture.png"; done

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
# by layer: the mean of the heads' entropies, in the table's digits and in JSON
mean=$(awk -F, 'NR > 1 && $2 == 1 { s += $7; ++n } END { printf "%.2f", s / n }' csv)
sed -n '/^layers/,/^patterns/p' table | grep -q "^  1 .* $mean (" || fail "the mean entropy of layer 1 is not $mean: $(<table)"
holds json '"layers":' '"heads": 8' '"uniform": 7'
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
for picture in patterns-encoder patterns-decoder patterns-cross layers-encoder layers-cross rollout-encoder rollout-decoder flow-encoder; do
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

# ---- ranks and permuted weights: columns and keys of their own -------------------------------------------------------

"$program" heads -p "$prompt" --rank --permute 3 --seed 7 --sort permuted_change >table 2>err || fail "rank: $(<err)"
holds table "rank A" "rank AV" "Δ perm" "σ" " sem "
"$program" heads -p "$prompt" --rank --permute 3 --seed 7 --csv >csv 2>err || fail "rank: $(<err)"
"$program" heads -p "$prompt" --permute 3 --seed 7 --csv --sort head >alone 2>err || fail "permute: $(<err)"
"$program" heads -p "$prompt" --permute 3 --seed 8 --csv --sort head >other 2>err || fail "permute: $(<err)"
# a rank is at most that of the 13 tokens, or of the 16 features; a change is a distance between distributions
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    !($at["attention_rank"] >= 1 && $at["attention_rank"] <= 13 && $at["output_rank"] >= 1 && $at["output_rank"] <= 13) { bad = 1 }
    !($at["permuted_change"] > 0 && $at["permuted_change"] < 1 && $at["last_largest"] > 0 && $at["last_largest"] <= 1) { bad = 1 }
    !($at["sigma"] > 0 && $at["similarity"] >= -1 && $at["similarity"] <= 1) { bad = 1 } END { exit bad }' csv || fail "ranks: $(<csv)"
changes() { awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next } { print $2 "." $3, $at["permuted_change"] }' "$1" | sort; }
cmp -s <(changes csv) <(changes alone) || fail "the same seed gives other changes"
cmp -s <(changes alone) <(changes other) && fail "another seed gives the same changes"
"$program" heads "${pair[@]}" --rank --permute 2 --json >json 2>err || fail "bart: $(<err)"
holds json '"permuted_change": null' '"attention_rank":'
"$program" heads -m "$models/bert_classification" --ids 5,6,7 --permute 2 --csv >csv 2>err || fail "labels: $(<err)"

# ---- composition: the weights alone ----------------------------------------------------------------------------------

"$program" heads --composition --png maps >table 2>err || fail "composition: $(<err)"
holds table "384 pairs of heads" "independent heads: 0.088" "composition-v.png"
for kind in q k v; do [[ -s maps/composition-$kind.png ]] || fail "composition-$kind.png"; done
"$program" heads -m "$models/bart" --composition --json >json 2>err || fail "composition: $(<err)"
holds json '"attention": "encoder"' '"from": "e0.0"' '"to": "d1.3"' '"independent":'
# an encoder of another width than its decoder: two layers of two heads each
"$program" heads -m "$models/vit_gpt2" --composition --json >json 2>err || fail "composition: $(<err)"
grep -q '"independent"' json && ! grep -qi 'nan\|inf' json || fail "composition of vit_gpt2: $(<json)"
"$program" heads -m "$models/llama" --composition --json >json 2>err || fail "composition: $(<err)"
[[ $(grep -c '"from"' json) == 36 ]] || fail "pairs: $(<json)"

# ---- syntactic relations ---------------------------------------------------------------------------------------------

word() { printf '%s\t%s\t_\t_\t_\t_\t%s\t%s\t_\t%s\n' "$@"; }
{
    word 1 The 2 det _ && word 2 dog 3 nsubj _ && word 3 chased 0 root _ && word 4 the 5 det _
    word 5 bird 3 obj SpaceAfter=No && word 6 . 3 punct _ && echo
    word 1 A 2 det _ && word 2 girl 3 nsubj _ && word 3 runs 0 root _
} >some.conllu
"$program" heads --relations some.conllu >table 2>err || fail "relations: $(<err)"
holds table "2 sentences" "all but punct" "nsubj" "dependent → head" "+1"
# head 0.0 attends to the previous token: from the noun to its article, from the verb to its subject
"$program" heads --relations some.conllu --json >json 2>err || fail "relations: $(<err)"
holds json '"relation": "det"' '"count": 3' '"sentences": 2'
tr -d ' \n' <json | grep -qF '"heads":[{"dependent_to_head":0.0,"head":0,"head_to_dependent":1.0,"layer":0}' || fail "head 0.0: $(head -c 600 json)"
{ # a pronoun and its antecedent
    word 1 Mia 2 nsubj _ && word 2 saw 0 root _ && word 3 the 4 det _ && word 4 dog 2 obj _ && word 5 and 6 cc _
    word 6 she 1 coref _ && word 7 ran 2 conj _
} >coref.conllu
"$program" heads --relations coref.conllu --json >json 2>err || fail "coref: $(<err)"
tr -d ' \n' <json | grep -qF '"offset":{"accuracy":1.0,"words":-5},"relation":"coref"}' || fail "coref: $(<json)"
"$program" heads -m "$models/bert" --relations some.conllu >table 2>err || fail "an encoder's relations: $(<err)"

# ---- importance over texts, and models without heads -----------------------------------------------------------------

printf 'The red boat is small.\nThe dog runs home.\n' >texts
"$program" heads -m "$models/gpt2" --ablate --prompts texts --json >json 2>err || fail "prompts: $(<err)"
holds json '"texts": 2' '"standard_error":'
# the mean of the texts, each alone
change_of() { tr -d ' \n' <"$1" | grep -oE '"head":2,"layer":1,"loss_change":[0-9.e+-]+' | sed 's/.*://'; }
while read -r text; do
    "$program" heads -m "$models/gpt2" --ablate -p "$text" --sort head --json >one.json 2>err || fail "one text: $(<err)"
    change one.json 5
done <texts >changes
awk -v mean="$(change_of json)" '{ sum += $1 } END { d = sum / NR - mean; exit !(NR == 2 && d < 1e-6 && d > -1e-6) }' changes ||
    fail "the mean is $(change_of json), not that of $(<changes)"
"$program" heads -m "$models/gpt2" --ablate --prompts texts >table 2>err || fail "prompts: $(<err)"
holds table "2 texts" "Δ loss" "± error"

# ---- gradients of heads: those of PyTorch, whose heads' outputs were multiplied by factors of 1 ----------------------

# gradients_are FILE EXPECTED…: the gradients of the heads in order.
gradients_are() {
    local file=$1
    shift
    awk -v want="$*" 'BEGIN { count = split(want, all, " ") } /"gradient":/ && n < count {
        gsub(/[",]/, ""); d = $2 - all[++n]; if (d > 1e-4 || d < -1e-4) bad = 1 } END { exit bad || n != count }' "$file" ||
        fail "gradients: $(grep '"gradient"' "$file"), not $*"
}
loss_in() { grep -oE '"loss": [0-9.]+' "$1" | cut -c 9-; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a - b < 1e-4 && b - a < 1e-4) }'; }
gradients=(--gradients --sort head --json)
"$program" heads -m "$models/gpt2" --ids 5,6,7,8,5,6,7,9,10 "${gradients[@]}" >json 2>err || fail "gradients: $(<err)"
gradients_are json .58234 .90698 .23329 .38399 .00859 .00144
"$program" heads -m "$models/bart" --ids 5,6,7,8 --decoder-ids 2,5,9,6 "${gradients[@]}" >json 2>err || fail "bart: $(<err)"
gradients_are json .29651 .51412 .23431 .27368 .07267 .0214 .01471 .0078 .03379 .21674 .15465 .04991 .10066 .00699 .20784 \
    .46933 .11469 .19895 .02348 .07201
for input in "-m $models/bert_classification --ids 5,6,7,8" "-m vit --image $VANTAGE_ROOT/tests/data/images/photo.png" \
    "-m $models/llama --ids 5,6,7,8" "-m $models/llama --ids 5,6,7,8 --mask-heads 0.1" "-m $models/llama --ids 5,6 --weights q8_0"; do
    read -ra words <<<"$input"
    "$program" heads "${words[@]}" "${gradients[@]}" >json 2>err || fail "$input: $(<err)"
    "$program" heads "${words[@]}" --ablate --json >ablated.json 2>err || fail "$input: $(<err)"
    check "$input: the loss is that of --ablate ($(loss_in json), $(loss_in ablated.json))" \
        near "$(loss_in json)" "$(loss_in ablated.json)"
done
"$program" heads -m "$models/gpt2" --gradients --prompts texts --json >json 2>err || fail "prompts: $(<err)"
holds json '"gradient":' '"texts": 2' '"standard_error":'
"$program" heads -m "$models/gpt2" --gradients --prompts texts >table 2>err || fail "prompts: $(<err)"
holds table "2 texts" "|∂ loss|" "± error"
# A weight that is finite, but not what is computed with it.
cp -r "$models/gpt2" huge
read -r offset _ < <(place huge/model.safetensors transformer.h.1.mlp.c_fc.weight)
printf '\377\377\177\177' | dd of=huge/model.safetensors bs=1 seek=$((offset + 40)) conv=notrunc status=none
code=0
"$program" heads -m huge --ids 5,6,7,8,5,6 --gradients >out 2>err || code=$?
check "gradients that are not finite: $code, $(<err)" test $code = 7 -a "$(grep -c "not finite: the first such result is that of node" err)" = 1

"$program" prune -m "$models/gpt2" --heads 0.1,1.2,0.1 -o pruned >out 2>err || fail "prune: $(<err)"
holds out "0.1 1.2" "same size" "wrote pruned"
ids() { "$program" inspect "$@" --ids 5,6,7,8,9 --json 2>err | grep -A40 '"next"'; }
cmp -s <(ids -m pruned) <(ids -m "$models/gpt2" --mask-heads 0.1,1.2) || fail "prune is not --mask-heads"
"$program" prune -m "$models/llama" --keep-fraction 0.66 --even --prompts texts -o small --json >out 2>err || fail "prune: $(<err)"
holds out '"smaller": true' '"output": "small"'
grep -q '"num_attention_heads": 4' small/config.json || fail "config: $(<small/config.json)"
"$program" run -m small -p "The" -n 3 --temp 0 >out 2>err || fail "the smaller model: $(<err)"
# a pruned model is trained further, with the heads that it has: zeros where they were removed, and smaller matrices
for model in pruned small; do
    "$program" finetune -m $model --data texts --eval-share 0 --context 4 --batch-tokens 8 --lr 1e-2 --steps 2 -o $model-tuned >out 2>err || fail "finetune $model: $(<err)"
    "$program" run -m $model-tuned/latest -p "The" -n 3 --temp 0 >out 2>err || fail "run the trained $model: $(<err)"
    ! cmp -s <(ids -m $model) <(ids -m $model-tuned/latest) || fail "two steps do not change $model"
done
grep -q '"num_attention_heads": 4' small-tuned/latest/config.json || fail "config: $(<small-tuned/latest/config.json)"
ends 6 "it exists" prune -m "$models/gpt2" --heads 0.1 -o pruned
ends 2 "head 9.0 is not there" prune -m "$models/gpt2" --heads 9.0 -o never
ends 2 "is not a head" prune -m "$models/gpt2" --heads 0 -o never
ends 2 "give --heads" prune -m "$models/gpt2" -o never
ends 2 "removes none" prune -m "$models/gpt2" --keep-fraction 0.99 --prompts texts -o never
ends 2 "above 0 and below 1" prune -m "$models/gpt2" --keep-fraction 1 --prompts texts -o never
ends 2 "requires" prune -m "$models/gpt2" --prompts texts -o never
ends 2 "--output is required" prune -m "$models/gpt2" --heads 0.1
[[ ! -e never ]] || fail "a refused model was written"

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
ends 2 "needs --rank" heads -p a --sort output_rank
ends 2 "needs --permute" heads -p a --sort permuted_change
ends 2 "--permute needs a model" heads -m "$models/bert" --ids 5,6 --permute 2
ends 2 "--rank supports at most 256 tokens" heads -m "$models/t5" --rank --ids "$(seq -s, 1 97),$(seq -s, 1 97),$(seq -s, 1 97)"
ends 2 "value projections of their own" heads -m "$models/longformer" --ids 5,6 --rank --global-tokens 1
ends 2 "excludes" heads -p a --composition
ends 2 "excludes" heads --relations some.conllu --composition
ends 2 "needs --ablate or --gradients" heads --prompts texts
ends 2 "excludes" heads -p "a b" --ablate --gradients
ends 2 "excludes" heads -p "a b" --gradients --attention-kind linear
ends 2 "are in f32" heads -p "a b" --gradients --precision f16
ends 2 "needs --gradients" heads -p "a b c" --sort gradient
ends 2 "is an encoder" heads -m "$models/bert" --ids 5,6 --gradients
ends 2 "expected at least two" heads --ablate --prompts <(printf 'a b\na\n')
ends 6 "some.txt" heads --relations some.txt
printf '1\tThe\n' >bad.conllu
ends 6 "bad.conllu:1: the line has 2 columns" heads --relations bad.conllu
ends 6 "tokenizer.json" heads -m "$models/bart" --relations some.conllu
ends 2 "excludes" heads -p a --json --csv

if ((failures)); then
    echo "$failures failures"
    exit 1
fi
echo "heads: ok"
