#include "runtime/conform/oracle_positions.h"

#include "runtime/base/errors.h"
#include "vantage/ops.h"

namespace vantage::internal::oracle {

namespace {

Calls map_sinusoidal(OracleReader& r) {
    const std::int64_t n = r.integer("n", 0), dim = r.integer("dim", 0);
    r.require_table(static_cast<double>(n), static_cast<double>(dim));
    const std::string layout = r.text("layout", "interleaved");
    if (layout != "interleaved" && layout != "concat") throw unsupported_error("layout = " + layout + " of " + r.op());
    const std::vector<float> table = sinusoidal_table(n, dim, r.number("base", 10000), layout == "interleaved");
    return one(r, host_call("sinusoidal_positions", host_tensor({n, dim}, table)), "y");
}

RopeScaling scaling_of(OracleReader& r) {
    RopeScaling s;
    s.attention_factor = r.number("attention_factor", 0);
    const Json* object = r.object("scaling");
    if (object == nullptr) return s;
    const JsonFields fields(*object, "ops.json", "scaling");
    s.type = fields.text("type");
    static const std::map<std::string, double RopeScaling::*> numbers = {
        {"factor", &RopeScaling::factor},
        {"low_freq_factor", &RopeScaling::low_freq_factor},
        {"high_freq_factor", &RopeScaling::high_freq_factor},
        {"beta_fast", &RopeScaling::beta_fast},
        {"beta_slow", &RopeScaling::beta_slow},
        {"attention_factor", &RopeScaling::attention_factor}};
    for (const auto& [key, value] : object->items()) {
        if (value.is_null()) continue;
        if (const auto found = numbers.find(key); found != numbers.end())
            s.*found->second = fields.number(key);
        else if (key == "truncate")
            s.truncate = fields.flag(key);
        else if (key == "original_max_position_embeddings")
            s.original_context = fields.integer(key);
        else if (key != "type")
            throw unsupported_error("option scaling." + key + " of rope");
    }
    return s;
}

HostTensor table_of(std::int64_t positions, std::int64_t rotary_dim, double theta, const RopeScaling& scaling) {
    Graph graph;
    const Value& value = graph.value(rope_table(graph, positions, rotary_dim, theta, scaling).id());
    return widen(value.type, value.data());
}

Calls map_rope(OracleReader& r) {
    const HostTensor x = r.floats("x"), positions = r.exact("positions");
    const std::string layout = r.text("layout", "neox");
    if (layout != "neox" && layout != "gptj") throw unsupported_error("layout = " + layout + " of rope");
    const std::int64_t rotary = r.integer("rotary_dim", x.type.shape[-1]);
    const double theta = r.number("theta", 10000);
    const RopeScaling scaling = scaling_of(r);
    double last = 0;
    for (double position : positions.data) last = std::max(last, position);
    r.require_table(last + 1, static_cast<double>(rotary));
    const HostTensor table = table_of(static_cast<std::int64_t>(last) + 1, rotary, theta, scaling);
    Calls calls =
        one(r, call_of("rope", {x, table, positions}, {{"heads_first", true}, {"interleaved", layout == "gptj"}}), "y");
    if (r.wants("inv_freq")) {
        calls.push_back(
            host_call("rope_frequencies", host_tensor({rotary / 2}, rope_frequencies(rotary, theta, scaling))));
        expect_result(r, calls.back(), 0, "inv_freq");
    }
    return calls;
}

Calls map_embedding(OracleReader& r) {
    return one(r,
               call_of("embedding", {r.exact("ids"), r.floats("w"), r.optional_floats("positions")},
                       {{"scale", r.number("scale", 1)},
                        {"position_offset", r.integer("position_offset", 0)},
                        {"dtype", std::string(name_of(r.storage()))}}),
               "y");
}

Calls map_heads(OracleReader& r) {
    const Attrs attrs = r.op() == "split_heads" ? Attrs{{"heads", r.integer("heads", 1)}} : Attrs{};
    return one(r, call_of(r.op().c_str(), {r.floats("x")}, attrs), "y");
}

Calls map_split_qkv(OracleReader& r) {
    const std::int64_t heads = r.integer("heads", 1);
    OracleCall call = call_of("split_qkv", {r.floats("x")},
                              {{"heads", heads},
                               {"kv_heads", r.integer("kv_heads", heads)},
                               {"layout", r.text("layout", "concat")},
                               {"heads_first", true}});
    int output = 0;
    for (const char* name : {"q", "k", "v"}) expect_result(r, call, output++, name);
    return {call};
}

}  // namespace

const OracleMaps& position_maps() {
    static const OracleMaps maps = {
        {"sinusoidal_positions", map_sinusoidal},
        {"rope", map_rope},
        {"embedding", map_embedding},
        {"split_heads", map_heads},
        {"merge_heads", map_heads},
        {"split_qkv", map_split_qkv},
    };
    return maps;
}

}  // namespace vantage::internal::oracle
