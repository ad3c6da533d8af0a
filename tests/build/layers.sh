#!/usr/bin/env bash
# layers.sh ROOT TABLE: fails when a file includes a header of a layer that its own layer does not link, directly or
# through others, or when an internal header declares something in the public namespace. TABLE has a line for each
# layer, lowest first: NAME|DIRECTORIES|PUBLIC HEADERS|LINKED LAYERS.
set -euo pipefail
cd -- "$1"

declare -A layer_of allowed
names=()
while IFS='|' read -r name directories api links; do
    names+=("$name")
    for directory in $directories; do layer_of[$directory]=$name; done
    for header in $api; do layer_of[vantage/$header.h]=$name; done
    allowed[$name]=" $name "
    for link in $links; do allowed[$name]+="${allowed[$link]:- } "; done
done <"$2"

# check FILE LAYER: the quoted includes of FILE.
bad=0 checked=0
check() {
    local file=$1 own=$2 line included target
    while IFS= read -r line; do
        included=${line#*\"}
        included=${included%\"*}
        target=${layer_of[$included]:-${layer_of[$(dirname -- "$included")]:-}}
        checked=$((checked + 1))
        if [[ -z $target ]]; then
            case $included in shaders/* | params/* | test_* | tests/*) continue ;; esac
            echo "$file: includes $included, which belongs to no layer" >&2
            bad=1
        elif [[ ${allowed[$own]} != *" $target "* ]]; then
            echo "$file: includes $included of $target, but $own does not link that" >&2
            bad=1
        fi
    done < <(grep -hE '^ *#include "' -- "$file" || true)
}

for path in "${!layer_of[@]}"; do
    if [[ $path == vantage/* ]]; then
        check "include/$path" "${layer_of[$path]}"
    else
        for file in "$path"/*.h "$path"/*.cpp; do
            if [[ -e $file ]]; then check "$file" "${layer_of[$path]}"; fi
        done
    fi
done
for header in include/vantage/*.h; do
    if [[ -z ${layer_of[${header#include/}]:-} ]]; then echo "$header: no layer names it after API" >&2; bad=1; fi
done
# Internal headers declare nothing in namespace vantage but parts of public classes (struct Plan::State).
while IFS= read -r file; do
    declared=$(awk '/^namespace vantage \{/ { inside = 1; next } /^}  \/\/ namespace vantage$/ { inside = 0 }
                    inside && /^[a-z]/ && !/^(struct|class) [A-Za-z]+::/ && !/^(using )?namespace internal/' "$file")
    if [[ -n $declared ]]; then echo "$file: declares in namespace vantage: ${declared%%$'\n'*}" >&2; bad=1; fi
done < <(grep -lrE '^namespace vantage \{' runtime viewer cli --include='*.h')
if ((checked < 500)); then echo "only $checked includes were found: the check does not read the tree" >&2; bad=1; fi
echo "$checked includes of ${#names[@]} layers"
exit $bad
