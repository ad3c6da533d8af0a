// The symbols of formulas: sizes of a model and of a run.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/cost/formula.h"
#include "runtime/models/model_roles.h"

namespace vantage::internal {

/// L layers, d width, H heads of width D, K key-value heads, f inner width, V vocabulary, C context, E experts with k
/// per token; l layers, g inner width and, where it is another, e width of the encoder of an encoder–decoder. Of a run:
/// n tokens of a prompt or visible keys of a token, m encoder tokens, w window, b bytes per cached number.
struct ModelSymbol {
    char symbol;
    const char* meaning;
    std::int64_t (*value)(const ModelConfig&);  ///< null for b, which the cache's type decides
};
const std::vector<ModelSymbol>& model_symbols();
SymbolValues symbol_values(const ModelConfig& config, DType cache);
/// The encoder of an encoder–decoder, as a separate model.
SymbolValues encoder_values(const ModelConfig& config, DType cache);

/// `size` as the first symbol of `order` with this value, else as a number. In `order`, H and K mean H·D and K·D, and h
/// means H. Also finds 2·f, and C in tables with a few more rows.
Formula size_formula(const SymbolValues& values, std::int64_t size, std::string_view order);
/// The symbols that sizes of a role's weights can have, as `order` of size_formula.
std::string_view symbols_of(ModelRole role);
/// Columns of queries, keys or values: H·D and K·D, or d if they are equal to it.
Formula columns_formula(const SymbolValues& values, const ModelRoles::Columns& columns);

/// A sum over nodes, separated by whether they are in a layer.
struct ByLayer {
    Formula in_layers, outside;
    Formula sum(std::int64_t layers) const { return in_layers.in_units_of('L', layers) + outside; }
};
/// The sum over the nodes of one role, in the symbols of the whole model. In an encoder's graph l, g and m replace L, f
/// and n, except in the keys and values for cross-attention, which exist once per decoder layer.
Formula closed_form(const ModelConfig& config, bool encoder, ModelRole role, const ByLayer& sum);

}  // namespace vantage::internal
