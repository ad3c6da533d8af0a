#include "runtime/graph/choose_kernel.h"

#include "runtime/graph/tuning.h"

namespace vantage::internal {

bool eligible(const Kernel& kernel, const OpCall& call, const Caps& caps) {
    return provides(caps, kernel.needs) && (kernel.fits == nullptr || kernel.fits(call, caps));
}

const Kernel* choose_kernel(const OpCall& call, const Caps& caps, const TuningTable* tuning) {
    if (tuning != nullptr)
        if (const Kernel* tuned = tuning->choose(call, caps)) return tuned;
    for (const Kernel& kernel : call.op->kernels)
        if (eligible(kernel, call, caps) && (kernel.profitable == nullptr || kernel.profitable(call, caps)))
            return &kernel;
    return nullptr;
}

}  // namespace vantage::internal
