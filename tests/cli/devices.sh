#!/usr/bin/env bash
# `vantage devices`, and how every subcommand ends when there is no device or it fails: text, JSON, exit codes.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"

# expect CODE TEXT COMMAND…: the command ends with CODE, and what it prints (both streams) has TEXT.
expect() {
    local code=$1 text=$2 output got=0
    shift 2
    output=$("$@" 2>&1) || got=$?
    if ((got != code)) || [[ $output != *"$text"* ]]; then
        printf 'FAILED: %s\n  wanted %s with "%s"\n  got %s: %s\n' "$*" "$code" "$text" "$got" "$output"
        failures=$((failures + 1))
    fi
}

expect 0 "chosen: " "$program" devices
expect 0 "subgroups" "$program" devices
expect 0 "Example: vantage devices" "$program" devices --help
json=$("$program" devices --json) || { echo "FAILED: devices --json"; failures=$((failures + 1)); }
for key in name uuid driver driver_version type index usable chosen reason memory memory_available cooperative_matrices; do
    [[ $json == *"\"$key\":"* ]] || { echo "FAILED: devices --json has no $key"; failures=$((failures + 1)); }
done
[[ $json == "["* ]] || { echo "FAILED: devices --json is no array"; failures=$((failures + 1)); }

# A wish that names nothing: the list, exit code 2. The variable must not hide the list.
expect 2 "names no device; there are: vulkan:0" "$program" devices --device vulkan:99
expect 2 "use auto, cpu, vulkan:INDEX" "$program" devices --device toaster
expect 2 "VANTAGE_VALIDATE" env VANTAGE_VALIDATE=maybe "$program" devices

# No driver, and no loader (an empty file in its place).
nowhere=$scratch/nowhere
expect 3 "no Vulkan device; install" env VK_DRIVER_FILES="$nowhere" VK_ICD_FILENAMES="$nowhere" "$program" devices
expect 3 "[]" env VK_DRIVER_FILES="$nowhere" VK_ICD_FILENAMES="$nowhere" "$program" devices --json
: >"$scratch/libvulkan.so.1"
: >"$scratch/libvulkan.so"
expect 3 "no Vulkan loader (libvulkan.so.1): install" env LD_LIBRARY_PATH="$scratch" "$program" devices

# Faults end in their exit codes.
expect 4 "OUT_OF" env VANTAGE_FAULT=any:2:out_of_memory "$program" devices
expect 5 "VK_ERROR_DEVICE_LOST" env VANTAGE_FAULT=any:2:device_lost "$program" devices
expect 2 "is no fault" env VANTAGE_FAULT=nonsense "$program" devices

exit $((failures > 0))
