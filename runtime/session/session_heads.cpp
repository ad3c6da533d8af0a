// Heads one by one: the table of their numbers, and the lengths of their values before and after the output projection.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/fuse.h"
#include "runtime/session/head_weights.h"
#include "runtime/session/session_access.h"
#include "runtime/session/session_state.h"
#include "shaders/params/head_statistics.h"

namespace vantage {

HeadRow HeadTable::row(std::int64_t query, std::int64_t head) const {
    const std::int64_t queries = heads > 0 ? std::ssize(rows) / (heads * ROW_NUMBERS) : 0;
    if (query < 0 || query >= queries || head < 0 || head >= heads)
        throw usage_error("head statistics: query {} of head {}, but there are {} of {} heads", query, head, queries,
                          heads);
    const float* n = &at(rows, (query * heads + head) * ROW_NUMBERS);
    const auto weight = [&](int i) { return WeightOfKey{n[i], static_cast<std::int64_t>(n[i + 1])}; };
    return {.total = n[ROW_TOTAL],
            .visible = n[ROW_VISIBLE],
            .entropy = n[ROW_ENTROPY],
            .distance = n[ROW_DISTANCE],
            .near = n[ROW_NEAR],
            .self = n[ROW_SELF],
            .previous = n[ROW_PREVIOUS],
            .next = n[ROW_NEXT],
            .first = n[ROW_FIRST],
            .delimiters = n[ROW_DELIMITERS],
            .duplicate = n[ROW_DUPLICATE],
            .induction = n[ROW_INDUCTION],
            .repeated = n[ROW_REPEATED],
            .copied = n[ROW_COPIED],
            .offset = n[ROW_OFFSET],
            .squared = n[ROW_SQUARED],
            .largest = weight(ROW_LARGEST),
            .copy = weight(ROW_COPY),
            .links = {weight(ROW_LINKS), weight(ROW_LINKS + 2), weight(ROW_LINKS + 4), weight(ROW_LINKS + 6)}};
}

HeadKey HeadTable::key(std::int64_t key, std::int64_t head) const {
    const std::int64_t count = heads > 0 ? std::ssize(keys) / (heads * KEY_NUMBERS) : 0;
    if (key < 0 || key >= count || head < 0 || head >= heads)
        throw usage_error("head statistics: key {} of head {}, but there are {} of {} heads", key, head, count, heads);
    const auto number = [&](int i) { return at(keys, (i * heads + head) * count + key); };
    return {number(KEY_RECEIVED), number(KEY_SEEN), number(KEY_FAR_RECEIVED), number(KEY_FAR_SEEN)};
}
static_assert(delimiter_mark == MARK_DELIMITER && word_mark == MARK_WORD && ROW_LINK_COUNT == 4);

// W_O of a layer as rows [features of the heads, width of the model]: the matrix that the attention's output is
// multiplied with.
std::vector<float> Session::State::output_projection(std::int64_t layer, AttentionKind kind) const {
    Graph graph = core.graph_of(kind).copy();
    transpose_weights(graph);  // as the weights were loaded
    return read_features(core.model, graph, internal::output_projection(graph, layer, kind));
}

namespace {

/// W_hᵀ W_h of a head [Dv, Dv], W_h its rows of W_O: ‖W_h v‖² = vᵀ (W_hᵀ W_h) v costs Dv² a token, not Dv times the
/// width.
std::vector<double> gram(std::span<const float> rows, std::size_t dv) {
    const std::size_t width = rows.size() / dv;
    std::vector<double> products(dv * dv);
    for (std::size_t a = 0; a < dv; ++a)
        for (std::size_t b = 0; b <= a; ++b) {
            double sum = 0;
            for (std::size_t o = 0; o < width; ++o)
                sum += static_cast<double>(rows[a * width + o]) * static_cast<double>(rows[b * width + o]);
            products[a * dv + b] = products[b * dv + a] = sum;
        }
    return products;
}

}  // namespace

// The values that the keys of a layer have so far, [keys, key heads, Dv].
HostTensor Session::State::values(std::int64_t layer, AttentionKind kind) const {
    check_head({.layer = layer, .kind = kind});
    if (has_global_rows(layer))
        throw unsupported_error(core.model.info().name +
                                ": global tokens read values of their own, which are not told apart");
    core.runs.settle();
    const Value& value =
        *std::ranges::find(core.graph_of(kind).values(), model_names::values(layer, kind), &Value::name);
    const TensorType type{Shape{keys_of(kind), value.type.shape[1], value.type.shape[2]}, value.type.dtype};
    std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes()));
    gpu::download(core.states.device(), core.states.buffer(value.name), 0, bytes);
    return widen(type, bytes);
}

HostTensor SessionAccess::values(const Session& session, std::int64_t layer, AttentionKind kind) {
    const auto core = session.use();
    return session.state_->values(layer, kind);
}

Array Session::value_norms(std::int64_t layer, bool projected, AttentionKind kind) {
    const auto core = use();
    State& s = *state_;
    const HostTensor v = s.values(layer, kind);
    const auto tokens = static_cast<std::size_t>(s.keys_of(kind)),
               heads = static_cast<std::size_t>(core->model.info().heads_of(kind)),
               kv_heads = static_cast<std::size_t>(v.type.shape[1]), dv = static_cast<std::size_t>(v.type.shape[2]);
    const std::vector<float> w = projected ? s.output_projection(layer, kind) : std::vector<float>();
    std::vector<float> norms(tokens * heads);
    for (std::size_t head = 0; head < heads; ++head) {
        const std::vector<double> metric =
            projected ? gram(std::span(w).subspan(head * (w.size() / heads), w.size() / heads), dv)
                      : std::vector<double>();
        for (std::size_t token = 0; token < tokens; ++token) {
            const double* x = &v.data[(token * kv_heads + head / (heads / kv_heads)) * dv];
            double square = 0;
            for (std::size_t a = 0; a < dv; ++a)
                if (!projected)
                    square += x[a] * x[a];
                else
                    for (std::size_t b = 0; b < dv; ++b) square += x[a] * metric[a * dv + b] * x[b];
            norms[token * heads + head] = static_cast<float>(std::sqrt(std::max(square, 0.0)));
        }
    }
    return {Shape{static_cast<std::int64_t>(tokens), static_cast<std::int64_t>(heads)}, std::move(norms)};
}

}  // namespace vantage
