#!/usr/bin/env bash
# documents.sh ROOT WORK: fails when a page shows code that does not compile, or a command that the program does not
# have. WORK is a folder for temporary files. Environment: VANTAGE_BIN the program, CXX the compiler, VANTAGE_GLSLANG
# the shader compiler. PAGE replaces the list of pages by one.
set -euo pipefail
script=$(readlink -f -- "${BASH_SOURCE[0]}")
cd -- "$1"
work=$2
rm -rf -- "$work"
mkdir -p -- "$work"

pages=(README.md CONTRIBUTING.md SECURITY.md docs/*.md)
if [[ -n ${PAGE:-} ]]; then pages=("$PAGE"); fi
bad=0 commands=0 blocks=0
complain() { echo "$*" >&2; bad=1; }

# ---- commands: each subcommand and option must be in --help --------------------------------------------------------

# Prints PAGE:LINE and the command, for each call of the program in a shell block or between backquotes.
commands_of() {
    awk '
        /^```/ { block = block == "" ? substr($0, 4) : ""; next }
        block == "sh" && /^(\.\/)?vantage / { sub(/ +#.*/, ""); print FILENAME ":" FNR "\t" $0; next }
        block == "" {
            n = split($0, part, "`")
            for (i = 2; i <= n; i += 2) if (part[i] ~ /^(\.\/)?vantage /) print FILENAME ":" FNR "\t" part[i]
        }' "$1"
}

declare -A help
launcher_help=$(sed -n "/^launcher_help()/,/^END/p" vantage)
help_of() {  # sets `text` to the help of the subcommand $1, empty if there is none
    if [[ -z ${help["vantage $1"]+set} ]]; then help["vantage $1"]=$("$VANTAGE_BIN" $1 --help 2>/dev/null || true); fi
    text=${help["vantage $1"]}
}
has_subcommand() { grep -qE "^  $1  " <<<"$text"; }
has_option() { grep -qE -- "^ +([^ ]*,)?$1([ ,]|\$)" <<<"$text"; }

check_command() {  # PLACE COMMAND
    local place=$1 line=$2 subcommand="" open=1 word
    # Quoted arguments and what follows the command in a pipe are not checked.
    line=$(sed -E "s/\"[^\"]*\"|'[^']*'/TEXT/g; s/ *(\||&&|;|>).*//; s/\[|\]|…/ /g" <<<"$line")
    commands=$((commands + 1))
    for word in ${line#*vantage }; do
        help_of "$subcommand"
        if [[ $word == -[^0-9]* ]]; then
            word=${word%%=*}
            if has_option "$word" || { help_of ""; has_option "$word"; }; then continue; fi
            if [[ $line == ./* ]] && grep -qE -- "^  $word " <<<"$launcher_help"; then continue; fi
            complain "$place: ${subcommand:-vantage} has no option $word: $line"
        elif ((open)) && [[ $word =~ ^[a-z]+$ ]]; then
            if has_subcommand "$word"; then
                subcommand="${subcommand:+$subcommand }$word"
                continue
            fi
            open=0
            if ! grep -q '^Usage:.* SUBCOMMAND' <<<"$text"; then continue; fi  # an argument
            if [[ $line == ./* ]] && grep -q "^  ./vantage $word " <<<"$launcher_help"; then continue; fi
            complain "$place: no subcommand $word: $line"
        fi
    done
}

# ---- code: C++ and GLSL blocks are compiled -------------------------------------------------------------------------

# Writes each block of PAGE in LANGUAGE to $work/NAME-N.LANGUAGE, and next to it, as .path, the last path before it.
extract() {  # PAGE NAME
    awk -v out="$work/$2" '
        /^```/ {
            if (block != "") { close(file); block = ""; next }
            block = substr($0, 4)
            if (block == "") block = "text"
            file = out "-" FNR "." block
            print path >(file ".path")
            close(file ".path")
            printf "" >file
            next
        }
        block != "" { print >file; next }
        {
            n = split($0, part, "`")
            for (i = 2; i <= n; i += 2)
                if (part[i] ~ /^(runtime|include|shaders|examples|cli)\/.*\.[a-z]+$/) path = part[i]
        }' "$1"
}

flags=(-std=c++20 -fsyntax-only -Wall -Wno-unused -I"$work/overlay" -I"$work/overlay/include" -I"$work/overlay/shaders")

for folder in . include shaders; do flags+=(-I"$folder"); done

compile() {  # PLACE FILE
    blocks=$((blocks + 1))
    if ! "$CXX" "${flags[@]}" -x c++ "$2" 2>"$work/errors"; then
        complain "$1 does not compile:" "$(grep -m5 -A2 error "$work/errors")"
    fi
}

# Blocks of a page that adds files to the tree: each is the file whose path was named last, or an addition to it.
compile_overlay() {  # NAME
    local block path file
    for block in "$work/$1"-*.{cpp,glsl}; do
        path=$(<"$block.path")
        file=$work/overlay/$path
        mkdir -p -- "${file%/*}"
        if [[ -e $path ]]; then  # declarations go before the end of the namespace
            awk -v added="$block" '
                /^}  \/\/ namespace vantage$/ { while ((getline line <added) > 0) print line }
                { print }' "$path" >"$file"
        else
            cat -- "$block" >>"$file"
        fi
    done
    while IFS= read -r file; do
        compile "docs/$1.md: ${file#"$work/overlay/"}" "$file"
    done < <(find "$work/overlay" -name '*.cpp')
    while IFS= read -r file; do
        blocks=$((blocks + 1))
        if ! "$VANTAGE_GLSLANG" -V --quiet --target-env vulkan1.3 -I"$work/overlay/shaders" -Ishaders \
            -o "$work/shader.spv" "$file" >"$work/errors"; then
            complain "docs/$1.md: ${file#"$work/overlay/"} does not compile:" "$(head -5 "$work/errors")"
        fi
    done < <(find "$work/overlay" -name '*.comp')
}

# Other blocks are programs of their own, or the inside of a function.
compile_fragments() {  # PAGE NAME
    local block
    for block in "$work/$2"-*.cpp; do
        [[ -e $block ]] || continue
        if ! grep -qE '^#include|^int main' "$block"; then
            {
                printf '#include "tests/build/documents_context.h"\nvoid fragment() { {\n'
                cat -- "$block"
                echo '} }'
            } >"$block.body"
            mv -- "$block.body" "$block"
        fi
        compile "$1:$(sed -E 's/.*-([0-9]+)\.cpp$/\1/' <<<"$block")" "$block"
    done
}

for page in "${pages[@]}"; do
    name=$(basename -- "$page" .md)
    if [[ -n ${VANTAGE_BIN:-} ]]; then
        while IFS=$'\t' read -r place line; do check_command "$place" "$line"; done < <(commands_of "$page")
    fi
    extract "$page" "$name"
    if [[ $name == adding-an-op ]]; then compile_overlay "$name"; else compile_fragments "$page" "$name"; fi
done

# The checks themselves: a page with mistakes must be refused, with a message for each.
if [[ -z ${PAGE:-} ]]; then
    mkdir -p -- "$work/planted"
    cat >"$work/planted/page.md" <<'END'
Wrong: `vantage demoo`, `vantage run --tempp 1`, `vantage bench modl`. Right: `./vantage test`, `vantage run -p "--x"`.

```cpp
Session wrong(modell, {});
```
END
    mistakes=("no subcommand demoo" "run has no option --tempp" "no subcommand modl" "modell")
    if [[ -z ${VANTAGE_BIN:-} ]]; then mistakes=("modell"); fi
    if said=$(PAGE=$work/planted/page.md bash "$script" . "$work/planted/work" 2>&1); then
        complain "the planted mistakes were not found"
    fi
    for mistake in "${mistakes[@]}"; do
        grep -qF -- "$mistake" <<<"$said" || complain "the planted mistake was not found: $mistake"
    done
    if ((blocks < 5)); then complain "only $blocks blocks of code were found: the check does not read the pages"; fi
fi
echo "$commands commands, $blocks blocks of code"
exit $bad
