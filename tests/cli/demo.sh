#!/usr/bin/env bash
# vantage demo: the lecture's digits, text, the head that the rule finds, pictures, and a clean end by Ctrl-C.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

has() { grep -qF -- "$2" "$1" || fail "$1 lacks: $2"; }
# says FILE TEXT: the same where lines may have been broken.
says() { tr '\n' ' ' <"$1" | grep -qF -- "$2" || fail "$1 lacks: $2"; }

"$program" demo >out 2>err || fail "demo: $(<err)"
has out "beat          5.00 7.00 8.00 4.00   0.11 0.31 0.51 0.07   1.44 0.56 1.44 0.56"
has out "The animal didn't cross the street because it was too tired."
has out "Its most salient head: layer 2 · head 3"
says out "“it” gives 61 % of its attention to “animal”"
has out "vantage-demo/heads.png"
has out "expectations  0.22 0.22 0.45 0.11   0.09 0.17 0.02 0.72"
[[ -s vantage-demo/worked-example.png ]] || fail "the two heads were not drawn"
[[ $(head -c 8 vantage-demo/heads.png | od -An -t x1 | tr -d ' ') == 89504e470d0a1a0a ]] || fail "heads.png is no PNG"
[[ -s vantage-demo/layer-2-head-3.png ]] || fail "the head was not drawn"
grep -q $'\033' out err && fail "escape codes in a file"
[[ ! -s err ]] || fail "stderr: $(<err)"
"$program" demo >again 2>err && cmp -s out again || fail "the same seed gave another page"

"$program" demo -p "Mia said: 'The red boat is small.' Then Tom repeated: 'The red" --out other >out 2>err || fail "demo -p: $(<err)"
has out "repeated: 'The red boat is small.'"
says out "“red” gives 89 % of its attention to “boat”, the token that followed it before"
[[ -s other/layer-1-head-0.png ]] || fail "--out"

# a prompt of one token: what the model wrote is shown as well
"$program" demo -p "Once" -n 12 --seed 3 >out 2>err || fail "a short prompt: $(<err)"
has out "Its most salient head"
"$program" demo --json >json 2>err || fail "demo --json: $(<err)"
has json '"most_telling"'
documented_patterns json
has json '"schema_version": 2'
has json '"worked_example"'

touch file
"$program" demo --out file >out 2>err
[[ $? == 6 && $(<err) == *file* ]] || fail "an --out that is a file: $(<err)"
"$program" demo -p "" >out 2>err
[[ $? == 2 ]] || fail "an empty prompt: $(<err)"

# ---- one head, step by step ------------------------------------------------------------------------------------------

"$program" demo --steps -p "The animal didn't cross the street because it was too tired." >out 2>err || fail "demo --steps: $(<err)"
for text in "head 2.3 of 4 layers × 8 heads, width 16" "  The 270, animal 1536, didn 848" "x [13, 128]" "Q = x W_Q [13, 16]" "S = Q Kᵀ [13, 13]" \
    "S / √16, masked [13, 13]" "A = softmax, row by row [13, 13]" "Y = A V [13, 16]" "Four stages of attention  weights of “it”"; do
    has out "$text"
done
grep -q "^it  *.17   .61   .07" out || fail "row of it in A: $(grep "^it" out)"
[[ ! -e vantage-demo-steps && ! -s err ]] || fail "demo --steps: $(<err)"
"$program" demo --steps -p "The red boat" --layer 1 --head 2 --json >json 2>err || fail "demo --steps --json: $(<err)"
for text in '"head": "1.2"' '"masked_scores"' '"weights"' '"stages"' '"rotated": false' '"scale": 0.25'; do has json "$text"; done
"$program" demo --steps -m "$models/llama" -p "the dog" --layer 0 --head 1 >out 2>err || fail "demo --steps -m llama: $(<err)"
has out "rotated by position"
"$program" demo --steps -m "$models/bert" -p "the dog" --layer 0 --head 1 >out 2>err || fail "demo --steps -m bert: $(<err)"
has out "every query sees every key"
"$program" demo --steps -m "$models/gemma2" -p "the dog" >out 2>err && has out "with the model's soft-cap, biases or sinks"
"$program" demo --steps -p "$(printf 'a %.0s' {1..40})" >out 2>err
[[ $? == 2 && $(<err) == *"at most 32 tokens"* ]] || fail "a long text: $(<err)"
"$program" demo --steps -p "the dog" --layer 9 --head 0 >out 2>err
[[ $? == 2 && $(<err) == *"has no head 9.0"* ]] || fail "a layer that is not there: $(<err)"
"$program" demo --steps -p "the dog" --part cross >out 2>err
[[ $? == 2 && $(<err) == *"is no encoder–decoder"* ]] || fail "--part of a decoder: $(<err)"
"$program" demo --layer 1 --head 0 >out 2>err
[[ $? == 2 ]] || fail "--layer without --steps: $(<err)"
"$program" demo --steps -p "the dog" --layer 1 >out 2>err
[[ $? == 2 ]] || fail "--layer without --head: $(<err)"

interrupted 0.2 "$program" demo

((failures == 0)) && echo "demo: all as it should be"
exit $((failures > 0))
