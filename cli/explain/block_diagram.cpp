#include "cli/explain/block_diagram.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "cli/explain/explain_figures.h"
#include "cli/shared/terminal_page.h"
#include "runtime/base/at.h"
#include "runtime/base/interrupt.h"
#include "runtime/graph/schedule.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/attention_rules.h"
#include "runtime/ops/begin_step.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/embedding.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/mark_seen.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/rms_norm.h"
#include "runtime/ops/rope.h"
#include "runtime/ops/sample.h"
#include "runtime/ops/split_qkv.h"
#include "runtime/ops/swiglu.h"
#include "runtime/ops/write.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

using Kind = FlowBox::Kind;

/// Ops that are not drawn: what they return is drawn as what they were given, or not at all.
bool is_plumbing(const Node& node) {
    return node.op == &begin_step_op || node.op == &mark_seen_op || node.op == &write_op;
}

/// Nodes that follow each other in one layer, or outside of layers (empty name).
struct Part {
    std::string layer;  // "h.3."
    std::vector<int> nodes;
};

/// A section of the chart, and where its values are.
struct Section {
    FlowSection drawn;
    std::map<int, int> box_of_node;  // node → box
    std::string signature;           // equal in layers that are alike
    int last = -1;                   // the node whose result the next part reads
};

class Diagram {
public:
    Diagram(const Graph& graph, std::int64_t rows) : graph_(graph), rows_(rows) {
        std::vector<Part> parts;
        for (const int node : live_nodes(graph)) {
            if (is_plumbing(at(graph.nodes(), node))) continue;
            const std::string layer = layer_of(at(graph.nodes(), node).scope);
            if (parts.empty() || parts.back().layer != layer) parts.push_back({layer, {}});
            parts.back().nodes.push_back(node);
        }
        for (std::size_t n = 0; n < graph.nodes().size(); ++n) note_reads(static_cast<int>(n));
        for (const Part& part : parts) {
            throw_if_interrupted();
            add(part);
        }
    }

    /// Runs of equal layers become one section.
    FlowColumn column(std::string title) {
        FlowColumn made{.title = std::move(title), .sections = {}};
        for (std::size_t first = 0; first < sections_.size();) {
            std::size_t last = first + 1;
            while (last < sections_.size() && !names_[first].empty() &&
                   stem_of(names_[first]) == stem_of(names_[last]) &&
                   sections_[first].signature == sections_[last].signature)
                ++last;
            FlowSection& section = made.sections.emplace_back(std::move(sections_[first].drawn));
            place_[first] = static_cast<int>(made.sections.size()) - 1;
            if (!names_[first].empty()) {
                section.times = static_cast<int>(last - first);
                section.name =
                    without_dot(names_[first]) +
                    (last - first > 1 ? " … " + without_dot(names_[last - 1]).substr(stem_of(names_[last - 1]).size())
                                      : "");
            }
            first = last;
        }
        return made;
    }

    /// Boxes that read a state of this beginning, or whose result is written to one: (section, box).
    std::vector<std::pair<int, int>> readers(const std::string& state) const { return found(read_states_, state); }
    std::vector<std::pair<int, int>> writers(const std::string& state) const { return found(written_states_, state); }

private:
    using States = std::vector<std::tuple<std::string, std::size_t, int>>;  // name, section before runs are joined, box

    static std::string without_dot(const std::string& layer) { return layer.substr(0, layer.size() - 1); }
    /// "h." of "h.3.".
    static std::string stem_of(const std::string& layer) {
        return layer.substr(0, layer.rfind('.', layer.size() - 2) + 1);
    }

    std::vector<std::pair<int, int>> found(const States& states, const std::string& name) const {
        std::vector<std::pair<int, int>> places;
        for (const auto& [state, section, box] : states)
            if (state.starts_with(name))
                if (const auto place = place_.find(section); place != place_.end())
                    places.emplace_back(place->second, box);
        return places;
    }

    /// The value of a drawn node that this one is, through views and what is not drawn; -1: none.
    int value_behind(int id) const {
        while (id >= 0) {
            const Value& value = graph_.value(id);
            if (value.kind == ValueKind::view) {
                id = value.alias;
                continue;
            }
            if (value.node < 0) return -1;
            const Node& node = at(graph_.nodes(), value.node);
            if (!is_plumbing(node)) return id;
            id = node.op == &write_op ? node.inputs[ops::write::rows_] : -1;
        }
        return -1;
    }
    /// The node that computes it; -1: none.
    int source(int id) const {
        const int value = value_behind(id);
        return value < 0 ? -1 : graph_.value(value).node;
    }

    /// "n", or "2n" where each token has two rows (experts).
    std::string rows_text(std::int64_t count) const {
        if (count == 0 || count % rows_ != 0 || rows_ == 1) return std::to_string(count);
        return (count == rows_ ? "" : std::to_string(count / rows_)) + "n";
    }
    std::string shape_text(int id) const {
        std::string text;
        const Shape& shape = graph_.value(id).type.shape;
        for (int axis = 0; axis < shape.rank(); ++axis)
            text += (axis > 0 ? ", " : "[") + (axis == 0 ? rows_text(shape[axis]) : std::to_string(shape[axis]));
        return text + "]";
    }
    /// The shape of an operand as it is read. Attention sees one sequence of several: that dimension is left out.
    std::string operand_shape(const Node& node, int id) const {
        const Shape& shape = graph_.value(id).type.shape;
        if (node.op != &attention_op || shape.rank() != 4) return shape_text(id);
        return format("[{}, {}, {}]", rows_text(shape[1]), shape[2], shape[3]);
    }

    FlowBox box_of(const Node& node, const std::string& layer) const;
    std::string weights_of(const Node& node, const std::string& layer) const;

    void add(const Part& part) {
        Section section;
        const std::size_t index = sections_.size();
        std::map<std::string, int> data;  // boxes of states that are read
        for (const int n : part.nodes) {
            const Node& node = at(graph_.nodes(), n);
            std::vector<FlowEdge> edges;
            std::set<int> read;  // one edge for each value
            for (const int input : node.inputs) {
                if (input < 0) continue;
                if (const int value = value_behind(input); value >= 0 && !read.insert(value).second) continue;
                const Value& stored = graph_.value(graph_.storage(input));
                const int from = source(input);
                if (from < 0) {
                    const std::string name = data_name(stored);
                    if (name.empty()) continue;
                    if (data.count(name) == 0) {
                        data[name] = static_cast<int>(section.drawn.boxes.size());
                        section.drawn.boxes.push_back({Kind::data, name, ""});
                    }
                    if (stored.name.find(".cross.") != std::string::npos)
                        read_states_.emplace_back(stored.name, index, data[name]);
                    edges.push_back({data[name], 0, data_shape(node, input, stored)});
                } else if (const auto known = section.box_of_node.find(from); known != section.box_of_node.end()) {
                    edges.push_back({known->second, 0, operand_shape(node, input)});
                } else if (from == previous_) {
                    edges.push_back({-1, 0, operand_shape(node, input)});
                }
            }
            const int box = static_cast<int>(section.drawn.boxes.size());
            section.drawn.boxes.push_back(box_of(node, part.layer));
            section.box_of_node[n] = box;
            for (FlowEdge& edge : edges) {
                edge.to = box;
                section.drawn.edges.push_back(edge);
            }
        }
        add_results(part, section, index);
        for (const FlowBox& box : section.drawn.boxes) section.signature += box.title + "|" + box.note + "\n";
        for (const FlowEdge& edge : section.drawn.edges)
            section.signature += format("{} {} {}\n", edge.from, edge.to, edge.label);
        sections_.push_back(std::move(section));
        names_.push_back(part.layer);
    }

    /// The edge to the next part, outputs of the graph, and what the encoder writes for the decoder.
    void add_results(const Part& part, Section& section, std::size_t index) {
        const std::set<int> own(part.nodes.begin(), part.nodes.end());
        int last = -1, last_value = -1;
        for (const int n : part.nodes)
            for (const int result : at(graph_.nodes(), n).outputs)
                if (is_read_later(result, own)) last = n, last_value = result;
        const auto sink = [&](int node, const std::string& name, int value) {
            const int box = static_cast<int>(section.drawn.boxes.size());
            section.drawn.boxes.push_back({Kind::data, name, ""});
            section.drawn.edges.push_back({section.box_of_node.at(node), box, shape_text(value)});
            return box;
        };
        for (const auto& [name, id] : graph_.outputs())
            if (const int node = source(id); own.count(node) > 0 && node != last) sink(node, name, id);
        for (const int write : cross_writes_) {
            const Node& node = at(graph_.nodes(), write);
            const std::string& state = graph_.value(graph_.storage(node.inputs[ops::write::state_])).name;
            const int from = source(node.inputs[ops::write::rows_]);
            if (own.count(from) == 0) continue;
            written_states_.emplace_back(
                state, index,
                sink(from, state.starts_with("cache.k.") ? "keys" : "values", node.inputs[ops::write::rows_]));
        }
        if (last < 0) return;  // what was there before goes on
        section.drawn.edges.push_back({section.box_of_node.at(last), -1, shape_text(last_value)});
        previous_ = last;
    }

    bool is_read_later(int value, const std::set<int>& own) const {
        const auto found = readers_.find(value);
        return found != readers_.end() &&
               std::ranges::any_of(found->second, [&](int node) { return own.count(node) == 0; });
    }
    void note_reads(int index) {
        const Node& node = at(graph_.nodes(), index);
        if (node.op == &write_op &&
            graph_.value(graph_.storage(node.inputs[ops::write::state_])).name.find(".cross.") != std::string::npos)
            cross_writes_.push_back(index);
        if (is_plumbing(node)) return;
        for (const int input : node.inputs)
            if (input >= 0 && !is_side_input(node, input)) readers_[value_behind(input)].push_back(index);
    }
    /// Tables of biases, which all layers share.
    bool is_side_input(const Node& node, int input) const {
        return node.op == &attention_op &&
               (input == node.inputs[ops::attention::position_bias_] || input == node.inputs[ops::attention::sinks_]);
    }

    /// What a state is called in the chart; empty: it is not drawn.
    static std::string data_name(const Value& value) {
        if (value.kind != ValueKind::state) return "";
        if (value.name == model_names::tokens || value.name == model_names::source_tokens) return "tokens";
        if (value.name == model_names::types) return "token types";
        if (value.name == model_names::positions) return "positions";
        if (value.name == model_names::pixels) return "pixels";
        if (value.name.starts_with("cache.k.cross.")) return "keys of the encoder";
        if (value.name.starts_with("cache.v.cross.")) return "values of the encoder";
        return "";
    }
    std::string data_shape(const Node& node, int input, const Value& value) const {
        if (value.type.dtype == DType::i32) return "[n]";
        return node.op == &attention_op ? operand_shape(node, input) : shape_text(input);
    }

    const Graph& graph_;
    std::int64_t rows_;
    std::vector<Section> sections_;
    std::vector<std::string> names_;
    std::map<std::size_t, int> place_;  // of sections in the column
    States read_states_, written_states_;
    std::map<int, std::vector<int>> readers_;  // by value: the drawn nodes
    std::vector<int> cross_writes_;            // of the encoder's keys and values
    int previous_ = -1;                        // the node whose result the next part reads
};

std::string Diagram::weights_of(const Node& node, const std::string& layer) const {
    std::string names;
    for (const int input : node.inputs) {
        if (input < 0) continue;
        const Value& value = graph_.value(graph_.storage(input));
        if (value.kind != ValueKind::weight || value.name.ends_with("bias") || value.name.ends_with("beta")) continue;
        std::string name = value.name.starts_with(layer) ? value.name.substr(layer.size()) : value.name;
        if (name.ends_with(".weight")) name.resize(name.size() - 7);
        names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

FlowBox Diagram::box_of(const Node& node, const std::string& layer) const {
    const std::string weights = weights_of(node, layer);
    if (node.op == &add_op)
        return {node.inputs[1] >= 0 && source(node.inputs[1]) < 0 ? Kind::other : Kind::sum, "add", weights};
    if (node.op == &matmul_op) return {Kind::linear, weights.empty() ? "product" : "Linear", weights};
    if (node.op == &layer_norm_op) return {Kind::norm, "LayerNorm", weights};
    if (node.op == &rms_norm_op) return {Kind::norm, "RMSNorm", weights};
    if (node.op == &embedding_op) return {Kind::linear, "Embedding", weights};
    if (node.op == &activation_op) return {Kind::activation, node.attrs.text("kind"), ""};
    if (node.op == &swiglu_op) return {Kind::activation, "gated " + node.attrs.text("kind", "silu"), ""};
    if (node.op == &rope_op) return {Kind::other, "rotate", "by position"};
    if (node.op == &split_qkv_op) return {Kind::other, "split", "q, k, v"};
    if (node.op == &sample_op) return {Kind::other, "sample", "the next token"};
    if (node.op == &attention_op) {
        const AttentionRules rules(node.attrs);
        const Shape& q = graph_.value(node.inputs[ops::attention::q_]).type.shape;
        const Shape& k = graph_.value(node.inputs[ops::attention::k_]).type.shape;
        std::string note = format("{} heads × {}", q[-2], q[-1]);
        if (k[-2] != q[-2]) note += format(", {} of keys", k[-2]);
        if (rules.causal) note += ", causal";
        if (rules.left) note += format(", window {}", *rules.left + 1);
        if (rules.block > 0) note += format(", blocks of {}", rules.block);
        if (rules.softcap > 0) note += ", soft-cap";
        if (node.inputs[ops::attention::position_bias_] >= 0) note += ", position bias";
        if (node.inputs[ops::attention::sinks_] >= 0) note += ", sinks";
        return {Kind::attention, "Attention", note};
    }
    std::string title = node.op->name;
    std::ranges::replace(title, '_', ' ');
    return {Kind::other, title, weights};
}

}  // namespace

FlowChart block_diagram(const Model& model) {
    const ModelConfig& config = config_of(model);
    // a size that no other dimension is likely to have; an image has one length
    const std::int64_t tokens = config.is_vision() ? config.context : std::min<std::int64_t>(config.context, 61);
    const ModelInfo& info = model.info();
    FlowChart chart{
        .title = info.name == info.architecture ? info.name : format("{}: {}", info.name, info.architecture),
        .caption = format("{} layers, width {}, {} heads, {} parameters; shapes for n tokens{}", info.layers,
                          info.width, info.heads, count_text(static_cast<double>(info.parameters)),
                          config.is_vision() ? format(" (n = {})", tokens) : ""),
        .columns = {},
        .links = {}};
    const auto graph = [&](bool encoder) {
        return graph_of(model, {.rows = tokens,
                                .context = tokens,
                                .encoder = encoder,
                                .all_logits = config.kind != ModelKind::encoder && !encoder});
    };
    if (config.kind != ModelKind::encoder_decoder) {
        const Graph one = graph(false);
        Diagram diagram(one, tokens);
        chart.columns.push_back(diagram.column(""));
        return chart;
    }
    const Graph read = graph(true), written = graph(false);
    Diagram encoder(read, tokens), decoder(written, tokens);
    chart.columns.push_back(encoder.column("encoder"));
    chart.columns.push_back(decoder.column("decoder"));
    for (const char* state : {"cache.k.cross.", "cache.v.cross."}) {
        const auto from = encoder.writers(state), to = decoder.readers(state);
        if (!from.empty() && !to.empty())
            chart.links.push_back(
                {{0, from.front().first, from.front().second}, {1, to.front().first, to.front().second}});
    }
    return chart;
}

}  // namespace vantage::cli
