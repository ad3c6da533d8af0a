// A recurrent encoder–decoder with attention, with a config.json defined by Vantage (docs/models.md).
//   encoder  x = embed[token];  layers in one direction or both:  h_j = [→h_j; ←h_j];
//            s_0 = tanh(W h_last + b) or h_last
//   bahdanau:  α_t = softmax_j(v·tanh(W_a s_{t-1} + U_a h_j + b)),  c_t = Σ α_tj h_j,
//              s_t = cell([embed[y_t]; c_t], s_{t-1})
//   luong:     s_t = cell(embed[y_t], s_{t-1}),  α_t = softmax_j(score(s_t, h_j)),  c_t = Σ α_tj h_j,
//              score: s·h (dot), s·W_a h (general), v·tanh(W_a [s; h]) (concat);
//              with input feeding [embed[y_t]; t_{t-1}]
//   output     t_t = tanh(W_c [c_t; s_t] + b),  logits = W t_t + b;  without attention t_t = s_t
// s_t is the state of the highest layer. Attention of Bahdanau and input feeding depend on the row before, so a run has
// one row of each sequence: the state is then of the cache, and all is as in any other decoder.
// Sutskever, Vinyals, Le, "Sequence to Sequence Learning with Neural Networks" (2014); Bahdanau, Cho, Bengio, "Neural
// Machine Translation by Jointly Learning to Align and Translate" (2014), whose maxout layer is not here; Luong, Pham,
// Manning, "Effective Approaches to Attention-based Neural Machine Translation" (2015), global attention.
#include "runtime/models/recurrent.h"

namespace vantage::internal {

namespace {

bool attends(const ModelConfig& c) { return c.own.text("attention") != "none"; }
bool is_additive(const ModelConfig& c) {
    return c.own.text("attention") == "bahdanau" || c.own.text("attention") == "concat";
}

void read_attention(const JsonFields& fields, ModelConfig& c) {
    const std::string attention = fields.optional_text("attention").value_or("general");
    bool known = false;
    for (const char* name : {"none", "bahdanau", "dot", "general", "concat"}) known = known || attention == name;
    if (!known) fields.fail("attention", "none, bahdanau, dot, general or concat");
    if (attention == "dot" && c.encoder.width != c.width)
        fields.fail("attention",
                    format("one with weights: states of the encoder have {} features, those of the decoder "
                           "{}, and dot multiplies them",
                           c.encoder.width, c.width));
    const bool feeds = fields.optional_flag("input_feeding").value_or(false);
    if (feeds && (attention == "none" || attention == "bahdanau"))
        fields.fail("input_feeding", "false: it feeds the output of dot, general or concat attention");
    c.own.set("attention", attention);
    c.own.set("attention_size", fields.optional_integer("attention_size", 1, max_units).value_or(c.width));
    c.own.set("input_feeding", feeds);
    c.row_by_row = feeds || attention == "bahdanau";
}

void read_seq2seq(const JsonFields& fields, ModelConfig& c) {
    c.kind = ModelKind::encoder_decoder;
    read_recurrent(fields, c, "num_layers");
    const bool both = fields.optional_flag("bidirectional").value_or(false);
    const std::int64_t units = fields.optional_integer("encoder_hidden_size", 1, max_units).value_or(c.width);
    c.encoder = {.layers = c.layers, .heads = 1, .inner = gates_of(c) * units, .width = both ? 2 * units : units};
    const std::string bridge = fields.optional_text("bridge").value_or(!both && units == c.width ? "copy" : "dense");
    if (bridge != "copy" && bridge != "dense") fields.fail("bridge", "copy or dense");
    if (bridge == "copy" && c.encoder.width != c.width)
        fields.fail("bridge", format("dense: states of the encoder have {} features, those of the decoder {}",
                                     c.encoder.width, c.width));
    c.own.set("bidirectional", both);
    c.own.set("encoder_units", units);
    c.own.set("bridge", bridge);
    read_attention(fields, c);
    c.cross_layers = attends(c) ? 1 : 0;
    read_start(fields, c, 0);
}

Tensor words_of(ModelBuilder& d) {
    return d.graph.weight("embed_tokens.weight", {d.config.vocab, d.config.own.integer("embedding")});
}

// ---- the encoder ----------------------------------------------------------------------------------------------------

// In a training run texts turned round, which has no step that says where they end; else rows as they are.
using Backwards = std::function<Tensor(Tensor rows)>;
Backwards backwards_of(ModelBuilder& d) {
    if (!d.trains()) return [](Tensor rows) { return rows; };
    const Tensor rows = d.training_input(model_names::source_backwards, {d.options.sequences * d.options.rows});
    return [rows](Tensor x) { return embedding(rows, x); };
}

// The outputs of a layer and its last states [sequences, E]: of the backward direction those of the first row.
struct EncoderLayer {
    Tensor outputs, h, c;
};
EncoderLayer encoder_layer(ModelBuilder& d, std::int64_t layer, Tensor x, const Backwards& backwards) {
    const std::int64_t units = d.config.own.integer("encoder_units");
    const std::string name = format("l{}", layer);
    const RecurrentResult forward = recurrent_layer(d, x, units, name);
    const auto last = [&](Tensor rows) { return d.trains() ? d.first_row(backwards(rows)) : last_row(rows, d.step); };
    EncoderLayer all{.outputs = forward.h, .h = last(forward.h), .c = {}};
    if (forward.c) all.c = last(forward.c);
    if (!d.config.own.flag("bidirectional")) return all;
    RecurrentResult backward = recurrent_layer(d, backwards(x), units, name + "_reverse", {.reverse = !d.trains()});
    backward.h = backwards(backward.h);
    if (backward.c) backward.c = backwards(backward.c);
    all.outputs = concat(all.outputs, backward.h, -1);
    all.h = concat(all.h, d.first_row(backward.h), -1);
    if (all.c) all.c = concat(all.c, d.first_row(backward.c), -1);
    return all;
}

// What the decoder's layers begin with.
void write_initial(ModelBuilder& d, const std::string& name, Tensor last, bool squashed) {
    Tensor row = last;
    if (d.config.own.text("bridge") == "dense") {
        row = d.dense("bridge." + name, last, d.config.width, true);
        if (squashed) row = activate(row, Activation::tanh);
    }
    if (d.trains())
        d.options.training->offered[initial_state(name)] = row;
    else
        write(d.graph.state(initial_state(name), row.shape(), DType::f32), row, d.step);
}

void build_seq2seq_encoder(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    Tensor x = d.embed(words_of(d));
    const Backwards backwards = backwards_of(d);
    std::vector<EncoderLayer> layers;
    {
        const Graph::Scope scope = d.graph.scope("encoder.rnn");
        for (std::int64_t layer = 0; layer < c.layers; ++layer) {
            note_hidden(d, layer, x, c.encoder.width);
            layers.push_back(encoder_layer(d, layer, x, backwards));
            x = layers.back().outputs;
        }
    }
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        write_initial(d, format("h.{}", layer), layers[layer].h, true);
        if (layers[layer].c) write_initial(d, format("c.{}", layer), layers[layer].c, false);
    }
    if (attends(c)) {
        Tensor keys = x;
        if (c.own.text("attention") != "dot")
            keys =
                d.dense("attention.key", x, is_additive(c) ? c.own.integer("attention_size") : c.width, is_additive(c));
        d.write_cross_kv(0, d.heads(keys, 1), d.heads(x, 1));
    }
    d.finish_encoder(x);
}

// ---- the decoder ----------------------------------------------------------------------------------------------------

// c_t for states s of the decoder [n, width] → [n, E].
Tensor context_of(ModelBuilder& d, Tensor s) {
    const ModelConfig& c = d.config;
    if (!is_additive(c)) return d.align(s, c.encoder.width);
    const std::int64_t size = c.own.integer("attention_size");
    return d.align(d.dense("attention.query", s, size, false), c.encoder.width,
                   d.graph.reshape(d.graph.weight("attention.score.weight", {1, size}), {size}));
}

// The layers and the attention, over rows of embeddings.
struct AttentiveDecoder {
    RecurrentStates states;
    KeptState fed = {};

    Tensor operator()(ModelBuilder& d, Tensor x) {
        const ModelConfig& c = d.config;
        const bool before = c.own.text("attention") == "bahdanau", feeds = c.own.flag("input_feeding");
        Tensor context;
        if (before) x = concat(x, context = context_of(d, states.h.back().before), -1);
        if (feeds) x = concat(x, fed.before, -1);
        {
            const Graph::Scope scope = d.graph.scope("decoder");
            x = recurrent_layers(d, x, states);
        }
        if (attends(c) && !before) context = context_of(d, x);
        if (context) x = activate(d.dense("combine", concat(context, x, -1), c.width, true), Activation::tanh);
        if (feeds) keep(d, fed, x);
        return x;
    }
    // Of a training run whose rows need the row before: each row of all sequences is a part of the graph.
    Tensor by_row(ModelBuilder& d, Tensor x) {
        const std::int64_t sequences = d.options.sequences, rows = d.options.rows, width = d.config.width;
        const auto zeros = [=] { return std::vector<float>(static_cast<std::size_t>(sequences * width)); };
        if (d.config.own.flag("input_feeding")) fed.before = d.graph.constant("nothing fed", {sequences, width}, zeros);
        std::vector<Tensor> all;
        for (std::int64_t row = 0; row < rows; ++row) {
            std::vector<std::int32_t> numbers;
            for (std::int64_t lane = 0; lane < sequences; ++lane)
                numbers.push_back(static_cast<std::int32_t>(lane * rows + row));
            all.push_back((*this)(d, embedding(d.integers(format("row {}", row), numbers), x)));
        }
        while (all.size() > 1) {  // [sequences, some rows * width]
            std::vector<Tensor> joined;
            for (std::size_t i = 0; i + 1 < all.size(); i += 2) joined.push_back(concat(all[i], all[i + 1], -1));
            if (all.size() % 2 != 0) joined.push_back(all.back());
            all = std::move(joined);
        }
        return d.graph.reshape(all.front(), {sequences * rows, width});
    }
};

void build_seq2seq(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor table = words_of(d);
    if (!d.trains()) d.source_length();  // a state of every encoder–decoder, read or not
    const Tensor x = d.embed(table);
    note_hidden(d, 0, x, c.width);
    AttentiveDecoder decoder{.states = recurrent_states(d, true)};
    if (c.own.flag("input_feeding")) decoder.fed = kept_state(d, "output", false);
    const Tensor seen = d.trains() && c.row_by_row ? decoder.by_row(d, x) : decoder(d, x);
    d.finish(
        seen, [](Tensor last) { return last; }, [&](Tensor last) { return d.output(last, table, "lm_head", true); });
}

Initializer initial_seq2seq(const ModelConfig& c, const NamedTensor& tensor) {
    const std::int64_t inputs = tensor.name == "lm_head.bias"   ? c.width
                                : tensor.name == "combine.bias" ? c.encoder.width + c.width
                                                                : c.encoder.width;  // of the bridge and of keys
    return initial_recurrent(c, tensor, inputs);
}

}  // namespace

const Architecture seq2seq("seq2seq", "Seq2Seq", {}, read_seq2seq, build_seq2seq,
                           {.build_encoder = build_seq2seq_encoder, .initial = {.rule = initial_seq2seq}});

}  // namespace vantage::internal
