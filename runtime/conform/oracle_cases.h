// Test cases from files: inputs, options and expected results that others computed, mapped onto the ops of this program.
//
// A folder holds ops.json = {cases: [{name, op, attrs, inputs: {operand: key}, outputs: {result: key}, atol?, rtol?}]} and
// ops.safetensors with the tensors behind the keys; tests/data/oracle/README.md, section 3, lists ops and options.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/conform/case_runner.h"

namespace vantage {

/// A result of a call, and what the file says it is.
struct OracleCheck {
    std::string result;  ///< its name in the file
    int output = 0;      ///< which result of the call
    HostTensor want;
    std::vector<std::size_t> ignored;  ///< elements that nothing is asked of: their inputs do not fit the storage
};

/// One call that a case asks for. Tables and the like have no op: the host made them, and the call is done already.
struct OracleCall {
    std::string op;    ///< as this program calls it
    std::string part;  ///< which part of the case, where it takes several calls: "p of head 1"
    OpCall call;
    std::vector<HostTensor> inputs;
    std::vector<HostTensor> made_on_host;
    std::vector<OracleCheck> checks;
};

/// A case of the file.
struct OracleCase {
    std::string name, op, note;
    std::string not_built;                     ///< why it cannot be run; empty when it can
    std::vector<std::string> partly;           ///< what of it cannot be: "result entropy of attention"
    std::vector<DType> storages;               ///< that it is run in: f32, f16
    std::optional<double> absolute, relative;  ///< allowed error in f32, where the file says it
    /// The calls of the case with operands of this storage: inputs are rounded to it, expected results are not.
    std::function<std::vector<OracleCall>(DType)> calls;
};

/// Reads a folder of cases. Throws bad_file naming file, case and field.
std::vector<OracleCase> read_oracle_cases(const std::string& directory);

/// One call of one case by one kernel.
struct OracleRun {
    const OracleCase& test;
    const OracleCall& call;
    DType storage;
    const char* kernel;
    CaseResult result;
};
/// Returns false to stop.
using OracleVisitor = std::function<bool(const OracleRun&)>;
/// Runs a case in all of its storages by every kernel that the device provides and that fits; only the calls that
/// `wanted` takes, and only the kernel of this name if one is given. False when the visitor stopped it.
bool run_oracle_case(const Device& device, const OracleCase& test, const std::function<bool(const OracleCall&)>& wanted,
                     const std::string& only_kernel, const OracleVisitor& visit);

/// What maps a case onto calls (oracle_map.cpp): reads operands and options of one case, and notes which were read, so that
/// nothing is passed over in silence.
class OracleReader;
using OracleMap = std::vector<OracleCall> (*)(OracleReader&);
/// nullptr for an op that is not built.
OracleMap oracle_map(const std::string& op);

}  // namespace vantage
