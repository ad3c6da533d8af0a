#!/usr/bin/env bash
# What `vantage train` does without memory, on a full disk and when the device is lost (docs/training.md, "When something
# goes wrong").
# Once: what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset VANTAGE_FAULT VANTAGE_GUARD
mini=$VANTAGE_ROOT/assets/models/mini-world
tokenizer=$mini/tokenizer.json
learn() {
    "$program" train --data "$mini/valid.txt" --tokenizer "$tokenizer" --blank-lines --layers 1 --width 16 --heads 2 \
        --context 16 --batch-tokens 64 --warmup 2 "$@"
}

# Out of memory before the first step: what the message says does fit.
large=(train --data "$mini/valid.txt" --tokenizer "$tokenizer" --blank-lines --layers 2 --width 64 --heads 4 --context 64
    --batch-tokens 1024 --steps 1 --eval-every 0 --memory 10M)
"$program" "${large[@]}" --accumulate 1 -o refused 2>err && fail "a step that does not fit runs"
[[ $(<err) =~ with\ ([0-9]+)\ of\ the\ 16\ sequences ]] || fail "the change that fits: $(<err)"
fits=${BASH_REMATCH[1]:-1}
[[ $(<err) =~ takes\ [^\(]*\(parameters\ .*,\ gradients\ .*,\ optimiser\ .*,\ activations\ .*,\ others\ .*\),\ but\ 10\.0\ MiB ]] ||
    fail "what the memory is for: $(<err)"
"$program" "${large[@]}" --accumulate $(((16 + fits - 1) / fits)) -o fits >out 2>err || fail "$fits sequences at a time: $(<err)"
[[ ! -e refused ]] || fail "what does not fit leaves a folder"
# Without --accumulate the step is divided, into parts of as many sequences. The run goes on with the same, whatever
# memory there is.
for ((each = fits; 16 % each != 0; --each)); do :; done
"$program" "${large[@]}" -o divided >out 2>err || fail "a step that is divided: $(<err)"
grep -q "divided into $((16 / each)) micro-batches" out || fail "a step that is divided says: $(<out)"
grep -q "\"accumulate\": $((16 / each))," divided/latest/training.json && grep -q "\"sequences\": $each," divided/latest/training.json ||
    fail "a step that is divided is kept: $(<divided/latest/training.json)"
gives '"steps": 2' train --resume divided --steps 2 --memory 1G --json
grep -q "\"accumulate\": $((16 / each))," divided/latest/training.json || fail "a step that is divided goes on: $(<divided/latest/training.json)"
# A disk that is full, here a limit for the size of files: the run goes on, and fails where the last checkpoint does.
code=0
(ulimit -f 32 && learn --steps 5 --save-every 2 -o full) >out 2>err || code=$?
(($code == 6 && $(grep -c "is not saved, .*; the training goes on" err) == 2)) || fail "a full disk: $code, $(<err)"
[[ $(ls full) == $'log.jsonl\nrun.json' ]] || fail "a full disk leaves $(ls full)"
# An evaluation and a sample that a signal cut off are made up: here they are missing in the files.
learn --steps 8 --eval-every 2 --save-every 2 --keep 9 --sample-every 2 --prompt $'The\n== step 999' -o whole >out 2>err || fail "train: $(<err)"
cp -r whole cut && rm -r cut/step-00000[68] && ln -sfn step-000004 cut/latest
sed -i '/"eval"/{/"step":3/d}' cut/log.jsonl
sed -i '/^== step 4$/,$d' cut/samples.txt
"$program" train --resume cut >out 2>err || fail "train --resume: $(<err)"
for file in log.jsonl samples.txt latest/model.safetensors; do
    check "what is missing of a step is made up: $file" cmp <(sed 's/"seconds":[^,]*,//' whole/$file) <(sed 's/"seconds":[^,]*,//' cut/$file)
done
# Files of the user in the folder stay, whatever their names and their age.
mkdir shared && for name in notes.tmp-99999999 report.tmp-2024-05-01.txt latest.tmp-99999999-0.txt; do
    echo mine >"shared/$name" && touch -d 2020-01-01 "shared/$name"
done
learn --steps 2 -q -o shared >out 2>err || fail "train: $(<err)"
check "files of the user stay" test "$(cat shared/*.tmp-*)" = $'mine\nmine\nmine'
# Names that JSON cannot hold are refused before the first step.
cp -r "$models/gpt2" $'mod\xe9l' && head -c 20000 "$mini/valid.txt" >text.txt
ends 2 "must be UTF-8" finetune -m $'mod\xe9l' --data text.txt --context 16 --batch-tokens 64 --steps 4 -o o1
ends 2 "must be UTF-8" finetune -m $'mod\xe9l' --lora=2 --data text.txt --context 16 --batch-tokens 64 --steps 4 -o o1
ends 2 "--prompt is not UTF-8" train --data text.txt --tokenizer "$tokenizer" --sample-every 1 --prompt $'a\xff' --steps 2 -o o1
[[ ! -e o1 ]] || fail "a refused run leaves a folder"
# A signal that is sent twice at once is one: `timeout` does so, to the program and to its group. The run is saved.
begin "$program" train -q --data "$mini/valid.txt" --tokenizer "$tokenizer" --blank-lines --layers 1 --width 16 --heads 2 \
    --context 16 --batch-tokens 64 --steps 1000000 -o twice
until_true test -s twice/log.jsonl
kill -INT "$job" && kill -INT "$job"
code=0
wait "$job" || code=$?
[[ $code == 130 && -e twice/latest/training.json ]] || fail "two signals at once: $code, $(ls twice), $(<err)"
# … also those of the last step; then the run is complete.
cp -r whole last && rm last/best && sed -i '/"eval"/{/"step":7/d}' last/log.jsonl
"$program" train --resume last >out 2>err || fail "train --resume: $(<err)"
check "the last evaluation is made up" cmp whole/log.jsonl last/log.jsonl
check "… and the best checkpoint" test "$(readlink whole/best)" = "$(readlink last/best)"
ends 2 "the run is complete after 8 steps" train --resume last
# A checkpoint that cannot be looked at is left out; a file of the user stays.
cp -r whole looped && ln -sf training.json looped/step-000008/training.json
rm looped/latest && echo mine >looped/latest
"$program" train --resume looped --steps 9 >out 2>err || fail "train --resume: $(<err)"
[[ $(<err) == *"step-000008 is no whole checkpoint and is left out"* && $(<looped/latest) == mine ]] || fail "a checkpoint that is a loop: $(<err)"
# Where none is whole, the message says why, also with -q. A run does not write through links.
cp -r whole broken && for each in broken/step-*; do : >"$each/training.json"; done
ends 6 "checkpoints is whole; broken/step-000008: " train --resume broken -q --steps 9
cp -r whole linked && mv linked/log.jsonl mine.jsonl && ln -s ../mine.jsonl linked/log.jsonl && cp mine.jsonl before.jsonl
ends 6 "linked/log.jsonl is a link" train --resume linked --steps 9
check "what a link points to stays" cmp before.jsonl mine.jsonl
# Files of the user with the names of a run's stay.
mkdir mine && cp "$mini/valid.txt" mine/samples.txt
ends 2 "mine/samples.txt exists, and the run would write over it" train --data mine/samples.txt --tokenizer "$tokenizer" \
    --blank-lines --sample-every 2 --steps 2 -o mine
check "a file of the user" cmp "$mini/valid.txt" mine/samples.txt
touch mine/log.jsonl  # also where a run was stopped before its first step
ends 2 "mine/samples.txt exists" train --data mine/samples.txt --tokenizer "$tokenizer" --blank-lines --steps 2 -o mine
# The device is lost: the run ends with how to go on, or goes on by itself to the same model.
learn --steps 30 --save-every 4 -o kept >out 2>err || fail "train: $(<err)"
# How many submissions there are before a checkpoint depends on the speed of the device.
for nth in 80 110 150 200 260 340 450 600; do
    rm -rf gone
    code=0
    VANTAGE_FAULT=submit:$nth:device_lost learn --steps 30 --save-every 4 -o gone >out 2>err || code=$?
    if ((code == 0)) || compgen -G "gone/step-*" >/dev/null; then break; fi
done
[[ $code == 5 && $(<err) == *"the last checkpoint is of step "*"go on with: vantage train --resume gone"* ]] || fail "a lost device: $code, $(<err)"
# … also before the first checkpoint, and in a run that was stopped.
VANTAGE_FAULT=submit:40:device_lost learn --steps 30 --save-every 0 --recover -o early >out 2>err || fail "--recover before a checkpoint: $(<err)"
check "--recover before a checkpoint" cmp kept/latest/model.safetensors early/latest/model.safetensors
VANTAGE_FAULT=submit:40:device_lost "$program" train --resume gone --recover >out 2>err || fail "--resume --recover: $(<err)"
(($(grep -c recovering err) == 1)) || fail "--resume --recover: $(<err)"
check "--resume --recover" cmp kept/latest/model.safetensors gone/latest/model.safetensors
VANTAGE_FAULT=submit:$nth:device_lost learn --steps 30 --save-every 4 --recover -o found >out 2>err || fail "--recover: $(<err)"
(($(grep -c recovering err) == 1)) || fail "--recover says so: $(<err)"
check "--recover" cmp kept/latest/model.safetensors found/latest/model.safetensors
(($(grep -c '"loss"' found/log.jsonl) == 30)) || fail "--recover logs each step once"
# A run that diverges says so: here its log has another level than the losses that follow.
learn --steps 80 --eval-every 0 --save-every 20 --keep 4 -o low >out 2>err || fail "train: $(<err)"
cp -r low never && sed -i 's/"loss":[0-9.]*/"loss":0.1/' never/log.jsonl
sed -i '21,$ s/"loss":[0-9.]*/"loss":0.1/' low/log.jsonl
cp -r low one
cp -r low alone && rm -r alone/step-0000[246]0
"$program" train --resume low --steps 135 --save-every 0 >out 2>err || fail "train --resume: $(<err)"
(($(grep -c "the loss was above 1.1 for 50 steps, and was 0.1 before" err) == 1)) || fail "a run that diverges: $(<err)"
# With --rollback it goes back to a checkpoint from before, and on without the batches after it: here to step 60, where
# the log has the low losses still, and then to step 40, where it has too few of them. Also if the run was stopped.
"$program" train --resume low --steps 200 --rollback >out 2>err || fail "--rollback: $(<err)"
for back in "60 and skipping the 75" "40 and skipping the 70"; do
    (($(grep -c "going back to step $back batches that followed it" err) == 1)) || fail "--rollback to $back: $(<err)"
done
grep -q '"rollback": true' low/run.json && grep -q '"skipped_batches": 145' low/latest/training.json || fail "--rollback is kept: $(<low/run.json)"
gives '"steps": 201' train --resume low --steps 201 --json
# It has a checkpoint to go back to, whatever --keep says; where there is none, it goes on.
# Of the checkpoints that a later divergence may go back to none is deleted: the last from 50 steps before, and what follows.
learn --steps 100 --rollback --save-every 10 --keep 3 --eval-every 0 -q -o spared >out 2>err || fail "--rollback: $(<err)"
check "--rollback --keep: $(ls spared)" test "$(cd spared && echo step-*)" = "step-000040 step-000050 step-000060 step-000070 step-000080 step-000090 step-000100"
"$program" train --resume one --steps 140 --rollback --keep 1 --save-every 20 >out 2>err || fail "--rollback --keep: $(<err)"
(($(grep -c "going back to step 60 and skipping the 70 batches" err) == 1)) || fail "--rollback --keep: $(<err)"
"$program" train --resume alone --steps 135 --rollback --save-every 0 >out 2>err || fail "--rollback: $(<err)"
(($(grep -c "there is no checkpoint from before" err) == 1)) || fail "--rollback without a checkpoint: $(<err)"
# A loss that comes back each time ends it.
code=0
"$program" train --resume never --steps 400 --rollback --save-every 0 >out 2>err || code=$?
(($code == 7 && $(grep -c "going back to step" err) == 3)) || fail "--rollback for ever: $code, $(<err)"
[[ $(tail -n 1 err) == *"no progress after 3 rollbacks"* ]] || fail "--rollback for ever: $(<err)"
gives '"steps": 45' train --resume never --steps 45 --json
check "--rollback leaves a best checkpoint" test -s low/best/model.safetensors
# Ten steps in a row without finite gradients: the checkpoint from before stays, and is named. The squares of gradients
# of such a loss are beyond f32, the loss is not.
learn --steps 4 --save-every 0 -o steep >out 2>err || fail "train: $(<err)"
cp -r steep/step-000004 before
sed -i 's/"z_loss": 0.0/"z_loss": 1e25/' steep/step-000004/training.json
code=0
"$program" train --resume steep --steps 30 >out 2>err || code=$?
[[ $code == 7 && $(<err) == *"the last checkpoint is steep/step-000004"*"gradients were not finite in 10 steps in a row"* ]] || fail "ten skipped steps: $code, $(<err)"
check "the checkpoint from before stays" cmp before/model.safetensors steep/latest/model.safetensors
ends 2 "--force requires --resume" train --data "$mini/valid.txt" --tokenizer "$tokenizer" --force -o refused
# A file system that is full, of which the log has its first lines.
if unshare -rm true 2>/dev/null; then
    mkdir small
    code=0
    unshare -rm bash -c 'mount -t tmpfs -o size=8k tmpfs small && exec "$@"' run "$program" train --data "$mini/valid.txt" \
        --tokenizer "$tokenizer" --blank-lines --layers 1 --width 16 --heads 2 --context 16 --batch-tokens 64 --steps 40 \
        --save-every 20 --eval-every 0 -o small/run >out 2>err || code=$?
    (($code == 6 && $(grep -c "lines will be missing" err) == 1 && $(grep -c "step 20 is not saved" err) == 1)) ||
        fail "a full file system: $code, $(<err)"
    (($(grep -c "it takes [0-9]* bytes, but [0-9]* are available" err) == 2)) || fail "a full file system: the bytes: $(<err)"
fi
exit $((failures > 0))
