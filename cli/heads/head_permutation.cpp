#include "cli/heads/head_permutation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "cli/heads/head_ablation.h"
#include "cli/shared/probabilities.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "runtime/inspect/permuted_weights.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"

namespace vantage::cli {

namespace {

/// The weights of the row, and the values that they weigh.
struct Row {
    HeadId place;
    std::vector<float> weights;
    std::shared_ptr<const std::vector<double>> values;  ///< [keys, width], of all heads that share the keys
    std::size_t width = 0;
};

class PermutationTest {
public:
    PermutationTest(const Model& model, const ModelInput& input, const SessionOptions& options)
        : session_(model, options), labels_(config_of(model).kind == ModelKind::encoder) {
        begin(session_, input);
        session_.run();
        position_ = labels_ ? 0 : std::ssize(session_.tokens()) - 1;
        complete_ = prediction();
        for (const AttentionKind kind : attention_kinds(model)) {
            if (kind == AttentionKind::encoder) continue;
            for (const std::int64_t layer : model.info().layers_of(kind)) add_rows(layer, kind);
        }
    }

    const std::vector<Row>& rows() const { return rows_; }
    Session& session() { return session_; }

    /// Total variation distance of the prediction from the complete model's.
    double distance(const Row& row, std::vector<float> change) {
        session_.shift_head({row.place, position_, std::move(change)});
        const std::vector<double> changed = prediction();
        double sum = 0;
        for (std::size_t i = 0; i < changed.size(); ++i) sum += std::abs(changed[i] - complete_[i]);
        return sum / 2;
    }

private:
    std::vector<double> prediction() {
        if (!labels_) return probabilities(session_.next_logits().values());
        session_.run();
        return probabilities(session_.logits().values());
    }
    void add_rows(std::int64_t layer, AttentionKind kind) {
        const HostTensor all = SessionAccess::values(session_, layer, kind);
        const auto keys = static_cast<std::size_t>(all.type.shape[0]),
                   kv_heads = static_cast<std::size_t>(all.type.shape[1]),
                   width = static_cast<std::size_t>(all.type.shape[2]);
        const auto heads = static_cast<std::size_t>(session_.model().info().heads_of(kind));
        std::vector<std::shared_ptr<const std::vector<double>>> values;
        for (std::size_t kv_head = 0; kv_head < kv_heads; ++kv_head) {
            std::vector<double> own;
            for (std::size_t key = 0; key < keys; ++key) {
                const auto first = all.data.begin() + static_cast<std::ptrdiff_t>((key * kv_heads + kv_head) * width);
                own.insert(own.end(), first, first + static_cast<std::ptrdiff_t>(width));
            }
            values.push_back(std::make_shared<const std::vector<double>>(std::move(own)));
        }
        for (std::size_t head = 0; head < heads; ++head) {
            Row row{.place = {layer, static_cast<std::int64_t>(head), kind}, .width = width};
            row.weights = session_.attention(row.place, {position_, 1}, {}).vector();
            row.values = values[head / (heads / kv_heads)];
            rows_.push_back(std::move(row));
        }
    }

    Session session_;
    bool labels_;
    std::int64_t position_ = 0;
    std::vector<double> complete_;
    std::vector<Row> rows_;
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<Permutation> permute_heads(const Model& model, const ModelInput& input, const SessionOptions& options,
                                       std::int64_t count, std::uint64_t seed) {
    SessionOptions shifted = options;
    shifted.head_shift = HeadShift{}, shifted.profile = profiling();
    PermutationTest test(model, input, shifted);
    std::vector<Permutation> results;
    Progress progress("permuting weights");
    for (const Row& row : test.rows()) {
        std::seed_seq seeds{seed & 0xFFFFFFFF, seed >> 32, static_cast<std::uint64_t>(row.place.layer),
                            static_cast<std::uint64_t>(row.place.head), static_cast<std::uint64_t>(row.place.kind)};
        std::mt19937_64 random(seeds);
        std::vector<double> distances;
        for (std::int64_t i = 0; i < count; ++i) {
            progress.show(std::ssize(results) * count + i, std::ssize(test.rows()) * count);
            distances.push_back(test.distance(row, permuted_change(row.weights, *row.values, row.width, random)));
        }
        results.push_back({.place = row.place,
                           .largest = static_cast<double>(*std::ranges::max_element(row.weights)),
                           .change = median(std::move(distances))});
    }
    note_dispatches(model.device(), test.session().take_timings());
    return results;
}

}  // namespace vantage::cli
