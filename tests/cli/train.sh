#!/usr/bin/env bash
# `vantage train`, `vantage finetune` and `vantage merge`: the commands of docs/training.md with few steps, what a run
# leaves, how it is stopped and goes on, and what is refused.
# Once: what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
mini=$VANTAGE_ROOT/assets/models/mini-world
tokenizer=$mini/tokenizer.json
small=(--blank-lines --layers 1 --width 16 --heads 2 --context 16 --batch-tokens 64 --warmup 2)
learn() { "$program" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" "$@"; }

# ---- the commands of the documentation ------------------------------------------------------------------------------

mkdir -p documented/assets && ln -s "$VANTAGE_ROOT/assets/models" documented/assets/models
bert=(--tokenizer "$VANTAGE_ROOT/tests/data/oracle/models/bert/tokenizer.json" --context 16 --batch-tokens 64 --warmup 2)
bert_config() {
    printf '{"model_type": "bert", "architectures": ["%s"], "vocab_size": 1000, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 32, "id2label": {"0": "negative", "1": "positive"}}' "$1"
}
bert_config BertForSequenceClassification >labels.json
bert_config BertForMaskedLM >masked.json
bert_config BertForTokenClassification >tokens.json
printf '{"text": "A fine film.", "label": "positive"}\n{"text": "A dull film.", "label": 0}\n%.0s' {1..12} >documented/reviews.jsonl
"$program" train --config labels.json --data documented/reviews.jsonl --eval-data documented/reviews.jsonl "${bert[@]}" --steps 2 -o labels >out 2>err || fail "train on labels: $(<err)"
grep -q "nats per label" out && grep -q "calibration error" out && grep -q "vantage classify -m labels/best" out || fail "train on labels says: $(<out)"
"$program" finetune -m labels/latest --lora=2 --data documented/reviews.jsonl --context 16 --batch-tokens 64 --steps 1 -o adapted >out 2>err || fail "finetune labels --lora: $(<err)"
grep -qE "vantage classify -m labels/latest --lora adapted/(best|latest)" out || fail "finetune labels --lora says: $(<out)"
gives '"positive"' classify -m labels/latest --lora adapted/latest -p "A fine film." --json
ln -s "$models/bert" documented/bert
printf '{"text": "The dog saw the cat."}\n{"prompt": "The cat", "completion": " ran away."}\n%.0s' {1..40} >documented/questions.jsonl
while read -r line; do
    line=$(sed -E 's/--steps 300/--steps 6/; s/--steps 400/--steps 8/; s/--batch-tokens 1024/--batch-tokens 128/; s/--eval-every 50/--eval-every 3/; s/--compare out/--compare out out/' <<<"$line")
    (cd documented && eval "${line/#vantage/\"\$program\"}") >out 2>err || fail "$line: $(<err)"
done < <(sed -e ':a; /\\$/{N; s/\\\n//; ba}' "$VANTAGE_ROOT/docs/training.md" | awk '/^```/ { block = block == "" ? substr($0, 4) : ""; next } block == "sh" && /^vantage / && !/--watch/')
for file in out/step-000006/training.json out/step-000008/model.safetensors out/log.jsonl out/loss.png out/loss.svg runs.png tuned/step-000020/tokenizer.json adapters/step-000020/adapter_config.json merged/model.safetensors; do
    check "documented/$file" test -s "documented/$file"
done
(($(grep -c '"loss"' documented/out/log.jsonl) == 8)) || fail "a line for each step: $(<documented/out/log.jsonl)"
(($(grep -c '"eval"' documented/out/log.jsonl) == 3)) || fail "evaluations after 3, 6 and 8 steps"

learn --steps 2 --separate-documents --accumulate 2 -o apart >out 2>err || fail "--separate-documents --accumulate: $(<err)"
grep -q "step *2 × 2 × 16" out || fail "--accumulate 2 says: $(<out)"
ends 2 "only 4 sequences" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" --accumulate 5 -o refused

# ---- other models ---------------------------------------------------------------------------------------------------

"$program" train --config masked.json --data "$mini/valid.txt" --blank-lines "${bert[@]}" --steps 2 -o masked >out 2>err || fail "train on masked tokens: $(<err)"
gives '"gap 1"' classify -m masked/latest -p "The [MASK] sat." --json
mkdir -p see && cp "$VANTAGE_ROOT/tests/data/images/photo.png" see/a.png
printf '{"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 16, "image_size": 16, "patch_size": 8, "id2label": {"0": "a", "1": "b"}}' >see/config.json
printf '{"size": {"height": 16, "width": 16}, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}' >see/preprocessor_config.json
printf '{"image": "a.png", "label": "b"}\n{"image": "../see/a.png", "label": 0}\n' >see/images.jsonl
"$program" train --config see/config.json --data see/images.jsonl --eval-share 0 --batch-tokens 10 --steps 3 -o seen >out 2>err || fail "train on images: $(<err)"
gives '"b"' classify -m seen/latest --image see/a.png --json
gives '"steps": 4' train --resume seen --steps 4 --json
printf '{"model_type": "mamba", "vocab_size": 2048, "hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}' >mamba.json
ends 1 "attention dropout: mamba has no attention with a softmax" train --config mamba.json --tokenizer "$tokenizer" --data "$mini/valid.txt" --blank-lines --context 16 --batch-tokens 64 --attention-dropout 0.1 --steps 1 -o refused
printf '{"model_type": "recurrent", "vocab_size": 2048, "embedding_size": 16, "hidden_size": 16, "num_hidden_layers": 1, "cell": "gru"}' >recurrent.json
for model in mamba recurrent; do
    ends 1 "$model carries a state from token to token" train --config $model.json --tokenizer "$tokenizer" --data "$mini/valid.txt" --blank-lines --context 16 --batch-tokens 64 --separate-documents --steps 1 -o refused
done
printf '{"model_type": "big_bird", "architectures": ["BigBirdForMaskedLM"], "vocab_size": 1000, "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 32, "block_size": 1, "num_random_blocks": 1}' >big_bird.json
ends 1 "sequences have 16 tokens, but only up to 7 see all" train --config big_bird.json --data "$mini/valid.txt" --blank-lines "${bert[@]}" --steps 1 -o refused
printf '{"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "vocab_size": 1000, "d_model": 16, "d_kv": 8, "d_ff": 16,
    "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0, "eos_token_id": 3}' >t5.json
printf '{"source": "The cat", "target": "a dog"}\n{"prompt": "The dog", "completion": "a cat and a cat"}\n' >answers.jsonl
"$program" train --config t5.json --data answers.jsonl --eval-share 0 "${bert[@]}" --steps 2 --sample-every 1 --prompt "The cat" -o answers >out 2>err || fail "train on answers: $(<err)"
grep -q "2 examples" out && grep -q "vantage run -m answers/latest" out || fail "train on answers says: $(<out)"
gives "" run -m answers/latest -p "The cat" -n 4
ends 2 "t5 learns from answers, a sequence each" train --config t5.json --data answers.jsonl "${bert[@]}" --separate-documents -o refused

# ---- heads ----------------------------------------------------------------------------------------------------------

learn --steps 4 --eval-every 2 --log-heads -o heads >out 2>err || fail "train --log-heads: $(<err)"
(($(grep -c '"heads"' heads/heads.jsonl) == 2)) || fail "heads after steps 2 and 4: $(<heads/heads.jsonl)"
gives "" train --resume heads --steps 6 --json
(($(grep -c '"heads"' heads/heads.jsonl) == 3)) || fail "heads after step 6, too: $(<heads/heads.jsonl)"
(($(grep -o '"previous"' heads/heads.jsonl | wc -l) == 6)) || fail "two heads, three times: $(<heads/heads.jsonl)"
check heads/heads.png test -s heads/heads.png
check heads/heads.svg test -s heads/heads.svg
# Heads that have a pattern before the first step are not named; those that change are.
"$program" finetune -m "$mini" --data "$mini/valid.txt" --blank-lines --context 64 --batch-tokens 64 --steps 1 --log-heads -o formed >out 2>err || fail "finetune --log-heads: $(<err)"
! grep -q "attends to" out || fail "heads had their patterns before: $(<out)"
grep -q '"pattern":"induction"' formed/heads.jsonl || fail "the built-in model has no induction head: $(<formed/heads.jsonl)"
sed -i 's/"pattern":"[a-z-]*"/"pattern":"mixed"/g' formed/heads.jsonl
"$program" train --resume formed --steps 2 >out 2>err || fail "resume with heads: $(<err)"
grep -q "attends to what followed the same token before" out && grep -q '"becomes":"induction"' formed/log.jsonl || fail "no head became one: $(<out)"
printf '{"step":0,"heads":[{"layer":99,"head":0}]}\n' >heads/heads.jsonl
gives "" train --resume heads --steps 8 --save-every 1 --eval-every 0 --json
learn --steps 1 --log-heads --probe "The cat saw the cat." -o probed >out 2>err || fail "train --probe: $(<err)"
ends 2 "--probe is for --log-heads" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" --probe a -o probe
ends 2 "need 4 tokens" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" --log-heads --probe a -o probe
ends 2 "attention reads one text" train --config t5.json --data answers.jsonl --eval-share 0 "${bert[@]}" --log-heads -o probe

# A pair of encoders.
cp -r "$models/clip" pairs && cp see/a.png pairs && cp "$VANTAGE_ROOT/docs/images/layers.png" pairs/b.png
printf '{"size": {"height": 24, "width": 24}, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}' >pairs/preprocessor_config.json
printf '{"image": "a.png", "text": "a photo"}\n{"image": "b.png", "text": "the grey one"}\n' >pairs/pairs.jsonl
"$program" finetune -m pairs --data pairs/pairs.jsonl --eval-data pairs/pairs.jsonl --batch-tokens 64 --lr 1e-3 --warmup 2 --steps 30 -o paired >out 2>err || fail "finetune CLIP: $(<err)"
grep -q "2 pairs" out || fail "finetune CLIP says: $(<out)"
"$program" classify -m paired/latest --labels "a photo" "the grey one" --image pairs/b.png >out 2>err || fail "a trained CLIP: $(<err)"
[[ $(head -n 1 out) == *"grey"* ]] || fail "a trained CLIP: $(<out)"
gives '"steps": 31' train --resume paired --steps 31 --json
ends 1 "adapters of clip are not supported" finetune -m pairs --lora --data pairs/pairs.jsonl -o refused
ends 2 "for one model, and clip has two" finetune -m pairs --log-heads --data pairs/pairs.jsonl -o refused
ends 2 "compared with others: at least 2" finetune -m pairs --data pairs/pairs.jsonl --batch-tokens 8 -o refused
ends 2 "not for pairs" finetune -m pairs --data pairs/pairs.jsonl --label-smoothing 0.1 -o refused
# The data must be those of the checkpoint, and their labels those of the model.
printf '{"text": "A film.", "label": %s}\n' 0 1 >own.jsonl
"$program" train --config labels.json --data own.jsonl --eval-share 0 "${bert[@]}" --steps 2 -o own >out 2>err || fail "train on own labels: $(<err)"
printf '{"text": "A film.", "label": %s}\n' 0 '"good"' >own.jsonl
ends 6 'own.jsonl:2: "label" is "good"' train --resume own --steps 3
printf '{"text": "A film.", "label": %s}\n' 1 0 >own.jsonl
ends 2 "data are not those" train --resume own --steps 3
ends 2 "--data cannot change when a run goes on; --force allows it" train --resume own --steps 3 --data documented/reviews.jsonl
"$program" train --resume own --steps 3 --force >out 2>err || fail "--force: $(<err)"
"$program" train --resume own --steps 4 --force --seed 7 --data documented/reviews.jsonl >out 2>err || fail "--force --data: $(<err)"
grep -q "24 examples" out && grep -q reviews.jsonl own/latest/training.json || fail "--force --data reads them: $(<out)"
gives '"steps": 5' train --resume own --steps 5 --json

# A new output layer beside the weights of a folder, which stay without a step; a pooler that is missing is drawn, too.
cp -r "$models/bert" base-bert && cp -r "$models/vit" base-vit && cp -rL masked/latest base-masked
sed 's/16/32/g' see/preprocessor_config.json >base-vit/preprocessor_config.json
printf '{"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"], "vocab_size": 1000, "dim": 16, "n_layers": 1, "n_heads": 2,
    "hidden_dim": 16, "max_position_embeddings": 32}' >distilbert.json
printf '{"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "vocab_size": 1000, "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 34, "type_vocab_size": 1}' >roberta.json
for model in distilbert roberta; do
    "$program" train --config $model.json --data "$mini/valid.txt" --blank-lines "${bert[@]}" --steps 1 -o base >out 2>err || fail "train $model: $(<err)"
    cp -rL base/latest base-$model && rm -r base
done
printf '{"image": "a.png", "label": "%s"}\n' x y z >see/others.jsonl
printf '{"text": "A film.", "label": "%s"}\n' a b >own2.jsonl
printf '{"text": "A film.", "label": "%s"}\n' bad good fine >own3.jsonl
for new in bert:bad,good,fine:own3.jsonl masked:a,b:own2.jsonl vit:x,y,z:see/others.jsonl distilbert:a,b:own2.jsonl roberta:a,b,c:own2.jsonl; do
    IFS=: read -r from names data <<<"$new"
    "$program" finetune -m "base-$from" --labels "$names" --data "$data" --eval-share 0 --batch-tokens 64 --lr 1e-30 --weight-decay 0 --steps 1 -o "new-$from" >out 2>err || fail "--labels, $from: $(<err)"
    "$program" train --resume "new-$from" --steps 2 >out 2>err || fail "--labels --resume, $from: $(<err)"
done
gives '"fine"' classify -m new-bert/latest -p "A film." --json
gives '"z"' classify -m new-vit/latest --image see/a.png --json
"$program" embed -q -m base-distilbert -p "A film." --save was.safetensors && "$program" embed -q -m new-distilbert/latest -p "A film." --save is.safetensors || fail "embed"
check "the other weights stay" cmp <(tail -c 64 was.safetensors) <(tail -c 64 is.safetensors)
ends 2 "at least two different names" finetune -m "$models/bert" --labels a,a --data own2.jsonl -o refused
ends 1 "cannot get an output layer" finetune -m "$models/gpt2" --labels a,b --data own2.jsonl -o refused
ends 2 "train without LoRA" finetune -m "$models/bert" --labels a,b --lora --data own2.jsonl -o refused
ends 6 '"label" is "a"' finetune -m "$models/bert" --labels b,c --data own2.jsonl -o refused
printf '{"text": "A film.", "label": %s}\n' 1 2 >stars.jsonl
ends 6 'wanted the name "1" in quotes' finetune -m "$models/bert" --labels 1,2,3 --data stars.jsonl -o refused
ends 2 "is in ., whose files are read as data" train --resume own --steps 6 --force --data .

# ---- a run ----------------------------------------------------------------------------------------------------------

learn --steps 5 --sample-every 2 --prompt "The dog" --save-every 2 --keep 2 --eval-every 0 -o run >out 2>err || fail "train: $(<err)"
for text in "parameters" "validation" "result" "vantage run -m run/best"; do
    grep -q -- "$text" out || fail "train says $text: $(<out)"
done
[[ $(ls run) == $'best\nlatest\nlog.jsonl\nloss.png\nloss.svg\nrun.json\nsamples.txt\nstep-000004\nstep-000005' ]] || fail "files of a run: $(ls run)"
(($(grep -c '^== step' run/samples.txt) == 3)) || fail "samples before the first step and after 2 and 4"
[[ $(readlink run/latest) == step-000005 ]] || fail "latest: $(readlink run/latest)"
gives '"steps": 2' train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" --steps 2 --json -o json
logged=$(sed 's/.*"step":\([0-9]*\).*/\1/' run/log.jsonl | tr '\n' ' ')
[[ $logged == "0 1 2 3 4 4 " ]] || fail "steps of log.jsonl: $logged"

# The same run, killed and resumed, from another folder and several times: the same model to the last bit.
learn --steps 12 --eval-every 4 --save-every 4 -o whole >out 2>err || fail "train: $(<err)"
begin learn --steps 12 --eval-every 4 --save-every 4 --keep 1 -o stopped
until_true test -e stopped/step-000004/training.json
kill -KILL -- "-$job" 2>/dev/null
wait "$job" 2>/dev/null
mkdir -p stopped/step-000008 # as a damaged one
(cd whole && "$program" train --resume ../stopped/ --minutes 0.0001) >out 2>err || fail "train --resume after SIGKILL: $(<err)"
if [[ ! -e stopped/step-000012 ]]; then
    "$program" train --resume stopped >out 2>err || fail "train --resume again: $(<err)"
fi
(($(ls -d stopped/step-* | wc -l) == 1)) || fail "--keep 1 after --resume: $(ls stopped)"
logged=$(grep '"loss"' stopped/log.jsonl | sed 's/.*"step":\([0-9]*\).*/\1/' | tr '\n' ' ')
[[ $logged == "0 1 2 3 4 5 6 7 8 9 10 11 " ]] || fail "steps of a run that was killed: $logged"
check "SIGKILL and --resume" cmp whole/latest/model.safetensors stopped/latest/model.safetensors
check "SIGKILL and --resume: optimiser" cmp whole/latest/training.safetensors stopped/latest/training.safetensors

# Early ends.
learn --steps 40 --eval-every 1 --patience 2 --lr 1e-30 -o patient >out 2>err || fail "--patience: $(<err)"
grep -q 'no better validation loss in 2 evaluations' out || fail "--patience: $(<out)"
[[ $(readlink patient/best) == step-000001 && $(readlink patient/latest) == step-000003 ]] || fail "--patience leaves $(ls -l patient)"
cp patient/log.jsonl log-of-patient
(cd patient && "$program" train --resume step-000003) >out 2>err || fail "--resume of a run that ended: $(<err)"
[[ $(<out) == *"no better validation loss in 2 evaluations"*"result  loss "[0-9]* && $(ls -d patient/step-*) == $'patient/step-000001\npatient/step-000003' ]] ||
    fail "--resume of a run that ended: $(<out), $(ls patient)"
check "--resume of a run that ended logs nothing" cmp log-of-patient patient/log.jsonl
learn --epochs 0.01 --eval-every 0 -o epochs >out 2>err || fail "--epochs: $(<err)"
learn --steps 100000 --minutes 0.0001 -o minutes >out 2>err || fail "--minutes: $(<err)"
grep -q "^ended *0.0001 minutes are over" out || fail "--minutes: $(<out)"

# Options of the optimiser reach the run.
rates() { sed -n 's/.*"rate":\([^,]*\).*/\1/p' "$1/log.jsonl" | awk '{ printf "%.3e ", $1 }'; }
# set_to FILE FIELD…: each is in training.json
set_to() {
    local file=$1/latest/training.json field
    shift
    for field in "$@"; do grep -qF "$field" "$file" || fail "$field is not in $file: $(<"$file")"; done
}
learn --steps 4 --optimizer adam --beta1 0.8 --beta2 0.9 --eps 1e-6 --z-loss 1e-3 --lr 1e-2 --lr-floor 1e-3 --precision f16 --loss-scale 1024 --profile - -o adam >out 2>err || fail "options of adam: $(<err)"
set_to adam '"optimizer": "adam"' '"beta1": 0.8' '"beta2": 0.9' '"eps": 1e-06' '"z_loss": 0.001' '"rate_floor": 0.001' '"loss_scale": 1024.0'
[[ $(rates adam) == "5.000e-03 1.000e-02 5.500e-03 1.000e-03 " ]] || fail "--lr-floor: $(rates adam)"
if ! grep -q "does not support timestamps" err; then
    for op in matmul attention_backward adam all; do grep -q "^$op " err || fail "train --profile - without $op: $(<err)"; done
fi
for schedule in "linear 5.000e-31 1.000e-30 5.000e-31 0.000e+00" "inverse_sqrt 5.000e-31 1.000e-30 8.165e-31 7.071e-31" "noam 8.839e-32 1.768e-31 1.443e-31 1.250e-31"; do
    read -r name want <<<"$schedule"
    learn --steps 4 --schedule "$name" --lr 1e-30 --optimizer sgd --momentum 0.5 --nesterov --overfit -o "$name" >out 2>err || fail "--schedule $name: $(<err)"
    set_to "$name" '"optimizer": "sgd"' '"momentum": 0.5' '"nesterov": true' '"overfit": true' "\"schedule\": \"$name\""
    [[ $(rates "$name") == "$want " ]] || fail "--schedule $name: $(rates "$name")"
    # the first batch again and again, by parameters that stay
    (($(grep -o '"loss":[^,]*' "$name/log.jsonl" | sort -u | wc -l) == 1)) || fail "--overfit: $(<"$name/log.jsonl")"
done
# The norms of the blocks make up that of all gradients.
sed -n 's/.*{"h.0":\([^,]*\),"others":\([^}]*\)}.*"norm":\([^,]*\).*/\1 \2 \3/p' adam/log.jsonl |
    awk '{ d = sqrt($1 * $1 + $2 * $2) / $3 - 1; if (d > 1e-4 || d < -1e-4) exit 1 } END { if (NR != 4) exit 1 }' || fail "block_norms: $(<adam/log.jsonl)"

# The best checkpoint stays, whatever --keep says: here the model learns one sentence by heart, and of others less and
# less.
printf 'The dog saw the cat.\n%.0s' {1..60} >heart.txt
# lowest FOLDER: the checkpoint of a run's lowest evaluation.
lowest() {
    paste <(sed -n 's/.*"eval":\([^,}]*\).*/\1/p' "$1/log.jsonl") <(sed -n '/"eval"/s/.*"step":\([0-9]*\).*/\1/p' "$1/log.jsonl") |
        sort -g | awk 'NR == 1 { printf "step-%06d", $2 + 1 }'
}
for keep in 1 3; do
    "$program" train --data heart.txt --eval-data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" --lr 3e-2 --schedule constant \
        --steps 60 --eval-every 4 --eval-sequences 8 --save-every 0 --keep $keep -o "heart-$keep" >out 2>err || fail "a model that learns by heart: $(<err)"
    best=$(readlink "heart-$keep/best")
    [[ $best == "$(lowest "heart-$keep")" && $best != step-000060 && $(readlink "heart-$keep/latest") == step-000060 ]] ||
        fail "--keep $keep: best is $best, but the lowest loss is that of $(lowest "heart-$keep"): $(ls "heart-$keep")"
    for link in best latest; do check "heart-$keep/$link" test -s "heart-$keep/$link/model.safetensors"; done
    grep -q "^best .*after step $((10#${best#step-}))$" out && grep -q "vantage run -m heart-$keep/best" out || fail "the best checkpoint is named: $(<out)"
done
(($(ls -d heart-1/step-* | wc -l) == 2)) || fail "--keep 1 and the best: $(ls heart-1)"
# A run that goes on knows it, also where its link was lost. A complete run gets its links back.
best=$(readlink heart-1/best)
gives "\"best\": \"heart-1/$best\"" train --resume heart-1 --steps 62 --eval-sequences 8 --json
grep -q '"best_eval": [0-9]' out || fail "the best evaluation is in the result: $(<out)"
best=$(readlink heart-3/best)
ln -sfn step-999999 heart-3/best
gives "\"best\": \"heart-3/$best\"" train --resume heart-3 --steps 61 --eval-sequences 0 --json
[[ $(readlink heart-3/best) == "$best" ]] || fail "a link that points to nothing: $(ls -l heart-3)"
for link in best latest; do ln -sfn step-999999 heart-3/$link; done
ends 2 "complete after 61 steps" train --resume heart-3
[[ $(readlink heart-3/best) == "$best" && $(readlink heart-3/latest) == step-000061 ]] || fail "links of a complete run: $(ls -l heart-3)"
# Evaluations of other sequences are not compared.
gives '"best": "heart-3/step-000062"' train --resume heart-3 --steps 62 --eval-sequences 4 --json

# Ctrl-C saves and says how to go on.
begin learn --steps 100000 -o interrupted
until_true test -s interrupted/log.jsonl
code=0
kill -INT -- "-$job"
wait "$job" || code=$?
((code == 130)) || fail "Ctrl-C: exit code $code: $(<err)"
grep -q 'saved interrupted/step-0.*vantage train --resume interrupted' err || fail "Ctrl-C says how to go on: $(<err)"
step=$(sed 's/.*step-0*//' <<<"$(readlink interrupted/latest)")
gives '"steps": '$((step + 1)) train --resume interrupted --steps $((step + 1)) --json

# ---- adapters --------------------------------------------------------------------------------------------------------

tune() { "$program" finetune -m run/latest --data "$mini/valid.txt" --blank-lines --context 16 --batch-tokens 64 "$@"; }
tune --lora --steps 6 --save-every 3 --eval-every 0 -o lora >out 2>err || fail "finetune --lora: $(<err)"
grep -q -- "vantage run -m run/latest --lora lora/best" out || fail "finetune --lora says how to try: $(<out)"
[[ $(ls lora/latest) == $'adapter_config.json\nadapter_model.safetensors\ntraining.json\ntraining.safetensors' ]] || fail "files of adapters: $(ls lora/latest)"
check "the best adapters" test -s lora/best/adapter_model.safetensors
grep -q '"r": 16' lora/latest/adapter_config.json || fail "--lora has rank 16: $(<lora/latest/adapter_config.json)"
mkdir half && cp -r lora/step-000003 half && ln -s step-000003 half/latest && cp lora/log.jsonl half
gives '"steps": 6' train --resume half --json
check "adapters are resumed exactly" cmp half/latest/adapter_model.safetensors lora/latest/adapter_model.safetensors
base=$("$program" run -m run/latest -p "The dog" -n 8 --temp 0)
gives '"lora": "lora/latest"' merge -m run/latest --lora lora/latest -o whole-model --json
with=$("$program" run -m run/latest --lora lora/latest -p "The dog" -n 8 --temp 0 --precision f32)
merged=$("$program" run -m whole-model -p "The dog" -n 8 --temp 0 --precision f32)
[[ $with == "$merged" ]] || fail "merged adapters give the same text: $with; $merged; base: $base"
echo "{% for m in messages %}{{ m['content'] }}{% endfor %}" >plain.jinja
"$program" chat -m run/latest --lora lora/latest --template plain.jinja -n 2 <<<"Hi" >out 2>err || fail "chat --lora: $(<err)"
"$program" view -m run/latest --lora lora/latest --headless -p "The dog" -n 2 --png view.png >out 2>err || fail "view --lora: $(<err)"
tune --lora=2 --lora-alpha 4 --lora-targets c_attn,c_proj --rslora --lora-dropout 0.5 --steps 1 -o narrow >out 2>err || fail "finetune --lora=2: $(<err)"
grep -A3 '"target_modules"' narrow/latest/adapter_config.json | tr -d ' \n' | grep -q '"target_modules":\["c_attn","c_proj"\]' || fail "targets: $(<narrow/latest/adapter_config.json)"
"$program" finetune -m narrow/latest --data "$mini/valid.txt" --blank-lines --context 16 --batch-tokens 64 --lora-dropout 0.25 --steps 1 -o further >out 2>err || fail "finetune --lora-dropout: $(<err)"
for run in narrow:0.5 further:0.25; do
    grep -q "\"lora_dropout\": ${run#*:}" "${run%:*}/latest/adapter_config.json" || fail "dropout of $run: $(<"${run%:*}/latest/adapter_config.json")"
done
cp -rL lora/latest dora && sed -i 's/"use_dora": false/"use_dora": true/' dora/adapter_config.json
cp -rL lora/latest other && sed -i 's/"r": 16/"r": 8/' other/adapter_config.json
ends 1 "use_dora" run -m run/latest --lora dora -p "The dog"
ends 6 'adapter_config.json wants [8, ' run -m run/latest --lora other -p "The dog"
ends 6 "adapter_config.json" run -m run/latest --lora nowhere -p "The dog"
ends 6 "wants" run --lora lora/latest -p "The dog"
ends 6 "whole-model" merge -m run/latest --lora lora/latest -o whole-model
# A weight of the model that has no adapter, and is not finite.
cp -r run/latest/. unlucky
size=$(stat -c %s unlucky/model.safetensors) && printf '\377\377\377\377' | dd of=unlucky/model.safetensors bs=1 seek=$((size - 4)) conv=notrunc status=none
ends 6 "is not finite" merge -m unlucky --lora lora/latest -o unlucky-merged
[[ ! -e unlucky-merged ]] || fail "a refused merge leaves a folder"
ends 2 "--lora" finetune -m run/latest --data "$mini/valid.txt" --lora-alpha 4 -o refused
ends 2 "--lora-dropout needs --lora" finetune -m run/latest --data "$mini/valid.txt" --lora-dropout 0.1 -o refused
ends 2 "LoRA" finetune -m run/latest --data "$mini/valid.txt" --blank-lines --context 16 --weights q8 -o refused
ends 2 "c_attn, c_fc, c_proj" finetune -m run/latest --data "$mini/valid.txt" --blank-lines --context 16 --lora --lora-targets q_proj -o refused

# ---- what is refused ------------------------------------------------------------------------------------------------

text=(train --tokenizer "$tokenizer" "${small[@]}" --steps 2 -o refused)
printf 'one document\n' >short.txt
printf '{"text": "good"}\n{"text": 3}\n' >bad.jsonl
printf '\x01\x02\x03' >odd.bin
ends 2 "--data" "${text[@]}"
ends 2 "-o" train --data "$mini/valid.txt" --tokenizer "$tokenizer"
ends 2 "--tokenizer" train --data "$mini/valid.txt" -o refused
ends 2 "--resume run" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" -o run
mkdir begun && echo '{"step":0,"loss":1}' >begun/log.jsonl
ends 2 "begun has a run that ended before its first checkpoint" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" -o begun
: >begun/log.jsonl
gives '"steps": 1' train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" --steps 1 --json -o begun
ends 6 "missing.txt" "${text[@]}" --data missing.txt
ends 6 "bad.jsonl:2" train --tokenizer "$tokenizer" "${small[@]:1}" --steps 2 -o refused --data bad.jsonl --strict-data
ends 6 "odd.bin" train --vocab 100 "${small[@]:1}" --data odd.bin -o refused
ends 2 "short.txt" "${text[@]}" --data short.txt
ends 2 "--sample-every" "${text[@]}" --data "$mini/valid.txt" --sample-every 1
ends 2 "0 or more" "${text[@]}" --data "$mini/valid.txt" --eval-sequences -1
ends 2 "1 or more" "${text[@]}" --data "$mini/valid.txt" --keep 0
ends 2 "load_balance is 0.1, but gpt2 has no experts" "${text[@]}" --data "$mini/valid.txt" --load-balance 0.1
ends 2 "--epochs" "${text[@]}" --data "$mini/valid.txt" --epochs 1e300
ends 2 "--patience 2 needs evaluations: there are no validation data" "${text[@]}" --data "$mini/valid.txt" --eval-share 0 --patience 2
ends 2 "--patience 2 needs evaluations: give --eval-every" "${text[@]}" --data "$mini/valid.txt" --eval-every 0 --patience 2
ends 2 "--lr cannot change" train --resume whole --lr 1
ends 6 "no folder" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" -o short.txt
ends 2 "--heads" "${text[@]}" --data "$mini/valid.txt" --heads 3
ends 2 "a loss scale is of f16" "${text[@]}" --data "$mini/valid.txt" --loss-scale 8
ends 2 "floor at most the rate" "${text[@]}" --data "$mini/valid.txt" --lr-floor 1
ends 2 "schedule" "${text[@]}" --data "$mini/valid.txt" --schedule square
label() { printf '%s\n' "$1" >label.jsonl; }
examples=(train --config labels.json "${bert[@]}" --steps 2 -o refused --data label.jsonl)
label '{"text": "the", "label": 2}' && ends 6 'label.jsonl:1: "label" is 2' "${examples[@]}"
label '{"text": "the", "label": "good"}' && ends 6 "negative, positive" "${examples[@]}"
label '{"text": "", "label": 1}' && ends 6 'label.jsonl:1: "text" is ""' "${examples[@]}"
label '{"text": "the"}' && ends 6 'label.jsonl:1: "label" is missing' "${examples[@]}"
label '{"text": "the", "label": 1}' && ends 2 'label.jsonl: all examples to learn from have the label positive' "${examples[@]}"
ends 2 "bert learns from labels, a sequence each" "${examples[@]}" --separate-documents
for problem in multi_label_classification regression; do
    sed "s/\"vocab_size\"/\"problem_type\": \"$problem\", &/" labels.json >others.json
    ends 1 "labels that do not exclude one another" train --config others.json --data label.jsonl "${bert[@]}" -o refused
done
printf '{"image": "none.png", "label": 1}\n' >see/missing.jsonl
ends 6 "missing.jsonl:1: " train --config see/config.json --data see/missing.jsonl -o refused
head -c 200 see/a.png >see/broken.png
printf '{"image": "broken.png", "label": 1}\n' >see/broken.jsonl
ends 6 "broken.jsonl:1: " train --config see/config.json --data see/broken.jsonl -o refused
ends 1 "ForMaskedLM" train --config tokens.json "${bert[@]}" -o refused --data label.jsonl
ends 2 "sample-every" "${examples[@]}" --sample-every 1
ends 2 "complete after 12 steps" train --resume whole
ends 6 "no checkpoint" train --resume "$scratch"
ends 2 "auto, none, cheap" "${text[@]}" --data "$mini/valid.txt" --recompute most
ends 2 "--memory" "${text[@]}" --data "$mini/valid.txt" --memory 1X
ends 2 "expected a size such as 6G, got -1" "${text[@]}" --data "$mini/valid.txt" --memory=-1
ends 4 "a smaller model takes less" "${text[@]}" --data "$mini/valid.txt" --memory 64K
mkdir -p texts && cp "$mini/valid.txt" texts
ends 2 "is in texts, whose files are read" train --data texts --tokenizer "$tokenizer" "${small[@]}" -o texts/out
# a checkpoint that was copied elsewhere: the files beside it are somebody's
mkdir -p project && cp -r whole/latest/ project/model && echo mine | tee project/log.jsonl >project/loss.png
ends 2 "not in the folder of its run" train --resume project/model --steps 20
[[ $(cat project/log.jsonl project/loss.png) == $'mine\nmine' && $(ls project | wc -l) == 3 ]] || fail "a stranger's files: $(ls project)"
code=0
learn --steps 3 --lr 1e25 --optimizer sgd --max-grad-norm 0 -o lost >out 2>err || code=$?
[[ $code == 7 && $(<err) == *"not finite: the first such result is that of node h.0."*", NaN at element "* ]] || fail "a loss that is not finite: $code, $(<err)"
ends 2 "ended before its first checkpoint" train --data "$mini/valid.txt" --tokenizer "$tokenizer" "${small[@]}" -o lost
learn --steps 4 --dropout 0.1 --attention-dropout 0.1 --recompute 1 --precision f16 -o "all of it" >out 2>err || fail "options: $(<err)"
grep -q "cheap activations and those of 1 block are recomputed" out && grep -q "run -m 'all of it/best'" out || fail "options: $(<out)"
learn --steps 1 --eval-share 0 --eval-every 1 -o unmeasured >out 2>err || fail "--eval-every without data: $(<err)"
(($(grep -c -- "--eval-every 1 does nothing: there are no validation data" err) == 1)) || fail "--eval-every without data says: $(<err)"
learn --steps 1 --eval-share 0 -o silent >out 2>err || fail "no validation data: $(<err)"
[[ ! -s err && ! -e silent/best ]] || fail "no validation data: $(<err)"
ends 6 "log.jsonl" train --compare "$scratch"
# Losses of 2 + 3 / √tokens: a law over three runs, its floor over four; two have none.
for tokens in 100 400 2500 10000; do
    mkdir "$scratch/run-$tokens"
    printf '{"step": 0, "loss": 9, "norm": 1, "rate": 1, "tokens": %s}\n{"step": 0, "eval": %s}\n' "$tokens" \
        "$(awk "BEGIN { print 2 + 3 / sqrt($tokens) }")" >"$scratch/run-$tokens/log.jsonl"
done
gives "loss by tokens: 2.0000 + 3 · D^-0.500, off by" train --compare "$scratch"/run-{100,400,2500,10000}
gives '"laws": []' train --json --compare "$scratch"/run-{100,400}
gives '"of": "tokens"' train --json --compare "$scratch"/run-{100,400,2500}
[[ ! -e refused ]] || fail "what is refused leaves a folder"
exit $((failures > 0))
