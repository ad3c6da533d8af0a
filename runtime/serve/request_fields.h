// The fields of a request's JSON object. What is wrong about one is an ApiError 400 that names it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/serve/api_error.h"

namespace vantage::serve {

/// The object in a body. Throws ApiError 400 if it is not JSON, nested too deeply, no object, or has an object with
/// more than 2048 keys, which are compared one by one.
Json parse_object(std::string_view body);

class RequestFields {
public:
    /// The object must outlive it.
    explicit RequestFields(const Json& object) : object_(object) {}

    /// The value of a field; null if it is absent.
    const Json& at(const std::string& name);
    bool has(const std::string& name) { return !at(name).is_null(); }
    std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most);
    std::optional<double> number(const std::string& name, double least, double most);
    std::optional<bool> boolean(const std::string& name);
    std::optional<std::string> text(const std::string& name);
    /// A text, or a list of at most `most` of them.
    std::vector<std::string> texts(const std::string& name, std::size_t most);
    /// Throws unless a field is absent or has a value that changes nothing.
    void refuse(const std::string& name, std::initializer_list<Json> harmless, const std::string& why);
    /// Fields that nothing has asked for.
    std::vector<std::string> unknown() const;

    [[noreturn]] static void wrong(const std::string& name, const Json& value, const std::string& wanted);

private:
    const Json& object_;
    std::set<std::string> known_;
};

/// A whole number within these bounds, which `name` calls the field of.
std::int64_t whole_number(const Json& value, const std::string& name, std::int64_t least, std::int64_t most);
/// Ids of tokens.
std::vector<std::int32_t> token_ids(const Json& list, const std::string& name);

}  // namespace vantage::serve
