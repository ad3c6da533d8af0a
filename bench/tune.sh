#!/usr/bin/env bash
# bench/tune.sh NAME [PROGRAM]: makes assets/tuning/NAME.json anew for the device that VANTAGE_DEVICE names (else the best):
# the built-in model with a cache in f16 and f32, and the shapes of GPT-2 small, BERT-base (f32), Llama 1B and 8B (f16, q8, q4). To
# be run on a quiet machine, for each device whose table is to come with the program, whenever kernels have changed.
# TUNE_OPTIONS go to each run (--quick, --seconds N).
set -euo pipefail
name=${1:?NAME of the table, such as lavapipe-26.2}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${2:-$root/build/release/vantage}
table=$root/assets/tuning/$name.json
mkdir -p "${table%/*}"
rm -f "$table"
read -ra options <<<"${TUNE_OPTIONS:-}"
export VANTAGE_DISABLE_TUNING=1  # "before" is then the choice by capability
models=("" "--precision f32" "--shape gpt2-small" "--shape gpt2-small --precision f32" "--shape bert-base")
for shape in llama-1b llama-8b; do
    for weights in f16 q8 q4; do models+=("--shape $shape --weights $weights"); done
done
for model in "${models[@]}"; do
    # shellcheck disable=SC2086  # words
    "$program" tune $model --save "$table" "${options[@]}"
done
rm -f "$table.lock"
