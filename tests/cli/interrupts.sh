#!/usr/bin/env bash
# Ctrl-C, whatever the program does on its device at that moment.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

for signal in INT HUP QUIT PIPE TERM; do
    begin "$program" run -q -p "Once upon a time" -n 100000 --ignore-eos
    until_true in_line
    continue_with $signal
    ends_quietly "SIG$signal"
done

# while it waits for standard input
mkfifo "$scratch/input"
sleep 300 >"$scratch/input" &
writer=$!
begin "$program" tokenize <"$scratch/input"
sleep 1 # long enough to wait there
kill -TERM "$job"
ends_quietly "SIGTERM at standard input"
kill "$writer"

# interrupted_cold DELAY COMMAND…: without the kernels that were compiled before.
interrupted_cold() {
    VANTAGE_CACHE_DIR=$scratch/cold-$1 MESA_SHADER_CACHE_DISABLE=true interrupted "$@"
}
# starting, loading, compiling kernels, in the middle of a prompt
for delay in 0.03 0.1 0.2 0.3; do
    interrupted_cold $delay "$program" run -q -p "$(printf 'The dog chased the birds. %.0s' {1..40})" -n 100000 --ignore-eos
done
for delay in 0.5 1; do interrupted_cold $delay "$program" conform; done
interrupted_cold 1.5 "$program" bench ops --quick --op add
# while another process is measured
interrupted '[[ -n $(<"/proc/$job/task/$job/children") ]]' "$program" bench model -q --pp 8 --tg 2 -r 1

# what was measured before it stays
begin "$program" tune --quick --save "$scratch/table.json"
until_true eval '[[ $(<"$scratch/table.json") == *kernel* ]]'
continue_with INT
wait "$job" || true
check "tune keeps what it has measured" grep -q kernel "$scratch/table.json"
# a second signal while a checkpoint is written leaves no folder of it
for gap in 0.11 0.13 0.15; do
    begin "$program" train --data "$VANTAGE_ROOT/assets/models/mini-world/valid.txt" --blank-lines --tokenizer "$VANTAGE_ROOT/assets/models/mini-world" \
        --layers 2 --width 256 --heads 2 --context 16 --batch-tokens 16 --steps 4000 --save-every 1 -o "$scratch/run-$gap"
    until_true eval '[[ -e $scratch/run-$gap/latest ]]'
    kill -TERM "$job"
    sleep "$gap"
    kill -HUP "$job" || true
    wait "$job" || true
    left=("$scratch/run-$gap"/*.tmp-*)
    check "a second signal leaves ${left[*]}" test ! -e "${left[0]}"
done

if ((failures)); then exit 1; fi
echo "interruptions: all as wanted"
