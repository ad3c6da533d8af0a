#!/usr/bin/env bash
# vantage bench: roofs are measured once, one small op in every format, comparison, and what is refused.
# Once: it is about files and texts; what is measured differs from device to device, and from run to run.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

# roofs are kept: the second time they have the same date
"$program" bench roofs -o json --output roofs.json || fail "bench roofs"
"$program" bench roofs -o json --output again.json || fail "bench roofs, kept"
grep '"measured"' roofs.json >first
grep '"measured"' again.json | cmp -s - first || fail "roofs were measured twice"
grep -q '"gb_per_s"' roofs.json || fail "roofs without a bandwidth"
[[ -n $(ls cache/roofs) ]] || fail "roofs are not in the cache folder"
# training then shows its share of them, but not with attention that leaves out keys which are counted
train=(train --data "$VANTAGE_ROOT/assets/models/mini-world/valid.txt" --tokenizer "$VANTAGE_ROOT/assets/models/mini-world"
    --blank-lines --layers 1 --width 16 --heads 2 --context 16 --batch-tokens 64 --steps 1)
gives "% of roof  " "${train[@]}" -o trained
gives "step 1/1" "${train[@]}" --separate-documents -o apart
! grep -q "of roof" out || fail "a share of the roof with --separate-documents: $(<out)"

add=(bench ops --op add --case 4096x1024 --repeats 3 --kernel plain)
gives "| roof_percent |" "${add[@]}"
grep -q '^| add | 4096x1024 | f32   | plain ' out || fail "the table has no row of add: $(<out)"
gives "schema_version,kind,date" "${add[@]}" -o csv
gives '"kernel":"plain"' "${add[@]}" -o jsonl
VANTAGE_OP=mul VANTAGE_FORMAT=csv gives "schema_version,kind,date" "${add[@]}"
grep -q ",mul," out && fail "what is typed does not win over the environment"
check "ops -o json" "$program" "${add[@]}" -o json --output before.json --roofline roofline.svg
grep -q '"driver_version"' before.json || fail "the report does not say which driver"
grep -q "</svg>" roofline.svg || fail "no roofline"

# the same twice is the same; ten times the time is slower
gives "0 faster, 0 slower, 1 the same" bench compare before.json before.json
sed -E 's/("time_us_spread": )[0-9.e-]+/\10.0/' before.json >steady.json
sed -E 's/("time_us": )([0-9.]+)/\11\2/' steady.json >after.json
"$program" bench compare steady.json after.json >out
[[ $? == 1 && $(<out) == *SLOWER* ]] || fail "compare does not see what became slower: $(<out)"

softmax=(bench ops --op softmax --case 8x1024x1024 --repeats 1)
# a kernel that fails has its error in its row, and those behind it are measured
survived=0
for ((n = 1; n < 40 && !survived; ++n)); do
    code=0
    VANTAGE_FAULT=allocate:$n:out_of_memory "$program" "${softmax[@]}" >out 2>err || code=$?
    [[ $code == 4 && $(<out) == *"| plain  "*"out of device memory"*  ]] && survived=1
done
((survived)) || fail "no row has a kernel's error: $(<out)"

key='softmax(f32 [8, 1024, 1024]; axis=-1) f32 [8, 1024, 1024]'
# the kernel with a * is the one that plans take: with a tuning table the table's
"$program" "${softmax[@]}" >out || fail "bench ops without a table"
! grep -q '^| softmax .*| plain  *| \*' out || fail "softmax is plain by capability: $(<out)"
kernels=$(grep -oP '^\| softmax \|[^|]*\|[^|]*\| \K[a-z_]+' out | sed 's/.*/"&": 1.0/' | paste -sd,)
device=$("$program" tune --show --json | sed -n '/^ "device"/,/^ }/p')
mkdir -p cache/tuning
printf '{%s "vantage_tuning": 1, "calls": {"%s": {"kernel": "plain", "microseconds": {%s}}}}' "$device" "$key" "$kernels" \
    >"cache/tuning/$("$program" tune --show | grep -oP '/tuning/\K[^)]*\.json' | head -n 1)"
gives "*: the kernel that plans choose, by tuning tables with " "${softmax[@]}"
grep -q '^| softmax .*| plain  *| \*' out || fail "the table's kernel has no *: $(<out)"

# roofs that were measured on a busy machine are passed
sed -i -E 's/("(copy|read)_gb_per_s": )[0-9.e+-]+/\10.1/' cache/roofs/*
gives "% of a roof: the machine was busy when the roofs were measured" "${add[@]}"

# what is refused, before anything is measured
ends 2 "expected md, csv, json or jsonl" bench ops --op add -o xml
ends 2 "unknown op \"ad\"" bench ops --op ad
ends 2 "unknown kernel \"fast\"" bench ops --op add --kernel fast
ends 2 "no case has \"7x7\"" bench ops --op add --case 7x7
ends 2 "must end in .png or .svg" bench ops --op add --roofline a.jpg
ends 2 "subcommand is required" bench
ends 6 "nowhere/now.json" bench ops --op add --output nowhere/now.json
ends 6 "nowhere/a.svg" bench ops --op add --roofline nowhere/a.svg
ends 6 "nothing.json" bench compare before.json nothing.json
printf '{"schema_version": 99}' >old.json
ends 2 "nothing to compare" bench compare roofs.json roofs.json
ends 6 "schema_version" bench compare before.json old.json

# training steps
train=(bench train --tokens 16,32 -b 2 --steps 3 --warm-up 1)
gives '"test": "2 × 32"' "${train[@]}" -o json
gives "| of_roof |" "${train[@]}"
ends 2 "learn the next token" bench train --shape bert-base

exit $((failures > 0))
