#include "cli/inspect/check_nodes.h"
#include "runtime/session/model_access.h"

#include <algorithm>

#include "cli/shared/progress.h"
#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/architecture.h"
#include "runtime/models/model_builder.h"
#include "vantage/ops.h"

namespace vantage::cli {

std::string NodeCheck::text() const {
    if (!diverged) return format("{} nodes agree with their references", nodes);
    return format("{} (kernel {}, plan of {} rows) is the first node that differs from its reference: {}",
                  diverged->node, diverged->kernel, rows, diverged->message);
}

NodeCheck check_nodes(const Model& model, std::span<const std::int32_t> ids, SessionOptions options,
                      std::span<const float> pixels, std::span<const std::int32_t> source,
                      std::span<const std::int32_t> types) {
    const std::int64_t tokens = std::ssize(ids),
                       context = std::min(model.info().context, std::max(tokens, std::ssize(source)) + 1);
    options.context = context, options.record_attention = RecordAttention::all();
    Session session(model, options);
    NodeCheck result;
    Progress progress("checking");
    const auto write_state = [&](Plan& plan, const char* name, std::span<const std::int32_t> of) {
        std::vector<std::int32_t> padded(of.begin(), of.end());
        padded.resize(static_cast<std::size_t>(context));
        plan.write(name, std::span<const std::int32_t>(padded));
    };
    const auto has = [](const Plan& plan, const char* name) {
        return std::ranges::count(plan.graph().values(), name, &Value::name) > 0;
    };
    const auto write_sequence = [&](Plan& plan, const char* name, const char* step, std::span<const std::int32_t> of) {
        write_state(plan, name, of);
        plan.write(step, Step{.end = std::ssize(of), .limit = context}.words());
    };
    const auto check = [&](Plan& plan, std::int64_t rows) {
        result.rows = rows;
        const std::vector<Divergence> found = plan.check();
        result.nodes += live_nodes(plan.graph()).size();
        if (!found.empty()) result.diverged = found.front();
        return found.empty();
    };
    Plan& first = session.plan(session.chunk(tokens));
    if (!source.empty()) {
        Plan& encoder = session.encoder_plan(std::ssize(source));
        write_sequence(encoder, model_names::source_tokens, model_names::source_step, source);
        const std::int32_t length[] = {static_cast<std::int32_t>(source.size())};
        first.write(model_names::source_length, std::span<const std::int32_t>(length));
        if (!check(encoder, std::ssize(source))) return result;
    }
    if (pixels.empty()) {
        write_sequence(first, model_names::tokens, model_names::step, ids);
        if (has(first, model_names::types)) write_state(first, model_names::types, types);
        if (has(first, model_names::positions))
            write_state(first, model_names::positions, token_positions(config_of(model), ids));
    } else {
        first.write(model_names::pixels, pixels);
        first.write(model_names::step, Step{.end = std::ssize(ids), .limit = context}.words());
    }
    for (std::int64_t done = 0; done < tokens;) {  // in the chunks of a session
        progress.show(done, tokens + 1);
        const std::int64_t chunk = session.chunk(tokens - done);
        if (!check(session.plan(chunk), chunk)) return result;
        done += chunk;
    }
    progress.show(tokens, tokens + 1);
    if (tokens < context && config_of(model).kind != ModelKind::encoder) check(session.plan(1), 1);
    return result;
}

}  // namespace vantage::cli
