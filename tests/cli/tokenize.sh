#!/usr/bin/env bash
# `vantage tokenize`: byte for byte there and back, JSON, and how it ends when something is wrong.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
data=$VANTAGE_ROOT/tests/data/oracle/tokenizers
gpt2=$data/gpt2_bytebpe/tokenizer.json
llama=$data/llama_sp_bpe/tokenizer.json

# expect CODE TEXT COMMAND…: the command, given $input, ends with CODE, and what it prints (both streams) has TEXT.
input=
expect() {
    local code=$1 text=$2 output got=0
    shift 2
    output=$("$@" < <(printf '%b' "$input") 2>&1) || got=$?  # not by a pipe: not every command reads to the end
    if ((got != code)) || [[ $output != *"$text"* ]]; then fail "$*"$'\n'"  wanted $code with \"$text\""$'\n'"  got $got: $output"; fi
}

# ids FILE TOKENIZER: the ids of a file's bytes, as a JSON list.
ids() { "$program" tokenize --json --tokenizer "$2" <"$1" | sed 's/.*"ids":\(\[[^]]*\]\).*/\1/'; }

# Every byte there and back: NUL, no newline at the end, several, none at all.
for text in 'Hello, world' 'a\n' '\n\n' '\0nul\0' '' ' two  spaces ' 'caf\xc3\xa9 \xf0\x9f\x98\x80\r\n'; do
    printf '%b' "$text" >"$scratch/in"
    for tokenizer in "$gpt2" "$llama"; do
        ids "$scratch/in" "$tokenizer" | "$program" tokenize --decode --tokenizer "$tokenizer" >"$scratch/out" || fail "decode $text"
        cmp -s "$scratch/in" "$scratch/out" || fail "there and back: $text with $tokenizer"
    done
done

# The text a special token encodes to, with and without it.
input='<s>a'
expect 0 '"ids":[1,351],"ids_with_special":[1,1,351]' "$program" tokenize --json --tokenizer "$llama"
expect 0 '"offsets":[[0,3],[3,4]],"tokens":["<s>","▁a"]' "$program" tokenize --json --tokenizer "$llama"
input='[1, 351]'
expect 0 '<s> a' "$program" tokenize --decode --tokenizer "$llama"
expect 0 '{"text":"a"}' "$program" tokenize --decode --skip-special --json --tokenizer "$llama"
input='1,351 351\n'
expect 0 'a a' "$program" tokenize --decode --skip-special --tokenizer "$llama"

# Two texts, told apart by type_ids; the second may be empty.
bert=$data/bert_wordpiece_uncased/tokenizer.json
input='the'
expect 0 '"type_ids":[0,0,0,1,1]' "$program" tokenize --json --tokenizer "$bert" --pair 'of'
expect 0 '"tokens":["[CLS]","the","[SEP]","[SEP]"],"type_ids":[0,0,0,1]' "$program" tokenize --json --tokenizer "$bert" --pair ''
expect 0 '[SEP]' "$program" tokenize --tokenizer "$bert" --pair 'of'
expect 0 '--pair is not valid UTF-8' "$program" tokenize --tokenizer "$bert" --pair $'\xff'
expect 2 '--pair' "$program" tokenize --decode --tokenizer "$bert" --pair 'of'

# On a terminal: id, place, and the token so that it can be seen.
input='a\tb'
expect 0 '1-2            \t' "$program" tokenize --tokenizer "$gpt2"
input='a\xffb'
expect 0 'stdin is not valid UTF-8' "$program" tokenize --tokenizer "$gpt2"
expect 0 'Examples:' "$program" tokenize --help

# The built-in model, and what is typed against what the environment says.
input='a'
expect 0 '0-1' "$program" tokenize
expect 0 '▁a' env VANTAGE_MODEL="$scratch/nowhere" "$program" tokenize --json --tokenizer "$llama"
expect 6 'nowhere/tokenizer.json' env VANTAGE_TOKENIZER="$llama" "$program" tokenize --model "$scratch/nowhere"
expect 2 'exclude each other' "$program" tokenize --model x --tokenizer "$llama"

# What is wrong is named.
input='1 2 1000'
expect 2 'token id 1000 is outside the vocabulary (0 to 999)' "$program" tokenize --decode --tokenizer "$gpt2"
input='1 2 -1'
expect 2 'token id -1' "$program" tokenize --decode --tokenizer "$gpt2"
input='1 two'
expect 2 '"two" is not a token id' "$program" tokenize --decode --tokenizer "$gpt2"
input='99999999999'
expect 2 '"99999999999" is not a token id' "$program" tokenize --decode --tokenizer "$gpt2"
input=''
expect 2 '--decode' "$program" tokenize --skip-special --tokenizer "$gpt2"
expect 6 'no/such/tokenizer.json' "$program" tokenize --tokenizer no/such/tokenizer.json
echo '{"model": {"type": "WordLevel"}}' >"$scratch/level.json"
expect 6 '"model.type" is "WordLevel", wanted one of: BPE' "$program" tokenize --tokenizer "$scratch/level.json"
echo '{"model": ' >"$scratch/broken.json"
expect 6 'broken.json: not JSON' "$program" tokenize --tokenizer "$scratch/broken.json"
input='a'
code=0
"$program" tokenize --tokenizer "$gpt2" >/dev/full 2>"$scratch/err" <<<"$input" || code=$?
check "a full disk ends with 6 (got $code)" test $code = 6
grep -q 'cannot write' "$scratch/err" || fail "a full disk is not named"


# ---- GGUF ------------------------------------------------------------------------------------------------------------

files=$VANTAGE_ROOT/tests/data/oracle/gguf
echo "two  spaces" >text
"$program" tokenize -m "$files/llama-f16.gguf" <text >file || fail "tokenize of a GGUF file"
"$program" tokenize -m "$models/llama" <text >folder || fail "tokenize of its folder"
cmp -s file folder || fail "a GGUF file gives other tokens than its folder: $(<file)"
ends 6 "there is no tokenizer in it" tokenize -m "$files/qwen3-f32.gguf"
"$program" run -m "$files/llama-f16.gguf" -p "two" -n 6 --temp 0 --precision f32 -q >file || fail "run of a GGUF file"
"$program" run -m "$models/llama" --weights f16 -p "two" -n 6 --temp 0 --precision f32 -q >folder
cmp -s file folder || fail "a GGUF file writes another text than its folder: $(<file)"
ends 6 "there is no chat template (tokenizer.chat_template)" chat -m "$files/llama-f16.gguf"
for command in "finetune --data text -o tuned" "prune --heads 0.0 -o pruned" "merge --lora text -o merged"; do
    # shellcheck disable=SC2086  # words
    ends 1 "takes a folder of safetensors, not a GGUF file" $command -m "$files/qwen3-f32.gguf"
done
exit $((failures > 0))
