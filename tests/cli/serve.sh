#!/usr/bin/env bash
# vantage serve: endpoints, streams, refusals, keys, clients that go, the end by a signal. Clients are curl's.
# Once: what is computed is tested elsewhere on every device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
if ! "$program" serve --help | grep -- --port >/dev/null || ! command -v curl >/dev/null; then
    echo "skipped: needs a build with libmicrohttpd, and curl"
    exit 77
fi

# start ARGUMENT…: serves at a free port; sets job, and the address in `at`.
start() {
    begin "$program" serve --port 0 "$@"
    until_true grep -q 'http://\|error' err
    at=$(grep -oE 'http://[^ ]+' err)
    until_true curl -sf "$at/health" -o health
}
# stop CODE: SIGTERM ends the server with this code.
stop() {
    local code=0
    kill -TERM "$job"
    wait "$job" || code=$?
    if ((code != $1)); then fail "after SIGTERM: wanted $1, got $code: $(<err)"; fi
}
# asks PATH BODY ARGUMENT…: the answer's body is in `out`, its status in `status`.
asks() {
    local path=$1 body=$2
    shift 2
    status=$(curl -s -o out -D head -w '%{http_code}' "$at$path" ${body:+-d "$body"} "$@")
}
# answers STATUS TEXT PATH BODY ARGUMENT…
answers() {
    local wanted=$1 text=$2
    shift 2
    asks "$@"
    if [[ $status != "$wanted" || $(<out) != *"$text"* ]]; then fail "$*: wanted $wanted and $text, got $status: $(<out)"; fi
}

start --slots 3 --queue 2 --template chatml --precision f32
"$program" run -q --precision f32 -p "The dog" -n 12 --temp 0 >run.txt
text=$(tail -n 1 run.txt)
text=${text#The dog}

# ---- one answer
answers 200 '{"status":"ok"}' /health ''
answers 200 '"id":"mini-world"' /v1/models ''
answers 200 '"owned_by":"vantage"' /v1/models/mini-world ''
answers 404 'there is no model' /v1/models/other ''
answers 200 "\"text\":\"$text\"" /v1/completions '{"prompt": "The dog", "max_tokens": 12, "temperature": 0}'
check "usage" grep -q '"prompt_tokens":2,"completion_tokens":12,"total_tokens":14' out
check "its end" grep -q '"finish_reason":"length"' out
answers 200 '"finish_reason":"stop"' /v1/completions '{"prompt": "The dog", "max_tokens": 60, "temperature": 0, "stop": "."}'
check "nothing of the stop text" test "$(grep -c '\.","logprobs"' out)" = 0
answers 200 '"index":3' /v1/completions '{"prompt": ["The dog", "A red"], "n": 2, "max_tokens": 4, "seed": 5}'
cp out first
answers 200 '"seed":5' /v1/completions '{"prompt": ["The dog", "A red"], "n": 2, "max_tokens": 4, "seed": 5}'
check "the same seed gives the same texts" test "$(grep -oE '"choices":.*"usage"' out)" = "$(grep -oE '"choices":.*"usage"' first)"
answers 200 '"role":"assistant"' /v1/chat/completions '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}'
answers 200 '<|im_start|>user\nHi<|im_end|>' /apply-template '{"messages": [{"role": "user", "content": "Hi"}]}'

was=$(curl -s "$at/tokenize" -d '{"content": " was"}' | grep -oE '[0-9]+' | head -n 1)
answers 200 '"text":"' /v1/completions "{\"prompt\": \"The dog\", \"max_tokens\": 1, \"temperature\": 0, \"logit_bias\": {\"$was\": -100}}"
check "a forbidden token is not drawn" test "$(grep -c '"text":" was"' out)" = 0
answers 200 '"text":" was was was"' /v1/completions "{\"prompt\": \"The dog\", \"max_tokens\": 3, \"temperature\": 0, \"logit_bias\": {\"$was\": 100}}"

# ---- functions
tools='[{"type": "function", "function": {"name": "age", "parameters": {"type": "object", "properties": {"years": {"type": "integer", "multipleOf": 2}}, "required": ["years"]}}}]'
hi='"messages": [{"role": "user", "content": "Hi"}]'
answers 400 '"param":"tools[0].function.parameters"' /v1/chat/completions "{$hi, \"tools\": ${tools/\"parameters\"/\"strict\": true, \"parameters\"}}"
answers 400 'no tool has the name \"size\"' /v1/chat/completions "{$hi, \"tools\": $tools, \"tool_choice\": {\"type\": \"function\", \"function\": {\"name\": \"size\"}}}"
answers 400 '"tool_choice\" needs' /v1/chat/completions "{$hi, \"tool_choice\": \"required\"}"
answers 400 'tool_calls[0].function.arguments' /v1/chat/completions '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "age", "arguments": "["}}]}]}'

# ---- under load
if "$program" bench serve --help | grep -- --clients >/dev/null; then
    "$program" bench serve "$at" --clients 1,2 --requests 4 --prompt 8 -n 6 -o csv >load.csv
    check "two rows without failures" test "$(grep -cE ',(1|2),4,0,[0-9.]+,' load.csv)" = 2
    ends 1 "connect" bench serve http://127.0.0.1:1
    ends 2 "clients" bench serve "$at" --clients 0
fi

# ---- structured output
schema='{"properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer"}}, "required": ["name", "age"]}'
answers 200 '"finish_reason":"stop"' /v1/completions "{\"prompt\": \"The dog\", \"max_tokens\": 60, \"seed\": 1, \"response_format\": {\"type\": \"json_schema\", \"json_schema\": {\"name\": \"person\", \"schema\": $schema}}}"
check "JSON of the schema" grep -qE '"text":"\{\\"name\\": ?\\"[^"]*\\", ?\\"age\\": ?-?[0-9]+\}"' out
answers 200 '"finish_reason":"stop"' /v1/completions '{"prompt": "The dog", "max_tokens": 60, "seed": 1, "guided_choice": ["yes", "no"]}'
check "a choice" grep -qE '"text":"(yes|no)"' out
answers 200 '"content":"{' /v1/chat/completions '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 30, "response_format": {"type": "json_object"}}'

# ---- probabilities: of a prompt and of what follows it, as PyTorch has them (tests/cli/bench_model.sh names the texts)
answers 200 '"token_logprobs":[null,' /v1/completions '{"prompt": "The dog was", "max_tokens": 0, "echo": true, "logprobs": 1}'
echoed=$(grep -oE '"token_logprobs":\[[^]]*' out | grep -oE '[^,]*$')
answers 200 '"tokens":[" was"]' /v1/completions '{"prompt": "The dog", "max_tokens": 1, "temperature": 0, "logprobs": 1}'
drawn=$(grep -oE '"token_logprobs":\[[^]]*' out | grep -oE '[^[]*$')
check "echo and draw agree: $echoed, $drawn" awk "BEGIN { d = $echoed - ($drawn); exit !(d < 1e-4 && d > -1e-4) }"

# ---- a stream
curl -sN "$at/v1/completions" -d '{"prompt": "The dog", "max_tokens": 12, "temperature": 0, "stream": true}' >stream
check "the same text in pieces" test "$(grep -oE '"text":"[^"]*' stream | sed 's/"text":"//' | tr -d '\n')" = "$text"
check "every line is an event" test "$(grep -cvE '^(data: .*)?$' stream)" = 0
check "its end" test "$(grep -v '^$' stream | tail -n 1)" = "data: [DONE]"
check "one reason" test "$(grep -c '"finish_reason":"length"' stream)" = 1
curl -sN "$at/v1/chat/completions" -d '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2, "stream": true, "stream_options": {"include_usage": true}}' >stream
check "the role first" grep -qm1 '"delta":{"role":"assistant","content":null}' stream
check "usage last" grep -q '"choices":\[\],"usage":{"prompt_tokens":' stream

# ---- attention of an answer, and the page that shows it
answers 200 '"id":"cmpl-' /v1/completions '{"prompt": "The dog", "max_tokens": 3, "temperature": 0}'
id=$(grep -oE 'cmpl-[0-9a-f]+' out | head -n 1)
answers 200 '"places":["The"," dog"' /v1/attention "{\"id\": \"$id\", \"layers\": [0], \"top\": 2}"
check "a row for each token" test "$(grep -o '"row":' out | wc -l)" = 3
answers 400 '"param":"layers"' /v1/attention "{\"id\": \"$id\", \"layers\": [9]}"
answers 410 'not kept' /v1/attention '{"id": "cmpl-unheard"}'
answers 200 '<title>Vantage</title>' / ''
check "no script from elsewhere" grep -qi "^Content-Security-Policy: default-src 'self'" head
answers 200 'fetch(' /page.js ''

# ---- what is refused
answers 400 '"param":"prompt"' /v1/completions '{"prompt": 3}'
answers 400 '"param":"logit_bias"' /v1/completions '{"prompt": "a", "logit_bias": {"x": 1}}'
answers 400 '"param":"response_format.type"' /v1/completions '{"prompt": "a", "response_format": {"type": "yaml"}}'
answers 400 '/properties/a: \"multipleOf\"' /v1/completions '{"prompt": "a", "json_schema": {"properties": {"a": {"multipleOf": 3}}}}'
answers 400 'left recursion' /v1/completions '{"prompt": "a", "grammar": "root ::= root \"a\" | \"b\""}'
answers 400 'cannot both be given' /v1/completions '{"prompt": "a", "grammar": "root ::= \"a\"", "guided_regex": "a"}'
answers 400 'no encoder' /v1/embeddings '{"input": "a"}'
answers 400 'not JSON' /v1/completions '{'
answers 400 'has 300 tokens' /v1/completions "{\"prompt\": [$(printf '1,%.0s' {1..299})1]}"
answers 404 'there is no /v1/nothing' /v1/nothing ''
answers 405 'takes POST' /v1/completions ''
answers 403 'not this server' /health '' -H 'Host: example.org'
answers 403 'may not ask' /v1/completions '{"prompt": "a"}' -H 'Origin: https://example.org'
answers 200 text_completion /v1/completions '{"prompt": "a", "max_tokens": 1, "unheard_of": 1}'
check "what is ignored is named" grep -qi '^vantage-ignored: unheard_of' head

# ---- clients that go, and a queue that is full
readers=()
for ((i = 0; i < 12; ++i)); do
    curl -sN --max-time 0.2 "$at/v1/completions" -d '{"prompt": "The dog", "max_tokens": 200, "stream": true, "ignore_eos": true}' >/dev/null &
    readers+=($!)
done
wait "${readers[@]}"
nobody_runs() { curl -s "$at/v1/requests" | grep -qF '"data":[]'; }
until_true nobody_runs
curl -s "$at/metrics" >metrics
check "cancelled or rejected, all of them" awk '/^vantage_(cancelled|rejected)_total/ { n += $2 } END { exit n < 12 }' metrics
check "answered meanwhile with 429" grep -q 'code="429"' metrics
check "tokens counted" grep -qE '^vantage_generated_tokens_total [1-9]' metrics
if command -v promtool >/dev/null; then check "promtool" promtool check metrics <metrics; else echo "skipped: promtool"; fi
answers 200 "\"text\":\"$text\"" /v1/completions '{"prompt": "The dog", "max_tokens": 12, "temperature": 0}'

# ---- its end: what runs is answered, then 0
curl -sN "$at/v1/completions" -d '{"prompt": "The dog", "max_tokens": 100, "temperature": 0, "ignore_eos": true, "stream": true}' >stream &
reader=$!
until_true grep -q '"text":"[^"]' stream
stop 0
wait "$reader"
check "an answer that ran is whole" test "$(grep -v '^$' stream | tail -n 1)" = "data: [DONE]"
check "nothing answers any more" test "$(curl -s -o /dev/null -w '%{http_code}' "$at/health")" = 000

# ---- keys, names, an encoder, a Unix socket
printf '# keys\nfirst\n\nsecond \n' >keys
start --api-key-file keys --strict-model --name small --cors-origin https://example.org
answers 200 ok /health ''
answers 401 'an API key is needed' /v1/models ''
answers 401 'unknown API key' /v1/models '' -H 'Authorization: Bearer firs'
answers 200 '"id":"small"' /v1/models '' -H 'Authorization: Bearer second'
answers 200 '"id":"small"' /v1/models '' -H 'x-api-key: first' -H 'Origin: https://example.org'
check "the page may read it" grep -qi '^Access-Control-Allow-Origin: https://example.org' head
answers 404 'no model' /v1/completions '{"prompt": "a", "model": "gpt-4"}' -H 'x-api-key: first'
answers 400 'no chat template' /v1/chat/completions '{"model": "small", "messages": [{"role": "user", "content": "Hi"}]}' -H 'x-api-key: first'
answers 204 '' /v1/completions '' -X OPTIONS -H 'Origin: https://example.org'
stop 0

start -m "$models/bert" --precision f32
answers 200 '"object":"embedding"' /v1/embeddings '{"input": ["a", "The dog"], "dimensions": 4}'
check "two vectors of four numbers" test "$(grep -oE '"embedding":\[[^]]*' out | tr -cd ',\n' | sort -u)" = ",,,"
answers 200 '"embedding":"' /v1/embeddings '{"input": "a", "encoding_format": "base64"}'
grep -oE '"embedding":"[^"]*' out | cut -d'"' -f4 | base64 -d >vector
"$program" embed -q -m "$models/bert" --precision f32 --normalise -p a >embed.txt
first=$(od -An -t f4 -N 4 vector | tr -d ' ')
check "the vector of vantage embed: $first" awk -F'[][,]' -v x="$first" '{ d = $2 - x; exit !(d < 1e-4 && d > -1e-4) }' embed.txt
answers 400 'cannot rerank' /rerank '{"query": "a", "documents": ["b"]}'
answers 400 'is an encoder' /v1/completions '{"prompt": "a"}'
stop 0

begin "$program" serve --listen "unix:$scratch/socket" -q
until_true test -S socket
until_true curl -sf --unix-socket socket http://localhost/health -o health
stop 0
check "the socket is gone" test ! -e socket

ends 2 'cannot listen at 203.0.113.7:8080' serve --host 203.0.113.7 --no-key
ends 2 'give --api-key-file, or --no-key' serve --host 0.0.0.0
ends 6 'has no keys' serve --api-key-file /dev/null
ends 6 'no such folder' serve -m nowhere --port 0
exit $((failures > 0))
