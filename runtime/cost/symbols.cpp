#include "runtime/cost/symbols.h"

namespace vantage::internal {

const std::vector<ModelSymbol>& model_symbols() {
    using Config = const ModelConfig&;
    static const std::vector<ModelSymbol> all = {
        {'L', "layers", [](Config c) { return c.layers; }},
        {'l', "layers of the encoder", [](Config c) { return c.encoder.layers; }},
        {'d', "width", [](Config c) { return c.width; }},
        {'e', "width of the encoder", [](Config c) { return c.encoder_width() != c.width ? c.encoder_width() : 0; }},
        {'H', "heads", [](Config c) { return c.heads; }},
        {'K', "key heads", [](Config c) { return c.kv_heads; }},
        {'D', "head width", [](Config c) { return c.head_width; }},
        {'f', "inner width", [](Config c) { return c.inner; }},
        {'g', "inner width of the encoder", [](Config c) { return c.encoder.inner; }},
        {'S', "channels of a mixer",
         [](Config c) { return c.own.integer("channels") != c.inner ? c.own.integer("channels") : 0; }},
        {'N', "states of a channel", [](Config c) { return c.own.integer("states"); }},
        {'R', "rank of step sizes", [](Config c) { return c.own.integer("step_rank"); }},
        {'E', "experts", [](Config c) { return c.experts; }},
        {'k', "experts of a token", [](Config c) { return c.experts_per_token; }},
        {'V', "vocabulary", [](Config c) { return c.vocab; }},
        {'C', "context", [](Config c) { return c.context; }},
        {'b', "bytes of a cached number", nullptr}};
    return all;
}

SymbolValues symbol_values(const ModelConfig& config, DType cache) {
    SymbolValues values{{'b', cached_parts * info(cache).bytes / info(cache).elements}};
    for (const ModelSymbol& one : model_symbols())
        if (one.value != nullptr) values[one.symbol] = one.value(config);
    return values;
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
        } else if ((symbol == 'f' || symbol == 'S') && size == 2 * of(symbol)) {  // two projections in one matrix
            return 2 * one;
        } else if (symbol == 'C' && size > of('C') && size <= of('C') + 4) {
            return one + (size - of('C'));
        }
    }
    return size;
}

SymbolValues encoder_values(const ModelConfig& c, DType cache) {
    ModelConfig encoder = c;
    encoder.width = c.encoder_width();
    encoder.layers = c.encoder.layers, encoder.heads = encoder.kv_heads = c.encoder.heads,
    encoder.inner = c.encoder.inner;
    encoder.head_width = (c.encoder.width > 0 ? c.encoder.width : c.heads * c.head_width) / c.encoder.heads;
    return symbol_values(encoder, cache);
}

Formula closed_form(const ModelConfig& c, bool encoder, ModelRole role, const ByLayer& sum) {
    if (!encoder) return sum.sum(c.layers);
    const Formula m = Formula::of("m");
    const Formula width = Formula::of(c.encoder_width() == c.width ? "d" : "e");
    if (is_cross_kv(role)) return sum.sum(c.layers).with('d', width).with('n', m);
    return sum.sum(c.encoder.layers)
        .with('L', Formula::of("l"))
        .with('f', Formula::of("g"))
        .with('d', width)
        .with('n', m);
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
        case ModelRole::state_space: return "dSfNR";
        case ModelRole::norms: return "dDNR";
        default: return "df";
    }
}

Formula columns_formula(const SymbolValues& values, const ModelRoles::Columns& columns) {
    if (columns.role == ModelRole::router) return Formula::of("E");
    const bool queries = columns.role == ModelRole::query || columns.role == ModelRole::cross_query;
    return size_formula(values, columns.count(), queries ? "dHK" : "dKH");
}

}  // namespace vantage::internal
