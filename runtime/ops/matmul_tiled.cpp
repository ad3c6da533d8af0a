// matmul by tiles in shared memory and registers, and what all kernels that work by tiles share.
#include <algorithm>
#include <cstring>

#include "runtime/ops/checks.h"
#include "runtime/ops/matmul_kernels.h"
#include "shaders/params/matmul.h"

namespace vantage::internal::ops::matmul {

namespace {

constexpr RegisterTile wide{8, 8}, large{8, 4}, small{4, 4};

// With so many workgroups few processors are idle; of a device that does not say how many it has, on most.
std::uint32_t enough_groups(const Caps& caps) {
    return caps.processors > 0 ? std::clamp(2 * caps.processors, 16u, 512u) : 64;
}

std::uint32_t count(const std::array<std::uint32_t, 3>& groups) { return groups[0] * groups[1] * groups[2]; }

}  // namespace

// 8 x 4 sums and their operands take some 90 registers; devices with 256 invocations or narrow subgroups have 64. CPU
// devices compile the small tile faster.
const RegisterTile& register_tile(const MatmulSizes& s, const Caps& caps) {
    const bool registers = caps.max_workgroup_invocations >= 512 && caps.max_subgroup_size > 16 && !caps.is_cpu();
    return registers && count(tile_grid(s, large.rows(), large.cols())) >= enough_groups(caps) / 2 ? large : small;
}

std::array<std::uint32_t, 3> tile_grid(const MatmulSizes& s, std::int64_t rows, std::int64_t cols) {
    return {ceil_div(s.n, cols), ceil_div(s.m, rows), u32(s.batches())};
}

bool fits_grid(const std::array<std::uint32_t, 3>& groups, const Caps& caps) {
    for (std::size_t i = 0; i < 3; ++i)
        if (groups[i] == 0 || groups[i] > caps.max_workgroup_count[i]) return false;
    return true;
}

LaunchPlan launch_tiles(const OpCall& call, const Caps& caps, const char* shader, std::vector<std::uint32_t> constants,
                        const TileSize& tile, std::uint32_t subgroup_size) {
    const MatmulSizes s = matmul_sizes(call);
    Launch launch = matmul_launch(call, shader, std::move(constants), s);
    launch.groups = tile_grid(s, tile.rows, tile.cols);
    launch.subgroup_size = subgroup_size;
    const std::int64_t groups = count(launch.groups);
    // Where k is long, adding up a few parts costs nothing beside the products.
    const std::int64_t enough = std::max<std::int64_t>(enough_groups(caps), s.k >= 8192 ? 256 : 0);
    const std::int64_t wanted = groups < enough / 2 ? std::min<std::int64_t>({8, enough / groups, s.k / 512}) : 1;
    const std::int64_t k_per_split =
        ceil_div(ceil_div(s.k, std::max<std::int64_t>(wanted, 1)), tile.depth) * tile.depth;
    const std::uint32_t k_splits = k_per_split > 0 ? ceil_div(s.k, k_per_split) : 1;
    if (k_splits < 2 || k_splits * launch.groups[2] > caps.max_workgroup_count[2]) return launch;
    const std::uint32_t lanes = workgroup_size(caps);
    auto adding = matmul_constants<params::MatmulReduceSplitsConstants>(call, lanes, {.STEP_N = step_of(s.n)});
    adding.B_TYPE = 0;                           // it reads no b: calls of all weights share a pipeline
    if (!call.has(bias_)) adding.BIAS_TYPE = 0;  // and so do those without a bias
    Launch reduce = launch;
    reduce.shader = "matmul_reduce_splits";
    reduce.spec = adding;
    reduce.replace(in(a_), scratch_in(0));
    reduce.groups = flat_grid(ceil_div(s.batches() * s.m * ceil_div(s.n, 4), lanes), caps);
    reduce.subgroup_size = 0;
    params::MatmulParams p;
    std::memcpy(&p, launch.params.data(), sizeof p);
    p.k_per_split = u32(k_per_split);
    p.k_splits = k_splits;
    launch.with(p).replace(out(0), scratch_out(0));
    launch.groups[2] *= k_splits;
    LaunchPlan plan;
    plan.scratch = {static_cast<std::uint64_t>(k_splits * s.batches() * s.m * s.n) * 4};
    plan.launches = {launch, reduce.with(p)};
    return plan;
}

bool fits_tiled(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    return workgroup_size(caps) == 256 && has_many_rows(call) &&
           fits_grid(tile_grid(s, small.rows(), small.cols()), caps);
}

static LaunchPlan launch_register_tiles(const OpCall& call, const Caps& caps, const RegisterTile& tile) {
    const MatmulSizes s = matmul_sizes(call);
    constexpr std::uint32_t side = RegisterTile::side, quads = RegisterTile::quads;
    const params::MatmulTiledConstants own{.SIDE_X = side,
                                           .SIDE_Y = side,
                                           .EACH_ROWS = tile.each_rows,
                                           .EACH_COLS = tile.each_cols,
                                           .QUADS = quads,
                                           .STEP_K = step_of(s.k),
                                           .STEP_N = step_of(s.n)};
    return launch_tiles(call, caps, "matmul_tiled", matmul_constants(call, RegisterTile::lanes, own),
                        {tile.rows(), tile.cols(), 4 * quads});
}

LaunchPlan launch_tiled(const OpCall& call, const Caps& caps) {
    return launch_register_tiles(call, caps, register_tile(matmul_sizes(call), caps));
}

bool fits_wide(const OpCall& call, const Caps& caps) {
    constexpr std::uint32_t shared_bytes = 20 << 10;
    const MatmulSizes s = matmul_sizes(call);
    return fits_tiled(call, caps) && s.m > 64 && s.n > 64 && caps.max_shared_memory >= shared_bytes;
}

// 8 x 8 sums and their operands take some 150 registers. They read less for each product, but there must be enough tiles
// for all processors.
bool wide_profitable(const OpCall& call, const Caps& caps) {
    const std::uint32_t tiles = count(tile_grid(matmul_sizes(call), wide.rows(), wide.cols()));
    return has_many_registers(caps) && caps.max_workgroup_invocations >= 512 &&
           tiles >= (caps.processors > 0 ? enough_groups(caps) : 256);
}

LaunchPlan launch_wide(const OpCall& call, const Caps& caps) { return launch_register_tiles(call, caps, wide); }

}  // namespace vantage::internal::ops::matmul
