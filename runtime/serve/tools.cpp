#include "runtime/serve/tools.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/matcher.h"

namespace vantage::serve {

using namespace internal;
using text::reply::CallableFunction;

namespace {

constexpr std::size_t most_tools = 128, longest_name = 64;
constexpr std::size_t most_states = 1u << 17;  // of the arguments of all functions
constexpr const char* whole_keywords[] = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"};

std::string function_name(const Json& function, const std::string& place) {
    const Json name = function.value("name", Json());
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    };
    const std::string wanted = format("1 to {} of a-z, A-Z, 0-9, _, - and .", longest_name);
    if (!name.is_string()) RequestFields::wrong(place + ".name", name, wanted);
    const std::string& text = name.get_ref<const std::string&>();
    if (text.empty() || text.size() > longest_name || !std::ranges::all_of(text, fits))
        RequestFields::wrong(place + ".name", name, wanted);
    return text;
}

// Each text of a grammar begins with a brace.
bool has_objects_only(const std::shared_ptr<const text::grammar::Network>& network) {
    using text::grammar::Matcher;
    Matcher matcher(network);
    for (int byte = 0; byte < 256; ++byte)
        if (byte != '{' && matcher.step(matcher.start(), static_cast<std::uint8_t>(byte)) != Matcher::dead)
            return false;
    return !matcher.may_end(matcher.start());
}

// Without "strict", keywords of a schema that are not supported demand nothing.
CallableFunction callable(const Json& tool, const std::string& place, std::vector<std::string>& left_out) {
    if (!tool.is_object() || tool.value("type", Json("function")) != "function")
        RequestFields::wrong(place, tool, "an object of the type \"function\"");
    const Json function = tool.value("function", Json());
    if (!function.is_object()) RequestFields::wrong(place + ".function", function, "an object with a \"name\"");
    const std::string inside = place + ".function";
    CallableFunction callable{.name = function_name(function, inside), .arguments = nullptr};
    Json schema = function.value("parameters", Json());
    if (schema.is_null()) schema = {{"type", "object"}, {"properties", Json::object()}};
    if (!schema.is_object()) RequestFields::wrong(inside + ".parameters", schema, "a JSON schema of an object");
    const Json type = schema.value("type", Json());
    const bool may_be_object = type.is_array() && std::ranges::count(type, Json("object")) > 0;
    const auto says_all = [&](const char* keyword) { return schema.contains(keyword); };
    if (may_be_object || (type.is_null() && std::ranges::none_of(whole_keywords, says_all))) schema["type"] = "object";
    const bool is_strict = function.value("strict", Json()) == true;
    std::vector<std::string> ignored;
    try {
        callable.arguments = std::make_shared<const text::grammar::Network>(
            text::grammar::json_schema_network(schema, is_strict ? nullptr : &ignored));
    } catch (const Error& error) {
        throw ApiError(400, format("\"{}.parameters\": {}", inside, error.what()), inside + ".parameters");
    }
    if (!has_objects_only(callable.arguments))
        throw ApiError(400, format("\"{}.parameters\" must be a schema of objects", inside), inside + ".parameters");
    for (const std::string& keyword : ignored) left_out.push_back(format("{}.parameters.{}", inside, keyword));
    return callable;
}

// As clients send arguments; what is no JSON stays a text.
Json parsed(const std::string& text) {
    try {
        return parse_object(text);
    } catch (const ApiError&) {
        return text;
    }
}

// "none", "auto", "required", or {"type": "function", "function": {"name"}}, which leaves only that one.
void choose(const Json& choice, Tools& tools) {
    if (choice.is_null() || choice == "auto") return;
    if (choice == "none") {
        tools = {};
    } else if (choice == "required" || choice == "any") {
        tools.must_call = true;
    } else {
        const std::string wanted = R"("none", "auto", "required" or {"type": "function", "function": {"name": …}})";
        if (!choice.is_object()) RequestFields::wrong("tool_choice", choice, wanted);
        const Json function = choice.value("function", Json());
        if (!function.is_object()) RequestFields::wrong("tool_choice", choice, wanted);
        const Json name = function.value("name", Json());
        std::erase_if(tools.functions, [&](const CallableFunction& one) { return name != one.name; });
        if (tools.functions.empty())
            throw ApiError(400, format("\"tool_choice\": no tool has the name {}", describe(name)), "tool_choice");
        tools.must_call = true;
    }
}

}  // namespace

Tools parse_tools(RequestFields& fields) {
    const Json& list = fields.at("tools");
    const Json& choice = fields.at("tool_choice");
    const bool often = fields.boolean("parallel_tool_calls").value_or(!choice.is_object());  // a named one: once
    fields.refuse("functions", {Json::array()}, "is not supported; use \"tools\"");
    fields.refuse("function_call", {"none", "auto"}, "is not supported; use \"tool_choice\"");
    Tools tools;
    if (list.is_null() || list == Json::array()) {
        if (!choice.is_null() && choice != "none" && choice != "auto")
            throw ApiError(400, "\"tool_choice\" needs \"tools\"", "tool_choice");
        return tools;
    }
    if (!list.is_array() || list.size() > most_tools)
        RequestFields::wrong("tools", list, format("a list of at most {} tools", most_tools));
    std::size_t states = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string place = format("tools[{}]", i);
        CallableFunction one = callable(list[i], place, tools.left_out);
        if ((states += one.arguments->nodes.size()) > most_states)
            throw ApiError(400, format("\"tools\": their schemas have more than {} states together", most_states),
                           "tools");
        if (std::ranges::count(tools.functions, one.name, &CallableFunction::name) > 0)
            throw ApiError(400, format("\"tools\": two have the name \"{}\"", one.name), place + ".function.name");
        tools.functions.push_back(std::move(one));
    }
    tools.told = list;
    tools.may_call_often = often;
    choose(choice, tools);
    return tools;
}

Json parse_calls(const Json& calls, const std::string& place) {
    if (!calls.is_array() || calls.size() > most_tools)
        RequestFields::wrong(place, calls, format("a list of at most {} calls", most_tools));
    Json all = Json::array();
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::string here = format("{}[{}]", place, i);
        if (!calls[i].is_object()) RequestFields::wrong(here, calls[i], "an object");
        Json call = calls[i];
        if (!call.value("function", Json()).is_object())
            RequestFields::wrong(here + ".function", call.value("function", Json()), "an object");
        Json& function = call["function"];
        static_cast<void>(function_name(function, here + ".function"));
        Json arguments = function.value("arguments", Json("{}"));
        if (arguments.is_string() && arguments.get_ref<const std::string&>().empty()) arguments = Json::object();
        if (arguments.is_string()) arguments = parsed(arguments.get_ref<const std::string&>());
        if (!arguments.is_object()) RequestFields::wrong(here + ".function.arguments", arguments, "JSON of an object");
        function["arguments"] = std::move(arguments);
        all.push_back(std::move(call));
    }
    return all;
}

}  // namespace vantage::serve
