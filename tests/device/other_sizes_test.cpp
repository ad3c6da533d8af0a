// The same code on models of other sizes: each node of their plans against its reference, and a long session on one
// whose context is cut into splits.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>
#include <optional>

#include "random_model.h"
#include "runtime/base/at.h"
#include "runtime/gpu/faults.h"
#include "test_device.h"
#include "test_model.h"
#include "vantage/session.h"

using namespace vantage;

namespace {

const char* const llama_24 =
    R"({"model_type":"llama","num_hidden_layers":2,"hidden_size":72,"num_attention_heads":6,"num_key_value_heads":2,
    "head_dim":24,"intermediate_size":100,"vocab_size":997,"max_position_embeddings":2200,"rms_norm_eps":1e-5,"rope_theta":10000.0,
    "rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64},
    "tie_word_embeddings":false,"attention_bias":true,"mlp_bias":true})";
const char* const llama_80 =
    R"({"model_type":"llama","num_hidden_layers":1,"hidden_size":160,"num_attention_heads":2,"num_key_value_heads":1,
    "intermediate_size":64,"vocab_size":997,"max_position_embeddings":300,"rope_parameters":{"rope_type":"linear","factor":4.0,"rope_theta":500000.0},
    "tie_word_embeddings":true})";
const char* const gpt2_17 =
    R"({"model_type":"gpt2","n_layer":2,"n_embd":51,"n_head":3,"vocab_size":997,"n_positions":300,"activation_function":"gelu"})";

const char* const gpt_oss_80 =
    R"({"model_type":"gpt_oss","num_hidden_layers":2,"hidden_size":50,"num_attention_heads":4,"num_key_value_heads":2,
    "head_dim":80,"intermediate_size":37,"vocab_size":997,"max_position_embeddings":300,"sliding_window":12,"num_local_experts":5,
    "num_experts_per_tok":3,"rope_scaling":{"rope_type":"yarn","factor":8.0,"original_max_position_embeddings":64}})";
const char* const mixtral_24 =
    R"({"model_type":"mixtral","num_hidden_layers":1,"hidden_size":36,"num_attention_heads":3,"num_key_value_heads":1,"head_dim":24,
    "intermediate_size":25,"vocab_size":997,"max_position_embeddings":300,"num_local_experts":3,"num_experts_per_tok":2})";
const char* const gemma2_24 =
    R"({"model_type":"gemma2","num_hidden_layers":2,"hidden_size":60,"num_attention_heads":5,"num_key_value_heads":1,"head_dim":24,
    "intermediate_size":51,"vocab_size":997,"max_position_embeddings":300,"sliding_window":9,"query_pre_attn_scalar":20})";
const char* const falcon_24 =
    R"({"model_type":"falcon","num_hidden_layers":1,"hidden_size":120,"num_attention_heads":5,"vocab_size":997,"alibi":true,
    "multi_query":true,"parallel_attn":false,"bias":true,"max_position_embeddings":300})";

const char* const mamba_20 =
    R"({"model_type":"mamba","num_hidden_layers":2,"hidden_size":50,"state_size":20,"conv_kernel":7,"time_step_rank":3,
    "vocab_size":997,"use_bias":true,"use_conv_bias":false,"tie_word_embeddings":false})";

const char* const jamba_24 =
    R"({"model_type":"jamba","num_hidden_layers":4,"hidden_size":48,"num_attention_heads":2,"num_key_value_heads":1,
    "intermediate_size":37,"vocab_size":997,"attn_layer_period":2,"attn_layer_offset":0,"expert_layer_period":3,
    "expert_layer_offset":2,"num_experts":5,"num_experts_per_tok":3,"mamba_d_state":20,"mamba_d_conv":7,"mamba_expand":3,
    "mamba_conv_bias":false,"mamba_proj_bias":true,"max_position_embeddings":300})";

struct RandomModel {
    test::TemporaryDirectory folder;
    Model model;
    RandomModel(const char* config, DType type)
        : model((write_random_model(folder.path(), config, type, 5), Model::load(test_device(), folder.path()))) {}
};

}  // namespace

TEST_CASE("models of other sizes and types run as their references say", "[models]") {
    const std::pair<const char*, DType> models[] = {
        {llama_24, DType::f16},    {llama_80, DType::bf16},  {gpt2_17, DType::f16},
        {gpt_oss_80, DType::bf16}, {mixtral_24, DType::f16}, {gemma2_24, DType::bf16},
        {falcon_24, DType::f16},   {mamba_20, DType::bf16},  {jamba_24, DType::f16}};
    TestSample sample;
    for (const auto& [config, type] : models) {
        if (!sample.next()) continue;
        INFO(config << " " << name_of(type));
        const RandomModel random(config, type);
        Session session(random.model, {.context = 290, .record_attention = RecordAttention::all()});
        session.restart({.temperature = 0.8, .seed = 2, .ignore_end = true});
        session.append(some_ids(21, 997));
        session.run();
        session.generate(3);
        session.run();
        for (std::int64_t rows : {1, 8})
            for (const Divergence& d : session.plan(rows).check(3))
                FAIL_CHECK(d.node << " (" << d.kernel << "): " << d.message);
    }
}

TEST_CASE("fused and unfused runs of a rotated model agree", "[models]") {
    const RandomModel random(llama_24, DType::f32);
    std::vector<std::vector<float>> logits;
    for (bool fuse : {true, false}) {
        Session session(random.model, {.context = 64, .precision = Precision::f32, .inspect = true, .fuse = fuse});
        session.append(some_ids(33, 997));
        session.run();
        logits.push_back(session.logits().vector());
    }
    for (std::size_t i = 0; i < logits[0].size(); ++i) REQUIRE(std::abs(logits[0][i] - logits[1][i]) < 2e-4);
}

TEST_CASE("200 tokens cross a chunk and a split of the keys without recording or allocating", "[models][session]") {
    const RandomModel random(llama_24, DType::f16);
    auto free = std::make_optional<WithoutGuard>();
    Session session(random.model, {.context = 700, .record_attention = RecordAttention::all(), .largest_chunk = 128});
    session.restart({.temperature = 0.7, .seed = 3, .ignore_end = true});
    session.append(some_ids(150, 997));  // chunks of 128 and 32; token 256 is the first of the second split
    REQUIRE(session.next().has_value());
    const gpu::CallCounts before = gpu::call_counts();
    REQUIRE(session.generate(200).size() == 200);
    const gpu::CallCounts after = gpu::call_counts();
    CHECK(after.recordings == before.recordings);
    CHECK(after.allocations == before.allocations);
    free.reset();
    session.run();
    Session whole(random.model, {.context = 700, .record_attention = RecordAttention::all()});
    whole.append(session.tokens());
    whole.run();
    const auto n = static_cast<std::int64_t>(session.tokens().size());
    const std::vector<float> drawn = session.attention({1, 4}, {n - 20, 20}, {0, n}).vector(),
                             at_once = whole.attention({1, 4}, {n - 20, 20}, {0, n}).vector();
    for (std::size_t i = 0; i < drawn.size(); ++i) REQUIRE(std::abs(drawn[i] - at_once[i]) < 1e-3);  // f16 cache
}

TEST_CASE("the tap gives a long head piece by piece", "[models][session]") {
    const RandomModel random(llama_24, DType::f16);
    Session session(random.model, {.record_attention = RecordAttention::all()});
    CHECK(session.context() == 2200);
    const std::int64_t n = 1100;  // 1.2 M weights: two pieces
    session.append(some_ids(n, 997));
    session.run();
    const std::vector<float> p = session.attention({1, 3}, {0, n}, {0, n}).vector();
    for (std::int64_t row = 0; row < n; ++row) {
        const double sum = std::accumulate(p.begin() + row * n, p.begin() + (row + 1) * n, 0.0);
        REQUIRE(std::abs(sum - 1) < 1e-4);
        if (row + 1 < n) REQUIRE(at(p, row * n + row + 1) == 0);
    }
}
