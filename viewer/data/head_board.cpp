#include "viewer/data/head_board.h"
#include "runtime/base/at.h"
#include "runtime/session/model_access.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/graph/choose_kernel.h"
#include "runtime/models/config.h"
#include "runtime/ops/head_statistics.h"
#include "shaders/params/head_statistics.h"

namespace vantage::view {

namespace {

constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t rows_skipped = 3;  // of causal attention: they see too few keys to tell anything
constexpr std::uint64_t result_bytes = 1 << 20;

/// How many keys rows see, from one on.
struct KeysOfRows {
    std::int64_t first, keys;
    bool causal;
    /// Of so many rows, together.
    double of(std::int64_t rows) const {
        const auto n = static_cast<double>(rows), before = static_cast<double>(first);
        return n * (causal ? before + (n + 1) / 2 : static_cast<double>(keys));
    }
    /// The most rows that see no more.
    std::int64_t rows_with(double max_products) const {
        const double before = static_cast<double>(first) + 0.5;
        return static_cast<std::int64_t>(causal ? std::sqrt(before * before + 2 * max_products) - before
                                                : max_products / static_cast<double>(std::max<std::int64_t>(keys, 1)));
    }
};

}  // namespace

void HeadSums::add(std::span<const float> row, const RowKind& kind) {
    const auto number = [&](int i) { return static_cast<double>(at(row, i)); };
    const bool class_token = kind.image && numbers_.rows == 0;
    const double off = kind.has_sink ? not_defined : std::abs(number(ROW_TOTAL) - 1);
    if (!kind.has_sink && !(off <= row_sum_tolerance)) off_rows_.push_back({numbers_.rows, at(row, ROW_TOTAL)});
    ++numbers_.rows;
    numbers_.worst_row_sum = std::isnan(off) ? off : std::max(numbers_.worst_row_sum, off);
    if (!kind.counted) return;
    const double entropy = std::max(number(ROW_ENTROPY), 0.0);
    const auto take = [&](HeadStatistic statistic, double value) {
        at(sums_, statistic) += value;
        ++at(counts_, statistic);
    };
    take(HeadStatistic::entropy, entropy);
    take(HeadStatistic::effective, std::exp(entropy));
    take(HeadStatistic::largest, number(ROW_LARGEST));
    take(HeadStatistic::first, number(ROW_FIRST));
    // In an image the mean is that of the weights between patches.
    const double placed = kind.image ? std::max(number(ROW_TOTAL) - number(ROW_FIRST), 1e-30) : 1;
    if (!kind.apart && !class_token) take(HeadStatistic::distance, number(ROW_DISTANCE) / placed);
    if (!kind.apart) take(HeadStatistic::self, number(ROW_SELF));
    if (!kind.apart && !kind.image) {
        take(HeadStatistic::previous, number(ROW_PREVIOUS));
        const double total = std::max(number(ROW_TOTAL), 1e-30);
        take(HeadStatistic::sigma, number(ROW_SQUARED) / total);  // numbers() makes the width of it
        offset_ += number(ROW_OFFSET) / total;
    }
    if (!kind.repeats) return;
    take(HeadStatistic::induction, number(ROW_COPIED));
    take(HeadStatistic::duplicate, number(ROW_REPEATED));
}

HeadMeans HeadSums::numbers() const {
    HeadMeans now = numbers_;
    for (std::size_t i = 0; i < now.mean.size(); ++i)
        now.mean[i] = counts_[i] > 0 ? sums_[i] / static_cast<double>(counts_[i]) : not_defined;
    if (const auto count = static_cast<double>(at(counts_, HeadStatistic::sigma)); count > 0) {
        const double offset = offset_ / count, variance = at(now.mean, HeadStatistic::sigma) - offset * offset;
        at(now.mean, HeadStatistic::sigma) = std::isnan(variance) ? variance : std::sqrt(std::max(variance, 0.0));
    }
    return now;
}

HeadBoard::HeadBoard(gpu::DeviceState& device, const LiveModel& live, const ViewSources& sources)
    : device_(device),
      result_(gpu::allocate(device, result_bytes, gpu::MemoryKind::readback, "view.statistics")),
      columns_(config_of(live.model()).sees() ? config_of(live.model()).image.columns() : 0),
      patches_(config_of(live.model()).is_vision() ? AttentionKind::self : AttentionKind::encoder) {
    std::size_t head = 0;
    std::vector<gpu::PipelineKey> keys;
    for (const ViewSources::Layer& layer : sources.layers()) {
        layers_.push_back({&layer, head});
        head += layer.sizes.heads;
        // id and marks of each token; in cross-attention the keys first, then the queries
        const std::uint64_t count = layer.sizes.m + (layer.kind == AttentionKind::cross ? layer.sizes.n : 0);
        gpu::Buffer& buffer = tokens_of(layer.kind);
        if (!buffer) buffer = gpu::allocate(device, 8 * count, gpu::MemoryKind::shared, "view.tokens");
        if (layer.kind == AttentionKind::cross) cross_keys_ = layer.sizes.m;
        const Launch launch = launch_of(layer, 0, 1, 1);
        keys.push_back({.module = launch.shader, .spec = launch.spec});
    }
    gpu::prepare_pipelines(device, keys);
    begin(0);
}

gpu::Buffer& HeadBoard::tokens_of(AttentionKind kind) {
    return kind == AttentionKind::self ? tokens_ : kind == AttentionKind::encoder ? source_tokens_ : cross_tokens_;
}

void HeadBoard::begin(std::uint64_t run) {
    run_ = run;
    repeats_.clear();
    first_place_.clear();
    for (LayerState& layer : layers_) {
        layer.rows = 0;
        layer.sums.assign(layer.layer->sizes.heads, {});
        layer.kept.begin(layer.sums);
        show_numbers(layer);
    }
}

void HeadBoard::show_numbers(const LayerState& layer) {
    numbers_.resize(std::max(numbers_.size(), layer.first_head + layer.sums.size()));
    std::ranges::transform(layer.sums, numbers_.begin() + static_cast<std::ptrdiff_t>(layer.first_head),
                           &HeadSums::numbers);
}

std::span<const OffRow> HeadBoard::off_rows(std::size_t head) const {
    const LayerState& layer = *std::prev(std::ranges::upper_bound(layers_, head, {}, &LayerState::first_head));
    return layer.sums[head - layer.first_head].off_rows();
}

// The tokens that the kernels compare. Known ones do not change, so new ones may be written while those are read.
void HeadBoard::write_tokens(const LiveTokens& tokens, const Version& version) {
    const auto write = [](const gpu::Buffer& buffer, std::size_t place, std::span<const std::int32_t> ids) {
        if (!buffer) return;
        auto* words = reinterpret_cast<std::int32_t*>(buffer.mapped()) + 2 * place;
        for (const std::int32_t id : ids) *words++ = id, *words++ = 0;
    };
    const std::size_t known = repeats_.size(), rows = static_cast<std::size_t>(version.rows);
    const auto more = std::span(tokens.ids).subspan(known, rows - known);
    write(tokens_, known, more);
    write(cross_tokens_, cross_keys_ + known, more);
    if (known == 0) write(source_tokens_, 0, tokens.source_ids), write(cross_tokens_, 0, tokens.source_ids);
    for (std::size_t i = known; i < rows; ++i) {
        const std::size_t before = first_place_.try_emplace(tokens.ids[i], i).first->second;
        repeats_.push_back(columns_of(AttentionKind::self) == 0 && before + 2 < i);
    }
}

bool HeadBoard::collect() {
    LayerState* done = std::exchange(pending_, nullptr);
    if (done == nullptr || pending_run_ != run_) return false;
    const ViewSources::Layer& layer = *done->layer;
    const std::size_t heads = layer.sizes.heads;
    std::vector<float> numbers(static_cast<std::size_t>(pending_rows_) * heads * ROW_NUMBERS);
    std::memcpy(numbers.data(), result_.mapped(), numbers.size() * sizeof(float));
    for (std::size_t r = 0; r < static_cast<std::size_t>(pending_rows_); ++r) {
        const std::size_t row = static_cast<std::size_t>(pending_first_) + r;
        const RowKind kind{.counted = !layer.causal || static_cast<std::int64_t>(row) >= rows_skipped,
                           .repeats = layer.kind == AttentionKind::self && repeats_[row],  // never in an image
                           .apart = layer.kind == AttentionKind::cross,
                           .image = columns_of(layer.kind) > 0,
                           .has_sink = layer.tapped->sinks};
        for (std::size_t head = 0; head < heads; ++head)
            done->sums[head].add(std::span(numbers).subspan((r * heads + head) * ROW_NUMBERS, ROW_NUMBERS), kind);
        done->kept.note(static_cast<std::int64_t>(row) + 1, done->sums);
    }
    show_numbers(*done);
    rows_summed_ += static_cast<std::uint64_t>(pending_rows_);
    return true;
}

bool HeadBoard::incomplete(const Version& version, const ShownRows& shown) const {
    return run_ != version.run ||
           std::ranges::any_of(layers_, [&](const LayerState& s) { return s.rows != shown.of(s.layer->kind); });
}

void HeadBoard::follow(const Version& version, const ShownRows& shown) {
    if (run_ != version.run) begin(version.run);
    if (pending_ != nullptr) return;  // it belongs to the sums as they are
    for (LayerState& layer : layers_)
        if (layer.kept.approach(layer.rows, layer.sums, shown.of(layer.layer->kind))) show_numbers(layer);
}

void HeadBoard::advance(const LiveTokens& tokens, const Version& version, const ShownRows& shown, ViewWork& work) {
    if (pending_ != nullptr || work.room(Work::statistics) <= 0 || !incomplete(version, shown)) return;
    if (static_cast<std::int64_t>(repeats_.size()) < version.rows) write_tokens(tokens, version);
    LayerState& next =
        *std::ranges::max_element(layers_, {}, [&](const LayerState& s) { return shown.of(s.layer->kind) - s.rows; });
    const ViewSources::Layer& layer = *next.layer;
    const std::int64_t keys = version.keys_of(layer.kind);
    const KeysOfRows seen{.first = next.rows, .keys = keys, .causal = layer.causal};
    const auto width = static_cast<double>(layer.sizes.heads * layer.sizes.d);
    const std::int64_t fit =
        static_cast<std::int64_t>(result_bytes / (layer.sizes.heads * ROW_NUMBERS * sizeof(float)));
    const std::int64_t wanted = seen.rows_with(work.room(Work::statistics) / width);
    const std::int64_t rows =
        std::min({fit, std::max<std::int64_t>(wanted, work.empty() ? 1 : 0), shown.of(layer.kind) - next.rows});
    if (rows > 0) launch(next, rows, keys, work, width * seen.of(rows));
}

// Of the op's two launches the one that sums up rows.
Launch HeadBoard::launch_of(const ViewSources::Layer& layer, std::int64_t first_row, std::int64_t rows,
                            std::int64_t keys) const {
    namespace operand = ops::head_statistics;
    const TapSource& source = *layer.tapped;
    Attrs attrs = source.attrs;
    for (const auto& [name, value] : {std::pair{"first_row", first_row}, {"rows", rows}, {"keys", keys}})
        attrs.set(name, value);
    if (layer.kind == AttentionKind::cross) attrs.set("apart", true);
    if (const std::int64_t columns = columns_of(layer.kind); columns > 0) attrs.set("columns", columns);
    const std::int64_t marked = layer.sizes.m + (layer.kind == AttentionKind::cross ? layer.sizes.n : 0);
    const TensorType tokens{Shape{marked, 2}, DType::i32};
    OpCall call{.op = &head_statistics_op, .attrs = std::move(attrs), .inputs = {}, .outputs = {}};
    call.inputs.resize(call.op->operands.size());
    call.inputs[operand::q_] = source.q.type, call.inputs[operand::k_] = source.k.type,
    call.inputs[operand::lse_] = source.lse.type;
    call.inputs[operand::position_bias_] = source.position_bias.type;
    call.inputs[operand::block_mask_] = source.block_mask.type, call.inputs[operand::tokens_] = tokens;
    call.outputs = call.op->infer(call);
    return choose_kernel(call, device_.caps())->launch(call, device_.caps()).launches.front();
}

void HeadBoard::launch(LayerState& state, std::int64_t rows, std::int64_t keys, ViewWork& work, double products) {
    const ViewSources::Layer& layer = *state.layer;
    const TapSource& source = *layer.tapped;
    Launch launch = launch_of(layer, state.rows, rows, keys);
    const std::uint64_t q = source.q.buffer.address(), none = absent(q);
    const auto address = [&](const gpu::Buffer& buffer) { return buffer ? buffer.address() : none; };
    std::vector<std::uint64_t> addresses(head_statistics_op.operands.size() + 1, none);
    namespace operand = ops::head_statistics;
    addresses[operand::q_] = q, addresses[operand::k_] = address(source.k.buffer),
    addresses[operand::lse_] = address(source.lse.buffer);
    addresses[operand::position_bias_] = address(source.position_bias.buffer);
    addresses[operand::block_mask_] = address(source.block_mask.buffer);
    addresses[operand::tokens_] = tokens_of(layer.kind).address();
    addresses.back() = result_.address();
    std::memcpy(launch.params.data(), addresses.data(), addresses.size() * sizeof none);
    work.add(Work::statistics, {.module = launch.shader, .spec = launch.spec},
             std::span<const std::byte>(launch.params), launch.groups, products);
    pending_ = &state, pending_run_ = run_, pending_first_ = state.rows, pending_rows_ = rows;
    state.rows += rows;
}

}  // namespace vantage::view
