// Costs of models, counted on graphs: against checkpoints, against sizes that are known, and against the closed forms
// of papers.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "known_configs.h"
#include "runtime/cost/token_mixing.h"
#include "runtime/graph/schedule.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/architecture.h"

using namespace vantage;
using vantage::test::config_of;
using vantage::test::folder_of;

namespace {

ModelConfig parsed(const std::string& json) { return parse_model_config(json, "config.json"); }

// The published configurations, as far as sizes and parts depend on them.
const char* const gpt2_small =
    R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257})";
const char* const gpt3 =
    R"({"model_type": "gpt2", "n_layer": 96, "n_embd": 12288, "n_head": 96, "n_positions": 2048, "vocab_size": 50257})";
const char* const bert_base =
    R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512})";
const char* const llama3_8b =
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192})";
const char* const llama3_70b =
    R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256, "max_position_embeddings": 8192})";
const char* const mistral_7b =
    R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 32768,
        "sliding_window": 4096})";
const char* const mixtral_8x7b =
    R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 32768,
        "num_local_experts": 8, "num_experts_per_tok": 2})";

const char* const transformer_base =
    R"({"model_type": "transformer", "vocab_size": 37000, "d_model": 512, "num_heads": 8, "d_ff": 2048,
        "num_encoder_layers": 6, "num_decoder_layers": 6})";

std::uint64_t parameters(const CostModel& cost) {
    std::uint64_t sum = 0;
    for (const RoleWeights& one : cost.weights()) sum += one.parameters;
    return sum;
}
std::uint64_t active_parameters(const CostModel& cost) {
    std::uint64_t sum = 0;
    for (const RoleWeights& one : cost.weights()) sum += one.active;
    return sum;
}
Formula weights_formula(const CostModel& cost) {
    Formula sum;
    for (const RoleWeights& one : cost.weights()) sum += one.formula;
    return cost.simplified(sum);
}
RoleWeights weights_of(const CostModel& cost, ModelRole role) {
    for (const RoleWeights& one : cost.weights())
        if (one.role == role) return one;
    return {.role = role, .formula = {}};
}
double flops_of(const RunCost& run, ModelRole role) {
    for (const RunCost::RoleCost& one : run.roles)
        if (one.role == role) return one.cost.flops;
    return 0;
}

// Folders of the oracle whose architecture is built.
std::vector<std::string> known_folders() {
    std::vector<std::string> folders;
    const std::string all = std::string(VANTAGE_ROOT) + "/tests/data/oracle/models";
    for (const auto& entry : std::filesystem::directory_iterator(all)) {
        const std::string name = entry.path().filename().string();
        const Json tree = read_json(folder_of(name) + "/config.json");
        for (const Architecture* one : all_architectures())
            if (tree["model_type"] == one->name) folders.push_back(name);
    }
    return folders;
}

// As the model is loaded: optional weights that the checkpoint does not have are left out.
ModelConfig loaded_config(const std::string& model) {
    ModelConfig config = config_of(model);
    const WeightFiles files(folder_of(model));
    config.absent.clear();
    for (const char* weight : optional_weights(config))
        if (std::ranges::none_of(checkpoint_prefixes(config, weight),
                                 [&](const std::string& prefix) { return files.find(prefix + weight) != nullptr; }))
            config.absent.emplace_back(weight);
    return config;
}

// Every graph of a model: of an encoder–decoder both.
std::vector<Graph> graphs_of(const ModelConfig& config, std::int64_t context, DType cache) {
    std::vector<Graph> graphs;
    for (const bool encoder : {false, true})
        if (!encoder || config.kind == ModelKind::encoder_decoder)
            graphs.push_back(build_model(config, {.rows = 1, .context = context, .encoder = encoder, .cache = cache}));
    return graphs;
}

// Some runs of a model, of every kind that it has.
std::vector<RunCost> runs_of(const CostModel& cost, const ModelConfig& config) {
    if (config.is_vision()) return {cost.prompt(config.context)};
    std::vector<RunCost> runs = {cost.prompt(1), cost.prompt(50), cost.token(1), cost.token(50)};
    if (config.kind == ModelKind::encoder_decoder)
        for (const RunCost& run : {cost.source(1), cost.source(50), cost.prompt(50, 20), cost.token(50, 20)})
            runs.push_back(run);
    return runs;
}

// Elements of the tensors that the model's weights are made from.
std::uint64_t stored_parameters(const ModelConfig& config, const WeightFiles& files) {
    std::uint64_t sum = 0;
    std::set<std::string> seen;
    for (const Graph& graph : graphs_of(config, 1, DType::f32))
        for (const Value& value : graph.values()) {
            if (value.kind != ValueKind::weight || !seen.insert(value.name).second) continue;
            for (const std::string& part : value.parts.empty() ? std::vector{value.name} : value.parts)
                for (const std::string& prefix : checkpoint_prefixes(config, part))
                    if (const TensorEntry* found = files.find(prefix + part)) {
                        sum += static_cast<std::uint64_t>(found->elements());
                        break;
                    }
        }
    return sum;
}

// "params" of a row in MODELS.md: what PyTorch counted.
std::uint64_t counted_by_torch(const std::string& model) {
    std::ifstream file(std::string(VANTAGE_ROOT) + "/tests/data/oracle/MODELS.md");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("| " + model + " |")) continue;
        std::istringstream cells(line);
        std::string cell;
        for (int i = 0; i <= 7; ++i) std::getline(cells, cell, '|');
        return std::stoull(cell);
    }
    return 0;
}

}  // namespace

TEST_CASE("the parts of every model have as many parameters as its checkpoint", "[cost]") {
    const std::vector<std::string> folders = known_folders();
    CHECK(folders.size() >= 37);
    for (const std::string& name : folders) {
        const ModelConfig config = loaded_config(name);
        const CostModel cost(config);
        INFO(name << ": " << weights_formula(cost).text());
        CHECK(parameters(cost) == stored_parameters(config, WeightFiles(folder_of(name))));
        // BART's final_logits_bias is never trained; relative positions leave a table of positions unused
        const std::int64_t buffers = name == "bart" ? config.vocab : 0,
                           unused =
                               config.own.flag("relative_keys") ? config.own.integer("max_positions") * config.width
                               : name == "vit_gpt2" ? config.encoder_width() * (config.encoder_width() + 1)  // a pooler
                                                    : 0;
        // transformers does not have the architecture "transformer", and counts both towers of CLIP
        if (config.architecture != "transformer" && !config.recurrent && name != "clip")
            CHECK(parameters(cost) + static_cast<std::uint64_t>(unused) ==
                  counted_by_torch(name) + static_cast<std::uint64_t>(buffers));
        CHECK(weights_of(cost, ModelRole::other).parameters == 0);
        for (const RoleWeights& one : cost.weights()) {
            INFO(name_of(one.role) << ": " << one.formula.text());
            CHECK(one.formula.value(cost.values()) == static_cast<double>(one.parameters));
        }
    }
}

TEST_CASE("every model's runs cost what their closed forms say", "[cost]") {
    for (const std::string& name : known_folders()) {
        const ModelConfig config = config_of(name);
        const CostModel cost(config);
        SymbolValues zeros = cost.values();
        zeros['n'] = zeros['m'] = zeros['w'] = 0;
        for (auto& [symbol, value] : zeros) value = 0;
        for (const RunCost& run : runs_of(cost, config)) {
            for (const RunCost::RoleCost& one : run.roles) {
                INFO(name << " " << name_of(one.role) << ": " << one.flops.text());
                if (one.role == ModelRole::projections || one.role == ModelRole::attention ||
                    one.role == ModelRole::mlp || one.role == ModelRole::attention_out ||
                    one.role == ModelRole::router || one.role == ModelRole::experts || one.role == ModelRole::output ||
                    one.role == ModelRole::cross_query || one.role == ModelRole::cross_key ||
                    one.role == ModelRole::cross_value || one.role == ModelRole::cross_attention ||
                    one.role == ModelRole::cross_out) {
                    CHECK(one.flops.value(run.values) == one.cost.flops);
                    CHECK(one.flops.value(zeros) == 0);  // symbols only: a number would be what was counted
                }
            }
        }
    }
}

TEST_CASE("published models have their published sizes", "[cost]") {
    // what the models' pages and PyTorch say, to the last one
    const std::vector<std::pair<const char*, std::uint64_t>> published = {
        {gpt2_small, 124'439'808},
        {bert_base, 109'482'240},
        {llama3_8b, 8'030'261'248},
        {llama3_70b, 70'553'706'496},
        {mistral_7b, 7'241'732'096},
        {mixtral_8x7b, 46'702'792'704},
        {R"({"model_type": "roberta", "architectures": ["RobertaModel"], "hidden_size": 768, "num_hidden_layers": 12,
             "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265, "pad_token_id": 1,
             "max_position_embeddings": 514, "type_vocab_size": 1})",
         124'645'632},
        {R"({"model_type": "distilbert", "architectures": ["DistilBertModel"], "dim": 768, "n_layers": 6, "n_heads": 12,
             "hidden_dim": 3072, "vocab_size": 30522, "max_position_embeddings": 512})",
         66'362'880},
        {R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880})", 559'214'592},
        {R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
             "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768})",
         125'239'296},
        {R"({"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "rotary_dim": 64, "vocab_size": 50400,
             "n_positions": 2048, "tie_word_embeddings": false})",
         6'050'882'784},
        {R"({"model_type": "gpt_neox", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
             "intermediate_size": 2048, "vocab_size": 50304, "max_position_embeddings": 2048,
             "tie_word_embeddings": false})",  // Pythia-70m
         70'426'624},
        {R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
             "multi_query": true, "parallel_attn": true, "bias": false, "vocab_size": 65024})",
         6'921'720'704},
        {R"({"model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32,
             "intermediate_size": 10240, "vocab_size": 51200, "max_position_embeddings": 2048,
             "partial_rotary_factor": 0.4, "tie_word_embeddings": false})",  // Phi-2
         2'779'683'840},
        {R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32,
             "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064,
             "max_position_embeddings": 4096, "tie_word_embeddings": false})",
         3'821'079'552},
        {R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
             "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
             "max_position_embeddings": 32768, "tie_word_embeddings": true})",
         494'032'768},
        {R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
             "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
             "max_position_embeddings": 40960, "tie_word_embeddings": true})",
         596'049'920},
        {R"({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
             "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
             "max_position_embeddings": 8192})",
         2'614'341'888},
        {R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
             "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "vocab_size": 201088,
             "num_local_experts": 32, "num_experts_per_tok": 4})",
         20'914'757'184},
        {R"({"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24, "vocab_size": 50280})", 129'135'360},
        {R"({"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "vocab_size": 65024,
             "tie_word_embeddings": false})",
         7'272'665'088},
        {R"({"model_type": "jamba", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
             "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 65536})",  // Jamba-v0.1
         51'570'323'328},
        {R"({"model_type": "longformer", "architectures": ["LongformerModel"], "hidden_size": 768,
             "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265,
             "pad_token_id": 1, "max_position_embeddings": 4098, "type_vocab_size": 1, "attention_window": 512})",
         148'659'456},
        {R"({"model_type": "big_bird", "architectures": ["BigBirdModel"], "hidden_size": 768, "num_hidden_layers": 12,
             "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50358})",
         127'468'800},
        {R"({"model_type": "t5", "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8,
             "vocab_size": 32128})",
         60'506'624},
        {R"({"model_type": "bart", "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "vocab_size": 50265,
             "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072,
             "decoder_ffn_dim": 3072, "max_position_embeddings": 1024})",
         139'420'416 + 50'265},  // with final_logits_bias
        {R"({"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768,
             "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "num_labels": 1000})",
         86'567'656},
    };
    for (const auto& [config, size] : published) {
        INFO(config);
        const CostModel cost(parsed(config));
        CHECK(parameters(cost) == size);
        CHECK(weights_of(cost, ModelRole::other).parameters == 0);
    }
    // of Mixtral's 46.7 billion a token meets 12.9
    CHECK(active_parameters(CostModel(parsed(mixtral_8x7b))) == 12'879'925'248);
}

// ---- the closed forms of lectures and papers ------------------------------------------------------------------------

TEST_CASE("a block of width d has 12 d² weights in matrices, and GPT-2 has 124 million", "[cost][forms]") {
    const CostModel gpt2(parsed(gpt2_small));
    CHECK(weights_formula(gpt2).text() == "12·L·d² + 13·L·d + V·d + C·d + 2·d");
    CHECK(weights_of(gpt2, ModelRole::query).formula.text() == "L·d² + L·d");
    CHECK(weights_of(gpt2, ModelRole::mlp).formula.text() == "2·L·d·f + L·d + L·f");
    CHECK(weights_of(gpt2, ModelRole::embedding).formula.text() == "V·d");
    CHECK(weights_of(gpt2, ModelRole::output).parameters == 0);  // the embedding once more

    // 12·L·d² alone: 174 billion of GPT-3's 175
    const CostModel large(parsed(gpt3));
    CHECK(Formula::of("Ldd").value(large.values()) * 12 == 12.0 * 96 * 12288 * 12288);
    CHECK(parameters(large) / 1'000'000'000 == 174);
    CHECK(static_cast<double>(parameters(large)) < 1.005 * 12.0 * 96 * 12288 * 12288);
}

TEST_CASE("BERT-base: 7.09 million parameters a block, 85 million in blocks, 110 million in all", "[cost][forms]") {
    const CostModel bert(parsed(bert_base));
    std::uint64_t blocks = 0;
    for (const ModelRole role :
         {ModelRole::query, ModelRole::key, ModelRole::value, ModelRole::attention_out, ModelRole::mlp})
        blocks += weights_of(bert, role).parameters;
    blocks += 12 * 4 * 768;  // two norms
    CHECK(blocks / 12 == 7'087'872);
    CHECK(blocks == 85'054'464);
    std::uint64_t attention = 0;
    for (const ModelRole role : {ModelRole::query, ModelRole::key, ModelRole::value, ModelRole::attention_out})
        attention += weights_of(bert, role).parameters - 12 * 768;                           // without biases
    CHECK(attention / 12 == 4 * 768 * 768);                                                  // 2.36 million
    CHECK(weights_of(bert, ModelRole::mlp).parameters / 12 == 2 * 768 * 3072 + 3072 + 768);  // 4.72 million
    CHECK(weights_of(bert, ModelRole::norms).parameters == (12 * 4 + 2) * 768);
    CHECK(weights_of(bert, ModelRole::heads).parameters == 768 * 768 + 768);  // the pooler
}

TEST_CASE("many narrow heads cost what one wide head costs", "[cost][forms]") {
    std::string one = gpt2_small;
    one.replace(one.find("\"n_head\": 12"), 12, "\"n_head\": 3");
    const CostModel twelve(parsed(gpt2_small)), three(parsed(one));
    CHECK(parameters(three) == parameters(twelve));
    CHECK(three.prompt(64).total().flops == twelve.prompt(64).total().flops);
}

TEST_CASE("a token costs 24 L d² + 4 L d n, two operations for each weight it meets", "[cost][forms]") {
    const CostModel gpt2(parsed(gpt2_small));
    const RunCost run = gpt2.token(100);
    CHECK(gpt2.simplified(run.flops()).text() == "24·L·d² + 4·L·d·n + 2·V·d");
    CHECK(flops_of(run, ModelRole::projections) + flops_of(run, ModelRole::attention_out) +
              flops_of(run, ModelRole::mlp) ==
          24.0 * 12 * 768 * 768);
    CHECK(flops_of(run, ModelRole::attention) == 4.0 * 12 * 768 * 100);
    CHECK(flops_of(run, ModelRole::output) == 2.0 * 768 * 50257);
    // what the formulas leave out is little
    CHECK(run.total().flops < 1.01 * run.flops().value(run.values));
    CHECK(run.total().flops > run.flops().value(run.values));

    // a prompt: the same for each of its tokens, n²/2 pairs of tokens, and one output
    const RunCost prompt = gpt2.prompt(100);
    CHECK(gpt2.simplified(prompt.flops()).text() == "24·L·d²·n + 2·L·d·n² + 2·L·d·n + 2·V·d");
    CHECK(flops_of(prompt, ModelRole::mlp) == 100 * flops_of(run, ModelRole::mlp));
    CHECK(flops_of(prompt, ModelRole::attention) == 2.0 * 12 * 768 * 100 * 101);
}

TEST_CASE("attention of everything to everything grows with n²", "[cost][forms]") {
    const CostModel bert(parsed(bert_base));
    const auto attention = [&](std::int64_t n) { return flops_of(bert.prompt(n), ModelRole::attention); };
    CHECK(attention(128) == 4.0 * 12 * 768 * 128 * 128);
    CHECK(attention(512) == 16 * attention(128));
    CHECK(bert.simplified(bert.prompt(128).flops()).text() == "24·L·d²·n + 4·L·d·n² + 2·d²");
}

TEST_CASE("what a window hides costs nothing", "[cost][forms]") {
    const CostModel mistral(parsed(mistral_7b));
    const auto attention = [&](std::int64_t keys) { return flops_of(mistral.token(keys), ModelRole::attention); };
    CHECK(attention(4096) == 4.0 * 32 * 4096 * 4096);
    CHECK(attention(32768) == attention(4096));
    // twice the prompt beyond the window: twice the cost, but for the first window's triangle
    const auto prompt = [&](std::int64_t tokens) { return flops_of(mistral.prompt(tokens), ModelRole::attention); };
    CHECK(prompt(32768) - prompt(16384) == prompt(24576) - prompt(8192));
    CHECK(prompt(16384) < 2.4 * prompt(8192));
    const RunCost run = mistral.prompt(8192);
    for (const RunCost::RoleCost& one : run.roles)
        if (one.role == ModelRole::attention) CHECK(one.flops.text() == "4·L·d·n·w - 2·L·d·w² + 2·L·d·w");
}

TEST_CASE("grouped heads shrink keys, values and their cache", "[cost][forms]") {
    const CostModel llama(parsed(llama3_8b)), gpt2(parsed(gpt2_small));
    CHECK(weights_of(llama, ModelRole::key).formula.text() == "L·d·K·D");
    const RunCost token = llama.token(100);  // of a fused plan
    for (const RunCost::RoleCost& one : token.roles)
        if (one.role == ModelRole::projections) CHECK(one.flops.text() == "2·L·d² + 4·L·d·K·D");
    CHECK(flops_of(token, ModelRole::projections) == 2.0 * 32 * 4096 * (4096 + 2 * 8 * 128));
    CHECK(weights_of(llama, ModelRole::key).parameters * 4 == weights_of(llama, ModelRole::query).parameters);
    CHECK(llama.cache_per_token().text() == "2·L·K·D·b");
    CHECK(llama.cache_bytes(1) == 2 * 32 * 8 * 128 * 2);             // 128 KiB
    CHECK(llama.cache_bytes(8192) == std::uint64_t{1} << 30);        // 1 GiB
    CHECK(CostModel(parsed(llama3_70b)).cache_bytes(1) == 327'680);  // 320 KiB
    CHECK(gpt2.cache_per_token().text() == "2·L·d·b");
    CHECK(CostModel(parsed(gpt2_small), DType::f32).cache_bytes(1024) == 2ull * 12 * 768 * 4 * 1024);
    CHECK(CostModel(parsed(llama3_8b), DType::q8_0).cache_bytes(1) == 2 * 32 * 8 * 128 / 32 * 34);
    CHECK(gpt2.with_cache(DType::q4_0).cache_bytes(1024) == 2ull * 12 * 768 / 32 * 18 * 1024);
    // a prompt's attention reads floats that dequantize makes, but what it reads of the cache are blocks
    const CostModel quantised = llama.with_cache(DType::q8_0);
    CHECK(quantised.prompt(64).cache_bytes == 64.0 * static_cast<double>(quantised.cache_bytes(1)));
    CHECK(quantised.token(64).cache_bytes == quantised.prompt(64).cache_bytes);
}

TEST_CASE("k of E experts cost k/E of all of them", "[cost][forms]") {
    std::string every = mixtral_8x7b;
    every.replace(every.find("\"num_experts_per_tok\": 2"), 24, "\"num_experts_per_tok\": 8");
    const CostModel two(parsed(mixtral_8x7b)), eight(parsed(every));
    const RunCost some = two.token(1), all = eight.token(1);
    CHECK(flops_of(some, ModelRole::experts) * 4 == flops_of(all, ModelRole::experts));
    CHECK(parameters(two) == parameters(eight));
    CHECK(weights_of(two, ModelRole::experts).formula.text() == "3·L·E·d·f");
    CHECK(weights_of(two, ModelRole::experts).active * 4 == weights_of(two, ModelRole::experts).parameters);
    CHECK(weights_of(two, ModelRole::router).formula.text() == "L·E·d");
    // and of the weights a token reads those of its experts only, a prompt those of all
    CHECK(two.simplified(some.matrices).text() == "3·L·k·d·f + L·E·d + 2·L·d² + 2·L·d·K·D + V·d");
    CHECK(two.prompt(64).matrices.value(two.values()) == all.matrices.value(eight.values()));
    CHECK(all.weight_bytes - some.weight_bytes == 6.0 * 3 * 32 * 4096 * 14336 * 4);  // f32
}

TEST_CASE("a token reads every weight it meets once, and the keys and values so far", "[cost][forms]") {
    const CostModel gpt2(parsed(gpt2_small));
    const RunCost run = gpt2.token(500);
    CHECK(run.weight_bytes == 4.0 * (124'439'808 - 1024 * 768));  // all but the positions, of which a row is read
    CHECK(gpt2.simplified(run.matrices).text() == "12·L·d² + V·d");
    CHECK(run.weight_bytes == 4 * run.matrices.value(run.values) + 4.0 * (13 * 12 * 768 + 2 * 768));  // biases, norms
    CHECK(run.cache_bytes == 500.0 * static_cast<double>(gpt2.cache_bytes(1)));
    CHECK(run.total().bytes_read > run.weight_bytes + run.cache_bytes);
    CHECK(gpt2.prompt(64).weight_bytes == run.weight_bytes);  // once for all of its tokens
}

TEST_CASE("an encoder–decoder reads a text once; each token it writes costs both kinds of attention", "[cost][forms]") {
    const CostModel base(parsed(transformer_base));
    const RunCost text = base.source(30), token = base.token(20, 30), five = base.prompt(5, 30);
    CHECK(base.simplified(text.flops()).text() == "4·L·d²·m + 24·l·d²·m + 4·l·d·m²");
    CHECK(base.simplified(token.flops()).text() == "28·L·d² + 4·L·d·n + 4·L·d·m + 2·V·d");
    CHECK(base.simplified(five.flops()).text() == "28·L·d²·n + 2·L·d·n² + 4·L·d·n·m + 2·L·d·n + 2·V·d");
    CHECK(flops_of(token, ModelRole::cross_attention) == 4.0 * 6 * 512 * 30);
    CHECK(flops_of(token, ModelRole::attention) == 4.0 * 6 * 512 * 20);
    CHECK(flops_of(text, ModelRole::cross_key) == 2.0 * 6 * 512 * 512 * 30);
    // a block of the encoder has 12 d² weights in matrices, one of the decoder 16 d²
    const double d = 512, f = 2048, attention = 4 * (d * d + d), mlp = 2 * d * f + f + d, norm = 2 * d;
    std::uint64_t encoder = 0, ffn = 0;
    for (const RoleWeights& one : base.weights())
        if (one.encoder) encoder += one.parameters, ffn += one.role == ModelRole::mlp ? one.parameters : 0;
    CHECK(static_cast<double>(encoder) == 6 * (attention + mlp + 2 * norm));
    CHECK(ffn == 6 * (2'097'152 + 2048 + 512));  // two thirds of it; attention has 1 048 576 in matrices
    CHECK(static_cast<double>(parameters(base) - encoder) ==
          6 * (2 * attention + mlp + 3 * norm) + 37000 * d + 37000);  // and a bias of the logits
    CHECK(weights_of(base, ModelRole::cross_key).formula.text() == "L·d² + L·d");
    // both kinds of keys and values for the decoder's layers, and the encoder's own
    CHECK(base.cache_per_token().text() == "2·L·d·b");
    CHECK(base.cache_per_token(AttentionKind::cross).text() == "2·L·d·b");
    CHECK(base.cache_per_token(AttentionKind::encoder).text() == "2·l·d·b");
    CHECK(token.cache_bytes == 2.0 * 6 * 512 * 2 * (20 + 30));
    // the weights that the decoder's token reads: no keys' and values' of the cross-attention, and a row of the table
    CHECK(base.simplified(token.matrices).text() == "14·L·d² + V·d");
}

TEST_CASE("a Longformer without global tokens has projections that it does not use", "[cost]") {
    const ModelConfig config = config_of("longformer");
    const CostModel cost(config);
    CHECK(weights_of(cost, ModelRole::unused).formula.text() == "3·L·d² + 3·L·d");
    CHECK(weights_of(cost, ModelRole::mlp).formula.text() == "2·L·d·f + L·d + L·f");
    CHECK(flops_of(cost.prompt(50), ModelRole::unused) == 0);
    const CostModel global(config, DType::f16, [&](BuildOptions options) {
        options.global_tokens = 1;
        return build_model(config, options);
    });
    CHECK(weights_of(global, ModelRole::unused).parameters == 0);
    CHECK(weights_of(global, ModelRole::query).formula.text() == "2·L·d² + 2·L·d");
}

TEST_CASE("the cache that is counted is the cache that a session has", "[cost]") {
    for (const std::string& name : known_folders()) {
        const ModelConfig config = config_of(name);
        if (config.is_vision()) continue;  // an image has as many tokens as it has
        const CostModel cost(config, DType::f32);
        std::map<std::string, std::uint64_t> states;  // by name: an encoder's graph and the decoder's share some
        std::uint64_t sum = 0;
        for (const Graph& graph : graphs_of(config, 16, DType::f32))
            for (const Value& value : graph.values())
                if (value.kind == ValueKind::state && value.name.starts_with("cache."))
                    states[value.name] = value.type.bytes();
        for (const auto& [state, bytes] : states) sum += bytes;
        INFO(name << ": " << cost.cache_per_token().text());
        CHECK(cost.cache_bytes(16) == sum);
    }
}

TEST_CASE("recurrent layers take a step for each row", "[cost]") {
    // d = f / 4 = 32: two LSTMs of 2 n (d + d + 6) f, whose second one's inputs are as wide as its state
    const CostModel lm(config_of("recurrent_lstm"));
    CHECK(lm.prompt(50).steps == 2 * 50);
    CHECK(lm.token(50).steps == 2);
    CHECK(flops_of(lm.prompt(50), ModelRole::recurrent) == 50.0 * 128 * (2 * (24 + 32) + 2 * (32 + 32) + 2 * 12));
    CHECK(flops_of(lm.prompt(100), ModelRole::recurrent) == 2 * flops_of(lm.prompt(50), ModelRole::recurrent));
    CHECK(lm.cache_per_token().text() == "16·d");  // h and c of both, four bytes each
    // both directions of a layer at once; a decoder row by row
    const CostModel bahdanau(config_of("seq2seq_bahdanau"));
    CHECK(bahdanau.source(40).steps == 40);
    CHECK(bahdanau.prompt(30, 40).steps == 30);
    CHECK(bahdanau.prompt(30, 40).weight_bytes == 30 * bahdanau.prompt(1, 40).weight_bytes);
    CHECK(flops_of(bahdanau.prompt(30, 40), ModelRole::cross_attention) == 30.0 * 40 * (12 * 20 + 2 * 42 + 4));
    // self-attention computes all tokens at once, and is quadratic
    const CostModel attention(config_of("gpt2"));
    CHECK(attention.prompt(50).steps == 0);
}

TEST_CASE("formulas are sums of products", "[cost]") {
    const Formula d = Formula::of("d"), n = Formula::of("n"), f = Formula::of("f");
    CHECK((4 * d * d + 2 * d * f).text() == "4·d² + 2·d·f");
    CHECK((4 * d * d + 2 * d * f).with('f', 4 * d).text() == "12·d²");
    CHECK((12 * d * d + d).in_units_of('L', 12).text() == "L·d² + d");
    CHECK((n * n + -1 * n * n).text() == "0");
    CHECK((n + -3).text() == "n - 3");
    CHECK((-1 * d).text() == "-d");
    CHECK((100 * d * d + d + n).larger_terms(0.01, {{'d', 9}, {'n', 500}}).text() == "100·d² + n");
    CHECK((d * (n + 1)).value({{'d', 3}, {'n', 4}}) == 15);
}

// n² weights for each head and layer: 32 heads of 4096 tokens in f16 take a GiB a layer.
TEST_CASE("attention weights that are never stored", "[cost]") {
    const CostModel gpt(parsed(gpt2_small));
    CHECK(gpt.attention_weights().text() == "L·H·n²");
    SymbolValues values = gpt.values();
    values['n'] = 1024;
    CHECK(gpt.attention_weights().value(values) == 12.0 * 12 * 1024 * 1024);
    const CostModel llama(parsed(llama3_8b));
    values = llama.values();
    values['n'] = 4096;
    CHECK((llama.attention_weights() * Formula::of("b")).value(values) / 32 == 1073741824.0);
    CHECK(CostModel(parsed(transformer_base)).attention_weights().text() == "L·H·n² + L·H·n·m + l·H·m²");
    CHECK(CostModel(loaded_config("longformer")).attention_weights().text().find("L·H·n²") != std::string::npos);
    CHECK(CostModel(loaded_config("vit")).attention_weights().text() == "L·H·n²");
}

TEST_CASE("layers that mix tokens cost and wait as table 1 of the transformer's paper says", "[cost]") {
    const auto find = [](const std::vector<TokenMixing>& all, const std::string& id) {
        const auto found = std::ranges::find(all, id, [](const TokenMixing& one) { return std::string(one.id); });
        REQUIRE(found != all.end());
        return *found;
    };
    const std::vector<TokenMixing> bert = token_mixing(parsed(bert_base), 512);
    CHECK(bert.size() == 3);
    SymbolValues values = CostModel(parsed(bert_base)).values();
    values['n'] = 512;
    CHECK(find(bert, "self_attention").flops.value(values) == 4.0 * 512 * 512 * 768);
    CHECK(find(bert, "recurrent").flops.value(values) == 2.0 * 512 * 768 * 768);
    CHECK(find(bert, "convolution").flops.value(values) == 3 * find(bert, "recurrent").flops.value(values));
    CHECK(find(bert, "self_attention").sequential == 1);
    CHECK(find(bert, "self_attention").path == 1);
    CHECK(find(bert, "recurrent").sequential == 512);
    CHECK(find(bert, "recurrent").path == 511);
    CHECK(find(bert, "convolution").sequential == 1);
    CHECK(find(bert, "convolution").path == 6);  // 3^6 = 729
    // what the model's own graph counts: q·k and A·V of a layer
    const CostModel cost(parsed(bert_base));
    CHECK(flops_of(cost.prompt(512), ModelRole::attention) >= 12 * find(bert, "self_attention").flops.value(values));
    const std::vector<TokenMixing> mistral = token_mixing(parsed(mistral_7b), 32768);
    CHECK(find(mistral, "window").flops.text() == "4·d·n·w");
    CHECK(find(mistral, "window").path == 9);  // 4095 tokens a layer
    CHECK(find(token_mixing(parsed(bert_base), 1), "convolution").path == 0);
    CHECK(find(token_mixing(parsed(bert_base), 1), "self_attention").path == 0);
}
