// Models in GGUF files: the same bits as from the folder that they were made from.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "oracle_model.h"
#include "runtime/base/files.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "vantage/batch.h"
#include "vantage/session.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::test::logits_of;
using vantage::test::oracle_models;
using vantage::test::TemporaryDirectory;

namespace {

const std::string files = std::string(VANTAGE_TEST_DATA) + "/data/oracle/gguf/";

}  // namespace

TEST_CASE("a model of a GGUF file computes what its folder does", "[model][gguf]") {
    const Device& device = test_device();
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 40; ++i) ids.push_back(3 + i * 37 % 90);
    for (const auto& [file, folder, weights] :
         {std::tuple{"llama-f16", "llama", DType::f16}, {"qwen3-f32", "qwen3", DType::f32}}) {
        INFO(file);
        const Model from_file = Model::load(device, files + file + ".gguf"),
                    from_folder = Model::load(device, oracle_models + folder, {.weights = weights});
        CHECK(from_file.info().name == std::string(file) + ".gguf");
        CHECK(from_file.info().parameters == from_folder.info().parameters);
        CHECK(from_file.info().context == from_folder.info().context);
        CHECK(logits_of(from_file, ids) == logits_of(from_folder, ids));
    }
    // blocks as they lie in the file, as floats, and as those that Vantage makes of the folder: of 4 bits some ties differ
    for (const auto& [file, type] : {std::pair{"qwen3-q8_0", DType::q8_0}, {"qwen3-q4_0", DType::q4_0}}) {
        INFO(file);
        const std::vector<float> near = logits_of(Model::load(device, oracle_models + "qwen3", {.weights = type}), ids);
        const Model blocks = Model::load(device, files + file + ".gguf"),
                    floats = Model::load(device, files + file + ".gguf", {.weights = DType::f32});
        CHECK(blocks.info().weight_types.find(file + 6) != std::string::npos);
        const std::vector<float> got = logits_of(blocks, ids), want = logits_of(floats, ids);
        double apart = 0, size = 0, rounded = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            apart = std::max(apart, static_cast<double>(std::abs(got[i] - want[i])));
            rounded += std::pow(got[i] - near[i], 2), size += std::pow(near[i], 2);
        }
        CHECK(apart < 1e-4);  // sums in another order
        CAPTURE(apart, std::sqrt(rounded / size));
        CHECK(std::sqrt(rounded / size) < 0.02);
    }
}

TEST_CASE("models that llama.cpp's converter made compute what their folders do", "[model][gguf]") {
    const Device& device = test_device();
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 40; ++i) ids.push_back(3 + i * 37 % 90);
    struct Converted {
        const char *file, *folder;
        double apart = 0;  ///< share of the largest logit
    };
    constexpr double rounded = 1e-5;  // the file has factors of positions and 1 + a gain in f32
    for (const auto& [file, folder, apart] :
         {Converted{"bloom-f16", "bloom"}, Converted{"falcon-f16", "falcon"},
          Converted{"falcon_multi_query-f16", "falcon_multi_query"}, Converted{"gemma2-f16", "gemma2", rounded},
          Converted{"gpt2-f16", "gpt2"}, Converted{"gpt_neox-f16", "gpt_neox"},
          Converted{"llama_linear-f16-00001-of-00003", "llama_linear"},
          Converted{"llama_llama3-f16", "llama_llama3", rounded}, Converted{"mixtral-f16", "mixtral"},
          Converted{"phi-f16", "phi"}, Converted{"phi3-f16", "phi3"},
          Converted{"phi3_longrope-f16", "phi3_longrope", rounded}, Converted{"granite-f16", "granite", rounded},
          Converted{"olmo2-f16", "olmo2"}, Converted{"qwen3_moe-f16", "qwen3_moe"},
          Converted{"smollm3-f16", "smollm3"}}) {
        INFO(file);
        TemporaryDirectory copy;  // of Gemma 2, whose file has no key for what its folder says
        std::string wanted = oracle_models + folder;
        if (std::string_view(folder) == "gemma2") {
            std::string config = read_file(wanted + "/config.json");
            const std::string scalar = "\"query_pre_attn_scalar\": 20";
            config.replace(config.find(scalar), scalar.size(), "\"query_pre_attn_scalar\": 24");
            write_file(copy.path("config.json"), config);
            write_file(copy.path("model.safetensors"), read_file(wanted + "/model.safetensors"));
            wanted = copy.path("");
        }
        const Model from_file = Model::load(device, files + file + ".gguf"),
                    from_folder = Model::load(device, wanted, {.weights = DType::f16});
        CHECK(from_file.info().parameters == from_folder.info().parameters);
        CHECK(from_file.info().architecture == from_folder.info().architecture);
        const std::vector<float> got = logits_of(from_file, ids), want = logits_of(from_folder, ids);
        CHECK(vantage::test::difference(got, want).first <= apart * vantage::test::largest_of(want));
    }
}

TEST_CASE("an encoder of a GGUF file gives the vectors that its folder does", "[model][gguf]") {
    const std::vector<std::string> texts{"the first of the words", "another text, which is longer than the first"};
    const Model from_file = Model::load(test_device(), files + "bert-f16.gguf"),
                from_folder = Model::load(test_device(), oracle_models + "bert", {.weights = DType::f16});
    const EmbedOptions options{.pooling = Pooling::mean, .session = {.precision = Precision::f32}};
    const std::vector<float> got = embed(from_file, texts, options).vector(),
                             want = embed(from_folder, texts, options).vector();
    CHECK(vantage::test::largest_of(want) > 0.1);
    CHECK(got == want);
}

TEST_CASE("blocks of a GGUF file compute what their numbers do as floats", "[model][gguf][quantize]") {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 40; ++i) ids.push_back(3 + i * 37 % 90);
    const Model blocks = Model::load(test_device(), files + "mixed.gguf"),
                floats = Model::load(test_device(), files + "mixed.gguf", {.weights = DType::f32});
    for (const char* type : {"q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"})
        CHECK(blocks.info().weight_types.find(type) != std::string::npos);
    CHECK(floats.info().weight_types == "f32");
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{40}}) {  // each has kernels of its own
        const std::vector<std::int32_t> first(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
        const std::vector<float> got = logits_of(blocks, first), want = logits_of(floats, first);
        double apart = 0, largest = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
            apart = std::max(apart, static_cast<double>(std::abs(got[i] - want[i])));
            largest = std::max(largest, static_cast<double>(std::abs(want[i])));
        }
        CAPTURE(count, apart, largest);
        CHECK(apart < 1e-5 * largest);  // sums in another order
    }
}

TEST_CASE("what is not read from GGUF yet is refused by name", "[model][gguf][bad_input]") {
    TemporaryDirectory folder;
    const std::string whole = read_file(files + "qwen3-f32.gguf"), path = folder.path("other.gguf");
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = whole;
        text.replace(text.find(from), from.size(), to);
        write_file(path, text);
        return [&] { static_cast<void>(Model::load(test_device(), path)); };
    };
    expect_error(ErrorKind::unsupported, {"other.gguf: the architecture \"qwan3\" is not read from GGUF yet"},
                 changed("qwen3", "qwan3"));
    expect_error(ErrorKind::bad_file, {"other.gguf: tensor model.layers.0.self_attn.k_proj.weight is missing"},
                 changed("blk.0.attn_k.weight", "blk.0.attn_x.weight"));
    expect_error(ErrorKind::bad_file, {"no such folder"}, [] { Model::load(test_device(), "nowhere.gguf"); });
}
