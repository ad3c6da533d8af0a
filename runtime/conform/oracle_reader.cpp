#include "runtime/conform/oracle_reader.h"

#include <algorithm>
#include <cmath>

namespace vantage::internal {

void OracleReader::fail(const std::string& what) const {
    throw Error(ErrorKind::bad_file, source_.file + ": case " + source_.name + ": " + what);
}

const Json* OracleReader::attr(const std::string& key) {
    read_attrs_.insert(key);
    const auto found = source_.attrs.find(key);
    return found == source_.attrs.end() || found->is_null() ? nullptr : &*found;
}

bool OracleReader::flag(const std::string& key, bool default_value) {
    const Json* value = attr(key);
    if (value != nullptr && !value->is_boolean())
        fail("\"" + key + "\" is " + describe(*value) + ", wanted true or false");
    return value == nullptr ? default_value : value->get<bool>();
}

std::int64_t OracleReader::integer(const std::string& key, std::int64_t default_value) {
    const Json* value = attr(key);
    if (value == nullptr) return default_value;
    if (const auto number = JsonFields::integer_of(*value)) return *number;
    fail("\"" + key + "\" is " + describe(*value) + ", wanted an integer");
}

double OracleReader::number(const std::string& key, double default_value) {
    const Json* value = attr(key);
    if (value != nullptr && !value->is_number()) fail("\"" + key + "\" is " + describe(*value) + ", wanted a number");
    return value == nullptr ? default_value : value->get<double>();
}

std::string OracleReader::text(const std::string& key, const std::string& default_value) {
    const Json* value = attr(key);
    if (value != nullptr && !value->is_string()) fail("\"" + key + "\" is " + describe(*value) + ", wanted a text");
    return value == nullptr ? default_value : value->get<std::string>();
}

const Json* OracleReader::object(const std::string& key) {
    const Json* value = attr(key);
    if (value != nullptr && !value->is_object()) fail("\"" + key + "\" is " + describe(*value) + ", wanted an object");
    return value;
}

const HostTensor& OracleReader::input(const std::string& name) {
    read_inputs_.insert(name);
    if (const auto found = source_.inputs.find(name); found != source_.inputs.end()) return found->second;
    fail("there is no input \"" + name + "\", wanted by " + source_.op);
}

HostTensor OracleReader::floats(const std::string& name) {
    HostTensor tensor = input(name);
    if (tensor.type.dtype != DType::f32) fail("input \"" + name + "\" is " + tensor.type.text() + ", wanted F32");
    tensor.type.dtype = storage_;
    if (storage_ == DType::f16)  // finite values stay finite: a score of −1e30 is very small, but not masked
        for (double& value : tensor.data)
            if (std::isfinite(value)) value = std::clamp(value, -65504.0, 65504.0);
    return widen(tensor.type, narrow(tensor));
}

HostTensor OracleReader::optional_floats(const std::string& name) { return has(name) ? floats(name) : HostTensor(); }
HostTensor OracleReader::exact(const std::string& name) { return input(name); }

HostTensor OracleReader::wanted(const std::string& output) {
    read_outputs_.insert(output);
    if (const auto found = source_.outputs.find(output); found != source_.outputs.end()) return found->second;
    fail("there is no output \"" + output + "\", wanted of " + source_.op);
}

std::string OracleReader::unread() const {
    for (const auto& [name, tensor] : source_.inputs)
        if (read_inputs_.count(name) == 0) return "operand " + name + " of " + source_.op;
    for (const auto& [key, value] : source_.attrs.items())
        if (read_attrs_.count(key) == 0 && !value.is_null()) return "option " + key + " of " + source_.op;
    return {};
}

std::vector<std::string> OracleReader::unchecked() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : source_.outputs)
        if (read_outputs_.count(name) == 0) names.push_back(name);
    return names;
}

}  // namespace vantage::internal
