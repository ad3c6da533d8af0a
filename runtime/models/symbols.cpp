#include "runtime/models/symbols.h"

namespace vantage {

const std::vector<ModelSymbol>& model_symbols() {
    static const std::vector<ModelSymbol> all = {{'L', "layers"},
                                                 {'d', "width"},
                                                 {'H', "heads"},
                                                 {'K', "key heads"},
                                                 {'D', "head width"},
                                                 {'f', "inner width"},
                                                 {'E', "experts"},
                                                 {'k', "experts of a token"},
                                                 {'V', "vocabulary"},
                                                 {'C', "context"},
                                                 {'b', "bytes of a cached number"}};
    return all;
}

SymbolValues symbol_values(const ModelConfig& c, DType cache) {
    return {{'L', c.layers},
            {'d', c.width},
            {'H', c.heads},
            {'K', c.kv_heads},
            {'D', c.head_width},
            {'f', c.inner},
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
        } else if (symbol == 'f' && size == 2 * of('f')) {  // gate and up in one
            return 2 * one;
        } else if (symbol == 'C' && size > of('C') && size <= of('C') + 4) {
            return one + (size - of('C'));
        }
    }
    return size;
}

std::string_view symbols_of(Part part) {
    switch (part) {
        case Part::embedding:
        case Part::output:
        case Part::heads: return "Vd";
        case Part::positions: return "dC";
        case Part::sinks: return "h";
        case Part::attention_out: return "dH";
        case Part::router: return "dE";
        case Part::norms: return "dD";
        default: return "df";
    }
}

Formula columns_formula(const SymbolValues& values, const Parts::Columns& columns) {
    if (columns.part == Part::router) return Formula::of("E");
    return size_formula(values, columns.count(), columns.part == Part::query ? "dHK" : "dKH");
}

}  // namespace vantage
