#!/usr/bin/env bash
# A change of a shared .glsl or params file rebuilds every shader that includes it: the dependencies that ninja reads
# for a module name all files that its source includes, directly or through others. With newer versions of CMake ninja
# keeps them in its log and deletes the depfile (deps = gcc); with older ones the depfile remains.
set -uo pipefail
build=${VANTAGE_BUILD:?}
shaders=${VANTAGE_ROOT:?}/shaders
failures=0 seen=0
# includes FILE: the files that it includes, all the way down.
includes() {
    local name
    while read -r name; do
        if [[ " $found " != *" $name "* ]]; then
            found+=" $name"
            includes "$shaders/$name"
        fi
    done < <(sed -n 's/^ *#include "\(.*\)".*/\1/p' "$1")
}
while IFS=$'\t' read -r module source _; do
    found=""
    includes "$shaders/$source"
    recorded=$(cd "$build" && ninja -t deps "spirv/$module.spv" 2>/dev/null)
    if [[ $recorded != *"#deps"* ]]; then
        # The path is all that follows "depfile = ": it may contain spaces.
        depfile=$(awk -v rule="build spirv/$module.spv " '
            index($0, rule) == 1 { inside = 1 }
            inside && sub(/^ *depfile = /, "") { print; exit }
            /^$/ { inside = 0 }' "$build/build.ninja")
        recorded=$(cd "$build" && cat "${depfile:-/dev/null}")
    fi
    for name in $source $found; do
        seen=$((seen + 1))
        if [[ $recorded != *"shaders/$name"* ]]; then
            echo "FAILED: a change of shaders/$name would not rebuild $module"
            failures=$((failures + 1))
        fi
    done
done <"$build/spirv/modules.txt"
if ((seen < 100)); then
    echo "FAILED: only $seen dependencies checked"
    failures=1
fi
if ((failures)); then exit 1; fi
echo "$seen dependencies, all recorded"
