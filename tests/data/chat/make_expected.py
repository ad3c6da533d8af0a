#!/usr/bin/env python3
"""Writes expected.json: what Jinja2 makes of templates/*.jinja and of the snippets below (Debian's python3-jinja2).

The environment is that of transformers' apply_chat_template. Every template also runs with its own names replaced by
others; Jinja2 has to agree with itself then, and the host tests ask the same of Vantage."""
import datetime
import json
import pathlib
import re

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

here = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 3, 7, 9, 5, 4)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_written"), [], [], body).set_lineno(line)

    def _written(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = NOW.strftime


def outcome(template, variables):
    """{"text": …}, or {"error": the message}."""
    try:
        return {"text": env.from_string(template).render(**variables)}
    except Exception as error:  # whatever Python throws
        return {"error": str(error)}


# ---- conversations ---------------------------------------------------------------------------------------------------

def say(role, content, **more):
    return {"role": role, "content": content, **more}


WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "The weather of a town",
    "parameters": {"type": "object", "required": ["town"], "properties": {
        "town": {"type": "string", "description": "Its name & country, e.g. <Köln>"},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        "days": {"type": "integer", "default": 3, "nullable": True},
        "hours": {"type": "array", "items": {"type": "number"}},
        "places": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "where": {"oneOf": [{"type": "string"}, {"type": "boolean", "description": "here"}]},
        "either": {"type": ["string", "null"]}}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time", "parameters": {}}}
CALL = {"id": "abcdef123", "type": "function",
        "function": {"name": "weather", "arguments": {"town": "Köln", "days": 2, "exact": True, "unit": None}}}
TALK = [say("user", "Hello"), say("assistant", "  Hi!\n"), say("user", " What's \"2 + 2\"? <b>\U0001f600</b>\t\n")]
TOOLS_USED = [say("user", "Weather?"), {"role": "assistant", "content": "", "tool_calls": [CALL]},
              say("tool", "12.5 & rain", tool_call_id="abcdef123"), say("assistant", "Rain."), say("user", "Thanks")]
conversations = {
    "one": {"messages": [say("user", "Hello there")]},
    "talk": {"messages": TALK},
    "system": {"messages": [say("system", "Be kind.\n")] + TALK},
    "answered": {"messages": TALK + [say("assistant", "<think>\nAdd.\n</think>\n\n4")], "add_generation_prompt": False},
    "thought": {"messages": TALK[:1] + [say("assistant", "<think>\nGreet.\n</think>\n\nHi")] + TALK[2:]},
    "two users": {"messages": [say("user", "a"), say("user", "b")]},
    "no messages": {"messages": []},
    "tools": {"messages": [say("system", "S"), say("user", "Weather?")], "tools": [WEATHER, CLOCK]},
    "tools used": {"messages": TOOLS_USED, "tools": [WEATHER]},
    "tools used, none given": {"messages": TOOLS_USED},
    "two answers of tools": {"messages": TOOLS_USED[:3] + [say("tool", "more", tool_call_id="x")] + TOOLS_USED[3:]},
    "parts": {"messages": [say("user", [{"type": "image"}, {"type": "text", "text": " a cat? "}])]},
    "built-in tools": {"messages": [say("user", "Search"), {"role": "assistant", "tool_calls": [
        {"function": {"name": "search", "arguments": {"query": "rain"}}}]}, say("ipython", {"found": [1, 2.5]})],
        "builtin_tools": ["search", "code_interpreter"]},
    "tools apart": {"messages": [say("user", "x")], "tools": [CLOCK], "tools_in_user_message": False},
    "no thinking": {"messages": TALK, "enable_thinking": False},
    "unicode": {"messages": [say("user", "\u00a0\u3000ß Ω \u200b naïve\u2028\x1f"), say("assistant", "日本\n\n"),
                             say("user", "'quotes' \"and\" \\ {{ braces }} {% if %}")]},
}
for conversation in conversations.values():
    conversation.setdefault("add_generation_prompt", True)
    conversation.update(bos_token="<s>", eos_token="</s>")

# The names that a template makes itself, and others in their place.
own_names = {
    "llama2": ["loop_messages", "message", "system_message", "content"],
    "llama3": ["loop_messages", "message", "content"],
    "llama31": ["system_message", "first_user_message", "message", "tool_call", "arg_name", "arg_val", "t", "date_string"],
    "mistral1": ["message"],
    "mistral3": ["ns", "loop_messages", "user_messages", "tool", "key", "val", "tool_call", "out", "system_message"],
    "nemo": ["loop_messages", "user_messages", "message", "tool_call", "out", "system_message"],
    "qwen2": ["message"],
    "qwen25": ["message", "tool_call"],
    "qwen3": ["ns", "index", "message", "reasoning_content", "tool_call"],
    "gemma": ["message", "role"],
    "gemma3": ["first_user_prefix", "loop_messages", "message", "item", "role"],
    "chatml": ["message"],
    "phi3": ["message"],
    "zephyr": ["message"],
    "gptoss": ["render_type", "render_tools", "build_system_message", "spec", "required_names", "is_nullable", "variant",
               "prop_name", "prop_spec", "param_name", "param_spec", "inner_type", "namespace_name", "tool", "message",
               "developer_message", "loop_messages", "last_tool_call", "future_final_message", "future_message", "tool_call"],
}
text_or_name = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.])[A-Za-z_]\w*)""")


def renamed(template, names):
    """Inside of tags, outside of texts, and not behind a dot."""
    others = {name: f"v{i}_{name[::-1]}" for i, name in enumerate(names)}
    inside = lambda tag: text_or_name.sub(lambda m: others.get(m[0], m[0]), tag[0])
    return re.sub(r"\{[{%].*?[%}]\}", inside, template, flags=re.S)


# ---- snippets: one construct each ------------------------------------------------------------------------------------

things = {"n": 7, "x": 2.5, "t": "Hello, Wörld", "e": "", "l": [1, "two", None, True, 3.0], "d": {"b": 1, "a": [1, {"c": None}]},
          "none_value": None, "yes": True, "no": False,
          "rows": [{"k": "a", "v": 1}, {"k": "b", "v": 2, "sub": {"z": 5}}, {"k": "a", "v": 3}]}
snippets = (here / "snippets.txt").read_bytes().decode().split("\n----\n")


def main():
    cases, other_names = [], {}
    for path in sorted((here / "templates").glob("*.jinja")):
        template = path.read_text()
        other = other_names[path.stem] = renamed(template, own_names[path.stem])
        assert other != template, path
        for name, variables in conversations.items():
            expected = outcome(template, variables)
            assert expected == outcome(other, variables) or "error" in expected, (path, name)
            cases.append({"template": path.stem, "conversation": name, **expected})
    (here / "expected.json").write_text(json.dumps(
        {"jinja2": jinja2.__version__, "conversations": conversations, "renamed": other_names, "cases": cases,
         "things": things, "snippets": [{"source": s, **outcome(s, things)} for s in snippets]},
        ensure_ascii=False, indent=1) + "\n")

main()
