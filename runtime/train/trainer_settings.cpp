#include "runtime/train/trainer_settings.h"

#include <algorithm>
#include <cstdint>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/parameter_updates.h"

namespace vantage::internal {

ModelConfig trained_config(ModelConfig config, const TrainOptions& options, const TrainingData& data) {
    if (const Task task = task_of(config); task != data.task())
        throw usage_error("{} learns from {}, but the data are {}: name the model where they are read",
                          config.architecture, name_of(task), name_of(data.task()));
    if (data.context() > config.context)
        throw usage_error("sequences of {} tokens, but the model has {} positions", data.context(), config.context);
    if (data.vocabulary() > config.vocab && !config.is_vision())
        throw usage_error("the tokenizer of the data has {} tokens, but the model's vocabulary {}", data.vocabulary(),
                          config.vocab);
    if (options.lora) config.lora->dropout = options.lora->dropout;
    return config;
}

// Files that differ can be of the same tokenizer: another program has written one, or it has more tokens. Special tokens
// may have new names, as those of a chat format have. A token may be spelled as ĠĠ in one, and as two spaces in another.
void require_same_tokens(const TrainingData& data, const Tokenizer& tokenizer, const std::string& path) {
    if (!data.tokenizer() || data.tokenizer()->fingerprint() == tokenizer.fingerprint()) return;
    const Tokenizer& other = *data.tokenizer();
    for (std::int32_t id = 0; id < std::min(tokenizer.vocab_size(), other.vocab_size()); ++id) {
        if (!tokenizer.has(id) || !other.has(id) || tokenizer.is_special(id) || other.is_special(id)) continue;
        const std::string is = tokenizer.token_text(id), was = other.token_text(id);
        if (is != was && tokenizer.token_bytes(id) != other.token_bytes(id))
            throw usage_error(
                "the tokenizer of the data is not that of the model: token {} is {} in the data, but {} in {}", id,
                in_quotes(was), in_quotes(is), path);
    }
}

OptimizerOptions optimizer_of(const TrainOptions& o) {
    return {.optimizer = o.optimizer,
            .beta1 = o.beta1,
            .beta2 = o.beta2,
            .eps = o.eps,
            .momentum = o.momentum,
            .nesterov = o.nesterov,
            .weight_decay = o.weight_decay,
            .max_norm = o.max_norm};
}

void require_possible(const TrainOptions& o, const ModelConfig& config) {
    if (!(o.submission_seconds >= 0))
        throw usage_error("training: submission_seconds is {:g}; it must not be negative", o.submission_seconds);
    const auto require = [](const char* name, std::int64_t value, std::int64_t min, std::int64_t max) {
        if (value < min || value > max)
            throw usage_error("training: {} is {}, but must be from {} to {}", name, value, min, max);
    };
    require("steps", o.steps, 1, max_steps);
    require("sequences", o.sequences, 1, max_sequences);
    require("accumulate", o.accumulate, 1, max_sequences);
    require("validation_sequences", o.validation_sequences, 0, INT64_MAX);
    require("skipped_batches", o.skipped_batches, 0, max_steps);
    require("pause_every", o.pause_every, 0, INT64_MAX);
    if (o.precision == Precision::int8) throw usage_error("training: precision is int8, but must be f32 or f16");
    if (o.memory > INT64_MAX) throw usage_error("training: memory is {} bytes, beyond what there can be", o.memory);
    require("recompute", o.recompute, -1, INT64_MAX);
    require("warmup", o.rate.warmup, 0, max_warmup);
    require("schedule", static_cast<std::int64_t>(o.rate.schedule), 0, static_cast<std::int64_t>(RateSchedule::noam));
    const auto require_below = [](const char* name, double value, double end) {
        if (!(value >= 0 && value < end))
            throw usage_error("training: {} is {:g}, but must be from 0 to below {:g}", name, value, end);
    };
    require_below("rate", o.rate.rate, 1e30);
    require_below("dropout", o.dropout, 1), require_below("attention_dropout", o.attention_dropout, 1);
    if (config.lora) require_below("the dropout of adapters", config.lora->dropout, 1);
    require_below("label_smoothing", o.label_smoothing, 1), require_below("z_loss", o.z_loss, 1e30);
    const double load_balance = o.load_balance.value_or(config.load_balance);
    require_below("load_balance", load_balance, 1e30);
    if (load_balance > 0 && config.experts == 0)
        throw usage_error("training: load_balance is {:g}, but {} has no experts", load_balance, config.architecture);
    if (o.loss_scale != 0 && !(o.loss_scale >= 1 && o.loss_scale <= max_loss_scale))
        throw usage_error("training: loss_scale is {:g}, but must be from 1 to {:g}, or 0", o.loss_scale,
                          max_loss_scale);
    if (o.loss_scale > 0 && o.precision != Precision::f16)
        throw usage_error("training: a loss scale is of f16, not of {}", name_of(o.precision));
    RateOptions rate = o.rate;
    rate.width = config.width;
    learning_rates(rate, 1);  // throws
    TrainingSettings settings;
    set_optimizer(settings, optimizer_of(o));
}

TrainingSettings settings_of(const TrainOptions& o, const ModelConfig& config, const TrainingData& data) {
    if (!config.towers.empty()) {
        if (o.sequences < 2)
            throw usage_error("training: sequences is {}, but pairs are compared with others: at least 2", o.sequences);
        if (o.sequences > data.sequences())
            throw usage_error("training: sequences is {}, but there are {} pairs, and none may be there twice",
                              o.sequences, data.sequences());
        if (o.label_smoothing != 0 || o.z_loss != 0)
            throw usage_error("training: label_smoothing and z_loss are not for pairs");
        if (o.loss) throw usage_error("training: a custom loss is not for pairs");
    }
    require_possible(o, config);
    RateOptions rate = o.rate;
    rate.width = config.width;
    TrainingSettings settings{.sequences = o.sequences,
                              .rows = data.context(),
                              .source_rows = source_rows_of(config, data.context()),
                              .micro_batches = o.accumulate,
                              .recompute = o.recompute,
                              .slots = steps_ahead * o.accumulate,
                              .documents = data.separates_documents(),
                              .loss = {.label_smoothing = o.label_smoothing, .z_loss = o.z_loss},
                              .custom_loss = o.loss,
                              .load_balance = o.load_balance.value_or(config.load_balance),
                              .dropout = o.dropout,
                              .attention_dropout = o.attention_dropout,
                              .f16 = o.precision == Precision::f16,
                              .loss_scale = o.loss_scale,
                              .seed = o.seed,
                              .rates = learning_rates(rate, o.steps)};
    set_optimizer(settings, optimizer_of(o));
    return settings;
}

}  // namespace vantage::internal
