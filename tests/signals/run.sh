#!/usr/bin/env bash
# Sends signals of six kinds to all commands of the program, at random moments.
#
# usage: run.sh [--sample] [--seed N] COUNT      COUNT: number of signals; for a measurement 1000
#
# What must happen, wherever the signal strikes:
#   INT TERM HUP QUIT PIPE   exit code 130 without a word (`train` says where it saved); 0 when the work was done, or
#                            `chat` went on after Ctrl-C. Before main: the end by the signal itself
#   KILL                     the end
#   all                      files that were asked for are whole or not there; the next start gives the right result.
#                            `train --resume` goes on from the last checkpoint, to the same model
#   all but KILL             no temporary file beside them or in the cache
# Without --sample also: the end comes within half a second. What takes longer, because it has results to write or is in a
# driver's call, ends within half a second of a second signal. --sample judges nothing by the clock, and takes COUNT of the commands, each day others.

# Where it was started by nohup, SIGHUP is ignored, and would be by what it starts.
if [[ -z ${VANTAGE_SIGNALS_ARE_DEFAULT:-} ]]; then
    exec env --default-signal VANTAGE_SIGNALS_ARE_DEFAULT=1 bash "$0" "$@"
fi
unset VANTAGE_SIGNALS_ARE_DEFAULT
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
judge_time=1 seed=
while (($# > 1)); do
    case $1 in
        --sample) judge_time=0; shift ;;
        --seed) seed=$2; shift 2 ;;
        *) echo "no such option: $1" >&2; exit 2 ;;
    esac
done
count=${1:?the number of signals}
if [[ -z $seed ]]; then
    if ((judge_time)); then seed=1; else seed=$((10#$(date +%j))); fi
fi
RANDOM=$seed
export VANTAGE_NO_PROGRESS=1
unset VANTAGE_VALIDATE VANTAGE_GUARD # slow
export MESA_SHADER_CACHE_DIR=$scratch/mesa
mini=$VANTAGE_ROOT/assets/models/mini-world
story="Once upon a time there was a dog. The dog chased the birds. "
printf 'Hello\nWhere is the key?\n' >"$scratch/lines"

names=(run batch chat inspect heads embed classify tokenize explain devices conform tune bench speed view apng demo prune dump
    replay train)
if ((!judge_time && count < ${#names[@]})); then
    chosen=()
    for ((i = 0; i < count; ++i)); do chosen+=("${names[(seed * count + i) % ${#names[@]}]}"); done
    if [[ " ${chosen[*]} " == *" replay "* && " ${chosen[*]} " != *" dump "* ]]; then chosen=(dump "${chosen[@]}"); fi
    names=("${chosen[@]}")
fi
# arguments NAME: sets `arguments`. Results go to files of the working folder.
arguments() {
    case $1 in
        run) arguments=(run -q -p "$story" -n 200 --ignore-eos) ;;
        batch) arguments=(run -q -p "$story" -p Hello -n 50 --ignore-eos --json --precision f32) ;;
        chat) arguments=(chat -q --template chatml -n 60 --temp 0) ;;
        inspect) arguments=(inspect -p "$story" --save all.safetensors --png map.png) ;;
        heads) arguments=(heads -p "$story" --json) ;;
        embed) arguments=(embed -m "$models/bert" -p Hello --save vectors.safetensors) ;;
        classify) arguments=(classify -m "$models/bert" -p "the [MASK]" --json) ;;
        tokenize) arguments=(tokenize) ;;
        explain) arguments=(explain --json) ;;
        devices) arguments=(devices) ;;
        conform) arguments=(conform --op softmax) ;;
        tune) arguments=(tune --quick --seconds 5) ;;
        bench) arguments=(bench ops --quick --op add) ;;
        speed) arguments=(bench model --pp 32 --tg 8 -r 1 --no-start) ;;
        view) arguments=(view --headless -p "$story" --rows 8 --png map.png --save map.csv) ;;
        apng) arguments=(view --headless -p "$story" --rows 12 --apng film.apng) ;;
        demo) arguments=(demo --out demo) ;;
        prune) arguments=(prune --heads 0.1,3.2 -o pruned) ;;
        dump) arguments=(inspect -p "$story" --dump dumped --dump-node h.1.attention) ;;
        replay) arguments=(replay "$scratch/right-dump/dumped") ;;
        train) arguments=(train -q --data "$mini/valid.txt" --tokenizer "$mini/tokenizer.json" --blank-lines --layers 1
            --width 16 --heads 2 --context 16 --batch-tokens 64 --steps 60 --save-every 10 --eval-every 30 -o trained) ;;
    esac
}
# started NAME FOLDER: begins the command as $job, in FOLDER and with its cache FOLDER.cache.
started() {
    mkdir -p "$2"
    arguments "$1"
    set -m # a background job of a script ignores SIGINT, unless it has a process group of its own
    (cd "$2" && VANTAGE_CACHE_DIR=$2.cache exec "$program" "${arguments[@]}") <"$scratch/lines" >"$2.out" 2>"$2.err" &
    job=$!
    set +m
}
# resumed FOLDER: goes on with the training run in it; prints what is wrong. A run without a checkpoint begins anew.
resumed() {
    local code=0 checkpoint=$1/trained/step-000060
    local again=(train -q --resume "$1/trained")
    if [[ -e $checkpoint ]]; then again=(tokenize -m "$1/trained/latest"); fi
    if ! compgen -G "$1/trained/step-[0-9][0-9][0-9][0-9][0-9][0-9]" >/dev/null; then
        if [[ -s $1/trained/log.jsonl ]]; then rm "$1/trained/log.jsonl"; fi
        arguments train
        again=("${arguments[@]}")
    fi
    (cd "$1" && VANTAGE_CACHE_DIR=$1.cache exec "$program" "${again[@]}") <"$scratch/lines" >/dev/null 2>"$1.err" || code=$?
    if ((code)); then echo "${again[0]} ends with $code: $(head -c 300 "$1.err")"; fi
    for file in model training; do
        if ! cmp -s "$checkpoint/$file.safetensors" "$scratch/right-train/trained/step-000060/$file.safetensors"; then
            echo "another $file.safetensors"
        fi
    done
    find "$1/trained" -name '*.tmp-*' -printf 'left %f\n'
}
now() { echo $((${EPOCHREALTIME//[!0-9]/} / 1000)); } # milliseconds
# ended MILLISECONDS: whether $job ends before.
ended() {
    local until=$(($(now) + $1))
    while ! has_ended; do
        if (($(now) > until)); then return 1; fi
        sleep 0.01
    done
}
# Files of these commands are the same in each run; tuning tables and pictures with times are not.
compared=" inspect embed view apng "

# ---- without signals: what is right, and how long it takes ----------------------------------------------------------

declare -A milliseconds
for name in "${names[@]}"; do
    begin=$(now)
    started "$name" "$scratch/right-$name"
    code=0
    { wait "$job"; } 2>/dev/null || code=$?
    milliseconds[$name]=$(($(now) - begin))
    check "$name succeeds ($code, $(<"$scratch/right-$name.err"))" test "$code" = 0
done
if ((failures > 0)); then exit 1; fi # signals would only repeat this
text=$("$program" run -q -p Hello -n 3 --temp 0)

# ---- signals --------------------------------------------------------------------------------------------------------

signals=(KILL TERM INT HUP PIPE QUIT)
declare -A late ends_by
struck=0 before=0 left_by_kill=0
for ((i = 0; i < count; ++i)); do
    name=${names[i % ${#names[@]}]}
    signal=${signals[RANDOM % ${#signals[@]}]}
    folder=$scratch/at-$i
    # every other run begins without the kernels that were compiled before
    if ((RANDOM % 2)); then cp -r "$scratch/right-$name.cache" "$folder.cache" 2>/dev/null; fi
    moment=$(((RANDOM * 32768 + RANDOM) % (milliseconds[$name] + 1)))
    started "$name" "$folder"
    sleep "$(printf '%d.%03d' $((moment / 1000)) $((moment % 1000)))"
    what="$name, SIG$signal after $moment ms (seed $seed, $i)"
    if ended 0; then signal=none; else struck=$((struck + 1)); fi
    if [[ $signal != none ]]; then kill -s "$signal" "$job" 2>/dev/null; fi
    if ((judge_time)) && [[ $name:$signal != chat:INT ]] && ! ended 500; then
        late[$name]=$((${late[$name]:-0} + 1))
        kill -s TERM "$job" 2>/dev/null
        if ! ended 500; then fail "$what: a second signal did not end it, either"; fi
    fi
    if ! ended 300000; then fail "$what: no end for five minutes"; kill -KILL "$job"; fi
    code=0
    { wait "$job"; } 2>/dev/null || code=$?
    number=0
    if [[ $signal != none ]]; then number=$(kill -l "$signal"); fi
    # a signal that arrives before main ends the program by itself
    case $signal:$code in
        none:0 | KILL:137 | [!nK]*:130 | [!nK]*:0) ;;
        [!nK]*:$((128 + number))) before=$((before + 1)) ;;
        KILL:0) ;; # it had just ended
        *) fail "$what: ends with $code: $(head -c 300 "$folder.err")" ;;
    esac
    ends_by[$code]=$((${ends_by[$code]:-0} + 1))
    says=$(<"$folder.err")
    if [[ $name == train && $says =~ ^[^$'\n']*"saved trained/step-"[^$'\n']*"train --resume trained"$ ]]; then says=; fi
    if [[ $code = 130 && -n $says && $name != tune ]]; then fail "$what: says $(head -c 300 "$folder.err")"; fi
    left=$(find "$folder" "$folder.cache" -name '*.tmp-*' 2>/dev/null)
    if [[ $signal == KILL && -n $left ]]; then
        left_by_kill=$((left_by_kill + 1))
    elif [[ -n $left ]]; then
        fail "$what: left $left"
    fi
    if [[ $compared == *" $name "* ]]; then
        for file in "$folder"/*; do
            if [[ -f $file ]] && ! cmp -s "$file" "$scratch/right-$name/${file##*/}"; then fail "$what: half of ${file##*/}"; fi
        done
    fi
    if [[ $name == train ]]; then
        wrong=$(resumed "$folder")
        if [[ -n $wrong ]]; then fail "$what: then $wrong"; fi
    fi
    again=$(VANTAGE_CACHE_DIR=$folder.cache "$program" run -q -p Hello -n 3 --temp 0 2>&1)
    if [[ $again != "$text" ]]; then fail "$what: the next start gives $again"; fi
    rm -rf "$folder" "$folder".*
done

printf '%d signals, %d of them at a running program, %d before main, %d temporary files left by SIGKILL\n' \
    "$count" "$struck" "$before" "$left_by_kill"
for code in "${!ends_by[@]}"; do printf 'exit code %s: %s\n' "$code" "${ends_by[$code]}"; done
for name in "${!late[@]}"; do
    printf '%s: %s took more than 0.5 s\n' "$name" "${late[$name]}"
done
exit $((failures > 0))
