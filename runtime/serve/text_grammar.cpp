#include "runtime/serve/text_grammar.h"

#include <span>
#include <string>
#include <vector>

#include "runtime/base/format.h"

namespace vantage::serve {

using namespace internal;

namespace {

const std::string& text_of(const std::string& name, const Json& value) {
    if (!value.is_string()) RequestFields::wrong(name, value, "a text");
    return value.get_ref<const std::string&>();
}

Grammar grammar_of_schema(const std::string& name, const Json& schema) {
    if (!schema.is_object() && !schema.is_boolean()) RequestFields::wrong(name, schema, "a JSON schema");
    return Grammar::json_schema(schema.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// vLLM's: a schema as an object or as text.
Grammar grammar_of_json(const std::string& name, const Json& schema) {
    return schema.is_string() ? Grammar::json_schema(schema.get_ref<const std::string&>())
                              : grammar_of_schema(name, schema);
}

Grammar grammar_of_choice(const std::string& name, const Json& choices) {
    constexpr std::size_t most = 1024;
    if (!choices.is_array() || choices.empty() || choices.size() > most)
        RequestFields::wrong(name, choices, format("a list of 1 to {} texts", most));
    std::vector<std::string> texts;
    for (const Json& text : choices) texts.push_back(text_of(name, text));
    return Grammar::one_of(texts);
}

// {"type": "text"}, {"type": "json_object"} with llama.cpp's "schema", or {"type": "json_schema", "json_schema":
// {"name", "schema", "strict"}}.
std::optional<Grammar> grammar_of_format(const std::string& name, const Json& value) {
    if (!value.is_object()) RequestFields::wrong(name, value, "an object");
    const Json type = value.value("type", Json());
    if (type == "text") return std::nullopt;
    if (type == "json_object")
        return value.contains("schema") ? grammar_of_schema(name + ".schema", value["schema"]) : Grammar::json_object();
    if (type != "json_schema")
        RequestFields::wrong(name + ".type", type, "\"text\", \"json_object\" or \"json_schema\"");
    const Json of = value.value("json_schema", Json());
    if (!of.is_object()) RequestFields::wrong(name + ".json_schema", of, "an object with a \"schema\"");
    return grammar_of_schema(name + ".json_schema.schema", of.value("schema", Json::object()));
}

std::optional<Grammar> grammar_of_structured(const std::string& name, const Json& value);

struct FormField {
    const char* name;
    std::optional<Grammar> (*read)(const std::string& name, const Json& value);
};
using Maybe = std::optional<Grammar>;
constexpr auto read_gbnf = [](const std::string& name, const Json& v) -> Maybe {
    return Grammar::gbnf(text_of(name, v));
};
constexpr auto read_regex = [](const std::string& name, const Json& v) -> Maybe {
    return Grammar::regex(text_of(name, v));
};
constexpr auto read_json = [](const std::string& name, const Json& v) -> Maybe { return grammar_of_json(name, v); };
constexpr auto read_json_object = [](const std::string&, const Json& v) -> Maybe {
    return v == true ? Maybe(Grammar::json_object()) : std::nullopt;
};
constexpr auto read_choice = [](const std::string& name, const Json& v) -> Maybe { return grammar_of_choice(name, v); };

constexpr FormField form_fields[] = {{"response_format", grammar_of_format},
                                     {"grammar", read_gbnf},                         // llama.cpp's
                                     {"json_schema", read_json},                     // llama.cpp's
                                     {"structured_outputs", grammar_of_structured},  // vLLM's, and its older ones
                                     {"guided_json", read_json},
                                     {"guided_regex", read_regex},
                                     {"guided_grammar", read_gbnf},
                                     {"guided_choice", read_choice}};
constexpr FormField structured_fields[] = {{"json", read_json},
                                           {"json_object", read_json_object},
                                           {"regex", read_regex},
                                           {"grammar", read_gbnf},
                                           {"choice", read_choice}};

// The only field that is there and not empty.
std::optional<Grammar> only_one(RequestFields& fields, std::span<const FormField> known, const std::string& place) {
    const FormField* given = nullptr;
    for (const FormField& field : known) {
        const Json& value = fields.at(field.name);
        if (value.is_null() || value == "" || value == Json{{"type", "text"}}) continue;
        if (given != nullptr)
            throw ApiError(400, format("\"{}\" and \"{}\" cannot both be given", given->name, field.name),
                           place + field.name);
        given = &field;
    }
    if (given == nullptr) return std::nullopt;
    const std::string name = place + given->name;
    try {
        return given->read(name, fields.at(given->name));
    } catch (const Error& error) {
        throw ApiError(400, format("\"{}\": {}", name, error.what()), name);
    }
}

std::optional<Grammar> grammar_of_structured(const std::string& name, const Json& value) {
    if (!value.is_object()) RequestFields::wrong(name, value, "an object");
    RequestFields fields(value);
    std::optional<Grammar> grammar = only_one(fields, structured_fields, name + ".");
    for (const std::string& unknown : fields.unknown())
        if (!value[unknown].is_null() && value[unknown] != false)
            throw ApiError(400, format("\"{}.{}\" is not supported", name, unknown), name);
    return grammar;
}

}  // namespace

std::optional<Grammar> text_grammar(RequestFields& fields) { return only_one(fields, form_fields, ""); }

}  // namespace vantage::serve
