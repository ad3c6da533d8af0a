#include "runtime/conform/oracle_positions.h"

#include <algorithm>

#include "vantage/ops.h"

namespace vantage::internal::oracle {

namespace {

Calls map_sinusoidal(OracleReader& r) {
    const std::int64_t n = r.integer("n", 0), dim = r.integer("dim", 0);
    const std::string layout = r.text("layout", "interleaved");
    if (layout != "interleaved" && layout != "concat")
        throw Error(ErrorKind::unsupported, "layout = " + layout + " of " + r.op());
    const std::vector<float> table = sinusoidal_table(n, dim, r.number("base", 10000), layout == "interleaved");
    OracleCall call = host_call("sinusoidal_positions", host_tensor({n, dim}, table));
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

RopeScaling scaling_of(OracleReader& r) {
    RopeScaling s;
    s.attention_factor = r.number("attention_factor", 0);
    const Json* object = r.object("scaling");
    if (object == nullptr) return s;
    const JsonFields fields(*object, "ops.json", "scaling");
    s.type = fields.text("type");
    for (const auto& [key, value] : object->items()) {
        if (value.is_null()) continue;
        if (key == "factor")
            s.factor = fields.number(key);
        else if (key == "low_freq_factor")
            s.low_freq_factor = fields.number(key);
        else if (key == "high_freq_factor")
            s.high_freq_factor = fields.number(key);
        else if (key == "beta_fast")
            s.beta_fast = fields.number(key);
        else if (key == "beta_slow")
            s.beta_slow = fields.number(key);
        else if (key == "attention_factor")
            s.attention_factor = fields.number(key);
        else if (key == "truncate")
            s.truncate = fields.flag(key);
        else if (key == "original_max_position_embeddings")
            s.original_context = fields.integer(key);
        else if (key != "type")
            throw Error(ErrorKind::unsupported, "option scaling." + key + " of rope");
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
    if (layout != "neox" && layout != "gptj") throw Error(ErrorKind::unsupported, "layout = " + layout + " of rope");
    const std::int64_t rotary = r.integer("rotary_dim", x.type.shape[-1]);
    const double theta = r.number("theta", 10000);
    const RopeScaling scaling = scaling_of(r);
    double last = 0;
    for (double position : positions.data) last = std::max(last, position);
    const HostTensor table = table_of(static_cast<std::int64_t>(last) + 1, rotary, theta, scaling);
    OracleCall call =
        call_of("rope", {x, table, positions}, {{"heads_first", true}, {"interleaved", layout == "gptj"}});
    expect_result(call, 0, "y", r.wanted("y"));
    Calls calls = one(std::move(call));
    if (r.wants("inv_freq")) {
        calls.push_back(
            host_call("rope_frequencies", host_tensor({rotary / 2}, rope_frequencies(rotary, theta, scaling))));
        expect_result(calls.back(), 0, "inv_freq", r.wanted("inv_freq"));
    }
    return calls;
}

Calls map_embedding(OracleReader& r) {
    OracleCall call = call_of("embedding", {r.exact("ids"), r.floats("w"), r.optional_floats("positions")},
                              {{"scale", r.number("scale", 1)},
                               {"position_offset", r.integer("position_offset", 0)},
                               {"dtype", std::string(name_of(r.storage()))}});
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

Calls map_heads(OracleReader& r) {
    const Attrs attrs = r.op() == "split_heads" ? Attrs{{"heads", r.integer("heads", 1)}} : Attrs{};
    OracleCall call = call_of(r.op().c_str(), {r.floats("x")}, attrs);
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

Calls map_split_qkv(OracleReader& r) {
    const std::int64_t heads = r.integer("heads", 1);
    OracleCall call = call_of("split_qkv", {r.floats("x")},
                              {{"heads", heads},
                               {"kv_heads", r.integer("kv_heads", heads)},
                               {"layout", r.text("layout", "concat")},
                               {"heads_first", true}});
    int output = 0;
    for (const char* name : {"q", "k", "v"}) expect_result(call, output++, name, r.wanted(name));
    return one(std::move(call));
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
