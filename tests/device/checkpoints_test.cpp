// The same weights as other classes and versions of transformers save them: bare models with a pooler or without,
// experts one by one or joined.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "oracle_model.h"
#include "runtime/base/files.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using namespace vantage::test;

namespace {

/// A tensor of f32.
struct Floats {
    std::vector<std::int64_t> shape;
    std::vector<float> data;
};
using Tensors = std::map<std::string, Floats>;

Tensors tensors_of(const std::string& folder) {
    Tensors all;
    const SafeTensors file(folder + "/model.safetensors");
    for (const auto& [name, entry] : file.entries()) all[name] = {entry.shape, values_of<float>(entry)};
    return all;
}

void write_model(const TemporaryDirectory& to, const std::string& source, const std::string& class_name,
                 const Tensors& tensors) {
    Json config = read_json(oracle_models + source + "/config.json");
    config["architectures"] = {class_name};
    write_file(to.path("config.json"), config.dump());
    std::vector<TensorToWrite> all;
    for (const auto& [name, tensor] : tensors)
        all.push_back({name, "F32", tensor.shape, std::as_bytes(std::span(tensor.data))});
    write_safetensors(to.path("model.safetensors"), all);
}

/// What is below `prefix`, without it: what the bare model's class saves.
Tensors bare(const std::string& source, const std::string& prefix) {
    Tensors below;
    for (auto& [name, tensor] : tensors_of(oracle_models + source))
        if (name.starts_with(prefix)) below[name.substr(prefix.size())] = tensor;
    return below;
}

Floats waves(std::vector<std::int64_t> shape) {
    Floats tensor{shape, std::vector<float>(1)};
    for (const std::int64_t size : shape) tensor.data.resize(tensor.data.size() * static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = std::sin(0.7f * static_cast<float>(i)) / 4;
    return tensor;
}

/// tanh(W x + b) of the first row.
std::vector<float> pooled_by_hand(const Floats& w, const Floats& b, const std::vector<float>& rows) {
    std::vector<float> pooled;
    const auto width = static_cast<std::size_t>(w.shape[1]);
    for (std::size_t out = 0; out < static_cast<std::size_t>(w.shape[0]); ++out) {
        double sum = static_cast<double>(b.data[out]);
        for (std::size_t i = 0; i < width; ++i)
            sum += static_cast<double>(w.data[out * width + i]) * static_cast<double>(rows[i]);
        pooled.push_back(static_cast<float>(std::tanh(sum)));
    }
    return pooled;
}

/// A session that has run the oracle's prompt p1, or its first image.
Session session_after(const Model& model, const SafeTensors& expected) {
    const bool is_vision = expected.find("pixel_values") != nullptr;
    Session session(model, {.context = is_vision ? 0 : 17, .precision = Precision::f32, .inspect = !is_vision});
    const std::vector<float> images = is_vision ? values_of<float>(expected.at("pixel_values")) : std::vector<float>();
    if (is_vision)
        session.set_image(std::span(images).first(images.size() / 3));
    else
        session.append(values_of<std::int32_t>(expected.at("p1.input_ids")),
                       expected.find("p1.token_type_ids") != nullptr
                           ? values_of<std::int32_t>(expected.at("p1.token_type_ids"))
                           : std::vector<std::int32_t>());
    session.run();
    return session;
}

}  // namespace

TEST_CASE("bare encoders have a pooler where one was saved", "[models][oracle]") {
    struct Source {
        const char *folder, *prefix, *class_name;
    };
    const Source source =
        GENERATE(Source{"bert", "bert.", "BertModel"}, Source{"roberta", "roberta.", "RobertaModel"},
                 Source{"distilbert", "distilbert.", "DistilBertModel"}, Source{"vit", "vit.", "ViTModel"});
    INFO(source.class_name);
    const SafeTensors expected(oracle_models + source.folder + "/expected.safetensors");
    Tensors tensors = bare(source.folder, source.prefix);
    tensors.erase("pooler.dense.weight"), tensors.erase("pooler.dense.bias");
    const TemporaryDirectory without, with;
    write_model(without, source.folder, source.class_name, tensors);
    const Model model = Model::load(test_device(), without.path());
    Session session = session_after(model, expected);
    const bool is_vision = expected.find("pixel_values") != nullptr;
    std::vector<float> want = values_of<float>(expected.at(is_vision ? "last_hidden" : "p1.last_hidden"));
    if (is_vision) want.resize(want.size() / 3);
    CHECK(difference(session.last_hidden(), want).first <= Allowed{}.hidden);
    CHECK(session.pooled().empty());
    CHECK(session.logits().empty());
    if (std::string(source.folder) == "distilbert") return;  // has none

    const std::int64_t width = model.info().width, out = is_vision ? 20 : width;
    Floats w = waves({out, width}), b = waves({out});
    tensors["pooler.dense.weight"] = w, tensors["pooler.dense.bias"] = b;
    write_model(with, source.folder, source.class_name, tensors);
    if (is_vision) {
        Json config = read_json(with.path("config.json"));
        config["pooler_output_size"] = out;
        write_file(with.path("config.json"), config.dump());
    }
    Session pooling = session_after(Model::load(test_device(), with.path()), expected);
    CHECK(difference(pooling.pooled(), pooled_by_hand(w, b, want)).first <= 2e-4);  // as allowed for pooler_output
}

TEST_CASE("what needs a pooler says that it is missing", "[models][bad]") {
    Tensors tensors = tensors_of(oracle_models + "bert_classification");
    tensors.erase("bert.pooler.dense.weight");
    const TemporaryDirectory folder;
    write_model(folder, "bert_classification", "BertForSequenceClassification", tensors);
    expect_error(ErrorKind::bad_file, {"pooler.dense.weight is missing", "bert"},
                 [&] { Model::load(test_device(), folder.path()); });
}

TEST_CASE("bare decoders draw tokens where the output layer is the embedding", "[models][oracle]") {
    const std::string name = "qwen2";  // tied
    const TemporaryDirectory folder, untied;
    write_model(folder, name, "Qwen2Model", bare(name, "model."));
    const SafeTensors expected(oracle_models + name + "/expected.safetensors");
    Session session = session_after(Model::load(test_device(), folder.path()), expected);
    CHECK(difference(session.logits(), values_of<float>(expected.at("p1.logits"))).first <= Allowed{}.logits);
    write_model(untied, "mistral", "MistralModel", bare("mistral", "model."));
    expect_error(ErrorKind::bad_file, {"lm_head.weight is missing", "mistral", "output layer"},
                 [&] { Model::load(test_device(), untied.path()); });
}

namespace {

/// What a checkpoint calls a mixture of experts and its parts: one by one, and joined.
struct ExpertSpelling {
    const char *folder, *class_name, *mixture, *joined, *router, *gate, *up, *down;
};

Tensors with_joined_experts(const ExpertSpelling& s) {
    const Tensors apart = tensors_of(oracle_models + s.folder);
    Tensors tensors;
    for (const auto& [name, tensor] : apart) {
        const std::size_t at = name.find(s.mixture);
        const std::string layer = name.substr(0, at);  // or all of the name
        const auto is = [&](const char* part) { return name.ends_with(std::string(part) + ".weight"); };
        const auto append = [&](const std::string& to, const Floats& part, std::int64_t axis_before) {
            Floats& joined = tensors[layer + s.joined + to];
            if (joined.shape.empty()) joined.shape = {0, part.shape[0] * axis_before, part.shape[1]};
            joined.data.insert(joined.data.end(), part.data.begin(), part.data.end());
            joined.shape[0] = std::ssize(joined.data) / (joined.shape[1] * joined.shape[2]);
        };
        const bool mixture = at != std::string::npos;
        if (mixture && is(s.router)) {
            tensors[layer + s.joined + s.router + ".weight"] = tensor;
        } else if (!mixture || name.find("experts.") == std::string::npos) {  // the latter: an MLP
            tensors[name] = tensor;
        } else if (is(s.down)) {
            append("experts.down_proj", tensor, 1);
        } else if (is(s.gate)) {  // what is up of the same expert goes behind it
            std::string other = name;
            other.replace(other.rfind(s.gate), std::string(s.gate).size(), s.up);
            append("experts.gate_up_proj", tensor, 2);
            append("experts.gate_up_proj", apart.at(other), 2);
        }
    }
    return tensors;
}

}  // namespace

TEST_CASE("the experts of Mixtral and Jamba are read one by one or joined", "[models][oracle]") {
    for (const ExpertSpelling& s :
         {ExpertSpelling{"mixtral", "MixtralForCausalLM", "block_sparse_moe.", "mlp.", "gate", "w1", "w3", "w2"},
          ExpertSpelling{"jamba", "JambaForCausalLM", "feed_forward.", "feed_forward.", "router", "gate_proj",
                         "up_proj", "down_proj"}}) {
        INFO(s.folder);
        Tensors tensors = with_joined_experts(s);
        const TemporaryDirectory folder;
        write_model(folder, s.folder, s.class_name, tensors);
        const SafeTensors expected(oracle_models + s.folder + "/expected.safetensors");
        const Model joined = Model::load(test_device(), folder.path()),
                    apart = Model::load(test_device(), oracle_models + s.folder);
        CHECK(joined.info().parameters == apart.info().parameters);
        Session session = session_after(joined, expected);
        CHECK(difference(session.logits(), values_of<float>(expected.at("p1.logits"))).first <= Allowed{}.logits);
        const std::string missing = std::string("layers.1.") + s.joined + "experts.down_proj";
        tensors.erase("model." + missing);
        write_model(folder, s.folder, s.class_name, tensors);
        expect_error(ErrorKind::bad_file, {missing.c_str(), "is missing"},
                     [&] { Model::load(test_device(), folder.path()); });
    }
}
