#!/usr/bin/env bash
# run.sh [PART…]: the tests that take too long for every change. Parts, with their time on two cores:
#
#   address       all host and device tests under the address and undefined-behaviour sanitizers       (40 min)
#   thread        all host tests, [threads], 8 threads of 100 sessions, and the viewer, under the
#                 thread sanitizer                                                                      (30 min)
#   tidy          clang-tidy over all files                                                             (6 min)
#   compilers     builds without warnings by g++ 14 and clang 19, in a Debian 13 tree (root)           (20 min)
#   gpu-assisted  the device tests with GPU-assisted validation on the newest lavapipe, which finds
#                 accesses out of bounds through buffer addresses, in a Debian sid tree (root)         (60 min)
#   differential  values, training and checkpoints of random models beside PyTorch and transformers,
#                 and 500 steps of training, in the same tree (root)                                   (30 min)
#   faults        every failing call, a kill before every write of a training run (tests/faults), and a
#                 loss of the device at every submission of a text                                     (hours)
#   signals       1000 signals (tests/signals/run.sh)                                                  (1 hour)
#   soak          10 million tokens (tests/soak/run.sh), and 10,000 requests (tests/soak/serve.sh)     (2 hours)
#
# Without PART: all, in this order. Prints a line per part at the end; exits with 1 if one failed. The trees are made
# with debootstrap in $VANTAGE_TREES (default build/trees), and kept. Needs a build in build/release.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.."
root=$PWD
trees=${VANTAGE_TREES:-$root/build/trees}
clang=clang++
if command -v clang++-16 >/dev/null; then clang=clang++-16; fi
. tests/full/sanitizers.bash

# Builds TARGET… with the preset PRESET.
sanitized() {
    cmake --preset "$1" -DCMAKE_CXX_COMPILER="$clang" -DVANTAGE_HOST_TESTS='*' -DVANTAGE_DEVICE_TESTS='*' -DVANTAGE_SHADERS_OF= >"build/full-$1.log" || { cat "build/full-$1.log"; return 1; }
    cmake --build --preset "$1" --target "${@:2}"
}
# in_shards COUNT COMMAND…: a part of the tests after the other, in a process each, so that none compiles more pipelines
# than the tests may, or than memory holds.
in_shards() {
    local shard code=0 count=$1
    shift
    for ((shard = 0; shard < count; ++shard)); do
        "$@" --shard-count "$count" --shard-index "$shard" </dev/null || code=1
    done
    return "$code"
}
address() {
    sanitized asan vantage_tests_host vantage_tests_device || return 1
    build/asan/vantage_tests_host </dev/null || return 1
    ASAN_OPTIONS=$asan_with_driver VANTAGE_DEVICE=name:llvmpipe in_shards 4 build/asan/vantage_tests_device
}
thread() {
    local code=0
    sanitized tsan vantage_tests_host vantage_tests_device vantage_tests_view || return 1
    export VANTAGE_DEVICE=name:llvmpipe
    build/tsan/vantage_tests_host </dev/null || code=1
    build/tsan/vantage_tests_device '[threads]' </dev/null || code=1
    build/tsan/vantage_tests_device '[sessions]' </dev/null || code=1
    build/tsan/vantage_tests_view </dev/null || code=1
    return "$code"
}

tidy() {
    cmake --preset tidy -DVANTAGE_CCACHE=OFF >build/full-tidy.log || { cat build/full-tidy.log; return 1; }
    .ci/tidy build/tidy "${clang/clang++/clang-tidy}"
}

# What the trees have beside a minimal system.
declare -A packages=(
    [trixie]="g++ clang-19 cmake ninja-build git nlohmann-json3-dev libpcre2-dev libutf8proc-dev libpng-dev libjpeg-dev
        libfreetype-dev libcli11-dev libglfw3-dev libimgui-dev glslang-dev glslang-tools spirv-tools libvulkan-dev
        libvulkan-volk-dev libvulkan-memory-allocator-dev catch2 vulkan-validationlayers"
    [sid]="mesa-vulkan-drivers libvulkan1 python3-torch python3-transformers python3-safetensors libopenblas0-pthread"
)
# tree SUITE: makes $trees/SUITE, a Debian system with these packages.
tree() {
    local suite=$1 names
    if [[ -e $trees/$suite.made && $(<"$trees/$suite.made") == "${packages[$suite]}" ]]; then return; fi
    names=$(tr -s ' \n' , <<<"${packages[$suite]}")
    mkdir -p "$trees"
    rm -rf -- "${trees:?}/$suite"
    debootstrap --variant=minbase --include="${names%,}" "$suite" "$trees/$suite" "$(mirror)" >"$trees/$suite.log" ||
        { tail -n 20 "$trees/$suite.log"; return 1; }
    echo "${packages[$suite]}" >"$trees/$suite.made"
}
# The mirror that this system's own packages come from.
mirror() {
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -v security | head -n 1
}
# within SUITE COMMAND…: runs it in the tree, where the project has the path that it has here.
within() {
    local suite=$1
    shift
    mkdir -p "$trees/$suite$root"
    unshare --mount -- bash -c '
        mount -t proc proc "$0/proc" && mount --rbind "$1" "$0$1" && exec chroot "$0" env -C "$@"' \
        "$trees/$suite" "$root" "$@"
}
compilers() {
    local compiler code=0
    tree trixie || return 1
    for compiler in g++-14 clang++-19; do
        within trixie cmake -S . -B "build/full-$compiler" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
            -DCMAKE_BUILD_TYPE=Release -DVANTAGE_WERROR=ON && within trixie ninja -C "build/full-$compiler" -k 0 || code=1
    done
    return "$code"
}
# on_newest COMMAND…: runs it in the tree of Debian sid with its lavapipe, and with libraries of this system that the
# tree does not have.
on_newest() {
    local library made=build/full-libraries
    tree sid || return 1
    mkdir -p "$made"
    find "$made" -name '*.so*' ! -name 'libVkLayer*' -delete
    while read -r library; do
        if [[ ! -e $trees/sid$library ]]; then cp -L "$library" "$made/"; fi
    done < <(ldd build/release/vantage build/release/vantage_tests_device | awk '/=> \// { print $3 }')
    within sid env LD_LIBRARY_PATH="$root/$made" VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json "$@"
}
# Without the tests that lose devices: they compile the kernels of other tests hundreds of times. In 24 processes: an
# eighth of the tests needs more than 17 GB, most of it for instrumented kernels. The tests of all kernels, which need
# more than 22 GB, are eight samples of their cases.
# The layer is Debian 13's: that of Debian sid in 2026 (1.4.363) crashes where a command buffer is submitted twice.
gpu_assisted() {
    local layer=VkLayer_khronos_validation made=build/full-libraries
    tree trixie || return 1
    mkdir -p "$made"
    cp "$trees/trixie/usr/lib/"*"/lib$layer.so" "$made/"
    sed "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"./lib$layer.so\"|" \
        "$trees/trixie/usr/share/vulkan/explicit_layer.d/$layer.json" >"$made/$layer.json"
    local sample code=0 tests=(on_newest env "VK_LAYER_PATH=$root/$made"
        "VK_LAYER_SETTINGS_PATH=$root/tests/full/gpu_assisted.txt" VANTAGE_VALIDATE=1)
    in_shards 24 "${tests[@]}" build/release/vantage_tests_device '~[recover]~"every kernel of*"' || code=1
    for ((sample = 1; sample <= 8; ++sample)); do
        in_shards 3 "${tests[@]}" VANTAGE_TEST_SAMPLE=$sample/8 build/release/vantage_tests_device \
            '"every kernel of*"' || code=1
    done
    return "$code"
}
differential() {
    local script code=0
    tree sid || return 1
    for script in compare.py train.py checkpoints.py curve.py; do
        on_newest env VANTAGE_BIN="$root/build/release/vantage" VANTAGE_DEVICE=name:llvmpipe PYTHONDONTWRITEBYTECODE=1 \
            python3 "tests/differential/$script" </dev/null || code=1
    done
    return "$code"
}
faults() {
    export VANTAGE_BIN=$root/build/release/vantage VANTAGE_ROOT=$root
    export VANTAGE_FAULTS_PRELOAD=$root/build/release/libvantage_faults_preload.so
    local code=0
    VANTAGE_NULL_DEVICE=$root/build/release/null_device.json EVERY_SUBMISSION=1 bash tests/cli/recover.sh || code=1
    bash tests/faults/kills.sh || code=1
    bash tests/faults/run.sh || code=1
    return "$code"
}
signals() { VANTAGE_BIN=$root/build/release/vantage VANTAGE_ROOT=$root bash tests/signals/run.sh 1000; }
soak() {
    local code=0
    tests/soak/run.sh || code=1
    tests/soak/serve.sh || code=1
    return "$code"
}

parts=("$@")
if (($# == 0)); then parts=(address thread tidy compilers gpu-assisted differential faults signals soak); fi
results=() verdict=0
for part in "${parts[@]}"; do
    case $part in
        address | thread | tidy | compilers | gpu-assisted | differential | faults | signals | soak) ;;
        *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
done
for part in "${parts[@]}"; do
    printf '\n######## %s\n' "$part"
    start=$SECONDS result=passed
    ("${part//-/_}") || { result=FAILED verdict=1; }
    results+=("$(printf '%-14s %6d s  %s' "$part" $((SECONDS - start)) "$result")")
done
printf '\n'
printf '%s\n' "${results[@]}"
exit "$verdict"
