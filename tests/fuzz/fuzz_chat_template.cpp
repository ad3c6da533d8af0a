// The chat template reader and interpreter. The input is a template and, after a NUL byte, the variables as JSON;
// without them a short conversation is used. The output must be UTF-8, within the limits, and deterministic.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/utf8.h"
#include "runtime/text/chat_template.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/require.h"

namespace {

using vantage::text::jinja::OrderedJson;

// Below the defaults, so that the fuzzer reaches the limits quickly.
constexpr vantage::text::jinja::Limits limits{
    .depth = 300, .steps = 20'000, .made = std::size_t{8} << 20, .output = std::size_t{1} << 16};

OrderedJson variables_of(std::string_view json) {
    if (json.empty())
        return {{"messages", {{{"role", "user"}, {"content", " Hi "}}, {{"role", "assistant"}, {"content", "Hö?"}}}},
                {"add_generation_prompt", true},
                {"bos_token", "<s>"},
                {"tools", nullptr}};
    vantage::parse_json(json, "fuzz.json");  // not too deep
    OrderedJson variables = OrderedJson::parse(json);
    return variables.is_object() ? variables : OrderedJson::object();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const HeapMeter meter;
    const std::string_view input(reinterpret_cast<const char*>(data), size), source = input.substr(0, input.find('\0'));
    try {
        const OrderedJson variables = variables_of(input.substr(std::min(source.size() + 1, size)));
        const auto parsed = vantage::text::ChatTemplate::parse(source, "fuzz.jinja");
        const std::string text = parsed.render(variables, 0, limits);
        require(vantage::is_utf8(text) && text.size() <= limits.output);
        require(parsed.render(variables, 0, limits) == text);
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file || error.kind() == vantage::ErrorKind::unsupported ||
                error.kind() == vantage::ErrorKind::usage);
        require_message(error);
    }
    meter.require_at_most(std::size_t{128} << 20);
    return 0;
}
