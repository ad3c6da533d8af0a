// attention on matrix units (GL_KHR_cooperative_matrix): f16 operands and weights, f32 sums and softmax.
#include <algorithm>
#include <bit>

#include "runtime/ops/attention_kernels.h"
#include "runtime/ops/coopmat.h"

namespace vantage::internal::ops::attention {

namespace {

// How a workgroup is shaped (attention/coopmat.comp).
struct Workgroup {
    std::uint32_t m, n, k;  // that the device multiplies at once
    std::uint32_t subgroup, stripes, shares, keys;
    std::uint32_t rows() const { return stripes * m; }
    std::uint32_t lanes() const { return stripes * shares * subgroup; }
    std::uint32_t shared_bytes(const Sizes& s) const {
        const std::uint32_t width = padded(s.d, k), width_v = padded(s.dv, shares * n);
        return 16 * (rows() * (width / 8 + 1) + keys * (std::max(width, width_v) / 8 + 1) + rows() * (keys / 4 + 1) +
                     rows() * (n / 4 + 1));
    }
    static std::uint32_t padded(std::int64_t width, std::uint32_t to) { return ceil_div(width, to) * to; }
};

// Sums of values that a lane may hold; devices of 8 rows spill with more than 16 (runtime/ops/coopmat.h).
constexpr std::uint32_t max_sums = 64;
std::uint32_t max_sums_of(const CooperativeMatrix& shape) { return shape.m >= 16 ? max_sums : 16; }

// As many rows as shared memory holds, up to four stripes; no more than `sums_of_lane` sums in a lane.
Workgroup workgroup_for(const OpCall& call, const CooperativeMatrix& shape, const Caps& caps,
                        std::uint32_t sums_of_lane) {
    const Sizes s = sizes_of(call);
    Workgroup w{.m = shape.m, .n = shape.n, .k = shape.k, .subgroup = matrix_subgroup(shape, caps), .stripes = 4};
    const std::uint32_t sums = shape.m * Workgroup::padded(s.dv, shape.n) / w.subgroup;
    w.shares = std::bit_ceil(ceil_div(sums, sums_of_lane));
    const std::uint32_t lanes_of_row = std::max(1u, w.shares * w.subgroup / w.m);
    w.keys = std::max({32u, w.shares * w.n, w.k, 8 * lanes_of_row});
    while (w.stripes > 1 && (w.shared_bytes(s) > caps.max_shared_memory || w.lanes() > caps.max_workgroup_invocations))
        w.stripes /= 2;
    return w;
}

// Rounds weights, q, k and v to f16, which the call must allow (f16_operands). Statistics, hard attention and block
// masks are left to the other kernels.
bool fits(const OpCall& call, const Caps& caps, const Workgroup& w) {
    const Sizes s = sizes_of(call);
    return caps.subgroup_shuffle && call.attrs.flag("f16_operands") && s.n > 8 && fewest_rows_of_class(call) > 8 &&
           wants_sums_only(call) && reads_floats(call) && !call.has(dropout_) && !call.attrs.flag("counts") &&
           !call.has(block_mask_) && w.subgroup * w.shares >= w.m && w.shared_bytes(s) <= caps.max_shared_memory &&
           w.lanes() <= std::min(caps.max_workgroup_invocations, caps.max_workgroup_size[0]);
}

template <class Constants>
LaunchPlan launch_by(const OpCall& call, const Caps& caps, const char* shader, const Workgroup& w) {
    const Sizes s = sizes_of(call);
    const auto vectors = [](std::int64_t width) { return width % 8 == 0 ? 8u : 1u; };
    return attention_plan(call, caps, [&](Part part) {
        auto constants = attention_constants<Constants>(call, w.lanes(), part);
        constants.STRIPES = w.stripes, constants.KEYS = w.keys;
        if constexpr (requires { constants.SHARES; }) constants.SHARES = w.shares;
        constants.M = w.m, constants.N = w.n, constants.K = w.k;
        constants.STEP_D = vectors(s.d), constants.STEP_DV = vectors(s.dv);
        Launch l = attention_launch(call, caps, shader, constants, w.rows(), part);
        l.subgroup_size = w.subgroup;
        return l;
    });
}

}  // namespace

bool fits_coopmat(const OpCall& call, const Caps& caps) {
    const CooperativeMatrix* shape = f16_matrix(caps);
    return shape != nullptr && fits(call, caps, workgroup_for(call, *shape, caps, max_sums_of(*shape)));
}
LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps) {
    const CooperativeMatrix& shape = *f16_matrix(caps);
    return launch_by<params::AttentionCoopmatConstants>(call, caps, "attention_coopmat",
                                                        workgroup_for(call, shape, caps, max_sums_of(shape)));
}

// Scores stay in registers where a conversion makes an operand M x K of sums M x N, and no two subgroups share a row.
bool fits_coopmat2(const OpCall& call, const Caps& caps) {
    const CooperativeMatrix* shape = f16_matrix(caps);
    if (shape == nullptr || shape->n != shape->k) return false;
    const Workgroup w = workgroup_for(call, *shape, caps, max_sums);
    return w.shares == 1 && fits(call, caps, w);
}
LaunchPlan launch_coopmat2(const OpCall& call, const Caps& caps) {
    return launch_by<params::AttentionCoopmat2Constants>(call, caps, "attention_coopmat2",
                                                         workgroup_for(call, *f16_matrix(caps), caps, max_sums));
}

}  // namespace vantage::internal::ops::attention
