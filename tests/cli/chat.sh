#!/usr/bin/env bash
# vantage chat as a script drives it: turns, history that is kept, commands, Ctrl-C, full contexts, models without a
# template.
# Once: it is about files and texts; what devices compute is compared in tests/device.
. "${VANTAGE_ROOT:?}/tests/cli/common.bash"
model=${VANTAGE_ROOT:?}/assets/models/mini-world
chat() { "$program" chat -q --template chatml --precision f32 --temp 0 -n 12 "$@"; }
# field NAME LINE: a number or a text of a turn's JSON.
field() { sed -n "$2p" "$scratch/json" | sed "s/.*\"$1\":\(\"[^\"]*\"\|[0-9]*\).*/\1/"; }

first="Mia put the red key in the box." second="Where is the key?"
printf '%s\n\n%s\n' "$first" "$second" | chat >"$scratch/out" 2>"$scratch/err"
check "a reply to each line, and nothing to an empty one" test "$(wc -l <"$scratch/out")" -ge 2
check "-q says nothing ($(<"$scratch/err"))" test ! -s "$scratch/err"

printf '%s\n%s\n' "$first" "$second" | chat --json >"$scratch/json"
check "an object a turn" test "$(wc -l <"$scratch/json")" = 2
check "turns are counted" test "$(field turn 1)$(field turn 2)" = 12
check "the text of the turn" test "$(field text 2)" = "\"$second\""
check "nothing is kept at first" test "$(field kept_tokens 1)" = 0
check "what has run is kept" test "$(field kept_tokens 2)" -ge "$(field prompt_tokens 1)"
check "the same as without JSON" test "$(field reply 1)" = "\"$(head -n 1 "$scratch/out")\""
reply=$(field reply 1)
reply=${reply:1:-1}
turn=$(printf '<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n' "$first"; echo .)
history=$(printf '%s%s<|im_end|>\n<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n' "${turn%.}" "$reply" "$second"; echo .)
alone=$("$program" run -q -p "${history%.}" --precision f32 --temp 0 -n 12 --stop '<|im_end|>')
check "the second reply is to the whole conversation ($alone)" test "$(field reply 2)" = "\"$alone\""

printf '%s\n/reset\n%s\n' "$first" "$first" | chat --json >"$scratch/json"
check "/reset forgets" test "$(field reply 1)" = "$(field reply 2)"
check "/reset: as many tokens" test "$(field prompt_tokens 1)" = "$(field prompt_tokens 2)"
printf '%s\n/quit\n%s\n' "$first" "$first" | chat --json >"$scratch/json"
check "/quit ends" test "$(wc -l <"$scratch/json")" = 1
printf '/help\n/nonsense\n' | "$program" chat --template chatml >"$scratch/out" 2>"$scratch/err"
check "/help" grep -q '^/reset' "$scratch/err"
check "an unknown command is named" grep -q '/nonsense is not a command' "$scratch/err"
check "commands reply nothing" test ! -s "$scratch/out"
printf ' /etc\n' | chat --json >"$scratch/json"
check "a slash behind a space is text" test "$(field text 1)" = '" /etc"'
printf '%s' "$first" | chat --json --system "Be brief." >"$scratch/json"
check "a last line without its end; a system message" test "$(field prompt_tokens 1)" -gt 40
printf '{%% for m in messages if m.role == "user" %%}{{ m.content }}{%% endfor %%}' >"$scratch/deaf.jinja"
printf "%s" "$first" | "$program" chat --template "$scratch/deaf.jinja" --system "Be brief." >/dev/null 2>"$scratch/err" && fail "a template that leaves the system message out"
check "it is said ($(<"$scratch/err"))" grep -q -- "--system" "$scratch/err"
check "no line, no reply" test -z "$(chat </dev/null)"

# ---- templates -------------------------------------------------------------------------------------------------------

# ends CODE TEXT COMMAND…: ends with CODE and one line on stderr that has each of TEXT's words joined by *.
ends() {
    local code=$1 text=$2 got=0
    shift 2
    "$@" >"$scratch/out" 2>"$scratch/err" <<<"Hello" || got=$?
    # shellcheck disable=SC2053  # a pattern
    if ((got != code || $(wc -l <"$scratch/err") != 1)) || [[ $(<"$scratch/err") != *$text* ]]; then
        printf 'FAILED: %s\n  wanted %s and one line with "%s"\n  got %s: %s\n' "$*" "$code" "$text" "$got" "$(<"$scratch/err")"
        failures=$((failures + 1))
    fi
}
ends 6 "mini-world: there is no chat template"*"vantage run"*"--template" "$program" chat
ends 6 "$scratch/nowhere.jinja" "$program" chat --template "$scratch/nowhere.jinja"
printf '\n{%% for m in messages %%}' >"$scratch/open.jinja"
ends 6 "open.jinja, line 2: the template ends without {% endfor %}" "$program" chat --template "$scratch/open.jinja"
echo '{% include "x" %}' >"$scratch/include.jinja"
ends 1 'include.jinja, line 1: the tag "include" is not supported' "$program" chat --template "$scratch/include.jinja"
echo '{{ raise_exception("Only haiku.") }}' >"$scratch/refuses.jinja"
ends 2 'refuses.jinja, line 1: the template rejects the input: "Only haiku."' "$program" chat --template "$scratch/refuses.jinja"
ends 2 "the conversation has "*" tokens, but the context has 8; start again with /reset, or use a larger --ctx" "$program" chat --template chatml --ctx 8
ends 2 "--profile needs a command that runs a model" "$program" tokenize --profile "$scratch/trace.json"

mkdir "$scratch/model" && cp "$model"/{config.json,tokenizer.json,generation_config.json,model.safetensors} "$scratch/model"
echo '{"bos_token": {"content": "<|endoftext|>"}, "chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"}' >"$scratch/model/tokenizer_config.json"
check "a model's own template" test -n "$("$program" chat -q -m "$scratch/model" -n 4 <<<"Once upon a time")"
echo 'Story: {{ messages[-1].content }}' >"$scratch/model/chat_template.jinja"
"$program" chat -q --json -m "$scratch/model" -n 4 <<<"Once" >"$scratch/json"
check "its chat_template.jinja comes first" test "$(field prompt_tokens 1)" -lt 8
"$program" chat --template chatml --ctx 40 --ignore-eos --stop qqq <<<"Hello" >/dev/null 2>"$scratch/err"
check "a context that fills up is said ($(<"$scratch/err"))" grep -q 'the context of 40 tokens is full' "$scratch/err"

# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------

# A reply that goes on until it is stopped; the script then goes on with the next line, and Ctrl-C ends it there.
mkfifo "$scratch/lines"
echo '{{ messages[-1].content }}' >"$scratch/last.jinja"
: >"$scratch/text"
set -m
"$program" chat -q --template "$scratch/last.jinja" --ignore-eos -n 100000 <"$scratch/lines" >"$scratch/text" 2>"$scratch/err" &
job=$!
set +m
exec 3>"$scratch/lines"
lines() { (($(wc -l <"$scratch/text") == $1)); } # one a reply that has ended
printf 'Once upon a time\n' >&3
until_true in_line
continue_with INT
until_true lines 1
check "Ctrl-C stops a reply, not the program" kill -0 $job
printf 'The dog\n' >&3
until_true in_line
check "the next line is replied to" lines 1
continue_with INT
until_true lines 2
kill -INT $job
ends_quietly "Ctrl-C at the prompt"
exec 3>&-

if ((failures)); then exit 1; fi
echo "chat: all as wanted"
