#!/usr/bin/env bash
# vantage bench model: rows, refusals, starts, quality against PyTorch; --profile as a table and as a trace.
# Once: the figures are the machine's, and what is computed is tested elsewhere on every device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

gives 'pp16' bench model --pp 16 --tg 4 --depth 0,8 -r 1 --no-start
check "a row for each test" test "$(grep -cE '^\| mini-world .* (pp16|tg4|pp16 @ d8|tg4 @ d8) ' out)" = 4
gives '"test": "pp16 x2"' bench model --pp 16 -b 2 -r 3 --no-start -o json
check "a spread beside the mean" grep -qE '"t_per_s_spread": [0-9]' out

# mean of -ln p(token) of 510 tokens in two windows of 256, by PyTorch 2.14 in double: 1.3396075
gives '"test": "quality f16"' bench model --quality --weights f16 --tokens 512 -o json
nats=$(grep -m1 -oE '"nats": [0-9.]+' out | grep -oE '[0-9.]+')
check "nats per token $nats, wanted 1.33961 within f32's rounding" awk "BEGIN { exit !($nats - 1.3396075 < 2e-5 && 1.3396075 - $nats < 2e-5) }"

# one storage after the other, each held against the first
gives ',quality q4,' bench model --quality --tokens 64 -o csv
check "seven storages of weights, two of keys and values" test "$(grep -c ',quality ' out)" = 9
gives '"test": "quality q8"' bench model --quality --weights q8_0 --tokens 64 -o json
gives '"cache": "q8"' bench model --cache q8 --pp 8 -r 1 --no-start -o json

ends 2 'supports at most 256' bench model --pp 300 -r 1 --no-start
# every test is checked before the first one runs, for which kernels would be made
VANTAGE_CACHE_DIR=$scratch/refused ends 2 'supports at most 256' bench model --pp 8,300 -r 1 --no-start
check "nothing is measured before a test that is refused" test ! -e refused
ends 2 'not in {gpt2-small' bench model --shape gpt5
ends 2 'does not generate tokens' bench model -m "$models/bert" --tg 4 --no-start

# what was measured before an error is written: here before the device is lost in one of the later submissions, of which
# there are more on a machine that is busy
code=5
for ((n = 20; code == 5; n += 20)); do
    code=0
    VANTAGE_FAULT=submit:$n:device_lost "$program" bench model --pp 8 --tg 64 -r 1 --no-start --output part.md 2>err || code=$?
    if [[ $code == 5 && -s part.md ]]; then break; fi
done
check "a report of what was measured (ended with $code: $(<err))" grep -q ' pp8 ' part.md
check "it says that rows are missing" grep -q '^! Later rows were not measured' part.md

gives 'start warm: all cached' bench model --pp 8 -r 1 -o csv
check "three starts" test "$(grep -c ',"\?start' out)" = 3

"$program" run -q -p "The dog" -n 2 --profile - >out 2>err
check "a table by op" grep -qE '^matmul +[a-z_]+ +[0-9]+ ' err
check "its sum" grep -qE '^all  ' err
"$program" bench model --pp 8 -r 1 --no-start --profile trace.json >out 2>err
check "a trace of the host and of the device" test "$(grep -cE '"name":"(compile plan|make pipelines|submit|wait for the device|upload weights)"' trace.json | awk '{ print ($1 >= 5) }')" = 1
check "device spans" grep -q 'h.3.attention' trace.json
ends 2 '--profile needs a command that runs a model' devices --profile -

# ---- energy of a CPU device: the counter of a made package, at most 1 J every 10 ms -----------------------------------

energy() {
    counter=$scratch/sys/class/powercap/intel-rapl:0/energy_uj
    mkdir -p "${counter%/*}" && echo 1000000 >"$counter"
    (for ((j = 2; ; ++j)); do echo $((j * 1000000)) >next && mv next "$counter" && sleep 0.01; done) &
    meter=$!
    VANTAGE_SYSFS=$scratch/sys "$program" bench model --pp 64 --tg 32 -r 3 --no-start -o json >json 2>err || fail "energy: $(<err)"
    kill "$meter"
    tr -d ' \n' <json | grep -oE '"j_per_token":[^,}]*|"t_per_s":[^,}]*' | paste -d: - - | awk -F: '{ print $2, $4 }' >power
    check "joules per token times tokens per second are watts, at most 100: $(<power)" awk '
        { rows++; watts = $1 * $2; if (!(watts >= 0 && watts < 130)) bad = 1; all += watts }
        END { exit bad || rows != 2 || !(all > 5) }' power
    check "the note names the counter" grep -qF "intel-rapl:0/energy_uj" json
    VANTAGE_SYSFS=$scratch/nowhere gives '"j_per_token": null' bench model --pp 8 -r 1 --no-start -o json
}
if "$program" devices --json | awk '/"chosen"/ { chosen = /true/ } /"type"/ && chosen && /cpu/ { found = 1 } END { exit !found }'; then
    energy
fi
exit $((failures > 0))
