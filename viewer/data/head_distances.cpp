#include "viewer/data/head_distances.h"

#include <algorithm>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/gpu/queue.h"
#include "runtime/graph/op_def.h"

namespace vantage::view {

namespace {

constexpr std::uint64_t default_weight_bytes = 8 << 20;
constexpr std::uint64_t max_result_bytes = 1 << 18;
constexpr std::int64_t first_rows_skipped = 3;
constexpr double seconds_of_a_batch = 0.1;  // when no frame is waited for

bool holds(const Slots& some, const Slots& more) {
    return some.before.size() <= more.before.size() && !some.plain() == !more.plain() &&
           std::equal(some.before.begin(), some.before.end(), more.before.begin());
}

}  // namespace

HeadDistances::HeadDistances(const LiveModel& a, const LiveModel& b)
    : device_(a.model().device().state()),
      sources_a_(a),
      sources_b_(b),
      work_(device_),
      tables_a_(device_, a.context() + b.context()),
      tables_b_(device_, a.context() + b.context()),
      max_slots_(a.context() + b.context()) {
    std::int64_t max_heads = 1;
    std::vector<gpu::PipelineKey> keys;
    for (const ViewSources::Layer& layer : sources_a_.layers()) {
        const auto other = std::ranges::find_if(sources_b_.layers(), [&](const ViewSources::Layer& l) {
            return l.kind == layer.kind && l.layer == layer.layer;
        });
        if (other == sources_b_.layers().end()) continue;
        const std::int64_t heads = std::min(layer.sizes.heads, other->sizes.heads);
        layers_.push_back({.a = &layer, .b = &*other, .heads = heads});
        max_heads = std::max(max_heads, heads);
        keys.push_back(layer.kernel("view_distance"));
        keys.push_back(other->kernel("view_distance"));
    }
    gpu::prepare_pipelines(device_, keys);
    const std::uint64_t row_bytes = static_cast<std::uint64_t>(max_heads * max_slots_) * sizeof(float);
    weights_ =
        gpu::allocate(device_, std::max(default_weight_bytes, row_bytes), gpu::MemoryKind::device, "view.weights");
    result_ = gpu::allocate(device_, max_result_bytes, gpu::MemoryKind::readback, "view.distances");
    restart();
}

HeadDistances::~HeadDistances() { gpu::wait_idle(device_); }

void HeadDistances::restart() {
    for (LayerPair& layer : layers_) {
        layer.rows = 0, layer.means.assign(static_cast<std::size_t>(layer.heads), {});
        layer.kept.begin(layer.means);
    }
    ++restarts_;
}

// Keeps the rows of slots that have not changed; others are summed again.
void HeadDistances::take_slots(const RunComparison& comparison) {
    const SideSlots &a = comparison.slots(false), &b = comparison.slots(true);
    const bool same_run = run_ == comparison.runs();
    if (same_run && slots_a_.number == a.number) return;
    if (!same_run || !holds(slots_a_.own, a.own) || !holds(slots_b_.own, b.own) || slots_a_.source != a.source ||
        slots_b_.source != b.source)
        restart();
    run_ = comparison.runs(), slots_a_ = a, slots_b_ = b;
    tables_a_.write(a), tables_b_.write(b);
}

bool HeadDistances::counts(const LayerPair& pair, std::int64_t slot) const {
    const auto a = slots_a_.rows_of(pair.a->kind).token(slot), b = slots_b_.rows_of(pair.a->kind).token(slot);
    return a && b && (!pair.a->causal || std::min(*a, *b) >= first_rows_skipped);
}

void HeadDistances::collect() {
    if (!pending_) return;
    const Pending done = *std::exchange(pending_, std::nullopt);
    if (done.restarts != restarts_) return;
    LayerPair& layer = layers_[done.layer];
    std::vector<float> values(static_cast<std::size_t>(done.rows * layer.heads));
    std::memcpy(values.data(), result_.mapped(), values.size() * sizeof(float));
    for (std::int64_t row = 0; row < done.rows; ++row) {
        for (std::int64_t head = 0; head < layer.heads && counts(layer, done.first + row); ++head) {
            Mean& mean = at(layer.means, head);
            mean.sum += static_cast<double>(at(values, row * layer.heads + head));
            ++mean.rows;
        }
        layer.kept.note(done.first + row + 1, layer.means);
    }
}

bool HeadDistances::incomplete(const ShownRows& shown) const {
    return std::ranges::any_of(layers_, [&](const LayerPair& l) { return l.rows != shown.of(l.a->kind); });
}

// Some rows of the layer that lacks the most.
void HeadDistances::launch(const RunComparison& comparison, const ShownRows& shown) {
    const auto next =
        std::ranges::max_element(layers_, {}, [&](const LayerPair& l) { return shown.of(l.a->kind) - l.rows; });
    LayerPair& layer = *next;
    const AttentionKind kind = layer.a->kind;
    const std::int64_t columns = comparison.keys_of(kind), row_values = layer.heads * columns;
    const double each = static_cast<double>(row_values) * (layer.a->sizes.d + layer.b->sizes.d) / 2;
    const auto fit =
        std::min(static_cast<std::int64_t>(weights_.bytes() / sizeof(float)) / std::max<std::int64_t>(row_values, 1),
                 static_cast<std::int64_t>(max_result_bytes / sizeof(float)) / layer.heads);
    const auto wanted =
        std::max<std::int64_t>(static_cast<std::int64_t>(work_.room(Work::distances) / std::max(2 * each, 1.0)), 1);
    const std::int64_t rows = std::min({fit, wanted, shown.of(kind) - layer.rows});
    if (rows <= 0) return;
    for (const bool second : {false, true}) {
        const SlotTables& tables = second ? tables_b_ : tables_a_;
        const ViewSources::Layer& side = second ? *layer.b : *layer.a;
        work_.add(Work::distances, side.kernel("view_distance"),
                  params::ViewDistanceParams{.source = address_words(side.address),
                                             .weights = address_words(weights_.address()),
                                             .result = address_words(result_.address()),
                                             .row_slots = tables.rows_of(kind),
                                             .key_slots = tables.keys_of(kind),
                                             .head = 0,
                                             .heads = u32(layer.heads),
                                             .first = u32(layer.rows),
                                             .count = u32(rows),
                                             .columns = u32(columns),
                                             .second = second},
                  flat_grid(static_cast<std::uint64_t>(rows * layer.heads), device_.caps()),
                  each * static_cast<double>(rows));
    }
    pending_ = Pending{static_cast<std::size_t>(next - layers_.begin()), layer.rows, rows, restarts_};
    layer.rows += rows;
}

bool HeadDistances::update(const RunComparison& comparison, const ShownRows& shown, double seconds) {
    if (!work_.idle()) return true;
    collect();
    take_slots(comparison);
    for (LayerPair& layer : layers_) layer.kept.approach(layer.rows, layer.means, shown.of(layer.a->kind));
    if (!incomplete(shown)) return false;
    if (seconds <= 0) return true;
    work_.begin(seconds);
    launch(comparison, shown);
    work_.submit();
    return true;
}

void HeadDistances::finish(const RunComparison& comparison, const ShownRows& shown) {
    do work_.wait();
    while (update(comparison, shown, seconds_of_a_batch));
}

double HeadDistances::of(const HeadId& head) const {
    for (const LayerPair& layer : layers_) {
        if (layer.a->kind != head.kind || layer.a->layer != head.layer || head.head >= layer.heads) continue;
        const Mean& mean = at(layer.means, head.head);
        return mean.rows > 0 ? mean.sum / static_cast<double>(mean.rows) : std::numeric_limits<double>::quiet_NaN();
    }
    return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace vantage::view
