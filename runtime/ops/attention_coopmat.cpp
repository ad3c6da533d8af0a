// attention on matrix units (GL_KHR_cooperative_matrix): f16 operands and weights, f32 sums and softmax.
#include <algorithm>
#include <bit>

#include "runtime/ops/attention_kernels.h"
#include "runtime/ops/coopmat.h"

namespace vantage::ops::attention {

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

// Sums of values that a lane may hold; devices of 8 rows spill with more (runtime/ops/coopmat.h).
std::uint32_t most_sums(const CooperativeMatrix& shape) { return shape.m >= 16 ? 64 : 16; }

// As many rows as shared memory holds, up to four stripes.
Workgroup workgroup_for(const Sizes& s, const CooperativeMatrix& shape, const Caps& caps) {
    Workgroup w{.m = shape.m, .n = shape.n, .k = shape.k, .subgroup = matrix_subgroup(shape, caps), .stripes = 4};
    const std::uint32_t sums = shape.m * Workgroup::padded(s.dv, shape.n) / w.subgroup;
    w.shares = std::bit_ceil(ceil_div(sums, most_sums(shape)));
    const std::uint32_t lanes_of_row = std::max(1u, w.shares * w.subgroup / w.m);
    w.keys = std::max({32u, w.shares * w.n, w.k, 8 * lanes_of_row});
    while (w.stripes > 1 && (w.shared_bytes(s) > caps.max_shared_memory || w.lanes() > caps.max_workgroup_invocations))
        w.stripes /= 2;
    return w;
}

}  // namespace

// Weights are rounded to f16, and q, k and v where they are not: only where the call allows it. Statistics and hard attention, which take
// sums of their own, and block masks, whose gaps the other kernels skip, are theirs.
bool fits_coopmat(const OpCall& call, const Caps& caps) {
    const CooperativeMatrix* shape = f16_matrix(caps);
    const Sizes s = sizes_of(call);
    if (shape == nullptr || !caps.subgroup_shuffle || !call.attrs.flag("f16_operands") || s.n <= 8) return false;
    for (const char* other : {"hard", "statistics", "counts"})
        if (call.attrs.flag(other)) return false;
    const Workgroup w = workgroup_for(s, *shape, caps);
    return !call.has(block_mask_) && w.subgroup * w.shares >= w.m && w.shared_bytes(s) <= caps.max_shared_memory &&
           w.lanes() <= std::min(caps.max_workgroup_invocations, caps.max_workgroup_size[0]);
}

LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const Workgroup w = workgroup_for(s, *f16_matrix(caps), caps);
    Launch l = flash_launch(call, caps, "attention_coopmat", w.lanes(), w.rows(), 0);
    const auto vectors = [](std::int64_t width) { return width % 8 == 0 ? 8u : 1u; };
    l.spec[5] = w.stripes, l.spec[6] = w.shares, l.spec[7] = w.keys, l.spec[8] = w.m;
    l.spec.resize(21);  // the rules end there
    for (std::uint32_t constant : {w.n, w.k, vectors(s.d), vectors(s.dv)}) l.spec.push_back(constant);
    l.subgroup_size = w.subgroup;
    return l;
}

}  // namespace vantage::ops::attention
