// Runs one kernel of one op on one test case and compares it with the reference: for the tests, `conform`, and the bench.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vantage/device.h"
#include "vantage/op.h"

namespace vantage {

/// Storage types of a run of a case: of the activations, and of the operands that are weights.
struct CaseTypes {
    DType activations = DType::f32, weights = DType::f32;
    std::string text() const;  ///< "f32", "f16", "f32 weights bf16"
};
/// f32, f16, and for cases with weights f32 with f16, with bf16 and with the quantised weights that it names.
std::vector<CaseTypes> types_of(const Case& test);

struct CaseResult {
    enum Status : std::uint8_t { passed, failed, not_fitting } status = passed;
    double worst = 0, allowed = 0;
    std::string message;  ///< of a failure, one line for each result that is wrong
};

/// The call of `test` under `types`, with inferred results, and its operands: random by `seed`, rounded to their storage.
struct PreparedCase {
    OpCall call;
    std::vector<HostTensor> inputs;
};
PreparedCase prepare(const OpDef& op, const Case& test, const CaseTypes& types, unsigned seed = 7);

/// Runs `call` on the device by `kernel`, with red zones and an arena full of NaN, and returns the results.
std::vector<HostTensor> run_call(const Device& device, const OpCall& call, const std::vector<HostTensor>& inputs,
                                 const Kernel& kernel);
/// The attributes with which a kernel runs a case: those on matrix units may round operands to f16, and are judged accordingly.
Attrs attrs_for(const Kernel& kernel, Attrs attrs);
CaseResult run_case(const Device& device, const OpDef& op, const Case& test, const CaseTypes& types,
                    const Kernel& kernel);

/// In which storage types cases run: all; or in f32 and one other, which is the next for the next case: each is another pipeline,
/// and on software devices compiling takes most of the time.
enum class StorageTypes : std::uint8_t { all, in_turn };

/// Called for each kernel × case × types of `ops`; returns false to stop.
using CaseVisitor = std::function<bool(const OpDef&, const Case&, const CaseTypes&, const Kernel&, const CaseResult&)>;
void run_all_cases(const Device& device, const std::string& op, const std::string& only_case, const std::string& kernel,
                   const CaseVisitor& visit, StorageTypes storage = StorageTypes::all);

}  // namespace vantage
