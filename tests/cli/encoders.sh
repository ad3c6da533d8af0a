#!/usr/bin/env bash
# vantage embed, classify and inspect on encoders: vectors, answers, the saved file, and what is refused.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"


# vectors: one line each, 48 numbers, the same from -p and from stdin
"$program" embed -m "$models/bert" -p "the dog" -p "a red key" >two || fail "embed -p"
printf 'the dog\na red key' | "$program" embed -m "$models/bert" >lines || fail "embed from stdin"
# of several lengths, the longest first: run together, written in their own order, each as alone but for the last bits
texts=("the dog chased the birds and the birds chased the dog" "the dog" "a red key in the red box")
printf '%s\n' "${texts[@]}" | "$program" embed -m "$models/bert" --precision f32 >lines-3 || fail "embed of three"
for i in 0 1 2; do
    "$program" embed -m "$models/bert" --precision f32 -p "${texts[i]}" | tr -d '[]' | tr ',' '\n' >alone || fail "embed: text $i"
    sed -n "$((i + 1))p" lines-3 | tr -d '[]' | tr ',' '\n' | paste - alone |
        awk '{d = $1 - $2; if (d > 1e-4 || d < -1e-4) bad = 1} END {exit bad || NR != 48}' || fail "embed: text $i of three is not what it is alone"
done
cmp -s two lines || fail "embed: -p and stdin differ"
# among others a vector is what it is alone, up to the rounding of f16 keys
awk 'BEGIN {for (i = 0; i < 40; ++i) print "a box of red keys and dogs"; print "the dog"; print "a red key"}' | "$program" embed -m "$models/bert" | tail -n 2 |
    paste -d, - - | tr -d '[]' | tr ',' '\n' >together
paste -d, - - <two | tr -d '[]' | tr ',' '\n' | paste together - |
    awk '{d = $1 - $2; if (d < -1e-3 || d > 1e-3) bad = 1} END {exit bad || NR != 96}' || fail "embed: texts alone and among others differ"
[[ $(wc -l <two) == 2 && $(head -n 1 two | tr ',' '\n' | wc -l) == 48 ]] || fail "embed: wanted 2 vectors of 48, got $(<two)"
length=$("$program" embed -m "$models/bert" -p "the dog" --normalise --pooling cls | tr -d '[]' | tr ',' '\n' | awk '{s += $1 * $1} END {printf "%.4f", s}')
[[ $length == 1.0000 ]] || fail "embed --normalise: the square of the length is $length"
"$program" embed -m "$models/bert" -p "the dog" --save saved.safetensors || fail "embed --save"
grep -aq '"embeddings"' saved.safetensors || fail "embed --save: no tensor embeddings"
cp -r "$models/bert" words
sed -i 's/BertForPreTraining/BertForMaskedLM/' words/config.json # a class without a pooler
ends 2 "words has no pooler; use --pooling mean or cls" embed -m words -p "the dog" --pooling pooler
ends 2 "needs an encoder" embed -p x
ends 2 "no input" embed -m "$models/bert"
ends 6 "cannot write" embed -m "$models/bert" -p x --save nowhere/out.safetensors

# one word in several texts
"$program" embed -m "$models/bert" --word dog -p "the dog chased the birds" -p "a red key and a dog" -p "dog" --save word.safetensors --chart word.png >word || fail "embed --word"
grep -q "^  static  *1.000  *1.000" word || fail "embed --word: the static vectors differ: $(<word)"
grep -q "^  0 " word && grep -q "^  2 " word || fail "embed --word: layers: $(<word)"
[[ $(head -c 4 word.png | tail -c 3) == PNG ]] && grep -aq '"word"' word.safetensors || fail "embed --word: files"
# its vectors are those of the stream after each block, means of its two tokens at 2 and 3, and differ between the texts
texts=("the dog chased the birds" "a dog")
"$program" embed -m "$models/bert" --word dog -p "${texts[0]}" -p "${texts[1]}" --precision f32 --save word.safetensors \
    --json >word.json || fail "embed --word --json"
bytes word.safetensors word | od -An -v -w192 -t f4 >vectors # static and layers 0 to 2 of the first text, then the second
for i in 0 1; do
    "$program" inspect -m "$models/bert" -p "${texts[i]}" --save pass.safetensors >out 2>err || fail "inspect: $(<err)"
    rows=$(bytes pass.safetensors input_ids | wc -c) # the status is of no use: tail is cut off when head has enough
    rows=$((rows / 4))
    bytes pass.safetensors hidden | od -An -v -w192 -t f4 | awk -v rows=$rows '(NR - 1) % rows == 2 { split($0, first) }
        (NR - 1) % rows == 3 { for (d = 1; d <= NF; ++d) printf "%.7g ", ($d + first[d]) / 2; print "" }' >means
    sed -n "$((4 * i + 2)),$((4 * i + 4))p" vectors | paste -d ' ' - means | awk '{ for (d = 1; d <= 48; ++d) {
        far = $d - $(d + 48); if (far > 2e-6 || far < -2e-6) bad = 1 } } END { exit bad || NR != 3 || NF != 96 }' ||
        fail "embed --word: the vectors of text $i are not those of inspect"
done
awk '{ for (d = 1; d <= NF; ++d) v[NR, d] = $d } END { for (layer = 1; layer <= 4; ++layer) { xy = xx = yy = 0
    for (d = 1; d <= 48; ++d) { x = v[layer, d]; y = v[layer + 4, d]; xy += x * y; xx += x * x; yy += y * y }
    printf "%.3f\n", xy / sqrt(xx * yy) } }' vectors >cosines
tr -d ' \n' <word.json | grep -oE '"cosines":\[[0-9.-]+' | awk -F'[' '{ printf "%.3f\n", $2 }' >told
cmp -s cosines told || fail "embed --word: cosines are $(paste -sd' ' cosines), but it says $(paste -sd' ' told)"
awk 'NR == 1 && $1 != 1 || NR == 4 && $1 > 0.999 { exit 1 }' cosines || fail "embed --word: cosines $(paste -sd' ' cosines)"
gives '"other_words"' embed --word boat -p "The red boat is small." -p "Mia saw a boat." --json
ends 2 "text 2 has no word “dog”" embed -m "$models/bert" --word dog -p "the dog" -p "the dogs"
ends 2 "at least twice" embed -m "$models/bert" --word dog -p "the dog"
ends 2 "must end in .png or .svg" embed -m "$models/bert" --word dog -p "the dog" -p "a dog" --chart word.jpg
ends 2 "needs an encoder" embed -p "the dog"

# answers
gives "gap 2" classify -m "$models/bert" -p "the [MASK] and the [MASK]" --top 3
gives '"probability"' classify -m "$models/bert" -p "the [MASK]" --json
ends 2 "write [MASK] where" classify -m "$models/bert" -p "the dog"
ends 2 "no classification head" classify -p x
ends 6 "tokenizer.json: no such file" classify -m "$models/bert_classification" -p x

# labels of tokens and answers to questions; transformers gives the same with these files
cp -r "$models/bert_tokens" "$models/bert_answers" .
cat >tokenizer.json <<'END'
{"added_tokens": [{"id": 1, "content": "[CLS]", "special": true},
  {"id": 2, "content": "[SEP]", "special": true}],
 "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
 "pre_tokenizer": {"type": "BertPreTokenizer"},
 "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
  "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "ada": 3, "lived": 4,
  "in": 5, "london": 6, "where": 7, "did": 8, "live": 9, "?": 10, ".": 11}}}
END
cp tokenizer.json bert_tokens && cp tokenizer.json bert_answers
text="Ada lived in London."
gives "no entities" classify -m bert_tokens -p "$text"
gives '"begin": 13' classify -m bert_tokens -p "$text" --json
sed -i 's/"O"/"I-PLACE"/' bert_tokens/config.json
gives "0.435  Ada lived in London.  PLACE" classify -m bert_tokens -p "$text"
ends 2 "leave out --pair" classify -m bert_tokens -p "$text" --pair x
gives "0.043  lived in London" classify -m bert_answers -p "Where did Ada live?" --pair "$text"
gives "0.038  Ada" classify -m bert_answers -p "Where did Ada live?" --pair "$text" --max-answer 1
gives '"answers"' classify -m bert_answers -p "Where did Ada live?" --pair "$text" --json
ends 2 "give -p QUESTION and --pair TEXT" classify -m bert_answers -p "Where did Ada live?"
ends 2 "the text of --pair has no tokens" classify -m bert_answers -p "Where did Ada live?" --pair " "
sed 's/"relative_key_query"/"relative"/' "$models/bert_relative_key_query/config.json" >bert_tokens/config.json
ends 6 'relative_key_query' classify -m bert_tokens -p "$text"

# the pass
gives "LABEL_" inspect -m "$models/bert_classification" --ids 2,3,4 --type-ids 0,0,1 --save pass.safetensors
for name in last_hidden mean_pooled pooler_output logits hidden attn; do
    grep -aq "\"$name\"" pass.safetensors || fail "inspect --save: $name is missing"
done
gives '"labels"' inspect -m "$models/bert_classification" --ids 2,3,4 --json
# outputs that are values, not classes: no softmax, no bars, in their own order
cp -r "$models/bert_classification" values && cp bert_answers/tokenizer.json values
sed -i '1s/{/{"problem_type": "regression",/' values/config.json
"$program" classify -m values -p "$text" --json >json || fail "classify of a regression: $(<json)"
grep -q '"probability"' json && fail "values are called probabilities: $(<json)"
[[ $(grep -o '"LABEL_[0-9]"' json | paste -sd' ') == '"LABEL_0" "LABEL_1" "LABEL_2"' ]] || fail "the order of values: $(<json)"
"$program" inspect -m values --ids 2,3,4 --precision f32 --save values.safetensors --json >json || fail "inspect of a regression"
bytes values.safetensors logits | od -An -v -w4 -t f4 >want
grep -o '"value": [-0-9.e]*' json | cut -d' ' -f2 >got
paste got want | awk '{ d = $1 - $2; if (d * d > 1e-10) exit 1; ++n } END { exit n != 3 }' || fail "values are not the logits: $(paste got want)"
"$program" classify -m values -p "$text" >out || fail "classify of a regression"
grep -q '█' out && fail "values have bars: $(<out)"
ends 2 "--top" classify -m values -p "$text" --top 1
"$program" inspect -m "$models/mixtral" --ids 2,3,4 --save experts.safetensors >/dev/null || fail "inspect mixtral"
grep -aq '"router_logits"' experts.safetensors || fail "inspect --save: router_logits is missing"
gives "longformer" inspect -m "$models/longformer" --ids 2,3,4 --global-tokens 1
gives "longformer" inspect -m "$models/longformer" --ids 2,3,4 --global-at 2,0 --check
long=$(seq -s, 1 61)  # more than the 36 tokens up to which all see all
gives "big_bird" inspect -m "$models/big_bird" --ids "$long" --check
gives "LABEL_" inspect -m "$models/big_bird_classification" --ids "$long"
gives "blocks of 4 tokens" explain -m "$models/big_bird"
ends 2 "excludes" inspect -m "$models/longformer" --ids 2,3,4 --global-tokens 1 --global-at 0
ends 2 "global position 3 is outside" inspect -m "$models/longformer" --ids 2,3,4 --global-at 0,3
ends 2 "global position 2 is given twice" inspect -m "$models/longformer" --ids 2,3,4 --global-at 2,0,2
ends 2 "has no global tokens" inspect -m "$models/bert" --ids 2,3 --global-at 1
ends 2 "position -1 is negative" inspect -m "$models/longformer" --ids 2,3,4 --global-at=-1
ends 2 "expected positions such as 0,7,40, got none" inspect -m "$models/longformer" --ids 2,3,4 --global-at ""
ends 2 '"x" is not a position' inspect -m "$models/longformer" --ids 2,3,4 --global-at 0,x
ends 2 "has no global tokens" inspect -m "$models/bert" --ids 2,3 --global-tokens 1
ends 2 "token type 2" inspect -m "$models/bert_classification" --ids 2,3 --type-ids 0,2
ends 2 "has 1 types" inspect -m "$models/bert_classification" --ids 2,3 --type-ids 0
ends 2 "--type-ids needs an encoder" inspect --ids 2,3 --type-ids 0,0
ends 2 "is an encoder" inspect -m "$models/bert" --ids 2,3 --greedy 2
ends 2 "draws no tokens" run -m "$models/bert" -p "the dog"

exit $((failures > 0))
