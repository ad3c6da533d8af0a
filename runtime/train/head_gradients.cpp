#include "runtime/train/head_gradients.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/exec/plan_access.h"
#include "runtime/session/model_access.h"
#include "runtime/session/weight_types.h"
#include "runtime/train/host_inputs.h"

namespace vantage::internal {

namespace {

TrainingStep step_of(const Model& model, std::int64_t rows) {
    const ModelConfig& config = config_of(model);
    TrainingSettings settings{.rows = rows, .source_rows = source_rows_of(config, rows)};
    settings.head_rows = rows;  // in one piece, which has a gradient
    return build_head_gradients(config, settings, weight_types_of(model));
}

// The target of each token is the next token, or the sequence has one label.
void write_targets(const ModelConfig& config, const HeadGradientInput& input, const TrainingSequence& to) {
    if (config.head == Head::classification) {
        to.targets[0] = input.label;
    } else if (!input.ids.empty()) {
        std::ranges::copy(input.ids.subspan(1), to.targets.begin());
    }
}

}  // namespace

HeadGradients::HeadGradients(const Model& model, std::int64_t rows)
    : model_(model),
      rows_(config_of(model).is_vision() ? config_of(model).image.places() : rows),
      step_(step_of(model, rows_)),
      plan_(PlanAccess::make(step_.graph.copy(), model.device(), {}, weights_of(model))) {}

void HeadGradients::write_inputs(const HeadGradientInput& input) {
    std::map<std::string, std::vector<std::byte>> bytes;
    HostInputs inputs(1);
    for (const Value& value : step_.inputs) {
        bytes[value.name].resize(static_cast<std::size_t>(value.type.bytes()));
        inputs.add(value.name, bytes[value.name]);
    }
    const TrainingSequence to = inputs.at(0);
    const ModelConfig& config = config_of(model_);
    clear(to);
    const auto copy = [](auto from, auto target) {
        if (!target.empty()) std::ranges::copy(from.first(std::min(from.size(), target.size())), target.begin());
    };
    const auto set = [](std::span<std::int32_t> one, std::int64_t value) {
        if (!one.empty()) one[0] = static_cast<std::int32_t>(value);
    };
    copy(input.ids, to.tokens), copy(input.types, to.types);
    copy(input.pixels, to.pixels);
    set(to.length, std::ssize(input.ids));
    write_source(input.source, to);
    write_targets(config, input, to);
    complete(config, 0, to);
    const auto targets = std::ranges::count_if(to.targets, [](std::int32_t target) { return target >= 0; });
    std::ranges::fill(inputs.part<float>(train_names::loss_weights, 0),
                      1 / static_cast<float>(std::max<std::int64_t>(targets, 1)));
    for (const auto& [name, all] : bytes) plan_.write_bytes(name, all);
}

void HeadGradients::write_masks(std::span<const HeadId> masked) {
    for (const AttentionKind kind : {AttentionKind::self, AttentionKind::encoder, AttentionKind::cross})
        for (const std::int64_t layer : model_.info().layers_of(kind)) {
            const std::string name = model_names::head_mask(layer, kind);
            const auto value = std::ranges::find(step_.graph.values(), name, &Value::name);
            if (value == step_.graph.values().end())
                throw unsupported_error("{}: the outputs of its heads have no gradient", model_.info().name);
            std::vector<float> factors(static_cast<std::size_t>(value->type.shape.elements()), 1.f);
            const std::int64_t width = std::ssize(factors) / model_.info().heads_of(kind);
            for (const HeadId& head : masked)
                if (head.layer == layer && head.kind == kind)
                    std::fill_n(factors.begin() + head.head * width, width, 0.f);
            plan_.write(name, factors);
        }
}

std::vector<double> HeadGradients::of(const HeadGradientInput& input, std::span<const HeadId> heads,
                                      std::span<const HeadId> masked) {
    if (std::ssize(input.ids) > rows_ && !config_of(model_).is_vision())
        throw usage_error("head gradients: {} tokens, but these plans have {}", input.ids.size(), rows_);
    write_masks(masked), write_inputs(input);
    plan_.run();
    loss_ = static_cast<double>(plan_.read(train_names::loss).data()[0]);
    std::map<std::string, Array> gradients;
    std::vector<double> all;
    for (const HeadId& head : heads) {
        const std::string name = train_names::gradient(model_names::head_mask(head.layer, head.kind));
        if (!step_.graph.outputs().contains(name)) {  // the loss does not depend on it
            all.push_back(0);
            continue;
        }
        if (!gradients.contains(name)) gradients.emplace(name, plan_.read(name));
        const std::span<const float> features = gradients.at(name).values();
        const std::size_t width = features.size() / static_cast<std::size_t>(model_.info().heads_of(head.kind));
        const auto own = features.subspan(static_cast<std::size_t>(head.head) * width, width);
        all.push_back(std::accumulate(own.begin(), own.end(), 0.0));
    }
    if (!std::isfinite(loss_) || !std::ranges::all_of(all, [](double x) { return std::isfinite(x); }))
        throw Error(ErrorKind::accuracy,
                    "head gradients: the loss or a gradient is not finite" + first_place(plan_.find_not_finite()));
    return all;
}

}  // namespace vantage::internal
