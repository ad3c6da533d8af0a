#!/usr/bin/env bash
# newer-toolchain.sh [--check] PREFIX: makes PREFIX/usr with what Debian 12 does not have, or has only in older versions
# (about three minutes): glslang 15, spirv-val 2025, Vulkan headers 1.4, volk, VulkanMemoryAllocator 3, Catch2 3.
# The packages come from Debian 13 and from the backports, from the same mirror as the system's own packages. The system
# itself is not changed, and root is not needed. --check builds nothing: it prints what is missing, and exits with 1 if
# anything is. The script may be interrupted at any time: PREFIX/usr is moved into place at the end.
set -euo pipefail

check=0
if [[ ${1:-} == --check ]]; then check=1; shift; fi
prefix=$(realpath -m -- "${1:?usage: newer-toolchain.sh [--check] PREFIX}")

say() { printf 'newer-toolchain: %s\n' "$*" >&2; }

# first FILE: prints the path of FILE in PREFIX/usr, or else in the system.
first() {
    local folder
    for folder in "$prefix/usr" /usr/local /usr; do
        if [[ -e $folder/$1 ]]; then printf '%s\n' "$folder/$1"; return; fi
    done
    return 1
}
# program_version PROGRAM SED_EXPRESSION: prints the version of PROGRAM, or nothing if it is missing.
program_version() {
    local file
    if file=$(first "bin/$1"); then "$file" --version 2>/dev/null | sed -nE "$2" || true; fi
}
# header_version HEADER MACRO: prints the number that HEADER defines MACRO as, or nothing if it is missing.
header_version() {
    local file
    if file=$(first "include/$1"); then sed -nE "s/^#define $2 ([0-9]+).*/\1/p" "$file"; fi
}
# at_least VERSION MINIMUM: compares versions number by number; an empty VERSION is too old.
at_least() { [[ -n $1 && $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# Prints what is missing or too old, one a line.
missing() {
    at_least "$(program_version glslang 's/^Glslang Version: [0-9]+:([0-9.]+).*/\1/p')" 14.0 || echo "glslang 14"
    at_least "$(program_version spirv-val 's/^SPIRV-Tools v([0-9.]+).*/\1/p')" 2023.6 || echo "spirv-val 2023.6"
    at_least "$(header_version vulkan/vulkan_core.h VK_HEADER_VERSION)" 275 || echo "Vulkan headers 1.3.275"
    at_least "$(header_version volk.h VOLK_HEADER_VERSION)" 275 || echo "volk"
    first include/vk_mem_alloc.h >/dev/null || echo "VulkanMemoryAllocator"
    first include/catch2/catch_all.hpp >/dev/null || echo "Catch2 3"
}

# True if nothing is missing. Also true if this very script made PREFIX/usr: to make it again would change nothing, for
# example where spirv-val could not be built.
complete() { [[ -z $(missing) || $(cat "$prefix/usr/.made-by" 2>/dev/null) == "$made_by" ]]; }
made_by=$(cksum <"${BASH_SOURCE[0]}")

if complete; then exit 0; fi
wanted=$(missing)
if [[ $check == 1 ]]; then printf '%s\n' "$wanted"; exit 1; fi

mkdir -p "$prefix"
if command -v flock >/dev/null; then  # two at once: the second waits, then finds the work done
    exec 9>"$prefix/.lock"
    flock 9
    if complete; then exit 0; fi
fi
rm -rf "$prefix"/tmp.*  # left by a run that was interrupted
work=$prefix/tmp.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
trap 'say "failed in line $LINENO"' ERR
mkdir -p "$work"/{lists/partial,cache/archives/partial,sources,debs,usr}

# source_of SUITE: writes a source for SUITE. It is a copy of the system's source of bookworm's component "main", in the
# format in which the system has it, with the suite replaced.
source_of() {
    local suite=$1 files=() file
    mapfile -t files < <(compgen -G '/etc/apt/sources.list.d/*.sources')
    if ((${#files[@]})); then
        for file in "${files[@]}"; do
            sed '/^[[:space:]]*#/d' "$file"
            echo
        done | awk -v RS= -v ORS='\n\n' -v suite="$suite" '
            { found = 0; off = 0; n = split($0, lines, "\n")
              for (i = 1; i <= n; ++i) {
                  if (lines[i] ~ /^Suites:/) {
                      m = split(lines[i], words, /[ \t]+/)
                      for (j = 2; j <= m; ++j) if (words[j] == "bookworm") found = 1 }
                  if (lines[i] ~ /^Enabled:[ \t]*no/) off = 1 }
              if (!found || off) next
              for (i = 1; i <= n; ++i) {
                  if (lines[i] ~ /^Types:/) lines[i] = "Types: deb deb-src"
                  if (lines[i] ~ /^Suites:/) lines[i] = "Suites: " suite
                  if (lines[i] ~ /^Components:/) lines[i] = "Components: main"
                  printf "%s\n", lines[i] }
              exit }' >"$work/sources/$suite.sources"
        if [[ -s $work/sources/$suite.sources ]]; then return; fi
        rm -f "$work/sources/$suite.sources"
    fi
    local space='[[:space:]]+' address='(\[[^]]*\][[:space:]]+)?[^[:space:]]+'
    local main='(.*[[:space:]])?main([[:space:]].*)?'
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
        sed -nE "s/^deb$space($address)${space}bookworm$space$main\$/deb \1 $suite main\ndeb-src \1 $suite main/p" |
        sed -n 1,2p >"$work/sources/$suite.list"
    if [[ ! -s $work/sources/$suite.list ]]; then
        say "found no source of bookworm's component main in /etc/apt/sources.list or sources.list.d, needed for $suite"
        exit 1
    fi
}
source_of trixie
source_of bookworm-backports

apt_get() {
    apt-get -qq -oDir::Etc::sourcelist=/dev/null -oDir::Etc::sourceparts="$work/sources" \
        -oDir::State::Lists="$work/lists" -oDir::Cache="$work/cache" -oAPT::Sandbox::User=root \
        -oAcquire::Languages=none -oAcquire::Retries=3 "$@"
}
# logged COMMAND…: runs it without output; if it fails, prints the last lines of its output.
logged() { "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; return 1; }; }
quietly() { logged "$@" || { say "failed: $*"; exit 1; }; }

say "missing or too old here: $(paste -sd, - <<<"$wanted" | sed 's/,/, /g')"
say "reading the package lists of Debian 13 and the backports …"
quietly apt_get update
cd "$work/debs"
say "fetching the packages …"
quietly apt_get download libvulkan-dev/trixie spirv-headers/trixie libvulkan-volk-dev/trixie \
    libvulkan-memory-allocator-dev/trixie libcatch2-dev/bookworm-backports catch2/bookworm-backports
for deb in *.deb; do dpkg -x "$deb" "$work"; done
find "$work/usr" -name 'libvulkan.so*' -delete  # only the headers are needed: the loader is opened at run time
rm -rf "$work/usr/share/doc"
mkdir -p "$work/usr/bin"
# These programs run for seconds only, so -O1 is enough and builds faster.
flags=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1)
if command -v ccache >/dev/null; then
    flags+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi

# build PACKAGE TARGET PROGRAM FLAGS…: builds one program from a source package of Debian 13.
build() {
    local package=$1 target=$2 program=$3
    shift 3
    mkdir -p "$work/$package"
    cd "$work/$package"
    quietly apt_get source --download-only --tar-only "$package/trixie"
    tar xf "$package"_*.orig.tar.*
    logged cmake -S */ -B build "${flags[@]}" "$@" || { say "$package could not be configured"; return 1; }
    logged cmake --build build --target "$target" || { say "$package could not be built"; return 1; }
    strip -o "$work/usr/bin/${program##*/}" "build/$program"
}
say "building glslang 15 (about a minute) …"
build glslang glslang-standalone StandAlone/glslang -DENABLE_OPT=OFF -DENABLE_HLSL=OFF -DGLSLANG_TESTS=OFF \
    -DBUILD_SHARED_LIBS=OFF
say "building spirv-val (about a minute) …"
# If this fails, the system's spirv-val is used. It cannot check the newest extensions; the summary of CMake lists them.
build spirv-tools spirv-val tools/spirv-val -DSPIRV_SKIP_TESTS=ON -DSPIRV_WERROR=OFF \
    -DSPIRV-Headers_SOURCE_DIR="$work/usr" || say "continuing with the system's spirv-val"

printf '%s\n' "$made_by" >"$work/usr/.made-by"
rm -rf "$prefix/usr.old"
if [[ -e $prefix/usr ]]; then mv "$prefix/usr" "$prefix/usr.old"; fi
mv "$work/usr" "$prefix/usr"
rm -rf "$prefix/usr.old"
say "done: $("$prefix/usr/bin/glslang" --version | head -n 1)"
