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

NodeCheck check_nodes(const Model& model, const ModelInput& input, SessionOptions options) {
    options.record_attention = RecordAttention::all();
    NodeCheck result;
    Progress progress("checking");
    const std::int64_t tokens = std::ssize(input.ids);
    std::int64_t done = 0;
    ReplayInput given{.ids = input.ids, .types = input.types, .source = input.source};
    if (input.image) given.pixels = input.image->pixels;
    replay(model, options, given, [&](Plan& plan, std::int64_t rows) {
        progress.show(std::min(done, tokens), tokens + 1);
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
