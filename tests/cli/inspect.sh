#!/usr/bin/env bash
# vantage inspect: the file it saves against what PyTorch computed, the pictures, the summary, the check of every node.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

# ---- the file --------------------------------------------------------------------------------------------------------

for model in gpt2 llama llama_bf16; do
    expected=$models/$model/expected.safetensors
    for prompt in p0 p1 p2; do
        "$program" inspect -m "$models/$model" --ids "$(ids "$expected" $prompt.input_ids)" --save out.safetensors --greedy 20 >summary 2>err || fail "$model $prompt: $(<err)"
        cmp -s <(bytes out.safetensors input_ids) <(bytes "$expected" $prompt.input_ids) || fail "$model $prompt: input_ids"
        close out.safetensors logits "$expected" $prompt.logits 2e-4
        [[ $prompt == p1 ]] && ! cmp -s <(bytes out.safetensors greedy.ids) <(bytes "$expected" greedy.ids) && fail "$model: greedy.ids"
    done
    close out.safetensors hidden "$expected" p2.hidden 1e-3
    close out.safetensors attn "$expected" p2.attn 5e-5
    [[ $(ids out.safetensors greedy.ids | tr , '\n' | wc -l) == 20 ]] || fail "$model: greedy.ids are not 20"
done
"$program" inspect --ids 270,391 --save plain.safetensors >summary && place plain.safetensors greedy.ids >/dev/null && fail "greedy.ids without --greedy"

# ---- summary, JSON, pictures -----------------------------------------------------------------------------------------

"$program" inspect -p "The dog chased the birds. They" --png heads --check >summary 2>err || fail "summary: $(<err)"
grep -q "^  0.9[0-9]*  ·chirped" summary || fail "the next token is not in the summary"
[[ $(grep -c "^  [0-3]\.[0-7] " summary) == 32 ]] || fail "the summary has not 32 heads"
grep -q "^most salient layer 2, head 3: “They” → “birds” (0.97)" summary || fail "the salient head: $(grep salient summary)"
grep -q "^  head       entropy      sink    prev    self  induct    largest weight" summary || fail "the columns: $(grep entropy summary)"
grep -q "^check [0-9]* nodes agree with their references" summary || fail "check: $(grep check summary)"
grep -q $'\033' summary err && fail "escape codes in a file"
[[ $(find heads -name 'layer-*-head-*.png' | wc -l) == 32 && -s heads/heads.png ]] || fail "not all pictures are there"
for text in Vantage-Model mini-world Vantage-Layer Vantage-Head "layer 2 · head 3"; do
    grep -aq -- "$text" heads/layer-2-head-3.png || fail "the picture's texts lack $text"
done
printf 'Once upon' | "$program" inspect -p - --json --greedy 2 >json || fail "json"
for text in '"schema_version": 2' '"most_telling": null' '"pattern": "previous-token"' '"greedy"' '"entropy"' '" upon"'; do grep -q -- "$text" json || fail "json lacks $text"; done
documented_patterns json

# ---- the check of every node -----------------------------------------------------------------------------------------

mkdir spoiled && cp "$models/gpt2"/{config.json,tokenizer.json,model.safetensors} spoiled && chmod u+w spoiled/*
read -r begin _ < <(place spoiled/model.safetensors transformer.h.1.ln_2.weight)
set_weight() { dd of=spoiled/model.safetensors bs=1 seek="$begin" conv=notrunc status=none; }
printf '\000\000\300\177' | set_weight  # a NaN
ends 6 "transformer.h.1.ln_2.weight: element 0 is not finite" inspect -m spoiled --ids 1,2,3
printf '\346\261\141\177' | set_weight  # 3e38, too large for the variance of the last norm
ends 7 "not finite: the first such result is that of node layer_norm" inspect -m spoiled --ids 1,2,3 --check

# ---- what makes no sense ---------------------------------------------------------------------------------------------

ends 2 "give -p TEXT, --ids" inspect
ends 2 "the prompt has no tokens" inspect -p ""
ends 2 "the prompt has no tokens" inspect --ids ""
ends 2 "excludes" inspect -p a --ids 1
ends 2 '"x"' inspect --ids 1,x
ends 2 "token id 2048 is outside the vocabulary of mini-world (0 to 2047)" inspect --ids 1,2048
ends 2 "token id -1" inspect --ids=-1
ends 2 "257 tokens, but mini-world supports at most 256" inspect --ids "$(seq -s, 257)"
ends 2 "1 tokens and 256 more with --greedy are 257, but mini-world supports at most 256" inspect --ids 1 --greedy 256
ends 2 "f64" inspect -p a --precision f64
"$program" inspect -p "a red cup" --precision int8 --json >json 2>err || fail "int8: $(<err)"
grep -q '"precision": *"f16"' json || fail "the precision of a session that cannot use int8: $(grep precision json)"
ends 2 "expected a number, 0 or more, got -1" inspect -p a --greedy -1
ends 6 "nowhere" inspect -p a --save nowhere/x.safetensors
touch file && ends 6 "file" inspect -p a --png file/heads
mkdir bare && cp "$models/gpt2"/{config.json,model.safetensors} bare
ends 6 "tokenizer.json" inspect -m bare -p a
"$program" inspect -m bare --ids 1,2,3 >summary || fail "a model without a tokenizer takes ids"

# attention of 12 heads at 100 000 tokens is 447 GiB: refused before anything is allocated
mkdir long && cp "$models/llama"/{config.json,tokenizer.json,model.safetensors} long && chmod u+w long/*
sed -i 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 131072/' long/config.json
printf 'the %.0s' {1..100000} >many
ends 4 "of the host's memory" inspect -m long -p - --save x.safetensors <many

((failures == 0)) && echo "inspect: all as it should be"
exit $((failures > 0))
