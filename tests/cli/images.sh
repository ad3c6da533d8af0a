#!/usr/bin/env bash
# vantage classify and inspect on images: pictures and numbers, the saved file, drawings, and what is refused.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
images=$VANTAGE_ROOT/tests/data/images


cp -r "$models/vit" "$models/vit_rectangle" .
cp "$images/photo.png" "$images/photo.jpg" .
echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}}' >vit/preprocessor_config.json
echo '{"size": {"height": 24, "width": 40}, "image_mean": [0.5], "image_std": [0.25]}' >vit_rectangle/preprocessor_config.json
numbers=vit/expected.safetensors

# labels: of each of the oracle's images its most probable one, and of a picture whatever it is
"$program" classify -m vit --image $numbers --top 1 --precision f32 >out || fail "classify of numbers"
diff - out <<'END' || fail "classify: the labels of the oracle's images differ"
vit/expected.safetensors[0]
  0.419  LABEL_1
vit/expected.safetensors[1]
  0.354  LABEL_1
vit/expected.safetensors[2]
  0.687  LABEL_1
END
gives '"name": "photo.jpg"' classify -m vit --image photo.png photo.jpg --json
gives "LABEL_" classify -m vit_rectangle --image photo.png # one channel, not square

# a picture that is read stays, also in the folder that pictures are written into
mkdir pictures && cp photo.png pictures/heads.png
ends 2 "pictures/heads.png is read by this command" inspect -m vit --image pictures/heads.png --png pictures
check "a picture that is read stays" cmp photo.png pictures/heads.png

# vectors: one a line, of pictures and of numbers
"$program" embed -m vit --image photo.png $numbers --pooling cls >vectors || fail "embed: $(<vectors)"
[[ $(wc -l <vectors) == 4 && $(head -n 1 vectors | tr ',' '\n' | wc -l) == 32 ]] || fail "embed: wanted 4 vectors of 32, got $(<vectors)"
"$program" embed -m vit --image photo.png --save vectors.safetensors || fail "embed --save"
grep -aq '"embeddings":{"dtype":"F32","shape":\[1,32\]' vectors.safetensors || fail "embed --save: no embeddings [1, 32]"

# the pass: names and shapes, and the numbers of the picture that a later pass takes as they are
gives "LABEL_" inspect -m vit --image photo.png --save pass.safetensors
header=$(head -c 900 pass.safetensors | tr -d '\0')
for entry in 'pixel_values [3,32,32]' 'logits [7]' 'last_hidden [17,32]' 'hidden [3,17,32]' 'attn [2,4,17,17]'; do
    [[ $header == *"\"${entry% *}\":{\"dtype\":\"F32\",\"shape\":${entry#* }"* ]] || fail "inspect --save: no $entry in $header"
done
[[ $header != *input_ids* ]] || fail "inspect --save: an image has no input_ids"
"$program" inspect -m vit --image pass.safetensors --save again.safetensors >/dev/null || fail "inspect of its own pixel_values"
cmp -s pass.safetensors again.safetensors || fail "inspect: the picture and its pixel_values differ"
gives '"text": "r3 c3"' inspect -m vit --image $numbers --image-index 2 --json
gives "nodes agree" inspect -m vit_rectangle --image photo.jpg --check
gives "wrote" inspect -m vit --image photo.jpg --png pictures
[[ -s pictures/heads.png && -s pictures/layer-1-head-3.png && -s pictures/layer-1-cls.png ]] || fail "inspect --png: $(ls pictures)"

# CLIP: labels for images by its two towers, as transformers' logits_per_image say
cp -r "$models/clip" "$models/vit_gpt2" .
echo '{"image_processor_type": "CLIPImageProcessor", "size": 24, "crop_size": 24}' >clip/preprocessor_config.json
echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 24}}' >vit_gpt2/preprocessor_config.json
"$program" classify -m clip --image clip/expected.safetensors --labels "the dog" "a bird" --precision f32 >out || fail "classify --labels"
diff - out <<'END' || fail "classify --labels: other probabilities"
clip/expected.safetensors[0]
  0.899  a bird
  0.101  the dog
clip/expected.safetensors[1]
  0.899  a bird
  0.101  the dog
clip/expected.safetensors[2]
  0.769  a bird
  0.231  the dog
END
gives '"text": "a bird"' classify -m clip --image photo.png --labels "the dog" "a bird" --json
"$program" embed -m clip --image photo.png --save vectors.safetensors || fail "embed of the image tower"
grep -aq '"embeddings":{"dtype":"F32","shape":\[1,20\]' vectors.safetensors || fail "embed: an image has no vector of the projection"
"$program" embed -m clip -p "the dog" -p "a bird" --save vectors.safetensors || fail "embed of the text tower"
grep -aq '"embeddings":{"dtype":"F32","shape":\[2,20\]' vectors.safetensors || fail "embed: texts have no vectors of the projection"
gives "means over tokens" heads -m clip -p "the dog chased the birds"
gives "9 patches" heads -m clip --image photo.png
gives "nodes agree" inspect -m clip -p "the dog" --check

# an image captioner: a text, the map of each token on the image, the three attentions
gives '"image":"photo.png"' run -m vit_gpt2 --image photo.png -n 5 --json --precision f32
gives "12 patches, 4 decoder tokens" heads -m vit_gpt2 --image photo.png --decoder-ids 0,7,30,8
gives "nodes agree" inspect -m vit_gpt2 --image photo.png --decoder-ids 0,7,30 --check --png words --save pass.safetensors
[[ -s words/token-2-cross.png && ! -e words/token-3-cross.png ]] || fail "inspect --png: $(ls words)"
header=$(head -c 1500 pass.safetensors | tr -d '\0')
for entry in 'pixel_values [3,16,24]' 'encoder_hidden [3,13,24]' 'decoder_hidden [3,3,28]' 'cross_attn [2,2,3,13]' 'encoder_attn [2,3,13,13]'; do
    [[ $header == *"\"${entry% *}\":{\"dtype\":\"F32\",\"shape\":${entry#* }"* ]] || fail "inspect --save: no $entry in $header"
done
[[ $header == *decoder_input_ids* && $header != *'"input_ids'* ]] || fail "inspect --save: ids of an image in $header"

# refused
ends 2 "is a vision model; give --image FILE" run -m vit_gpt2 -p "a cat"
ends 2 "is a text model" run --image photo.png
ends 2 "is an encoder" run -m vit --image photo.png
ends 2 "give --image FILE and --labels" classify -m clip -p "a cat"
ends 2 "use a model of both (clip)" classify -m vit --image photo.png --labels "a cat"
ends 2 "embed needs an encoder" embed -m vit_gpt2 --image photo.png
ends 2 "give --image FILE" classify -m vit -p "a cat"
ends 2 "give --image FILE" embed -m vit -p "a cat"
ends 2 "has no pooler" embed -m vit --image photo.png --pooling pooler
ends 2 "give --image FILE" inspect -m vit --ids 1,2
ends 2 "no input" classify -m vit
ends 2 "is a text model" classify -m "$models/bert_classification" --image photo.png
ends 2 "is a text model" inspect --image photo.png
ends 2 "images 0 to 2" inspect -m vit --image $numbers --image-index 3
ends 2 "is an encoder" inspect -m vit --image photo.png --greedy 2
ends 6 "preprocessor_config.json: no such file" classify -m "$models/vit" --image photo.png
ends 6 "pixel_values is F32 [3, 3, 32, 32]; expected floats of shape [1, 24, 40]" classify -m vit_rectangle --image $numbers
ends 6 "pixel_values" classify -m vit --image vit/model.safetensors
ends 6 "neither a PNG nor a JPEG" classify -m vit --image vit/config.json
head=$(printf '{"pixel_values":{"dtype":"F32","shape":[3,32,32],"data_offsets":[0,12288]}}     ')
{ printf '\x50\0\0\0\0\0\0\0%-80s' "$head" && head -c 12284 /dev/zero && printf '\0\0\xc0\x7f'; } >nan.safetensors
ends 6 "nan.safetensors: pixel_values: element 3071 is nan" classify -m vit --image nan.safetensors
ends 6 "nowhere.jpg" classify -m vit --image nowhere.jpg
head -c 900 photo.jpg >cut.jpg
ends 6 "cut.jpg" classify -m vit --image cut.jpg
head -c 900 photo.png >cut.png
ends 6 "cut.png" inspect -m vit --image cut.png
echo '{"size": 16}' >vit/preprocessor_config.json
ends 6 "16 × 16" classify -m vit --image photo.png
echo '{"size": -1}' >vit/preprocessor_config.json
ends 6 '"size" is -1' classify -m vit --image photo.png

exit $((failures > 0))
