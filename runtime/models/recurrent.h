// Recurrent layers in a model, whose states are in the cache: one row for each token, as keys and values are. So a
// sequence can be rewound, run in chunks and run beside others. Of the language model and of seq2seq.
#pragma once

#include <string>
#include <vector>

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

constexpr std::int64_t max_units = 16384;

/// vocab_size, embedding_size, hidden_size, cell, the number of layers under `layers_key`, max_position_embeddings and
/// tie_word_embeddings.
void read_recurrent(const JsonFields& fields, ModelConfig& config, const char* layers_key);
RecurrentCell cell_of(const ModelConfig& config);
std::int64_t gates_of(const ModelConfig& config);

/// A layer in one direction over the run's rows x [n, in] → [n, units]. Its weights have torch's names in the open
/// scope: weight_ih_NAME and so on.
RecurrentResult recurrent_layer(ModelBuilder& builder, Tensor x, std::int64_t units, const std::string& name,
                                RecurrentOptions how = {});

/// A state with a row [units] for each token, f32, and the row before the run's first. In a training run there is no
/// state; an empty row before is zeros.
struct KeptState {
    Tensor state, before;
};
/// `has_initial`: the row before the first token is in a state that an encoder writes; else it is zeros.
KeptState kept_state(ModelBuilder& builder, const std::string& name, bool has_initial);
std::string initial_state(const std::string& name);  ///< the name of that state, [sequences, units]
/// Keeps what the run's rows made: in the state, or in a training run as the row before the next ones.
void keep(ModelBuilder& builder, KeptState& kept, Tensor rows);

/// The states of a decoder's layers, and its layers over the rows x.
struct RecurrentStates {
    std::vector<KeptState> h, c;  ///< c of LSTMs
};
RecurrentStates recurrent_states(ModelBuilder& builder, bool has_initial);
Tensor recurrent_layers(ModelBuilder& builder, Tensor x, RecurrentStates& states);
/// As torch initialises its modules: embeddings are normal, layers uniform in ±1/√inputs, recurrent ones in ±1/√units.
/// `inputs` is the number of inputs of the layer of a bias.
Initializer initial_recurrent(const ModelConfig& config, const NamedTensor& tensor, std::int64_t inputs);
/// Notes a hidden state as ModelBuilder::blocks does, unless it has another width than the others (embeddings may).
void note_hidden(ModelBuilder& builder, std::int64_t index, Tensor x, std::int64_t width);

}  // namespace vantage::internal
