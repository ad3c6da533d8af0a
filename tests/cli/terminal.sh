#!/usr/bin/env bash
# A model's text on a terminal: what would control it is escaped; elsewhere every byte is unchanged.
# Once: it is about texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

# on_terminal COMMAND…: runs it with a terminal as stdout. Prints what it shows, without the \r of each line's end.
on_terminal() { script -qec "$(printf '%q ' "$@")" /dev/null </dev/null | tr -d '\r'; }

# A model whose tokens all set the window's title, turn the direction of text, and end a line.
hostile=$'\033]0;owned\007\342\200\256\302\233z\t|\n'
mkdir model
cp "$models/gpt2"/{config.json,model.safetensors} model
awk 'BEGIN {
    printf "{\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"a\": 0"
    for (i = 1; i < 1000; ++i) printf ", \"\\u001b]0;owned\\u0007\\u202e\\u009bz\\t|\\n%s\": %d", i, i
    print "}}}"
}' >model/tokenizer.json
run=("$program" run -q -m model -p a -n 3 --temp 0)
shows() {  # WHAT FILE: the escapes are in FILE, and nothing else that controls a terminal
    local controls
    controls=$(LC_ALL=C tr -d '\n\t\40-\176\200-\377' <"$2" | wc -c)
    check "$1: no control characters ($controls)" test "$controls" = 0
    check "$1: no overrides" test -z "$(grep -e $'\342\200\256' -e $'\302\233' "$2")"
    check "$1: escapes instead: $(head -c 200 "$2")" grep -qF '\x1b]0;owned\x07\x202e\x9bz	|' "$2"
}
on_terminal "${run[@]}" >shown
shows "run" shown
check "run: lines stay" test "$(wc -l <shown)" -ge 3
on_terminal "${run[@]}" -p a >shown
shows "run with two prompts" shown
"${run[@]}" >piped
check "run into a pipe is unchanged" grep -qF "${hostile%$'\n'}" piped

demo=(env NO_COLOR=1 "$program" demo -m model -p "a a a a" -n 3 --out drawn)
on_terminal bash -c "exec $(printf '%q ' "${demo[@]}") 2>err" >shown  # without its progress
shows "demo" shown
named=$'\033]0;owned\007\342\200\256\302\233z\t|'
cp -r model "$named"
for command in inspect "heads -p a" explain "explain --train --context 16 --batch 1"; do
    on_terminal "$program" $command -m "$named" >shown
    check "$command: no control characters of a folder's name" test -z "$(grep -e $'\033]' -e $'\342\200\256' -e $'\302\233' shown)"
done

# names of cases
mkdir cases
cp "$VANTAGE_ROOT/tests/data/oracle/ops/ops.safetensors" cases
sed 's|"name": "swiglu"|"name": "swiglu\\u001b]0;owned\\u0007"|; s|"name": "tanh_bwd"|"name": "tanh\\u001b]0;owned\\u0007"|' \
    "$VANTAGE_ROOT/tests/data/oracle/ops/ops.json" >cases/ops.json
on_terminal "$program" conform --cases cases --op swiglu -v >shown
on_terminal "$program" conform --cases cases --op tanh_backward >>shown
check "conform: names of cases are escaped" grep -qF 'swiglu\x1b]0;owned\x07' shown
check "conform: names of cases that are not supported are escaped" grep -qF 'tanh\x1b]0;owned\x07' shown
check "conform: no control characters of names" test -z "$(grep -e $'\033]' shown)"

printf 'a\n' >line
on_terminal bash -c "exec $(printf '%q ' "$program" chat -q -m model --template chatml -n 3 --temp 0) <line" >shown 2>&1
shows "chat" shown

printf '1 2' >ids
decode=("$program" tokenize -m model --decode)
on_terminal bash -c "exec $(printf '%q ' "${decode[@]}") <ids" >shown
shows "tokenize --decode" shown
"${decode[@]}" <ids >piped
check "tokenize --decode into a pipe is unchanged" cmp -s piped <(printf '%s1 %s2' "$hostile" "$hostile")

exit $((failures > 0))
