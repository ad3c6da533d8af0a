#!/usr/bin/env bash
# Recurrent models on the command line: text, the alignment in every command that shows attention, what is refused.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

bahdanau="$models/seq2seq_bahdanau" lm="$models/recurrent_lstm"

# a tokenizer of one character a token, so that the models have a text to read
cp -r "$bahdanau" words
cp -r "$lm" text
awk 'BEGIN {
    printf "{\"added_tokens\": [], \"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {"
    for (i = 0; i < 97; ++i) { c = sprintf("%c", 32 + i); printf "%s\"%s%s\": %d", i ? ", " : "", c == "\"" || c == "\\" ? "\\" : "", i < 95 ? c : "<" i ">", i }
    printf "}}}\n" }' >words/tokenizer.json
cp words/tokenizer.json text

gives '"generated_tokens": 4' run -m text -p "abc" -n 4 --temp 0 --json
"$program" run -m words -p "abc" -n 6 --temp 0 -q >first || fail "run: $(<first)"
"$program" run -m words -p "abc" -p "a long other text" -n 6 --temp 0 -q --stable >again || fail "run of two: $(<again)"
[[ -s first && $(<again) == *"$(<first)"* ]] || fail "run: beside another text $(<again) instead of $(<first)"

# the alignment, target by source
"$program" inspect -m "$bahdanau" --ids 5,6,7,8 --decoder-ids 1,9,10 --save pass.safetensors --png pictures >out || fail "inspect"
grep -q "cross-attention" out || fail "inspect: no cross-attention in $(<out)"
grep -q "x0.0" out || fail "inspect: no head x0.0 in $(<out)"
[[ -s pictures/layer-0-head-0.png && -s pictures/heads.png ]] || fail "inspect --png: $(ls pictures)"
grep -aq '"cross_attn":{"data_offsets":\[[0-9,]*\],"dtype":"F32","shape":\[1,1,3,4\]' pass.safetensors ||
    grep -aq '"cross_attn":{"dtype":"F32","shape":\[1,1,3,4\]' pass.safetensors || fail "inspect --save: no alignment of 3 by 4"
gives '"source_reads"' inspect -m "$bahdanau" --ids 5,6,7 --decoder-ids 1,9 --json
gives "nodes agree" inspect -m "$models/seq2seq_luong" --ids 5,6,7 --decoder-ids 1,9,10 --check
gives "nodes agree" inspect -m "$lm" --ids 5,6,7,8,9,10 --check
gives "x0.0" heads -m "$models/seq2seq_dot" --ids 5,6,7,8 --decoder-ids 1,9,10

# embeddings of 24 below layers of 32: no layer 0, and nothing of another width in the file
"$program" embed -m text --word abc -p "abc de" -p "x abc" --save words.safetensors >out 2>err || fail "embed --word: $(<err)"
grep -q "^  1 " out && ! grep -q "^  0 " out || fail "embed --word: layers of $(<out)"
gives "static" embed -m words --word abc -p "abc de" -p "x abc"

# matrices that cannot be stored so are named: of recurrent layers all, as they take floats
"$program" run -m text -p "abc" -n 2 --temp 0 --weights q8 >out 2>err || fail "run --weights q8: $(<err)"
grep -q "stays f32" err || fail "run --weights q8: $(<err)"
"$program" run -m text -p "abc" -n 2 --temp 0 --weights f16 -q >out 2>err || fail "run --weights f16: $(<err)"

# of n tokens each layer has n steps; a decoder with Bahdanau's attention has as many runs
"$program" explain -m "$lm" --tokens 20 >out || fail "explain"
for text in "recurrent layers" "40 sequential steps" "States of recurrent layers: 16·d"; do
    grep -qF -- "$text" out || fail "explain: wanted \"$text\" in $(<out)"
done
gives "n = 20 tokens, in 20 runs" explain -m "$bahdanau" --tokens 20
gives '"sequential_steps": 20' explain -m "$bahdanau" --tokens 20 --json

# what has no attention says so
gives "next token" inspect -m "$lm" --ids 5,6,7
ends 2 "recurrent_lstm (recurrent) has no attention" heads -m "$lm" --ids 5,6,7
ends 2 "no attention of a text to itself" heads -m "$bahdanau" --composition
ends 2 "has no attention" inspect -m "$lm" --ids 5,6,7 --png pictures
ends 2 "has no head but x0.0" heads -m "$bahdanau" --ids 5,6,7 --decoder-ids 1,9 --mask-heads 0.0
ends 2 "has no attention" heads -m "$models/seq2seq_plain" --ids 5,6,7 --decoder-ids 1,9
for model in text "$models/mamba"; do
    ends 2 "demo: " demo -m "$model" -p "5 6" --json
    ends 2 "prune: " prune -m "$model" --keep-fraction 0.5 --even --prompts "$0" -o pruned
done
ends 2 "has no attention" demo -m text --steps -p "abc"
ends 1 "has an alignment" demo -m words --steps -p abc --part cross --layer 0 --head 0
if "$program" view --help >/dev/null 2>&1; then
    "$program" view -m "$models/seq2seq_luong" -p "5 6 7" --headless --frozen-clock --save alignment.csv 2>err ||
        fail "view: $(<err)"
    # each query's weights are a row, and sum to 1
    awk -F, '$1 ~ /^[0-9]+$/ { rows++; sum = 0; for (i = NF - 2; i <= NF; ++i) sum += $i
        if (sum < 0.999 || sum > 1.001) bad = 1 } END { exit bad || rows < 3 }' alignment.csv || fail "view: $(head -20 alignment.csv)"
    ends 2 "has no attention" view -m "$lm" -p "5, 6, 7" --headless --png no.png
fi

exit $((failures > 0))
