#!/usr/bin/env bash
# Makes every call of the program's own code fail once, at each place that leads to it (preload.cpp says what a place
# is), over eight commands: allocations, files, mappings, threads. Then it interrupts and shortens all calls. A place
# that an earlier command came by, such as the declaration of an option, is not repeated.
#
# usage: run.sh [--sample N] [COMMAND…] [COMMAND:KIND:FUNCTION…]
#   COMMAND: run, inspect, heads, embed, view, demo, tokenize, train. Default: all
#   COMMAND:KIND:FUNCTION: one run, in which the first call of this kind that FUNCTION leads to fails, such as
#   run:new:ChromeTrace::text
#
# What must happen:
#   new fails            exit code 4 and one line, or 0 with the same output where what failed is optional
#   mmap fails           4
#   a thread fails       4, or 0 with the same output
#   files: EIO, ENOSPC   6, or 0 with the same output where the file is optional; below the cache 0, but 6 or 0 for
#                        train, which keeps its tokens there; for the files of drivers, which VK_ADD_DRIVER_FILES
#                        names, 3
#   EINTR, short calls   0 with the same output
# Never a signal, a hang of 300 s, or a file beside those that are asked for.
# --sample N runs N places of each kind and command, evenly over all of them. The full run takes hours.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
preload=$(basename -- "${VANTAGE_FAULTS_PRELOAD:?the library made of tests/faults/preload.cpp}")
# LD_PRELOAD cannot hold a path with a space.
export LD_LIBRARY_PATH=$(dirname -- "$VANTAGE_FAULTS_PRELOAD")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
sample=0
if [[ ${1-} == --sample ]]; then sample=$2; shift 2; fi
commands=() named=()
for argument; do
    if [[ $argument == *:*:* ]]; then named+=("$argument"); else commands+=("$argument"); fi
done
if ((!$#)); then commands=(run inspect heads embed view demo tokenize train); fi
unset VANTAGE_VALIDATE VANTAGE_GUARD  # slow, and the layer allocates for itself
# One driver thread per run: runs go side by side.
mini=$VANTAGE_ROOT/assets/models/mini-world
export LP_NUM_THREADS=1 preload program models mini

# arguments COMMAND: sets `arguments` to what the program is called with, in a folder of its own.
arguments() {
    case $1 in
        run) arguments=(run -q -p Hello -n 2 --profile profile.json) ;;
        inspect) arguments=(inspect -p Hello --save all.safetensors --png heads) ;;
        heads) arguments=(heads -p Hello --json) ;;
        embed) arguments=(embed -m "$models/bert" -p Hello --save vectors.safetensors) ;;
        view) arguments=(view --headless --png map.png -p Hello -n 1) ;;
        demo) arguments=(demo --out demo) ;;
        tokenize) arguments=(tokenize) ;;
        # one checkpoint, at the end: with an earlier one, a second line says where it is
        train) arguments=(train -q --data "$mini/valid.txt" --tokenizer "$mini/tokenizer.json" --blank-lines --layers 1
            --width 16 --heads 2 --context 16 --batch-tokens 64 --steps 2 --save-every 0 -o trained) ;;
        *) echo "no such command: $1" >&2; exit 2 ;;
    esac
}
# called COMMAND NAME SETTING…: runs it with these variables; NAME.out, NAME.err, NAME.code, and the folder NAME.
called() {
    local command=$1 name=$2 code=0 arguments
    shift 2
    rm -rf "$name" && cp -r "cache-$command" "$name.cache" && mkdir "$name"
    arguments "$command"
    (cd "$name" && exec env VANTAGE_CACHE_DIR="$PWD.cache" "$@" LD_PRELOAD="$preload" \
        timeout -s KILL 300 "$program" "${arguments[@]}" <<<"Hello" >"../$name.out" 2>"../$name.err") || code=$?
    echo "$code" >"$name.code"
    chmod -R u+w "$name.cache" && rm -rf "$name.cache"
}
# verdict COMMAND NAME KIND: what is wrong, or nothing.
verdict() {
    local command=$1 name=$2 kind=$3 code lines allowed left
    code=$(<"$name.code")
    lines=$(wc -l <"$name.err")
    case $kind in
        new | pthread_create) allowed="4 0" ;;
        mmap) allowed=4 ;;
        every) allowed=0 ;;
        *:cache) if [[ $command == train ]]; then allowed="6 0"; else allowed=0; fi ;;
        *)
            allowed="6 0"
            if grep -q "names no Vulkan driver" "$name.err"; then allowed=3; fi
            ;;
    esac
    if [[ " $allowed " != *" $code "* ]]; then
        echo "exit code $code, wanted $allowed"
    elif ((code != 0 && lines != 1)); then
        echo "$lines lines on stderr"
    elif ((code == 0)) && ! cmp -s "$name.out" "healthy-$command.out"; then
        echo "another output"
    fi
    left=$(cd "$name" && find . -name '*.tmp-*' -print -quit)
    if [[ -n $left ]]; then echo "left $left"; fi
}
# one COMMAND KIND PLACE ERROR: one run; prints a line for a fault of the program.
one() {
    local command=$1 kind=$2 place=$3 error=$4 name wrong
    name=at-$command-$place-$error
    called "$command" "$name" FAULTS_AT="$place" FAULTS_ERRNO="$error" FAULTS_HIT="$PWD/$name.hit"
    wrong=$(verdict "$command" "$name" "$kind")
    if [[ ! -e $name.hit ]]; then
        echo "$command $kind" >>missed
    elif [[ -n $wrong ]]; then
        printf 'FAILED: %s, %s at %s, error %s: %s: %s\n' "$command" "$kind" "$place" "$error" "$wrong" \
            "$(head -c 300 "$name.err")"
    fi
    rm -rf "$name" "$name".*
}
export -f one called verdict arguments
# chosen FILE: the lines of it that run, at most $sample, evenly spread.
chosen() { awk -v n="$sample" 'NR == FNR { all = FNR; next } n == 0 || int((FNR - 1) * n / all) != int(FNR * n / all)' "$1" "$1"; }

# warm COMMAND: fills its cache, once.
warm() {
    if [[ -e cache-$1 ]]; then return; fi
    mkdir "cache-$1" "warm-$1"
    local arguments
    arguments "$1"
    (cd "warm-$1" && VANTAGE_CACHE_DIR=$scratch/cache-$1 "$program" "${arguments[@]}" <<<Hello >/dev/null 2>&1)
}
# addresses FUNCTION: where its code is in the program, as FROM-TO,…
addresses() {
    local from size name list=
    while read -r from size _ name; do
        if [[ $name =~ ^vantage::([a-z]+::)*$1(\[abi:[a-z0-9]+\])?\( ]]; then
            list+=${list:+,}$(printf '%x-%x' "0x$from" $((0x$from + 0x$size)))
        fi
    done < <(nm -CS --defined-only "$program" | grep -F "$1")
    echo "$list"
}
# below COMMAND KIND FUNCTION: the first call of this kind that FUNCTION leads to. It is not optional.
below() {
    local command=$1 kind=$2 function=$3 name=below-$1-$2 want=4 error=$enomem where wrong
    if [[ $kind != new ]]; then want=6 error=$enospc; fi
    where=$(addresses "$function")
    if [[ -z $where ]]; then
        fail "$program has no function $function"
        return
    fi
    warm "$command"
    called "$command" "$name" FAULTS_BELOW="$where" FAULTS_KIND="$kind" FAULTS_ERRNO="$error" FAULTS_HIT="$PWD/$name.hit"
    check "$command: $kind below $function was called" test -e "$name.hit"
    wrong=$(verdict "$command" "$name" "$kind")
    if [[ $(<"$name.code") != "$want" ]]; then wrong="exit code $(<"$name.code"), wanted $want"; fi
    check "$command: $kind below $function: $wrong $(head -c 300 "$name.err")" test -z "$wrong"
    printf '%-9s %s below %s: exit code %s\n' "$command" "$kind" "$function" "$(<"$name.code")"
}

eio=5 enomem=12 enospc=28
: >missed
: >tried
for command in "${commands[@]}"; do
    warm "$command"
    : >"list-$command"
    called "$command" "healthy-$command" FAULTS_LIST="$PWD/list-$command"
    check "$command has places for faults" test "$(wc -l <"list-$command")" -gt 1000
    check "$command succeeds ($(<"healthy-$command.err"))" test "$(<"healthy-$command.code")" = 0
    for every in interrupt short; do
        called "$command" "every-$command" FAULTS_EVERY=$every
        wrong=$(verdict "$command" "every-$command" every)
        check "$command with $every calls: $wrong $(head -c 300 "every-$command.err")" test -z "$wrong"
    done
    sort -u "list-$command" | comm -23 - tried >new-places
    awk '{ print > "places-" $1 }' new-places
    sort -mu -o tried tried new-places
    shopt -s nullglob
    for places in places-*; do
        kind=${places#places-}
        case $kind in
            new | mmap) errors=($enomem) ;;
            open* | read* | pread* | flock* | pthread_create) errors=($eio) ;;
            *) errors=($eio $enospc) ;;
        esac
        for error in "${errors[@]}"; do
            chosen "$places" | awk -v c="$command" -v k="$kind" -v e="$error" '{ print c, k, $2, e }'
        done
    done >"runs-$command"
    rm -f places-*
    xargs -P "$(nproc)" -L 1 bash -c 'one "$@"' one <"runs-$command" | tee "faults-$command"
    found=$(wc -l <"faults-$command")
    lost=$(grep -c "^$command " missed)
    check "most places of $command come again ($lost did not)" test $((2 * lost)) -le "$(wc -l <"runs-$command")"
    printf '%-9s %5d places, %5d of them new, %5d runs, %d faults\n' "$command" "$(wc -l <"list-$command")" \
        "$(wc -l <new-places)" "$(wc -l <"runs-$command")" "$found"
    failures=$((failures + found))
done
for entry in "${named[@]}"; do
    rest=${entry#*:}
    below "${entry%%:*}" "${rest%%:*}" "${rest#*:}"
done
if [[ -s missed ]]; then echo "$(wc -l <missed) runs did not come by their place again (threads)"; fi
exit $((failures > 0))
