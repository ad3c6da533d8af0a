#include "runtime/conform/oracle_reader.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"

namespace vantage::internal {

void OracleReader::fail(const std::string& what) const { throw bad_file_error(attrs_.name() + ": " + what); }

const HostTensor& OracleReader::exact(const std::string& name) {
    read_inputs_.insert(name);
    if (const auto found = source_.inputs.find(name); found != source_.inputs.end()) {
        if (found->second.type.shape.rank() > 0) return found->second;
        fail("input \"" + name + "\" has no dimensions");
    }
    fail("there is no input \"" + name + "\", wanted by " + source_.op);
}

HostTensor OracleReader::floats(const std::string& name) {
    HostTensor tensor = exact(name);
    if (tensor.type.dtype != DType::f32) fail("input \"" + name + "\" is " + tensor.type.text() + ", wanted F32");
    tensor.type.dtype = storage_;
    if (storage_ == DType::f16)  // finite values stay finite: a score of −1e30 is very small, but not masked
        for (double& value : tensor.data)
            if (std::isfinite(value)) value = std::clamp(value, -65504.0, 65504.0);
    return widen(tensor.type, narrow(tensor));
}

HostTensor OracleReader::optional_floats(const std::string& name) { return has(name) ? floats(name) : HostTensor(); }

HostTensor OracleReader::wanted(const std::string& output) {
    read_outputs_.insert(output);
    if (const auto found = source_.outputs.find(output); found != source_.outputs.end()) return found->second;
    fail("there is no output \"" + output + "\", wanted of " + source_.op);
}

HostTensor OracleReader::wanted(const std::string& output, const Shape& shape) {
    HostTensor tensor = wanted(output);
    if (tensor.type.shape == shape) return tensor;
    fail("output \"" + output + "\" is " + tensor.type.text() + ", wanted " + shape.text());
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
