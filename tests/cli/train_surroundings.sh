#!/usr/bin/env bash
# `vantage train` and what is around a run: another run in its folder, output that cannot be written, files that change
# or vanish, the environment, folders that cannot be written to, and data that are no text.
# Once: what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset VANTAGE_GUARD
mini=$VANTAGE_ROOT/assets/models/mini-world
tokenizer=$mini/tokenizer.json
small=(--tokenizer "$tokenizer" --layers 1 --width 16 --heads 2 --context 16 --batch-tokens 64 --warmup 2)
learn() { "$program" train --data "$mini/valid.txt" --blank-lines "${small[@]}" "$@"; }

# Two runs into one folder: the one that reads its data for longer does not replace the other.
for i in {1..60}; do cat "$mini/valid.txt"; done >large.txt
begin "$program" train --data large.txt --blank-lines "${small[@]}" --steps 3 -o shared
until_true test -d "$scratch/cache/tokens"
kill -STOP "$job"
learn --steps 2 -o shared >out 2>problem || fail "a run beside another: $(<problem)"
sum=$(sha256sum shared/step-000002/model.safetensors)
kill -CONT "$job"
code=0
wait "$job" || code=$?
[[ $code == 2 && $(<err) == *"has a run already"* ]] || fail "the other run: $code, $(<err)"
[[ $(sha256sum shared/step-000002/model.safetensors) == "$sum" && $(grep -c '"loss"' shared/log.jsonl) == 2 ]] || fail "the first run was changed"

# Samples that cannot be printed are left out; other errors end the run, which is saved.
code=0
learn --steps 6 --sample-every 2 --prompt "The dog" --save-every 0 -o printed >/dev/full 2>err || code=$?
[[ $code == 6 && $(<err) == *"samples are in samples.txt"* && -e printed/step-000006 ]] || fail "a full stdout: $code, $(<err)"
mkdir see && cp "$VANTAGE_ROOT/tests/data/images/photo.png" see/a.png
printf '{"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 16, "image_size": 16, "patch_size": 8, "id2label": {"0": "a", "1": "b"}}' >see/config.json
printf '{"size": {"height": 16, "width": 16}, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}' >see/preprocessor_config.json
printf '{"image": "a.png", "label": "b"}\n{"image": "a.png", "label": 0}\n' >see/images.jsonl
begin "$program" train --config see/config.json --data see/images.jsonl --eval-share 0 --batch-tokens 10 --steps 100000 --save-every 0 --eval-every 0 -o seen
until_true test -s seen/log.jsonl
rm see/a.png
code=0
wait "$job" || code=$?
[[ $code == 6 && $(<err) == *"saved seen/step-"*"go on with: vantage train --resume seen"*"a.png"* ]] || fail "an image that vanished: $code, $(<err)"
saved=$(compgen -G "seen/step-*") || fail "an image that vanished: nothing is saved"
(($(grep -c '"loss"' seen/log.jsonl) == 10#${saved##*-})) || fail "an image that vanished: $(grep -c '"loss"' seen/log.jsonl) lines, but $saved"
# A step that was submitted in part is not saved.
for nth in 40 60 80; do
    code=0
    VANTAGE_FAULT=submit:$nth:out_of_memory learn --steps 300 --save-every 10 -o "torn-$nth" >out 2>err || code=$?
    if ((code == 0)) || ! compgen -G "torn-$nth/step-*" >/dev/null; then continue; fi
    "$program" train --resume "torn-$nth" >out 2>resumed || fail "after a fault of submission $nth ($(<err)): $(<resumed)"
done
# An error before the first step of a run that goes on, after its model was read: the checkpoint is still the last one.
# with_fault N: whether submission N fails before a step is done.
with_fault() {
    local code=0
    rm -rf again && cp -r printed again
    VANTAGE_FAULT=submit:$1:out_of_memory "$program" train --resume again --steps 8 >out 2>err || code=$?
    ((code != 0)) && [[ $(readlink again/latest) == step-000006 ]]
}
before=1 behind=400 # submissions
while ((behind - before > 1)); do
    middle=$(((before + behind) / 2))
    if with_fault $middle; then before=$middle; else behind=$middle; fi
done
early=0
for ((nth = before; nth > before - 12 && !early; --nth)); do
    with_fault $nth || continue # the number of submissions is not always the same
    [[ $(<err) != *"saved again"* ]] || fail "an error before a step: $(<err)"
    if [[ $(<err) == *"the last checkpoint is again/step-000006"* ]]; then early=1; fi
done
((early)) || fail "an error before a step does not name the checkpoint: $(<err)"

# Adapters go on beside their model only.
learn --steps 1 -o base >out 2>err || fail "train: $(<err)"
learn --steps 1 --seed 1 -o other >out 2>err || fail "train: $(<err)"
"$program" finetune -m base/latest --lora=2 --data "$mini/valid.txt" --blank-lines --context 16 --batch-tokens 64 --steps 2 -o adapted >out 2>err || fail "finetune: $(<err)"
"$program" train --resume adapted --steps 3 >out 2>err || fail "adapters go on: $(<err)"
cp other/latest/model.safetensors base/latest/model.safetensors
ends 2 "is not the one beside which the adapters" train --resume adapted --steps 4

# Variables of the environment are for all commands: a run that goes on has its own settings, and names with another
# meaning are not read.
VANTAGE_SEED=7 VANTAGE_DATA=x VANTAGE_PRECISION=f16 VANTAGE_RECOMPUTE=1 VANTAGE_PROMPT=x "$program" train --resume other --steps 2 >out 2>err || fail "--resume with an environment: $(<err)"
VANTAGE_COMPARE=weights=q4 VANTAGE_HEADS=0.1 learn --steps 1 -o environment >out 2>err || fail "an environment: $(<err)"
VANTAGE_LORA=$scratch/adapted VANTAGE_WEIGHTS=q4 VANTAGE_LABELS=a,b "$program" finetune -m other/latest --data "$mini/valid.txt" --blank-lines --context 16 --batch-tokens 64 --steps 1 -o environment-2 >out 2>err || fail "an environment: $(<err)"
ends 2 "--seed cannot change" train --resume other --steps 3 --seed 7

# Lines that are left out are named each time.
printf '{"text": "The dog ran to the house."}\n%.0s' {1..30} >lines.jsonl
printf '{bad\n%.0s' {1..9} >>lines.jsonl
for i in 1 2; do
    "$program" train --data lines.jsonl "${small[@]}" --eval-share 0 --steps 1 -o "lines-$i" >out 2>err || fail "lines: $(<err)"
    grep -q "lines of the file that were left out: 9" err || fail "run $i does not name lines that are left out: $(<err)"
done
# Data that are no text; a byte order mark, which is none of it.
printf 'a\0b' >zero.txt
ends 6 "zero.txt is no text" train --data zero.txt "${small[@]}" -o refused
printf '{"text": "The dog ran to the house."}\n%.0s' {1..30} >UPPER.JSONL
"$program" train --data UPPER.JSONL "${small[@]}" --eval-share 0 --steps 1 -o upper >out 2>err || fail "JSONL: $(<err)"
{ printf '\xef\xbb\xbf'; cat "$mini/valid.txt"; } >marked.txt
"$program" train --data marked.txt --blank-lines "${small[@]}" --steps 1 -o marked >out 2>err || fail "a byte order mark: $(<err)"
learn --steps 1 -o unmarked >out 2>err || fail "train: $(<err)"
check "a byte order mark is not learned" cmp marked/latest/model.safetensors unmarked/latest/model.safetensors

# Without a cache the tokens are in the temporary folder.
TMPDIR=$scratch VANTAGE_CACHE_DIR=/dev/null/none learn --steps 1 -o uncached >out 2>err || fail "without a cache: $(<err)"
compgen -G "$scratch/vantage-tokens-$(id -u)/*.tokens" >/dev/null || fail "without a cache: no tokens"
# … in a folder that nobody else can write to.
mkdir open && mkdir -m 777 "open/vantage-tokens-$(id -u)"
TMPDIR=$scratch/open VANTAGE_CACHE_DIR=/dev/null/none ends 6 "no folder for tokens" train --data "$mini/valid.txt" "${small[@]}" -o refused
TMPDIR=/dev/null VANTAGE_CACHE_DIR=/dev/null/none ends 6 "VANTAGE_CACHE_DIR" train --data "$mini/valid.txt" "${small[@]}" -o refused
# Sizes beyond all memory, links without an end, a checkpoint without its tokenizer.
ends 2 "memory" train --data "$mini/valid.txt" "${small[@]}" --memory 8E -o refused
ends 2 "excludes" train --data "$mini/valid.txt" "${small[@]}" --vocab 9 -o refused
for size in "--layers 5000" "--context 300000000" "--width 4194304"; do
    # shellcheck disable=SC2086
    ends 2 "${size% *}" train --data "$mini/valid.txt" --tokenizer "$mini/tokenizer.json" $size -o refused
done
ends 2 "at most" train --data "$mini/valid.txt" --tokenizer "$mini/tokenizer.json" --layers 1 --width 16 --heads 2 \
    --context 4096 --batch-tokens 4294967296 --accumulate 1 -o refused
ends 2 "must be from 0 to below 1e+30" train --data "$mini/valid.txt" "${small[@]}" --lr 1e308 -o refused
ends 2 "must be 0 or from 1e-30" train --data "$mini/valid.txt" "${small[@]}" --max-grad-norm 1e-308 -o refused
ends 2 "excludes" train --compare other other --resume other
ln -s loop loop
ends 6 "loop" train --data "$mini/valid.txt" "${small[@]}" -o loop
rm other/latest/tokenizer.json
ends 6 "there is no tokenizer.json" train --resume other --steps 5
[[ ! -e refused ]] || fail "what is refused leaves a folder"
# Names with escape sequences do not reach a terminal as they are.
escape=$'\e[31m'
"$program" data tokenize "$mini/valid.txt" --tokenizer "$mini" --blank-lines -o "$escape.bin" >out 2>err || fail "data tokenize: $(<err)"
"$program" data vocabulary "$mini/valid.txt" --size 300 -o "$escape.json" >>out 2>err || fail "data vocabulary: $(<err)"
! grep -q $'\e' out || fail "escape sequences of a name: $(<out)"
# A conversation takes the time of its squared length, so that it has a limit.
long=$(printf ',{"role": "user", "content": "a"}%.0s' {1..2001})
echo "{\"messages\": [${long#,}]}" >long.jsonl
cp -r "$mini" chat && echo '{"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}' >chat/tokenizer_config.json
ends 6 "2001 messages, at most 2000" data check long.jsonl --tokenizer chat --chat-template chat --strict-data
exit $((failures > 0))
