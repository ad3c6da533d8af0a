#!/usr/bin/env bash
# Tables and pages in a narrow terminal: no row is wider than it, and what is left out is named.
# Once: it is about texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
prompt="The animal didn't cross the street because it was too tired."

# shown COLUMNS ARGUMENTS…: what the program prints into a terminal, without colours.
shown() {
    local columns=$1
    shift
    script -qec "stty cols $columns; $(printf '%q ' "$program" "$@") 2>/dev/null" /dev/null | sed 's/\x1b\[[0-9;]*m//g; s/\r//g'
}
widest() { LC_ALL=C.UTF-8 wc -L; }

for columns in 60 80; do
    for command in heads inspect; do
        shown $columns $command -p "$prompt" >page
        grep -E '^  [0-9]+\.[0-9]' page >rows
        [[ $(wc -l <rows) -ge 32 ]] || fail "$command at $columns: $(<page)"
        [[ $(widest <rows) -le $columns ]] || fail "$command: $(widest <rows) columns in a terminal of $columns"
    done
done
for columns in 50 60 80; do
    shown $columns heads -p "$prompt" | sed -n '/^layers/,/^patterns/p' >page
    [[ $(wc -l <page) -ge 7 && $(widest <page) -le $columns ]] || fail "heads, layers at $columns: $(<page)"
    shown $columns demo --steps -p "the dog ate the red bone" | sed -n '/^Q/,/^Four/p' >page
    [[ $(wc -l <page) -ge 40 && $(widest <page) -le $columns ]] || fail "demo --steps at $columns: $(awk -v c=$columns 'length > c' page)"
done
shown 60 heads -p "$prompt" >page
grep -q 'in a wider terminal also: ' page || fail "heads does not say what it leaves out: $(<page)"
"$program" heads -p "$prompt" >all 2>err || fail "heads: $(<err)"
grep -q ' self .* tokens \| tokens .* self ' all || fail "a file has not all columns: $(head -3 all)"

shown 60 demo -n 8 >page
[[ $(grep -v '^Vantage on ' page | widest) -le 60 ]] || fail "demo: $(awk 'length > 60' page)"
grep -q '^  vantage-demo/heads.png$' page || fail "demo breaks the names of pictures: $(tail -12 page)"

small=(-m "$models/gpt2" --ids 5,6,7,8,5,6,7,9,10 --ablate --sort loss_change)
"$program" heads "${small[@]}" >table 2>err || fail "ablation: $(<err)"
grep -q 'sorted by Δ loss' table || fail "the sort key is not the column's heading: $(head -3 table)"

((failures == 0)) && echo "terminal widths: all as they should be"
exit $((failures > 0))
