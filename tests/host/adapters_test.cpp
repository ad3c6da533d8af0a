// Adapters of linear layers: which layers have them, PEFT's files, merging against what torch computes
// (tests/data/lora/make.py), and what is trained.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include "expect_error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/checkpoint/adapter_files.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"
#include "runtime/ops/dropout.h"
#include "runtime/train/initial_weights.h"
#include "runtime/train/training_graph.h"
#include "temporary_directory.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

const std::string models_folder = std::string(VANTAGE_TEST_DATA) + "/data/oracle/models/",
                  adapters_folder = std::string(VANTAGE_TEST_DATA) + "/data/lora/";

ModelConfig adapted_config(const std::string& name, const LoraOptions& lora) {
    const std::string file = models_folder + name + "/config.json";
    ModelConfig config = parse_model_config(read_file(file), file);
    config.lora = lora;
    return config;
}

std::vector<std::string> names_of(const std::vector<AdaptedLayer>& layers) {
    std::vector<std::string> names;
    for (const AdaptedLayer& layer : layers) names.push_back(layer.name);
    return names;
}

std::vector<float> tensor_floats(const TensorEntry& entry) {
    std::vector<float> values(entry.data.size() / 4);
    entry.data.read(0, std::as_writable_bytes(std::span(values)));
    return values;
}

TensorToWrite zero_tensor(const std::string& name, const Shape& shape) {
    const auto bytes = static_cast<std::size_t>(shape.elements()) * 4;
    return {.name = name, .dtype = "F32", .shape = {shape.sizes().begin(), shape.sizes().end()}, .make = [bytes] {
                return std::vector<std::byte>(bytes);
            }};
}

/// A folder of adapters for the oracle's GPT-2, one of whose files is changed.
struct ChangedAdapters {
    TemporaryDirectory folder;
    Json config = read_json(adapters_folder + "gpt2/adapter_config.json");
    std::vector<TensorToWrite> tensors;
    ChangedAdapters() {
        const SafeTensors file(adapters_folder + "gpt2/adapter_model.safetensors");
        for (const auto& [name, entry] : file.entries())
            tensors.push_back({.name = name, .dtype = entry.dtype, .shape = entry.shape, .make = [data = entry.data] {
                                   return data.all();
                               }});
    }
    void write() const {
        write_file(folder.path("adapter_config.json"), config.dump());
        write_safetensors(folder.path("adapter_model.safetensors"), tensors);
    }
    void refused(ErrorKind kind, std::initializer_list<const char*> parts) const {
        write();
        expect_error(kind, parts, [&] { merge_adapters(models_folder + "gpt2", folder.path(), folder.path("out")); });
        CHECK(!std::filesystem::exists(folder.path("out")));
    }
};

}  // namespace

TEST_CASE("layers with adapters are named as in PEFT", "[lora]") {
    const auto layers = [](const std::string& name, const std::vector<std::string>& targets) {
        return names_of(adapted_layers(adapted_config(name, {.targets = targets})));
    };
    CHECK(layers("llama", {"q_proj"}) ==
          std::vector<std::string>{"layers.0.self_attn.q_proj", "layers.1.self_attn.q_proj"});
    CHECK(layers("llama", {"model.layers.1.mlp.up_proj", "layers.0.mlp.up_proj"}) ==
          std::vector<std::string>{"layers.0.mlp.up_proj", "layers.1.mlp.up_proj"});
    CHECK(layers("llama", {"proj"}).empty());  // whole parts of names
    CHECK(layers("llama", {"lm_head"}) == std::vector<std::string>{"lm_head"});
    CHECK(layers("llama", {"all-linear"}).size() == 2 * 7);
    const std::vector<AdaptedLayer> gpt2 = adapted_layers(adapted_config("gpt2", {}));
    CHECK(layer_kinds(gpt2) == std::vector<std::string>{"c_attn", "c_fc", "c_proj"});
    CHECK(layer_kinds(gpt2, 2) == std::vector<std::string>{"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"});
    CHECK(layer_kinds({{"head"}, {"a.head"}, {"1.b.head"}}, 2) == std::vector<std::string>{"a.head", "b.head", "head"});
    CHECK(std::ranges::all_of(gpt2, &AdaptedLayer::inputs_first));
    CHECK(layers("mixtral", {"all-linear"}).size() == 2 * 4);        // not routers …
    CHECK(layers("mixtral", {"gate"}).size() == 2);                  // … unless they are named
    CHECK(layers("bart", {"all-linear"}).size() == 2 * 6 + 2 * 10);  // of encoder and decoder
    const auto refused = [](const LoraOptions& lora, std::initializer_list<const char*> parts) {
        expect_error(ErrorKind::usage, parts, [&] { require_possible_adapters(adapted_config("gpt2", lora)); });
    };
    refused({.targets = {"c_attn", "q_proj"}}, {"q_proj", "c_attn, c_fc, c_proj", "all-linear"});
    refused({.targets = {}}, {"no layer"});
    refused({.rank = 0}, {"rank 0"});
    refused({.alpha = NAN}, {"alpha"});
}

TEST_CASE("adapters begin as PEFT draws them", "[lora]") {
    const ModelConfig config = adapted_config("gpt2", {.rank = 8});
    for (const Value& value : weights_in_files(config)) {
        if (!is_adapter(value.name)) continue;
        const std::vector<float> values = initial_values(config, value, 3);
        const float largest = std::abs(*std::ranges::max_element(values, {}, [](float x) { return std::abs(x); }));
        const double bound = 1 / std::sqrt(static_cast<double>(value.type.shape[1]));
        INFO(value.name);
        if (value.name.ends_with(adapter_names::up))
            CHECK(largest == 0);
        else
            CHECK((largest <= bound && largest > 0.9 * bound));
    }
    CHECK(LoraOptions{.rank = 4, .alpha = 8}.factor() == 2);
    CHECK(LoraOptions{.rank = 4, .alpha = 8, .rslora = true}.factor() == 4);
}

TEST_CASE("only adapters are trained", "[lora]") {
    for (const char* name : {"gpt2", "llama"}) {
        const ModelConfig config = adapted_config(name, {.rank = 4, .targets = {"c_proj", "q_proj"}});
        const TrainingStep step = build_training_step(
            config, {.sequences = 1, .rows = 8, .rates = {0.1F}},
            [](const std::string& weight) { return weight.ends_with("q_proj.weight") ? DType::q8_0 : DType::f32; });
        std::set<std::string> parameters, states, frozen;
        for (const Value& value : step.parameters) parameters.insert(value.name);
        CHECK(parameters.size() == 2 * adapted_layers(config).size());
        CHECK(std::ranges::all_of(parameters, [](const std::string& one) { return is_adapter(one); }));
        for (const Value& value : step.graph.values()) {
            if (value.kind == ValueKind::weight) frozen.insert(value.name);
            if (value.kind == ValueKind::state) states.insert(value.name);
        }
        CHECK(std::ranges::none_of(frozen, [](const std::string& one) { return is_adapter(one); }));
        // each has itself, a gradient and two moments; and the run has its state, its history and the norms by block
        CHECK(states.size() == 4 * parameters.size() + 3);
        for (const Value& value : weights_in_files(config))
            CHECK(frozen.contains(value.name) != is_adapter(value.name));
    }
}

TEST_CASE("each adapter drops what goes into it by numbers of its own, in training only", "[lora]") {
    const auto sites = [](const TrainingStep& step) {
        std::set<std::int64_t> all;
        for (const Node& node : step.graph.nodes())
            if (node.op == &dropout_draw_op) {
                CHECK((node.attrs.number("probability") == 0.1 && node.attrs.integer("seed") == 7));
                CHECK(all.insert(node.attrs.integer("site")).second);
            }
        return all.size();
    };
    const TrainingSettings settings{.sequences = 1, .rows = 8, .seed = 7, .rates = {0.1F}};
    for (const char* name : {"gpt2", "llama"}) {
        const ModelConfig config = adapted_config(name, {.rank = 4, .dropout = 0.1});
        CHECK(sites(build_training_step(config, settings)) == adapted_layers(config).size());
        CHECK(sites(build_training_step(adapted_config(name, {.rank = 4}), settings)) == 0);
        CHECK(sites(build_evaluation(config, settings)) == 0);
    }
}

TEST_CASE("PEFT's files are written as they are read", "[lora]") {
    const TemporaryDirectory folder;
    LoraOptions lora = read_adapter_config(adapters_folder + "llama");
    CHECK(
        lora ==
        LoraOptions{
            .rank = 3, .alpha = 6, .targets = {"v_proj", "q_proj", "mlp.down_proj"}, .rslora = true, .dropout = 0.05});
    const std::string path = folder.path("adapter_config.json");
    write_adapter_config(path, adapted_config("llama", lora), "/models/llama");
    CHECK(read_adapter_config(folder.path()) == lora);
    CHECK(base_of_adapters(folder.path()) == "/models/llama");
    CHECK(read_json(path).at("fan_in_fan_out") == false);
    CHECK(read_json(path).at("lora_dropout") == 0.05);
    write_adapter_config(path, adapted_config("gpt2", {}), "");
    const Json json = read_json(path);
    const Json wanted = {{"peft_type", "LORA"},
                         {"task_type", "CAUSAL_LM"},
                         {"r", 16},
                         {"lora_alpha", 32.0},
                         {"lora_dropout", 0.0},
                         {"bias", "none"},
                         {"fan_in_fan_out", true},
                         {"target_modules", {"c_attn", "c_fc", "c_proj"}},
                         {"use_dora", false}};
    for (const auto& [key, value] : wanted.items()) CHECK(json.at(key) == value);
    for (const auto& [model, task] :
         {std::pair("bert_classification", Json()), std::pair("t5", Json("SEQ_2_SEQ_LM"))}) {
        write_adapter_config(path, adapted_config(model, {}), "");  // no task of PEFT's is that of an encoder
        CHECK(read_json(path).at("task_type") == task);
    }
    // not lm_head.dense, which belongs to the output layer
    write_adapter_config(path, adapted_config("roberta", {}), "");
    const Json targets = read_json(path).at("target_modules");
    CHECK(targets == Json{"intermediate.dense", "output.dense", "self.key", "self.query", "self.value"});
    const LoraOptions read{.targets = targets.get<std::vector<std::string>>()};
    CHECK(names_of(adapted_layers(adapted_config("roberta", read))) ==
          names_of(adapted_layers(adapted_config("roberta", {}))));
}

TEST_CASE("merged weights are those of torch", "[lora]") {
    for (const std::string name : {"gpt2", "llama"}) {
        const TemporaryDirectory folder;
        const std::string out = folder.path("merged");
        const std::int64_t layers = merge_adapters(models_folder + name, adapters_folder + name, out);
        CHECK(layers == (name == "gpt2" ? 2 * 4 : 2 * 3));
        const SafeTensors merged(out + "/model.safetensors"), base(models_folder + name + "/model.safetensors"),
            want(adapters_folder + name + "/expected.safetensors");
        CHECK(merged.entries().size() == base.entries().size());
        std::size_t compared = 0, equal = 0;
        for (const auto& [tensor, entry] : base.entries()) {
            const std::vector<float> got = tensor_floats(merged.at(tensor));
            if (got == tensor_floats(entry)) ++equal;
            if (want.find(tensor) == nullptr) continue;
            ++compared;
            const std::vector<float> wanted = tensor_floats(want.at(tensor));
            REQUIRE(got.size() == wanted.size());
            double worst = 0;
            for (std::size_t i = 0; i < got.size(); ++i) worst = std::max<double>(worst, std::abs(got[i] - wanted[i]));
            INFO(tensor);
            CHECK(worst <= 1e-6);
        }
        CHECK(compared == static_cast<std::size_t>(layers / 2));
        CHECK(equal == base.entries().size() - static_cast<std::size_t>(layers));
        for (const char* file : {"config.json", "tokenizer.json", "tokenizer_config.json"})
            CHECK(read_file(out + "/" + file) == read_file(models_folder + name + "/" + file));
        expect_error(ErrorKind::bad_file, {out.c_str()},
                     [&] { merge_adapters(models_folder + name, adapters_folder + name, out); });
    }
}

TEST_CASE("merged weights keep their types and shards", "[lora]") {
    const TemporaryDirectory folder;
    const std::string out = folder.path("merged"), from = models_folder + "llama_bf16";
    const ModelConfig config = adapted_config("llama_bf16", {.rank = 5, .targets = {"o_proj", "gate_proj"}});
    std::vector<TensorToWrite> tensors;  // A and B are zeros
    for (const Value& value : weights_in_files(config))
        if (is_adapter(value.name))
            tensors.push_back(zero_tensor(adapter_files::tensor_prefix + ("model." + value.name), value.type.shape));
    CHECK(tensors.size() == 2 * adapted_layers(config).size());
    write_safetensors(folder.path("adapter_model.safetensors"), tensors);
    write_adapter_config(folder.path("adapter_config.json"), config, from);
    merge_adapters(from, folder.path(), out);
    const WeightFiles merged(out), base(from);
    CHECK(merged.files().size() == base.files().size());
    for (const std::string& name : base.names()) {
        CHECK(merged.find(name)->dtype == base.find(name)->dtype);
        CHECK(merged.find(name)->data.all() == base.find(name)->data.all());
    }
}

TEST_CASE("layers of adapters that only their tensors name are found there", "[lora]") {
    ChangedAdapters one;
    one.config["target_modules"] = R"(.*\.c_(attn|proj|fc))";  // a regular expression
    one.write();
    CHECK(merge_adapters(models_folder + "gpt2", one.folder.path(), one.folder.path("all")) == 8);
    one.config["target_modules"] = Json::array({"c_attn"});
    one.config["layers_to_transform"] = Json::array({0});
    std::erase_if(one.tensors,
                  [](const TensorToWrite& t) { return t.name.find(".h.0.attn.c_attn.") == std::string::npos; });
    one.write();
    CHECK(merge_adapters(models_folder + "gpt2", one.folder.path(), one.folder.path("first")) == 1);
}

TEST_CASE("adapters that do not fit are refused in one line", "[lora][bad]") {
    using enum ErrorKind;
    for (const auto& [key, value, kind, text] :
         std::initializer_list<std::tuple<const char*, Json, ErrorKind, const char*>>{
             {"peft_type", "IA3", unsupported, "IA3"},
             {"peft_type", nullptr, bad_file, "peft_type"},
             {"use_dora", true, unsupported, "use_dora"},
             {"bias", "all", unsupported, "bias"},
             {"modules_to_save", Json::array({"lm_head"}), unsupported, "modules_to_save"},
             {"rank_pattern", Json{{"c_attn", 8}}, unsupported, "rank_pattern"},
             {"alpha_pattern", Json{{"c_attn", 8}}, unsupported, "alpha_pattern"},
             {"init_lora_weights", "pissa", unsupported, "pissa"},
             {"r", 0, bad_file, "\"r\""},
             {"r", "four", bad_file, "\"r\""},
             {"r", 1 << 20, bad_file, "\"r\""},
             {"r", 8, bad_file, "[4, "},
             {"lora_alpha", nullptr, bad_file, "lora_alpha"},
             {"lora_dropout", 1, bad_file, "lora_dropout"},
             {"lora_dropout", -0.1, bad_file, "lora_dropout"},
             {"use_rslora", 1, bad_file, "use_rslora"},
             {"target_modules", Json::array({1}), bad_file, "target_modules"},
             {"target_modules", Json::array({"c_attn"}), bad_file, "no part of an adapter"}}) {
        ChangedAdapters one;
        one.config[key] = value;
        INFO(key);
        one.refused(kind, {text, "adapter_"});
    }
    const auto with_tensors = [](const std::function<void(std::vector<TensorToWrite>&)>& change,
                                 std::initializer_list<const char*> parts) {
        ChangedAdapters one;
        change(one.tensors);
        one.refused(bad_file, parts);
    };
    with_tensors([](auto& tensors) { tensors.pop_back(); }, {"is missing", "lora_"});
    with_tensors([](auto& tensors) { tensors.clear(); }, {"is missing"});
    with_tensors([](auto& tensors) { tensors[0] = zero_tensor(tensors[0].name, {2, 2}); }, {"[2, 2]", "wants"});
    with_tensors([](auto& tensors) { tensors.push_back(zero_tensor("base_model.model.lm_head.weight", {1})); },
                 {"lm_head.weight", "no part of an adapter"});
    with_tensors(
        [](auto& tensors) {
            tensors[0].make = [size = tensors[0].make().size()] {
                return std::vector<std::byte>(size, std::byte{0xFF});
            };
        },
        {"not finite"});
    ChangedAdapters one;
    one.write();
    write_file(one.folder.path("adapter_config.json"), "{");
    expect_error(bad_file, {"adapter_config.json", "not JSON"},
                 [&] { static_cast<void>(read_adapter_config(one.folder.path())); });
    expect_error(bad_file, {"adapter_config.json"}, [&] { static_cast<void>(read_adapter_config("/nowhere")); });
}
