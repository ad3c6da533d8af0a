# What the scripts of this folder share, read by `. "${VANTAGE_ROOT:?}/tests/cli/common.bash"`. They begin in a folder
# of their own, with caches and settings of their own, and stdin empty; they end with `exit $((failures > 0))`.
set -uo pipefail
program=${VANTAGE_BIN:?}
models=${VANTAGE_ROOT:?}/tests/data/oracle/models
# Settings of the caller's, such as VANTAGE_MODEL or VANTAGE_SEED, would change what the program does.
for variable in "${!VANTAGE_@}"; do
    case ${variable#VANTAGE_} in
        BIN | ROOT | DEVICE | GUARD | VALIDATE | TIMEOUT | NULL_DEVICE | FAULTS_PRELOAD) ;;
        *) unset "$variable" ;;
    esac
done
scratch=$(mktemp -d)
at_exit() { chmod -R u+w "$scratch" && rm -rf "$scratch"; }
trap 'if ((BASHPID == $$)); then at_exit; fi' EXIT # not in a background job that a signal ends before it is the program
export VANTAGE_CACHE_DIR=$scratch/cache XDG_CONFIG_HOME=$scratch/config
export LC_ALL=C # numbers with a point, in awk and printf
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

# documented_patterns FILE: the patterns of heads in a JSON file are words of the page's table, as those of `heads` are.
documented_patterns() {
    local pattern all
    all=$(grep -o '"pattern": "[^"]*"' "$1" | cut -d'"' -f4 | sort -u)
    [[ -n $all ]] || fail "$1 has no patterns"
    for pattern in $all; do
        grep -qF "| \`$pattern\` |" "$VANTAGE_ROOT/docs/reading-attention.md" || fail "docs/reading-attention.md has no pattern $pattern"
    done
}

# ---- programs that run beside the script ----------------------------------------------------------------------------

# until_true COMMAND…: waits until COMMAND succeeds, or $job has ended. Five minutes are more than any of them needs.
until_true() {
    local i
    for ((i = 0; i < 6000; ++i)); do
        if "$@" || has_ended; then return 0; fi
        sleep 0.05
    done
    fail "after five minutes still waiting for: $*"
    return 1
}
# begin COMMAND…: starts it as $job, with stdout to text and stderr to err.
begin() {
    : >"$scratch/text"
    : >"$scratch/err"
    # a background job of a script ignores SIGINT, unless it has a process group of its own
    set -m
    "$@" >"$scratch/text" 2>"$scratch/err" &
    job=$!
    set +m
}
has_ended() { ! kill -0 "$job" 2>/dev/null; }
# in_line: whether $job is in the middle of a line of its text. Then it stands still until `continue_with SIGNAL`.
in_line() {
    kill -STOP "$job"
    if [[ -s $scratch/text && -n $(tail -c 1 "$scratch/text") ]]; then return 0; fi
    kill -CONT "$job"
    return 1
}
continue_with() {
    kill -s "$1" "$job"
    kill -CONT "$job"
}
# ends_quietly WHAT [CODE]: $job, which was sent a signal, ends with 130, or with CODE if its work was done, and without
# a word. It has five minutes, because the machine may be busy.
ends_quietly() {
    local code=0 begin=$SECONDS done=${2:-130}
    until_true has_ended || kill -KILL "$job"
    wait "$job" || code=$?
    check "$1 ends with 130 (got $code)" test $code = 130 -o $code = "$done"
    check "$1 ends it at once (took $((SECONDS - begin)) s)" test $((SECONDS - begin)) -lt 300
    check "$1 says nothing ($(<"$scratch/err"))" test ! -s "$scratch/err"
}
# interrupted WHEN COMMAND…: Ctrl-C ends COMMAND. WHEN is a number of seconds, at a moment that does not matter, or a
# condition to wait for. On a fast device a command may end before.
interrupted() {
    local when=$1
    shift
    begin "$@"
    if [[ $when == [0-9]* ]]; then sleep "$when"; else until_true eval "$when"; fi
    if has_ended; then
        wait "$job" || fail "$*: ended with $? before Ctrl-C: $(<"$scratch/err")"
        return
    fi
    kill -INT "$job"
    ends_quietly "Ctrl-C ($when): $*:" "$([[ $when == [0-9]* ]] && echo 0)"
}

# place FILE TENSOR: first and last byte of a tensor in a safetensors file.
place() {
    local header begin end
    header=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    read -r begin end < <(head -c $((header + 8)) "$1" | tail -c "$header" | tr -d ' ' | grep -o "\"$2\":{[^}]*}" | sed 's/.*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/')
    [[ -n ${end:-} ]] && echo "$((header + 8 + begin)) $((header + 8 + end))"
}
# bytes FILE TENSOR
bytes() {
    local begin end
    read -r begin end < <(place "$1" "$2") || return 1
    { tail -c +$((begin + 1)) "$1" || true; } | head -c $((end - begin))  # head may end first: then tail has SIGPIPE
}
# ids FILE TENSOR: 1,2,3
ids() { bytes "$1" "$2" | od -An -v -w4 -t d4 | tr -d ' ' | paste -sd,; }
# close FILE TENSOR FILE TENSOR ALLOWED: the same number of floats, none further apart.
close() {
    bytes "$1" "$2" | od -An -v -w4 -t f4 >got
    bytes "$3" "$4" | od -An -v -w4 -t f4 >want
    paste got want | awk -v allowed="$5" '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= allowed) || NF != 2) bad++; if (d > worst) worst = d }
        END { if (NR == 0 || bad) { printf "%d of %d differ, the worst by %g\n", bad, NR, worst; exit 1 } }' >difference || fail "$2 of $1: $(<difference)"
}
