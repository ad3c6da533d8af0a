#!/usr/bin/env bash
# Ctrl-C, whatever the program does on its device at that moment.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

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
for signal in HUP QUIT PIPE TERM; do
    code=0
    timeout --preserve-status -s $signal 0.5 "$program" run -q -p "The dog" -n 100000 --ignore-eos >/dev/null 2>"$scratch/err" || code=$?
    check "SIG$signal ends with 130 (got $code)" test $code = 130
    check "SIG$signal says nothing ($(<"$scratch/err"))" test ! -s "$scratch/err"
done
for delay in 0.5 1; do interrupted $delay "$program" conform; done
interrupted 1.5 "$program" bench ops --quick --op add

if ((failures)); then exit 1; fi
echo "interruptions: all as wanted"
