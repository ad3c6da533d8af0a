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
gives '"text": "3,3"' inspect -m vit --image $numbers --image-index 2 --json
gives "nodes agree" inspect -m vit_rectangle --image photo.jpg --check
gives "wrote" inspect -m vit --image photo.jpg --png pictures
[[ -s pictures/heads.png && -s pictures/layer-1-head-3.png && -s pictures/layer-1-cls.png ]] || fail "inspect --png: $(ls pictures)"

# refused
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
