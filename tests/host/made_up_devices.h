// Devices that do not exist, for what is a pure function of a device: choices of kernels, launches, schedules.
#pragma once

#include <vector>

#include "runtime/base/format.h"
#include "vantage/caps.h"

namespace vantage::test {

/// A GPU of the usual kind, without matrix units and dot products of bytes.
inline Caps graphics_card() {
    Caps caps;
    caps.name = "made-up GPU";
    caps.type = DeviceType::discrete;
    caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 32;
    caps.subgroup_arithmetic = caps.subgroup_shuffle = caps.subgroup_quad = caps.fp16 = true;
    caps.max_workgroup_invocations = 1024;
    caps.max_workgroup_size = {1024, 1024, 64};
    caps.max_shared_memory = 32768;
    return caps;
}
/// What every device has to have, and no more.
inline Caps smallest_device() {
    Caps caps;
    caps.name = "made-up minimum";
    return caps;
}
inline Caps narrow_subgroups() {
    Caps caps = graphics_card();
    caps.name = "made-up software device";
    caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 4;
    caps.max_workgroup_invocations = 256;
    caps.max_workgroup_size = {256, 256, 64};
    return caps;
}
inline Caps byte_products() {
    Caps caps = graphics_card();
    caps.name = "made-up GPU with dot products of bytes";
    caps.integer_dot = caps.integer_dot_accelerated = true;
    return caps;
}

struct Subgroups {
    std::uint32_t default_size, min_size, max_size;
};
inline Caps matrix_units(CooperativeMatrix shape = {16, 16, 16, "f16", "f16", "f32"}, Subgroups sizes = {32, 32, 32},
                         std::uint32_t shared = 32768) {
    Caps caps = graphics_card();
    caps.name = format("made-up GPU with {}x{}x{} matrices", shape.m, shape.n, shape.k);
    caps.subgroup_size = sizes.default_size, caps.min_subgroup_size = sizes.min_size,
    caps.max_subgroup_size = sizes.max_size;
    caps.subgroup_size_control = sizes.min_size != sizes.max_size;
    caps.max_shared_memory = shared;
    caps.cooperative_matrices = {{16, 16, 16, "s8", "s8", "s32"}, std::move(shape)};
    return caps;
}

}  // namespace vantage::test
