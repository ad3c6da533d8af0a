#include "runtime/text/chat_template.h"

#include <filesystem>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/text/jinja/interpreter.h"
#include "runtime/text/jinja/parser.h"

namespace vantage::text {

struct ChatTemplate::State {
    std::string name, source;
    jinja::Body body;
};

ChatTemplate ChatTemplate::parse(std::string_view source, const std::string& name) {
    constexpr std::size_t longest = std::size_t{1} << 20;
    if (source.size() > longest)
        throw bad_file_error("{}: the chat template has {} bytes, wanted at most {}", name, source.size(), longest);
    return ChatTemplate(std::make_shared<const State>(State{name, std::string(source), jinja::parse(source, name)}));
}

ChatTemplate ChatTemplate::chatml() {
    return parse(
        "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
        "chatml");
}

const std::string& ChatTemplate::source() const { return state_->source; }

std::string ChatTemplate::render(const jinja::OrderedJson& variables, std::time_t now,
                                 const jinja::Limits& limits) const {
    jinja::Budget budget(limits);
    jinja::Variables names;
    try {
        for (const auto& [key, value] : variables.items()) names[key] = jinja::from_json(value, budget);
    } catch (const jinja::Problem& problem) {
        throw Error(problem.kind, state_->name + ": the conversation: " + problem.what);
    }
    return jinja::render(state_->body, state_->name, names, now, budget);
}

// ---- folders --------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t largest_file = std::size_t{16} << 20;

std::optional<ChatTemplate> template_in(const JsonFields& config) {
    if (!config.has("chat_template")) return std::nullopt;
    const std::string name = config.name() + ": chat_template";
    if (!config.json()["chat_template"].is_array()) return ChatTemplate::parse(config.text("chat_template"), name);
    for (std::size_t i = 0; i < config.list("chat_template").size(); ++i) {
        const JsonFields one = config.element("chat_template", i);
        if (one.text("name") == "default") return ChatTemplate::parse(one.text("template"), name);
    }
    config.fail("chat_template", "one of them with the name \"default\"");
}

// A token is a string, or an object that also says how it is matched.
void add_token(const JsonFields& config, const char* key, jinja::OrderedJson& tokens) {
    if (!config.has(key)) return;
    tokens[key] = config.json()[key].is_object() ? config.object(key).text("content") : config.text(key);
}

void add_format(ChatFormat& format, const Json& tree, const std::string& name, bool with_template) {
    const JsonFields fields(tree, name);
    if (with_template) format.chat_template = template_in(fields);
    for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token"}) add_token(fields, key, format.tokens);
}

}  // namespace

ChatFormat parse_chat_format(std::string_view tokenizer_config, const std::string& name, bool with_template) {
    ChatFormat format{std::nullopt, jinja::OrderedJson::object()};
    add_format(format, parse_json(tokenizer_config, name), name, with_template);
    return format;
}

ChatFormat read_chat_format(const std::string& folder, bool with_template) {
    const std::filesystem::path config = std::filesystem::path(folder) / "tokenizer_config.json",
                                template_file = std::filesystem::path(folder) / "chat_template.jinja";
    ChatFormat format{std::nullopt, jinja::OrderedJson::object()};
    std::error_code ignored;
    const bool has_own_file = std::filesystem::exists(template_file, ignored);
    if (has_own_file)
        format.chat_template =
            ChatTemplate::parse(read_file(template_file.string(), largest_file), template_file.string());
    if (!std::filesystem::exists(config, ignored)) return format;
    add_format(format, read_json(config.string(), largest_file), config.string(), with_template && !has_own_file);
    return format;
}

}  // namespace vantage::text
