#!/usr/bin/env bash
# run.sh: clients of OpenAI's API that others wrote, from npm, against `vantage serve`, and its page in Chromium. Needs
# node and npm; the packages are kept in VANTAGE_CLIENTS (default build/clients). Without them, or without a network, it
# is skipped.
set -uo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=$(dirname -- "$(dirname -- "$here")")
program=${VANTAGE_BIN:-$root/build/release/vantage}
packages=${VANTAGE_CLIENTS:-$root/build/clients}
skip() {
    echo "skipped: $*"
    exit 77
}
command -v node >/dev/null && command -v npm >/dev/null || skip "needs node and npm"
"$program" serve --help | grep -- --port >/dev/null || skip "this build has no server"
mkdir -p "$packages"
cp "$here/"{package.json,check.mjs,openai.mjs,functions.mjs,forms.mjs,page.mjs} "$packages/"
if [[ ! -d $packages/node_modules/openai || ! -d $packages/node_modules/ajv || ! -d $packages/node_modules/playwright-core ]]; then
    npm install --prefix "$packages" --no-audit --no-fund --silent || skip "npm cannot fetch the packages"
fi

scratch=$(mktemp -d)
jobs=()
at_exit() {
    kill "${jobs[@]}" 2>/dev/null
    wait
    rm -rf "$scratch"
}
trap at_exit EXIT
# serve NAME ARGUMENT…: prints nothing; the address is in $address.
serve() {
    local name=$1 i
    shift
    : >"$scratch/$name"
    "$program" serve --port 0 "$@" 2>"$scratch/$name" &
    jobs+=($!)
    for ((i = 0; i < 600; ++i)); do
        address=$(grep -oE 'http://[^ ]+' "$scratch/$name") && break
        sleep 0.1
    done
    [[ -n $address ]] || { cat "$scratch/$name"; exit 1; }
}
echo first >"$scratch/keys"
serve decoder --precision f32 --slots 4 --template chatml --api-key-file "$scratch/keys"
decoder=$address
serve encoder -m "$root/tests/data/oracle/models/bert"
encoder=$address
text=$("$program" run -q --precision f32 -p "The dog" -n 12 --temp 0 | tail -n 1)
failed=0
node "$packages/openai.mjs" "$decoder" "$encoder" "${text#The dog}" || failed=1
node "$packages/forms.mjs" "$decoder" || failed=1
cat >"$scratch/short.jinja" <<'END'
{% for tool in tools or [] %}{{ tool.function.name + " " }}{% endfor %}
{%- for message in messages %}{{ message.role + ": " + message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{{ "\n" }}{% endfor %}{% if add_generation_prompt %}{{ "assistant: " }}{% endif %}
END
serve functions --precision f32 --slots 2 --template "$scratch/short.jinja"
node "$packages/functions.mjs" "$address" || failed=1
if browser=$(command -v chromium); then
    serve page --precision f32 --slots 2
    node "$packages/page.mjs" "$address" "$decoder" "$browser" || failed=1
else
    echo "skipped: the page, which needs chromium"
fi
exit "$failed"
