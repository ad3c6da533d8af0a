#include "vantage/graph.h"

#include "runtime/base/log.h"
#include "vantage/op.h"

namespace vantage {

namespace {

template <class T>
T get(const std::map<std::string, Attrs::Value>& values, const std::string& name, T default_value) {
    const auto found = values.find(name);
    if (found == values.end()) return default_value;
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    throw Error(ErrorKind::usage, "attribute " + name + " has another type than its op reads");
}

std::string at(SourceLocation where) {
    return where.line > 0 ? format("%s:%d: ", where.file, where.line) : std::string();
}

}  // namespace

bool Attrs::flag(const std::string& name, bool default_value) const { return get(values_, name, default_value); }
std::int64_t Attrs::integer(const std::string& name, std::int64_t default_value) const {
    return get(values_, name, default_value);
}
std::string Attrs::text(const std::string& name, const std::string& default_value) const {
    return get(values_, name, default_value);
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
        if (const auto* d = std::get_if<double>(&value)) text += format("%g", *d);
        if (const auto* s = std::get_if<std::string>(&value)) text += *s;
    }
    return text;
}

std::string name_of(const Graph& graph, const Node& node) {
    const std::string& given = graph.value(node.outputs.front()).name;
    return given.empty() ? node.scope + node.op->name : given;
}

int Graph::add_value(Value value) {
    if (value.kind != ValueKind::view && value.type.shape.elements() >= std::int64_t{1} << 31)
        throw Error(ErrorKind::usage, format("graph: %s would be %s; kernels index up to 2^31 - 1 elements of a tensor",
                                             value.name.c_str(), value.type.text().c_str()));
    values_.push_back(std::move(value));
    return static_cast<int>(values_.size()) - 1;
}

int Graph::storage(int id) const {
    while (value(id).alias >= 0) id = value(id).alias;
    return id;
}

Tensor Graph::input(const std::string& name, Shape shape, DType dtype) {
    const int id = add_value({.type = {shape, dtype}, .name = name, .kind = ValueKind::input});
    if (!by_name_.emplace(name, id).second) throw Error(ErrorKind::usage, "graph: two values are called " + name);
    return {this, id};
}

Tensor Graph::add_weight(Value value, SourceLocation where) {
    if (const auto found = by_name_.find(value.name); found != by_name_.end()) {
        const Tensor known{this, found->second};
        if (known.shape() == value.type.shape) return known;
        throw Error(ErrorKind::usage,
                    at(where) + "graph: weight " + value.name + " is asked for as " + value.type.shape.text() +
                        ", but was " + known.shape().text() + " before",
                    where);
    }
    const std::string name = value.name;
    const int id = add_value(std::move(value));
    by_name_[name] = id;
    return {this, id};
}

Tensor Graph::weight(const std::string& name, Shape shape, SourceLocation where) {
    const std::string full = scope_ + name;
    const DType type = weight_types_ ? weight_types_(full) : DType::f32;
    return add_weight({.type = {shape, type}, .name = full, .kind = ValueKind::weight}, where);
}

Tensor Graph::weight_f32(const std::string& name, Shape shape, SourceLocation where) {
    return add_weight({.type = {shape, DType::f32}, .name = scope_ + name, .kind = ValueKind::weight}, where);
}

Tensor Graph::stacked_weights(const std::string& before, const std::string& after, std::int64_t count, Shape shape,
                              SourceLocation where) {
    std::vector<std::int64_t> sizes{count};
    sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
    Value value{.name = scope_ + before + ".*." + after, .kind = ValueKind::weight};
    for (std::int64_t i = 0; i < count; ++i)
        value.parts.push_back(scope_ + before + "." + std::to_string(i) + "." + after);
    value.type = {Shape(sizes), weight_types_ && count > 0 ? weight_types_(value.parts.front()) : DType::f32};
    return add_weight(std::move(value), where);
}

Tensor Graph::constant(const std::string& name, Shape shape, DType dtype, std::vector<std::byte> data) {
    const TensorType type{shape, dtype};
    if (data.size() != type.bytes())
        throw Error(ErrorKind::usage,
                    format("graph: constant %s has %zu bytes, but %s takes %llu", name.c_str(), data.size(),
                           type.text().c_str(), static_cast<unsigned long long>(type.bytes())));
    const int id = add_value(
        {.type = type, .name = name, .kind = ValueKind::constant, .data = [bytes = std::move(data)] { return bytes; }});
    if (!by_name_.emplace(name, id).second) throw Error(ErrorKind::usage, "graph: two values are called " + name);
    return {this, id};
}

Tensor Graph::constant(const std::string& name, Shape shape, std::function<std::vector<float>()> table) {
    if (const auto known = by_name_.find(name); known != by_name_.end() &&
                                                value(known->second).kind == ValueKind::constant &&
                                                value(known->second).type == TensorType{shape, DType::f32})
        return {this, known->second};
    const int id = add_value(
        {.type = {shape, DType::f32}, .name = name, .kind = ValueKind::constant, .data = [make = std::move(table)] {
             const std::vector<float> values = make();
             const auto bytes = std::as_bytes(std::span(values));
             return std::vector<std::byte>(bytes.begin(), bytes.end());
         }});
    if (!by_name_.emplace(name, id).second) throw Error(ErrorKind::usage, "graph: two values are called " + name);
    return {this, id};
}

Tensor Graph::state(const std::string& name, Shape shape, DType dtype, bool host_visible) {
    const int id =
        add_value({.type = {shape, dtype}, .name = name, .kind = ValueKind::state, .host_visible = host_visible});
    if (!by_name_.emplace(name, id).second) throw Error(ErrorKind::usage, "graph: two values are called " + name);
    return {this, id};
}

void Graph::output(const std::string& name, Tensor tensor) {
    if (!outputs_.emplace(name, tensor.id()).second)
        throw Error(ErrorKind::usage, "graph: two outputs are called " + name);
}

Tensor Graph::reshape(Tensor tensor, Shape shape, SourceLocation where) {
    if (tensor.shape() == shape) return tensor;
    if (tensor.shape().elements() != shape.elements())
        throw Error(
            ErrorKind::usage,
            at(where) + "reshape: " + tensor.shape().text() + " has another number of elements than " + shape.text(),
            where);
    return {this, add_value({.type = {shape, tensor.dtype()}, .kind = ValueKind::view, .alias = tensor.id()})};
}

Graph::Scope::Scope(Graph& graph, std::string prefix) : graph_(graph), length_(graph.scope_.size()) {
    graph.scope_ += prefix;
}
Graph::Scope::~Scope() { graph_.scope_.resize(length_); }

std::vector<Tensor> Graph::call(const OpDef& op, std::vector<Tensor> inputs, Attrs attrs, SourceLocation where) {
    OpCall call{.op = &op, .attrs = attrs, .inputs = {}, .outputs = {}, .where = where, .scope = scope_};
    Node node{.op = &op,
              .inputs = {},
              .outputs = {},
              .attrs = std::move(attrs),
              .scope = scope_,
              .where = where,
              .segment = static_cast<int>(segments_.size()) - 1};
    for (const Tensor& tensor : inputs) {
        if (tensor && &tensor.graph() != this) call.fail("an operand belongs to another graph");
        node.inputs.push_back(tensor ? tensor.id() : -1);
        call.inputs.push_back(tensor ? std::optional<TensorType>(tensor.type()) : std::nullopt);
    }
    if (inputs.size() > op.operands.size())
        call.fail(format("%zu operands are given, but it takes at most %zu", inputs.size(), op.operands.size()));
    node.inputs.resize(op.operands.size(), -1);
    call.inputs.resize(op.operands.size());
    std::vector<Tensor> results;
    for (const TensorType& type : op.infer(call)) {
        if (type.shape.elements() >= std::int64_t{1} << 31)
            call.fail("the result would be " + type.text() + "; kernels index up to 2^31 - 1 elements of a tensor");
        const int aliased = op.alias_of(results.size());
        if (aliased >= std::ssize(node.inputs))
            call.fail(format("result %zu takes over operand %d, but there are %zu", results.size(), aliased,
                             node.inputs.size()));
        const int alias = aliased >= 0 ? node.inputs[static_cast<std::size_t>(aliased)] : -1;
        node.outputs.push_back(add_value(
            {.type = type, .kind = ValueKind::node, .node = static_cast<int>(nodes_.size()), .alias = alias}));
        results.emplace_back(this, node.outputs.back());
    }
    nodes_.push_back(std::move(node));
    return results;
}

}  // namespace vantage
