#include "node_check.h"

#include <array>
#include <cstring>

#include "progress.h"
#include "runtime/base/log.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"
#include "shaders/params/step.h"

namespace vantage::cli {

namespace {

/// The step of a sequence of which nothing has run yet, as the plan's begin_step finds it; the most probable token is drawn.
std::vector<std::byte> first_step(std::size_t tokens, std::int64_t context) {
    std::array<std::uint32_t, STEP_WORDS> words{};
    words[STEP_END] = static_cast<std::uint32_t>(tokens);
    words[STEP_LIMIT] = static_cast<std::uint32_t>(context);
    const float one = 1;
    std::memcpy(&words[STEP_TOP_P], &one, sizeof one);
    std::memcpy(&words[STEP_PENALTY], &one, sizeof one);
    std::vector<std::byte> bytes(sizeof words);
    std::memcpy(bytes.data(), words.data(), sizeof words);
    return bytes;
}

}  // namespace

std::string NodeCheck::text() const {
    if (!diverged) return format("%zu nodes agree with their references", nodes);
    return format("%s (kernel %s, plan of %lld rows) is the first node that differs from its reference: %s",
                  diverged->node.c_str(), diverged->kernel.c_str(), static_cast<long long>(rows),
                  diverged->message.c_str());
}

NodeCheck check_nodes(const Model& model, std::span<const std::int32_t> ids, Precision precision,
                      std::span<const float> pixels) {
    const auto tokens = static_cast<std::int64_t>(ids.size()), context = std::min(model.info().context, tokens + 1);
    Session session(model, {.context = context, .precision = precision, .watch = Watch::all()});
    std::vector<std::int32_t> padded(ids.begin(), ids.end());
    padded.resize(static_cast<std::size_t>(context));
    NodeCheck result;
    Progress progress("checking");
    bool first = true;
    const auto run = [&](std::int64_t rows) {
        Plan& plan = session.plan(rows);
        if (first) {
            if (pixels.empty())
                plan.write(model_names::tokens, std::span<const std::int32_t>(padded));
            else
                plan.write(model_names::pixels, pixels);
            plan.write_bytes(model_names::step, first_step(ids.size(), context));
            first = false;
        }
        result.rows = rows;
        const std::vector<Divergence> found = plan.check();
        result.nodes += live_nodes(plan.graph()).size();
        if (!found.empty()) result.diverged = found.front();
        return found.empty();
    };
    for (std::int64_t done = 0; done < tokens;) {  // in the chunks that a session takes
        progress.show(done, tokens + 1);
        const std::int64_t chunk = session.chunk(tokens - done);
        if (!run(chunk)) return result;
        done += chunk;
    }
    progress.show(tokens, tokens + 1);
    if (tokens < context && model.config().kind == ModelKind::decoder) run(1);
    return result;
}

}  // namespace vantage::cli
