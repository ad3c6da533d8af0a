#!/usr/bin/env bash
# The program on a driver that runs nothing (tests/null_device): it needs no device, and any Vulkan call can be made to
# fail. Whichever does, the program ends in time, with the exit code of the error and one line, and never by a signal.
# Once: it brings its own device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
unset VANTAGE_DEVICE VANTAGE_GUARD  # which fills memory with other values than 0
export NODEVICE_SELECT=1  # Mesa's layer, which is always on, crashes when an enumeration fails
export VK_DRIVER_FILES=${VANTAGE_NULL_DEVICE:?} VK_ICD_FILENAMES=$VANTAGE_NULL_DEVICE
out_of_memory=-2 device_lost=-4  # of VkResult

# All results are 0.
gives "chosen: the best GPU" devices
gives "" run -q -p Hello -n 3
gives "" run -q -p Hello -n 3 --ignore-eos
gives "next token" inspect -p Hello
gives "heads  means over tokens" heads -p Hello
gives "[0.0,0.0," embed -m "$models/bert" -p Hello

run=(run -q -p Hello -n 3 --ignore-eos)

# an enumeration that fails is no crash in the layer, where there is one
code=0
VANTAGE_VALIDATE=1 NULL_DEVICE_FAIL=vkEnumeratePhysicalDevices:1:$out_of_memory "$program" run -q -p Hello -n 3 >out 2>err || code=$?
check "an enumeration that fails under the layer ends with 4, or 1 where there is none (got $code: $(<err))" test $code = 4 -o $code = 1

# The layer reports what the program or the driver does wrong. With it the failures below would show what it does.
export NULL_DEVICE_COUNT=$scratch/calls
unset VANTAGE_VALIDATE
gives "" "${run[@]}"
total=$(awk '$1 == "any" { print $2 }' calls)
# Loader 1.3.239 may crash in vkEnumeratePhysicalDevices, where it sorts them, when this call of its own fails.
of_the_loader=vkEnumerateDeviceExtensionProperties
read -ra functions <<<"$(awk -v no=$of_the_loader '$3 == "result" && $1 != no { printf "%s ", $1 }' calls)"
check "calls are counted: ${#functions[@]} functions, $total calls" test "${#functions[@]}" -gt 15 -a "$total" -gt 500

# Functions whose first failure may not matter: the loader calls them for itself, the allocator tries a smaller block,
# the file with compiled pipelines is not written, or the wait was only to free a buffer.
tolerated=" vkEnumerateInstanceVersion vkAllocateMemory vkMapMemory
vkGetPipelineCacheData vkWaitSemaphores "

# failing FAULT CODES: with this fault the program ends with one of the codes; 0 without a message, others with a line.
failing() {
    local fault=$1 codes=$2 got=0 lines
    rm -rf "$VANTAGE_CACHE_DIR"  # so that pipelines are made
    NULL_DEVICE_FAIL=$fault timeout 300 "$program" "${run[@]}" >out 2>err || got=$?
    lines=$(wc -l <err)
    if [[ " $codes " != *" $got "* ]] || ((lines != (got != 0))); then
        fail "$fault: wanted one of $codes, got $got: $(<err)"
    fi
}
for function in "${functions[@]}"; do
    codes=
    if [[ $tolerated == *[[:space:]]"$function"[[:space:]]* ]]; then codes="0 4"; fi
    if [[ $function == vkCreateInstance ]]; then codes=3; fi
    failing "$function:1:$out_of_memory" "${codes:-4}"
    if [[ $function != vkCreateInstance ]]; then codes=5; fi
    failing "$function:1:$device_lost" "$codes"
done
# Calls at any time. The number of waits differs from run to run.
for ((n = 1; n <= total; n += 37)); do
    failing "any:$n:$out_of_memory" "0 3 4"
    failing "any:$((n + 18)):$device_lost" "0 3 5"
done

exit $((failures > 0))
