// Plans as plain data: where memory lies, where barriers stand, which kernels are chosen, with made-up devices.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_container_properties.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "known_configs.h"
#include "runtime/base/at.h"
#include "runtime/conform/case_runner.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/memory_plan.h"
#include "runtime/graph/merge_projections.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"
#include "tests/host/made_up_devices.h"

using namespace vantage;
using namespace vantage::test;

namespace {

std::vector<Caps> kinds_of_devices() {
    return {graphics_card(), smallest_device(), narrow_subgroups(), matrix_units()};
}

struct NamedConfig {
    std::string name;
    ModelConfig config;
};
const std::vector<NamedConfig>& models() {
    static const std::vector<NamedConfig> all = [] {
        std::vector<NamedConfig> list;
        for (const char* name : {"gpt2", "llama", "llama_bf16", "mini-world"})
            list.push_back({name, test::config_of(name)});
        return list;
    }();
    return all;
}
const ModelConfig& model(const std::string& name) {
    return std::find_if(models().begin(), models().end(), [&](const NamedConfig& m) { return m.name == name; })->config;
}

BuildOptions options_of(const ModelConfig& config, std::int64_t rows, bool record_attention, bool inspect) {
    return {.rows = rows,
            .context = std::min<std::int64_t>(config.context, 600),
            .cache = DType::f16,
            .record_attention = std::vector<bool>(static_cast<std::size_t>(config.layers), record_attention),
            .all_logits = inspect,
            .hidden = inspect};
}
Graph graph_of(const std::string& name, std::int64_t rows, bool record_attention = false, bool inspect = false) {
    return build_model(model(name), options_of(model(name), rows, record_attention, inspect));
}

/// Calls `check` with every graph and device worth a look.
template <class Check>
void for_all_plans(const Check& check) {
    for (const NamedConfig& m : models())
        for (std::int64_t rows : {1, 8, 32, 128})
            for (bool record_attention : {false, true})
                for (bool fused : {false, true}) {
                    Graph graph = build_model(m.config, options_of(m.config, rows, record_attention, record_attention));
                    if (fused)
                        fuse(graph);
                    else
                        transpose_weights(graph);
                    for (const Caps& caps : kinds_of_devices()) {
                        INFO(m.name << ", " << rows << " rows, " << (record_attention ? "watched, " : "")
                                    << (fused ? "fused, " : "") << caps.name);
                        check(graph, caps);
                    }
                }
}

/// When the bytes behind a value of the arena matter: from the first dispatch that writes them to the last that uses
/// them.
struct Life {
    std::uint64_t begin = 0, end = 0;
    std::size_t first = 0, last = 0;
};
std::vector<Life> lives(const Graph& graph, const Schedule& schedule) {
    std::vector<Life> all;
    // by value: its placement, and the dispatches whose node has it as operand or result
    for (std::size_t id = 0; id < graph.values().size(); ++id) {
        const Placement& p = schedule.placements[id];
        if (!p.in_arena) continue;
        Life life{.begin = p.offset, .end = p.offset + p.bytes, .first = schedule.dispatches.size(), .last = 0};
        for (std::size_t i = 0; i < schedule.dispatches.size(); ++i) {
            const Dispatch& d = schedule.dispatches[i];
            if (d.node < 0) continue;
            const Node& node = at(graph.nodes(), d.node);
            const auto uses = [&](const std::vector<int>& ids) {
                return std::any_of(ids.begin(), ids.end(),
                                   [&](int v) { return v >= 0 && graph.storage(v) == static_cast<int>(id); });
            };
            if (uses(node.inputs) || uses(node.outputs))
                life.first = std::min(life.first, i), life.last = std::max(life.last, i);
        }
        for (const auto& [name, output] : graph.outputs())
            if (graph.storage(output) == static_cast<int>(id)) life.last = schedule.dispatches.size();
        all.push_back(life);
    }
    return all;
}

}  // namespace

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST_CASE("lifetimes that overlap never share memory, whatever they are", "[graph]") {
    std::mt19937 random(11);
    const auto up_to = [&](int maximum) { return static_cast<int>(random() % static_cast<unsigned>(maximum + 1)); };
    for (int round = 0; round < 400; ++round) {
        const std::uint64_t alignment = std::uint64_t{1} << up_to(8),
                            gap = round % 2 == 0 ? 0 : static_cast<std::uint64_t>(up_to(300));
        std::vector<Lifetime> all(static_cast<std::size_t>(1 + up_to(60)));
        std::uint64_t naive = 0, max_at_once = 0;
        for (Lifetime& one : all) {
            one.bytes = static_cast<std::uint64_t>(1 + up_to(round % 3 == 0 ? 20 : 5000));
            one.first = up_to(40);
            one.last = one.first + up_to(round % 5 == 0 ? 40 : 6);
            naive += (one.bytes + 2 * gap + alignment) / alignment * alignment + alignment;
        }
        for (int at = 0; at <= 80; ++at) {
            std::uint64_t now = 0;
            for (const Lifetime& one : all) now += one.first <= at && at <= one.last ? one.bytes : 0;
            max_at_once = std::max(max_at_once, now);
        }
        const std::uint64_t size = place(all, alignment, gap);
        INFO("round " << round << ", alignment " << alignment << ", gap " << gap);
        CHECK(size <= naive);
        CHECK(size >= max_at_once);
        for (std::size_t i = 0; i < all.size(); ++i) {
            REQUIRE(all[i].offset % alignment == 0);
            REQUIRE(all[i].offset >= gap);
            REQUIRE(all[i].offset + all[i].bytes + gap <= size);
            for (std::size_t j = 0; j < i; ++j) {
                if (all[i].last < all[j].first || all[j].last < all[i].first) continue;
                REQUIRE((all[i].offset + all[i].bytes + gap <= all[j].offset ||
                         all[j].offset + all[j].bytes + gap <= all[i].offset));
            }
        }
    }
}

TEST_CASE("memory is shared by what is never alive together", "[graph]") {
    std::vector<Lifetime> chain(10);
    for (int i = 0; i < 10; ++i) at(chain, i) = {.bytes = 1000, .first = i, .last = i + 1};
    CHECK(place(chain, 256) == 2 * 1024);  // a chain needs two places, however long it is
    CHECK(place(std::span<Lifetime>(), 256) == 0);
}

TEST_CASE("values of a plan that are alive at once never share memory", "[graph]") {
    for_all_plans([](const Graph& graph, const Caps& caps) {
        for (const std::uint64_t zone : {std::uint64_t{0}, std::uint64_t{256}}) {
            const Schedule schedule = make_schedule(graph, caps, {.red_zone = zone});
            CHECK(schedule.arena_bytes <= schedule.naive_bytes + zone * 2 * schedule.arena_zones.size());
            const std::vector<Life> all = lives(graph, schedule);
            CHECK(!all.empty());
            for (std::size_t i = 0; i < all.size(); ++i) {
                REQUIRE(all[i].first < schedule.dispatches.size());
                REQUIRE(all[i].end + zone <= schedule.arena_bytes);
                for (std::size_t j = 0; j < i; ++j) {
                    const bool together = all[i].first <= all[j].last && all[j].first <= all[i].last;
                    const bool apart = all[i].end + zone <= all[j].begin || all[j].end + zone <= all[i].begin;
                    if (together && !apart) FAIL("values at " << all[i].begin << " and " << all[j].begin << " overlap");
                }
            }
        }
    });
}

TEST_CASE("with keep_all nothing shares memory", "[graph]") {
    const Schedule schedule = make_schedule(graph_of("gpt2", 8), graphics_card(), {.keep_all = true});
    CHECK(schedule.arena_bytes == schedule.naive_bytes);
    CHECK(make_schedule(graph_of("gpt2", 8), graphics_card()).arena_bytes < schedule.arena_bytes);
}

// ---- barriers -------------------------------------------------------------------------------------------------------

TEST_CASE("no plan has a hazard, and every plan without barriers has", "[graph]") {
    for_all_plans([](const Graph& graph, const Caps& caps) {
        const std::vector<std::string> hazards = find_hazards(graph, make_schedule(graph, caps));
        CHECK_THAT(hazards, Catch::Matchers::IsEmpty());
        CHECK(!find_hazards(graph, make_schedule(graph, caps, {.barriers = false})).empty());
    });
}

TEST_CASE("every barrier of a GPT-2 plan is needed", "[graph]") {
    for (const char* name : {"gpt2", "mini-world"})
        for (std::int64_t rows : {1, 32})
            for (bool record_attention : {false, true})
                for (const Caps& caps : kinds_of_devices()) {
                    Graph graph = graph_of(name, rows, record_attention);
                    fuse(graph);
                    Schedule schedule = make_schedule(graph, caps);
                    int barriers = 0;
                    for (Dispatch& dispatch : schedule.dispatches) {
                        if (!dispatch.barrier_before) continue;
                        ++barriers;
                        dispatch.barrier_before = false;
                        INFO(name << ", " << rows << " rows, " << caps.name << ": the barrier before "
                                  << dispatch.label);
                        CHECK(!find_hazards(graph, schedule).empty());
                        dispatch.barrier_before = true;
                    }
                    CHECK(barriers > 10);
                    CHECK(barriers < static_cast<int>(schedule.dispatches.size()));
                }
}

TEST_CASE("independent dispatches have no barrier between them", "[graph]") {
    Graph graph;
    const Tensor x = graph.input("x", {4, 8}), y = graph.input("y", {4, 8});
    graph.output("a", softmax(x));
    graph.output("b", softmax(y));
    graph.output("c", relu(x));
    graph.output("d", softmax(x + y));
    std::vector<std::string> behind;
    for (const Dispatch& dispatch : make_schedule(graph, graphics_card()).dispatches)
        if (dispatch.barrier_before) behind.push_back(dispatch.label);
    CHECK(behind == std::vector<std::string>{"softmax/subgroup"});  // the one that reads the sum
}

TEST_CASE("independent dispatches stand side by side, for little memory", "[graph]") {
    const auto barriers = [](const Schedule& schedule) {
        return std::ranges::count(schedule.dispatches, true, &Dispatch::barrier_before);
    };
    const auto compare = [&](const ModelConfig& config, std::int64_t rows, const Caps& caps) {
        Graph graph = build_model(config, options_of(config, rows, false, false));
        fuse(graph);
        const Schedule ordered = make_schedule(graph, caps), written = make_schedule(graph, caps, {.reorder = false});
        CHECK(ordered.dispatches.size() == written.dispatches.size());
        CHECK(2 * ordered.arena_bytes <= 3 * written.arena_bytes);
        CHECK(ordered.live_bytes <= ordered.arena_bytes);
        CHECK(4 * ordered.arena_bytes <= 5 * ordered.live_bytes);
        CHECK_THAT(find_hazards(graph, ordered), Catch::Matchers::IsEmpty());
        UNSCOPED_INFO(config.architecture << ", " << rows << " rows, " << caps.name << ": " << ordered.dispatches.size()
                                          << " dispatches, barriers " << barriers(written) << " -> "
                                          << barriers(ordered) << ", arena " << written.arena_bytes << " -> "
                                          << ordered.arena_bytes << ", alive " << ordered.live_bytes << ", naive "
                                          << ordered.naive_bytes);
        CHECK(barriers(ordered) <= barriers(written));
        return barriers(written) - barriers(ordered);
    };
    for (const Caps& caps : kinds_of_devices())
        for (std::int64_t rows : {1, 32}) {
            for (const NamedConfig& m : models()) compare(m.config, rows, caps);
            // attention beside the MLP
            for (const char* name : {"gpt_neox", "falcon", "phi", "gptj"}) {
                const ModelConfig config = test::config_of(name);
                INFO(name << " " << rows << " rows on " << caps.name);
                CHECK(compare(config, rows, caps) >= config.layers);
            }
        }
}

TEST_CASE("products of the same few rows are one launch", "[graph]") {
    const Caps caps = graphics_card();
    const auto plain_choice = [](const OpCall& call, const Caps& of) { return choose_kernel(call, of); };
    const std::int64_t layers = model("llama").layers;
    Graph graph = graph_of("llama", 1), apart = graph_of("llama", 1);
    fuse(graph), fuse(apart);
    const std::vector<std::string> merged = merge_projections(graph, caps, plain_choice);
    CHECK(std::ssize(merged) == 3 * layers);
    CHECK(std::ranges::count(merged, std::string("layers.0.matmul + two of the same rows")) == 1);
    CHECK(std::ranges::count(merged, std::string("layers.0.matmul + up and gate")) == 1);
    CHECK(std::ranges::count(merged, std::string("layers.0.joint_linear + rope_write")) == 1);
    const Schedule schedule = make_schedule(graph, caps);
    // q, k, v and what turns and keeps them, then gate, up and what gates: three launches less, and two
    CHECK(std::ssize(schedule.dispatches) == std::ssize(make_schedule(apart, caps).dispatches) - 5 * layers);
    CHECK_THAT(find_hazards(graph, schedule), Catch::Matchers::IsEmpty());
    graph = graph_of("llama", 1);
    fuse(graph);
    for (Value& value : mutable_values(graph))
        if (value.kind == ValueKind::weight && value.type.shape.rank() == 2) value.type.dtype = DType::q8_0;
    CHECK(merge_projections(graph, caps, plain_choice) == merged);
    graph = graph_of("llama", 128);  // other kernels than that for few rows
    fuse(graph);
    CHECK(merge_projections(graph, caps, plain_choice).empty());
}

TEST_CASE("the hazard checker knows reading after writing, writing after reading, and writing twice", "[graph]") {
    Graph graph;
    const Tensor state = graph.state("cache", {8, 4}, DType::f32);
    const Tensor step = graph.state("step", {32}, DType::u32);
    const Tensor rows = graph.input("rows", {2, 4});
    const Tensor before = softmax(state);             // reads the state
    const Tensor written = write(state, rows, step);  // writes it: after the read
    graph.output("before", before);
    graph.output("after", softmax(written));  // reads it again
    write(written, relu(rows), step);         // writes it once more
    Schedule schedule = make_schedule(graph, graphics_card());
    CHECK(find_hazards(graph, schedule).empty());
    for (Dispatch& dispatch : schedule.dispatches) dispatch.barrier_before = false;
    std::string all;
    for (const std::string& hazard : find_hazards(graph, schedule)) all += hazard + "\n";
    INFO(all);
    CHECK(all.find("write/plain writes cache, which softmax/subgroup read,") != std::string::npos);
    CHECK(all.find("softmax/subgroup reads cache, which write/plain wrote,") != std::string::npos);
    CHECK(all.find("write/plain writes cache, which write/plain wrote,") != std::string::npos);
}

// ---- what runs ------------------------------------------------------------------------------------------------------

TEST_CASE("nodes that nobody needs are not run; those that change a state are", "[graph]") {
    Graph graph;
    const Tensor x = graph.input("x", {2, 4});
    graph.output("y", relu(x));
    silu(softmax(x));
    const Tensor step = graph.state("step", {32}, DType::u32);
    begin_step(step, 1);
    const Schedule schedule = make_schedule(graph, graphics_card());
    std::vector<std::string> labels;
    for (const Dispatch& dispatch : schedule.dispatches) labels.push_back(dispatch.label);
    CHECK(labels == std::vector<std::string>{"activation/plain", "begin_step/plain"});
    CHECK(schedule.kernels[1] == nullptr);
    CHECK(live_nodes(graph) == std::vector<int>{0, 3});
}

TEST_CASE("a grid that follows the keys is made once and read from the device", "[graph]") {
    Graph graph = graph_of("gpt2", 1);  // a context of 96 is one piece for the keys
    for (const Dispatch& dispatch : make_schedule(graph, graphics_card()).dispatches) CHECK(!dispatch.indirect);
    graph = graph_of("mini-world", 1);
    const Schedule schedule = make_schedule(graph, graphics_card());
    int grids = 0, indirect = 0;
    for (const Dispatch& dispatch : schedule.dispatches) {
        grids += dispatch.label == "grid" ? 1 : 0;
        indirect += dispatch.indirect ? 1 : 0;
    }
    if (options_of(model("mini-world"), 1, false, false).context > 256) {
        CHECK(grids == 1);
        CHECK(indirect == model("mini-world").layers);
    }
}

TEST_CASE("kernels are chosen by what a device can do", "[graph]") {
    const auto names = [](const Caps& caps) {
        const Graph graph = graph_of("gpt2", 32);
        std::set<std::string> chosen;
        for (const Kernel* kernel : make_schedule(graph, caps).kernels)
            if (kernel != nullptr) chosen.insert(kernel->name);
        return chosen;
    };
    CHECK(names(graphics_card()).count("subgroup") == 1);
    CHECK(names(graphics_card()).count("tiled") == 1);
    CHECK(names(smallest_device()).count("subgroup") == 0);
    CHECK(names(smallest_device()).count("rows_subgroup") == 0);
    CHECK(names(smallest_device()).count("tiled") == 0);  // takes 256 invocations
}

TEST_CASE("what no kernel can do is unsupported, and named", "[graph]") {
    Graph graph;
    graph.output("y", softmax(graph.input("x", {3, 5})));
    try {
        make_schedule(graph, graphics_card(),
                      {.choose = [](const OpCall&, const Caps&) -> const Kernel* { return nullptr; }});
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        const std::string message = error.what();
        CHECK(error.kind() == ErrorKind::unsupported);
        CHECK(message.find("softmax") != std::string::npos);
        CHECK(message.find("f32 [3, 5]") != std::string::npos);
        CHECK(message.find("made-up GPU") != std::string::npos);
    }
}

// ---- every op and kernel as data ------------------------------------------------------------------------------------

TEST_CASE("every op is complete, and its last kernel needs nothing", "[graph]") {
    std::set<std::string> names;
    for (const OpDef* op : all_ops()) {
        INFO(op->name);
        CHECK(names.insert(op->name).second);
        CHECK(find_op(op->name) == op);
        CHECK(op->infer != nullptr);
        CHECK(op->reference != nullptr);
        CHECK(op->cost != nullptr);
        CHECK(op->cases != nullptr);
        CHECK(std::string(op->summary).size() >= 10);
        REQUIRE(!op->kernels.empty());
        CHECK(op->kernels.back().needs == need_nothing);
        CHECK(op->kernels.back().fits == nullptr);
        std::set<std::string> kernels;
        for (const Kernel& kernel : op->kernels) CHECK(kernels.insert(kernel.name).second);
    }
    CHECK(find_op("no such op") == nullptr);
}

TEST_CASE("every launch of every case is within a device's limits", "[graph]") {
    for (const OpDef* op : all_ops())
        for (const Case& test : op->cases())
            for (const CaseTypes& types : types_of(test)) {
                PreparedCase prepared = prepare(*op, test, types);
                const Cost cost = op->cost(prepared.call);
                INFO(op->name << " (" << test.name << ", " << types.text() << ")");
                CHECK(cost.flops >= 0);
                CHECK(cost.flops <= 0.05e9);
                for (const Caps& caps : kinds_of_devices())
                    for (const Kernel& kernel : op->kernels) {
                        prepared.call.attrs = attrs_for(kernel, test.attrs);
                        if (!eligible(kernel, prepared.call, caps)) continue;
                        const LaunchPlan plan = kernel.launch(prepared.call, caps);
                        INFO(kernel.name << " on " << caps.name);
                        CHECK(!plan.launches.empty());
                        for (const Launch& launch : plan.launches) {
                            CHECK(launch.params.size() <= 128);
                            CHECK(launch.params.size() >= 8 * launch.operands.size());
                            for (std::size_t i = 0; i < 3; ++i) {
                                CHECK(launch.groups[i] >= 1);
                                CHECK(launch.groups[i] <= caps.max_workgroup_count[i]);
                            }
                            for (const Operand& operand : launch.operands) {  // inputs may be absent, results not
                                if (operand.kind == Operand::output)
                                    CHECK(operand.index < prepared.call.outputs.size());
                                if (operand.kind == Operand::scratch) CHECK(operand.index < plan.scratch.size());
                            }
                        }
                    }
            }
}
