// Graphs and tensors in every order of moves and deaths, and tensors where none or another was wanted: an error, never
// a crash.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "expect_error.h"
#include "runtime/graph/graph_data.h"
#include "vantage/ops.h"

using namespace vantage;
using vantage::test::expect_error;

namespace {

struct Net {
    Graph g;
    Tensor x, y;
};

Net make_net() {
    Net net;
    net.x = net.g.input("x", {4});
    net.y = gelu(net.x);
    Net moved = std::move(net);
    return moved;
}

constexpr const char* here = "graph_lifetime_test.cpp:";  // with the caller's line behind it

}  // namespace

TEST_CASE("tensors follow their graph when it is moved", "[graph]") {
    Net net = make_net();
    const Tensor sum = net.y + net.y;
    net.g.output("y", sum);
    CHECK(sum.shape() == Shape{4});
    CHECK(sum.is_of(net.g));
    CHECK(net.g.nodes().size() == 2);
    CHECK(net.x.graph().nodes().size() == 2);
}

TEST_CASE("a tensor that was moved from is empty", "[graph]") {
    Net net = make_net();
    Tensor x = std::move(net.x);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    CHECK(net.x.id() == -1);
    CHECK_FALSE(net.x);
    CHECK(x.id() == 0);
    expect_error(ErrorKind::usage, {"empty tensor"}, [&] { net.g.output("x", net.x); });
}

TEST_CASE("a tensor keeps its graph alive", "[graph]") {
    std::optional<Graph> graph(std::in_place);
    const Tensor x = graph->input("x", {3, 5});
    graph.reset();
    CHECK(x.type().text() == "f32 [3, 5]");
    CHECK((x + x).graph().nodes().size() == 1);
}

TEST_CASE("a graph that was moved from says so", "[graph]") {
    Graph graph;
    const Tensor x = graph.input("x", {4});
    const Graph other = std::move(graph);
    const std::vector<std::function<void()>> uses = {
        // NOLINTNEXTLINE(bugprone-use-after-move)
        [&] { graph.input("y", {4}); },
        [&] { graph.output("y", x); },
        [&] {
            graph.reshape(x, {2, 2});
        },
        [&] { static_cast<void>(graph.nodes()); },
        [&] { static_cast<void>(graph.value(0)); },
        [&] { static_cast<void>(graph.copy()); },
        [&] { static_cast<void>(graph.scope("h")); },
        [&] { graph.segment("rest"); },
        [&] { graph.weight("w", {4}); },
    };
    for (const auto& use : uses) expect_error(ErrorKind::usage, {"graph", "moved from"}, use);
    CHECK(x.is_of(other));
}

TEST_CASE("empty tensors are refused with the caller's line", "[graph]") {
    Graph graph;
    const Tensor x = graph.input("x", {4, 8}), none;
    expect_error(ErrorKind::usage, {here, "output: y is an empty tensor"}, [&] { graph.output("y", none); });
    expect_error(ErrorKind::usage, {here, "activation: x is an empty tensor"}, [&] { gelu(none); });
    expect_error(ErrorKind::usage, {here, "add: b is an empty tensor"}, [&] { add(x, none); });
    expect_error(ErrorKind::usage, {here, "add: a is an empty tensor"}, [&] { add(none, x); });
    expect_error(ErrorKind::usage, {here, "matmul: b is an empty tensor"}, [&] { matmul(x, none); });
    expect_error(ErrorKind::usage, {here, "reshape: x is an empty tensor"}, [&] { graph.reshape(none, {2}); });
    expect_error(ErrorKind::usage, {"empty tensor", "type"}, [&] { static_cast<void>(none.shape()); });
    CHECK(none.id() == -1);
    CHECK(graph.outputs().empty());
    CHECK(graph.nodes().empty());
}

TEST_CASE("tensors of another graph are refused with the caller's line", "[graph]") {
    Graph graph, other;
    const Tensor x = graph.input("x", {4}), strange = other.input("s", {4});
    expect_error(ErrorKind::usage, {here, "output: y belongs to another graph"}, [&] { graph.output("y", strange); });
    expect_error(ErrorKind::usage, {here, "reshape: x belongs to another graph"}, [&] {
        graph.reshape(strange, {2, 2});
    });
    expect_error(ErrorKind::usage, {here, "add: b belongs to another graph"}, [&] { add(x, strange); });
    const Graph copy = graph.copy();
    CHECK_FALSE(x.is_of(copy));
}

TEST_CASE("a name that is taken leaves the graph as it was", "[graph]") {
    Graph graph;
    graph.input("a", {4});
    const std::size_t before = graph.values().size();
    expect_error(ErrorKind::usage, {here, "called a"}, [&] { graph.input("a", {4}); });
    expect_error(ErrorKind::usage, {here, "called a"}, [&] { graph.state("a", {4}, DType::f32); });
    expect_error(ErrorKind::usage, {here, "called a"}, [&] { graph.constant("a", {2}, {1.f, 2.f}); });
    expect_error(ErrorKind::usage, {here, "called a"},
                 [&] { graph.constant("a", {1}, [] { return std::vector<float>{1}; }); });
    expect_error(ErrorKind::usage, {here, "weight a", "another value"}, [&] { graph.weight("a", {4}); });
    CHECK(graph.values().size() == before);
}

TEST_CASE("constants have as many values as their shape", "[graph]") {
    Graph graph;
    const Tensor c = graph.constant("c", {2}, {1.f, 2.f});
    CHECK(graph.value(c.id()).data().size() == 8);
    expect_error(ErrorKind::usage, {here, "constant d is [4000]", "2 values"}, [&] {
        graph.constant("d", {4000}, {1.f, 2.f});
    });
    const Tensor table = graph.constant("e", {4000}, [] { return std::vector<float>(2); });
    expect_error(ErrorKind::usage, {"constant e is f32 [4000]", "2 values"}, [&] { graph.value(table.id()).data(); });
}

TEST_CASE("references to types stay valid while a graph grows", "[graph]") {
    Graph graph;
    const Tensor x = graph.input("x", {4, 8});
    const Shape& shape = x.shape();
    for (int i = 0; i < 1000; ++i) gelu(x);
    CHECK(shape == Shape{4, 8});
}

TEST_CASE("scopes may end in any order", "[graph]") {
    Graph graph;
    auto outer = std::make_unique<Graph::Scope>(graph, "a.");
    auto inner = std::make_unique<Graph::Scope>(graph, "b.");
    outer.reset();
    inner.reset();
    const Tensor w = graph.weight("w", {1});
    CHECK(graph.value(w.id()).name == "w");
}

TEST_CASE("a plan's graph is out of reach for tensors that the caller still holds", "[graph]") {
    Graph graph;
    const Tensor x = graph.input("x", {4});
    graph.output("y", gelu(x));
    const Graph taken = GraphAccess::unshared(std::move(graph));
    gelu(x);
    CHECK(taken.nodes().size() == 1);
    Graph alone;
    const auto* nodes = &alone.nodes();
    const Graph same = GraphAccess::unshared(std::move(alone));
    CHECK(&same.nodes() == nodes);
}
