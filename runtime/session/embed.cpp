// Vectors of texts and images, by an encoder.
#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"
#include "vantage/batch.h"

namespace vantage {

namespace {

struct Text {
    std::int64_t number;
    std::vector<std::int32_t> ids;
};

/// The texts' ids in ascending order of length.
std::vector<Text> by_length(const Model& model, std::span<const std::string> texts) {
    std::vector<Text> all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        all.push_back({static_cast<std::int64_t>(i), encode_at(format("embed: text {}", i + 1), ErrorKind::usage,
                                                               model.info().context, model.tokenizer(), texts[i])
                                                         .ids});
        if (const std::size_t count = all.back().ids.size();
            count == 0 || std::cmp_greater(count, model.info().context))
            throw usage_error("embed: text {} has {} tokens; expected 1 to {}", i + 1, count, model.info().context);
    }
    std::ranges::stable_sort(all, {}, [](const Text& text) { return text.ids.size(); });
    return all;
}

std::vector<float> mean_of_rows(const Array& rows) {
    const auto width = static_cast<std::size_t>(rows.shape()[1]), count = static_cast<std::size_t>(rows.shape()[0]);
    std::vector<double> sums(width);
    for (std::size_t i = 0; i < rows.values().size(); ++i) sums[i % width] += static_cast<double>(rows.values()[i]);
    std::vector<float> mean;
    for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
    return mean;
}

std::vector<float> pool(const Sequence& sequence, Pooling pooling) {
    const std::string& name = sequence.model().info().name;
    const Array states = sequence.last_hidden();
    if (states.empty()) throw usage_error("embed: the sequence has not run; call run() first");
    if (pooling == Pooling::mean) return mean_of_rows(states);
    if (pooling == Pooling::first) return {states.begin(), states.begin() + states.shape()[1]};
    const Array pooled = sequence.pooled();
    if (pooled.empty())
        throw usage_error("embed: " + name + " has no pooler; use --pooling mean or cls (Pooling::mean or first)");
    return {pooled.begin(), pooled.end()};
}

void normalise(std::vector<float>& vector) {
    double squares = 0;
    for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
    if (squares > 0)
        for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
}

/// Tokens of a text rounded up to a power of two, at least 8. Texts of equal size run together: less than half of the
/// rows are padding, of texts with at least 5 tokens.
std::size_t padded_size(const Text& text) { return std::bit_ceil(std::max<std::size_t>(text.ids.size(), 8)); }

/// Embeds texts of one padded size, in equal parts that fit a run; calls `on_vector(text, vector)` for each.
template <typename OnVector>
void embed_size(const Model& model, std::span<const Text> texts, const EmbedOptions& options,
                const OnVector& on_vector) {
    // Rows of a run; a masked language model computes logits over the whole vocabulary for each of them.
    const std::int64_t max_rows = config_of(model).head == Head::masked_lm ? 512 : 4096, max_texts = 32;
    const std::int64_t rows = std::min(model.info().context, static_cast<std::int64_t>(padded_size(texts.front()))),
                       most =
                           config_of(model).runs_alone() ? 1 : std::clamp<std::int64_t>(max_rows / rows, 1, max_texts),
                       parts = (std::ssize(texts) + most - 1) / most,
                       together = (std::ssize(texts) + parts - 1) / parts;
    SessionOptions session = options.session;
    session.context = rows;
    Batch batch(model, together, session);
    while (!texts.empty()) {
        const std::span<const Text> some = texts.first(std::min(static_cast<std::size_t>(together), texts.size()));
        batch.restart();
        for (std::size_t i = 0; i < some.size(); ++i) batch[static_cast<std::int64_t>(i)].append(some[i].ids);
        batch.run();
        for (std::size_t i = 0; i < some.size(); ++i)
            on_vector(some[i], embedding(batch[static_cast<std::int64_t>(i)], options));
        texts = texts.subspan(some.size());
    }
    if (options.on_timings) options.on_timings(batch.take_timings());
}

}  // namespace

Array embedding(const Sequence& sequence, const EmbedOptions& options) {
    const Model& model = sequence.model();
    if (config_of(model).kind != ModelKind::encoder)
        throw usage_error("embed: " + described(model.info()) +
                          " is not an encoder (bert, roberta, longformer, big_bird, distilbert, vit, clip)");
    std::vector<float> vector = pool(sequence, options.pooling);
    if (options.normalise) normalise(vector);
    const Shape shape{std::ssize(vector)};
    return {shape, std::move(vector)};
}

Array embed(const Model& model, std::span<const std::string> texts, const EmbedOptions& options) {
    const ModelConfig& config = config_of(model);
    if (config.kind != ModelKind::encoder || config.is_vision())
        throw usage_error("embed: " + described(model.info()) +
                          " is not a text encoder (bert, roberta, longformer, big_bird, distilbert, clip)");
    const std::vector<Text> sorted = by_length(model, texts);
    std::vector<float> all;
    std::int64_t width = model.info().width, done = 0;
    const auto note = [&](const Text& text, const Array& vector) {
        width = std::ssize(vector);
        all.resize(texts.size() * vector.size());
        std::ranges::copy(vector, all.begin() + text.number * width);
        if (options.on_progress) options.on_progress(++done, std::ssize(texts));
    };
    for (auto first = sorted.begin(); first != sorted.end();) {
        const auto end = std::find_if(first, sorted.end(),
                                      [&](const Text& text) { return padded_size(text) != padded_size(*first); });
        embed_size(model, std::span(first, end), options, note);
        first = end;
    }
    return {Shape{std::ssize(texts), width}, std::move(all)};
}

}  // namespace vantage
