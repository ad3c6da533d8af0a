// Updates of parameters by their gradients, for graphs of your own. A Trainer (train.h) does this for whole models.
//
//     const Tensor w = g.weight("w", {2, 1}), loss = …;                       // f32 [1]
//     const std::vector<Tensor> of{w};
//     const Updates updates = update(of, gradients(loss, of), {1e-2F});       // of a constant learning rate
//     Plan plan = compile(g, device);
//     updates.begin(plan);
//     for (int step = 0; step < 100; ++step) plan.write("x", …), plan.run();
//
// Threads: as for the graph or the plan that a function is given: one at a time.
// Errors: usage for tensors that do not fit, and for options outside of their range.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vantage/graph.h"
#include "vantage/plan.h"

namespace vantage {

enum class Optimizer : std::uint8_t { adamw, adam, sgd };
const char* name_of(Optimizer optimizer);
Optimizer optimizer_named(const std::string& name);  ///< throws usage for another name

/// AdamW (Loshchilov & Hutter 2019): x -= rate (m' / (√v' + eps) + decay x), with m' and v' the bias-corrected means of
/// the gradient and of its square (Kingma & Ba 2015). Adam adds decay x to the gradient instead. SGD: x -= rate u, with
/// u = momentum u + gradient + decay x, or Nesterov's form of it.
struct OptimizerOptions {
    Optimizer optimizer = Optimizer::adamw;
    double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;  ///< of Adam and AdamW
    double momentum = 0;                           ///< of SGD
    bool nesterov = false;
    double weight_decay = 0;  ///< of parameters with two dimensions or more
    double max_norm = 0;      ///< gradients are scaled down to this norm of all; 0: not
};

/// The updates that a graph ends with.
/// Threads: any for begin, which uses the plan.
class Updates {
public:
    /// Before the first run of a plan of the graph: sets the optimiser's states to those of no steps.
    void begin(Plan& plan) const;

private:
    friend Updates update(std::span<const Tensor> parameters, std::span<const Tensor> gradients,
                          const std::vector<float>& rates, const OptimizerOptions& options, SourceLocation where);
    std::vector<std::string> moments_;  ///< states, by name
};

/// Adds the update of parameters, f32 weights or states of a graph, by their gradients (gradient.h): each run of a plan
/// is a step. Parameters become states: write their first values. One whose gradient is empty stays. `rates` are the
/// learning rates of the steps, after which the last one stays (learning_rates in ops.h makes schedules). A step whose
/// gradients are not finite changes nothing. Once for each graph: it adds states "train…", "mean.NAME" and
/// "variance.NAME", and the constants "rates" and "corrections".
Updates update(std::span<const Tensor> parameters, std::span<const Tensor> gradients, const std::vector<float>& rates,
               const OptimizerOptions& options = {}, SourceLocation where = SourceLocation::here());

}  // namespace vantage
