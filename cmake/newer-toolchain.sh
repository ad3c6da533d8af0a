#!/usr/bin/env bash
# newer-toolchain.sh [--check] PREFIX: what Debian 12 has too old or not at all, into PREFIX/usr (about three minutes).
#   glslang 15, spirv-val 2025, Vulkan headers 1.4, volk, VulkanMemoryAllocator 3, Catch2 3
# The packages come from Debian 13 and the backports, over the system's own source with the suite's name exchanged; the
# system itself stays as it is. --check builds nothing: it names what is missing and exits with 1 when anything is.
# Safe to interrupt: PREFIX/usr appears whole, at the end.
set -euo pipefail

check=0
if [[ ${1:-} == --check ]]; then check=1; shift; fi
prefix=$(realpath -m -- "${1:?usage: newer-toolchain.sh [--check] PREFIX}")

say() { printf 'newer-toolchain: %s\n' "$*" >&2; }

# The first of these folders' files that is there, PREFIX before the system.
first() { local dir; for dir in "$prefix/usr" /usr/local /usr; do [[ -e $dir/$1 ]] && { printf '%s\n' "$dir/$1"; return; }; done; return 1; }
# at_least HAVE WANT: versions, compared number by number.
at_least() { [[ -n $1 && $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

missing() {
    local file version
    version=
    if file=$(first bin/glslang); then version=$("$file" --version 2>/dev/null | sed -nE 's/^Glslang Version: [0-9]+:([0-9.]+).*/\1/p') || true; fi
    at_least "$version" 14.0 || echo "glslang 14"
    version=
    if file=$(first bin/spirv-val); then version=$("$file" --version 2>/dev/null | sed -nE 's/^SPIRV-Tools v([0-9.]+).*/\1/p') || true; fi
    at_least "$version" 2023.6 || echo "spirv-val 2023.6"
    version=
    if file=$(first include/vulkan/vulkan_core.h); then version=$(sed -nE 's/^#define VK_HEADER_VERSION ([0-9]+).*/\1/p' "$file"); fi
    at_least "$version" 275 || echo "Vulkan headers 1.3.275"
    file=$(first include/volk.h) && version=$(sed -nE 's/^#define VOLK_HEADER_VERSION ([0-9]+).*/\1/p' "$file") && at_least "$version" 275 || echo "volk"
    first include/vk_mem_alloc.h >/dev/null || echo "VulkanMemoryAllocator"
    first include/catch2/catch_all.hpp >/dev/null || echo "Catch2 3"
}

complete() { [[ -z $(missing) || $(cat "$prefix/usr/.made-by" 2>/dev/null) == "$made_by" ]]; }
made_by=$(cksum <"${BASH_SOURCE[0]}")

if complete; then exit 0; fi
wanted=$(missing)
if [[ $check == 1 ]]; then printf '%s\n' "$wanted"; exit 1; fi

mkdir -p "$prefix"
if command -v flock >/dev/null; then  # two at once: the second finds the work done
    exec 9>"$prefix/.lock"
    flock 9
    if complete; then exit 0; fi
fi
rm -rf "$prefix"/tmp.*  # of a run that was interrupted
work=$prefix/tmp.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
trap 'say "failed in line $LINENO"' ERR
mkdir -p "$work"/{lists/partial,cache/archives/partial,sources,debs,usr}

# The system's source of bookworm's main part, in either format, as SUITE's.
source_of() {
    local suite=$1 files=()
    mapfile -t files < <(ls /etc/apt/sources.list.d/*.sources 2>/dev/null)
    if ((${#files[@]})); then
        for file in "${files[@]}"; do sed '/^[[:space:]]*#/d' "$file"; echo; done | awk -v RS= -v ORS='\n\n' -v suite="$suite" '
            { found = 0; off = 0; n = split($0, lines, "\n")
              for (i = 1; i <= n; ++i) {
                  if (lines[i] ~ /^Suites:/) { m = split(lines[i], words, /[ \t]+/); for (j = 2; j <= m; ++j) if (words[j] == "bookworm") found = 1 }
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
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
        sed -nE "s/^deb[[:space:]]+((\[[^]]*\][[:space:]]+)?[^[:space:]]+)[[:space:]]+bookworm[[:space:]]+(.*[[:space:]])?main([[:space:]].*)?$/deb \1 $suite main\ndeb-src \1 $suite main/p" |
        sed -n 1,2p >"$work/sources/$suite.list"
    if [[ ! -s $work/sources/$suite.list ]]; then
        say "no source of bookworm's main part in /etc/apt/sources.list or sources.list.d: cannot derive one for $suite"
        exit 1
    fi
}
source_of trixie
source_of bookworm-backports

apt_get() {
    apt-get -qq -oDir::Etc::sourcelist=/dev/null -oDir::Etc::sourceparts="$work/sources" -oDir::State::Lists="$work/lists" \
        -oDir::Cache="$work/cache" -oAPT::Sandbox::User=root -oAcquire::Languages=none -oAcquire::Retries=3 "$@"
}
# Runs quietly; on failure the end of what it said is shown.
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; say "failed: $*"; exit 1; }; }

say "missing or too old here: $(paste -sd, - <<<"$wanted" | sed 's/,/, /g')"
say "reading the package lists of Debian 13 and the backports …"
quietly apt_get update
cd "$work/debs"
say "fetching the packages …"
quietly apt_get download libvulkan-dev/trixie spirv-headers/trixie libvulkan-volk-dev/trixie \
    libvulkan-memory-allocator-dev/trixie libcatch2-dev/bookworm-backports catch2/bookworm-backports
for deb in *.deb; do dpkg -x "$deb" "$work"; done
find "$work/usr" -name 'libvulkan.so*' -delete  # headers only: the loader is opened at run time
rm -rf "$work/usr/share/doc"
mkdir -p "$work/usr/bin"
# optimised little: they run for seconds
flags=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1)
if command -v ccache >/dev/null; then flags+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache); fi

# build PACKAGE TARGET PROGRAM FLAGS…: one program from a source package of Debian 13
build() {
    local package=$1 target=$2 program=$3
    shift 3
    mkdir -p "$work/$package"
    cd "$work/$package"
    quietly apt_get source --download-only --tar-only "$package/trixie"
    tar xf "$package"_*.orig.tar.*
    cmake -S */ -B build "${flags[@]}" "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; say "$package does not configure"; return 1; }
    cmake --build build --target "$target" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; say "$package does not build"; return 1; }
    strip -o "$work/usr/bin/${program##*/}" "build/$program"
}
say "building glslang 15 (about a minute) …"
build glslang glslang-standalone StandAlone/glslang -DENABLE_OPT=OFF -DENABLE_HLSL=OFF -DGLSLANG_TESTS=OFF -DBUILD_SHARED_LIBS=OFF
say "building spirv-val (about a minute) …"
# Without it the system's spirv-val checks all but the newest extensions, and the configure summary names those.
build spirv-tools spirv-val tools/spirv-val -DSPIRV_SKIP_TESTS=ON -DSPIRV_WERROR=OFF -DSPIRV-Headers_SOURCE_DIR="$work/usr" ||
    say "going on with the system's spirv-val"

printf '%s\n' "$made_by" >"$work/usr/.made-by"
rm -rf "$prefix/usr.old"
if [[ -e $prefix/usr ]]; then mv "$prefix/usr" "$prefix/usr.old"; fi
mv "$work/usr" "$prefix/usr"
rm -rf "$prefix/usr.old"
say "done: $("$prefix/usr/bin/glslang" --version | head -n 1)"
