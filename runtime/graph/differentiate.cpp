// Reverse-mode differentiation: walks from the loss back over the values of the graph, and calls the rule of each op
// once, when the gradients of all its results are known.
#include <algorithm>
#include <map>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/schedule.h"
#include "vantage/gradient.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

using namespace internal;

// Nodes of a rule, and of the sums that it is given, have the scope of the node that is differentiated: names of layers
// in messages and profiles.
class WithScope {
public:
    WithScope(Graph& graph, const std::string& scope) : data_(GraphAccess::data(graph)), before_(data_.scope) {
        data_.scope = scope;
    }
    ~WithScope() { data_.scope = before_; }
    WithScope(const WithScope&) = delete;
    WithScope& operator=(const WithScope&) = delete;

private:
    GraphData& data_;
    std::string before_;
};

class Differentiator {
public:
    Differentiator(Tensor loss, std::span<const Tensor> of, SourceLocation where)
        : graph_(loss.graph()), loss_(loss), where_(where) {
        find_dependents(of);
    }

    // Values are numbered in the order in which they are made: what uses a value has a larger number.
    std::vector<Tensor> run(std::span<const Tensor> of) {
        for (int id = loss_.id(); id >= 0; --id) {
            if (!at(depends_, id)) continue;
            const Value& value = graph_.value(id);
            if (value.kind == ValueKind::view)
                pass_view(id);
            else if (value.kind == ValueKind::node && at(graph_.nodes(), value.node).outputs.front() == id)
                pass_node(value.node);
        }
        std::vector<Tensor> results;
        for (const Tensor& x : of) results.push_back(gradient_of(x.id()));
        return results;
    }

private:
    // The values that depend on one of `of`.
    void find_dependents(std::span<const Tensor> of) {
        depends_.assign(graph_.values().size(), false);
        for (const Tensor& x : of) at(depends_, x.id()) = true;
        for (std::size_t id = 0; id < depends_.size(); ++id) {
            const Value& value = graph_.value(static_cast<int>(id));
            if (value.kind == ValueKind::view && !value.stops_gradient) {
                const auto hit = [&](int other) { return static_cast<bool>(at(depends_, other)); };
                if (value.given.empty() ? hit(value.alias)
                                        : std::ranges::any_of(value.given, hit, [](const auto& g) { return g.first; }))
                    depends_[id] = true;
            } else if (value.kind == ValueKind::node && is_float(value.type.dtype)) {
                const Node& node = at(graph_.nodes(), value.node);
                depends_[id] = depends_[id] ||
                               std::ranges::any_of(node.inputs, [&](int in) { return in >= 0 && at(depends_, in); });
            }
        }
    }

    Tensor tensor(int id) { return id < 0 ? Tensor() : GraphAccess::tensor(graph_, id); }

    // The sum of what was passed to a value; empty for zero. Of the loss it is 1.
    Tensor gradient_of(int id) {
        const auto found = parts_.find(id);
        if (id == loss_.id() && found == parts_.end())
            return graph_.constant(
                "one", graph_.value(id).type.shape, [] { return std::vector<float>{1}; }, where_);
        if (found == parts_.end()) return {};
        std::vector<Tensor>& parts = found->second;
        for (; parts.size() > 1; parts.erase(parts.begin() + 1)) parts[0] = add(parts[0], parts[1], where_);
        return parts[0];
    }

    void pass(int id, const Tensor& gradient) {
        if (gradient && at(depends_, id)) parts_[id].push_back(gradient);
    }

    void pass_view(int id) {
        const Value value = graph_.value(id);  // a copy: values may be added
        if (value.stops_gradient) return;
        if (value.given.empty()) {
            if (const Tensor g = gradient_of(id))
                pass(value.alias, graph_.reshape(g, graph_.value(value.alias).type.shape, where_));
            return;
        }
        if (id != loss_.id() && !parts_.contains(id)) return;
        for (const auto& [x, given] : value.given)
            if (at(depends_, x)) pass(x, is_one(id) ? tensor(given) : mul(tensor(given), gradient_of(id), where_));
    }

    // Whether a value's gradient is 1: of the loss, and of what is only added to others in it.
    bool is_one(int id) {
        if (id == loss_.id()) return true;
        return gradient_of(id).id() == gradient_of(loss_.id()).id();
    }

    void pass_node(int index) {
        const Node node = at(graph_.nodes(), index);  // a copy: nodes are added
        GradientCall given{.call = call_of(graph_, node), .where = node.where};
        given.call.scope = node.scope;
        const WithScope scope(graph_, node.scope);
        bool any = false, all_zero = true;
        for (const int id : node.outputs) {
            given.outputs.push_back(tensor(id));
            given.gradients.push_back(id == loss_.id() || parts_.contains(id) ? gradient_of(id) : Tensor());
            all_zero = all_zero && !given.gradients.back();
        }
        for (const int id : node.inputs) {
            given.inputs.push_back(tensor(id));
            given.needed.push_back(id >= 0 && at(depends_, id));
            any = any || given.needed.back();
        }
        if (!any || all_zero) return;
        if (node.op->gradient.rule == nullptr)
            given.call.fail(format("it has no gradient: {}", node.op->gradient.refusal));
        const std::vector<Tensor> results = node.op->gradient.rule(given);
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (!results[i] || !given.needed[i]) continue;
            if (results[i].shape() != given.inputs[i].shape())
                throw Error(ErrorKind::failure,
                            format("{}: the gradient of {} {} is {}", node.op->name, node.op->operands[i],
                                   given.inputs[i].type().text(), results[i].type().text()));
            pass(node.inputs[i], results[i]);
        }
    }

    Graph graph_;
    Tensor loss_;
    SourceLocation where_;
    std::vector<bool> depends_;                 // by value: on one of `of`
    std::map<int, std::vector<Tensor>> parts_;  // by value: what its uses passed to it, in the order of this walk
};

}  // namespace

std::vector<Tensor> gradients(Tensor loss, std::span<const Tensor> of, SourceLocation where) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorKind::usage, text_of(where) + "gradients: " + what, where);
    };
    if (!loss) fail("the loss is an empty tensor");
    if (loss.shape().elements() != 1 || loss.dtype() != DType::f32)
        fail("the loss is " + loss.type().text() + ", but must be f32 with one element");
    for (const Tensor& x : of) {
        if (!x) fail("one of the tensors is empty");
        if (!x.is_of(loss.graph())) fail("one of the tensors belongs to another graph");
        if (!is_float(x.dtype())) fail("one of the tensors is " + x.type().text() + ", but must be f32, f16 or bf16");
    }
    return Differentiator(loss, of, where).run(of);
}

Tensor stop_gradient(Tensor x, SourceLocation where) {
    if (!x) throw Error(ErrorKind::usage, text_of(where) + "stop_gradient: x is an empty tensor", where);
    Graph graph = x.graph();
    return GraphAccess::view(graph, x, {.stops_gradient = true}, where);
}

Tensor given_gradients(Tensor y, std::span<const GivenGradient> given, SourceLocation where) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorKind::usage, text_of(where) + "given_gradients: " + what, where);
    };
    if (!y) fail("y is an empty tensor");
    if (y.shape().elements() != 1) fail("y is " + y.type().text() + ", but must have one element");
    Graph graph = y.graph();
    Value view;
    for (const auto& [x, gradient] : given) {
        if (!x || !gradient || !x.is_of(graph) || !gradient.is_of(graph)) fail("x and gradient must be of y's graph");
        if (x.shape() != gradient.shape())
            fail("the gradient is " + gradient.type().text() + ", but x is " + x.type().text());
        view.given.emplace_back(x.id(), gradient.id());
    }
    return given.empty() ? stop_gradient(y, where) : GraphAccess::view(graph, y, std::move(view), where);
}

}  // namespace vantage
