#!/usr/bin/env bash
# --attention-kind in every command that takes it, and what is said where a model does not allow a kind.
# Once: what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
variants=$VANTAGE_ROOT/tests/data/oracle/variants
prompt="The dog and the cat"

# ---- text, maps and speed --------------------------------------------------------------------------------------------

for kind in linear performer:64 hard window:4 dilated:2 strided:3 bigbird:4; do
    "$program" run -p "$prompt" -n 6 --temp 0 --attention-kind "$kind" --json >json 2>err || fail "run $kind: $(<err)"
    grep -qF "\"attention_kind\": \"$kind\"" json || fail "run --json does not say $kind: $(<json)"
done
"$program" run -p "$prompt" -n 6 --temp 0 >own 2>err || fail "run: $(<err)"
"$program" run -p "$prompt" -n 6 --temp 0 --attention-kind own >same 2>err || fail "own: $(<err)"
cmp -s own same || fail "the kind own is not the model's own"
"$program" run -p "$prompt" -n 6 --temp 0 --attention-kind window:512 >wide 2>err || fail "window: $(<err)"
cmp -s own wide || fail "a window over all tokens changes the text"
"$program" run -p "$prompt" -p "A bird" -n 4 --attention-kind linear --json >json 2>err || fail "batch: $(<err)"
[[ $(grep -c '"attention_kind": *"linear"' json) == 2 ]] || fail "a batch does not say its kind: $(<json)"

gives "attention kind hard" inspect -p "$prompt" --attention-kind hard
"$program" inspect -p "$prompt" --attention-kind hard --json >json 2>err || fail "inspect: $(<err)"
grep -qF '"attention_kind": "hard"' json || fail "inspect --json does not say hard"
gives "attention kind window:2" heads -p "$prompt" --attention-kind window:2
"$program" heads -p "$prompt" --attention-kind dilated:2 --json >json 2>err || fail "heads: $(<err)"
grep -qF '"attention_kind": "dilated:2"' json || fail "heads --json does not say dilated:2"
"$program" inspect -m "$variants/llama" --ids 5,9,2,7 --attention-kind additive --json >json 2>err ||
    fail "additive: $(<err)"
"$program" view --headless --frozen-clock -p "$prompt" -n 2 --compare attention-kind=hard --png two.png \
    --save two.json 2>err || fail "view: $(<err)"
grep -q "attention kind hard" two.json || fail "the exported view does not say hard: $(head -c 800 two.json)"
"$program" view --headless -p "$prompt" -n 2 --attention-kind bigbird:2 --save one.csv 2>err || fail "view: $(<err)"
"$program" bench model --shape bert-base --pp 4 -r 1 --no-start --attention-kind linformer:8 -o json >json 2>err ||
    fail "bench: $(<err)"
grep -qF '"attention_kind": "linformer:8"' json && grep -q "random" json || fail "bench: $(<json)"

# other commands: vectors and predictions of an encoder, and a chat, are others than with the softmax
for command in "embed -m $models/bert -p dog" "classify -m $models/bert --json -p [MASK]s"; do
    read -ra words <<<"$command"
    "$program" "${words[@]}" >own 2>err || fail "$command: $(<err)"
    "$program" "${words[@]}" --attention-kind window:1 >other 2>err || fail "$command --attention-kind: $(<err)"
    cmp -s own other && fail "$command --attention-kind window:1 changes nothing"
done
for kind in own hard; do
    echo "The dog" | "$program" chat -q --template chatml --temp 0 -n 8 --attention-kind "$kind" >"$kind" 2>err || fail "chat: $(<err)"
done
cmp -s own hard && fail "chat --attention-kind hard changes nothing"

# ---- what is refused, and why ----------------------------------------------------------------------------------------

ends 2 "has causal layers; linformer mixes all tokens and needs an encoder that sees all" run -p a --attention-kind linformer:64
ends 2 'attention kind additive: it has weights of its own, and "attention_kinds"' run -p a --attention-kind additive
ends 2 'attention kind multiplicative: it has weights of its own' inspect -p a --attention-kind multiplicative
ends 2 "bloom biases its scores" run -m "$models/bloom" -p a --attention-kind linear
ends 2 "mistral has layers with a window" heads -m "$models/mistral" --ids 5,9 --attention-kind performer
ends 2 "gemma2 caps its scores" inspect -m "$models/gemma2" --ids 5,9 --attention-kind linear
ends 2 "gpt_oss has sinks" inspect -m "$models/gpt_oss" --ids 5,9 --attention-kind hard
ends 2 "has no attention" inspect -m "$models/mamba" --ids 5,9 --attention-kind hard
ends 2 "cross-attention only" inspect -m "$models/seq2seq_luong" --ids 5,9 --attention-kind hard
ends 2 "longformer has a pattern of its own" inspect -m "$models/longformer" --ids 5,9 --attention-kind window:3
ends 1 "weights are on 12 projected keys" inspect -m "$variants/bert" --ids 5,9 --attention-kind linformer:12
ends 1 "weights are on 12 projected keys" heads -m "$variants/bert" --ids 5,9 --attention-kind linformer:12
ends 1 "weights are on 12 projected keys" view --headless -m "$variants/bert" -p "5, 9" --attention-kind linformer:12 --png x.png
ends 2 "--attention-kind" heads --composition --attention-kind hard
ends 2 "--attention-kind" bench model --quality --attention-kind hard
ends 2 'expected linear, performer[:N], hard' run -p a --attention-kind soft
ends 2 'expected window:N with a number from 1' run -p a --attention-kind window
ends 2 'expected dilated:N with a number from 2' view --headless --png x.png --compare attention-kind=dilated:1
ends 2 '"hard:2": hard has no number' bench model --attention-kind hard:2

# ---- a config that says nonsense -------------------------------------------------------------------------------------

cp -r "$variants/llama" broken
for value in '"additive"' '["soft"]' '["linear"]' '[3]' '["linformer"]'; do
    sed "s/\"attention_kinds\"/\"unused\"/; s/^{/{ \"attention_kinds\": $value,/" "$variants/llama/config.json" \
        >broken/config.json
    ends 6 "attention_kinds" inspect -m broken --ids 5
done
sed 's/"attention_kinds"/"unused"/; s/^{/{ "attention_kinds": ["linformer:7"],/' "$variants/llama/config.json" \
    >broken/config.json
ends 6 "attention_linformer.7" inspect -m broken --ids 5
exit $((failures > 0))
