#!/usr/bin/env bash
# vantage view in a window, on a display in memory: how it goes on or ends when the device is lost, and after Ctrl-C;
# and that a headless run that is interrupted leaves no half of a file.
# Once: how a program ends does not depend on the device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset WAYLAND_DISPLAY

run=0
drawn() { [[ -e pictures-$run/0000$1.png ]]; }
for when in 0.3 "drawn 1" "drawn 5"; do
    run=$((run + 1))
    interrupted "$when" "$program" view --headless -n 200 --ignore-eos --size 1280x800 --frames pictures-$run --apng all.png -q
done
[[ -z $(compgen -G "all.png*") ]] || fail "an interrupted run left $(compgen -G "all.png*")"
for file in pictures-*/* pictures-*/.[!.]*; do
    [[ -e $file ]] || continue
    [[ $file == pictures-*/*.png && $(tail -c 8 "$file" | od -An -tx1) == *"ae 42 60 82"* ]] || fail "an interrupted run left $file, which is no whole PNG"
done

if ! command -v Xvfb >/dev/null; then
    echo "no Xvfb: windows are not tested"
    exit $((failures > 0 ? 1 : 77)) # 77: CTest counts the test as skipped
fi
Xvfb -displayfd 9 -screen 0 1280x800x24 -nolisten tcp 9>number 2>/dev/null &
server=$!
at_exit() { kill $server 2>/dev/null; chmod -R u+w "$scratch"; rm -rf "$scratch"; }
job=$server
until_true test -s number
display=$(<number)
export DISPLAY=:$display

for fault in submit:30 wait:20; do
    code=0
    VANTAGE_FAULT=$fault:device_lost timeout 300 "$program" view --no-recover -n 400 -q >out 2>err || code=$?
    if ((code != 5 || $(wc -l <err) != 1)) || [[ $(<err) != *lost* && $(<err) != *LOST* ]]; then
        fail "a lost device ($fault): wanted 5 and one line, got $code: $(<err)"
    fi
done
# by default the device is opened again, the model loaded again, and the window opened again
begin env VANTAGE_FAULT=submit:30:device_lost "$program" view -n 4000 -v
until_true eval '(($(grep -c " model: " err) == 2))'
sleep 1
check "a window that recovers goes on: $(<err)" kill -INT "$job"
code=0
wait "$job" || code=$?
check "a window that recovered ends with 130 (got $code: $(<err))" test $code = 130
check "the built-in model writes no faster than it can be read: $(<err)" grep -q "speed: at most 5 tokens per second" err
check "a line says why the device was opened again" test "$(grep -c "recovering: .*VK_ERROR_DEVICE_LOST" err)" = 1
for delay in 0.2 2; do interrupted $delay "$program" view -n 4000 -q; done
# the X server goes away: one line, and not Xlib's
begin "$program" view -m "$VANTAGE_ROOT/assets/models/mini-world" -n 4000 -v
until_true grep -q "speed: " err
check "another model has no limit of its speed: $(<err)" grep -q "speed: no limit" err
sleep 1
kill $server
code=0
wait "$job" || code=$?
check "without its X server a window ends with 1 (got $code: $(<err))" test $code = 1
check "a line says that the X server ended: $(<err)" test "$(grep -c "error: the X server ended" err)" = 1
exit $((failures > 0))
