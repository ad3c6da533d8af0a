#!/usr/bin/env bash
# Models with state-space layers on the command line: Mamba, which has no heads, and Jamba, of which some layers have.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

# tokenizers of one character a token, so that the models have a text to read
for name in mamba jamba; do
    cp -r "$models/$name" "$name"
    awk 'BEGIN {
        printf "{\"added_tokens\": [], \"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {"
        for (i = 0; i < 101; ++i) { c = sprintf("%c", 32 + i); printf "%s\"%s%s\": %d", i ? ", " : "", c == "\"" || c == "\\" ? "\\" : "", i < 95 ? c : "<" i ">", i }
        printf "}}}\n" }' >"$name/tokenizer.json"
    printf 'abc\na long other text\nzz\n' >lines

    # text: alone, beside others, from a conversation
    gives '"generated_tokens": 6' run -m "$name" -p "abc" -n 6 --temp 0 --json
    "$program" run -m "$name" -p "abc" -n 6 --temp 0 -q --stable >first || fail "$name: run: $(<first)"
    "$program" run -m "$name" --prompts lines -n 6 --temp 0 -q --stable >again || fail "$name: run of three: $(<again)"
    [[ -s first && $(<again) == *"$(<first)"* ]] || fail "$name: run: beside other texts $(<again) instead of $(<first)"
    printf 'abc\nde\n' | "$program" chat -m "$name" -q --template chatml --temp 0 -n 4 --json >turns || fail "$name: chat"
    check "$name: two turns" test "$(grep -c '"reply"' turns)" = 2
    check "$name: the second goes on where the first ended ($(<turns))" grep -q '"kept_tokens":[1-9]' <(sed -n 2p turns)

    # speed, costs, a check of every node
    gives "tg2" bench model -m "$name" --pp 4 --tg 2 -r 1 --no-start
    gives "nodes agree" inspect -m "$name" --ids 5,6,7,8,9,10 --check
    "$program" explain -m "$name" --tokens 20 --svg blocks.svg >out || fail "$name: explain"
    for text in "state space" "between operations and of states" "States: "; do
        grep -qF -- "$text" out || fail "$name: explain: wanted \"$text\" in $(<out)"
    done
done
gives "the order in which its states change" explain -m jamba --positions positions.png
gives "pp4" bench model --shape mamba-130m --pp 4 --tg 2 -r 1 --no-start

# what has no attention says so
ends 2 "mamba (mamba) has no attention" heads -m mamba --ids 5,6,7
ends 2 "has no attention" inspect -m mamba --ids 5,6,7 --png pictures
ends 2 "has no attention" run -m mamba -p abc -n 2 --mask-heads 0.0

# heads are those of the layers that attend
"$program" explain -m jamba --tokens 20 >out || fail "explain"
for text in "S = 64 channels of a mixer" "attention q" "experts" "States: 8448 bytes" "Keys and values: 4·K·D·b bytes per token" \
    "2·H·n²·b bytes" "states f32, keys and values f16"; do
    grep -qF -- "$text" out || fail "explain: wanted \"$text\" in $(<out)"
done
"$program" inspect -m jamba --ids 5,6,7,8,5,6 --png pictures --save pass.safetensors >out || fail "inspect: $(<out)"
check "eight heads" test "$(grep -cE '^  [0-9]+[.][0-9] .*%' out)" = 8
check "no head of another layer" test "$(grep -cE '^  [14]\.[0-3] ' out)" = 8
check "a picture of each" test "$(ls pictures | grep -c 'layer-[14]-head-[0-3].png')" = 8
check "no others but heads.png" test "$(ls pictures | wc -l)" = 9
grep -aq '"attn":{[^}]*"shape":\[2,4,6,6\]' pass.safetensors || fail "inspect --save: no attention of two layers"
grep -aq '"router_logits":{[^}]*"shape":\[2,6,4\]' pass.safetensors || fail "inspect --save: no routers of two layers"
gives '"heads_per_layer": 4' inspect -m jamba --ids 5,6,7 --json
"$program" heads -m jamba --ids 5,6,7,8,5,6 --values --rank --permute 4 --ablate --png charts >out || fail "heads: $(<out)"
check "rows of eight heads" test "$(grep -cE '^ *[14]\.[0-3] ' out)" -ge 8
check "charts" test -s charts/patterns.png -a -s charts/layers.png
gives '"layer": 4' heads -m jamba --ids 5,6,7,8 --json
gives "1.0" heads -m jamba --composition --png charts
gives "4.1" demo --steps -m jamba -p "abcabc" --layer 4 --head 1
ends 2 "of jamba (jamba) only 2 of 5 have any" heads -m jamba --ids 5,6,7 --rollout
ends 2 "of jamba (jamba) only 2 of 5 have any" heads -m jamba --ids 5,6,7 --flow
ends 2 "attention in layers 1, 4 with heads 0 … 3" run -m jamba -p abc -n 2 --mask-heads 2.0
ends 2 "attention in layers 1, 4 with heads 0 … 3" demo --steps -m jamba -p abc --layer 0 --head 1
ends 2 "2 layers of 4 heads: 1, 4" prune -m jamba --heads 0.1 -o never
"$program" prune -m jamba --heads 1.2,4.0 -o pruned >out 2>err || fail "prune: $(<err)"
ids() { "$program" inspect --ids 5,6,7,8 --greedy 6 --json "$@" | grep -A 8 '"greedy"'; }
cmp -s <(ids -m pruned) <(ids -m jamba --mask-heads 1.2,4.0) || fail "prune is not --mask-heads"
if "$program" view --help >/dev/null 2>&1; then
    ends 2 "has no attention" view -m mamba -p abc --headless --png no.png
    check "view" "$program" view -m jamba -p "abcabcab" -n 4 --headless --png view.png
    ends 2 "there is no head 0.1" view -m jamba -p abc --layer 0 --head 1 --headless --png no.png
fi

exit $((failures > 0))
