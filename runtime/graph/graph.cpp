#include "vantage/graph.h"

#include <algorithm>
#include <atomic>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/op_def.h"

namespace vantage {

namespace {

template <class T>
T get(const std::map<std::string, Attrs::Value>& values, const std::string& name, T default_value) {
    const auto found = values.find(name);
    if (found == values.end()) return default_value;
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    throw usage_error("attribute " + name + " has another type than its op reads");
}

// A usage error that says where the program made the call.
template <class... Arguments>
Error error_at(SourceLocation where, FormatText<std::type_identity_t<Arguments>...> text,
               const Arguments&... arguments) {
    return Error(ErrorKind::usage, text_of(where) + format(text, arguments...), where);
}

}  // namespace

bool Attrs::flag(const std::string& name, bool default_value) const { return get(values_, name, default_value); }
std::int64_t Attrs::integer(const std::string& name, std::int64_t default_value) const {
    return get(values_, name, default_value);
}
std::string Attrs::text(const std::string& name, const std::string& default_value) const {
    return get(values_, name, default_value);
}
std::vector<std::byte> Attrs::bytes(const std::string& name) const {
    return get(values_, name, std::vector<std::byte>());
}
std::vector<TensorType> Attrs::types(const std::string& name) const {
    return get(values_, name, std::vector<TensorType>());
}
double Attrs::number(const std::string& name, double default_value) const {
    const auto found = values_.find(name);
    if (found != values_.end())
        if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*whole);
    return get(values_, name, default_value);
}

std::string Attrs::print() const {
    std::string text;
    for (const auto& [name, value] : values_) {
        if (!text.empty()) text += ' ';
        text += name + '=';
        if (const auto* b = std::get_if<bool>(&value)) text += *b ? "true" : "false";
        if (const auto* i = std::get_if<std::int64_t>(&value)) text += std::to_string(*i);
        if (const auto* d = std::get_if<double>(&value)) text += format("{:g}", *d);
        if (const auto* s = std::get_if<std::string>(&value)) text += *s;
        if (const auto* b = std::get_if<std::vector<std::byte>>(&value)) text += format("{} bytes", b->size());
        if (const auto* types = std::get_if<std::vector<TensorType>>(&value))
            text += join(*types, ", ", [](const TensorType& type) { return type.text(); });
    }
    return text;
}

std::vector<std::string> tensors_of(const Value& weight) {
    return weight.parts.empty() ? std::vector{weight.name} : weight.parts;
}

std::string name_of(const Graph& graph, const Node& node) {
    const std::string& given = graph.value(node.outputs.front()).name;
    return given.empty() ? node.scope + node.op->name : given;
}

const TensorType& Tensor::type() const {
    if (!graph_) throw usage_error("an empty tensor has no type: give a tensor of a graph");
    return graph_->values[static_cast<std::size_t>(id_)].type;
}

Graph Tensor::graph() const { return Graph(graph_); }
bool Tensor::is_of(const Graph& graph) const { return graph_ != nullptr && graph_ == graph.data_; }

Graph::Graph(WeightTypes weight_types) : data_(std::make_shared<GraphData>()) {
    data_->weight_types = std::move(weight_types);
}

GraphData& Graph::data() const {
    if (!data_) throw usage_error("graph: it was moved from, or is that of an empty tensor");
    return *data_;
}

Graph Graph::copy() const { return Graph(std::make_shared<GraphData>(data())); }

const std::vector<std::string>& Graph::segments() const { return data().segments; }
void Graph::segment(const std::string& name) { data().segments.push_back(name); }
const std::vector<Node>& Graph::nodes() const { return data().nodes; }
const std::deque<Value>& Graph::values() const { return data().values; }
const std::map<std::string, int>& Graph::outputs() const { return data().outputs; }

const Value& Graph::value(int id) const {
    const std::deque<Value>& all = data().values;
    if (id < 0 || static_cast<std::size_t>(id) >= all.size())
        throw usage_error("graph: there is no value {}; it has {}", id, all.size());
    return at(all, id);
}

int Graph::storage(int id) const {
    while (value(id).alias >= 0) id = value(id).alias;
    return id;
}

void Graph::require_own(const Tensor& tensor, const std::string& what, SourceLocation where) const {
    static_cast<void>(data());
    const char* wrong = !tensor ? " is an empty tensor" : !tensor.is_of(*this) ? " belongs to another graph" : nullptr;
    if (wrong != nullptr) throw error_at(where, "{}{}", what, wrong);
}

int Graph::add_value(Value value, SourceLocation where) {
    if (value.kind != ValueKind::view && value.type.shape.elements() >= std::int64_t{1} << 31)
        throw error_at(where, "graph: {} would be {}; kernels index up to 2^31 - 1 elements of a tensor", value.name,
                       value.type.text());
    throw_if_interrupted();  // a step of many layers takes its time
    static std::atomic<std::uint64_t> serials = 0;
    value.serial = ++serials;
    data().values.push_back(std::move(value));
    return static_cast<int>(data().values.size()) - 1;
}

Tensor Graph::add_named(Value value, SourceLocation where) {
    const std::string name = value.name;
    if (data().by_name.count(name) != 0) throw error_at(where, "graph: there is a value called {} already", name);
    const int id = add_value(std::move(value), where);
    data().by_name.emplace(name, id);
    return {data_, id};
}

Tensor Graph::input(const std::string& name, Shape shape, DType dtype, SourceLocation where) {
    return add_named({.type = {shape, dtype}, .name = name, .kind = ValueKind::input}, where);
}

Tensor Graph::add_weight(Value value, SourceLocation where) {
    if (const auto found = data().by_name.find(value.name); found != data().by_name.end()) {
        const Value& known = this->value(found->second);
        if (known.kind == ValueKind::weight && known.type.shape == value.type.shape) return {data_, found->second};
        throw error_at(where, "graph: weight {} is asked for as {}, but {}", value.name, value.type.shape.text(),
                       known.kind == ValueKind::weight ? "was " + known.type.shape.text() + " before"
                                                       : "the name is that of another value");
    }
    return add_named(std::move(value), where);
}

Tensor Graph::weight(const std::string& name, Shape shape, SourceLocation where) {
    const std::string full = data().scope + name;
    const DType type = data().weight_types ? data().weight_types(full) : DType::f32;
    return add_weight({.type = {shape, type}, .name = full, .kind = ValueKind::weight}, where);
}

Tensor Graph::weight_f32(const std::string& name, Shape shape, SourceLocation where) {
    return add_weight({.type = {shape, DType::f32}, .name = data().scope + name, .kind = ValueKind::weight}, where);
}

Tensor Graph::stacked_weights(const std::string& before, const std::string& after, std::int64_t count, Shape shape,
                              SourceLocation where) {
    std::vector<std::int64_t> sizes{count};
    sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
    const std::string& scope = data().scope;
    Value value{.name = scope + before + ".*." + after, .kind = ValueKind::weight};
    for (std::int64_t i = 0; i < count; ++i)
        value.parts.push_back(scope + before + "." + std::to_string(i) + "." + after);
    value.type = {Shape(sizes),
                  data().weight_types && count > 0 ? data().weight_types(value.parts.front()) : DType::f32};
    return add_weight(std::move(value), where);
}

Tensor Graph::constant(const std::string& name, Shape shape, DType dtype, std::vector<std::byte> data,
                       SourceLocation where) {
    const TensorType type{shape, dtype};
    if (data.size() != type.bytes())
        throw error_at(where, "graph: constant {} has {} bytes, but {} takes {}", name, data.size(), type.text(),
                       type.bytes());
    return add_named(
        {.type = type, .name = name, .kind = ValueKind::constant, .data = [bytes = std::move(data)] { return bytes; }},
        where);
}

Tensor Graph::constant(const std::string& name, Shape shape, const std::vector<float>& values, SourceLocation where) {
    if (std::ssize(values) != shape.elements())
        throw error_at(where, "graph: constant {} is {}, but {} values are given", name, shape.text(), values.size());
    const auto bytes = std::as_bytes(std::span(values));
    return constant(name, shape, DType::f32, std::vector<std::byte>(bytes.begin(), bytes.end()), where);
}

Tensor Graph::constant(const std::string& name, Shape shape, std::initializer_list<float> values,
                       SourceLocation where) {
    return constant(name, shape, std::vector<float>(values), where);
}

Tensor Graph::constant(const std::string& name, Shape shape, std::function<std::vector<float>()> table,
                       SourceLocation where) {
    const TensorType type{shape, DType::f32};
    if (const auto known = data().by_name.find(name); known != data().by_name.end() &&
                                                      value(known->second).kind == ValueKind::constant &&
                                                      value(known->second).type == type)
        return {data_, known->second};
    const auto bytes_of_table = [name, type, where, make = std::move(table)] {
        const std::vector<float> values = make();
        if (std::ssize(values) != type.shape.elements())
            throw error_at(where, "graph: constant {} is {}, but its table has {} values", name, type.text(),
                           values.size());
        const auto bytes = std::as_bytes(std::span(values));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    return add_named({.type = type, .name = name, .kind = ValueKind::constant, .data = bytes_of_table}, where);
}

Tensor Graph::state(const std::string& name, Shape shape, DType dtype, bool host_visible, SourceLocation where) {
    return add_named({.type = {shape, dtype}, .name = name, .kind = ValueKind::state, .host_visible = host_visible},
                     where);
}

void Graph::output(const std::string& name, Tensor tensor, SourceLocation where) {
    require_own(tensor, "output: " + name, where);
    if (!data().outputs.emplace(name, tensor.id()).second)
        throw error_at(where, "graph: there is an output called {} already", name);
}

Tensor Graph::reshape(Tensor tensor, Shape shape, SourceLocation where) {
    require_own(tensor, "reshape: x", where);
    if (tensor.shape() == shape) return tensor;
    if (tensor.shape().elements() != shape.elements())
        throw error_at(where, "reshape: {} has another number of elements than {}", tensor.shape().text(),
                       shape.text());
    const TensorType type{shape, tensor.dtype()};
    return {data_, add_value({.type = type, .kind = ValueKind::view, .alias = tensor.id()}, where)};
}

Graph::Scope::Scope(const Graph& graph, const std::string& prefix)
    : graph_((graph.data(), graph.data_)), length_(graph_->scope.size()) {
    graph_->scope += prefix;
}
Graph::Scope::~Scope() { graph_->scope.resize(std::min(length_, graph_->scope.size())); }

std::vector<Tensor> Graph::call(const OpDef& op, std::vector<Tensor> inputs, Attrs attrs, SourceLocation where) {
    OpCall call{
        .op = &op, .attrs = attrs, .inputs = {}, .outputs = {}, .where = where, .scope = data_ ? data().scope : ""};
    if (inputs.size() > op.operands.size())
        call.fail(format("{} operands are given, but it takes at most {}", inputs.size(), op.operands.size()));
    inputs.resize(op.operands.size());
    Node node{.op = &op, .attrs = std::move(attrs), .where = where};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& tensor = inputs[i];
        if (tensor && data_ && !tensor.is_of(*this))
            call.fail(op.operands[i] + std::string(" belongs to another graph"));
        node.inputs.push_back(tensor.id());
        call.inputs.push_back(tensor ? std::optional<TensorType>(tensor.type()) : std::nullopt);
    }
    const std::vector<TensorType> types = op.infer(call);  // fails for an empty operand that it cannot do without
    node.scope = data().scope;
    node.segment = static_cast<int>(data().segments.size()) - 1;
    for (const TensorType& type : types)
        if (type.shape.elements() >= std::int64_t{1} << 31)
            call.fail("the result would be " + type.text() + "; kernels index up to 2^31 - 1 elements of a tensor");
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const int aliased = op.alias_of(i);
        if (aliased >= std::ssize(node.inputs))
            call.fail(format("result {} takes over operand {}, but there are {}", i, aliased, node.inputs.size()));
        const int alias = aliased >= 0 ? at(node.inputs, aliased) : -1;
        node.outputs.push_back(add_value(
            {.type = types[i], .kind = ValueKind::node, .node = static_cast<int>(data().nodes.size()), .alias = alias},
            where));
        results.push_back({data_, node.outputs.back()});
    }
    data().nodes.push_back(std::move(node));
    return results;
}

std::vector<Tensor> internal::add_call(Graph& graph, const OpDef& op, std::vector<Tensor> inputs, Attrs attrs,
                                       SourceLocation where) {
    return GraphAccess::call(graph, op, std::move(inputs), std::move(attrs), where);
}

}  // namespace vantage
