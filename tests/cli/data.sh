#!/usr/bin/env bash
# `vantage data`: vocabularies, token files, counts, and the sequences that a run reads.
# Once: it uses no device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
text=$VANTAGE_ROOT/assets/models/mini-world/valid.txt

# ---- vocabulary -----------------------------------------------------------------------------------------------------

"$program" data vocabulary "$text" --blank-lines --size 500 -o words.json >out 2>err || fail "vocabulary: $(<err)"
grep -q "500 tokens" out || fail "vocabulary says: $(<out)"
printf 'The dog saw the cat.' | "$program" tokenize --tokenizer words.json >tokens || fail "the vocabulary is no tokenizer"
(($(wc -l <tokens) < 12)) || fail "no merges: $(<tokens)"
"$program" data vocabulary "$text" --blank-lines --size 500 --special '<s>,</s>' -o special.json --json >out || fail "vocabulary --special"
grep -q '"tokens": 500' out || fail "vocabulary --json: $(<out)"
printf '</s>' | "$program" tokenize --tokenizer special.json >tokens && grep -q '^ *1 ' tokens || fail "special tokens have the first ids: $(<tokens)"
printf '{"messages": [{"role": "user", "content": "words words"}]}\n{"prompt": "words", "completion": " words"}\n' >chats.jsonl
"$program" data vocabulary chats.jsonl --size 262 -o chats.json >out 2>err || fail "vocabulary of .jsonl: $(<err)"
ends 2 "a vocabulary of 100 tokens" data vocabulary "$text" --size 100 -o small.json
ends 6 "cannot write" data vocabulary "$text" --size 300 -o nowhere/small.json
check "nothing is left of what failed" test ! -e small.json

# ---- token files ----------------------------------------------------------------------------------------------------

"$program" data tokenize "$text" --blank-lines --tokenizer words.json -o text.bin >out 2>err || fail "tokenize: $(<err)"
"$program" data tokenize "$text" --blank-lines --tokenizer words.json -o text.safetensors --json >out || fail "tokenize to safetensors"
tokens=$(sed -n 's/.*"tokens": \([0-9]*\).*/\1/p' out)
(($(stat -c %s text.bin) == 1024 + 2 * tokens)) || fail "text.bin has $(stat -c %s text.bin) bytes of $tokens tokens"
for file in text.bin text.safetensors; do
    "$program" data check "$file" --tokenizer words.json --json >out || fail "check $file"
    grep -q "\"tokens\": $tokens" out || fail "$file has other tokens: $(<out)"
done
# ids of 32 bits, which a vocabulary of more than 65536 takes
sed 's/"id": *0/"id": 70000/; s/"<|endoftext|>": *0,/"<|endoftext|>": 70000,/' words.json >wide.json
"$program" data tokenize "$text" --blank-lines --tokenizer wide.json -o wide.bin >out 2>err || fail "tokenize: $(<err)"
(($(stat -c %s wide.bin) == 1024 + 4 * tokens)) || fail "wide.bin has $(stat -c %s wide.bin) bytes of $tokens tokens"
[[ $(od -An -td4 -N12 wide.bin) =~ ^\ *20240801\ +7\ +$tokens$ ]] || fail "header of wide.bin: $(od -An -td4 -N12 wide.bin)"
od -An -v -tu2 -w2 -j1024 text.bin | sed 's/^ *0$/70000/; s/ //g' >narrow_ids
od -An -v -td4 -w4 -j1024 wide.bin | sed 's/ //g' | cmp - narrow_ids || fail "wide.bin has other ids than text.bin"
"$program" data check wide.bin --tokenizer wide.json --json >out && grep -q "\"tokens\": $tokens" out || fail "check wide.bin: $(<out)"
ends 6 "has token ids" data vocabulary text.bin --size 300 -o small.json
ends 2 "expected a file that ends with" data tokenize "$text" --tokenizer words.json -o text.txt
printf '{"prompt": "words", "completion": " words"}\n%.0s' {1..20} >answers.jsonl
ends 2 "which a .bin file cannot say" data tokenize answers.jsonl --tokenizer words.json -o answers.bin
"$program" data tokenize answers.jsonl --tokenizer words.json -o answers.safetensors >out 2>err || fail "tokenize answers: $(<err)"

# ---- check and show -------------------------------------------------------------------------------------------------

"$program" data check "$text" --blank-lines --tokenizer words.json --context 64 >out || fail "check"
grep -q "^documents" out && grep -q "median" out && grep -q "sequences.* of 64 tokens" out || fail "check says: $(<out)"
"$program" data show "$text" --blank-lines --tokenizer words.json --context 40 -n 2 >out || fail "show"
(($(grep -c "^sequence [12]  40 tokens of [0-9]* documents, 40 targets" out) == 2)) || fail "show says: $(<out)"
# Several of 20 sequences have more than one document: the median document has 50 tokens.
show=(data show "$text" --blank-lines --tokenizer words.json --context 100 -n 20 --separate-documents --json)
"$program" "${show[@]}" >out || fail "show --json"
awk '
    /"(tokens|targets|documents)": \[/ { list = $1; ++sequences[list] }
    /^ *-?[0-9]+,?$/ { gsub(/[ ,]/, ""); s = sequences[list]; value[list, s, count[list, s]++] = $0 }
    END {
        d = "\"documents\":"; k = "\"tokens\":"; t = "\"targets\":"
        if (sequences[d] != 20 || sequences[k] != 20 || sequences[t] != 20) exit 1
        for (s = 1; s <= 20; ++s) {
            if (count[d, s] != 100 || count[k, s] != 100 || count[t, s] != 100 || value[d, s, 0] != 0) exit 1
            for (i = 0; i < 99; ++i) {
                same = value[d, s, i] == value[d, s, i + 1]
                if (!same && value[d, s, i + 1] != value[d, s, i] + 1) exit 1
                if (value[t, s, i] != (same ? value[k, s, i + 1] : -1)) exit 1
            }
            if (value[d, s, 99] > 0) ++several
        }
        if (several < 2) exit 1
    }' out || fail "separate documents: $(head -c 500 out)"
"$program" "${show[@]}" --eval-share 0.5 >other || fail "show --eval-share"
cmp -s out other && fail "--eval-share changes nothing"
mkdir folder && cp "$text" folder && printf '{"text": "good"}\n{"txt": "bad"}\n' >folder/lines.jsonl
for time in first second; do
    "$program" data check folder --blank-lines --tokenizer words.json --json >out 2>err || fail "check a folder: $(<err)"
    grep -q '"skipped": 1' out && grep -q 'lines.jsonl:2' err || fail "the $time check does not name the bad line: $(<err)"
done
"$program" data vocabulary folder --blank-lines --size 300 -o folder.json >out 2>err || fail "vocabulary of a folder: $(<err)"
"$program" data vocabulary "$text" --blank-lines --size 300 --special '<x>' -o endless.json >out || fail "vocabulary without an end token"
ends 2 "no end token" data tokenize "$text" --blank-lines --tokenizer endless.json -o endless.bin
ends 6 "no such file" data check nowhere.txt --tokenizer words.json
ends 6 "nowhere" data check "$text" --tokenizer nowhere
ends 2 "required" data check "$text"

exit $((failures > 0))
