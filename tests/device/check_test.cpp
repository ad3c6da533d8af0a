// Plan::check, which `--check` calls: a kernel that computes something else than its op's reference is found and named.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <vector>

#include "runtime/graph/op_def.h"
#include "shaders/params/step.h"
#include "vantage/vantage.h"

using namespace vantage;

namespace {

/// An op with a kernel that is launched for another call than it was given.
template <auto change>
OpDef launched_wrong(const char* name) {
    OpDef op = *find_op(name);
    op.kernels = {{.name = "wrong", .launch = [](const OpCall& call, const Caps& caps) {
                       OpCall other = call;
                       other.op = find_op(call.op->name);
                       change(other);
                       return other.op->kernels.back().launch(other, caps);
                   }}};
    return op;
}

Plan plan_of(Graph g) { return Plan(std::move(g), Device::open(), {.fuse = false, .keep_all = true, .guard = true}); }

/// y = 2 gelu(x) four times over, [3, 70]; block `where` takes `op` instead of scale.
Plan blocks_with(const OpDef& op, int where) {
    Graph g;
    Tensor x = g.input("x", {3, 70});
    for (int layer = 0; layer < 4; ++layer) {
        const Graph::Scope scope = g.scope("h", layer);
        const Tensor y = gelu(x);
        x = layer == where ? add_call(g, op, {y}, {{"factor", 2.0}}, SourceLocation::here())[0] : scale(y, 2);
    }
    g.output("y", x);
    Plan plan = plan_of(std::move(g));
    plan.write("x", std::vector<float>(210, 1.5f));
    return plan;
}

}  // namespace

TEST_CASE("a check names the first node that differs from its reference", "[plan]") {
    static const OpDef op =
        launched_wrong<[](OpCall& call) { call.attrs.set("factor", call.attrs.number("factor") * 1.001); }>("scale");
    const std::vector<Divergence> found = blocks_with(op, 2).check(5);
    REQUIRE(found.size() == 1);  // those after it are right for what they were given
    CHECK(found[0].node == "h.2.scale");
    CHECK(found[0].kernel == "wrong");
    CHECK_THAT(found[0].message, Catch::Matchers::ContainsSubstring("210 of 210 elements wrong"));
}

TEST_CASE("a kernel that leaves out a part of its result leaves NaN there", "[plan]") {
    static const OpDef op =
        launched_wrong<[](OpCall& call) { call.inputs[0]->shape[1] = call.outputs[0].shape[1] = 69; }>("scale");
    Plan plan = blocks_with(op, 3);
    plan.run();
    const std::vector<float> y = plan.read("y").vector();
    CHECK(std::isfinite(y[206]));
    for (std::size_t i = 207; i < y.size(); ++i) CHECK(std::isnan(y[i]));
}

TEST_CASE("a kernel that writes beyond its result meets the red zone", "[plan]") {
    // One row too many; the id it reads lies in a red zone, too, is none, and gives zeros.
    static const OpDef op =
        launched_wrong<[](OpCall& call) { ++call.inputs[0]->shape[0], ++call.outputs[0].shape[0]; }>("embedding");
    Graph g;
    const Tensor ids = g.input("ids", {5}, DType::i32);
    const Tensor rows = add_call(g, op, {ids, g.weight("w", {9, 64}), {}, {}}, {}, SourceLocation::here())[0];
    g.output("y", scale(rows, 2));
    Plan plan = plan_of(std::move(g));
    plan.write("ids", std::vector<std::int32_t>{0, 1, 2, 3, 4});
    plan.write("w", std::vector<float>(9 * 64, 1));
    CHECK_THROWS_WITH(plan.run(), Catch::Matchers::ContainsSubstring("in front of it lies embedding f32 [5, 64]"));
}

TEST_CASE("a kernel that writes behind a state meets its red zone", "[plan]") {
    static const OpDef op =
        launched_wrong<[](OpCall& call) { call.inputs[0]->shape[0] = call.outputs[0].shape[0] = 3; }>("write");
    Graph g;
    const Tensor step = begin_step(g.state("step", {STEP_WORDS}, DType::u32, true), 4);
    const Tensor rows = g.input("rows", {4, 8});
    add_call(g, op, {g.state("cache", {2, 8}, DType::f32), rows, step}, {}, SourceLocation::here());
    Plan plan = plan_of(std::move(g));
    std::vector<std::int32_t> words(STEP_WORDS);
    words[STEP_END] = 4, words[STEP_LIMIT] = 8;
    plan.write("step", words);
    plan.write("rows", std::vector<float>(32, 0.5f));
    CHECK_THROWS_WITH(plan.run(), Catch::Matchers::ContainsSubstring("past the end of cache f32 [2, 8]"));
}
