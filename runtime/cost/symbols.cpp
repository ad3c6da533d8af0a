#include "runtime/cost/symbols.h"

namespace vantage::internal {

const std::vector<ModelSymbol>& model_symbols() {
    static const std::vector<ModelSymbol> all = {{'L', "layers"},
                                                 {'l', "layers of the encoder"},
                                                 {'d', "width"},
                                                 {'H', "heads"},
                                                 {'K', "key heads"},
                                                 {'D', "head width"},
                                                 {'f', "inner width"},
                                                 {'g', "inner width of the encoder"},
                                                 {'E', "experts"},
                                                 {'k', "experts of a token"},
                                                 {'V', "vocabulary"},
                                                 {'C', "context"},
                                                 {'b', "bytes of a cached number"}};
    return all;
}

SymbolValues symbol_values(const ModelConfig& c, DType cache) {
    return {{'L', c.layers},
            {'l', c.encoder.layers},
            {'d', c.width},
            {'H', c.heads},
            {'K', c.kv_heads},
            {'D', c.head_width},
            {'f', c.inner},
            {'g', c.encoder.inner},
            {'E', c.experts},
            {'k', c.experts_per_token},
            {'V', c.vocab},
            {'C', c.context},
            {'b', static_cast<std::int64_t>(info(cache).bytes)}};
}

Formula size_formula(const SymbolValues& values, std::int64_t size, std::string_view order) {
    const auto of = [&](char symbol) { return values.at(symbol); };
    for (const char symbol : order) {
        const Formula one = Formula::of(std::string(1, symbol));
        if (symbol == 'H' || symbol == 'K') {
            if (size == of(symbol) * of('D')) return one * Formula::of("D");
        } else if (symbol == 'h') {
            if (size == of('H')) return Formula::of("H");
        } else if (size == of(symbol)) {
            return one;
        } else if (symbol == 'f' && size == 2 * of('f')) {  // gate and up projections in one matrix
            return 2 * one;
        } else if (symbol == 'C' && size > of('C') && size <= of('C') + 4) {
            return one + (size - of('C'));
        }
    }
    return size;
}

SymbolValues encoder_values(const ModelConfig& c, DType cache) {
    ModelConfig encoder = c;
    encoder.layers = c.encoder.layers, encoder.heads = encoder.kv_heads = c.encoder.heads,
    encoder.inner = c.encoder.inner;
    encoder.head_width = c.heads * c.head_width / c.encoder.heads;
    return symbol_values(encoder, cache);
}

Formula closed_form(const ModelConfig& c, bool encoder, ModelRole role, const ByLayer& sum) {
    if (!encoder) return sum.sum(c.layers);
    const Formula m = Formula::of("m");
    if (is_cross_kv(role)) return sum.sum(c.layers).with('n', m);
    return sum.sum(c.encoder.layers).with('L', Formula::of("l")).with('f', Formula::of("g")).with('n', m);
}

std::string_view symbols_of(ModelRole role) {
    switch (role) {
        case ModelRole::embedding:
        case ModelRole::output:
        case ModelRole::heads: return "Vd";
        case ModelRole::positions: return "dC";
        case ModelRole::sinks: return "h";
        case ModelRole::cross_out:
        case ModelRole::attention_out: return "dH";
        case ModelRole::router: return "dE";
        case ModelRole::norms: return "dD";
        default: return "df";
    }
}

Formula columns_formula(const SymbolValues& values, const ModelRoles::Columns& columns) {
    if (columns.role == ModelRole::router) return Formula::of("E");
    const bool queries = columns.role == ModelRole::query || columns.role == ModelRole::cross_query;
    return size_formula(values, columns.count(), queries ? "dHK" : "dKH");
}

}  // namespace vantage::internal
