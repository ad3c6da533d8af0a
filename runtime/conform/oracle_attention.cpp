#include "runtime/conform/oracle_attention.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "vantage/ops.h"

namespace vantage::internal::oracle {

namespace {

/// Batch `b` of [B, H, n, D] as [n, H, D].
HostTensor tokens_first(const HostTensor& x, std::int64_t b) {
    const Shape& s = x.type.shape;
    const std::int64_t heads = s[1], n = s[2], width = s.rank() > 3 ? s[3] : 1;
    HostTensor y({s.rank() > 3 ? Shape{n, heads, width} : Shape{n, heads}, x.type.dtype});
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t d = 0; d < width; ++d)
                y[(i * heads + h) * width + d] = x[((b * heads + h) * n + i) * width + d];
    return y;
}

/// Attention weights, head by head, from q, k and the log-sum-exp of the file.
void add_weights(OracleReader& r, Calls& calls, const HostTensor& q, const HostTensor& k, const Attrs& options) {
    const std::int64_t batches = q.type.shape[0], heads = q.type.shape[1], n = q.type.shape[2], m = k.type.shape[2];
    const HostTensor lse = r.wanted("lse", {batches, heads, n}), p = r.wanted("p", {batches, heads, n, m});
    for (std::int64_t b = 0; b < batches; ++b)
        for (std::int64_t h = 0; h < heads; ++h) {
            Attrs attrs = options;
            attrs.erase("heads_first");
            attrs.erase("statistics");
            for (const auto& [key, value] : {std::pair{"head", h}, {"rows", n}, {"keys", m}, {"position", m - n}})
                attrs.set(key, value);
            OracleCall call =
                call_of("attention_weights", {tokens_first(q, b), tokens_first(k, b), tokens_first(lse, b)}, attrs);
            HostTensor want({Shape{n, m}, DType::f32});
            const auto first = p.data.begin() + static_cast<std::ptrdiff_t>((b * heads + h) * n * m);
            std::copy_n(first, n * m, want.data.begin());
            call.part = format("p of batch {}, head {}", b, h);
            expect_result(call, 0, "p", std::move(want));
            calls.push_back(std::move(call));
        }
}

Calls map_attention(OracleReader& r) {
    const HostTensor q = r.floats("q"), k = r.floats("k");
    Attrs attrs{{"heads_first", true}, {"causal", r.flag("causal", false)}};
    if (const double scale = r.number("scale", 0); scale != 0) attrs.set("scale", scale);
    if (const double cap = r.number("softcap", 0); cap != 0) attrs.set("softcap", cap);
    for (const char* name : {"window_left", "window_right", "dilation", "stride", "summary_keys", "prefix_len",
                             "global_tokens", "block_size"})
        if (const std::int64_t value = r.integer(name, -1); value >= 0) attrs.set(name, value);
    std::vector<HostTensor> inputs{q, k, r.floats("v"), {}};
    for (const char* name : {"kv_len", "mask", "alibi_slopes", "block_mask", "segment_ids", "sinks"})
        inputs.push_back(r.has(name) ? r.exact(name) : HostTensor());
    if (r.wants("entropy")) attrs.set("statistics", true);
    OracleCall call = call_of("attention", std::move(inputs), attrs);
    expect_result(r, call, 0, "o");
    expect_if_there(r, call, 2, "entropy");
    expect_if_there(r, call, 1, "lse");
    Calls calls{call};
    // weights of a row do not depend on the number of keys: only the log-sum-exp does
    if (r.wants("p") && r.wants("lse") && !r.has("kv_len") && q.type.shape.rank() == 4)
        add_weights(r, calls, q, k, attrs);
    if (r.wants("p") && r.wants("entropy")) {
        OracleCall rows = call_of("entropy", {r.wanted("p")}, {});
        expect_result(r, rows, 0, "entropy");
        calls.push_back(std::move(rows));
    }
    return calls;
}

/// Products of queries or keys with a table of relative keys, as attention takes them.
std::vector<double> relative_products(const HostTensor& rows, const HostTensor& table) {
    const Shape& s = rows.type.shape;
    const double scale = 1 / std::sqrt(static_cast<double>(s[2]));
    return made_by("matmul", {reshaped(rows, {s[0] * s[1], s[2]}), table}, {{"transpose_b", true}, {"alpha", scale}})
        .data;
}

/// Step by step: attention with relative keys, its weights by distance, and these times the relative values.
Calls map_relative_attention(OracleReader& r) {
    const HostTensor q = r.floats("q"), k = r.floats("k"), table = r.exact("relative_keys"),
                     values = r.exact("relative_values"), weights = r.wanted("weights"),
                     plain = r.wanted("o_without_values");
    std::vector<double> bias = relative_products(q, table);
    const bool both = r.has("relative_queries");
    if (both) std::ranges::copy(relative_products(k, r.exact("relative_queries")), std::back_inserter(bias));
    Attrs attrs{{"causal", r.flag("causal", false)},
                {"position_bias", both ? "relative_both" : "relative"},
                {"reach", table.type.shape[0] / 2}};
    HostTensor list({Shape{std::ssize(bias)}, DType::f32});
    list.data = std::move(bias);
    OracleCall attended = call_of("attention", {q, k, r.floats("v"), {}, {}, {}, list}, attrs);
    expect_result(attended, 0, "o_without_values", plain);
    expect_result(r, attended, 1, "lse");
    attrs.set("largest_distance", values.type.shape[0] / 2);
    OracleCall by_distance = call_of("distance_weights", {q, k, r.wanted("lse"), {}, list}, attrs);
    by_distance.part = "weights";
    expect_result(by_distance, 0, "weights", weights);
    const std::int64_t rows = plain.type.shape[0] * plain.type.shape[1];
    OracleCall moved = call_of(
        "matmul",
        {reshaped(weights, {rows, values.type.shape[0]}), values, {}, reshaped(plain, {rows, values.type.shape[1]})},
        {});
    moved.part = "relative values";
    expect_result(r, moved, 0, "o");
    return {attended, by_distance, moved};
}

Calls map_linear_attention(OracleReader& r) {
    const Attrs attrs{{"heads_first", true},
                      {"causal", r.flag("causal", false)},
                      {"feature", r.text("feature", "elu+1")},
                      {"normalise", r.flag("normalise", true)},
                      {"eps", r.number("eps", 0)}};
    return one(r, call_of("linear_attention", {r.floats("q"), r.floats("k"), r.floats("v")}, attrs), "o",
               {"state_kv", "state_k"});
}

/// Columns [first, first + count) of a matrix.
HostTensor columns_of(const HostTensor& matrix, std::int64_t first, std::int64_t count) {
    const std::int64_t rows = matrix.type.shape[0], cols = matrix.type.shape[1];
    HostTensor part({Shape{rows, count}, matrix.type.dtype});
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < count; ++j) part[i * count + j] = matrix[i * cols + first + j];
    return part;
}

/// Step by step: scores, weights from the scores of the file, context from the weights of the file.
Calls from_scores(OracleReader& r, OracleCall scores, const HostTensor& values) {
    expect_result(r, scores, 0, "scores");
    OracleCall weights = call_of("softmax", {r.wanted("scores")}, {}),
               context = call_of("matmul", {r.wanted("p"), values}, {});
    weights.part = "p", context.part = "context";
    expect_result(r, weights, 0, "p");
    expect_result(r, context, 0, "context");
    return {scores, weights, context};
}

Calls map_additive_attention(OracleReader& r) {
    const Attrs nt{{"transpose_b", true}};
    const HostTensor q = made_by("matmul", {r.floats("q"), r.floats("wq")}, nt),
                     k = made_by("matmul", {r.floats("k"), r.floats("wk"), r.floats("b")}, nt);
    return from_scores(r, call_of("additive_scores", {q, k, r.floats("w")}, {}), r.floats("v"));
}

Calls map_luong_attention(OracleReader& r) {
    const std::string score = r.text("score", "dot");
    const HostTensor q = r.floats("q"), k = r.floats("k");
    const Attrs nt{{"transpose_b", true}};
    if (score == "dot") return from_scores(r, call_of("matmul", {q, k}, nt), k);
    const HostTensor w = r.floats("w");
    if (score == "general") return from_scores(r, call_of("matmul", {made_by("matmul", {q, w}, {}), k}, nt), k);
    if (score != "concat") throw unsupported_error("score " + score + " of luong_attention");
    const std::int64_t dq = q.type.shape[-1], dk = k.type.shape[-1];
    if (w.type.shape.rank() != 2 || w.type.shape[1] != dq + dk)
        throw unsupported_error("w as {}, wanted {} columns", w.type.text(), dq + dk);
    return from_scores(r,
                       call_of("additive_scores",
                               {made_by("matmul", {q, columns_of(w, 0, dq)}, nt),
                                made_by("matmul", {k, columns_of(w, dq, dk)}, nt), r.floats("v")},
                               {}),
                       k);
}

Calls map_alibi_slopes(OracleReader& r) {
    r.f32_only();
    const std::int64_t heads = r.integer("heads", 1);
    r.require_table(static_cast<double>(heads), 1);
    return one(r, host_call("alibi_slopes", host_tensor({heads}, alibi_slopes(heads))), "slopes");
}

Calls map_t5_buckets(OracleReader& r) {
    r.f32_only();
    const std::int64_t n = r.integer("q_len", 1), m = r.integer("k_len", 1);
    r.require_table(static_cast<double>(n), static_cast<double>(m));
    const std::vector<std::int32_t> buckets = t5_relative_buckets(
        n, m, r.flag("bidirectional", true), r.integer("num_buckets", 32), r.integer("max_distance", 128));
    return one(r, host_call("t5_relative_buckets", host_tensor({n, m}, buckets, DType::i32)), "bucket");
}

}  // namespace

const OracleMaps& attention_maps() {
    static const OracleMaps maps = {
        {"attention", map_attention},
        {"relative_attention", map_relative_attention},
        {"linear_attention", map_linear_attention},
        {"additive_attention", map_additive_attention},
        {"luong_attention", map_luong_attention},
        {"alibi_slopes", map_alibi_slopes},
        {"t5_relative_bucket", map_t5_buckets},
    };
    return maps;
}

}  // namespace vantage::internal::oracle
