// Test cases from files: inputs, options and results computed by other programs, mapped to the ops of Vantage.
//
// A folder holds ops.json = {cases: [{name, op, attrs, inputs: {operand: key}, outputs: {result: key}, atol?, rtol?}]}
// and ops.safetensors with the tensors; tests/data/oracle/README.md, section 3, lists ops and options.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/conform/case_runner.h"

namespace vantage::internal {

/// A result of a call and its expected value.
struct OracleCheck {
    std::string result;  ///< its name in the file
    int output = 0;      ///< index of the result
    HostTensor want;
    std::vector<std::size_t> ignored;  ///< elements that are not compared, because their inputs do not fit the storage
};

/// One call of a case. Tables have no op: the host has computed them.
struct OracleCall {
    std::string op;    ///< name in Vantage
    std::string part;  ///< part of a case with several calls: "p of head 1"
    OpCall call;
    std::vector<HostTensor> inputs;
    std::vector<HostTensor> made_on_host;
    std::vector<OracleCheck> checks;
};

/// A case of the file.
struct OracleCase {
    std::string name, op, note;
    std::string not_supported;                 ///< why it is not supported; empty if it is
    std::vector<std::string> partly;           ///< parts that are not supported: "result entropy of attention"
    std::vector<DType> storages;               ///< storage types to run: f32, f16
    std::optional<double> absolute, relative;  ///< tolerance in f32, if the file has one
    /// The calls of the case with operands in this storage type. Inputs are rounded to it, expected results are not.
    std::function<std::vector<OracleCall>(DType)> calls;
};

/// Reads a folder of cases. Throws bad_file with file, case and field.
std::vector<OracleCase> read_oracle_cases(const std::string& directory);

/// A run of one call of a case with one kernel.
struct OracleRun {
    const OracleCase& test;
    const OracleCall& call;
    DType storage;
    const char* kernel;
    CaseResult result;
};
/// Returns false to stop.
using OracleVisitor = std::function<bool(const OracleRun&)>;
/// Runs a case in all of its storage types with every eligible kernel; only calls for which `wanted` is true, and only
/// kernels named `only_kernel` unless it is empty. Returns false if the visitor stopped it.
bool run_oracle_case(const Device& device, const OracleCase& test, const std::function<bool(const OracleCall&)>& wanted,
                     const std::string& only_kernel, const OracleVisitor& visit);

}  // namespace vantage::internal
