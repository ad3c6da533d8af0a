#!/usr/bin/env bash
# vantage run and demo as a person uses them: text, stdin, stop texts, seeds, JSON, traces, Ctrl-C.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
prompt="The animal didn't cross the street because it was too tired."
expected=" The animal was too tired, not the street."

"$program" run -p "$prompt" -n 12 --temp 0 --precision f32 >"$scratch/out" 2>"$scratch/err"
check "greedy text" test "$(<"$scratch/out")" = "$expected"
check "rates on stderr" grep -qE '^prompt 13 tokens, .*tokens/s; generated [0-9]+ tokens, .*tokens/s$' "$scratch/err"
check "the prompt from stdin" test "$(printf '%s' "$prompt" | "$program" run -q -p - -n 12 --temp 0 --precision f32)" = "$expected"
check "a stop text ends, and is not printed" test "$("$program" run -q -p "$prompt" -n 12 --temp 0 --precision f32 --stop ', not' --stop street)" = " The animal was too tired"
check "-q says nothing" test -z "$("$program" run -q -p "$prompt" -n 2 2>&1 >/dev/null)"
first=$("$program" run -q -p "Once upon a time" -n 20 --temp 1 -s 5)
check "the same seed, the same text" test "$first" = "$("$program" run -q -p "Once upon a time" -n 20 --temp 1 --seed 5)"
check "another seed, another text" test "$first" != "$("$program" run -q -p "Once upon a time" -n 20 --temp 1 -s 6)"
check "an option by the environment" test "$first" = "$(VANTAGE_SEED=5 VANTAGE_TEMP=1 "$program" run -q -p "Once upon a time" -n 20)"
check "what is typed wins over the environment" test "$first" = "$(VANTAGE_SEED=6 VANTAGE_MODEL=/nowhere "$program" run -q -m "${VANTAGE_ROOT:?}/assets/models/mini-world" -p "Once upon a time" -n 20 --temp 1 -s 5)"
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
check "no prompt is said" grep -q 'there is no prompt' <("$program" run 2>&1)

"$program" run -q -p "$prompt" -n 4 --profile "$scratch/trace.json" >/dev/null
check "a trace has the prompt's dispatches" grep -q 'h.3.attention' "$scratch/trace.json"
check "a trace has the host's spans" grep -q '"generate"' "$scratch/trace.json"

# a background job of a script ignores SIGINT, unless it has a process group of its own
set -m
"$program" run -q -p "Once upon a time" -n 100000 --ignore-eos >"$scratch/text" 2>"$scratch/err" &
job=$!
set +m
for ((i = 0; i < 600; ++i)); do  # until it writes
    if [[ -s $scratch/text ]]; then break; fi
    sleep 0.05
done
kill -INT $job 2>/dev/null
wait $job
code=$?
check "Ctrl-C ends with 130 (got $code)" test $code = 130

# interrupted DELAY COMMAND…: ends at once and without a word when it is interrupted after DELAY seconds.
interrupted() {
    local delay=$1 begin code=0 took
    shift
    set -m
    VANTAGE_CACHE_DIR=$scratch/cold-$delay MESA_SHADER_CACHE_DISABLE=true "$@" >/dev/null 2>"$scratch/err" &
    job=$!
    set +m
    sleep "$delay"
    begin=$(date +%s%N)
    kill -INT $job 2>/dev/null
    wait $job || code=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    check "Ctrl-C after $delay s ends with 130 (got $code): $*" test $code = 130
    check "Ctrl-C after $delay s ends it at once (took $took ms): $*" test $took -lt 4000
    check "Ctrl-C after $delay s says nothing ($(<"$scratch/err")): $*" test ! -s "$scratch/err"
}
# starting, loading, compiling kernels, in the middle of a prompt
for delay in 0.03 0.1 0.2 0.3; do
    interrupted $delay "$program" run -q -p "$(printf 'The dog chased the birds. %.0s' {1..40})" -n 100000 --ignore-eos
done
for delay in 0.5 1; do interrupted $delay "$program" conform; done

code=0
"$program" run -q -p x -n 2 >/dev/full 2>"$scratch/err" || code=$?
check "a full disk ends with 6 (got $code)" test $code = 6

"$program" demo --out "$scratch/pictures" >"$scratch/demo" 2>&1
check "the demo" grep -q 'Its most telling head' "$scratch/demo"
check "the lecture's example, to two decimals" grep -q 'expectations  4.00 5.00 3.00 6.00   0.17 0.28 0.10 0.46   0.65 1.35 0.65 1.35' "$scratch/demo"
check "the demo's pictures" test -s "$scratch/pictures/heads.png"
if grep -q $'\033' "$scratch/demo"; then check "no colour but on a terminal" false; fi

if ((failures)); then exit 1; fi
echo "run, demo: all as wanted"
