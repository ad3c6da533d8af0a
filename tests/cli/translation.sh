#!/usr/bin/env bash
# vantage run, inspect and explain on encoder–decoders: text that answers a text, the saved file, and what is refused.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"


# a tokenizer of one character a token, so that the model has a text to read
cp -r "$models/transformer_norm_first" words
awk 'BEGIN {
    printf "{\"added_tokens\": [], \"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {"
    for (i = 0; i < 97; ++i) { c = sprintf("%c", 32 + i); printf "%s\"%s%s\": %d", i ? ", " : "", c == "\"" || c == "\\" ? "\\" : "", i < 95 ? c : "<" i ">", i }
    printf "}}}\n" }' >words/tokenizer.json

"$program" run -m words -p "abc" -n 6 --temp 0 -q >first || fail "run: $(<first)"
printf 'abc' | "$program" run -m words -p - -n 6 --temp 0 -q >again || fail "run from stdin"
cmp -s first again || fail "run: -p and stdin differ: $(<first) and $(<again)"
gives '"prompt_tokens": 3' run -m words -p "abc" -n 4 --temp 0 --json
gives '"generated_tokens": 4' run -m words -p "abc" -n 4 --temp 0 --json
ends 2 "do not fit the context of 4" run -m words -p "abcdef" --ctx 4
ends 2 "has no tokens" run -m words -p ""

# one word in two texts, and one head step by step: the encoder's, and the decoder's to it
gives "1 and 2" embed -m words --word ab -p "ab c" -p "c ab"
gives "every query sees every key" demo --steps -m words -p "abc" --layer 0 --head 1
gives "keys, the encoder's text:" demo --steps -m words -p "abc" --part cross --layer 0 --head 1

# what it writes is what inspect looks at
gives "cross-attention" inspect -m words -p "abc"
gives "nodes agree" inspect -m "$models/t5" --ids 5,6,7 --decoder-ids 0,8 --check
"$program" inspect -m "$models/bart" --ids 5,6,7 --decoder-ids 2,8 --save pass.safetensors --greedy 3 >/dev/null || fail "inspect --save"
for name in input_ids decoder_input_ids logits encoder_last_hidden encoder_hidden decoder_hidden encoder_attn decoder_attn cross_attn greedy.ids; do
    grep -aq "\"$name\"" pass.safetensors || fail "inspect --save: $name is missing"
done
# a decoder whose first token is forced: what inspect continues is what run writes
cp -r words forced && sed -i '1s/{/{"forced_bos_token_id": 40,/' forced/config.json
"$program" run -m forced -p "abc" -n 4 --temp 0 --precision f32 --json >run.json || fail "run with a forced first token"
continuation=$(sed -n 's/.*"text": "\(.*\)"$/\1/p' run.json)
check "a text begins after the forced token ($continuation)" test -n "$continuation" -a "$continuation" != "$(<first)"
gives "  $continuation" inspect -m forced -p "abc" --precision f32 --greedy 4
gives '"source_reads"' inspect -m "$models/bart" --ids 5,6,7 --decoder-ids 2,8 --json
ends 2 "needs an encoder–decoder" inspect -m "$models/llama" --ids 5,6 --decoder-ids 1
ends 2 "token id 500" inspect -m "$models/bart" --ids 5,6 --decoder-ids 2,500
grep -q "prompt 3 tokens" <("$program" run -m words -p "abc" -n 4 --temp 0 2>&1 >out) || fail "run: counts more than the text's tokens"
echo '{% for message in messages %}{{ message.content }}{% endfor %}' >plain.jinja
printf 'ab\nab\n' | "$program" chat -m words --template plain.jinja --json -n 3 --temp 0 -q >turns || fail "chat: $(<turns)"
grep -q '"kept_tokens":0' <(tail -n 1 turns) || fail "chat: the encoder reads all anew, but says $(<turns)"

"$program" explain -m "$models/bart" --tokens 20 >out || fail "explain"
for text in "l = 2 layers of the encoder" "encoder mlp" "cross-attention k" "The encoder: a text of m = 20 tokens" "4·l·d·m²" "4·L·d·m" "per source token" "Plan of the encoder"; do
    grep -qF -- "$text" out || fail "explain: wanted \"$text\" in $(<out)"
done
gives '"encoder_formula": "2·l·K·D·b"' explain -m "$models/t5" --json
gives "4·L·d + 2·l·d·b per source token" explain -m "$models/bart" --cache q8
gives "keys and values q8_0" explain -m "$models/bart" --cache q8
ends 1 "rows of a multiple of 32 features, but t5 has rows of 24" explain -m "$models/t5" --cache q4
ends 2 "--cache is not for --train" explain --train --cache q8
"$program" explain --cache q8 --json >json || fail "explain --cache --json"
tr -d ' \n' <json | grep -q '"b":{"meaning":"bytesofacachednumber","value":1.0625}' || fail "explain --json: b is not 1.0625"
ends 2 "needs an encoder" embed -m "$models/bart" -p x
ends 2 "no classification head" classify -m "$models/bart" -p x

exit $((failures > 0))
