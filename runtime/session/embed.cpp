// Texts to vectors, by an encoder.
#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/session/model_access.h"
#include "vantage/batch.h"

namespace vantage {

namespace {

struct Text {
    std::int64_t number;
    std::vector<std::int32_t> ids;
};

/// The texts' ids, the shortest first.
std::vector<Text> by_length(const Model& model, std::span<const std::string> texts) {
    std::vector<Text> all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        all.push_back({static_cast<std::int64_t>(i), model.tokenizer().encode(texts[i], true).ids});
        if (const std::size_t count = all.back().ids.size();
            count == 0 || std::cmp_greater(count, model.info().context))
            throw Error(ErrorKind::usage,
                        format("embed: text {} has {} tokens, wanted 1 to {}", i + 1, count, model.info().context));
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

std::vector<float> pooled(const Sequence& text, Pooling pooling) {
    const Array rows = pooling == Pooling::pooler ? text.pooled() : text.last_hidden();
    if (rows.empty())
        throw Error(ErrorKind::usage, "embed: " + text.model().info().name + " has no pooler; take mean or first");
    switch (pooling) {
        case Pooling::mean: return mean_of_rows(rows);
        case Pooling::first: return {rows.begin(), rows.begin() + rows.shape()[1]};
        case Pooling::pooler: break;
    }
    return {rows.begin(), rows.end()};
}

void normalise(std::vector<float>& vector) {
    double squares = 0;
    for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
    if (squares > 0)
        for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
}

}  // namespace

Array embed(const Model& model, std::span<const std::string> texts, const EmbedOptions& options) {
    const ModelConfig& config = config_of(model);
    if (config.kind != ModelKind::encoder || config.is_vision())
        throw Error(ErrorKind::usage, "embed: " + model.info().name + " (" + model.info().architecture +
                                          ") is no encoder of texts (bert, roberta, longformer, distilbert)");
    const std::vector<Text> sorted = by_length(model, texts);
    const std::int64_t width = model.info().width;
    std::vector<float> all(texts.size() * static_cast<std::size_t>(width));
    // of a run; every row of a model that fills gaps has the logits of the whole vocabulary
    const std::int64_t max_rows = config.head == Head::masked_lm ? 512 : 4096, max_texts = 32;
    for (auto first = sorted.begin(); first != sorted.end();) {
        // texts of one size run together: at most half of their rows are padding
        const std::size_t size = std::bit_ceil(std::max<std::size_t>(first->ids.size(), 8));
        const auto end = std::find_if(first, sorted.end(), [&](const Text& text) { return text.ids.size() > size; });
        const std::int64_t rows = std::min(model.info().context, static_cast<std::int64_t>(size)),
                           together = std::min({end - first, max_texts, std::max<std::int64_t>(max_rows / rows, 1)});
        SessionOptions session = options.session;
        session.context = rows;
        Batch batch(model, together, session);
        while (first != end) {
            const std::int64_t count = std::min(together, static_cast<std::int64_t>(end - first));
            batch.restart();
            for (std::int64_t i = 0; i < count; ++i) batch[i].append(first[i].ids);
            batch.run();
            for (std::int64_t i = 0; i < count; ++i) {
                std::vector<float> vector = pooled(batch[i], options.pooling);
                if (options.normalise) normalise(vector);
                std::ranges::copy(vector, all.begin() + first[i].number * width);
            }
            first += count;
        }
    }
    return {Shape{std::ssize(texts), width}, std::move(all)};
}

}  // namespace vantage
