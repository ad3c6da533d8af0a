# `./vantage test`: runs the test programs and the tests of CTest, on every Vulkan device. Sourced by ./vantage, which
# sets root, build and program.
#
# What is run is cut into parts, such as the host tests or the device tests on one device. build/test-reports keeps, for
# each part, its reports, how long it took and what failed: the next call says how long it will take, and begins with
# what failed last.

passed=0 failed=0 skipped=0
of=1 turn=$((10#${VANTAGE_TEST_TURN:-0}))  # one part of `of` runs, the one whose turn it is
processes=$(($(nproc) < 4 ? $(nproc) : 4))  # at once
per_process=1  # shards of a Catch2 program for each of them
limit=${VANTAGE_TEST_LIMIT:-7200}  # seconds for a process of tests: one that takes longer hangs
reports=$root/build/test-reports
table=()         # lines of the table at the end
reasons=""       # why tests were skipped, a line each
failed_tests=()  # "TEST (PART)"
parts_done=0 parts_all=0 expected=0 begun=$SECONDS

# Prints the path of the reports of the part "$1", without suffix: .N.xml and .N.xml.log of each process; .seconds;
# .failed, a test per line.
report_of() { printf '%s/%s' "$reports" "$(tr -c '[:alnum:]\n' - <<<"$1")"; }

# begin_part NAME: prints a heading with what remains.
begin_part() {
    local left=$((expected - SECONDS + begun)) note=""
    parts_done=$((parts_done + 1))
    if ((expected && left > 0)); then note=", about $(minutes "$left") left"; fi
    printf '== %s (part %s of %s%s)\n' "$1" "$parts_done" "$parts_all" "$note"
    part_start=$SECONDS
}
# end_part NAME PASSED FAILED SKIPPED
end_part() {
    local seconds=$((SECONDS - part_start))
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    table+=("$(printf '%-44s %7d %7d %8d %7d s' "${1:0:44}" "$2" "$3" "$4" "$seconds")")
    if ((whole)); then printf '%s\n' "$seconds" >"$(report_of "$1").seconds"; fi
}
minutes() { if (($1 < 90)); then printf '%s s' "$1"; else printf '%s min' $((($1 + 30) / 60)); fi; }

# show_progress REPORT…: while the processes that write these reports run, shows on a terminal how many cases began.
show_progress() {
    if [[ ! -t 1 ]]; then return; fi
    while kill -0 $$ 2>/dev/null && sleep 1; do  # also Ctrl-C ends it
        printf '\r   %s cases' "$(cat "$@" 2>/dev/null | grep -c '<TestCase ')"
    done
}

# run_shards NAME PROGRAM ARGUMENT…: runs a Catch2 program, `processes` processes at once. Sets `counts` (passed,
# failed, skipped) and `failures_now`, the names of the failed cases.
#
# Each process takes a contiguous shard of the list of tests. In declaration order the tests of the ops, which build
# most of the pipelines, would all be in one of them; the list is therefore shuffled, with a fixed seed. Shards of long
# lists take different times, so there are several for each of the processes that run at once (`per_process`). With `of`
# above 1 only one part of the list in so many runs, another one with each `turn`.
#
# A process that dies of a signal, as of a fault in a driver, runs once more. The end of the output names it.
run_shards() {
    local base part code report totals successes failures skips pids=() files=() watcher death shards=$((per_process * processes))
    base=$(report_of "$1") counts=(0 0 0)
    totals='s/.*<OverallResultsCases successes="([0-9]+)" failures="([0-9]+)" .*skips="([0-9]+)".*/\1 \2 \3/p'
    local name=$1
    shift
    for ((part = 0; part < shards; ++part)); do
        files+=("$base.$part.xml")
        rm -f "$base.$part.xml"
    done
    show_progress "${files[@]}" &
    watcher=$!
    for ((part = 0; part < shards; ++part)); do
        while (($(jobs -rp | grep -cvx "$watcher") >= processes)); do sleep 0.1; done
        run_shard "$part" "${files[part]}" "$@" &
        pids+=($!)
    done
    for ((part = 0; part < shards; ++part)); do
        report=${files[part]} code=0
        wait "${pids[part]}" || code=$?
        if [[ -t 1 ]]; then printf '\r\033[K'; fi
        cat "$report.log"
        if ((code >= 128 && code != 130 && code != 137)) && ! grep -q '<OverallResultsCases' "$report" 2>/dev/null; then
            death="died once ($code): $name, in $(failed_cases "$report")"
            printf '%s; it runs again\n' "$death"
            reasons+=$death$'\n' code=0
            run_shard "$part" "$report" "$@" || code=$?
            cat "$report.log"
        fi
        if ((code == 130)); then exit 130; fi
        read -r successes failures skips <<<"$(sed -nE "$totals" "$report" 2>/dev/null | tail -n 1)" || true
        if ((code == 124 || code == 137)); then printf '%s: stopped after %s s\n' "$name" "$limit"; fi
        if [[ -z $successes ]]; then
            printf '%s: exited with %s before its last test\n' "$name" "$code"
            successes=0 failures=1 skips=0
        elif ((code != 0 && failures == 0)); then  # all cases passed, but the program failed at exit
            printf '%s: exit code %s\n' "$name" "$code"
            failures=1
        fi
        counts=($((counts[0] + successes)) $((counts[1] + failures)) $((counts[2] + skips)))
    done
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    failures_now=$(failed_cases "${files[@]}")
    reasons+=$({ cat "${files[@]}" 2>/dev/null || true; } | sed -n '/<Skip /{n;s/^ *//;p;}' | sort -u)$'\n'
}
# run_shard PART REPORT PROGRAM ARGUMENT…: one of the processes of run_shards.
run_shard() (
    part=$1 report=$2
    shift 2
    trap - INT  # Ctrl-C also ends these
    exec timeout --foreground --kill-after 10 "$limit" "$@" --order rand --rng-seed 25 --shard-count "$((shards * of))" \
        --shard-index "$((turn % of * shards + part))" --allow-running-no-tests --reporter console --reporter "xml::out=$report" \
        >"$report.log" 2>&1
)
# failed_cases REPORT…: the names of the cases that failed, or that a process died in, with &amp; and so on decoded.
failed_cases() {
    local name='s/.*<TestCase name="([^"]*)".*/\1/'
    { cat "$@" 2>/dev/null || true; } | sed -nE "/<TestCase /{$name;h;}; /<OverallResult success=\"true\"/{s/.*//;h;}
        /<OverallResult success=\"false\"/{g;p;s/.*//;h;}; /<Catch2TestRun/{g;/./p;s/.*//;h;}; \${g;/^[^<]/p;}" |
        sed -e 's/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&apos;/'"'"'/g; s/&amp;/\&/g; s/[][",\\]/\\&/g' | sort -u
}

# run_catch NAME PROGRAM ARGUMENT…: one part of a Catch2 program. What failed last runs first, by itself.
run_catch() {
    local name=$1 again failed_first=""
    shift
    begin_part "$name"
    again=$(report_of "$name").failed
    if ((whole)) && [[ -s $again ]]; then
        printf 'first, what failed last:\n'
        cp "$again" "$again-last"
        run_shards "$name, failed last" "$1" --input-file "$again-last"
        if ((counts[1])); then failed_first=$failures_now; fi
    fi
    run_shards "$name" "$@"
    if ((whole)); then printf '%s' "${failures_now:+$failures_now$'\n'}" >"$again"; fi
    list_failures "$name" "${failures_now//\\/}"
    if [[ -n $failed_first ]] && ((counts[1] == 0)); then
        list_failures "$name, but passed at the second run" "${failed_first//\\/}"
        counts[1]=1
    fi
    end_part "$name" "${counts[@]}"
}

# run_ctest NAME ARGUMENT…: one part of the tests registered with CTest.
run_ctest() {
    local name=$1 report code=0 tests=0 failures=0 skips=0
    shift
    report=$(report_of "$name").xml
    rm -f "$report"
    begin_part "$name"
    ctest --test-dir "$build" --parallel "$processes" --output-on-failure --no-tests=ignore --output-junit "$report" \
        --timeout "$limit" "$@" || code=$?
    if ((code == 130)); then exit 130; fi
    if [[ -f $report ]]; then
        tests=$(sed -nE 's/^[[:space:]]*tests="([0-9]+)".*/\1/p' "$report" | head -n 1)
        failures=$(sed -nE 's/^[[:space:]]*failures="([0-9]+)".*/\1/p' "$report" | head -n 1)
        skips=$(sed -nE 's/^[[:space:]]*skipped="([0-9]+)".*/\1/p' "$report" | head -n 1)
    fi
    if ((code != 0 && failures == 0)); then tests=$((tests + 1)) failures=1; fi
    if ((skips)); then
        reasons+=$(sed -nE '/<testcase .*status="notrun"/s/.*name="([^"]*)".*/\1: the test needs a program that is not installed/p' "$report")$'\n'
    fi
    list_failures "$name" "$(sed -nE '/<testcase .*status="fail"/s/.*name="([^"]*)".*/\1/p' "$report" 2>/dev/null)"
    end_part "$name" $((tests - failures - skips)) "${failures:-0}" "$skips"
}
# list_failures PART TESTS: names tests that failed, a line each, at the end of the output.
list_failures() {
    local test
    while IFS= read -r test; do
        if [[ -n $test ]]; then failed_tests+=("$test ($1)"); fi
    done <<<"$2"
}

# Makes SwiftShader visible to the Vulkan loader: Chromium's package has it in a folder where the loader does not look.
add_swiftshader() {
    local folder=/usr/lib/chromium
    local driver=$folder/vk_swiftshader_icd.json
    if [[ ! -f $driver || ! -f $folder/libvk_swiftshader.so ]]; then return; fi
    # VK_ADD_DRIVER_FILES is ignored if one of the other two is set.
    if [[ -n ${VK_DRIVER_FILES:-} ]]; then
        export VK_DRIVER_FILES="$VK_DRIVER_FILES:$driver"
    elif [[ -n ${VK_ICD_FILENAMES:-} ]]; then
        export VK_ICD_FILENAMES="$VK_ICD_FILENAMES:$driver"
    else
        export VK_ADD_DRIVER_FILES="${VK_ADD_DRIVER_FILES:+$VK_ADD_DRIVER_FILES:}$driver"
    fi
}

# Sets `listing`: a line "DEVICE<TAB>NAME" for each device to test on. Exits with 3 if there is none, or if a device
# that VANTAGE_REQUIRE names is missing.
list_devices() {
    local code=0 json=$root/build/devices.json name wanted require=() missing=()
    "$program" devices --json >"$json" || code=$?
    if ((code != 0)); then die "$code" "no device to test on (vantage devices --json exited with $code)"; fi
    listing=$(cmake "-DFILE=$json" -P "$root/cmake/devices.cmake" 2>&1) ||
        die 1 "cannot read the list of devices: $listing"
    IFS=, read -ra require <<<"${VANTAGE_REQUIRE:-}"
    for name in "${require[@]}"; do
        case ${name,,} in lavapipe) wanted=llvmpipe ;; *) wanted=$name ;; esac
        if ! grep -qi -- "$wanted" <<<"$listing"; then missing+=("$name"); fi
    done
    if ((${#missing[@]})); then
        die 3 "required but not found: ${missing[*]}; found: $(cut -f 2 <<<"$listing" | paste -sd';' -)"
    fi
    if [[ -n ${VANTAGE_DEVICE:-} ]]; then listing=$(printf '%s\t%s' "$VANTAGE_DEVICE" "$VANTAGE_DEVICE"); fi
    if [[ -z $listing ]]; then die 3 "no usable Vulkan device; to see why, run: $program devices"; fi
}

# run_parts ARGUMENT…: all parts. With counting=1 only counts them, and adds up how long they took last time.
run_parts() {
    local device name filter=("$@") but_once=() but_once_seen=() seen=() one_of=1
    local kernels_and_oracle='[ops]~[once],[softmax],[subgroup],[threads],[oracle]~[once]'
    if [[ ${VANTAGE_TEST_ONCE:-0} == 1 ]]; then
        but_once=(-LE '^once$')
        if ((whole)); then one_of=4 but_once_seen=("~[once]"); fi
    fi
    catch "host" vantage_tests_host "${filter[@]}"
    if ((whole)); then part run_ctest "files, consumer" -E '^(vantage_tests_|cli_|faults$|kills$|signals$)'; fi
    while IFS=$'\t' read -r device name; do
        export VANTAGE_DEVICE=$device
        seen=("${but_once_seen[@]}")
        if ((${#but_once[@]})); then
            export VANTAGE_TEST_SAMPLE=1/4 VANTAGE_TEST_KERNELS=1/1
            of=$one_of
            # Compiles slowly: an eighth of the tests of kernels and the oracle's models, with a sixteenth of the cases
            # and a fourth of the kernels. The samples are chosen independently, so that every combination comes up.
            if [[ ${name,,} == *swiftshader* ]]; then
                VANTAGE_TEST_SAMPLE=$((1 + turn / 8 % 16))/16 VANTAGE_TEST_KERNELS=$((1 + turn / 128 % 4))/4
                of=$((2 * one_of))
                if ((whole)); then seen=("$kernels_and_oracle"); fi
            fi
        fi
        per_process=3
        if [[ ${name,,} == *llvmpipe* ]]; then
            LP_NATIVE_VECTOR_WIDTH=256 catch "$name" vantage_tests_device "${filter[@]}" "${seen[@]}"
        else
            catch "$name" vantage_tests_device "${filter[@]}" "${seen[@]}"
        fi
        per_process=1
        if [[ ${name,,} == *llvmpipe* ]] && ((whole)); then  # what depends on the subgroup size, with a larger one
            LP_NATIVE_VECTOR_WIDTH=512 catch "$name, 512 bit" vantage_tests_device "[subgroup]"
        fi
        catch "$name, viewer" vantage_tests_view "${filter[@]}" "${but_once_seen[@]}"
        of=1
        if ((whole)); then part run_ctest "$name, command line" -R '^(cli_|faults$|kills$|signals$)' "${but_once[@]}"; fi
    done <<<"$listing"
    unset VANTAGE_TEST_SAMPLE VANTAGE_TEST_KERNELS
    if ((whole && ${#but_once[@]})); then
        # The device that a user would get by default, so not SwiftShader, which was added above.
        device=${given:-$(grep -vi swiftshader <<<"$listing" | head -n 1 | cut -f 1)} || true  # "": only SwiftShader
        if [[ -n $device ]]; then export VANTAGE_DEVICE=$device; else unset VANTAGE_DEVICE; fi
        part run_ctest "command line, files and texts" -R '^(cli_|faults$|kills$|signals$)' -L '^once$' \
            -I "$((1 + turn % (2 * one_of))),,$((2 * one_of))"
        of=$one_of
        VANTAGE_TEST_SAMPLE=2/4 LP_NATIVE_VECTOR_WIDTH=256 catch "long texts" vantage_tests_device "[once]"
        of=$((2 * one_of))
        catch "viewer, windows" vantage_tests_view "[once]"
        of=1
    fi
}
# part FUNCTION NAME ARGUMENT…
part() {
    if ((!counting)); then "$@"; return; fi
    parts_all=$((parts_all + 1))
    if [[ -f $(report_of "$2").seconds ]]; then expected=$((expected + $(<"$(report_of "$2").seconds")))
    else unknown=1; fi
}
# catch NAME TEST_PROGRAM ARGUMENT…: a part, if the program was built.
catch() { if [[ -x $build/$2 ]]; then part run_catch "$1" "$build/$2" "${@:3}"; fi; }

run_tests() {
    local listing="" given=${VANTAGE_DEVICE:-} whole=$(($# == 0)) counting=1 unknown=0 line
    add_swiftshader
    # lavapipe compiles a pipeline at its first dispatch; its cache keeps the result between runs. The caches are
    # separate from the user's.
    export MESA_SHADER_CACHE_DIR="${MESA_SHADER_CACHE_DIR:-$root/build/test-cache/mesa}"
    export VANTAGE_CACHE_DIR="${VANTAGE_CACHE_DIR:-$root/build/test-cache/vantage}"
    mkdir -p "$MESA_SHADER_CACHE_DIR" "$VANTAGE_CACHE_DIR" "$reports"
    list_devices
    run_parts "$@"
    if ((!whole)); then expected=0
    elif ((unknown)); then
        expected=0
        printf 'All tests take about an hour on two cores; how long here is known after the first run.\n'
    else printf 'All tests took %s here the last time.\n' "$(minutes "$expected")"; fi
    counting=0
    if [[ -n $given ]]; then export VANTAGE_DEVICE=$given; else unset VANTAGE_DEVICE; fi
    run_parts "$@"

    printf '\n%-44s %7s %7s %8s %9s\n' "" passed failed skipped time
    printf '%s\n' "${table[@]}"
    sort -u <<<"$reasons" | while read -r line; do
        case $line in
            "") ;;
            "died once"*) printf '%s\n' "$line" ;;
            *) printf 'skipped: %s\n' "$line" ;;
        esac
    done
    if ((${#failed_tests[@]})); then printf 'failed: %s\n' "${failed_tests[@]}"; fi
    printf '%s passed, %s failed\n' "$passed" "$failed"
    if ((failed || passed == 0)); then exit 1; fi
}
