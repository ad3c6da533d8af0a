#!/usr/bin/env bash
# bench/tune.sh NAME [PROGRAM]: measures assets/tuning/NAME.json again, for the device of VANTAGE_DEVICE (default: the best).
# Covers the built-in model with f16 and f32 caches, and the shapes of GPT-2 small, BERT-base (f32), Llama 1B and 8B (f16,
# q8, q4). Run it on an idle machine, for each device with an installed table, after kernels have changed.
# TUNE_OPTIONS are passed to each run (--quick, --seconds N).
set -euo pipefail
name=${1:?NAME of the table, such as lavapipe-26.2}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${2:-$root/build/release/vantage}
table=$root/assets/tuning/$name.json
mkdir -p "${table%/*}"
rm -f "$table"
read -ra options <<<"${TUNE_OPTIONS:-}"
export VANTAGE_DISABLE_TUNING=1  # so that "before" is the choice by capabilities
models=("" "--precision f32" "--shape gpt2-small" "--shape gpt2-small --precision f32" "--shape bert-base")
for shape in llama-1b llama-8b; do
    for weights in f16 q8 q4; do models+=("--shape $shape --weights $weights"); done
done
for model in "${models[@]}"; do
    # shellcheck disable=SC2086  # split into words
    "$program" tune $model --save "$table" "${options[@]}"
done
rm -f "$table.lock"
