#!/usr/bin/env bash
# --dump and `vantage replay`: a chosen node, a result that is not finite, a failing case, a damaged folder; and what
# `conform --report` says of the machine and does not say of its user.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

# shows CODE PATTERN ARGUMENTS…: the program ends with CODE, and what it prints (both streams) matches PATTERN.
shows() {
    local code=$1 pattern=$2 got=0
    shift 2
    "$program" "$@" >out 2>err || got=$?
    # shellcheck disable=SC2053  # a pattern
    if ((got != code)) || [[ $(cat out err) != *$pattern* ]]; then
        fail "$*: wanted $code and \"$pattern\", got $got: $(cat out err)"
    fi
}

# ---- a chosen node ---------------------------------------------------------------------------------------------------

shows 0 "wrote"*"right" inspect -p "The dog" --dump right --dump-node h.1.attention
[[ $(ls right/dispatch.json right/operands.safetensors right/*.spv | wc -l) -ge 3 ]] || fail "files: $(ls right)"
shows 0 "h.1.attention: attention, kernel "*"here    agrees with the reference"*"0 elements are not the same here" replay right
shows 0 '"passed": true'*'"changed": 0' replay right --json
gives "kernel plain" replay right --kernel plain
gives "agrees" replay right --dumped-modules
grep -q "The dog" right/dispatch.json && fail "the prompt is in the dump"
grep -q "$scratch" right/dispatch.json && fail "a path is in the dump"
shows 2 "no plan has a node \"nonsense\"; they have "*"h.1.attention" inspect -p "The dog" --dump other --dump-node nonsense
ends 2 "no plan has a node" inspect -p "The dog" --dump other --dump-node h.1.attention:7
ends 2 "give NAME or NAME:NUMBER" inspect -p "The dog" --dump other --dump-node h.1.attention:x
ends 2 "--dump-node needs --dump" inspect -p "The dog" --dump-node h.1.attention
ends 6 "wanted a new or empty folder" inspect -p "The dog" --dump right --dump-node h.1.attention
gives "nodes agree" inspect -p "The dog" --check --dump other
[[ -e other ]] && fail "nothing differs, but there is a dump"
shows 2 "the dumped modules are those of kernel" replay right --kernel plain --dumped-modules
shows 1 "the kernel \"nonsense\" of attention does not run this call"*"plain" replay right --kernel nonsense

# ---- a folder that was changed ---------------------------------------------------------------------------------------

# Other results than the device computed: the last bytes of the file are those of a result or an operand.
cp -r right other
printf '\000\000\200\077\000\000\200\077' | dd of=other/operands.safetensors bs=1 conv=notrunc status=none \
    seek=$(($(stat -c %s other/operands.safetensors) - 8))
"$program" replay other >out 2>err
grep -q "elements wrong\|[1-9][0-9]* elements are not the same here" out || fail "changed numbers: $(<out)"
head -c 8 right/dispatch.json >other/dispatch.json
ends 6 "dispatch.json" replay other
cp right/dispatch.json other && for module in other/*.spv; do head -c 10 "$module" >cut && cp cut "$module"; done
ends 6 "no SPIR-V module" replay other
rm other/*.spv
ends 6 ".spv" replay other
ends 6 "dispatch.json" replay nowhere
ends 2 "folder is required" replay

# ---- results that are not finite -------------------------------------------------------------------------------------

cp -r "$models/gpt2" spoiled && chmod -R u+w spoiled
header=$(od -An -t u8 -N 8 spoiled/model.safetensors | tr -d ' ')
offset=$(head -c $((header + 8)) spoiled/model.safetensors | tail -c "$header" | tr -d ' ' |
    grep -o '"transformer.h.1.ln_2.weight":{[^}]*}' | sed 's/.*"data_offsets":\[\([0-9]*\),.*/\1/')
# 3e38, too large for the variance of the last norm
printf '\346\261\141\177' | dd of=spoiled/model.safetensors bs=1 conv=notrunc status=none seek=$((header + 8 + offset))
for command in "inspect" "run -n 3"; do
    rm -rf infinite
    # shellcheck disable=SC2086  # options
    shows 7 "the first such result is that of node h.1.layer_norm"*"; dumped to infinite; " $command -m spoiled -p "a b" --dump infinite
    "$program" replay infinite >out 2>err
    grep -q "^h.1.layer_norm: layer_norm, kernel " out || fail "$command: $(<out)"
    grep -q "^found .*at element" out || fail "$command: $(<out)"
done

# ---- conform ---------------------------------------------------------------------------------------------------------

mkdir wrong && cp "$models/../ops/ops.safetensors" wrong
sed 's|swiglu/out/y|geglu_tanh/out/y|' "$models/../ops/ops.json" >wrong/ops.json
"$program" conform --cases wrong --case swiglu --dump failing >out 2>err && fail "a wrong expectation is met"
grep -q "wrote failing" err || fail "conform --dump: $(<err)"
shows 0 "swiglu: swiglu"*"found "*"agrees with the reference" replay failing

home=$scratch/home-of-somebody
mkdir -p "$home/cases" && cp wrong/* "$home/cases"
HOME=$home USER=somebody-else LOGNAME=somebody-else VANTAGE_CACHE_DIR=$home/cache VK_INSTANCE_LAYERS='' \
    "$program" conform --cases "$home/cases" --case swiglu --report "$home/report.json" >out 2>err
for text in '"version"' '"compiler"' '"driver_version"' '"extensions"' '"max_shared_memory"' '"switches"' '"VANTAGE_CACHE_DIR": "set"' \
    '"tuning"' '"kernel": "plain"' '"message": "y\[' '"failed": 1'; do
    grep -q -- "$text" "$home/report.json" || fail "the report lacks $text"
done
for text in "$home" somebody "$scratch" "$(uname -n)" rerun; do
    grep -qwF -- "$text" "$home/report.json" && fail "the report has $text: $(grep -wF -- "$text" "$home/report.json")"
done
ends 6 "cannot write" conform --op scale --report nowhere/report.json

[[ -z $(find . -name '*.tmp-*') ]] || fail "left: $(find . -name '*.tmp-*')"
exit $((failures > 0))
