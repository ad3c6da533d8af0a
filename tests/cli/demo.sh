#!/usr/bin/env bash
# vantage demo: the lecture's digits, text, the head that the rule finds, pictures, and a clean end by Ctrl-C.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

has() { grep -qF -- "$2" "$1" || fail "$1 lacks: $2"; }
# says FILE TEXT: the same where lines may have been broken.
says() { tr '\n' ' ' <"$1" | grep -qF -- "$2" || fail "$1 lacks: $2"; }

"$program" demo >out 2>err || fail "demo: $(<err)"
has out "beat          5.00 7.00 8.00 4.00   0.11 0.31 0.51 0.07   1.44 0.56 1.44 0.56"
has out "The animal didn't cross the street because it was too tired."
has out "Its most salient head: layer 2 · head 3"
says out "“it” gives 61 % of its attention to “animal”"
has out "vantage-demo/heads.png"
[[ $(head -c 8 vantage-demo/heads.png | od -An -t x1 | tr -d ' ') == 89504e470d0a1a0a ]] || fail "heads.png is no PNG"
[[ -s vantage-demo/layer-2-head-3.png ]] || fail "the head was not drawn"
grep -q $'\033' out err && fail "escape codes in a file"
[[ ! -s err ]] || fail "stderr: $(<err)"
"$program" demo >again 2>err && cmp -s out again || fail "the same seed gave another page"

"$program" demo -p "Mia said: 'The red boat is small.' Then Tom repeated: 'The red" --out other >out 2>err || fail "demo -p: $(<err)"
has out "repeated: 'The red boat is small.'"
says out "“red” gives 89 % of its attention to “boat”, the token that followed it before"
[[ -s other/layer-1-head-0.png ]] || fail "--out"

# a prompt of one token: what the model wrote is shown as well
"$program" demo -p "Once" -n 12 --seed 3 >out 2>err || fail "a short prompt: $(<err)"
has out "Its most salient head"
"$program" demo --json >json 2>err || fail "demo --json: $(<err)"
has json '"most_telling"'
has json '"schema_version": 2'
has json '"worked_example"'

touch file
"$program" demo --out file >out 2>err
[[ $? == 6 && $(<err) == *file* ]] || fail "an --out that is a file: $(<err)"
"$program" demo -p "" >out 2>err
[[ $? == 2 ]] || fail "an empty prompt: $(<err)"

interrupted 0.2 "$program" demo

((failures == 0)) && echo "demo: all as it should be"
exit $((failures > 0))
