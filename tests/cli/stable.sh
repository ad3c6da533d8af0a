#!/usr/bin/env bash
# --stable, and f32 without it: a text is the same alone and beside others, in batches of any size, in any context.
# Once: it is about options and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
# In f16 and without --stable this prompt's text depends on the other one (on lavapipe of Mesa 22.3).
prompt="garden his her her saw and box upon put Mia key time to"

# text_of OPTIONS…: what follows on the prompt, which is the first of several.
text_of() { "$program" run -q -p "$prompt" -p Once -n 12 --seed 5 "$@" | sed -n 2p; }

printf '%s\n' "$prompt" "Once upon a time" "The dog" "A red key" "Mia put the key in the" "Tom" "One day the old cat" \
    "In the garden there was a" "The baker and the boy" "She saw" "He" >prompts
for options in "--stable" "--precision f32" "--stable --weights q8" "--stable --weights q4 --precision int8"; do
    read -ra words <<<"$options"
    alone=$("$program" run -q -p "$prompt" -n 12 --seed 5 "${words[@]}")
    check "$options: a text" test -n "$alone"
    check "$options: beside another" test "$(text_of "${words[@]}")" = "$alone"
    "$program" run -q -p "$prompt" -n 12 --seed 5 --ctx 40 "${words[@]}" >narrow
    check "$options: in another context" test "$(<narrow)" = "$alone"
    for together in 1 3 16; do
        "$program" run -q --prompts prompts -n 12 --seed 5 --batch "$together" "${words[@]}" >"by-$together"
        check "$options: --batch $together" cmp -s by-1 "by-$together"
    done
    check "$options: first of many" test "$(sed -n 2p by-16)" = "$alone"
done

printf 'The dog\n/reset\nThe dog\n' | "$program" chat -q --template chatml -n 8 --stable --json >turns 2>err ||
    fail "chat: $(<err)"
check "a chat repeats after /reset" test "$(head -n 1 turns | grep -o '"reply":.*"ending"')" = "$(tail -n 1 turns | grep -o '"reply":.*"ending"')"

"$program" inspect -q -p "The dog" --json --precision f16 >json
check "inspect says that it is not" grep -q '"stable": *false' json
"$program" inspect -q -p "The dog" --json --precision f16 --stable >json
check "inspect says that it is" grep -q '"stable": *true' json
"$program" heads -q -p "The dog" --json >json
check "heads in f32" grep -q '"stable": *true' json
"$program" view -q --headless --stable -p "The dog" -n 2 --png view.png || fail "view --stable"

if ((failures)); then exit 1; fi
echo "stable texts: all the same"
