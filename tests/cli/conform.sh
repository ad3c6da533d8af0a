#!/usr/bin/env bash
# `vantage conform` and `vantage explain`: what they print, and how conform ends when a kernel is wrong.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
data=$VANTAGE_ROOT/tests/data/oracle

# expect CODE TEXT COMMAND…: the command ends with CODE, and what it prints (both streams) has TEXT.
expect() {
    local code=$1 text=$2 output got=0
    shift 2
    output=$("$@" 2>&1) || got=$?
    # shellcheck disable=SC2053  # a pattern
    if ((got != code)) || [[ $output != *$text* ]]; then
        printf 'FAILED: %s\n  wanted %s with "%s"\n  got %s: %s\n' "$*" "$code" "$text" "$got" "$output"
        failures=$((failures + 1))
    fi
}

# ---- conform ---------------------------------------------------------------------------------------------------------

expect 0 "scale"*"plain"*" passed, 0 failed, 0 not supported" "$program" conform --op scale
expect 0 "ok"*"softmax"*"plain"*"f16)" "$program" conform --op softmax -v --kernel plain
expect 0 '"failed": 0'*'"kernel": "plain"' "$program" conform --op scale --json
expect 2 "unknown case" "$program" conform --op scale --case nonsense
# renamed
expect 0 "kernel"*"quantized_lanes is now called quantized"*" passed, 0 failed" "$program" conform --op matmul --kernel quantized_lanes
expect 2 "unknown kernel" "$program" conform --op scale --kernel nonsense
expect 0 "Examples:" "$program" conform --help

# case files: those that are not supported are listed, and are no failure
cases=$data/ops
mkdir odd && cp "$cases/ops.safetensors" odd
sed 's/"op": "tanh_backward"/"op": "sinh_backward"/; s/"op": "cross_entropy"/"op": "hinge"/' "$cases/ops.json" >odd/ops.json
expect 0 "not supported:"*"op sinh_backward: tanh_bwd"*"0 failed, 1 not supported" "$program" conform --cases odd --case tanh_bwd
expect 0 "1 passed, 0 failed, 0 not supported" "$program" conform --cases "$cases" --case gemm_alpha_beta
expect 0 "0 passed, 0 failed, 7 not supported" "$program" conform --cases odd --op hinge
expect 0 '"not_built": 7'*'"reason": "op hinge"' "$program" conform --cases odd --op hinge --json
expect 0 "7 passed, 0 failed, 0 not supported" "$program" conform --cases "$cases" --op cross_entropy

# recorded training runs
expect 0 "step 19: loss "*"gradients of the first step: off by "*"parameters after the first step: off by "*"passed" "$program" conform --training "$data/train"
expect 0 '"final_error"'*'"grads0_error"'*'"passed": true'*'"grad_norm_error"' "$program" conform --training "$data/train_more/vit" --json
expect 0 'gradients of the first step: off by +([!:]): off by +([!:])passed' "$program" conform --training "$data/train_more/vit"
cp -r "$data/train" infinite
printf '\0\0\200\177' | dd of=infinite/grads0.safetensors bs=1 seek=$(($(stat -c %s infinite/grads0.safetensors) - 4)) conv=notrunc status=none
expect 6 "not finite" "$program" conform --training infinite
cp -r "$data/train" stays && cp stays/init.safetensors stays/step1.safetensors
expect 7 "parameters after the first step: off by "*": too much"*"failed" "$program" conform --training stays
expect 7 '"passed": false'*'"step1_error"' "$program" conform --training stays --json
cp -r "$data/train_more/vit" run && sed -i '0,/2.3292/s//2.4292/' run/train.json
expect 7 "step 0: loss 2.3292"*": too much"*"failed" "$program" conform --training run
expect 7 '"passed": false' "$program" conform --training run --json
sed -i 's/"betas"/"alphas"/' run/train.json
expect 6 '"betas" is missing' "$program" conform --training run
rm run/data.safetensors
expect 6 "data.safetensors" "$program" conform --training run
expect 6 "config.json" "$program" conform --training nowhere
expect 2 "--op has no effect on --training" "$program" conform --training "$data/train" --op matmul

# an expectation that is wrong: swap the roles of two cases' results
mkdir "$scratch/wrong"
cp "$cases/ops.safetensors" "$scratch/wrong"
sed 's|swiglu/out/y|geglu_tanh/out/y|' "$cases/ops.json" >"$scratch/wrong/ops.json"
expect 7 "FAILED swiglu"*"y["*"got "*", want "*"off by "*"rerun: vantage conform "*"0 passed, 1 failed, 0 not supported" "$program" conform --cases "$scratch/wrong" --case swiglu
expect 7 '"message": "y['*'"rerun"' "$program" conform --cases "$scratch/wrong" --case swiglu --json
# ... and files that are broken
sed -i 's|geglu_tanh/out/y|nowhere|' "$scratch/wrong/ops.json"
expect 6 "ops.safetensors"*"nowhere" "$program" conform --cases "$scratch/wrong"
echo '{"cases": [{"name": "x", "op": "softmax", "attrs": {}, "inputs": [], "outputs": {}}]}' >"$scratch/wrong/ops.json"
expect 6 "ops.json"*"inputs" "$program" conform --cases "$scratch/wrong"
echo '{"cases": 3}' >"$scratch/wrong/ops.json"
expect 6 'ops.json: "cases" is 3, wanted a list' "$program" conform --cases "$scratch/wrong"

# ---- explain ---------------------------------------------------------------------------------------------------------

model=$data/models/gpt2
"$program" explain -m "$model" --tokens 20 >"$scratch/explained" || failures=$((failures + 1))
for text in "L = 2 layers, d = 48 width, H = 3 heads" "embedding "*"48 000 "*"V·d"*"attention q "*"4 704 "*"L·d² + L·d"*"mlp"*"norms"*"total "*"109 248 " \
    "A prompt of n = 20 tokens"*"attention scores "*"2·L·d·n² + 2·L·d·n"*"24·L·d²·n + 2·L·d·n² + 2·L·d·n + 2·V·d"*"per token" \
    "next token, with n = 21 keys"*"total "*"24·L·d² + 4·L·d·n + 2·V·d" "of weights, each once: "*" in matrices" "2·L·d·n·b bytes;" "2·L·d·b bytes per token, 384 B in f16"*"96    36.0 KiB    72.0 KiB" \
    "keys and values f16"*"96 tokens of context" "Plan of 1 row: "*"barriers" \
    "h.0 … h.1  (2 times)" "matmul attn.c_proj + bias + residual" "fused: matmul + gelu_tanh (2), matmul + residual (4)"; do
    expect 0 "$text" cat "$scratch/explained"
done
expect 0 "keys and values f32"*"50 tokens of context" "$program" explain -m "$model" --ctx 50 --precision f32
expect 0 '"formula": "L·d² + L·d"'*'"parameters_formula": "12·L·d²'*'"total_parameters": 109248' "$program" explain -m "$model" --json
expect 0 "rope_write" "$program" explain -m "$data/models/llama"
# of this model's matrices some have rows of 48, which are no blocks of 32
expect 0 "wte.weight stays f32 [[]1000, 48]: q8_0 takes rows in blocks of 32"*"quantized_" "$program" explain -m "$model" --weights q8
expect 1 "wte.weight stays f32" "$program" explain -m "$model" --weights q8 --strict
expect 2 "--weights" "$program" explain -m "$model" --weights q5
expect 0 "active per token: 22 240 (70.7 %), k = 2 of E = 4 experts"*"2 key-value heads for 4 heads: 1/2 of" "$program" explain -m "$data/models/mixtral"
expect 0 "window of w = 11 keys in 2 of 2 layers"*"4·L·d·w" "$program" explain -m "$data/models/mistral"
"$program" explain -m "$data/models/bert" >"$scratch/explained" || failures=$((failures + 1))
expect 0 "A text of n = 64 tokens"*"4·L·d·n²"*"encoder.layer.0 … encoder.layer.1  (2 times)" cat "$scratch/explained"
expect 1 "" grep "The next token" "$scratch/explained"  # an encoder has none
expect 0 '"generated_token": null' "$program" explain -m "$data/models/bert" --json
expect 2 "a text of 97 tokens does not fit the context of 96" "$program" explain -m "$data/models/bert" --tokens 97
expect 0 "Examples:" "$program" explain --help
expect 0 "Attention weights, never stored: L·H·n²·b bytes"*"self-attention  4·d·n²"*"recurrent       2·d²·n"*"convolution     6·d²·n" \
    "$program" explain -m "$model" --tokens 20
expect 0 '"attention_weights_never_stored"'*'"layers_compared"'*'"sequential_steps": 20' "$program" explain -m "$model" --tokens 20 --json
# a step of training: its rows add up, and the backward pass has twice the arithmetic of the forward pass
"$program" explain --train -m "$model" --batch 2 --context 32 >"$scratch/explained" || failures=$((failures + 1))
for text in "109 248 parameters"*"micro-batches of 2 sequences of 32 tokens, f32, adamw; nothing is recomputed" \
    "forward "*"  matmul "*"backward "*"  norm_backward "*"  accumulate "*"update "*"  adam "*"total "*" times the FLOP of the forward pass" \
    "parameters   "*"gradients   "*"optimiser   "*"activations "*"lower bound " \
    "--recompute "*"none "*"1.00 ×"*"this step"*"cheap "*"1 block "*"2 blocks " \
    "Plan of the forward pass: "*"h.0"*"matmul mlp.c_fc"*"Plan of the backward pass: "*"matmul mlp.c_fc"*"accumulate mlp.c_fc"*"Plan of the update: "*"h.0 … h.1  (2 times)"*"adam mlp.c_fc"*"f32 [[]48, 192]"; do
    expect 0 "$text" cat "$scratch/explained"
done
"$program" explain --train -m "$model" --batch 2 --context 32 --json >"$scratch/explained" || failures=$((failures + 1))
# by their margins: the FLOP of ops, of phases and of all
expect 0 "3 phases" awk -F: '/^          "flops"/ { sum += $2 } /^    "flops"/ { all = $2 + 0 }
    /^        "flops"/ { if ($2 + 0 != sum) wrong = 1; phase[++n] = sum; sum = 0 }
    END { both = phase[1] + phase[2]; if (!wrong && both + phase[3] == all && both > 2.7 * phase[1] && both < 3.5 * phase[1]) print n " phases" }' "$scratch/explained"
expect 0 "bytes add up" awk -F: '/^  "memory"/ { inside = 1 } /^  }/ { inside = 0 } inside && /^    "/ { if (/"total"/) all = $2 + 0; else sum += $2 }
    END { if (all > 0 && sum == all) print "bytes add up" }' "$scratch/explained"
expect 0 '"gradients": 436992'*'"optimizer": 873984'*'"parameters": 436992'*'"total_parameters": 109248' cat "$scratch/explained"
# more recomputed: more FLOP, and less memory, or no more where the peak is elsewhere
expect 0 "4 levels" awk -F: '/^      "bytes"/ { bytes = $2 + 0; if (n++ == 0) first = last = bytes; wrong += bytes > last; last = bytes }
    /^      "flops"/ { wrong += $2 + 0 <= flops; flops = $2 + 0 }
    END { if (!wrong && last < first) print n " levels" }' "$scratch/explained"
expect 0 '"precision": "f16"'*'"recompute": 3' "$program" explain --train -m "$model" --precision f16 --recompute 2 --json
expect 0 '"sequences": 42,'*'"tokens": 96,'*'"total_parameters": 109248' "$program" explain --train --config "$model/config.json" --json
for name in bert t5 vit clip; do
    expect 0 "Plan of the backward pass" "$program" explain --train -m "$data/models/$name" --batch 2
done
expect 2 "--batch is only for --train" "$program" explain -m "$model" --batch 2
expect 2 "--tokens is not for --train" "$program" explain --train -m "$model" --tokens 20
expect 2 "--weights is not for --train" "$program" explain --train -m "$model" --weights q8
expect 2 "two models: give one of them" "$program" explain --train -m "$model" --config "$model/config.json"
expect 2 "sequences of 97 tokens, but the model has 96 positions" "$program" explain --train -m "$model" --context 97
expect 2 "in f32 or f16, not in int8" "$program" explain --train -m "$model" --precision int8
expect 2 "--recompute some: expected auto" "$program" explain --train -m "$model" --recompute some
expect 2 "pairs are compared with others: at least 2" "$program" explain --train -m "$data/models/clip" --batch 1
expect 1 "with labels for each token" "$program" explain --train -m "$data/models/bert_tokens"
# the block diagram names shapes, and equal layers once
"$program" explain -m "$data/models/gpt2" --svg "$scratch/blocks.svg" >/dev/null || failures=$((failures + 1))
for text in "LayerNorm" "[[]n, 48]" "[[]n, 3, 16]" "[[]n, 192]" "3 heads × 16, causal" "× 2" "logits"; do
    expect 0 "<svg"*">$text<"*"</svg>" cat "$scratch/blocks.svg"
done
"$program" explain -m "$data/models/bart" --diagram "$scratch/blocks.svg" >/dev/null || failures=$((failures + 1))
expect 0 "encoder"*"decoder"*"keys of the encoder" cat "$scratch/blocks.svg"
expect 2 "must end in .png or .svg" "$program" explain --svg "$scratch/blocks.txt"
# positions
expect 0 "learned table wpe.weight" "$program" explain -m "$model" --positions "$scratch/positions.png"
expect 0 "rotation of "*"wavelengths from 6.28" "$program" explain -m "$data/models/llama" --positions "$scratch/positions.png"
expect 0 "ALiBi: −slope" "$program" explain -m "$data/models/bloom" --positions "$scratch/positions.png"
expect 0 "distance biases of the encoder"*"distance biases of the decoder" "$program" explain -m "$data/models/t5" --positions "$scratch/positions.png"
expect 0 "relative keys: "*"distance_embedding.weight [[]" "$program" explain -m "$data/models/bert_relative_key" --positions "$scratch/positions.png"
expect 0 "sinusoids [[]positions, 512]"*"wavelengths from 6.28 to 61 k" "$program" explain --positions "$scratch/positions.png" --kind sinusoidal
expect 0 '"slopes"'*'0.5' "$program" explain --positions "$scratch/positions.png" --kind alibi --json
expect 2 "must end in .png" "$program" explain --positions "$scratch/positions.svg"
expect 2 "--kind" "$program" explain --positions "$scratch/positions.png" --kind none
expect 0 "attention, window  4·d·n·w" "$program" explain -m "$data/models/mistral"

exit $((failures > 0))
