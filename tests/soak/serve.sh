#!/usr/bin/env bash
# serve.sh [REQUESTS [AT_ONCE]]: 10,000 requests, 64 at once, to `vantage serve` with the built-in model: whole,
# streamed, cut, broken, read slowly. Fails if one is left, if a text changes, or if memory grows. Needs a build in
# build/release, and node.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.."
log=$(mktemp)
build/release/vantage serve --port 0 --precision f32 --connections-per-address 0 2>"$log" &
server=$!
trap 'kill "$server"; wait "$server"; rm -f "$log"' EXIT
until address=$(grep -oE 'http://[^ ]+' "$log"); do
    kill -0 "$server" 2>/dev/null || { cat "$log"; exit 1; }
    sleep 0.1
done
node tests/soak/serve.mjs "$address" "$server" "${1:-10000}" "${2:-64}"
