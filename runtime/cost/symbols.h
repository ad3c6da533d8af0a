// Sizes of a model as the symbols of formulas.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/cost/formula.h"
#include "runtime/models/model_roles.h"

namespace vantage {

/// L layers, d width, H heads of width D, K of them for keys, f inner width, V vocabulary, C context, E experts of which a
/// token takes k; l layers and g inner width of an encoder–decoder's encoder. Of a run: n tokens (of a prompt) or keys (that a
/// token sees), m tokens that the encoder reads, w window, b bytes of a cached number.
struct ModelSymbol {
    char symbol;
    const char* meaning;
};
const std::vector<ModelSymbol>& model_symbols();
SymbolValues symbol_values(const ModelConfig& config, DType cache);
/// The encoder of an encoder–decoder as a model by itself.
SymbolValues encoder_values(const ModelConfig& config, DType cache);

/// `size` as the first symbol of `order` that has this value, else as a number. In `order` H and K stand for H·D and K·D, h for
/// H alone; f is found in 2·f, and C in a table with a few rows more.
Formula size_formula(const SymbolValues& values, std::int64_t size, std::string_view order);
/// The symbols among which the sizes of a part's weights are looked for.
std::string_view symbols_of(ModelRole role);
/// Columns of queries, keys or values: H·D and K·D, or d where they are as many.
Formula columns_formula(const SymbolValues& values, const ModelRoles::Columns& columns);

/// A sum over all nodes, in which what every layer has becomes L times that.
struct ByLayer {
    Formula in_layers, outside;
    Formula sum(std::int64_t layers) const { return in_layers.in_units_of('L', layers) + outside; }
};
/// The sum over one part's nodes of a graph, in the symbols of the whole model: in an encoder's graph l, g and m take the place
/// of L, f and n, but what it offers the decoder is there for each of the decoder's layers.
Formula closed_form(const ModelConfig& config, bool encoder, ModelRole role, const ByLayer& sum);

}  // namespace vantage
