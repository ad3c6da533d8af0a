#!/usr/bin/env bash
# vantage run as a person uses it: stdin, stop texts, options by the environment, JSON, several prompts, traces, a full
# disk.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
prompt="The animal didn't cross the street because it was too tired."
expected=" The animal was too tired, not the street."

first=$("$program" run -q -p "Once upon a time" -n 20 --temp 1 -s 5)
check "the prompt from stdin" test "$(printf '%s' "$prompt" | "$program" run -q -p - -n 12 --temp 0 --precision f32)" = "$expected"
check "a stop text ends, and is not printed" test "$("$program" run -q -p "$prompt" -n 12 --temp 0 --precision f32 --stop ', not' --stop street)" = " The animal was too tired"
check "-q says nothing" test -z "$("$program" run -q -p "$prompt" -n 2 2>&1 >/dev/null)"
check "an option by the environment" test "$first" = "$(VANTAGE_SEED=5 VANTAGE_TEMP=1 "$program" run -q -p "Once upon a time" -n 20)"
check "what is typed wins over the environment" test "$first" = "$(VANTAGE_SEED=6 VANTAGE_MODEL=$scratch/nowhere "$program" run -q -m "${VANTAGE_ROOT:?}/assets/models/mini-world" -p "Once upon a time" -n 20 --temp 1 -s 5)"
"$program" run -q --json -p "$prompt" -n 3 --temp 0 >"$scratch/json"
check "JSON" grep -q '"generated_tokens": 3' "$scratch/json"
check "a full context is said" grep -q 'the context of 16 tokens is full' <("$program" run -p "$prompt" --ctx 16 --ignore-eos 2>&1 >/dev/null)

# several prompts in the same runs: each text is that of its prompt alone
printf 'Once upon a time\nA\n' >"$scratch/prompts"
"$program" run -q -p "$prompt" --prompts "$scratch/prompts" -n 12 --temp 0 --precision f32 --stop ', not' >"$scratch/several"
check "several prompts, each text under its own" test "$(head -n 2 "$scratch/several")" = "> $prompt"$'\n'" The animal was too tired"
check "a text for each prompt" test "$(grep -c '^> ' "$scratch/several")" = 3
"$program" run -q --prompts "$scratch/prompts" --batch 1 -n 12 --temp 0 --precision f32 --stop ', not' >"$scratch/one-by-one"
check "the same one by one" test "$(tail -n +4 "$scratch/several")" = "$(cat "$scratch/one-by-one")"
check "a file of one line is a list, too" test "$("$program" run -q --json --prompts <(echo Once) -n 1 | grep -c '^{.*}$')" = 1
code=0
printf 'Once\n\n' | "$program" run -q --prompts - -n 1 >"$scratch/out" 2>"$scratch/err" || code=$?
check "an empty line is refused before anything runs" test "$code:$(<"$scratch/out"):$(grep -c 'prompt 2 of 2 has 0 tokens' "$scratch/err")" = 2::1
check "an object a line" test "$("$program" run -q --json --prompts "$scratch/prompts" -n 2 | grep -c '^{.*"ending":"length".*}$')" = 2
check "a missing prompt is an error" grep -q 'no prompt; give -p TEXT' <("$program" run 2>&1)

"$program" run -q -p "$prompt" -n 4 --profile "$scratch/trace.json" >/dev/null
check "a trace has the prompt's dispatches" grep -q 'h.3.attention' "$scratch/trace.json"
check "a trace has the host's spans" grep -q '"generate"' "$scratch/trace.json"

for type in q8 q4; do
    check "--cache $type" test "$("$program" run -q -p "$prompt" -n 8 --temp 0 --cache $type)" = "$("$program" run -q -p "$prompt" -n 8 --temp 0 --cache f32)"
done

code=0
"$program" run -q -p x -n 2 >/dev/full 2>"$scratch/err" || code=$?
check "a full disk ends with 6 (got $code)" test $code = 6

if ((failures)); then exit 1; fi
echo "options of run: all as wanted"
