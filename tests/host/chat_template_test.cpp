// Chat templates compared with Jinja2 (tests/data/chat), also with renamed variables; hostile ones; model folders.
#include <catch2/catch_test_macros.hpp>
#include <ctime>

#include "runtime/base/files.h"
#include "runtime/text/chat_template.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::text::ChatTemplate, vantage::text::jinja::OrderedJson;

namespace {

std::string data(const std::string& name) { return std::string(VANTAGE_TEST_DATA) + "/data/chat/" + name; }
const OrderedJson& expected() {
    static const OrderedJson all = OrderedJson::parse(read_file(data("expected.json")));
    return all;
}

// 2026-03-07 09:05:04 local time
std::time_t some_time() {
    std::tm time{};
    time.tm_year = 126, time.tm_mon = 2, time.tm_mday = 7, time.tm_hour = 9, time.tm_min = 5, time.tm_sec = 4;
    time.tm_isdst = -1;
    return std::mktime(&time);
}

std::string rendered(const std::string& source, const OrderedJson& variables = OrderedJson::object(),
                     const text::jinja::Limits& limits = {}) {
    return ChatTemplate::parse(source, "t").render(variables, some_time(), limits);
}

// The same text as Jinja2, or a one-line error if Jinja2 fails.
void compare(const std::string& source, const OrderedJson& variables, const OrderedJson& wanted) {
    CAPTURE(source, wanted.dump());
    try {
        const std::string text = rendered(source, variables);
        REQUIRE(wanted.contains("text"));
        CHECK(text == wanted["text"].get<std::string>());
    } catch (const Error& error) {
        const std::string message = error.what();
        CAPTURE(message);
        CHECK(wanted.contains("error"));
        CHECK(message.find('\n') == std::string::npos);
        CHECK(message.rfind("t, line ", 0) == 0);
    }
}

void expect_refusal(ErrorKind kind, std::initializer_list<const char*> parts, const std::string& source,
                    const text::jinja::Limits& limits = {}) {
    CAPTURE(source.substr(0, 200));
    expect_error(kind, parts, [&] { rendered(source, OrderedJson::object(), limits); });
}

std::string times(std::size_t count, const std::string& text) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
}

}  // namespace

TEST_CASE("chat templates: conversations as rendered by Jinja2", "[chat]") {
    REQUIRE(expected()["cases"].size() == 240);
    for (const OrderedJson& test : expected()["cases"]) {
        const auto name = test["template"].get<std::string>(), conversation = test["conversation"].get<std::string>();
        CAPTURE(name, conversation);
        compare(read_file(data("templates/" + name + ".jinja")), expected()["conversations"][conversation], test);
    }
}

TEST_CASE("chat templates: renaming a template's variables changes nothing", "[chat]") {
    for (const OrderedJson& test : expected()["cases"]) {
        const auto name = test["template"].get<std::string>(), conversation = test["conversation"].get<std::string>();
        CAPTURE(name, conversation);
        compare(expected()["renamed"][name].get<std::string>(), expected()["conversations"][conversation], test);
    }
}

TEST_CASE("chat templates: each construct as in Jinja2", "[chat]") {
    REQUIRE(expected()["snippets"].size() > 170);
    for (const OrderedJson& test : expected()["snippets"])
        compare(test["source"].get<std::string>(), expected()["things"], test);
}

TEST_CASE("chat templates: unsupported features are named", "[chat]") {
    const auto not_supported = [](const char* what, const char* source) {
        expect_refusal(ErrorKind::unsupported, {"t, line 1: ", what, "is not supported"}, source);
    };
    not_supported("the tag \"include\"", "{% include 'x' %}");
    not_supported("the tag \"filter\"", "{% filter upper %}a{% endfilter %}");
    not_supported("the tag \"raw\"", "{% raw %}a{% endraw %}");
    not_supported("the tag \"call\"", "{% call m() %}{% endcall %}");
    not_supported("the filter \"dictsort\"", "{{ {} | dictsort }}");
    not_supported("the test \"upper\"", "{{ 'a' is upper }}");
    not_supported("the method \"removeprefix\" of a text", "{{ 'a'.removeprefix('b') }}");
    not_supported("the method \"append\" of a list", "{{ [].append(1) }}");
    not_supported("the method \"items\" without a call", "{{ {'items': 1}.items }}");
    not_supported("the operator **", "{{ 2 ** 3 }}");
    not_supported("a recursive loop", "{% for i in [1] recursive %}{% endfor %}");
    not_supported("loop.cycle", "{% for i in [1] %}{{ loop.cycle('a', 'b') }}{% endfor %}");
    not_supported("\"loop\" as a value", "{% for i in [1] %}{{ loop }}{% endfor %}");
    not_supported("formatting a text with %", "{{ '%s' % 'a' }}");
    not_supported("a mapping from an integer", "{{ {1: 2} }}");
    not_supported("a macro inside of", "{% for i in [1] %}{% macro m() %}{% endmacro %}{% endfor %}");
    not_supported("\"caller\" in a macro", "{% macro m() %}{{ caller() }}{% endmacro %}");
    not_supported("a call with * or **", "{{ range(*[1]) }}");
    not_supported("strftime_now with \"%Q\"", "{{ strftime_now('%Q') }}");
    not_supported("the function \"cycler\"", "{{ cycler('a') }}");
    not_supported("map inside of map", "{{ 'a' | map('map', 'upper') }}");
    expect_error(ErrorKind::unsupported, {"t, line 3: the filter \"xmlattr\""},
                 [] { rendered("a\n\n{{ {} | xmlattr }}"); });
    CHECK(rendered("{% if false %}{{ {} | xmlattr }}{% endif %}a") == "a");  // a branch that is never taken
}

TEST_CASE("chat templates: a template may reject a conversation", "[chat]") {
    expect_error(ErrorKind::usage, {"t, line 2: the template rejects the input: \"No\\nway\""},
                 [] { rendered("a\n{{ raise_exception('No\nway') }}"); });
}

TEST_CASE("chat templates: hostile ones fail with a one-line error", "[chat]") {
    // An eighth of the default limits: sanitizers are slow.
    const text::jinja::Limits limits{.steps = 125'000, .made = std::size_t{16} << 20, .output = std::size_t{2} << 20};
    const auto refused = [&](const char* what, const std::string& source) {
        const std::clock_t begin = std::clock();
        expect_refusal(ErrorKind::bad_file, {"t, line ", what}, source, limits);
        CHECK(std::clock() - begin < 10 * CLOCKS_PER_SEC);
    };
    refused("nested deeper than", "{{ " + times(10'000, "(") + "1" + times(10'000, ")") + " }}");
    refused("nested deeper than", "{{ " + times(10'000, "[") + times(10'000, "]") + " }}");
    refused("nested deeper than", "{{ " + times(10'000, "not ") + "1 }}");
    refused("nested deeper than", "{{ " + times(10'000, "-") + "1 }}");
    refused("nested deeper than", "{{ 1" + times(10'000, " + 1") + " }}");
    refused("nested deeper than", "{{ 1" + times(10'000, "|string") + " }}");
    refused("nested deeper than", "{{ a" + times(10'000, ".a") + " }}");
    refused("nested deeper than", "{{ a" + times(10'000, " is defined") + " }}");
    refused("nested deeper than", "{{ 1" + times(10'000, " if 1 else 1") + " }}");
    refused("nested deeper than", times(10'000, "{% if 1 %}") + times(10'000, "{% endif %}"));
    refused("nested deeper than", times(10'000, "{% for i in [1] %}"));
    refused("deeper than 600 levels", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    refused("steps", "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}");
    refused("steps",
            "{% set l = [1, 2, 3, 4, 5, 6, 7, 8, 9] %}" + times(8, "{% for i in l %}") + times(8, "{% endfor %}"));
    refused("MiB",
            "{% set s = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set s.x = s.x ~ s.x %}{% endfor %}");
    refused("MiB", "{% set s = namespace(x=[1]) %}{% for i in range(60) %}{% set s.x = s.x + s.x %}{% endfor %}");
    refused("steps",
            "{% set s = namespace(x=[1]) %}{% for i in range(60) %}{% set s.x = [s.x, s.x] %}{% endfor %}{{ s.x }}");
    refused(
        "steps",
        "{% set s = namespace(x=[1]) %}{% for i in range(60) %}{% set s.x = [s.x, s.x] %}{% endfor %}"
        "{% set r = namespace(x=[1]) %}{% for i in range(60) %}{% set r.x = [r.x, r.x] %}{% endfor %}{{ s.x == r.x }}");
    refused("nested deeper than 100 levels",
            "{% set s = namespace(x=[]) %}{% for i in range(200) %}{% set s.x = [s.x] %}{% endfor %}");
    refused("MiB", "{{ 'a' * 9223372036854775807 }}");
    refused("MiB", "{{ [1] * 9223372036854775807 }}");
    refused("MiB", "{% set a = 'a' * 1000000 %}{{ a.replace('a', a) }}");
    refused("MiB", "{% set a = 'a' * 1000000 %}{{ a | join(a) }}");
    refused("MiB",
            "{{ [[[[1]]]] | tojson(indent=1000000000) | length }}{{ ([[[[1]]]] * 1000) | tojson(indent=1000000000) }}");
    refused("the output exceeds ", "{% set a = 'a' * 1000000 %}{% for i in range(20) %}{{ a }}{% endfor %}");
    refused("steps", "{% set a = 'a' * 1000000 %}{% for i in range(100000) %}{% if 'b' in a %}{% endif %}{% endfor %}");
    refused("steps",
            "{% set a = 'a' * 1000000 %}{% for i in range(100000) %}{% if a[-1] == a %}{% endif %}{% endfor %}");
    refused("steps", "{% macro m(" + times(20'000, "a,") +
                         "b) %}{% endmacro %}{% for i in range(100000) %}{{ m() }}{% endfor %}");
    refused("MiB", "{% set n = 'a' * 1000000 %}{% for i in range(1000) %}{% set x = {}[n] %}{% endfor %}");
    refused("MiB", "{{ ('a ' * 1000000).split(' ') | length }}");
    // each part is a text of its own, which takes more than its one letter
    refused("MiB", "{{ ('a,' * 130000).split(',') | length }}");
    refused("MiB", "{% for i in range(4) %}{% set x = ('a' * 30000) | list %}{% endfor %}");
    refused("range() of more than", "{% for i in range(9223372036854775807) %}{% endfor %}");
    refused("exceeds 64 bits", "{{ 9223372036854775807 + 1 }}");
    refused("exceeds 64 bits", "{{ -(0 - 9223372036854775807 - 1) }}");
    refused("exceeds 64 bits", "{{ (0 - 9223372036854775807 - 1) // -1 }}");
    refused("beyond 64 bits", "{{ 9223372036854775808 }}");
    refused("division by zero", "{{ 1 / 0 }}");
    refused("division by zero", "{{ 1.5 % 0 }}");
    refused("is not a namespace", "{% set a = 1 %}{% set a.b = 2 %}");
    expect_refusal(ErrorKind::bad_file, {"more than 1000000 steps"},
                   "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}");
    CHECK(rendered("{{ (0 - 9223372036854775807 - 1) % -1 }}") == "0");
    CHECK(rendered("{% set n = namespace() %}{% set n.n = n %}{% set n.l = [n, {'n': n}] %}{{ n.n.n.l | length }}") ==
          "2");
}

TEST_CASE("chat templates: errors in damaged ones name the line", "[chat]") {
    const auto refused = [](const char* what, const char* source) {
        expect_refusal(ErrorKind::bad_file, {"t, line ", what}, source);
    };
    refused("line 2: the template ends without {% endfor %}", "a\n{% for i in [] %}\nb");
    refused("line 1: the template ends without {% endif %}", "{% if a %}x");
    refused("line 1: {{ is not closed", "{{ a\n\n");
    refused("line 1: a comment {# is not closed", "{# a\n\n");
    refused("line 2: a string is not closed", "\n{{ 'a }}\n");
    refused("\"%}\" instead of an expression", "{% if %}{% endif %}");
    refused("{% endfor %} without an open block", "{% endfor %}");
    refused("the character \"$\" has no meaning here", R"({{ "a" }})"
                                                       "{{ $ }}");
    refused("\"loop\" cannot be set", "{% set loop = 1 %}");
    refused("{% continue %} outside of a loop", "{% continue %}");
    refused("\"x\" is undefined", "{{ x.y }}");
    refused("\"name\" is undefined", "{{ {}.name.first }}");
}

TEST_CASE("chat templates: invalid UTF-8 is repaired", "[chat]") {
    CHECK(rendered("a\xff{{ m | upper }}", {{"m", "b\xc3"}}) ==
          "a\xEF\xBF\xBD"
          "B\xEF\xBF\xBD");
}

TEST_CASE("chat templates: the files of a model folder", "[chat]") {
    const test::TemporaryDirectory folder;
    const auto format = [&](const char* config) {
        write_file(folder.path("tokenizer_config.json"), std::string(config));
        return text::read_chat_format(folder.path());
    };
    const auto shown = [](const text::ChatFormat& found) { return found.chat_template.value().render(found.tokens); };

    CHECK_FALSE(text::read_chat_format(folder.path()).chat_template.has_value());
    CHECK_FALSE(format(R"({"bos_token": null})").chat_template.has_value());
    CHECK(shown(format(R"({"chat_template": "a{{ bos_token }}{{ eos_token }}", "bos_token": "<s>",
                           "eos_token": {"content": "</s>", "lstrip": false}})")) == "a<s></s>");
    CHECK(shown(format(R"({"chat_template": [{"name": "tool_use", "template": "{% nonsense %}"},
                                             {"name": "default", "template": "d"}]})")) == "d");
    expect_error(ErrorKind::bad_file, {"tokenizer_config.json", "chat_template", "default"},
                 [&] { format(R"({"chat_template": [{"name": "tool_use", "template": "t"}]})"); });
    expect_error(ErrorKind::bad_file, {"tokenizer_config.json", "\"chat_template\" is 3"},
                 [&] { format(R"({"chat_template": 3})"); });
    expect_error(ErrorKind::bad_file, {"tokenizer_config.json", "\"bos_token.content\" is missing"},
                 [&] { format(R"({"bos_token": {}})"); });
    expect_error(ErrorKind::unsupported, {"tokenizer_config.json: chat_template, line 2", "\"include\""},
                 [&] { format(R"({"chat_template": "\n{% include 'a' %}"})"); });

    write_file(folder.path("chat_template.jinja"), std::string("own file {{ bos_token }}"));
    CHECK(shown(format(R"({"chat_template": "a", "bos_token": "<s>"})")) == "own file <s>");
}

TEST_CASE("chat templates: the built-in ChatML", "[chat]") {
    const OrderedJson talk = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}, {"add_generation_prompt", true}};
    CHECK(ChatTemplate::chatml().render(talk) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}
