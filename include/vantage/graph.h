// A graph is plain data: nodes, types and names. Nothing of it touches a device before `compile`.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "vantage/error.h"
#include "vantage/tensor.h"

namespace vantage {

struct OpDef;
class Graph;

/// A name for data that will exist: copying it is free. Always contiguous and row-major.
class Tensor {
public:
    Tensor() = default;
    Tensor(Graph* graph, int id) : graph_(graph), id_(id) {}
    explicit operator bool() const { return graph_ != nullptr; }
    Graph& graph() const { return *graph_; }
    int id() const { return id_; }
    const TensorType& type() const;
    const Shape& shape() const { return type().shape; }
    DType dtype() const { return type().dtype; }

private:
    Graph* graph_ = nullptr;
    int id_ = -1;
};

/// The options of one call of an op, by name.
class Attrs {
public:
    using Value = std::variant<bool, std::int64_t, double, std::string>;
    Attrs() = default;
    Attrs(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}
    bool flag(const std::string& name, bool default_value = false) const;
    std::int64_t integer(const std::string& name, std::int64_t default_value = 0) const;
    double number(const std::string& name, double default_value = 0) const;
    std::string text(const std::string& name, const std::string& default_value = {}) const;
    bool has(const std::string& name) const { return values_.count(name) != 0; }
    void set(const std::string& name, Value value) { values_[name] = std::move(value); }
    void erase(const std::string& name) { values_.erase(name); }
    const std::map<std::string, Value>& values() const { return values_; }
    bool operator==(const Attrs&) const = default;
    std::string print() const;  ///< "causal=true scale=0.125"

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
    int node = -1;   ///< producing node, kind node only
    int alias = -1;  ///< the value whose memory this one is: views, and states after a write; -1 = memory of its own
    std::function<std::vector<std::byte>()> data = {};  ///< kind constant only: makes its bytes
    bool host_visible = false;  ///< states that the host reads or writes while work is in flight
    bool transposed = false;  ///< a weight [.., in, out] of the checkpoint that is loaded transposed, as [.., out, in]
    std::vector<std::string> parts = {};  ///< a weight that is several of the checkpoint, one after the other
};

struct Node {
    const OpDef* op = nullptr;
    std::vector<int> inputs;   ///< value ids, -1 = operand absent
    std::vector<int> outputs;  ///< value ids
    Attrs attrs;
    std::string scope;     ///< "h.3."
    SourceLocation where;  ///< the caller's line
    int segment = 0;       ///< index into Graph::segments()
};

/// A node's name for messages: "h.3.attention".
std::string name_of(const Graph& graph, const Node& node);

class Graph {
public:
    /// Storage type of a weight by its name, as the checkpoint has it; without one every weight is f32.
    using WeightTypes = std::function<DType(const std::string& name)>;
    explicit Graph(WeightTypes weight_types = {}) : weight_types_(std::move(weight_types)) {}
    Graph& operator=(const Graph&) = delete;
    Graph(Graph&&) = default;
    Graph& operator=(Graph&&) = default;
    /// The same nodes and values once more. Tensors belong to the graph that made them, so a copy is asked for by name.
    Graph copy() const { return *this; }

    /// What the caller writes before a run. Names of inputs, weights, constants and states are one space: `input`, `constant`
    /// and `state` throw usage for a name that is taken, and all of them for 2^31 elements or more.
    Tensor input(const std::string& name, Shape shape, DType dtype = DType::f32);
    /// A weight under its name in the checkpoint, prefixed by the scopes that are open. The same name gives the same tensor.
    Tensor weight(const std::string& name, Shape shape, SourceLocation where = SourceLocation::here());
    /// A weight that is widened to f32 when it is loaded.
    Tensor weight_f32(const std::string& name, Shape shape, SourceLocation where = SourceLocation::here());
    /// `count` weights of `shape`, "{before}.0.{after}", "{before}.1.{after}" …, as one tensor [count, shape].
    Tensor stacked_weights(const std::string& before, const std::string& after, std::int64_t count, Shape shape,
                           SourceLocation where = SourceLocation::here());
    Tensor constant(const std::string& name, Shape shape, DType dtype, std::vector<std::byte> data);
    /// An f32 table that is made when it is uploaded: once for all plans that share it. The same name gives the same tensor,
    /// so the name says all that the table depends on.
    Tensor constant(const std::string& name, Shape shape, std::function<std::vector<float>()> table);
    /// Memory that outlives a run. `host_visible` where the host reads or writes it while work is in flight.
    Tensor state(const std::string& name, Shape shape, DType dtype, bool host_visible = false);
    /// What a plan keeps for `read`. Throws usage for a name that another output has.
    void output(const std::string& name, Tensor tensor);
    /// The same data under another shape; throws usage when that has not as many elements.
    Tensor reshape(Tensor tensor, Shape shape, SourceLocation where = SourceLocation::here());

    /// Weight names and node names get "name." or "name.index." in front while the returned object lives.
    class Scope {
    public:
        Scope(Graph& graph, std::string prefix);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        Graph& graph_;
        std::size_t length_;
    };
    [[nodiscard]] Scope scope(const std::string& name) { return {*this, name + "."}; }
    [[nodiscard]] Scope scope(const std::string& name, int index) {
        return {*this, name + "." + std::to_string(index) + "."};
    }

    /// Adds a call of `op`; infers and checks types. Absent operands are empty Tensors. Shape errors name op, operand
    /// and shape, and carry the caller's line.
    std::vector<Tensor> call(const OpDef& op, std::vector<Tensor> inputs, Attrs attrs, SourceLocation where);

    /// Nodes from here on belong to the segment `name`: a part of the graph that can be run without the ones after it.
    void segment(const std::string& name) { segments_.push_back(name); }
    const std::vector<std::string>& segments() const { return segments_; }

    const std::vector<Node>& nodes() const { return nodes_; }
    const std::vector<Value>& values() const { return values_; }
    const Value& value(int id) const { return values_[static_cast<std::size_t>(id)]; }
    const std::map<std::string, int>& outputs() const { return outputs_; }
    /// The value that owns the memory of `id`, through views and state versions.
    int storage(int id) const;

    /// For passes that rewrite a graph (fusion): plain data, theirs to keep consistent.
    std::vector<Node>& mutable_nodes() { return nodes_; }
    std::vector<Value>& mutable_values() { return values_; }

private:
    friend class Scope;
    Graph(const Graph&) = default;
    int add_value(Value value);
    Tensor add_weight(Value value, SourceLocation where);
    WeightTypes weight_types_;
    std::vector<Node> nodes_;
    std::vector<Value> values_;
    std::map<std::string, int> outputs_;
    std::map<std::string, int> by_name_;  ///< inputs, weights, constants, states
    std::string scope_;
    std::vector<std::string> segments_{"main"};
};

inline const TensorType& Tensor::type() const { return graph_->value(id_).type; }

}  // namespace vantage
