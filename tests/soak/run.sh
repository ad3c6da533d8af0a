#!/usr/bin/env bash
# run.sh [TOKENS [SECONDS]]: generates 10 million tokens of the built-in model (about two hours on two cores), with
# restarts, batches, new sessions and windows. Fails if memory, descriptors or the cost of a token grow.
# Needs a build in build/release, and Xvfb where there is no display.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.."
cmake --build build/release --target vantage_soak
if [[ -z ${DISPLAY:-} ]]; then exec xvfb-run -a build/release/vantage_soak "$@"; fi
exec build/release/vantage_soak "$@"
