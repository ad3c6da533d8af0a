// config.json and generation_config.json: the formats of transformers 4 and 5, and invalid files.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "expect_error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/models/config.h"

using namespace vantage;
using vantage::test::expect_error;

namespace {

ModelConfig read(const std::string& path) { return parse_model_config(read_file(path), path); }
std::string oracle(const std::string& file) { return VANTAGE_ROOT "/tests/data/oracle/models/" + file; }

const char* small_gpt2 =
    R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 48, "n_head": 3, "vocab_size": 1000, "n_positions": 96})";
const char* small_llama =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 6,
    "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 1000, "max_position_embeddings": 128})";

/// Fields with new values, as JSON.
using Changes = std::vector<std::pair<const char*, const char*>>;

/// A config with some fields changed; null removes the field.
std::string with(const char* base, const Changes& changes) {
    Json tree = Json::parse(base);
    for (const auto& [key, value] : changes) {
        tree[key] = Json::parse(value);
        if (tree[key].is_null()) tree.erase(key);
    }
    return tree.dump();
}

/// Of models whose config.json is a format of Vantage.
bool is_own_format(const std::string& name) {
    return name.starts_with("transformer") || name.starts_with("recurrent") || name.starts_with("seq2seq");
}

struct BadConfig {
    const char* base;
    Changes changes;
    std::vector<const char*> parts;
};

}  // namespace

TEST_CASE("the formats of transformers 4 and 5 give the same config", "[config]") {
    int folders = 0;
    for (const auto& folder : std::filesystem::directory_iterator(oracle(""))) {
        const std::string name = folder.path().filename().string();
        INFO(name);
        ++folders;
        if (is_own_format(name)) continue;  // it has one spelling
        CHECK(read(oracle(name + "/config.json")) == read(oracle(name + "/config.v4.json")));
    }
    CHECK(folders == 65);
}

TEST_CASE("GPT-2's fields", "[config]") {
    const ModelConfig c = read(oracle("gpt2/config.json"));
    CHECK(c.architecture == "gpt2");
    CHECK(c.layers == 2);
    CHECK(c.width == 48);
    CHECK(c.heads == 3);
    CHECK(c.kv_heads == 3);
    CHECK(c.head_width == 16);
    CHECK(c.inner == 4 * 48);  // n_inner null
    CHECK(c.vocab == 1000);
    CHECK(c.context == 96);
    CHECK(c.norm_eps == 1e-5);
    CHECK(c.activation == Activation::gelu_tanh);
    CHECK(c.tied);
    CHECK(c.end_tokens == std::vector<std::int64_t>{0});
    CHECK(!c.attention(1).scale);  // 1/√16, the op's own
    const auto changed = [](const Changes& changes) { return parse_model_config(with(small_gpt2, changes), "c"); };
    CHECK(changed({{"n_inner", "100"}}).inner == 100);
    CHECK(changed({{"activation_function", "\"gelu\""}}).activation == Activation::gelu_erf);
    CHECK(changed({{"activation_function", "\"relu\""}}).activation == Activation::relu);
    CHECK(changed({{"scale_attn_weights", "false"}}).attention(0).scale == 1);
    CHECK(changed({{"scale_attn_by_inverse_layer_idx", "true"}}).attention(1).scale == 0.125);
    CHECK(!changed({{"tie_word_embeddings", "false"}}).tied);
    CHECK(changed({{"n_positions", "null"}, {"n_ctx", "77"}}).context == 77);
    CHECK(changed({{"n_embd", "48.0"}}).width == 48);
}

TEST_CASE("Llama's fields, and its rotary scalings", "[config]") {
    const ModelConfig c = read(oracle("llama/config.json"));
    CHECK(c.architecture == "llama");
    CHECK(c.heads == 6);
    CHECK(c.kv_heads == 2);
    CHECK(c.head_width == 8);
    CHECK(c.inner == 96);
    CHECK(c.context == 128);
    CHECK(c.norm_eps == 1e-5);
    CHECK(c.activation == Activation::silu);
    CHECK(!c.tied);
    CHECK(c.rope_theta == 10000);
    CHECK(c.rope_scaling == RopeScaling{});
    CHECK(c.end_tokens == std::vector<std::int64_t>{2});
    const auto changed = [](const Changes& changes) { return parse_model_config(with(small_llama, changes), "c"); };
    CHECK(changed({}).head_width == 8);
    CHECK(changed({{"head_dim", "24"}}).head_width == 24);
    CHECK(changed({{"head_dim", "24"}, {"hidden_size", "50"}}).width == 50);  // the heads do not divide the width
    CHECK(changed({{"num_key_value_heads", "null"}}).kv_heads == 6);
    CHECK(changed({{"attention_bias", "true"}}).qkv_bias);
    CHECK(changed({{"mlp_bias", "true"}}).mlp_bias);
    const char* llama3 =
        R"("factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64)";
    const RopeScaling wanted{
        .type = "llama3", .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 64};
    const std::string v5 = std::string(R"({"rope_type": "llama3", "rope_theta": 5e5, )") + llama3 + "}",
                      v4 = std::string(R"({"rope_type": "llama3", )") + llama3 + "}";
    CHECK(changed({{"rope_parameters", v5.c_str()}}).rope_scaling == wanted);
    CHECK(changed({{"rope_parameters", v5.c_str()}}).rope_theta == 5e5);
    CHECK(changed({{"rope_scaling", v4.c_str()}, {"rope_theta", "5e5"}}).rope_scaling == wanted);
    CHECK(changed({{"rope_scaling", v4.c_str()}, {"rope_theta", "5e5"}}).rope_theta == 5e5);
    CHECK(changed({{"rope_scaling", R"({"type": "linear", "factor": 2.5})"}}).rope_scaling ==
          RopeScaling{.type = "linear", .factor = 2.5});
    // transformers' defaults for missing fields, and a context next to the scaling
    const char* shorter = R"({"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4})";
    CHECK(changed({{"rope_scaling", shorter}}).rope_scaling.original_context == 128);
    const ModelConfig yarn =
        changed({{"rope_scaling", R"({"type": "yarn", "factor": null, "mscale": 1, "mscale_all_dim": 0})"},
                 {"original_max_position_embeddings", "32"}});
    CHECK(yarn.rope_scaling == RopeScaling{.type = "yarn", .factor = 4, .original_context = 32});
}

TEST_CASE("uneven experts cost what config.json says, where it asks for their loss", "[config]") {
    for (const char* name : {"gpt_oss", "jamba", "mixtral"}) {
        const std::string config = read_file(oracle(name + std::string("/config.json")));
        const auto factor = [&](const Changes& changes) {
            return parse_model_config(with(config.c_str(), changes), name).load_balance;
        };
        CHECK(factor({{"router_aux_loss_coef", "0.02"}}) == 0);
        CHECK(factor({{"router_aux_loss_coef", "0.02"}, {"output_router_logits", "true"}}) == 0.02);
        CHECK(factor({{"router_aux_loss_coef", "null"}, {"output_router_logits", "true"}}) == 0.001);
        CHECK(factor({{"router_aux_loss_coef", "-1"}}) == 0);
        expect_error(ErrorKind::bad_file, {"router_aux_loss_coef"}, [&] {
            factor({{"router_aux_loss_coef", "-1"}, {"output_router_logits", "true"}});
        });
    }
}

TEST_CASE("an odd share of a head is rotated as in transformers", "[config]") {
    // int(12 / 4) = 3 features give two frequencies, θ^0 and θ^(-2/3), and these turn four features
    const ModelConfig c = parse_model_config(
        R"({"model_type": "gpt_neox", "num_hidden_layers": 1, "hidden_size": 24, "num_attention_heads": 2,
        "intermediate_size": 30, "vocab_size": 10, "rotary_pct": 0.25})",
        "c");
    CHECK(c.rotary_width == 4);
    const std::vector<double> frequencies = rope_frequencies(c.rotary_width, c.rope_theta, c.rope_scaling);
    CHECK(frequencies[0] == 1);
    CHECK(std::abs(frequencies[1] - std::pow(10000.0, -2.0 / 3)) < 1e-15);
}

TEST_CASE("the architecture is named by model_type, or by the class", "[config]") {
    const auto by_class = [](const char* name) {
        return parse_model_config(with(small_gpt2, {{"model_type", "null"}, {"architectures", name}}), "c")
            .architecture;
    };
    CHECK(by_class(R"(["GPT2LMHeadModel"])") == "gpt2");
    CHECK(parse_model_config(with(small_llama, {{"model_type", "null"}, {"architectures", R"(["LlamaForCausalLM"])"}}),
                             "c")
              .architecture == "llama");
    expect_error(ErrorKind::bad_file, {"c: ", "RwkvForCausalLM", "gpt2", "llama"},
                 [&] { by_class(R"(["RwkvForCausalLM"])"); });
    expect_error(ErrorKind::bad_file, {"c: ", "model_type"}, [&] { by_class("[]"); });
    expect_error(ErrorKind::bad_file, {"c: ", "model_type"}, [&] { by_class("[3]"); });
}

TEST_CASE("invalid configs are rejected with field, value and what is expected", "[config][bad]") {
    const std::vector<BadConfig> all = {
        {small_gpt2, {{"model_type", "\"rwkv\""}}, {"rwkv", "gpt2", "llama"}},
        {small_gpt2, {{"model_type", "7"}}, {"model_type", "7", "a text"}},
        {small_gpt2, {{"n_layer", "0"}}, {"n_layer", "is 0", "from 1"}},
        {small_gpt2, {{"n_layer", "-3"}}, {"n_layer", "is -3"}},
        {small_gpt2, {{"n_layer", "null"}}, {"n_layer", "missing"}},
        {small_gpt2, {{"n_layer", "1.5"}}, {"n_layer", "1.5", "an integer"}},
        {small_gpt2, {{"n_layer", "\"2\""}}, {"n_layer", "\"2\"", "an integer"}},
        {small_gpt2, {{"n_layer", "1000000"}}, {"n_layer", "1000000"}},
        {small_gpt2, {{"n_embd", "0"}}, {"n_embd", "is 0"}},
        {small_gpt2, {{"n_embd", "9223372036854775807"}}, {"n_embd", "9223372036854775807"}},
        {small_gpt2, {{"n_embd", "18446744073709551616"}}, {"n_embd"}},
        {small_gpt2, {{"n_embd", "1e300"}}, {"n_embd"}},
        {small_gpt2, {{"n_head", "0"}}, {"n_head", "is 0"}},
        {small_gpt2, {{"n_head", "5"}}, {"n_embd", "48", "n_head", "5"}},
        {small_gpt2, {{"n_head", "49"}}, {"n_embd", "n_head"}},
        {small_gpt2, {{"n_inner", "0"}}, {"n_inner", "is 0"}},
        {small_gpt2, {{"vocab_size", "0"}}, {"vocab_size", "is 0"}},
        {small_gpt2, {{"vocab_size", "4000000000"}}, {"vocab_size", "4000000000"}},
        {small_gpt2, {{"n_positions", "0"}}, {"n_positions", "is 0"}},
        {small_gpt2, {{"n_positions", "null"}}, {"n_ctx", "missing"}},
        {small_gpt2, {{"layer_norm_epsilon", "-1"}}, {"layer_norm_epsilon", "-1"}},
        {small_gpt2, {{"layer_norm_epsilon", "\"small\""}}, {"layer_norm_epsilon", "a number"}},
        {small_gpt2, {{"activation_function", "\"mish\""}}, {"activation_function", "mish", "gelu_new"}},
        {small_gpt2, {{"add_cross_attention", "true"}}, {"add_cross_attention"}},
        {small_gpt2, {{"tie_word_embeddings", "1"}}, {"tie_word_embeddings", "true or false"}},
        {small_gpt2, {{"eos_token_id", "-2"}}, {"eos_token_id", "-2"}},
        {small_gpt2, {{"eos_token_id", "[1, \"end\"]"}}, {"eos_token_id[1]", "end"}},
        {small_gpt2, {{"n_embd", "1024"}, {"n_head", "2"}}, {"512", "256"}},
        {small_llama, {{"hidden_size", "0"}}, {"hidden_size", "is 0"}},
        {small_llama, {{"hidden_size", "50"}}, {"hidden_size", "50", "num_attention_heads", "6"}},
        {small_llama, {{"num_attention_heads", "0"}}, {"num_attention_heads", "is 0"}},
        {small_llama, {{"num_key_value_heads", "4"}}, {"num_attention_heads", "6", "num_key_value_heads", "4"}},
        {small_llama, {{"num_key_value_heads", "0"}}, {"num_key_value_heads", "is 0"}},
        {small_llama, {{"num_key_value_heads", "12"}}, {"num_attention_heads", "num_key_value_heads", "12"}},
        {small_llama, {{"head_dim", "7"}}, {"7", "pairs"}},
        {small_llama, {{"head_dim", "0"}}, {"head_dim", "is 0"}},
        {small_llama, {{"head_dim", "512"}}, {"512", "256"}},
        {small_llama, {{"intermediate_size", "null"}}, {"intermediate_size", "missing"}},
        {small_llama, {{"max_position_embeddings", "0"}}, {"max_position_embeddings", "is 0"}},
        {small_llama, {{"rms_norm_eps", "2"}}, {"rms_norm_eps", "is 2"}},
        {small_llama, {{"hidden_act", "\"mish\""}}, {"hidden_act", "mish", "silu"}},
        {small_llama, {{"rope_theta", "0"}}, {"rope_theta", "is 0"}},
        {small_llama, {{"rope_scaling", R"({"type": "spiral", "factor": 2})"}}, {"spiral", "linear", "llama3"}},
        {small_llama, {{"rope_scaling", R"({"type": "linear"})"}}, {"rope_scaling.factor", "missing"}},
        {small_llama, {{"rope_scaling", R"({"type": "linear", "factor": 0})"}}, {"rope_scaling.factor", "is 0"}},
        {small_llama,
         {{"rope_scaling",
           R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4, "original_max_position_embeddings": 64})"}},
         {"high_freq_factor", "4", "low_freq_factor"}},
        {small_llama,
         {{"rope_scaling", R"({"type": "yarn", "factor": 4})"}, {"rope_parameters", R"({"rope_type": "default"})"}},
         {"rope_scaling", "rope_parameters"}},
        {small_llama,
         {{"rope_theta", "10000"}, {"rope_parameters", R"({"rope_type": "default", "rope_theta": 500000})"}},
         {"rope_theta", "is 10000", "500000"}},
        {small_llama, {{"rope_scaling", "[1]"}}, {"rope_scaling", "a list of 1", "an object"}},
        {small_llama, {{"hidden_act", R"("a\n\u001b[2J")"}}, {R"("a\n\u001b[2J")"}},
        {small_llama, {{"model_type", R"("a\n\u001b[2J")"}}, {R"("a\n\u001b[2J")"}},
        {small_llama, {{"rope_scaling", R"({"type": "a\n\u001b[2J"})"}}, {R"("a\n\u001b[2J")"}},
    };
    for (const BadConfig& one : all) {
        const std::string text = with(one.base, one.changes);
        INFO(text);
        for (const char* part : one.parts)
            expect_error(ErrorKind::bad_file, {part}, [&] { parse_model_config(text, "folder/config.json"); });
        expect_error(ErrorKind::bad_file, {"folder/config.json: "},
                     [&] { parse_model_config(text, "folder/config.json"); });
    }
}

TEST_CASE("files that are not a config are rejected", "[config][bad]") {
    for (const char* text : {"", "{", "[]", "3", "\"gpt2\"", "{\"model_type\": \"gpt2\"", "\xff\xfe{}", "nul"}) {
        INFO(text);
        expect_error(ErrorKind::bad_file, {"config.json: "}, [&] { parse_model_config(text, "config.json"); });
    }
    expect_error(ErrorKind::bad_file, {"config.json: ", "nested"},
                 [&] { parse_model_config(std::string(100000, '['), "config.json"); });
}

TEST_CASE("generation_config.json adds end tokens and sampling defaults", "[config]") {
    ModelConfig c = parse_model_config(small_gpt2, "c");
    CHECK(c.end_tokens.empty());
    CHECK(c.top_k == 0);
    apply_generation_config(
        c,
        R"({"eos_token_id": [5, 7], "bos_token_id": 3, "temperature": 0.6, "top_p": 0.9, "top_k": 40, "repetition_penalty": 1.1})",
        "g");
    CHECK(c.end_tokens == std::vector<std::int64_t>{5, 7});
    CHECK(c.temperature == 0.6);
    CHECK(c.top_p == 0.9);
    CHECK(c.top_k == 40);
    CHECK(c.repetition_penalty == 1.1);
    expect_error(ErrorKind::bad_file, {"g: ", "temperature", "-1"},
                 [&] { apply_generation_config(c, R"({"temperature": -1})", "g"); });
    expect_error(ErrorKind::bad_file, {"g: ", "top_p", "1.5"},
                 [&] { apply_generation_config(c, R"({"top_p": 1.5})", "g"); });
    expect_error(ErrorKind::bad_file, {"g: "}, [&] { apply_generation_config(c, "[", "g"); });
}
