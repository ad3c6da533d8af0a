// The kernel of attention by register tiles (shaders/lib/attention_tiles.glsl): GPUs without matrix units, and f32.
#include "runtime/ops/attention_kernels.h"
#include "runtime/ops/checks.h"
#include "shaders/params/attention.h"

namespace vantage::internal::ops::attention {

bool fits_tiles(const OpCall& call, const Caps& caps, const RuleOperands& at, std::int64_t d, std::int64_t dv) {
    const AttentionRules rules(call.attrs);
    const bool many_rules = rules.softcap > 0 || rules.dilation > 1 || rules.block > 0 || rules.global > 0 ||
                            call.has(at.mask) || call.has(at.position_bias);
    return workgroup_size(caps) == tiled_lanes && caps.max_shared_memory >= tiled_shared_bytes &&
           caps.subgroup_size >= 8 && !(caps.is_cpu() && many_rules) && !rules.is_additive() && d % 4 == 0 &&
           dv % 4 == 0 && d <= 128 && dv <= 128;
}

// A lane keeps some 110 to 250 registers.
bool tiles_profitable(const OpCall&, const Caps& caps) { return has_many_registers(caps); }

bool fits_tiled(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    return fits_tiles(call, caps, rule_operands, s.d, s.dv) && wants_sums_only(call) && reads_floats(call) &&
           !is_union(call) && fewest_rows_of_class(call) >= tiled_rows && s.m > 0 &&
           (!caps.ends_long_loops() || s.m <= longest_loop);
}

LaunchPlan launch_tiled(const OpCall& call, const Caps& caps) {
    return attention_launch(call, caps, "attention_tiled",
                            attention_constants<params::AttentionTiledConstants>(call, tiled_lanes, Part::all,
                                                                                 {.COUNTS = call.attrs.flag("counts")}),
                            tiled_rows, Part::all);
}

}  // namespace vantage::internal::ops::attention
