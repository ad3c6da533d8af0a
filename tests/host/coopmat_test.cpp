// Kernels on matrix units down to their launch parameters, on made-up devices with other shapes than the one that the
// tests can run on. What a launch says is held against an emulation of how matmul/coopmat.comp and
// attention/coopmat.comp share out the work, and lib/attention_matrix_tiles.glsl.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/version.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/attention_backward.h"
#include "runtime/ops/coopmat.h"
#include "runtime/ops/expert_linear.h"
#include "runtime/ops/matmul.h"
#include "shaders/params/attention.h"
#include "shaders/params/attention_backward.h"
#include "shaders/params/experts.h"
#include "shaders/params/matmul.h"
#include "tests/host/made_up_devices.h"

using namespace vantage;
using namespace vantage::test;

namespace {

std::vector<Caps> devices() {
    const auto halves = [](std::uint32_t m, std::uint32_t n, std::uint32_t k) {
        return CooperativeMatrix{m, n, k, "f16", "f16", "f32"};
    };
    return {matrix_units(halves(16, 16, 16), {64, 32, 64}, 65536),  // RDNA3 and 4
            matrix_units(halves(16, 16, 16), {32, 32, 32}, 49152),  // GeForce
            matrix_units(halves(16, 8, 16), {32, 32, 32}, 49152),   //
            matrix_units(halves(8, 8, 16), {32, 8, 32}, 49152),     // Arc A
            matrix_units(halves(8, 16, 16), {32, 16, 32}, 49152),   // Arc B
            matrix_units(halves(8, 8, 8), {32, 32, 32}, 32768),     // more lanes than a slice has octets
            matrix_units(halves(8, 8, 8), {8, 8, 8}, 32768)};       // lavapipe
}

const Kernel& kernel_of(const OpDef& op, std::string_view name) {
    return *std::find_if(op.kernels.begin(), op.kernels.end(),
                         [&](const Kernel& kernel) { return kernel.name == name; });
}
const Kernel& coopmat(const OpDef& op) { return kernel_of(op, "coopmat"); }

OpCall call_with(const OpDef& op, Attrs attrs, const std::vector<TensorType>& inputs) {
    OpCall call{.op = &op, .attrs = std::move(attrs), .inputs = {}, .outputs = {}};
    for (const TensorType& type : inputs) call.inputs.emplace_back(type);
    call.inputs.resize(call.op->operands.size());
    call.outputs = call.op->infer(call);
    return call;
}

OpCall product(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, DType a_and_c = DType::f16) {
    return call_with(matmul_op, {{"transpose_a", ta}, {"transpose_b", tb}, {"f16_operands", a_and_c == DType::f32}},
                     {{ta ? Shape{k, m} : Shape{m, k}, a_and_c}, {tb ? Shape{n, k} : Shape{k, n}, DType::f16}});
}

template <class Params>
Params params_of(const Launch& launch) {
    Params params;
    REQUIRE(launch.params.size() == sizeof params);
    std::memcpy(&params, launch.params.data(), sizeof params);
    return params;
}

/// Whole subgroups of a size that the device has, and as many as the kernel is told.
void check_lanes(const Launch& launch, std::uint32_t subgroups, const Caps& caps) {
    CHECK(launch.subgroup_size >= caps.min_subgroup_size);
    CHECK(launch.subgroup_size <= caps.max_subgroup_size);
    CHECK(launch.spec.at(0) == subgroups * launch.subgroup_size);
    CHECK(launch.spec.at(0) <= caps.max_workgroup_invocations);
    for (std::size_t i = 0; i < 3; ++i) CHECK(launch.groups[i] <= caps.max_workgroup_count[i]);
}

/// How often each of `count` rows (or columns) is computed by `groups` workgroups of `subgroups` with `repeat` matrices
/// of `side`.
bool covers_once(std::uint32_t count, std::uint32_t groups, std::uint32_t subgroups, std::uint32_t repeat,
                 std::uint32_t side) {
    std::vector<int> times(count, 0);
    for (std::uint32_t group = 0; group < groups; ++group) {
        bool used = false;
        for (std::uint32_t i = 0; i < subgroups * repeat * side; ++i) {
            const std::uint32_t at = group * subgroups * repeat * side + i;
            if (at < count) ++times[at], used = true;
        }
        if (!used) return false;
    }
    return std::all_of(times.begin(), times.end(), [](int n) { return n == 1; });
}

void check_product(const OpCall& call, const Caps& caps, const std::string& kernel) {
    const LaunchPlan plan = kernel_of(*call.op, kernel).launch(call, caps);
    const Launch& launch = plan.launches.front();
    const auto p = params_of<params::MatmulParams>(launch);
    const auto c = params::MatmulCoopmatConstants::of(launch.spec);
    const std::uint32_t m = c.M, n = c.N, k = c.K, subgroups_m = c.SUBGROUPS_M, subgroups_n = c.SUBGROUPS_N,
                        repeat_m = c.REPEAT_M, repeat_n = c.REPEAT_N, depth = c.DEPTH, buffers = c.BUFFERS;
    check_lanes(launch, subgroups_m * subgroups_n, caps);
    CHECK(covers_once(p.m, launch.groups[1], subgroups_m, repeat_m, m));
    CHECK(covers_once(p.n, launch.groups[0], subgroups_n, repeat_n, n));
    CHECK(depth % k == 0);
    // every k in one part, slices never across two; lines begin on vectors where the kernel believes so
    CHECK((p.k_splits - 1) * p.k_per_split < p.k);
    CHECK(p.k_splits * p.k_per_split >= p.k);
    if (p.k_splits > 1) CHECK(p.k_per_split % depth == 0);
    CHECK(launch.groups[2] == p.batches * p.k_splits);
    CHECK(plan.launches.size() == (p.k_splits > 1 ? 2 : 1));
    if (p.k_splits > 1) CHECK(plan.scratch.at(0) == std::uint64_t{4} * p.k_splits * p.batches * p.m * p.n);
    CHECK((c.STEP_A == 1 || (c.TRANSPOSE_A != 0 ? p.m : p.k) % 8 == 0));
    CHECK((c.STEP_B == 1 || (c.TRANSPOSE_B != 0 ? p.k : p.n) % 8 == 0));
    // shared memory: padded lines of both operands, or the sums of each subgroup's M rows
    const std::uint32_t rows = subgroups_m * repeat_m * m, cols = subgroups_n * repeat_n * n;
    const auto lines = [&](bool along_k, std::uint32_t side) {
        return along_k ? side * (depth + 8) * 2 : depth * (side + 8) * 2;
    };
    CHECK(buffers * (lines(c.TRANSPOSE_A == 0, rows) + lines(c.TRANSPOSE_B != 0, cols)) <= caps.max_shared_memory);
    CHECK(subgroups_m * subgroups_n * m * (repeat_n * n + 4) * 4 <= caps.max_shared_memory);
    // more sums a lane spilled (docs/performance.md)
    CHECK(m * n * repeat_m * repeat_n / launch.subgroup_size <= 64);
}

void check_attention(const OpCall& call, const Caps& caps, const std::string& kernel) {
    const LaunchPlan plan = kernel_of(*call.op, kernel).launch(call, caps);
    const Launch& launch = plan.launches.front();
    const auto p = params_of<params::AttentionParams>(launch);
    const auto c = params::AttentionCoopmatConstants::of(launch.spec);
    const std::uint32_t d = c.D, dv = c.DV, stripes = c.STRIPES, keys = c.KEYS, m = c.M, n = c.N, k = c.K,
                        shares = kernel == "coopmat2" ? 1 : c.SHARES;  // coopmat2 has no such constant
    check_lanes(launch, stripes * shares, caps);
    const std::uint32_t rows = stripes * m, blocks = launch.groups[0] / (p.batch * p.kv_heads);
    CHECK(covers_once(p.n * p.heads / p.kv_heads, blocks, stripes, 1, m));
    CHECK(keys % (shares * n) == 0);  // a subgroup's share of the scores is whole matrices
    CHECK(keys % k == 0);
    const std::uint32_t lanes_of_row = c.lanes / rows;
    CHECK(lanes_of_row * rows == c.lanes);
    CHECK(launch.subgroup_size % lanes_of_row == 0);  // a row's lanes are in one subgroup
    CHECK(keys % (8 * lanes_of_row) == 0);
    const auto padded = [](std::uint32_t width, std::uint32_t to) { return (width + to - 1) / to * to; };
    const std::uint32_t width = padded(d, k), width_v = padded(dv, shares * n);
    CHECK(rows * (width + 8) * 2 + keys * (std::max(width, width_v) + 8) * 2 + rows * (keys + 4) * 4 +
              rows * (n + 4) * 4 <=
          caps.max_shared_memory);
    const bool in_registers = kernel == "coopmat2";  // scores never leave a subgroup, and sums become an operand
    if (in_registers) CHECK((shares == 1 && n == k));
    CHECK(m * width_v / shares / launch.subgroup_size <= (m >= 16 || in_registers ? 64 : 16));
}

// Subgroups' matrices of the products are all of a tile's, in whole rows or equal parts of a row; slices are whole
// matrices, and each lane loads as many of their vectors.
void check_backward(const OpCall& call, const Caps& caps) {
    const LaunchPlan plan = coopmat(*call.op).launch(call, caps);
    const auto tile = std::uint32_t{64};
    for (const std::size_t pass : {1U, 2U}) {  // after the one of delta: by rows, by keys
        const Launch& launch = plan.launches.at(pass);
        const auto p = params_of<params::AttentionBackwardParams>(launch);
        const auto c = params::AttentionBackwardMatrixConstants::of(launch.spec);
        const std::uint32_t m = c.M, n = c.N, k = c.K, slice = c.SLICE, subgroups = c.SUBGROUPS,
                            width = std::max(c.D, c.DV);
        check_lanes(launch, subgroups, caps);
        CHECK(c.lanes == 256);
        CHECK(launch.groups[0] == p.batch * (pass == 1 ? p.heads * ((p.n + 63) / 64) : p.kv_heads * ((p.m + 63) / 64)));
        CHECK((tile % m == 0 && tile % n == 0 && slice % k == 0 && tile % slice == 0));
        const std::uint32_t matrices = (tile / m) * (tile / n) / subgroups;
        CHECK(matrices * subgroups == (tile / m) * (tile / n));
        CHECK((matrices % (tile / n) == 0 || (tile / n) % matrices == 0));
        CHECK(2 * tile * slice / 8 % c.lanes == 0);
        const std::uint32_t padded = (width + n - 1) / n * n, rows_of_tile = tile / m;
        for (const std::uint32_t features : {c.D, c.DV}) {  // sums: each matrix once, and B as it was loaded
            const std::uint32_t columns = (features + n - 1) / n * n,
                                each = (rows_of_tile * (padded / n) + subgroups - 1) / subgroups,
                                loaded = rows_of_tile % each == 0   ? each
                                         : each % rows_of_tile == 0 ? rows_of_tile
                                                                    : 1;
            std::map<std::pair<std::uint32_t, std::uint32_t>, int> times;
            for (std::uint32_t subgroup = 0; subgroup < subgroups; ++subgroup)
                for (std::uint32_t i = 0, column = 0; i < each; ++i) {
                    const std::uint32_t matrix = subgroup * each + i, own = matrix / rows_of_tile * n;
                    if (own >= columns) continue;
                    if (i % loaded == 0) column = own;
                    CHECK(column == own);
                    ++times[{matrix % rows_of_tile, own}];
                }
            CHECK(times.size() == rows_of_tile * (columns / n));
            CHECK(std::ranges::all_of(times, [](const auto& one) { return one.second == 1; }));
        }
        CHECK(std::max(2 * tile * (slice + 8) * 2, slice * (padded + 8) * 2) + tile * (tile + 4) * 4 +
                  tile * (tile + 8) * 2 <=
              caps.max_shared_memory);
    }
}

}  // namespace

TEST_CASE("matrix products on matrix units: every cell once, within a device's limits", "[graph][coopmat]") {
    for (const Caps& caps : devices())
        for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{9, 1, 1},
                                                                              {17, 33, 29},
                                                                              {64, 64, 64},
                                                                              {130, 70, 48},
                                                                              {512, 2304, 768},
                                                                              {33, 256, 4096},
                                                                              {4096, 4096, 4096}})
            for (const bool ta : {false, true})
                for (const bool tb : {false, true}) {
                    const OpCall call = product(m, n, k, ta, tb);
                    INFO(caps.name << ", " << m << "x" << n << "x" << k << (ta ? " T" : " N") << (tb ? "T" : "N"));
                    REQUIRE(coopmat(*call.op).fits(call, caps));
                    check_product(call, caps, "coopmat");
                    // sums that leave from registers do so one by one: f32 alone
                    CHECK_FALSE(kernel_of(*call.op, "coopmat2").fits(call, caps));
                    const OpCall in_f32 = product(m, n, k, ta, tb, DType::f32);
                    CHECK(kernel_of(*call.op, "coopmat2").fits(in_f32, caps));
                    check_product(in_f32, caps, "coopmat2");
                }
}

namespace {

/// Devices with matrices of bytes beside those of halves, and whether bytes pay there.
std::vector<std::pair<Caps, bool>> devices_with_bytes() {
    const std::vector<Caps> all = devices();
    std::vector<std::pair<Caps, bool>> list;
    const auto add = [&](std::size_t device, CooperativeMatrix bytes, bool pays) {
        Caps caps = all.at(device);
        caps.int8 = caps.integer_dot = true;
        caps.cooperative_matrices.front() = std::move(bytes);
        list.emplace_back(std::move(caps), pays);
    };
    const auto bytes = [](std::uint32_t m, std::uint32_t n, std::uint32_t k) {
        return CooperativeMatrix{m, n, k, "s8", "s8", "s32"};
    };
    add(0, bytes(16, 16, 16), false);  // RDNA3: at the rate of halves
    add(0, bytes(16, 16, 16), true);   // RDNA4
    list.back().first.cooperative_matrices.push_back({16, 16, 16, "e4m3", "e4m3", "f32"});
    add(1, bytes(16, 16, 32), true);  // GeForce
    add(2, bytes(16, 8, 32), true);
    add(3, bytes(8, 8, 32), false);  // Arc A: few cells
    add(4, bytes(8, 16, 32), true);  // Arc B
    add(6, bytes(8, 8, 8), false);   // lavapipe
    return list;
}

OpCall product_of_bytes(std::int64_t m, std::int64_t n, std::int64_t k, DType weights, bool leave = true) {
    return call_with(matmul_op, {{"transpose_b", true}, {"f16_operands", true}, {"int8_operands", leave}},
                     {{Shape{m, k}, DType::f32}, {Shape{n, k}, weights}});
}

/// Emulates lib/matrix_bytes.glsl: the lanes that put the blocks of lines into shared memory, and where matrices of rows
/// and columns begin there. Each matrix must find bytes s K … s K + K - 1 of the blocks of its own lines.
void check_bytes_read(const params::MatmulCoopmatConstants& c, std::uint32_t lanes) {
    const std::uint32_t m = c.M, n = c.N, k = c.K, tile_m = c.SUBGROUPS_M * c.REPEAT_M * m,
                        tile_n = c.SUBGROUPS_N * c.REPEAT_N * n, lines = tile_m + tile_n;
    const std::uint32_t steps = params::QUANT_BLOCK / k, step_vectors = k < 16 ? 1 : k / 16,
                        stride = steps * step_vectors + 1, fetches = (lines + lanes - 1) / lanes;
    using Byte = std::pair<std::uint32_t, std::uint32_t>;  // line of the tile, element of its block
    const Byte nothing{~0u, 0};
    std::vector<Byte> shared(std::size_t{c.BUFFERS} * lines * stride * 16, nothing);
    std::vector<int> written(lines, 0);
    const std::uint32_t slot = c.BUFFERS - 1;
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
        for (std::uint32_t f = 0; f < fetches; ++f) {
            const std::uint32_t own = lane + f * lanes;
            if (own >= lines) continue;
            ++written[own];
            const std::uint32_t at = (slot * lines + own) * stride * 16, each = k < 16 ? 8 : 16;
            for (std::uint32_t i = 0; i < params::QUANT_BLOCK; ++i) shared.at(at + i / each * 16 + i % each) = {own, i};
        }
    CHECK(std::ranges::all_of(written, [](int times) { return times == 1; }));
    bool right = true;
    const auto look = [&](std::uint32_t first, std::uint32_t count) {  // the matrices of `count` lines from `first` on
        const std::uint32_t begin = (slot * lines + first) * stride;
        for (std::uint32_t s = 0; s < steps; ++s)
            for (std::uint32_t line = 0; line < count; ++line)
                for (std::uint32_t i = 0; i < k; ++i)
                    right = right && shared.at((begin + s * step_vectors + line * stride) * 16 + i) ==
                                         Byte{first + line, s * k + i};
    };
    for (std::uint32_t i = 0; i < c.SUBGROUPS_M * c.REPEAT_M; ++i) look(i * m, m);
    for (std::uint32_t j = 0; j < c.SUBGROUPS_N * c.REPEAT_N; ++j) look(tile_m + j * n, n);
    CHECK(right);
}

}  // namespace

TEST_CASE("products of bytes on matrix units: every cell once, within a device's limits", "[graph][coopmat]") {
    for (const auto& [caps, pays] : devices_with_bytes())
        for (const auto& [m, n, k] :
             std::vector<std::array<std::int64_t, 3>>{{9, 1, 32}, {17, 33, 96}, {130, 70, 4064}, {512, 2304, 768}})
            for (const DType weights : {DType::q8_0, DType::q4_0}) {
                INFO(caps.name << ", " << m << "x" << n << "x" << k);
                const Kernel& kernel = kernel_of(matmul_op, "coopmat_int8");
                const OpCall call = product_of_bytes(m, n, k, weights);
                REQUIRE(kernel.fits(call, caps));
                CHECK_FALSE(kernel.fits(product_of_bytes(m, n, k, weights, false), caps));
                const LaunchPlan plan = kernel.launch(call, caps);
                const Launch& launch = plan.launches.at(1);  // after the one that rounds
                const auto p = params_of<params::MatmulParams>(launch);
                const auto c = params::MatmulCoopmatConstants::of(launch.spec);
                const std::uint32_t rows = c.SUBGROUPS_M * c.REPEAT_M * c.M, cols = c.SUBGROUPS_N * c.REPEAT_N * c.N;
                check_lanes(launch, c.SUBGROUPS_M * c.SUBGROUPS_N, caps);
                CHECK(covers_once(p.m, launch.groups[1], c.SUBGROUPS_M, c.REPEAT_M, c.M));
                CHECK(covers_once(p.n, launch.groups[0], c.SUBGROUPS_N, c.REPEAT_N, c.N));
                CHECK(params::QUANT_BLOCK % c.K == 0);
                if (p.k_splits > 1) CHECK(p.k_per_split % params::QUANT_BLOCK == 0);
                CHECK(p.k_splits * p.k_per_split >= p.k);
                CHECK((p.k_splits - 1) * p.k_per_split < p.k);
                // shared memory: the bytes of a block of each line, padded, or the sums of M rows of each subgroup;
                // and the scales of the blocks
                const std::uint32_t bytes = c.BUFFERS * (rows + cols) * ((c.K < 16 ? 64 : 32) + 16),
                                    sums = c.SUBGROUPS_M * c.SUBGROUPS_N * c.M * (c.REPEAT_N * c.N + 4) * 4;
                CHECK(std::max(bytes, sums) + c.BUFFERS * (rows + cols) * 4 <= caps.max_shared_memory);
                check_bytes_read(c, launch.spec.at(0));
            }
}

TEST_CASE("bytes are multiplied on matrix units where those take more of them than of halves", "[graph][coopmat]") {
    if (!has_family("coopmat")) return;
    for (const auto& [caps, pays] : devices_with_bytes()) {
        INFO(caps.name << ", bytes " << caps.cooperative_matrices.front().k << " long");
        const auto chosen = [&, &device = caps](bool leave) {
            return std::string(choose_kernel(product_of_bytes(512, 2304, 768, DType::q8_0, leave), device)->name);
        };
        CHECK(chosen(true) == (pays ? "coopmat_int8" : "coopmat"));
        CHECK(chosen(false) == "coopmat");
    }
    Caps no_floats = devices_with_bytes()[2].first;  // of this shape: sums cannot become floats
    no_floats.cooperative_matrices.back().c = "f16";
    CHECK_FALSE(kernel_of(matmul_op, "coopmat_int8").fits(product_of_bytes(512, 2304, 768, DType::q8_0), no_floats));
}

TEST_CASE("attention on matrix units: every row once, within a device's limits", "[graph][coopmat]") {
    for (const Caps& caps : devices())
        for (const std::int64_t d : {17, 24, 64, 80, 128, 256})
            for (const auto& [n, heads] : std::vector<std::array<std::int64_t, 2>>{{9, 1}, {37, 4}, {512, 8}}) {
                OpCall call = call_with(
                    attention_op, {{"causal", true}},
                    {{Shape{n, heads, d}, DType::f32}, {Shape{600, 1, d}, DType::f16}, {Shape{600, 1, d}, DType::f16}});
                INFO(caps.name << ", width " << d << ", " << n << " queries, " << heads << " heads on one");
                CHECK_FALSE(coopmat(*call.op).fits(call, caps));  // not without leave
                call.attrs.set("f16_operands", true);
                const bool fits = coopmat(*call.op).fits(call, caps);
                CHECK((fits || d > 128));  // 32 KiB do not hold the widest
                if (fits) check_attention(call, caps, "coopmat");
                const Kernel& in_registers = kernel_of(*call.op, "coopmat2");
                CHECK_FALSE(eligible(in_registers, call, caps));
                if (in_registers.fits(call, caps)) check_attention(call, caps, "coopmat2");
            }
}

TEST_CASE("gradients of attention on matrix units: every tile once, within a device's limits", "[graph][coopmat]") {
    for (const Caps& caps : devices())
        for (const std::int64_t d : {24, 64, 80, 128, 256})
            for (const std::int64_t n : {9, 130, 512}) {
                const TensorType q{Shape{n, 4, d}, DType::f32}, k{Shape{600, 2, d}, DType::f32},
                    v{Shape{600, 2, d % 64 + 32}, DType::f32}, o{Shape{n, 4, d % 64 + 32}, DType::f32};
                OpCall call = call_with(attention_backward_op, {{"causal", true}},
                                        {o, q, k, v, o, TensorType{Shape{n, 4}, DType::f32}});
                INFO(caps.name << ", width " << d << ", " << n << " queries");
                CHECK_FALSE(coopmat(*call.op).fits(call, caps));  // not without leave
                call.attrs.set("f16_operands", true);
                CHECK(coopmat(*call.op).fits(call, caps) == (d <= 128));
                if (d > 128) continue;
                check_backward(call, caps);
                CHECK((std::string(choose_kernel(call, caps)->name) == "coopmat") ==
                      (has_family("coopmat") && f16_matrix(caps)->m >= 16));
                call.attrs.set("bias_gradient", true);  // its sums need a lane of their own
                CHECK_FALSE(coopmat(*call.op).fits(call, caps));
            }
}

TEST_CASE("attention keeps its scores in registers where matrices can be reduced and converted", "[graph][coopmat]") {
    const auto chosen = [](Caps caps, std::int64_t d) {
        caps.cooperative_matrix2 = true;
        return std::string(choose_kernel(call_with(attention_op, {{"causal", true}, {"f16_operands", true}},
                                                   {{Shape{512, 8, d}, DType::f32},
                                                    {Shape{512, 8, d}, DType::f16},
                                                    {Shape{512, 8, d}, DType::f16}}),
                                         caps)
                               ->name);
    };
    const char* in_registers = has_family("coopmat2") ? "coopmat2" : "coopmat";
    const std::vector<Caps> all = devices();
    CHECK(chosen(all[1], 64) == in_registers);
    CHECK(chosen(all[1], 128) == in_registers);
    CHECK(chosen(all[1], 256) == "coopmat");  // too many sums for one subgroup
    CHECK(chosen(all[2], 64) == "coopmat");   // 16 x 8 sums are no 16 x 16 operand
}

TEST_CASE("without matrix units halves are multiplied by leave, where that gains", "[graph][coopmat]") {
    Caps caps = graphics_card();
    const auto chosen = [&](DType weights, bool leave) {
        const OpCall call = call_with(matmul_op, {{"transpose_b", true}, {"f16_operands", leave}},
                                      {{Shape{64, 64}, DType::f32}, {Shape{64, 64}, weights}});
        return std::string(choose_kernel(call, caps)->name);
    };
    CHECK(chosen(DType::f16, true) == "tiled");  // subgroups of 32
    caps.subgroup_size = caps.max_subgroup_size = 64;
    CHECK(chosen(DType::f16, true) == (has_family("fp16") ? "fp16" : "tiled"));
    CHECK(chosen(DType::f16, false) == "tiled");
    CHECK(chosen(DType::f32, true) == "tiled");
    caps.float_dot = true;  // whatever the size of subgroups
    for (const std::uint32_t lanes : {32u, 64u}) {
        caps.subgroup_size = caps.max_subgroup_size = lanes;
        CHECK((chosen(DType::f16, true) == "float_dot") == (has_family("float_dot") && has_family("fp16")));
        CHECK(chosen(DType::f16, false) == "tiled");
    }
    caps.fp16 = false;
    CHECK(chosen(DType::f16, true) == "tiled");
}

namespace {
OpCall call_of_experts(DType x, DType w, Attrs attrs, std::int64_t k, std::int64_t rows) {
    const std::int64_t experts = 4, n = 72;
    const TensorType numbers{Shape{rows}, DType::i32};
    const Shape matrices = attrs.flag("transpose_w") ? Shape{experts, n, k} : Shape{experts, k, n};
    return call_with(expert_linear_op, std::move(attrs),
                     {{Shape{rows, k}, x},
                      {matrices, w},
                      {Shape{experts, n}, DType::f32},
                      {Shape{rows, 1}, DType::i32},
                      numbers,
                      numbers,
                      {Shape{experts + 2}, DType::i32}});
}
}  // namespace

TEST_CASE("experts in bytes run on matrix units where products do", "[graph][coopmat]") {
    const Kernel& kernel = kernel_of(expert_linear_op, "coopmat_int8");
    const auto of = [](DType w, bool leave, std::int64_t rows, std::int64_t k = 96) {
        return call_of_experts(DType::f32, w, {{"transpose_w", true}, {"f16_operands", true}, {"int8_operands", leave}},
                               k, rows);
    };
    for (const auto& [caps, pays] : devices_with_bytes())
        for (const std::int64_t rows : {9, 200, 2000})
            for (const DType w : {DType::q8_0, DType::q4_0}) {
                INFO(caps.name << ", " << rows << " choices");
                REQUIRE(kernel.fits(of(w, true, rows), caps));
                CHECK_FALSE(kernel.fits(of(w, false, rows), caps));
                const LaunchPlan plan = kernel.launch(of(w, true, rows), caps);
                const auto c = params::ExpertLinearCoopmatConstants::of(plan.launches.at(1).spec);
                check_lanes(plan.launches[1], c.SUBGROUPS_M * c.SUBGROUPS_N, caps);
                if (rows > 9 && has_family("coopmat"))
                    CHECK((std::string(choose_kernel(of(w, true, rows), caps)->name) == "coopmat_int8") == pays);
            }
    CHECK_FALSE(kernel.fits(of(DType::f16, true, 200), devices_with_bytes()[2].first));
}

TEST_CASE("experts of many rows run on matrix units by the same rules", "[graph][coopmat]") {
    const auto takes = [&](DType x, DType w, bool leave, std::int64_t k, std::int64_t rows,
                           bool transposed = true) -> bool {
        const OpCall call = call_of_experts(x, w, {{"transpose_w", transposed}, {"f16_operands", leave}}, k, rows);
        std::vector<bool> all;
        for (const Caps& caps : devices()) {
            const bool fits = coopmat(*call.op).fits(call, caps);
            if (fits) {
                const LaunchPlan plan = coopmat(*call.op).launch(call, caps);
                check_lanes(plan.launches.at(0), plan.launches[0].spec.at(8) * plan.launches[0].spec.at(9), caps);
            }
            const bool chosen = std::string(choose_kernel(call, caps)->name) == "coopmat";
            CHECK(chosen == (fits && rows > 8 && has_family("coopmat")));
            all.push_back(fits);
        }
        CHECK(std::ranges::count(all, all.front()) == std::ssize(all));
        return all.front();
    };
    CHECK(takes(DType::f32, DType::q4_0, true, 96, 200));
    CHECK(takes(DType::f32, DType::f16, true, 72, 200));
    CHECK(takes(DType::f32, DType::f16, true, 72, 200, false));
    CHECK(takes(DType::f32, DType::f16, true, 72, 8));          // fits, but the kernel for few rows is chosen
    CHECK(takes(DType::f16, DType::f16, false, 72, 200));       // nothing is lost
    CHECK_FALSE(takes(DType::f32, DType::f16, true, 70, 200));  // rows that begin anywhere
    CHECK_FALSE(takes(DType::f32, DType::f16, false, 72, 200));
    CHECK_FALSE(takes(DType::f32, DType::f32, true, 72, 200));
}

TEST_CASE("operands are rounded to f16 only by leave, and f32 weights never", "[graph][coopmat]") {
    const Caps caps = devices().front();
    const auto takes = [&](DType a, DType b, bool leave) {
        const OpCall call = call_with(matmul_op, {{"transpose_b", true}, {"f16_operands", leave}},
                                      {{Shape{64, 64}, a}, {Shape{64, 64}, b}});
        const bool fits = coopmat(*call.op).fits(call, caps);
        // where the build has the kernel, what fits is chosen
        CHECK((std::string(choose_kernel(call, caps)->name) == "coopmat") == (fits && has_family("coopmat")));
        return fits;
    };
    CHECK(takes(DType::f16, DType::f16, false));  // nothing is lost
    CHECK(takes(DType::f32, DType::f16, true));
    CHECK(takes(DType::f32, DType::bf16, true));
    CHECK_FALSE(takes(DType::f32, DType::f16, false));
    CHECK_FALSE(takes(DType::f32, DType::f32, true));
}
