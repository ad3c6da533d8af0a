#!/usr/bin/env bash
# `vantage tune`: what is measured is kept, shown, used and forgotten; a damaged table is left unused with a line.
# Once: the calls are those of one model, whatever the device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

model=$models/gpt2
ends 2 "there is no shape" tune --shape nonsense
ends 2 "--ctx is 300; gpt2 supports 1 to" tune -m "$model" --context 300
gives "0 calls measured on this machine" tune --show
gives "there is no tuning table" tune --forget
gives "calls measured" tune -m "$model" --quick --context 16
gives "saved in $scratch/cache/tuning/" tune -m "$model" --quick --context 16 --seconds 0.01
gives "here" tune --show
gives '"vantage_tuning": 1' tune --show --json
gives "matmul(" tune --show
table=$(echo "$scratch"/cache/tuning/*.json)
echo "{" >"$table"
"$program" explain -m "$model" >out 2>err || fail "explain with a damaged table: $(<err)"
[[ $(<err) == *"tuning not used: $table"* ]] || fail "a damaged table is not named: $(<err)"
VANTAGE_DISABLE_TUNING=1 "$program" explain -m "$model" >out 2>err && [[ ! -s err ]] || fail "tuning disabled: $(<err)"
gives "removed: $table" tune --forget

# what plans join is tuned as they run it
gives '"key": "joint_linear(' tune -m "$models/llama" --quick --context 16 --seconds 20 --json
# a table elsewhere: added to, and made only where nothing else is
echo '{"model_type": "gpt2"}' >config.json
ends 6 "config.json" tune -m "$model" --quick --context 16 --seconds 0.01 --save config.json
check "a file that is no table stays as it is" test "$(<config.json)" = '{"model_type": "gpt2"}'
gives "saved in table.json" tune -m "$model" --quick --context 16 --seconds 0.01 --save table.json
gives "saved in table.json" tune -m "$model" --quick --context 16 --seconds 0.01 --save table.json
check "nothing but the table is left beside it" test "$(ls -A | grep -c '\.lock$')" = 0
exit $((failures > 0))
