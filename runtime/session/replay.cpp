#include "runtime/session/replay.h"

#include <algorithm>
#include <new>
#include <optional>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/exec/plan_access.h"
#include "runtime/models/architecture.h"
#include "runtime/models/model_builder.h"
#include "runtime/session/model_access.h"
#include "vantage/ops.h"

namespace vantage::internal {
namespace {

bool has(const Plan& plan, const char* name) {
    return std::ranges::count(plan.graph().values(), name, &Value::name) > 0;
}

/// Writes the states of a replayed session.
class StateWriter {
public:
    explicit StateWriter(std::int64_t context) : context_(context) {}
    void integers(Plan& plan, const char* name, std::span<const std::int32_t> of) const {
        std::vector<std::int32_t> padded(of.begin(), of.end());
        padded.resize(static_cast<std::size_t>(context_));
        plan.write(name, std::span<const std::int32_t>(padded));
    }
    void sequence(Plan& plan, const char* tokens, const char* step, std::span<const std::int32_t> of) const {
        integers(plan, tokens, of);
        plan.write(step, Step{.end = std::ssize(of), .limit = context_}.words());
    }
    /// The image, as the tokens of a model or of its encoder.
    static void image(Plan& plan, const char* step, const ReplayInput& input, std::int64_t places) {
        plan.write(model_names::pixels, input.pixels);
        plan.write(step, Step{.end = places, .limit = places}.words());
    }
    void prompt(Plan& plan, const Model& model, const ReplayInput& input) const {
        const ModelConfig& config = config_of(model);
        if (config.is_vision()) return image(plan, model_names::step, input, config.image.places());
        sequence(plan, model_names::tokens, model_names::step, input.ids);
        if (has(plan, model_names::types)) integers(plan, model_names::types, input.types);
        if (has(plan, model_names::positions))
            integers(plan, model_names::positions, token_positions(config, input.ids));
    }
    /// Of an encoder–decoder.
    void source(Plan& encoder, Plan& decoder, const Model& model, const ReplayInput& input) const {
        const ModelConfig& config = config_of(model);
        if (config.sees())
            image(encoder, model_names::source_step, input, config.image.places());
        else
            sequence(encoder, model_names::source_tokens, model_names::source_step, input.source);
        const std::int32_t length[] = {static_cast<std::int32_t>(input.source.size())};
        decoder.write(model_names::source_length, std::span<const std::int32_t>(length));
    }

private:
    std::int64_t context_;
};

}  // namespace

void replay(const Model& model, SessionOptions options, const ReplayInput& input,
            const std::function<bool(Plan&, std::int64_t)>& run) {
    const std::int64_t tokens = std::ssize(input.ids);
    options.context = std::min(model.info().context, std::max(tokens, std::ssize(input.source)) + 1);
    const StateWriter write(options.context);
    Session session(model, options);
    Plan& first = session.plan(session.chunk(tokens));
    if (!input.source.empty()) {
        Plan& encoder = session.encoder_plan(std::ssize(input.source));
        write.source(encoder, first, model, input);
        if (!run(encoder, std::ssize(input.source))) return;
    }
    write.prompt(first, model, input);
    for (std::int64_t done = 0; done < tokens;) {
        const std::int64_t rows = session.chunk(tokens - done);
        if (!run(session.plan(rows), rows)) return;
        done += rows;
    }
    if (tokens < options.context && config_of(model).kind != ModelKind::encoder) run(session.plan(1), 1);
}

void throw_not_finite(const Model& model, const SessionOptions& options, const ReplayInput& input,
                      const std::string& what) {
    std::optional<Divergence> found;
    try {
        replay(model, options, input, [&](Plan& plan, std::int64_t) { return !(found = plan.find_not_finite()); });
    } catch (const Error& error) {  // what is known is said below
        if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::device_lost) throw;
    } catch (const std::bad_alloc&) {
    }
    std::string place = first_place(found);
    if (found && !options.dump.empty()) {
        try {
            found->dump(options.dump);
            place += format("; dumped to {}", options.dump);
        } catch (const Error& error) {
            place += format("; not dumped: {}", error.what());
        }
    }
    const char* advice = options.precision == Precision::f32 ? "check the model's weights"
                                                             : "try precision f32, and check the model's weights";
    throw Error(ErrorKind::accuracy, format("{} are not finite{}; {}", what, place, advice));
}

}  // namespace vantage::internal
