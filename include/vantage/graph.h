// A graph is plain data: nodes, types and names. Nothing of it touches a device before `compile`.
//
// Threads: one at a time for a graph, its tensors and its scopes. Graphs are independent of each other.
// Errors: usage, with the caller's line. A call that throws leaves the graph as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "vantage/error.h"
#include "vantage/tensor.h"

namespace vantage {

class Graph;
namespace internal {
struct OpDef;
struct GraphData;
struct GraphAccess;
}  // namespace internal

/// A value of a graph: data that exists once a plan has run. A handle that is free to copy and keeps its graph alive,
/// wherever the Graph object that made it has been moved to. Values are always contiguous and row-major.
/// A Tensor that is default-constructed or was moved from is empty: it stands for an optional operand that is absent,
/// and has neither graph nor type.
///
/// Threads: one at a time for all tensors of a graph.
class Tensor {
public:
    Tensor() = default;
    explicit operator bool() const { return graph_ != nullptr; }
    /// Another handle of the tensor's graph, not a copy of it.
    Graph graph() const;
    /// Index of the value in its graph, -1 for an empty tensor.
    int id() const { return graph_ ? id_ : -1; }
    /// Throws usage for an empty tensor, as do `shape` and `dtype`.
    const TensorType& type() const;
    const Shape& shape() const { return type().shape; }
    DType dtype() const { return type().dtype; }
    bool is_of(const Graph& graph) const;

private:
    friend class Graph;
    friend struct internal::GraphAccess;
    Tensor(std::shared_ptr<internal::GraphData> graph, int id) : graph_(std::move(graph)), id_(id) {}
    std::shared_ptr<internal::GraphData> graph_;
    int id_ = -1;
};

/// The options of one call of an op, by name.
///
/// Threads: a value.
class Attrs {
public:
    using Value =
        std::variant<bool, std::int64_t, double, std::string, std::vector<std::byte>, std::vector<TensorType>>;
    Attrs() = default;
    Attrs(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}
    bool flag(const std::string& name, bool default_value = false) const;
    std::int64_t integer(const std::string& name, std::int64_t default_value = 0) const;
    double number(const std::string& name, double default_value = 0) const;
    std::string text(const std::string& name, const std::string& default_value = {}) const;
    std::vector<std::byte> bytes(const std::string& name) const;
    std::vector<TensorType> types(const std::string& name) const;
    bool has(const std::string& name) const { return values_.count(name) != 0; }
    void set(const std::string& name, Value value) { values_[name] = std::move(value); }
    void erase(const std::string& name) { values_.erase(name); }
    const std::map<std::string, Value>& values() const { return values_; }
    bool operator==(const Attrs&) const = default;
    /// "causal=true scale=0.125"
    std::string print() const;

private:
    std::map<std::string, Value> values_;
};

/// Where a value's data comes from.
enum class ValueKind : std::uint8_t {
    input,     ///< written by the caller before a run
    weight,    ///< read from a checkpoint, constant
    constant,  ///< made while the graph was built (tables), constant
    state,     ///< outlives a run: caches, sampler, step
    node,      ///< computed by a node
    view,      ///< another value under another shape
};

struct Value {
    TensorType type = {};
    std::string name = {};
    ValueKind kind = ValueKind::node;
    /// The producing node (kind node only).
    int node = -1;
    /// The value whose memory this one is: of views, and of states after a write; -1 = memory of its own.
    int alias = -1;
    /// Makes the bytes of a constant.
    std::function<std::vector<std::byte>()> data = {};
    /// Of states that the host reads or writes while work is in flight.
    bool host_visible = false;
    /// A weight [.., in, out] of the checkpoint that is loaded transposed, as [.., out, in].
    bool transposed = false;
    /// A weight that is several of the checkpoint, one after the other.
    std::vector<std::string> parts = {};
    /// Of views: no gradient goes through (gradient.h).
    bool stops_gradient = false;
    /// Of views: pairs of a value and this value's gradient with respect to it, in place of those by its nodes.
    std::vector<std::pair<int, int>> given = {};
    /// The same number in every copy of the graph, and in no other value.
    std::uint64_t serial = 0;
};
/// The tensors of the checkpoint that make up a weight: usually one, by its own name.
std::vector<std::string> tensors_of(const Value& weight);

struct Node {
    const internal::OpDef* op = nullptr;
    /// Value ids, -1 = operand absent.
    std::vector<int> inputs = {};
    /// Value ids.
    std::vector<int> outputs = {};
    Attrs attrs = {};
    /// "h.3."
    std::string scope = {};
    /// The caller's line.
    SourceLocation where = {};
    /// Index into Graph::segments().
    int segment = 0;
};

/// A node's name for messages: "h.3.attention".
std::string name_of(const Graph& graph, const Node& node);

/// A graph under construction. The object is a handle: tensors share the graph's data, so that moving the Graph or
/// destroying it leaves them valid. Functions of a Graph that was moved from throw usage.
///
/// Threads: one at a time for a graph and its tensors.
class Graph {
public:
    /// Storage type of a weight by its name, as the checkpoint has it; without one every weight is f32.
    using WeightTypes = std::function<DType(const std::string& name)>;
    explicit Graph(WeightTypes weight_types = {});
    Graph(Graph&&) noexcept = default;
    Graph& operator=(Graph&&) noexcept = default;
    Graph& operator=(const Graph&) = delete;
    /// A second graph with the same nodes and values. Tensors belong to the graph that made them; a plan of either
    /// graph accepts tensors of both for the values that they have in common.
    Graph copy() const;

    // Inputs, weights, constants and states share one space of names. `input`, `constant` and `state` throw usage for a
    // name that is taken, and for 2^31 elements or more; the graph is then as it was before the call.

    /// What the caller writes before a run.
    Tensor input(const std::string& name, Shape shape, DType dtype = DType::f32,
                 SourceLocation where = SourceLocation::here());
    /// A weight under its name in the checkpoint, prefixed by the scopes that are open. The same name gives the same
    /// tensor.
    Tensor weight(const std::string& name, Shape shape, SourceLocation where = SourceLocation::here());
    /// A weight that is widened to f32 when it is loaded.
    Tensor weight_f32(const std::string& name, Shape shape, SourceLocation where = SourceLocation::here());
    /// `count` weights of `shape`, "{before}.0.{after}", "{before}.1.{after}" …, as one tensor [count, shape].
    Tensor stacked_weights(const std::string& before, const std::string& after, std::int64_t count, Shape shape,
                           SourceLocation where = SourceLocation::here());
    /// An f32 constant: g.constant("c", {2}, {1.f, 2.f}). Throws usage for another number of values than the shape has.
    Tensor constant(const std::string& name, Shape shape, std::initializer_list<float> values,
                    SourceLocation where = SourceLocation::here());
    Tensor constant(const std::string& name, Shape shape, const std::vector<float>& values,
                    SourceLocation where = SourceLocation::here());
    Tensor constant(const std::string& name, Shape shape, DType dtype, std::vector<std::byte> data,
                    SourceLocation where = SourceLocation::here());
    /// An f32 table that is computed when it is uploaded, once for all plans that share it; the upload throws usage
    /// when it has another number of values than the shape. The same name gives the same tensor: put all that the table
    /// depends on into the name.
    Tensor constant(const std::string& name, Shape shape, std::function<std::vector<float>()> table,
                    SourceLocation where = SourceLocation::here());
    /// Memory that outlives a run. `host_visible` where the host reads or writes it while work is in flight.
    Tensor state(const std::string& name, Shape shape, DType dtype, bool host_visible = false,
                 SourceLocation where = SourceLocation::here());
    /// What a plan keeps for `read`. Throws usage for a name that another output has, an empty tensor, or one of
    /// another graph.
    void output(const std::string& name, Tensor tensor, SourceLocation where = SourceLocation::here());
    /// The same data under another shape. Throws usage when that has another number of elements, for an empty tensor,
    /// or one of another graph.
    Tensor reshape(Tensor tensor, Shape shape, SourceLocation where = SourceLocation::here());

    /// Weight names and node names get "name." or "name.index." in front while the returned object lives.
    class Scope {
    public:
        Scope(const Graph& graph, const std::string& prefix);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        std::shared_ptr<internal::GraphData> graph_;
        std::size_t length_;
    };
    [[nodiscard]] Scope scope(const std::string& name) { return {*this, name + "."}; }
    [[nodiscard]] Scope scope(const std::string& name, int index) {
        return {*this, name + "." + std::to_string(index) + "."};
    }

    /// Nodes from here on belong to the segment `name`: a part of the graph that can be run without the ones after it.
    void segment(const std::string& name);
    const std::vector<std::string>& segments() const;

    const std::vector<Node>& nodes() const;
    /// References to values stay valid while the graph grows.
    const std::deque<Value>& values() const;
    /// Throws usage for an id that the graph does not have.
    const Value& value(int id) const;
    const std::map<std::string, int>& outputs() const;
    /// The value that owns the memory of `id`, through views and state versions.
    int storage(int id) const;

private:
    friend class Tensor;
    friend struct internal::GraphAccess;
    explicit Graph(std::shared_ptr<internal::GraphData> data) : data_(std::move(data)) {}
    internal::GraphData& data() const;
    std::vector<Tensor> call(const internal::OpDef& op, std::vector<Tensor> inputs, Attrs attrs, SourceLocation where);
    int add_value(Value value, SourceLocation where);
    Tensor add_named(Value value, SourceLocation where);
    Tensor add_weight(Value value, SourceLocation where);
    void require_own(const Tensor& tensor, const std::string& what, SourceLocation where) const;
    std::shared_ptr<internal::GraphData> data_;
};

}  // namespace vantage
