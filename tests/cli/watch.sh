#!/usr/bin/env bash
# vantage train --watch, on a display in memory: the run is the one without a window, the window may be closed before the
# run ends or after it, and the run outlives its X server.
# Once: how a program ends does not depend on the device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset WAYLAND_DISPLAY

if ! command -v Xvfb >/dev/null; then
    echo "no Xvfb: windows are not tested"
    exit 77 # CTest counts the test as skipped
fi
Xvfb -displayfd 9 -screen 0 1280x800x24 -nolisten tcp 9>number 2>/dev/null &
server=$!
at_exit() { kill $server 2>/dev/null; chmod -R u+w "$scratch"; rm -rf "$scratch"; }
job=$server
until_true test -s number
model=$VANTAGE_ROOT/assets/models/mini-world
for i in {1..40}; do cat "$VANTAGE_ROOT/README.md"; done >text.txt
train=("$program" train --data text.txt --tokenizer "$model" --layers 1 --width 32 --heads 4 --context 16
    --batch-tokens 64 --eval-every 4 --eval-sequences 2 --save-every 0 --log-heads)

env -u DISPLAY "${train[@]}" --watch --steps 4 -o none 2>err
check "without a display the code is 1 (got $?) and no folder is left" test ! -e none
check "and a line says so: $(<err)" grep -q "is there a display" err
"${train[@]}" --probe "Anna has the red cup" --watch-every 0 --steps 4 -o none 2>err
check "--watch-every 0 is refused (got $?)" test ! -e none

display=$(<number)
export DISPLAY=:$display
"${train[@]}" --steps 8 -o plain >out || fail "a run without a window failed"
# After the last step the window stays until it is closed.
begin "${train[@]}" --steps 8 -o watched --watch --watch-every 1
until_true test -e watched/heads.svg
until_true grep -q "^try" text
check "the window stays after the last step, and the result is printed" kill -INT "$job"
code=0
wait "$job" || code=$?
check "Ctrl-C after the last step closes it: 0 (got $code: $(<err))" test $code = 0
check "a watched run is the run without a window" cmp plain/step-000008/model.safetensors watched/step-000008/model.safetensors
check "heads are measured at the same steps" cmp plain/heads.jsonl watched/heads.jsonl

begin "${train[@]}" --steps 100000 -o interrupted --watch --watch-every 1
until_true eval 'test -s interrupted/log.jsonl && (($(wc -l <interrupted/log.jsonl) > 4))'
kill -INT "$job"
code=0
wait "$job" || code=$?
check "Ctrl-C before the last step saves and ends with 130 (got $code)" test $code = 130
check "and says how to go on: $(<err)" grep -q "go on with: vantage train --resume interrupted" err
"$program" train --resume interrupted --steps "$(($(basename "$(readlink interrupted/latest)" | sed 's/step-0*//') + 2))" >out 2>err ||
    fail "a watched run does not go on without a window: $(<err)"

# A training that fails ends the window, too.
code=0
"${train[@]}" --steps 9 --lr 1e25 --optimizer sgd --max-grad-norm 0 -o lost --watch >out 2>err || code=$?
check "a loss that is not finite ends a watched run with 7 (got $code: $(<err))" test $code = 7
# The window is closed by its key: the run goes on.
if command -v xdotool >/dev/null; then
    begin "${train[@]}" --steps 60 -o closed --watch
    until_true test -s closed/log.jsonl
    check "the window is found" xdotool mousemove 200 200 key ctrl+q
    until_true grep -q "the window is closed; the training goes on" err
    until_true eval '[[ -z $(xdotool search --name "training closed" 2>/dev/null) ]]'
    check "the window is gone before the run ends" kill -0 "$job"
    code=0
    wait "$job" || code=$?
    check "a run whose window was closed ends with 0 (got $code: $(<err))" test $code = 0
    check "its model is there" test -e closed/step-000060/model.safetensors
fi

# The X server goes away: the run goes on to its end.
begin "${train[@]}" --steps 40 -o orphan --watch
until_true test -s orphan/log.jsonl
kill $server
code=0
wait "$job" || code=$?
check "a run without its X server ends with 0 (got $code: $(<err))" test $code = 0
check "its model is there" test -e orphan/step-000040/model.safetensors
check "a line says that the X server ended, another that the training goes on: $(<err)" \
    test "$(grep -c "the X server ended\|the training goes on" err)" = 2
exit $((failures > 0))
