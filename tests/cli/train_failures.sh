#!/usr/bin/env bash
# What `vantage train` does without memory, on a full disk and when the device is lost (docs/training.md, "When something
# goes wrong").
# Once: what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset VANTAGE_FAULT
mini=$VANTAGE_ROOT/assets/models/mini-world
tokenizer=$mini/tokenizer.json
learn() {
    "$program" train --data "$mini/valid.txt" --tokenizer "$tokenizer" --blank-lines --layers 1 --width 16 --heads 2 \
        --context 16 --batch-tokens 64 --warmup 2 "$@"
}

# Out of memory before the first step: what the message says does fit.
large=(train --data "$mini/valid.txt" --tokenizer "$tokenizer" --blank-lines --layers 2 --width 64 --heads 4 --context 64
    --batch-tokens 1024 --steps 1 --eval-every 0 --memory 10M -q)
"$program" "${large[@]}" -o refused 2>err && fail "a step that does not fit runs"
[[ $(<err) =~ with\ ([0-9]+)\ of\ the\ 16\ sequences ]] || fail "the change that fits: $(<err)"
fits=${BASH_REMATCH[1]:-1}
"$program" "${large[@]}" --accumulate $(((16 + fits - 1) / fits)) -o fits >out 2>err || fail "$fits sequences at a time: $(<err)"
[[ ! -e refused ]] || fail "what does not fit leaves a folder"
# A disk that is full, here a limit for the size of files: the run goes on, and fails where the last checkpoint does.
code=0
(ulimit -f 32 && learn --steps 5 --save-every 2 -o full) >out 2>err || code=$?
(($code == 6 && $(grep -c "is not saved: .*; the training goes on" err) == 2)) || fail "a full disk: $code, $(<err)"
[[ $(ls full) == $'log.jsonl\nrun.json' ]] || fail "a full disk leaves $(ls full)"
# The device is lost: the run ends with how to go on, or goes on by itself to the same model.
learn --steps 30 --save-every 4 -o kept >out 2>err || fail "train: $(<err)"
code=0
VANTAGE_FAULT=submit:150:device_lost learn --steps 30 --save-every 4 -o gone >out 2>err || code=$?
[[ $code == 5 && $(<err) == *"the last checkpoint is gone/step-"*"go on with: vantage train --resume gone"* ]] || fail "a lost device: $code, $(<err)"
VANTAGE_FAULT=submit:150:device_lost learn --steps 30 --save-every 4 --recover -o found >out 2>err || fail "--recover: $(<err)"
(($(grep -c recovering err) == 1)) || fail "--recover says so: $(<err)"
check "--recover" cmp kept/latest/model.safetensors found/latest/model.safetensors
(($(grep -c '"loss"' found/log.jsonl) == 30)) || fail "--recover logs each step once"
exit $((failures > 0))
