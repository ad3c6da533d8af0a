#include "runtime/serve/request_fields.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace vantage::serve {

using namespace internal;

Json parse_object(std::string_view body) {
    Json object;
    try {
        object = parse_json<Json>(body, "the request", 6, most_ordered_keys);
    } catch (const Error& error) {
        throw ApiError(error);
    }
    if (!object.is_object()) throw ApiError(400, "the request is no JSON object");
    return object;
}

void RequestFields::wrong(const std::string& name, const Json& value, const std::string& wanted) {
    const std::string found = value.is_object() ? "an object"
                              : value.is_array()
                                  ? format("a list of {}", value.size())
                                  : cut_short(value.dump(-1, ' ', false, Json::error_handler_t::replace), 100);
    throw ApiError(400, format("\"{}\" is {}; it must be {}", name, found, wanted), name);
}

const Json& RequestFields::at(const std::string& name) {
    static const Json none;
    known_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? none : *found;
}

std::optional<std::int64_t> RequestFields::integer(const std::string& name, std::int64_t least, std::int64_t most) {
    const Json& value = at(name);
    if (value.is_null()) return std::nullopt;
    return whole_number(value, name, least, most);
}

std::int64_t whole_number(const Json& value, const std::string& name, std::int64_t least, std::int64_t most) {
    const bool in_range = value.is_number_unsigned()  ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                          : value.is_number_integer() ? value.get<std::int64_t>() <= most
                                                      : false;
    if (!in_range || value.get<std::int64_t>() < least)
        RequestFields::wrong(name, value, format("an integer from {} to {}", least, most));
    return value.get<std::int64_t>();
}

std::optional<double> RequestFields::number(const std::string& name, double least, double most) {
    const Json& value = at(name);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
        wrong(name, value, format("a number from {:g} to {:g}", least, most));
    return value.get<double>();
}

std::optional<bool> RequestFields::boolean(const std::string& name) {
    const Json& value = at(name);
    if (value.is_null()) return std::nullopt;
    if (!value.is_boolean()) wrong(name, value, "true or false");
    return value.get<bool>();
}

std::optional<std::string> RequestFields::text(const std::string& name) {
    const Json& value = at(name);
    if (value.is_null()) return std::nullopt;
    if (!value.is_string()) wrong(name, value, "a text");
    return value.get<std::string>();
}

std::vector<std::string> RequestFields::texts(const std::string& name, std::size_t most) {
    const Json& value = at(name);
    if (value.is_null()) return {};
    if (value.is_string()) return {value.get<std::string>()};
    const auto is_text = [](const Json& one) { return one.is_string(); };
    if (!value.is_array() || value.size() > most || !std::ranges::all_of(value, is_text))
        wrong(name, value, format("a text or a list of at most {} texts", most));
    return value.get<std::vector<std::string>>();
}

void RequestFields::refuse(const std::string& name, std::initializer_list<Json> harmless, const std::string& why) {
    const Json& value = at(name);
    if (value.is_null() || std::ranges::count(harmless, value) > 0) return;
    throw ApiError(400, format("\"{}\" {}", name, why), name);
}

std::vector<std::string> RequestFields::unknown() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : object_.items())
        if (known_.count(name) == 0) names.push_back(name);
    return names;
}

std::vector<std::int32_t> token_ids(const Json& list, const std::string& name) {
    std::vector<std::int32_t> ids;
    ids.reserve(list.size());
    for (const Json& id : list) {
        if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() > INT32_MAX)
            RequestFields::wrong(name, id, "a token's id");
        ids.push_back(id.get<std::int32_t>());
    }
    return ids;
}

}  // namespace vantage::serve
