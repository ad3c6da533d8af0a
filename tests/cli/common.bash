# What the scripts of this folder share, read by `. "${VANTAGE_ROOT:?}/tests/cli/common.bash"`. They begin in a folder
# of their own, with pipeline caches of their own, and stdin empty; they end with `exit $((failures > 0))`.
set -uo pipefail
program=${VANTAGE_BIN:?}
models=${VANTAGE_ROOT:?}/tests/data/oracle/models
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
export VANTAGE_CACHE_DIR=$scratch/cache
cd "$scratch" || exit 1
exec </dev/null
failures=0

fail() {
    printf 'FAILED: %s\n' "$*"
    failures=$((failures + 1))
}
# check WHAT COMMAND…: COMMAND succeeds.
check() {
    local what=$1
    shift
    "$@" || fail "$what"
}
# ends CODE TEXT ARGUMENTS…: the program ends with CODE and one line on stderr with TEXT in it.
ends() {
    local code=$1 text=$2 got=0
    shift 2
    "$program" "$@" >out 2>err || got=$?
    if ((got != code || $(wc -l <err) != 1)) || [[ $(<err) != *"$text"* ]]; then
        fail "$*: wanted $code and one line with \"$text\", got $got: $(<err)"
    fi
}
# gives TEXT ARGUMENTS…: the program ends with 0 and TEXT is in what it prints.
gives() {
    local text=$1
    shift
    "$program" "$@" >out 2>err || fail "$*: $(<err)"
    [[ $(<out) == *"$text"* ]] || fail "$*: wanted \"$text\", got $(<out)"
}
