// Helpers of the maps from case files to calls of ops.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "runtime/conform/oracle_map.h"
#include "runtime/conform/oracle_reader.h"

namespace vantage::internal::oracle {

using Calls = std::vector<OracleCall>;

/// A call of `op` with these operands (empty: absent). Infers the types of the results, which checks the operands.
OracleCall call_of(const char* op, std::vector<HostTensor> inputs, Attrs attrs);
/// A result that the host computed, without an op.
OracleCall host_call(const char* op, HostTensor made);
/// One call, whose first result is `name` in the file. The next results have these names, where the file has them.
Calls one(OracleReader& r, OracleCall call, const std::string& name, const std::vector<const char*>& optional = {});

/// Expects `want` (`name` in the file) as result `output` of the call.
void expect_result(OracleCall& call, int output, const std::string& name, HostTensor want);
/// Expects the result that the file has by this name.
void expect_result(OracleReader& r, OracleCall& call, int output, const std::string& name);
/// The same for an optional result.
void expect_if_there(OracleReader& r, OracleCall& call, int output, const std::string& name);

/// Results of an op by its reference, as operands of the tested call.
std::vector<HostTensor> all_made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs);
HostTensor made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs);
/// The same elements under another shape.
HostTensor reshaped(HostTensor tensor, Shape shape);

HostTensor host_tensor(Shape shape, const auto& values, DType dtype = DType::f32) {
    HostTensor tensor({shape, dtype});
    std::transform(values.begin(), values.end(), tensor.data.begin(), [](auto v) { return static_cast<double>(v); });
    return tensor;
}

/// Maps by the op's name in the case files.
using OracleMaps = std::map<std::string, OracleMap>;

}  // namespace vantage::internal::oracle
