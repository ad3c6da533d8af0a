// A recurrent language model, with a config.json defined by Vantage (docs/models.md).
//   x = embed[token];  layer  x_t, state_t = cell(x_t, state_{t-1});  logits = W x + b
// Mikolov et al., "Recurrent Neural Network Based Language Model" (2010); Sundermeyer et al., "LSTM Neural Networks for
// Language Modeling" (2012).
#include "runtime/models/recurrent.h"

namespace vantage::internal {

void read_recurrent(const JsonFields& fields, ModelConfig& c, const char* layers_key) {
    c.recurrent = true;
    c.layers = fields.integer(layers_key, 1, max_layers);
    c.width = fields.integer("hidden_size", 1, max_units);
    c.heads = c.kv_heads = 1;
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(1024);
    c.tied = read_tied(fields, false);
    const std::int64_t embedding = fields.optional_integer("embedding_size", 1, max_units).value_or(c.width);
    if (c.tied && embedding != c.width)
        fields.fail("embedding_size", format("{}, the hidden_size, because the output layer is tied to it", c.width));
    const std::string cell = fields.optional_text("cell").value_or("lstm");
    if (cell != "rnn" && cell != "lstm" && cell != "gru") fields.fail("cell", "rnn, lstm or gru");
    c.own.set("embedding", embedding);
    c.own.set("cell", cell);
    c.inner = gates_of(c) * c.width;
}

RecurrentCell cell_of(const ModelConfig& config) {
    const std::string cell = config.own.text("cell");
    return cell == "rnn" ? RecurrentCell::rnn : cell == "gru" ? RecurrentCell::gru : RecurrentCell::lstm;
}

std::int64_t gates_of(const ModelConfig& config) {
    const RecurrentCell cell = cell_of(config);
    return cell == RecurrentCell::rnn ? 1 : cell == RecurrentCell::gru ? 3 : 4;
}

RecurrentResult recurrent_layer(ModelBuilder& d, Tensor x, std::int64_t units, const std::string& name,
                                RecurrentOptions how) {
    const std::int64_t gates = gates_of(d.config) * units;
    const auto weight = [&](const char* what, const Shape& shape) { return d.graph.weight(what + name, shape); };
    const Tensor products =
        linear_transposed(x, weight("weight_ih_", {gates, x.shape()[-1]}), weight("bias_ih_", {gates}));
    how.cell = cell_of(d.config), how.step = d.step;
    const RecurrentResult made =
        recurrent(d.apart(products), weight("weight_hh_", {gates, units}), weight("bias_hh_", {gates}), how);
    return {.h = d.together(made.h), .c = made.c ? d.together(made.c) : Tensor()};
}

std::string initial_state(const std::string& name) { return "initial." + name; }

KeptState kept_state(ModelBuilder& d, const std::string& name, bool has_initial) {
    const BuildOptions& o = d.options;
    d.refuse_documents();
    if (d.trains()) return {{}, has_initial ? o.training->offered.at(initial_state(name)) : Tensor()};
    const Tensor state = d.graph.state("cache." + name, {o.sequences * o.context, d.config.width}, DType::f32),
                 initial = has_initial ? d.graph.state(initial_state(name), {o.sequences, d.config.width}, DType::f32)
                                       : Tensor();
    return {state, row_before(state, initial, d.step)};
}

void keep(ModelBuilder& d, KeptState& kept, Tensor rows) {
    if (d.trains())
        kept.before = rows;
    else
        write(kept.state, rows, d.step);
}

RecurrentStates recurrent_states(ModelBuilder& d, bool has_initial) {
    RecurrentStates states;
    for (std::int64_t layer = 0; layer < d.config.layers; ++layer) {
        states.h.push_back(kept_state(d, format("h.{}", layer), has_initial));
        if (cell_of(d.config) == RecurrentCell::lstm)
            states.c.push_back(kept_state(d, format("c.{}", layer), has_initial));
    }
    return states;
}

void note_hidden(ModelBuilder& d, std::int64_t index, Tensor x, std::int64_t width) {
    if (d.options.hidden && x.shape()[-1] == width) d.graph.output(model_names::hidden(index), x);
}

Tensor recurrent_layers(ModelBuilder& d, Tensor x, RecurrentStates& states) {
    const Graph::Scope scope = d.graph.scope("rnn");
    const bool has_c = !states.c.empty();
    for (std::int64_t layer = 0; layer < d.config.layers; ++layer) {
        const auto i = static_cast<std::size_t>(layer);
        const RecurrentResult result =
            recurrent_layer(d, d.drop(x), d.config.width, format("l{}", layer),
                            {.h0 = states.h[i].before, .c0 = has_c ? states.c[i].before : Tensor()});
        keep(d, states.h[i], result.h);
        if (has_c) keep(d, states.c[i], result.c);
        x = result.h;
        if (layer + 1 < d.config.layers) note_hidden(d, layer + 1, x, d.config.width);
    }
    return x;
}

Initializer initial_recurrent(const ModelConfig& c, const NamedTensor& tensor, std::int64_t inputs) {
    if (tensor.name == "embed_tokens.weight") return normal_initializer(1);
    if (tensor.name.find("rnn.") != std::string::npos) return torch_initializer(tensor.shape[0] / gates_of(c));
    return torch_initializer(tensor.shape.rank() == 1 ? inputs : tensor.shape[-1]);
}

namespace {

void read_recurrent_lm(const JsonFields& fields, ModelConfig& c) { read_recurrent(fields, c, "num_hidden_layers"); }

void build_recurrent_lm(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor table = d.graph.weight("embed_tokens.weight", {c.vocab, c.own.integer("embedding")}),
                 first = d.embed(table);
    note_hidden(d, 0, first, c.width);
    RecurrentStates states = recurrent_states(d, false);
    d.finish(
        recurrent_layers(d, first, states), [](Tensor last) { return last; },
        [&](Tensor last) { return d.output(last, table, "lm_head", true); });
}

Initializer initial_recurrent_lm(const ModelConfig& c, const NamedTensor& tensor) {
    return initial_recurrent(c, tensor, c.width);
}

}  // namespace

const Architecture recurrent_lm("recurrent", "Recurrent", {}, read_recurrent_lm, build_recurrent_lm,
                                {.initial = {.rule = initial_recurrent_lm}});

}  // namespace vantage::internal
