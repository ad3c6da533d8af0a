#!/usr/bin/env bash
# --recover: a device that is lost at any submission of a text is opened again, and what is printed or drawn stays the
# same to the byte. Where that fails again before another token the program ends with 5.
# A sample of the submissions; with EVERY_SUBMISSION=1 (tests/full/run.sh) each of them.
# Once: what a device computes again is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset VANTAGE_RECOVER VANTAGE_FAULT

# same STEP COMMAND…: the output of COMMAND (stdin: file `in`) is the same when the device is lost at its submissions
# 1, 1 + STEP, … It says each time that it recovers.
same() {
    local step=$1 nth got losses=0
    shift
    if [[ -n ${EVERY_SUBMISSION:-} ]]; then step=1; fi
    "$@" <in >want 2>err || fail "$*: $(<err)"
    for ((nth = 1;; nth += step)); do
        got=0
        VANTAGE_FAULT=submit:$nth:device_lost timeout 300 "$@" <in >out 2>err || got=$?
        if ! grep -q recovering err; then break; fi
        losses=$((losses + 1))
        if ((got != 0)) || ! cmp -s want out || [[ $(grep -c VK_ERROR_DEVICE_LOST err) != 1 ]]; then
            fail "$*: lost at submission $nth: ended with $got: $(<err)"
        fi
    done
    check "$*: was lost more often than $losses times" test "$losses" -gt 3
}
: >in
run=("$program" run --precision f32 --recover --seed 5 --ignore-eos)
same 9 "${run[@]}" -p "Mia put the" -n 16
same 7 "${run[@]}" -p "Mia put the" -p Once -p "The dog saw a red key in the" --batch 2 -n 5
printf '%s\n%s\n' "Mia put the red key in the box." "Where is the key?" >in
same 5 "$program" chat --template chatml --precision f32 --seed 5 -n 6
: >in
drawn() { rm -f picture.png && "$program" view --headless --precision f32 -p "The keys" -n 4 --size 640x480 --png picture.png && cat picture.png; }
same_picture() {
    local nth
    drawn >want 2>err || fail "view: $(<err)"
    for nth in "$@"; do
        VANTAGE_FAULT=$nth:device_lost drawn >out 2>err || fail "view, lost at $nth: $(<err)"
        if ! grep -q recovering err || ! cmp -s want out; then fail "view, lost at $nth: another picture: $(<err)"; fi
    done
}
same_picture submit:2 submit:9 submit:25 wait:12

# by default a text ends where the device is lost, a conversation does not
fault=(env VANTAGE_FAULT=submit:8:device_lost)
code=0
"${fault[@]}" "$program" run -q -p Hello -n 20 --ignore-eos >out 2>err || code=$?
check "run without --recover ends with 5 (got $code)" test $code = 5
code=0
"${fault[@]}" "$program" chat --no-recover -q --template chatml -n 20 --ignore-eos <<<"Hello" >out 2>err || code=$?
check "chat --no-recover ends with 5 (got $code)" test $code = 5
"${fault[@]}" "$program" run --recover -q -p Hello -n 20 --ignore-eos >out 2>err || fail "run --recover -q: $(<err)"
check "-q says nothing of a recovery ($(<err))" test ! -s err

# a driver whose lost device stays lost; and others beside it, of which one takes its place unless a device was named
export NULL_DEVICE_FAIL=vkQueueSubmit2:3:-4 NODEVICE_SELECT=1
null=${VANTAGE_NULL_DEVICE:?} drivers=${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}
unset VANTAGE_VALIDATE VANTAGE_GUARD VANTAGE_DEVICE
export VK_DRIVER_FILES=$null VK_ICD_FILENAMES=$null
ends 5 "Null device cannot be opened again" run --recover -q -p Hello -n 3
if [[ -n $drivers ]]; then
    VK_DRIVER_FILES=$null:$drivers VK_ICD_FILENAMES=$null:$drivers
else
    unset VK_DRIVER_FILES VK_ICD_FILENAMES
    export VK_ADD_DRIVER_FILES=$null
fi
"$program" run --recover -p Hello -n 3 --ignore-eos >out 2>err || fail "another device: $(<err)"
check "another device takes its place, with a line ($(<err))" grep -q "Null device cannot be opened again .*; going on with" err
ends 1 "going on with" run --recover --strict -q -p Hello -n 3
ends 5 "VK_ERROR_DEVICE_LOST" run --recover -q --device "name:Null" -p Hello -n 3
exit $((failures > 0))
