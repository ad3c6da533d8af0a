#!/usr/bin/env bash
# How the program ends when a model folder, a prompt, an output or the device is bad: one line on stderr, the right
# code.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

# ends CODE TEXT COMMAND…: the command ends with CODE and one line on stderr that has each of TEXT's words joined by *.
ends() {
    local code=$1 text=$2 got=0 lines
    shift 2
    "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
    lines=$(wc -l <"$scratch/err")
    # shellcheck disable=SC2053  # a pattern
    if ((got != code || lines != 1)) || [[ $(<"$scratch/err") != *$text* ]]; then
        printf 'FAILED: %s\n  wanted %s and one line with "%s"\n  got %s and %s lines: %s\n' "$*" "$code" "$text" "$got" "$lines" "$(<"$scratch/err")"
        failures=$((failures + 1))
    fi
}

# spoiled MODEL: a fresh copy of one of the oracle's models in $folder.
spoiled() {
    folder=$scratch/model
    chmod -R u+w "$folder" 2>/dev/null
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$models/$1"/{config.json,tokenizer.json,*.safetensors*} "$folder"
    rm -f "$folder"/expected*
    chmod -R u+w "$folder"
}
# config KEY VALUE: the same config with one value changed.
config() { sed -i "s/\"$1\": [^,]*/\"$1\": $2/" "$folder/config.json"; }
# rename OLD NEW: other bytes of the same length in the weights, their header among them.
rename() { LC_ALL=C sed -i "s/$1/$2/" "$folder/model.safetensors"; }
runs() { ends "$1" "$2" "$program" run -m "$folder" -p "The" -n 2 -q; }

# ---- model folders ---------------------------------------------------------------------------------------------------

spoiled gpt2
"$program" run -m "$folder" -p "The" -n 2 -q >/dev/null || { echo "FAILED: the model as it is does not run"; failures=$((failures + 1)); }

folder=$scratch/nowhere
runs 6 "nowhere: no such folder"
mkdir "$scratch/empty" && folder=$scratch/empty
runs 6 "empty/config.json"

spoiled gpt2 && echo '{"model_type": ' >"$folder/config.json"
runs 6 "config.json: not JSON"
spoiled gpt2 && config model_type '"hyena"'
runs 6 "config.json: the architecture is \"hyena\", but supported are gpt2, gptj"
spoiled gpt2 && config n_layer 0
runs 6 'config.json: "n_layer" is 0, wanted an integer from 1'
spoiled gpt2 && config n_embd 99999999999
runs 6 'config.json: "n_embd" is 99999999999'
spoiled gpt2 && config n_head 5
runs 6 'config.json: "n_embd" is 48, which is not divisible by "n_head" 5'
spoiled llama && config num_key_value_heads 4
runs 6 '"num_attention_heads" is 6, which is not divisible by "num_key_value_heads" 4'
spoiled gpt2 && echo nonsense >"$folder/tokenizer.json"
runs 6 "tokenizer.json: not JSON"
spoiled gpt2 && sed -i 's/"type": *"BPE"/"type": "Magic"/' "$folder/tokenizer.json"
runs 6 "tokenizer.json"*"Magic"
spoiled gpt2 && rm "$folder/tokenizer.json"
runs 6 "tokenizer.json"

# ---- weights ---------------------------------------------------------------------------------------------------------

spoiled gpt2 && rm "$folder/model.safetensors"
runs 6 "model.safetensors"
spoiled gpt2 && rename 'transformer.ln_f.bias' 'transformer.ln_f.bjas'
runs 6 "model.safetensors: tensor transformer.ln_f.bias is missing"
spoiled gpt2 && rename '"transformer.h.0.mlp.c_fc.bias":{"dtype":"F32"' '"transformer.h.0.mlp.c_fc.bias":{"dtype":"I32"'
runs 6 "transformer.h.0.mlp.c_fc.bias is I32, wanted F32, F16 or BF16"
spoiled gpt2 && config n_layer 1
runs 6 "model.safetensors: tensor \"transformer.h.1."*"is not part of gpt2"
spoiled gpt2 && config n_inner 100
runs 6 "model.safetensors"*"F32 [[]"*"but config.json wants"
spoiled gpt2 && config vocab_size 1001
runs 6 "transformer.wte.weight is F32 [[]1000, 48], but config.json wants [[]1001, 48]"
spoiled gpt2 && truncate -s -100 "$folder/model.safetensors"
runs 6 "model.safetensors"
spoiled gpt2 && truncate -s 5 "$folder/model.safetensors"
runs 6 "model.safetensors"
spoiled gpt2 && printf '\377\377\377\377\377\377\377\177' | dd of="$folder/model.safetensors" conv=notrunc status=none
runs 6 "model.safetensors"*"header"
spoiled gpt2 && printf 'x' | dd of="$folder/model.safetensors" bs=1 seek=8 conv=notrunc status=none
runs 6 "model.safetensors"*"JSON"
spoiled llama_bf16 && rm "$folder/model-00002-of-00003.safetensors"
runs 6 "model-00002-of-00003.safetensors"

# ---- prompts, contexts, outputs --------------------------------------------------------------------------------------

spoiled gpt2
ends 2 "1000 is outside the vocabulary"*"999" "$program" inspect -m "$folder" --ids 1,1000
ends 2 "-1" "$program" inspect -m "$folder" --ids=-1
ends 2 "prompt" "$program" run -m "$folder" -p "" -n 2
[[ $("$program" run -m "$folder" -p "The" -n 010 --temp 0 2>/dev/null) == $("$program" run -m "$folder" -p "The" -n 10 --temp 0 2>/dev/null) ]] ||
    { echo "FAILED: -n 010 is not ten"; failures=$((failures + 1)); }
for option in --ui-scale --fps --speed --viewer-budget; do
    ends 2 "got nan" "$program" view --headless -m "$folder" "$option" nan
done
ends 2 "tokens do not fit the context of 3"*"make the context larger" "$program" run -m "$folder" -p "The quick brown fox jumps over the lazy dog" -c 3
ends 2 "tokens do not fit the context of 96" "$program" run -m "$folder" -p "$(printf 'fox %.0s' {1..200})"
ends 2 "the text has 40000 bytes, which cannot fit the context of 96"*"shorten it" "$program" run -m "$folder" -p - < <(head -c 40000 /dev/zero | tr '\\0' x)
ends 2 "the text has 40000 bytes" "$program" inspect -m "$folder" -p - < <(head -c 40000 /dev/zero | tr '\\0' x)
ends 1 "not UTF-8: byte 3 is 0xE9" "$program" --strict run -m "$folder" -p $'caf\xe9'
ends 2 '"" is not a token id' "$program" inspect -m "$folder" --ids 1,,2
ends 2 '"" is not a token id' "$program" inspect -m "$folder" --ids 1,2,
ends 2 "97 tokens"*"allows 96" "$program" run -m "$folder" -p "The" -c 97
ends 2 "do not fit the context of 96" "$program" explain -m "$folder" --tokens 96
ends 2 "temperature" "$program" run -m "$folder" -p "The" --temp -1
ends 6 "nowhere/out.safetensors" "$program" inspect -m "$folder" --ids 1,2 --save "$scratch/nowhere/out.safetensors"
ends 6 "config.json/out.safetensors" "$program" inspect -m "$folder" --ids 1,2 --save "$folder/config.json/out.safetensors"
ends 6 "model/config.json/trace.json" "$program" run -m "$folder" -p "The" -n 2 -q --profile "$folder/config.json/trace.json"
ends 6 "nowhere/ops.json" "$program" conform --cases "$scratch/nowhere"
ends 2 'unknown op "nonsense"; known: '*"attention"*"softmax" "$program" conform --op nonsense
ends 2 "unexpected"*"--help" "$program" run -p "The" unexpected
ends 2 "nosuch is not a command" "$program" nosuch --help-me
ends 2 "VANTAGE_VERBOSE=9999999999" env VANTAGE_VERBOSE=9999999999 "$program" run -m "$folder" -p "The" -n 1
ends 2 "repeat penalty" "$program" run -m "$folder" -p "The" -n 2 --repeat-penalty 1e-38
ends 2 "temperature" "$program" run -m "$folder" -p "The" -n 2 --temp inf
ends 2 "--show" "$program" tune --forget --show
ends 2 "--model" "$program" tune --shape gpt2-small -m "$folder"
# what a command writes is no input, and one file
cp "$folder/model.safetensors" "$scratch/before"
ends 2 "is a file of the model" "$program" inspect -m "$folder" --ids 1,2 --save "$folder/model.safetensors"
cp "$VANTAGE_ROOT/assets/models/mini-world/valid.txt" read.txt
ends 2 "is read by this command" "$program" data vocabulary read.txt --size 300 -o read.txt
ends 2 "is read by this command" "$program" run -m "$folder" --prompts read.txt -n 1 --profile ./read.txt
# … also what no option names, and in folders that a folder has
mkdir -p other deep/texts mine/models && cp "$folder"/* other
"$program" data tokenize read.txt --tokenizer "$folder/tokenizer.json" -o deep/texts/a.bin -q && cp deep/texts/a.bin before.bin
cp -r "$VANTAGE_ROOT/assets/models/mini-world" mine/models
ends 2 "other/tokenizer.json is a file of the model" "$program" view --headless -m "$folder" -p The -n 1 --compare model=other --save other/tokenizer.json -q
ends 2 "deep/texts/a.bin is in deep, whose files are read as data" "$program" data tokenize deep --tokenizer "$folder/tokenizer.json" -o deep/texts/a.bin -q
VANTAGE_ASSETS=mine ends 2 "mini-world/tokenizer.json is read by this command" "$program" run -p The -n 1 -q --profile mine/models/mini-world/tokenizer.json
for file in tokenizer.json config.json model.safetensors; do
    cmp -s "$folder/$file" "other/$file" && cmp -s "$VANTAGE_ROOT/assets/models/mini-world/$file" "mine/models/mini-world/$file" ||
        { echo "FAILED: $file was written to"; failures=$((failures + 1)); }
done
check "data that are read stay" cmp before.bin deep/texts/a.bin
ends 2 "into which this command writes pictures" "$program" view --headless -m "$folder" -p The -n 1 --frames frames --png frames/00001.png
for option in --temp --top-p --seed --top-k; do
    ends 2 "expected a number, got an empty text" "$program" run -m "$folder" -p The -n 1 "$option" ""
done
ends 2 "--tokens is 1048576, but the model has 256 positions" "$program" bench train --tokens 1048576 -b 256 --steps 1
printf 'The dog\n' >lines.txt
ln lines.txt linked.txt
ends 2 "lines.txt is read by this command" "$program" run -m "$folder" --prompts - -n 1 -q --profile lines.txt <lines.txt
ends 2 "linked.txt is read by this command" "$program" run -m "$folder" --prompts lines.txt -n 1 -q --profile linked.txt
check "prompts that are read stay" test "$(cat lines.txt)" = "The dog"
for command in inspect heads; do
    ends 2 "into which this command writes pictures" "$program" "$command" -m "$folder" -p The --png pictures --profile pictures/heads.png
    ends 2 "into which this command writes pictures" "$program" "$command" -m "$folder" -p The --png new/../pictures/ --profile pictures/heads.png
done
ends 2 "is in the folder of the run" "$program" train --data read.txt --tokenizer "$folder/tokenizer.json" -o run --profile run/run.json
for again in 1 2; do
    "$program" view --headless -m "$folder" -p The -n 1 --frames frames --apng frames/all.apng -q || { echo "FAILED: --apng in --frames, $again"; failures=$((failures + 1)); }
done
ends 2 "the same file" "$program" explain -m "$folder" --svg one.png --positions ./one.png
ends 2 "the same file" "$program" view --headless -m "$folder" -p The -n 1 --save a.npy --save a.npy.json
ends 2 "into which this command writes pictures" "$program" demo -p The -n 1 --profile vantage-demo/heads.png
ends 2 "is in deep, whose files are read as data" "$program" data vocabulary deep --size 300 -o deep/words.json
ends 2 "read.txt.trace is in ., whose files are read as data" "$program" train --data . --tokenizer "$folder/tokenizer.json" -o ../run --profile read.txt.trace
# no option is without effect
ends 2 "excludes" "$program" explain --kind rope --positions p.png --svg x.svg
ends 2 "must be even" "$program" explain --kind rope --positions p.png --width 0xb
ends 2 "excludes" "$program" train --data read.txt --config "$folder/config.json" --layers 2 -o run
ends 2 "excludes" "$program" train --compare run --data read.txt
ends 2 "excludes" "$program" train --data read.txt --steps 3 --epochs 1 -o run
ends 2 "excludes" "$program" tune --show --save table.json
ends 2 "excludes" "$program" bench model --quality --shape gpt2-small
ends 2 "--fps is for --apng" "$program" view --headless -m "$folder" -p The -n 1 --png p.png --fps 3
ends 2 "--viewer-budget is for the window" "$program" view --headless -m "$folder" -p The -n 1 --png p.png --viewer-budget 10
ends 2 "--heads has no effect on --kind rope" "$program" explain --kind rope --positions p.png --heads 3
ends 2 "--width has no effect on --kind t5" "$program" explain --kind t5 --positions p.png --width 64
ends 2 "--width has no effect on --kind alibi" "$program" explain --kind alibi --positions p.png --width 64
ends 2 "excludes" "$program" embed --word dog -p dog -p "a dog" --pooling cls
ends 2 "excludes" "$program" data show read.txt --tokenizer "$folder" --eval-data read.txt --eval-share 0.5
ends 2 "--max-answer is for models that answer questions" "$program" classify -m "$VANTAGE_ROOT/tests/data/oracle/models/bert" -p "w1 [MASK]" --max-answer 2
ends 2 "excludes" "$program" classify -m "$folder" --image cat.jpg --pair w1
ends 2 "--prompt is for --sample-every" "$program" train --data read.txt --tokenizer "$folder/tokenizer.json" --prompt The -o run2
ends 2 "--watch-every is for --watch" "$program" train --data read.txt --tokenizer "$folder/tokenizer.json" --watch-every 3 -o run2
: >ids.bin
ends 2 "--blank-lines is for texts" "$program" data check ids.bin --tokenizer "$folder" --blank-lines
ends 2 "--beta1 is for --optimizer adamw and adam" "$program" train --data read.txt --tokenizer "$folder/tokenizer.json" --optimizer sgd --beta1 0.5 -o run2
ends 2 "--nesterov is for" "$program" train --data read.txt --tokenizer "$folder/tokenizer.json" --optimizer sgd --nesterov -o run2
ends 2 "--lr-floor is for" "$program" train --data read.txt --tokenizer "$folder/tokenizer.json" --schedule linear --lr-floor 0.0001 -o run2
ends 6 "no chat template is there" "$program" data check read.txt --tokenizer "$folder" --chat-template nowhere
ends 6 "cannot write 'nowhere/trace'" "$program" run -m "$folder" -p The -n 1 --profile nowhere/trace
ends 2 "--weights is for --prompts" "$program" prune -m "$folder" --heads 0.0 --weights q4 -o pruned
ends 2 "--weights has no effect" "$program" bench train --weights q4
ends 2 "is a file of the model" "$program" inspect -m "$folder" --ids 1,2 --save "$folder/new.safetensors"
ends 2 "is a file of the model" "$program" view --headless -p a -n 1 --png p.png --compare "model=$folder" --save "$folder/config.json"
cp -r "$VANTAGE_ROOT/tests/data/lora/gpt2" adapters
ends 2 "is a file of the model" "$program" run -m "$folder" --lora adapters -p The -n 1 --profile adapters/adapter_config.json
ends 2 "--stable excludes --composition" "$program" heads --composition --stable
# what cannot be written or read is told before the work
for output in "inspect -p a --save $scratch/nowhere/x" "embed --word a -p a --chart $scratch/nowhere/x.png" "explain --svg $scratch/nowhere/x.svg"; do
    read -ra words <<<"$output"
    ends 6 "cannot "*"nowhere"* "$program" "${words[@]}"
done
ends 6 "no such file" "$program" heads --relations nowhere.conllu
ends 2 "no plan has a node" "$program" inspect -m "$folder" -p The --save early.safetensors --dump early --dump-node nonsense
[[ ! -e early.safetensors ]] || fail "a node that is not there is told after the pass"
# options without effect, and empty ones
ends 2 "--rollout has no place in CSV" "$program" heads -m "$folder" -p "The dog" --rollout --csv
ends 2 "--prompt: At Most 1" "$program" view --headless --png p.png -p A -p B
ends 2 "--max-difference" "$program" view --headless --png p.png -n 1 --max-difference 0.3
ends 2 "--repeats has no effect" "$program" bench ops --quick --repeats 9
ends 2 "--weights excludes --keys" "$program" bench view --keys 800 --weights q4
ends 2 "there is no cache directory" env -u HOME -u XDG_CACHE_HOME -u VANTAGE_CACHE_DIR "$program" tune -m "$folder" --quick --seconds 1
ends 2 "keeps no keys and values" "$program" run -m "$VANTAGE_ROOT/tests/data/oracle/models/mamba" -p "1 2" -n 1 --cache q8
ends 1 "does not read a cache in q8_0" "$program" run -m "$folder" -p The -n 1 --cache q8 --attention-kind linear
ends 2 "got -" "$program" data vocabulary read.txt --size 300 -o -
printf "The dog ran\n" >lines.txt
ends 2 "removes none" "$program" prune -m "$folder" --keep-fraction 0.999 --prompts lines.txt -o pruned
ends 2 "nothing says where" "$program" train --data ids.bin --vocab 300 --separate-documents -o run2
for empty in --mask-heads --stop --dump-node --type-ids; do
    command=inspect && [[ $empty == --stop ]] && command=run
    ends 2 "got an empty text" "$program" "$command" -m "$folder" -p The "$empty" ""
done
ends 2 "the same folder" "$program" inspect -m "$folder" -p The --png both --dump both --dump-node h.0.attention
ends 2 "is a file of the model" "$program" data tokenize read.txt --tokenizer "$folder" -o "$folder/model.safetensors"
ends 2 "--verbose=-1" env VANTAGE_VERBOSE=-1 "$program" devices
ends 2 "not bf16" "$program" bench model --quality --weights bf16
ends 6 "a table is added to a file" "$program" tune -m "$folder" --quick --seconds 1 --save /dev/full
ends 2 "expected WIDTHxHEIGHT" "$program" view --headless -m "$folder" -p The -n 1 --png p.png --size 4294967597x200
VANTAGE_IDS=1,2 "$program" inspect -m "$folder" -qp The >/dev/null || fail "a flag before -p in one word"
check "what is read stays" cmp read.txt "$VANTAGE_ROOT/assets/models/mini-world/valid.txt"
ends 2 "is a file of the model" "$program" run -m "$folder" -p "The" -n 2 --profile "$folder/../model/config.json"
cmp -s "$folder/model.safetensors" "$scratch/before" || { echo "FAILED: the model was written to"; failures=$((failures + 1)); }
ends 2 "the same file" "$program" inspect -m "$folder" --ids 1,2 --save "$scratch/same" --profile "$scratch/./same"

# ---- weights that are not finite -------------------------------------------------------------------------------------

# not_finite TENSOR: a NaN in the middle of a tensor of $folder, in f32.
not_finite() {
    local begin end
    read -r begin end < <(place "$folder/model.safetensors" "$1")
    printf '\0\0\300\177' | dd of="$folder/model.safetensors" bs=1 seek=$(((begin + end) / 8 * 4)) conv=notrunc status=none
}
spoiled gpt2 && not_finite transformer.h.1.mlp.c_fc.weight
for arguments in "run -p The -n 2 -q" "run -p The -n 2 -q --temp 1" "run -p The -n 2 -q --stable" "run -p The -p A -n 2 -q" \
    "inspect --ids 1,2" "heads --ids 1,2" "heads --composition" "prune --heads 0.0 -o pruned" "view --headless -p The -n 1 --png map.png"; do
    # shellcheck disable=SC2086  # words
    ends 6 "transformer.h.1.mlp.c_fc.weight: element "*" is not finite" "$program" ${arguments%% *} -m "$folder" ${arguments#* }
done
ends 6 "is not finite" "$program" chat -m "$folder" -q -n 2 --template chatml < <(echo Hello)
[[ ! -e pruned && ! -e map.png ]] || fail "something was made of weights that are not finite"
spoiled bert && not_finite bert.encoder.layer.1.output.dense.weight
ends 6 "is not finite" "$program" embed -m "$folder" -p Hello
ends 6 "is not finite" "$program" classify -m "$folder" -p "the [MASK]"

# ---- hostile names, pipes, limits ------------------------------------------------------------------------------------

# a name in the file may hold what controls the terminal: the first tensor that a smaller model has too many
spoiled gpt2 && config n_layer 1
rename 'transformer.h.1.attn.c_attn.bias' '\\u001bormer.h.1.attn.c_attn.bias'
runs 6 'tensor "\\u001bormer.h.1.attn.c_attn.bias" is not part of gpt2'
if grep -q $'\x1b' "$scratch/err"; then fail "a message has an escape sequence of a file"; fi
# or be long
spoiled gpt2
header=$(printf '{"%0100000d": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}' 0)
size=${#header}
printf "$(printf '\\x%x' $((size & 255)) $((size >> 8 & 255)) $((size >> 16)))\0\0\0\0\0%s\0\0\0\0" "$header" >"$folder/model.safetensors"
runs 6 ' is "F99", wanted one of: F64'
if (($(wc -c <"$scratch/err") > 600)); then fail "a message holds a whole name of 100 KB"; fi
# so may a path, which may turn the direction of writing, too
ends 6 'm\\x1b]0;x\\x202e\\xff' "$program" run -m $'m\e]0;x\xe2\x80\xae\xff' -p The
if grep -q -e $'\x1b' -e $'\xe2\x80\xae' -e $'\xff' "$scratch/err"; then fail "a message has an escape sequence of a path"; fi
for file in config.json tokenizer.json model.safetensors generation_config.json; do
    spoiled gpt2 && rm -f "$folder/$file" && mkfifo "$folder/$file"
    ends 6 "$file" timeout 300 "$program" run -m "$folder" -p "The" -n 2 -q
done
for file in chat_template.jinja tokenizer_config.json; do
    spoiled gpt2 && rm -f "$folder/$file" && mkfifo "$folder/$file"
    timeout 300 "$program" chat -m "$folder" -n 2 -q >/dev/null 2>"$scratch/err" <<<The
    check "a pipe as $file ends the program at once" test $? != 124
done
spoiled gpt2
mkfifo "$scratch/font"
VANTAGE_FONT=$scratch/font timeout 300 "$program" inspect -m "$folder" --ids 1,2 --png "$scratch/font.png" >/dev/null 2>"$scratch/err"
if [[ $? != 0 || $(<"$scratch/err") != *"font: cannot read this font"* ]]; then
    echo "FAILED: a pipe as a font: $(<"$scratch/err")"
    failures=$((failures + 1))
fi
mkfifo "$scratch/pipe"
ends 6 "nothing reads this pipe" timeout 300 "$program" inspect -m "$folder" --ids 1,2 --save "$scratch/pipe"
ends 2 "no prompt" timeout 300 "$program" run -m "$folder" --prompts "$scratch/pipe"
# caches that are no files are not used
mkdir -p "$scratch/odd/pipelines"
VANTAGE_CACHE_DIR=$scratch/odd "$program" run -m "$folder" -p "The" -n 2 -q >"$scratch/want" 2>"$scratch/err"
for kept in "$scratch"/odd/pipelines/*.bin; do
    for odd in pipe zeros; do
        rm "$kept"
        if [[ $odd == pipe ]]; then mkfifo "$kept"; else ln -s /dev/zero "$kept"; fi
        (VANTAGE_LOG=info VANTAGE_CACHE_DIR=$scratch/odd timeout 300 "$program" run -m "$folder" -p "The" -n 2) \
            >"$scratch/have" 2>"$scratch/err"
        cmp -s "$scratch/want" "$scratch/have" || { echo "FAILED: $odd as a cache: $(<"$scratch/err")"; failures=$((failures + 1)); }
        grep -q "is no regular file" "$scratch/err" || fail "$odd as a cache is read"
    done
done
# Without a real driver: some write files of their own to memory, and crash under the limit.
limited() { (ulimit -f 1 && VANTAGE_GUARD=0 VANTAGE_DEVICE='' VK_DRIVER_FILES=$VANTAGE_NULL_DEVICE VK_ICD_FILENAMES=$VANTAGE_NULL_DEVICE exec "$program" "$@"); }
ends 6 "big.safetensors" limited inspect -m "$folder" --ids 1,2,3,4 --save "$scratch/big.safetensors"
if compgen -G "$scratch/big.safetensors*" >/dev/null; then echo "FAILED: a part of big.safetensors stays"; failures=$((failures + 1)); fi
# assets are not taken from a folder that others may write to
mkdir -p "$scratch/shared/bin" "$scratch/shared/assets/models" && chmod o+w "$scratch/shared"
cp "$program" "$scratch/shared/bin/vantage" && cp -r "$folder" "$scratch/shared/assets/models/mini-world"
ends 6 "the built-in model was found neither" env -u VANTAGE_ASSETS "$scratch/shared/bin/vantage" tokenize <<<"The"
chmod o-w "$scratch/shared" && chmod o+w "$scratch/shared/assets"
ends 6 "the built-in model was found neither" env -u VANTAGE_ASSETS "$scratch/shared/bin/vantage" tokenize <<<"The"

# nor from further up than three folders: above a clean one
mkdir -p "$scratch/up/assets/models" "$scratch/up/a/b/bin" "$scratch/up/c/bin"
cp -r "$folder" "$scratch/up/assets/models/mini-world"
ln "$program" "$scratch/up/a/b/bin/vantage" 2>/dev/null || cp "$program" "$scratch/up/a/b/bin/vantage"
ln "$program" "$scratch/up/c/bin/vantage" 2>/dev/null || cp "$program" "$scratch/up/c/bin/vantage"
ends 6 "the built-in model was found neither" "$scratch/up/a/b/bin/vantage" tokenize <<<"The"
"$scratch/up/c/bin/vantage" tokenize <<<"The" >/dev/null || fail "assets three folders up are not found"

# standard streams that are closed: no file of the program gets their numbers
code=0
"$program" inspect -m "$folder" --ids 1,2 --save streams.safetensors <&- >&- 2>&- || code=$?
check "a closed stdout ends with 6 (got $code)" test $code = 6
bytes streams.safetensors hidden >/dev/null || fail "with closed streams the file is not whole"

# more than 1 GiB is refused, without reading it where that is known
truncate -s 1025M "$scratch/large"
ends 6 "standard input has more than 1073741824 bytes" "$program" tokenize <"$scratch/large"
ends 6 "standard input has more than 1073741824 bytes" "$program" run -m "$folder" -p - <"$scratch/large"
ends 6 "standard input has more than 1073741824 bytes" "$program" embed -m "$VANTAGE_ROOT/tests/data/oracle/models/bert" -p - <"$scratch/large"
ends 2 "expected a number, 0 or more, got -1" "$program" run -m "$folder" -p The -n -1
ends 6 "large': it has 1074790400 bytes, at most 1073741824" "$program" run -m "$folder" --prompts "$scratch/large"

# options by the environment: any command that has them writes files, too
VANTAGE_SAVE=$scratch/by-environment.safetensors "$program" inspect -m "$folder" --ids 1,2 >/dev/null ||
    { echo "FAILED: VANTAGE_SAVE"; failures=$((failures + 1)); }
for command in "inspect -m $folder --ids 1,2" "heads -m $folder -p The"; do  # what is typed excludes, or does not have what it needs
    # shellcheck disable=SC2086  # words
    VANTAGE_PROMPT=Once VANTAGE_SEED=5 "$program" $command >/dev/null 2>"$scratch/err" ||
        { echo "FAILED: $command with a prompt and a seed in the environment: $(<"$scratch/err")"; failures=$((failures + 1)); }
done
VANTAGE_LAYER=2 VANTAGE_HEAD=1 VANTAGE_STEPS=100 "$program" demo -n 1 -q >/dev/null 2>"$scratch/err" ||
    { echo "FAILED: demo with variables of its --steps: $(<"$scratch/err")"; failures=$((failures + 1)); }
by_variables=$(VANTAGE_PERMUTE=20 VANTAGE_SEED=1 "$program" heads -m "$folder" -p "The dog" --json)
if [[ $by_variables != "$("$program" heads -m "$folder" -p "The dog" --json --permute 20 --seed 1)" ]]; then echo "FAILED: a variable that needs another one"; failures=$((failures + 1)); fi
if [[ ! -s $scratch/by-environment.safetensors ]]; then echo "FAILED: VANTAGE_SAVE wrote nothing"; failures=$((failures + 1)); fi

# values that an option would silently change
ends 2 "--seed"*"an integer from 0 on"*"-1" "$program" run -m "$folder" -p "The" --seed -1
ends 2 "--seed"*"18446744073709551616" "$program" run -m "$folder" -p "The" --seed 18446744073709551616
ends 2 "--n-predict"*"99999999999999999999" "$program" run -m "$folder" -p "The" -n 99999999999999999999
ends 2 "--save"*"the name of a file" "$program" inspect -m "$folder" --ids 1,2 --save ""
ends 2 "--png"*"the name of a file" "$program" inspect -m "$folder" --ids 1,2 --png ""

# ---- devices ---------------------------------------------------------------------------------------------------------

ends 3 "driver" env VK_DRIVER_FILES="$scratch/nowhere" VK_ICD_FILENAMES="$scratch/nowhere" "$program" run -m "$folder" -p "The"
for text in "$(printf '%200000s' "" | tr ' ' '[')" "garbage" "[]" ""; do
    printf '%s' "$text" >"$scratch/driver.json"
    for variable in VK_DRIVER_FILES VK_ICD_FILENAMES VK_ADD_DRIVER_FILES; do
        ends 3 "$variable names no Vulkan driver" env "$variable=$scratch/driver.json" "$program" run -m "$folder" -p "The"
    done
done
mkdir "$scratch/drivers" && printf '%200000s' "" | tr ' ' '[' >"$scratch/drivers/driver.json"
ends 3 "VK_DRIVER_FILES names no Vulkan driver" env VK_DRIVER_FILES="$scratch/drivers" "$program" run -m "$folder" -p "The"
rm "$scratch/driver.json" && mkfifo "$scratch/driver.json"
ends 3 "names no Vulkan driver" env VK_DRIVER_FILES="$scratch/driver.json" timeout 300 "$program" run -m "$folder" -p "The"
# a loader without its functions
mkdir "$scratch/lib" && cp "${VANTAGE_NULL_DEVICE%/*}"/libvantage_null_device.so "$scratch/lib/libvulkan.so.1"
ends 3 "libvulkan.so.1 is no Vulkan loader" env LD_LIBRARY_PATH="$scratch/lib" "$program" run -m "$folder" -p "The"
ends 2 "names no device" "$program" run -m "$folder" -p "The" --device vulkan:99
ends 4 "out of device memory: "*" needs "*" are available" env VANTAGE_FAULT=allocate:3:out_of_memory "$program" run -m "$folder" -p "The" -q
ends 4 "out of device memory: " env VANTAGE_FAULT=allocate:28:out_of_memory "$program" run -m "$folder" -p "The" -q
ends 5 "DEVICE_LOST" env VANTAGE_FAULT=submit:8:device_lost "$program" run -m "$folder" -p "The" -q
ends 5 "DEVICE_LOST" env VANTAGE_FAULT=wait:12:device_lost "$program" run -m "$folder" -p "The" -n 60 -q
ends 5 "VANTAGE_TIMEOUT" env VANTAGE_FAULT=wait:12:timeout "$program" run -m "$folder" -p "The" -n 60 -q
# whichever thread meets it, and whichever thread's error is shown
for nth in 1 2 3 5; do
    ends 5 "VANTAGE_TIMEOUT" env VANTAGE_FAULT=wait:$nth:timeout "$program" run -m "$folder" -p "The" -n 60 -q
done
ends 5 "DEVICE_LOST" env VANTAGE_FAULT=submit:8:device_lost "$program" conform --op softmax

# wherever it strikes: the right code, or no harm done (a cache file that is not written)
for nth in $(seq 3 7 80); do
    for fault in out_of_memory device_lost; do
        code=0 wanted=4
        [[ $fault == device_lost ]] && wanted=5
        VANTAGE_FAULT=any:$nth:$fault timeout 300 "$program" run -m "$folder" -p "The" -n 3 -q >/dev/null 2>"$scratch/err" || code=$?
        if ((code != wanted && code != 0)) || (($(wc -l <"$scratch/err") != (code != 0))); then
            echo "FAILED: VANTAGE_FAULT=any:$nth:$fault ends with $code: $(<"$scratch/err")"
            failures=$((failures + 1))
        fi
    done
done

exit $((failures > 0))
