#!/usr/bin/env bash
# Tests tests/run.bash: what it runs on which device, what it says at the start and at the end, and that it begins with
# what failed last. The test programs, CTest and the list of devices are stand-ins; cmake is the system's.
set -uo pipefail
source_root=${VANTAGE_ROOT:?}
unset "${!VANTAGE_@}" VK_ADD_DRIVER_FILES
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch build=$root/build/release program=$root/build/release/vantage
failures=0
mkdir -p "$build" "$scratch/bin" && cp -r "$source_root/cmake" "$root"
export log=$scratch/log broken=$scratch/broken PATH=$scratch/bin:$PATH
: >"$log"
: >"$broken"

# Two devices.
cat >"$program" <<'END'
#!/usr/bin/env bash
echo '[{"name": "llvmpipe (LLVM)", "uuid": "aa", "index": 0, "usable": true},
       {"name": "Other GPU", "uuid": "bb", "index": 1, "usable": true}]'
END
# Catch2: three cases in the first of the processes, of which those named in $broken fail.
cat >"$scratch/catch" <<'END'
#!/usr/bin/env bash
printf '%s %s\n' "${0##*/}" "${VANTAGE_DEVICE:-none} $*" >>"$log"
report=$(sed -n 's/.*xml::out=\([^ ]*\).*/\1/p' <<<"$*")
wrong=0
if [[ $* == *"--shard-index 0"* ]]; then names=("adds numbers" "a <tag> & more" "is skipped"); else names=(); fi
if [[ $* == *--input-file* ]]; then mapfile -t names < <([[ $* == *"--shard-index 0"* ]] && sed 's/\\//g' "$(sed 's/.*--input-file \([^ ]*\).*/\1/' <<<"$*")"); fi
{
    echo '<Catch2TestRun>'
    for name in "${names[@]}"; do
        result=true
        if grep -qxF -- "$name" "$broken"; then result=false wrong=$((wrong + 1)); fi
        printf '  <TestCase name="%s">\n' "$(sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$name")"
        if [[ $name == "is skipped" ]]; then printf '    <Skip file="x">\n      no window here\n    </Skip>\n'; fi
        printf '    <OverallResult success="%s"/>\n  </TestCase>\n' "$result"
    done
    all=${#names[@]} skips=$((${#names[@]} == 3))
    printf '  <OverallResultsCases successes="%s" failures="%s" expectedFailures="0" skips="%s"/>\n</Catch2TestRun>\n' \
        $((all - wrong - skips)) "$wrong" "$skips"
} >"$report"
exit $((wrong > 0))
END
for name in vantage_tests_host vantage_tests_device vantage_tests_view; do cp "$scratch/catch" "$build/$name"; done
cat >"$scratch/bin/ctest" <<'END'
#!/usr/bin/env bash
printf 'ctest %s\n' "${VANTAGE_DEVICE:-none} $*" >>"$log"
report=$(sed -n 's/.*--output-junit \([^ ]*\).*/\1/p' <<<"$*")
wrong=$([[ -s $broken ]] && echo 1 || echo 0)
{
    printf '<testsuite name=""\n\ttests="4"\n\tfailures="%s"\n\tdisabled="0"\n\tskipped="1"\n>\n' "$wrong"
    printf '<testcase name="cli_window" status="notrun">\n'
    if ((wrong)); then printf '<testcase name="cli_run" status="fail">\n'; fi
    printf '</testsuite>\n'
} >"$report"
exit "$wrong"
END
chmod +x "$program" "$build"/vantage_tests_* "$scratch/bin/ctest"

die() { shift; printf '%s\n' "$*"; exit 3; }
. "$source_root/tests/run.bash"

# called CODE ARGUMENT…: run_tests in a process of its own; its output in $scratch/out.
called() {
    local wanted=$1 code=0
    shift
    : >"$log"
    (run_tests "$@") >"$scratch/out" 2>&1 || code=$?
    if ((code != wanted)); then fail "run_tests $*: exit code $code, wanted $wanted"; fi
}
fail() {
    printf 'FAILED: %s\n' "$1"
    sed 's/^/    | /' "$scratch/out"
    failures=$((failures + 1))
}
says() { grep -qE -- "$1" "$scratch/out" || fail "wanted in the output: $1"; }
ran() { grep -qE -- "$1" "$log" || fail "wanted among the calls: $1 ($(<"$log"))"; }

called 0
says '^All tests take about an hour on two cores'
says '^== host \(part 1 of 9'
says '^== Other GPU, command line \(part 9 of 9'
says '^ +passed +failed +skipped +time$'
says '^host +2 +0 +1 +[0-9]+ s$'
says '^llvmpipe \(LLVM\), 512 bit +2 +0 +1'
says '^Other GPU, command line +3 +0 +1'
says '^skipped: no window here$'
says '^skipped: cli_window: '
says '^21 passed, 0 failed$'
ran '^vantage_tests_device uuid:aa .*\[subgroup\]'
ran '^vantage_tests_view uuid:bb '
ran '^ctest uuid:bb .*cli_'

printf '%s\n' 'a <tag> & more' >"$broken"
called 1
says '^All tests took [0-9]+ s here the last time\.$'
says '^host +1 +1 +1'
says '^failed: a <tag> & more \(Other GPU, viewer\)$'
says '^failed: cli_run \(Other GPU, command line\)$'
: >"$broken"
called 0
says '^first, what failed last:$'
ran '^vantage_tests_host .*--input-file .*host\.failed-last'
if (($(grep -c '^vantage_tests_host' "$log") != 2 * $(nproc) && $(nproc) < 5)); then fail "what failed last runs by itself"; fi
called 0
if grep -q 'what failed last' "$scratch/out"; then fail "what passed is not run first"; fi

# A filter runs the Catch2 programs alone.
called 0 '[ops]'
ran '^vantage_tests_device uuid:bb \[ops\]'
if grep -q '^ctest' "$log"; then fail "a filter runs CTest"; fi
VANTAGE_DEVICE=uuid:bb called 0
if grep -q 'uuid:aa' "$log"; then fail "VANTAGE_DEVICE is the only device"; fi
VANTAGE_REQUIRE=swiftshader,other called 3
says 'required but not found: swiftshader; found: llvmpipe \(LLVM\);Other GPU'
# A process that dies of a signal runs once more, and is named.
cp "$build/vantage_tests_view" "$scratch/view"
cat >"$build/vantage_tests_view" <<END
#!/usr/bin/env bash
if [[ \$* == *"--shard-index 0"* && ! -e $scratch/died ]]; then
    touch $scratch/died
    echo '  <TestCase name="adds numbers">' >"\$(sed -n 's/.*xml::out=\([^ ]*\).*/\1/p' <<<"\$*")"
    kill -ABRT \$\$
fi
exec $scratch/view "\$@"
END
called 0 '[ops]'
says '^died once \(134\): llvmpipe \(LLVM\), viewer, in adds numbers$'
called 0 '[ops]'
if grep -q 'died once' "$scratch/out"; then fail "a process that did not die is named"; fi

# A process that hangs is stopped, and is a failure.
printf '#!/usr/bin/env bash\nexec sleep 60\n' >"$build/vantage_tests_view"
limit=1
called 1 '[ops]'
says ': stopped after 1 s$'
exit $((failures > 0))
