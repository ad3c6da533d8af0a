#!/usr/bin/env bash
# headers.sh ROOT: fails when a public header does not state its threads and errors before `#pragma once`, or a class in
# it its threads in the comment above it. docs/guarantees.md has the rules in one place.
set -euo pipefail
cd -- "$1"

bad=0 headers=0 classes=0
complain() { echo "$*" >&2; bad=1; }

# check HEADER: complains about what is missing.
check() {
    local rule head missing
    head=$(sed '/^#pragma once/,$d' "$1")
    for rule in Threads Errors; do
        if ! grep -qE "^// $rule: [^ ]" <<<"$head"; then complain "$1: no line \"// $rule: …\" before #pragma once"; fi
    done
    # A definition begins with "class NAME" and ends its line with "{"; its comment is the lines with /// above it.
    missing=$(awk '/^\/\/\// { comment = comment $0; next }
                   /^class [A-Z].*\{$/ { ++classes; if (comment !~ /\/\/\/ Threads: [^ ]/) print $2 }
                   { comment = "" }
                   END { print classes + 0 }' "$1")
    classes=$((classes + $(tail -n 1 <<<"$missing")))
    for rule in $(sed '$d' <<<"$missing"); do complain "$1: class $rule has no line \"/// Threads: …\" above it"; done
}

for header in include/vantage/*.h; do
    headers=$((headers + 1))
    check "$header"
done
if ((headers < 20 || classes < 20)); then complain "only $headers headers, $classes classes: the check reads nothing"; fi
found=$bad

# The check itself: a header without the words must be refused.
planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
printf '// Words.\n#pragma once\n/// A class.\nclass Planted {\n};\n' >"$planted"
said=$(check "$planted" 2>&1)
if (($(wc -l <<<"$said") != 3)); then echo "the planted header was not refused: $said" >&2; found=1; fi

echo "$headers headers, $classes classes"
exit "$found"
