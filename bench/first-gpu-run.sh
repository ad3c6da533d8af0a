#!/usr/bin/env bash
# bench/first-gpu-run.sh [PROGRAM]: measures a GPU, in ten minutes on a fast one and at most in eighteen, and packs
# the results into one file, which a person can send with a report: device, conformance, limits, ops, models, generation
# by context length, training, the viewer, and a tuning table. PROGRAM: default build/release/vantage of this repository,
# else vantage from PATH. VANTAGE_DEVICE chooses the device (default: the best). Run it on an idle machine.
#
# Each step has a time limit, and a step that fails or is cut off does not stop the others. Ctrl-C ends the current step
# and packs what there is. The file has no paths and no names of users or hosts, but what the driver says of the device.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${1:-$root/build/release/vantage}
if [[ ! -x $program ]] && ! program=$(command -v vantage); then
    echo "first-gpu-run.sh: no program; give its path, or build Vantage" >&2
    exit 2
fi
program=$(readlink -f -- "$program")

device=$("$program" devices --json | sed -n '/"chosen": true/,$ s/^ *"name": "\(.*\)",$/\1/p' | head -n 1) || true
if [[ -z $device ]]; then
    echo "first-gpu-run.sh: no device; to see why, run: $program devices" >&2
    exit 3
fi
echo "$device"
name=vantage-$(tr -cs '[:alnum:]\n' - <<<"$device" | sed 's/-*$//')-$(date +%Y%m%d)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/$name"
cd "$folder/$name"
interrupted=0
trap 'interrupted=1' INT
begun=$SECONDS

# step LIMIT FILE ARGUMENT…: runs `vantage ARGUMENT…` for at most LIMIT seconds. Its output goes into FILE, its messages
# into FILE.log.
step() {
    local limit=$1 file=$2 start=$SECONDS code=0 end=""
    shift 2
    if ((interrupted)); then return; fi
    printf '%-24s at most %3d s  ' "$file" "$limit"
    timeout --foreground --signal INT --kill-after 30 "$limit" "$program" "$@" >"$file" 2>"$file.log" </dev/null || code=$?
    case $code in
        0) ;;
        124 | 137) end=", cut off" ;;
        *) end=", exit code $code: $(tail -n 1 "$file.log" | cut -c 1-100)" ;;
    esac
    printf '%3d s%s\n' $((SECONDS - start)) "$end"
    printf '%s\t%s\t%s s\tvantage %s\n' "$file" "$code" $((SECONDS - start)) "$*" >>steps.tsv
    find . -empty -delete
}

"$program" --version >version.txt
step 20 devices.json devices --json
step 240 conform.json conform --report report.json --json
step 60 roofs.json bench roofs --again -o json
step 120 ops.json bench ops --quick -o json
for weights in f16 q8 q4; do
    step 60 "llama-1b-$weights.json" bench model --shape llama-1b --weights "$weights" --pp 512 --tg 64 -r 3 -o json
done
step 60 llama-1b-int8.json bench model --shape llama-1b --weights q8 --precision int8 --pp 512 --tg 64 -r 3 --no-start \
    -o json
step 60 gpt2-small-f32.json bench model --shape gpt2-small --precision f32 --pp 512 --tg 64 -r 3 --no-start -o json
step 90 depth.json bench model --shape llama-1b --weights f16 --tg 32 --depth 0,1024,4096 -r 3 --no-start -o json
step 60 train.json bench train --shape gpt2-small -o json
step 60 view.json bench view -o json
step 120 tune.json tune --shape llama-1b --weights f16 --quick --seconds 100 --save tuning.json --json

for file in *; do  # messages may have paths
    for path in "$folder" "$root" "$(dirname -- "$program")" "$HOME"; do
        if ((${#path} > 1)); then sed -i "s|$(sed 's/[].[*^$\\|]/\\&/g' <<<"$path")|.|g" "$file"; fi
    done
done
cd "$OLDPWD"
tar -C "$folder" -czf "$name.tar.gz" "$name"
printf '\n%s after %s s: send it with your report\n' "$name.tar.gz" $((SECONDS - begun))
if ((interrupted)); then exit 130; fi
