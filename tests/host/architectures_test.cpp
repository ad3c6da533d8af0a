// For every architecture: config.json with one invalid field is rejected, with the field and what is expected.
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

#include "expect_error.h"
#include "runtime/base/json.h"
#include "runtime/models/architecture.h"
#include "vantage/op.h"

using namespace vantage;
using vantage::test::expect_error;

namespace {

Json json_of(const std::string& folder) {
    return read_json(std::string(VANTAGE_ROOT) + "/tests/data/oracle/models/" + folder + "/config.json");
}

struct BadField {
    const char *folder, *key, *value;  ///< the value as JSON
    std::vector<const char*> parts;
};

}  // namespace

TEST_CASE("invalid fields are named, for every architecture", "[config][bad]") {
    const std::vector<BadField> all = {
        {"gptj", "rotary_dim", "7", {"rotary_dim", "7", "even"}},
        {"gptj", "rotary_dim", "64", {"rotary_dim", "64", "16"}},
        {"gptj", "n_head", "3", {"n_embd", "n_head", "3"}},
        {"gpt_neox", "hidden_size", "null", {"hidden_size", "is null"}},
        {"gpt_neox",
         "rope_parameters",
         R"({"rope_type": "default", "partial_rotary_factor": 0})",
         {"0 features", "pairs"}},
        {"gpt_neox",
         "rope_parameters",
         R"({"rope_type": "default", "partial_rotary_factor": 1.5})",
         {"partial_rotary_factor", "1.5"}},
        {"opt", "word_embed_proj_dim", "-4", {"word_embed_proj_dim", "-4"}},
        {"bloom", "n_head", "5", {"n_head", "5"}},
        {"falcon", "num_kv_heads", "3", {"num_attention_heads", "num_kv_heads", "3"}},
        {"falcon", "activation", "\"mish\"", {"activation", "mish"}},
        {"phi", "num_attention_heads", "0", {"num_attention_heads", "is 0"}},
        {"phi3", "num_key_value_heads", "7", {"num_key_value_heads", "7"}},
        {"phi3_longrope",
         "rope_parameters",
         R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [1]})",
         {"short_factor", "numbers"}},
        {"phi3_longrope", "rope_parameters", R"({"rope_type": "longrope"})", {"short_factor", "missing"}},
        {"mamba", "state_size", "0", {"state_size", "is 0"}},
        {"mamba", "state_size", "4096", {"state_size", "4096", "1024"}},
        {"mamba", "conv_kernel", "1", {"conv_kernel", "is 1"}},
        {"mamba", "intermediate_size", "0", {"intermediate_size", "0"}},
        {"mamba", "time_step_rank", "\"all\"", {"time_step_rank"}},
        {"mamba", "expand", "-2", {"expand", "-2"}},
        {"mamba", "hidden_act", "\"mish\"", {"hidden_act", "mish"}},
        {"mamba", "time_step_min", "0", {"time_step_min", "is 0"}},
        {"mamba", "time_step_init_scheme", "\"zero\"", {"time_step_init_scheme", "zero", "random or constant"}},
        {"mamba", "initializer_range", "-1", {"initializer_range", "is -1"}},
        {"opt", "init_std", "\"small\"", {"init_std", "small"}},
        {"t5", "initializer_factor", "-1", {"initializer_factor", "is -1"}},
        {"mistral", "pad_token_id", "0.5", {"pad_token_id", "is 0.5"}},
        {"mamba", "architectures", R"(["MambaForSequenceClassification"])", {"MambaForSequenceClassification"}},
        {"falcon_mamba", "mixer_rms_eps", "-1", {"mixer_rms_eps", "-1"}},
        {"jamba", "attn_layer_period", "0", {"attn_layer_period", "is 0"}},
        {"jamba", "attn_layer_period", "9223372036854775807", {"attn_layer_period", "9223372036854775807", "4096"}},
        {"jamba", "attn_layer_offset", "3", {"attn_layer_offset", "is 3", "attn_layer_period"}},
        {"jamba", "attn_layer_offset", "-1", {"attn_layer_offset", "is -1"}},
        {"jamba", "expert_layer_period", "\"two\"", {"expert_layer_period", "two"}},
        {"jamba", "expert_layer_offset", "2", {"expert_layer_offset", "is 2", "expert_layer_period"}},
        {"jamba", "num_experts", "0", {"num_experts", "is 0"}},
        {"jamba", "num_experts_per_tok", "5", {"num_experts_per_tok", "5", "4 experts"}},
        {"jamba", "num_hidden_layers", "0", {"num_hidden_layers", "is 0"}},
        {"jamba", "num_key_value_heads", "3", {"num_attention_heads", "num_key_value_heads", "3"}},
        {"jamba", "mamba_d_state", "0", {"mamba_d_state", "is 0"}},
        {"jamba", "mamba_d_conv", "1", {"mamba_d_conv", "is 1"}},
        {"jamba", "mamba_expand", "0", {"mamba_expand", "is 0"}},
        {"jamba", "mamba_dt_rank", "0", {"mamba_dt_rank", "is 0"}},
        {"jamba", "mamba_dt_rank", "\"all\"", {"mamba_dt_rank"}},
        {"jamba", "mamba_conv_bias", "1", {"mamba_conv_bias", "true or false"}},
        {"jamba", "hidden_act", "\"mish\"", {"hidden_act", "mish"}},
        {"mistral", "sliding_window", "0", {"sliding_window", "is 0"}},
        {"mixtral", "num_experts_per_tok", "5", {"num_experts_per_tok", "5", "4 experts"}},
        {"mixtral", "num_local_experts", "0", {"num_local_experts", "is 0"}},
        {"mixtral", "num_local_experts", "1000000", {"num_local_experts", "1000000"}},
        {"qwen2",
         "architectures",
         R"(["Qwen2ForSequenceClassification"])",
         {"Qwen2ForSequenceClassification", "decoder"}},
        {"qwen3", "head_dim", "300", {"300", "256"}},
        {"qwen3_moe", "decoder_sparse_step", "2", {"decoder_sparse_step", "all layers have experts"}},
        {"qwen3_moe", "mlp_only_layers", "[0]", {"mlp_only_layers", "an empty list"}},
        {"qwen3_moe", "moe_intermediate_size", "0", {"moe_intermediate_size", "is 0"}},
        {"smollm3", "no_rope_layers", "[1, 0, 0, 1]", {"no_rope_layers", "0 for every 2. of them"}},
        {"smollm3", "use_sliding_window", "true", {"use_sliding_window", "false"}},
        {"qwen3_moe", "use_sliding_window", "true", {"use_sliding_window", "false"}},
        {"granite", "residual_multiplier", "0", {"residual_multiplier", "is 0"}},
        {"gemma2", "layer_types", R"(["full_attention"])", {"layer_types", "one for each layer"}},
        {"gemma2", "query_pre_attn_scalar", "0", {"query_pre_attn_scalar", "is 0"}},
        {"gemma2", "use_bidirectional_attention", "true", {"use_bidirectional_attention", "a decoder"}},
        {"gemma2", "attn_logit_softcapping", "-1", {"attn_logit_softcapping", "-1"}},
        {"gpt_oss", "layer_types", "7", {"layer_types", "7", "a list"}},
        {"gpt_oss", "layer_types", R"(["full_attention", "linear_attention"])", {"layer_types", "sliding_attention"}},
        {"gpt_oss",
         "rope_parameters",
         R"({"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}})",
         {"rope_parameters", "each kind of layer"}},
        {"gpt_oss",
         "rope_parameters",
         R"({"rope_type": "yarn", "rope_theta": 1, "factor": 8})",
         {"rope_theta", "above 1"}},
        {"gpt_oss", "swiglu_limit", "-1", {"swiglu_limit", "-1"}},
        {"gpt_oss", "swiglu_alpha", "2", {"swiglu_alpha", "is 2", "1.702"}},
        {"gpt_oss", "quantization_config", R"({"quant_method": "mxfp4"})", {"quantised", "quantization_config"}},
        {"distilbert", "n_heads", "5", {"dim", "n_heads", "5"}},
        {"bert", "architectures", R"(["BertForMultipleChoice"])", {"BertForMultipleChoice", "ForMaskedLM"}},
        {"bert", "type_vocab_size", "0", {"type_vocab_size", "is 0"}},
        {"bert", "is_decoder", "true", {"is_decoder"}},
        {"big_bird", "block_size", "0", {"block_size", "is 0"}},
        {"big_bird", "block_size", "1.5", {"block_size", "1.5"}},
        {"big_bird", "num_random_blocks", "-1", {"num_random_blocks", "-1"}},
        {"big_bird", "num_random_blocks", "1000000", {"num_random_blocks", "1000000"}},
        {"big_bird", "max_position_embeddings", "20000", {"block_size", "20000 positions", "4096 blocks"}},
        {"big_bird", "attention_type", "\"full\"", {"attention_type", "full", "original_full"}},
        {"big_bird", "position_embedding_type", "\"relative_key\"", {"position_embedding_type", "absolute"}},
        {"big_bird", "is_decoder", "true", {"is_decoder"}},
        {"big_bird", "architectures", R"(["BigBirdForMultipleChoice"])", {"BigBirdForMultipleChoice", "ForMaskedLM"}},
        {"bert_classification", "id2label", "{}", {"id2label"}},
        {"bert_classification", "id2label", R"({"1": "a", "2": "b"})", {"id2label.0", "missing"}},
        {"roberta", "pad_token_id", "90", {"max_position_embeddings", "pad_token_id"}},
        {"distilbert", "n_heads", "5", {"dim", "n_heads", "5"}},
        {"bart", "decoder_attention_heads", "5", {"d_model", "decoder_attention_heads", "5"}},
        {"bart", "encoder_attention_heads", "3", {"d_model", "encoder_attention_heads", "3"}},
        {"bart", "encoder_layers", "0", {"encoder_layers", "is 0"}},
        {"bart", "decoder_start_token_id", "103", {"decoder_start_token_id", "103"}},
        {"bart",
         "architectures",
         R"(["BartForSequenceClassification"])",
         {"BartForSequenceClassification", "supported are"}},
        {"t5", "d_kv", "300", {"300", "256"}},
        {"t5", "num_decoder_layers", "-1", {"num_decoder_layers", "-1"}},
        {"t5", "relative_attention_num_buckets", "7", {"relative_attention_num_buckets", "7", "even"}},
        {"t5", "relative_attention_max_distance", "4", {"relative_attention_max_distance", "4", "half of the buckets"}},
        {"t5", "feed_forward_proj", "\"gated-mish\"", {"feed_forward_proj", "mish"}},
        {"t5", "architectures", R"(["T5EncoderModel"])", {"T5EncoderModel", "supported are"}},
        {"transformer", "num_heads", "5", {"d_model", "num_heads", "5"}},
        {"transformer", "d_model", "33", {"d_model", "33"}},
        {"transformer", "activation_function", "7", {"activation_function", "7"}},
        {"recurrent_lstm", "cell", "\"mgu\"", {"cell", "mgu", "rnn, lstm or gru"}},
        {"recurrent_lstm", "num_hidden_layers", "0", {"num_hidden_layers", "is 0"}},
        {"recurrent_lstm", "hidden_size", "20000", {"hidden_size", "20000"}},
        {"recurrent_lstm", "tie_word_embeddings", "true", {"embedding_size", "32", "tied"}},
        {"recurrent_lstm",
         "architectures",
         R"(["RecurrentForSequenceClassification"])",
         {"RecurrentForSequenceClassification", "decoders"}},
        {"seq2seq_bahdanau", "bridge", "\"copy\"", {"bridge", "dense", "42", "28"}},
        {"seq2seq_bahdanau", "bridge", "7", {"bridge", "7"}},
        {"seq2seq_bahdanau", "attention", "\"dot\"", {"attention", "42", "28"}},
        {"seq2seq_bahdanau", "attention", "\"loung\"", {"attention", "loung", "general"}},
        {"seq2seq_bahdanau", "attention_size", "-1", {"attention_size", "-1"}},
        {"seq2seq_bahdanau", "input_feeding", "true", {"input_feeding", "dot, general or concat"}},
        {"seq2seq_bahdanau", "bidirectional", "2", {"bidirectional", "2"}},
        {"seq2seq_luong", "encoder_hidden_size", "0", {"encoder_hidden_size", "is 0"}},
        {"seq2seq_luong", "decoder_start_token_id", "97", {"decoder_start_token_id", "97"}},
        {"seq2seq_luong", "architectures", R"(["Seq2SeqForTokens"])", {"Seq2SeqForTokens", "ForConditionalGeneration"}},
        {"vit", "image_size", "0", {"image_size", "is 0"}},
        {"vit", "image_size", "[32, 32, 32]", {"image_size", "a list of 3", "[height, width]"}},
        {"vit", "image_size", "[]", {"image_size", "a list of 0", "[height, width]"}},
        {"vit", "image_size", "100000", {"image_size", "100000"}},
        {"vit", "patch_size", "5", {"32 × 32", "5 × 5", "patch_size"}},
        {"vit", "patch_size", "[8, 64]", {"32 × 32", "8 × 64"}},
        {"vit", "patch_size", "\"8\"", {"patch_size", "an integer"}},
        {"vit", "num_channels", "0", {"num_channels", "is 0"}},
        {"vit", "num_attention_heads", "5", {"hidden_size", "num_attention_heads", "5"}},
        {"vit", "architectures", R"(["ViTForMaskedImageModeling"])", {"ViTForMaskedImageModeling", "ForImage"}},
        {"vit", "architectures", R"(["ViTForMaskedLM"])", {"architectures", "ViTForImageClassification"}},
        {"vit_rectangle", "image_size", "[24, 42]", {"24 × 42", "8 × 4"}},
        {"clip", "text_config", "7", {"text_config", "is 7", "an object"}},
        {"clip", "text_config", R"({"num_attention_heads": 7})", {"hidden_size", "512", "num_attention_heads", "7"}},
        {"clip", "text_config", R"({"vocab_size": 0})", {"text_config.vocab_size", "is 0"}},
        {"clip", "projection_dim", "0", {"projection_dim", "is 0"}},
        {"clip", "architectures", R"(["CLIPForImageClassification"])", {"CLIPForImageClassification", "CLIPModel"}},
        {"clip", "logit_scale_init_value", "1e9", {"logit_scale_init_value", "1"}},
        {"vit_gpt2", "encoder", "null", {"encoder", "is null", "an object"}},
        {"vit_gpt2", "decoder", R"({"model_type": "bert"})", {"decoder.model_type", "bert", "gpt2"}},
        {"vit_gpt2", "decoder", R"({"model_type": "gpt2"})", {"decoder.add_cross_attention", "missing"}},
        {"vit_gpt2", "architectures", R"(["GPT2LMHeadModel"])", {"VisionEncoderDecoderModel"}},
    };
    for (const BadField& one : all) {
        Json tree = json_of(one.folder);
        tree[one.key] = Json::parse(one.value);
        INFO(one.folder << " " << one.key << " = " << one.value);
        for (const char* part : one.parts)
            expect_error(ErrorKind::bad_file, {"config.json: ", part},
                         [&] { parse_model_config(tree.dump(), "config.json"); });
    }
}

TEST_CASE("a field of the file overrides the default of its class", "[config]") {
    const auto changed = [](const char* folder, const char* key, const char* value) {
        Json tree = json_of(folder);
        tree[key] = Json::parse(value);
        return parse_model_config(tree.dump(), "config.json");
    };
    CHECK(changed("gpt_oss", "rope_parameters", R"({"rope_type": "default"})").rope_scaling == RopeScaling{});
    CHECK(changed("gemma2", "sliding_window", "null").windows.empty());
    CHECK(changed("gpt_neox", "num_key_value_heads", "1").kv_heads == 2);
    CHECK(changed("llama_linear", "rope_parameters", R"({"rope_type": "dynamic", "factor": 2})").rope_scaling ==
          RopeScaling{});
    // Phi-3's files have used all three names for LongRoPE
    for (const char* kind : {"longrope", "su", "yarn"}) {
        Json rope = json_of("phi3_longrope")["rope_parameters"];
        rope["rope_type"] = rope["type"] = kind;
        CHECK(changed("phi3_longrope", "rope_parameters", rope.dump().c_str()).rope_scaling.type == "longrope");
    }
    CHECK(changed("bert_classification", "id2label", R"({"0": "score"})").labelling == Labelling::each);
    CHECK(changed("bert_classification", "problem_type", "\"regression\"").labelling == Labelling::numbers);
}

TEST_CASE("Jamba's layers attend, and have experts, as their periods say", "[config]") {
    const auto changed = [](const std::vector<std::pair<const char*, const char*>>& fields) {
        Json tree = json_of("jamba");
        for (const auto& [key, value] : fields) tree[key] = Json::parse(value);
        return parse_model_config(tree.dump(), "config.json");
    };
    using Layers = std::vector<std::int64_t>;
    const ModelConfig as_it_is = changed({});
    CHECK(as_it_is.attending_layers(AttentionKind::self) == Layers{1, 4});
    CHECK(as_it_is.state_space);
    CHECK(as_it_is.rotary_width == 0);
    CHECK(as_it_is.own.integer("step_rank") == 7);
    CHECK(changed({{"mamba_dt_rank", "\"auto\""}}).own.integer("step_rank") == 2);  // of 32
    // every layer attends, or none
    const ModelConfig all = changed({{"attn_layer_period", "1"}, {"attn_layer_offset", "0"}});
    CHECK(all.attending_layers(AttentionKind::self) == Layers{0, 1, 2, 3, 4});
    CHECK(!all.state_space);
    const ModelConfig none = changed({{"attn_layer_period", "8"}, {"attn_layer_offset", "5"}});
    CHECK(none.attending_layers(AttentionKind::self).empty());
    CHECK(none.state_space);
    // an expert alone is an MLP, whatever num_experts_per_tok says
    CHECK(changed({{"num_experts", "1"}}).experts == 0);
    CHECK(changed({{"expert_layer_period", "8"}, {"expert_layer_offset", "7"}}).experts == 0);
    for (const ModelConfig& config : {as_it_is, all, none}) {
        const Graph graph = build_model(config, {.rows = 3, .context = 16, .all_logits = true, .hidden = true});
        CHECK(graph.outputs().count(model_names::router(1)) == 1);
        CHECK(graph.outputs().count(model_names::router(2)) == 0);
        std::int64_t keys = 0, states = 0;
        for (const Value& value : graph.values()) {
            keys += value.kind == ValueKind::state && value.name.starts_with("cache.k.") ? 1 : 0;
            states += value.kind == ValueKind::state && value.name.starts_with("cache.state.") ? 1 : 0;
        }
        CHECK(keys == std::ssize(config.attending_layers(AttentionKind::self)));
        CHECK(keys + states == 5);
    }
}

TEST_CASE("every architecture loads a config with the required fields only", "[config]") {
    // transformers writes only what differs from the class's defaults
    for (const char* folder : {"gptj",       "gpt_neox", "opt",          "bloom",          "falcon",
                               "phi",        "phi3",     "mixtral",      "qwen2",          "gemma2",
                               "gpt_oss",    "mamba",    "falcon_mamba", "jamba",          "jamba_tied",
                               "bert",       "roberta",  "longformer",   "big_bird",       "distilbert",
                               "bart",       "t5",       "transformer",  "recurrent_lstm", "recurrent_gru_tied",
                               "seq2seq_dot"}) {
        INFO(folder);
        const ModelConfig config = parse_model_config(json_of(folder).dump(), folder);
        const Graph graph = build_model(config, {.rows = 3, .context = 16, .all_logits = true, .hidden = true});
        std::int64_t parameters = 0;
        for (const Value& value : graph.values())
            if (value.kind == ValueKind::weight) parameters += value.type.shape.elements();
        CHECK(parameters > 10000);
        CHECK(graph.outputs().count(model_names::hidden(config.layers)) == 1);
    }
}

TEST_CASE("untied models use their own weights", "[config]") {
    struct Untied {
        const char *folder, *flag;
        std::vector<std::string> optional;  ///< what a file may contain
        std::string fallback;               ///< what is used if it does not
    };
    // transformers 5 writes separate biases and tables, 4 never did; T5's flag turns the output's scale off
    const std::vector<Untied> all = {
        {"bert", "tie_word_embeddings", {"cls.predictions.decoder.bias"}, "cls.predictions.bias"},
        {"big_bird", "tie_word_embeddings", {"cls.predictions.decoder.bias"}, "cls.predictions.bias"},
        {"roberta", "tie_word_embeddings", {"lm_head.decoder.bias"}, "lm_head.bias"},
        {"bart",
         "tie_word_embeddings",
         {"decoder.embed_tokens.weight", "encoder.embed_tokens.weight"},
         "shared.weight"},
        {"t5", "scale_decoder_outputs", {"lm_head.weight"}, "shared.weight"},
    };
    for (const Untied& one : all) {
        INFO(one.folder);
        Json tree = json_of(one.folder);
        tree[one.flag] = false;
        const auto weights = [&](const std::vector<std::string>& absent) {
            ModelConfig config = parse_model_config(tree.dump(), "config.json");
            config.absent = absent;
            const Graph graph = build_model(config, {.rows = 1, .context = 16, .all_logits = true});
            std::set<std::string> names;
            for (const Value& value : graph.values())
                if (value.kind == ValueKind::weight) names.insert(value.name);
            return names;
        };
        CHECK(weights({}).count(one.optional.front()) == 1);
        CHECK(weights(one.optional).count(one.optional.front()) == 0);
        CHECK(weights(one.optional).count(one.fallback) == 1);
    }
}
