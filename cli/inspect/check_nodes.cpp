#include "cli/inspect/check_nodes.h"

#include <algorithm>

#include "cli/shared/progress.h"
#include "runtime/base/format.h"
#include "runtime/graph/schedule.h"
#include "runtime/session/replay.h"

namespace vantage::cli {

std::string NodeCheck::text() const {
    if (!diverged) return format("{} nodes agree with their references", nodes);
    return format("{} (kernel {}, plan of {} rows) is the first node that differs from its reference: {}",
                  diverged->node, diverged->kernel, rows, diverged->message);
}

NodeCheck check_nodes(const Model& model, std::span<const std::int32_t> ids, SessionOptions options,
                      std::span<const float> pixels, std::span<const std::int32_t> source,
                      std::span<const std::int32_t> types) {
    options.record_attention = RecordAttention::all();
    NodeCheck result;
    Progress progress("checking");
    std::int64_t done = 0;
    replay(model, options, {.ids = ids, .types = types, .source = source, .pixels = pixels},
           [&](Plan& plan, std::int64_t rows) {
               progress.show(std::min(done, std::ssize(ids)), std::ssize(ids) + 1);
               done += rows;
               result.rows = rows;
               result.nodes += live_nodes(plan.graph()).size();
               const std::vector<Divergence> found = plan.check();
               if (!found.empty()) result.diverged = found.front();
               return found.empty();
           });
    return result;
}

}  // namespace vantage::cli
