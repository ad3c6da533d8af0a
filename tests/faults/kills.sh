#!/usr/bin/env bash
# Kills a training run (SIGKILL) before each of its calls on files of its output folder, such as every write of a
# checkpoint. Then the run goes on, or begins anew where there was no checkpoint: the model must be that of a run that
# was not killed, to the last bit, and nothing else may be left.
#
# usage: kills.sh [--sample N]: N of the calls, evenly over all of them
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
preload=$(basename -- "${VANTAGE_FAULTS_PRELOAD:?the library made of tests/faults/preload.cpp}")
# LD_PRELOAD cannot hold a path with a space.
export LD_LIBRARY_PATH=$(dirname -- "$VANTAGE_FAULTS_PRELOAD")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
sample=0
if [[ ${1-} == --sample ]]; then sample=$2; fi
unset VANTAGE_VALIDATE VANTAGE_GUARD
mini=$VANTAGE_ROOT/assets/models/mini-world
train=("$program" train -q --data "$mini/valid.txt" --tokenizer "$mini/tokenizer.json" --blank-lines --layers 1 --width 16
    --heads 2 --context 16 --batch-tokens 64 --steps 4 --save-every 2 --eval-every 2 --eval-sequences 1 --log-heads)

"${train[@]}" -o whole >/dev/null || fail "a run that is not killed"
# killed N FOLDER: runs until its call N.
killed() { env FAULTS_KILL="$1" FAULTS_KILL_BELOW="/$2/" FAULTS_HIT="$PWD/calls-$2" LD_PRELOAD="$preload" "${train[@]}" -o "$2" >/dev/null 2>&1; }
killed 0 counted
check "the run with the library" cmp whole/step-000004/model.safetensors counted/step-000004/model.safetensors
all=$(wc -l <calls-counted)
check "the run makes calls on files of its folder ($all)" test "$all" -gt 40

runs=0
for ((call = 1; call <= all; ++call)); do
    if ((sample > 0 && (call - 1) * sample / all == call * sample / all)); then continue; fi
    runs=$((runs + 1)) name=killed-$call code=0
    killed "$call" "$name" 2>/dev/null || code=$?
    check "call $call: the run was killed (got $code)" test $code = 137
    if compgen -G "$name/step-??????/training.json" >/dev/null; then
        "$program" train --resume "$name" -q >/dev/null 2>err || [[ $(<err) == *"is complete after 4 steps"* ]] ||
            fail "call $call: the run does not go on: $(<err)"
    else
        rm -rf "$name"
        "${train[@]}" -o "$name" >/dev/null 2>err || fail "call $call: the run does not begin anew: $(<err)"
    fi
    for file in model.safetensors training.safetensors; do
        check "call $call: another $file" cmp "whole/step-000004/$file" "$name/step-000004/$file"
    done
    check "call $call: the best checkpoint" test "$(readlink "$name/best")" = "$(readlink whole/best)"
    left=$(cd "$name" && find . -name '*.tmp-*' -print -quit)
    check "call $call: left $left" test -z "$left"
    rm -rf "$name" "calls-$name"
done
echo "killed before $runs of $all calls"
exit $((failures > 0))
