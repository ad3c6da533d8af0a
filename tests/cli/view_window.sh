#!/usr/bin/env bash
# vantage view in a window, on a display in memory: how it ends when the device is lost, and after Ctrl-C; and that a
# headless run that is interrupted leaves no half of a file.
# Once: how a program ends does not depend on the device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset WAYLAND_DISPLAY

# stopped DELAY COMMAND…: Ctrl-C after DELAY seconds ends it with 130, soon, and without a word.
stopped() {
    local delay=$1 begin code=0 took
    shift
    set -m
    "$@" >/dev/null 2>err &
    job=$!
    set +m
    sleep "$delay"
    begin=$(date +%s%N)
    kill -INT $job 2>/dev/null
    wait $job || code=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    check "Ctrl-C after $delay s ends with 130 (got $code): $*" test $code = 130
    check "Ctrl-C after $delay s ends it at once (took $took ms): $*" test $took -lt 5000
    check "Ctrl-C after $delay s says nothing ($(<err)): $*" test ! -s err
}

mkdir pictures
for delay in 0.3 1.5 3; do
    stopped $delay "$program" view --headless -n 200 --ignore-eos --size 1280x800 --frames pictures --apng all.png -q
done
[[ -z $(compgen -G "all.png*") ]] || fail "an interrupted run left $(compgen -G "all.png*")"
for file in pictures/* pictures/.[!.]*; do
    [[ -e $file ]] || continue
    [[ $file == pictures/*.png && $(tail -c 8 "$file" | od -An -tx1) == *"ae 42 60 82"* ]] || fail "an interrupted run left $file, which is no whole PNG"
done

if ! command -v Xvfb >/dev/null; then
    echo "no Xvfb: windows are not tested"
    exit $((failures > 0))
fi
Xvfb -displayfd 9 -screen 0 1280x800x24 -nolisten tcp 9>number 2>/dev/null &
server=$!
trap 'kill $server; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
for ((i = 0; i < 100; ++i)); do
    if [[ -s number ]]; then break; fi
    sleep 0.1
done
display=$(<number)
export DISPLAY=:$display

for fault in submit:30 wait:20; do
    code=0
    VANTAGE_FAULT=$fault:device_lost timeout 60 "$program" view -n 400 -q >out 2>err || code=$?
    if ((code != 5 || $(wc -l <err) != 1)) || [[ $(<err) != *lost* && $(<err) != *LOST* ]]; then
        fail "a lost device ($fault): wanted 5 and one line, got $code: $(<err)"
    fi
done
for delay in 0.2 2; do stopped $delay "$program" view -n 4000 -q; done
exit $((failures > 0))
