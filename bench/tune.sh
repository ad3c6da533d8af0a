#!/usr/bin/env bash
# bench/tune.sh NAME [PROGRAM]: makes assets/tuning/NAME.json anew for the device that VANTAGE_DEVICE names (else the best):
# the built-in model, and the shapes of GPT-2 small (f32) and Llama 1B (f16). To be run on a quiet machine, for each device
# whose table is to come with the program, whenever kernels have changed. TUNE_OPTIONS go to each run (--quick, --seconds N).
set -euo pipefail
name=${1:?NAME of the table, such as lavapipe-26.2}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${2:-$root/build/release/vantage}
table=$root/assets/tuning/$name.json
mkdir -p "${table%/*}"
rm -f "$table"
read -ra options <<<"${TUNE_OPTIONS:-}"
export VANTAGE_DISABLE_TUNING=1  # "before" is then the choice by capability
for model in "" "--shape gpt2-small" "--shape llama-1b --weights f16"; do
    # shellcheck disable=SC2086  # words
    "$program" tune $model --save "$table" "${options[@]}"
done
rm -f "$table.lock"
