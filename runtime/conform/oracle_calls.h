// Calls of this program's ops for the case files: how one is made, and what is expected of it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "runtime/conform/oracle_reader.h"

namespace vantage::oracle {

using Calls = std::vector<OracleCall>;

/// A call of `op` with these operands (empty = absent); its results' types are inferred, which checks the operands.
OracleCall call_of(const char* op, std::vector<HostTensor> inputs, Attrs attrs);
/// What the host made by itself, in place of an op.
OracleCall host_call(const char* op, HostTensor made);
Calls one(OracleCall call);

/// Result `output` of the call has to be `want`, `name` in the file.
void expect_result(OracleCall& call, int output, const std::string& name, HostTensor want);
/// The same for a result that a case need not have.
void expect_if_there(OracleReader& r, OracleCall& call, int output, const std::string& name);

/// What an op makes of these operands, by its reference: an operand of the call that is looked at.
std::vector<HostTensor> all_made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs);
HostTensor made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs);

HostTensor host_tensor(Shape shape, const auto& values) {
    HostTensor tensor({shape, DType::f32});
    std::transform(values.begin(), values.end(), tensor.data.begin(), [](auto v) { return static_cast<double>(v); });
    return tensor;
}

/// The maps of oracle_attention.cpp and oracle_positions.cpp, by op.
using OracleMaps = std::map<std::string, OracleMap>;
const OracleMaps& attention_maps();
const OracleMaps& position_maps();

}  // namespace vantage::oracle
