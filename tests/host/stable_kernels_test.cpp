// Kernels of stable plans on made-up devices: the choice depends neither on the number of sequences that draw nor on the
// size of a cache.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "runtime/base/at.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/merge_projections.h"
#include "runtime/models/architecture.h"
#include "tests/host/known_configs.h"
#include "tests/host/made_up_devices.h"

using namespace vantage;
using namespace vantage::test;

namespace {

struct Weights {
    DType type;
    bool f16_operands, int8_operands;
};

struct Dispatched {
    std::string kernel;
    std::vector<std::uint32_t> spec;
    auto operator<=>(const Dispatched&) const = default;
};

// In the order in which Plan compiles.
std::vector<Dispatched> dispatched(const std::string& model, const BuildOptions& options, const Weights& weights,
                                   const Caps& caps, bool any_rows) {
    Graph graph = build_model(test::config_of(model), options);
    fuse(graph);
    for (Value& value : mutable_values(graph))
        if (value.kind == ValueKind::weight && value.type.shape.rank() >= 2 && value.type.shape[-1] % 32 == 0)
            value.type.dtype = weights.type;
    if (weights.f16_operands) allow_f16_operands(graph);
    if (weights.int8_operands) allow_int8_operands(graph);
    keep_stable(graph, any_rows);
    merge_projections(graph, caps, [](const OpCall& call, const Caps& of) { return choose_kernel(call, of); });
    const Schedule schedule = make_schedule(graph, caps);
    std::vector<Dispatched> all;
    for (const int node : live_nodes(graph)) all.push_back({at(schedule.kernels, node)->name, {}});
    if (any_rows) return all;
    for (const Dispatch& dispatch : schedule.dispatches) all.push_back({dispatch.label, dispatch.launch.spec});
    std::ranges::sort(all);  // their order saves memory, and changes no result
    return all;
}

Caps long_loops_end(Caps caps) {
    caps.type = DeviceType::cpu;
    caps.driver_id = 13;  // llvmpipe
    caps.api_version = 1u << 22 | 3u << 12;
    return caps;
}
Caps loads_once(Caps caps) {
    caps = long_loops_end(caps);
    caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 8;
    caps.api_version = 1u << 22 | 4u << 12;
    return caps;
}

}  // namespace

TEST_CASE("stable plans have the same kernels for any number of sequences and any cache", "[graph][stable]") {
    const std::string model = GENERATE("mini-world", "llama", "gemma2", "mixtral", "t5");
    const Weights weights = GENERATE(Weights{DType::f32, false, false}, Weights{DType::f16, true, false},
                                     Weights{DType::q8_0, true, false}, Weights{DType::q4_0, true, true});
    for (const Caps& caps : {graphics_card(), smallest_device(), narrow_subgroups(), byte_products(), matrix_units(),
                             long_loops_end(graphics_card()), loads_once(graphics_card())}) {
        INFO(model << " with " << name_of(weights.type) << " on " << caps.name);
        const auto draw = [&](std::int64_t sequences, std::int64_t context) {
            return dispatched(model, {.sequences = sequences, .context = context}, weights, caps, true);
        };
        const auto prompt = [&](std::int64_t context) {
            return dispatched(model, {.rows = 128, .context = context}, weights, caps, false);
        };
        const std::vector<Dispatched> alone = draw(1, 5000);
        for (const std::int64_t sequences : {2, 5, 8, 9, 16, 100}) CHECK(draw(sequences, 40) == alone);
        CHECK(prompt(40) == prompt(5000));
    }
}
