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

# what was measured stays, whatever ends the program
begin "$program" tune --quick --save "$scratch/table.json"
until_true eval '[[ -s $scratch/table.json && $(<"$scratch/table.json") == *kernel* ]]'
check "tune saves a result before it ends" kill -KILL "$job"
wait "$job" || true
check "tune keeps what it has measured" grep -q kernel "$scratch/table.json"

if ((failures)); then exit 1; fi
echo "interruptions: all as wanted"
