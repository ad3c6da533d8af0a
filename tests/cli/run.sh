#!/usr/bin/env bash
# vantage run and demo on a device: greedy text, rates, seeds, the lecture's digits.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
prompt="The animal didn't cross the street because it was too tired."
expected=" The animal was too tired, not the street."

"$program" run -p "$prompt" -n 12 --temp 0 --precision f32 >"$scratch/out" 2>"$scratch/err"
check "greedy text" test "$(<"$scratch/out")" = "$expected"
check "rates on stderr" grep -qE '^prompt 13 tokens, .*tokens/s; generated [0-9]+ tokens, .*tokens/s$' "$scratch/err"
first=$("$program" run -q -p "Once upon a time" -n 20 --temp 1 -s 5)
check "the same seed, the same text" test "$first" = "$("$program" run -q -p "Once upon a time" -n 20 --temp 1 --seed 5)"
check "another seed, another text" test "$first" != "$("$program" run -q -p "Once upon a time" -n 20 --temp 1 -s 6)"

"$program" demo --out "$scratch/pictures" >"$scratch/demo" 2>&1
check "the demo" grep -q 'Its most salient head' "$scratch/demo"
check "the lecture's example, to two decimals" grep -q 'expectations  4.00 5.00 3.00 6.00   0.17 0.28 0.10 0.46   0.65 1.35 0.65 1.35' "$scratch/demo"
check "the demo's pictures" test -s "$scratch/pictures/heads.png"
if grep -q $'\033' "$scratch/demo"; then check "no colour but on a terminal" false; fi

if ((failures)); then exit 1; fi
echo "run, demo: all as wanted"
