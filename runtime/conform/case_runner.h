// Runs a kernel on a test case and compares the results with the reference, for tests and `conform`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/node_dump.h"
#include "runtime/graph/compare.h"
#include "vantage/plan.h"

namespace vantage::internal {

/// Storage types of activations and weights in a run of a case.
struct CaseTypes {
    DType activations = DType::f32, weights = DType::f32;
    std::string text() const;  ///< "f32", "f16", "f32 weights bf16"
};
/// f32 and f16; for cases with weights also f32 with f16, bf16 and the quantized weights that the case lists.
std::vector<CaseTypes> types_of(const Case& test);

struct CaseResult {
    enum Status : std::uint8_t { passed, failed, not_fitting } status = passed;
    double worst = 0, allowed = 0;
    std::string message;                       ///< if failed: one line per wrong result
    double worst_ratio = -1;                   ///< of `worst` to `allowed`, over all results
    std::shared_ptr<const NodeDump> ran = {};  ///< if a result is wrong: what was run
    void keep(NodeDump dump);
    /// Takes over the comparison of one result.
    void add(const Comparison& result);
    /// The result of a kernel that failed with an overwritten red zone or a hazard, so that others continue. Throws all
    /// other errors again.
    static CaseResult of_error(const Error& error);
};

/// The call of `test` with `types` and inferred results, and its operands: random by `seed`, rounded to their storage.
struct PreparedCase {
    OpCall call;
    std::vector<HostTensor> inputs;
};
PreparedCase prepare(const OpDef& op, const Case& test, const CaseTypes& types, unsigned seed = 7);

/// In the storage types of the call.
std::vector<TensorBytes> narrow_inputs(const OpCall& call, const std::vector<HostTensor>& inputs);
/// Runs `call` with `kernel`, with red zones and an arena filled with NaN. `before` may change the plan, whose only
/// node is 0.
NodeDump run_alone(const Device& device, const OpCall& call, std::vector<TensorBytes> inputs, const Kernel& kernel,
                   const std::function<void(Plan&)>& before = {});
/// The same with results only.
std::vector<HostTensor> run_call(const Device& device, const OpCall& call, const std::vector<HostTensor>& inputs,
                                 const Kernel& kernel);
/// The attributes with which a kernel runs a case: kernels on matrix units may round operands to f16, which the
/// tolerance allows.
Attrs attrs_for(const Kernel& kernel, Attrs attrs);
CaseResult run_case(const Device& device, const OpDef& op, const Case& test, const CaseTypes& types,
                    const Kernel& kernel);

/// Storage types of the cases. in_turn: f32 and one other type, a different one for each case, because each type is
/// another pipeline and on software devices compilation takes most of the time.
enum class StorageTypes : std::uint8_t { all, in_turn };

/// Called for each op × kernel × case × types. Returns false to stop.
using CaseVisitor = std::function<bool(const OpDef&, const Case&, const CaseTypes&, const Kernel&, const CaseResult&)>;
void run_all_cases(const Device& device, const std::string& op, const std::string& only_case, const std::string& kernel,
                   const CaseVisitor& visit, StorageTypes storage = StorageTypes::all);

}  // namespace vantage::internal
