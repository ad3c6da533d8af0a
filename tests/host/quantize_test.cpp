// Quantized weights: bit for bit the blocks of ggml, errors within their bounds, any shape; and which weights of
// a model become them.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/base/ggml_blocks.h"
#include "runtime/base/quantize.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/op_def.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/weight_storage.h"
#include "shaders/params/quantized.h"
#include "vantage/error.h"

using namespace vantage;

namespace {

constexpr std::size_t block = params::QUANT_BLOCK;
constexpr std::array all_quantized{DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0,
                                   DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k};
const std::string blocks_file = std::string(VANTAGE_ROOT) + "/tests/data/quantized/blocks.safetensors";

std::vector<std::byte> quantized(DType type, const std::vector<float>& values) {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(TensorType{Shape{static_cast<std::int64_t>(values.size())}, type}.bytes()));
    quantize(type, values, bytes);
    return bytes;
}
std::vector<float> rounded(DType type, const std::vector<float>& values) {
    std::vector<float> result(values.size());
    dequantize(type, quantized(type, values), result);
    return result;
}

// Blocks as files have them, as they lie in memory.
std::vector<std::byte> in_groups(DType type, std::vector<std::byte> blocks) {
    const std::size_t group = info(type).bytes;
    blocks.resize((blocks.size() + group - 1) / group * group);
    std::vector<std::byte> groups(blocks.size());
    for (std::size_t at = 0; at < groups.size(); at += group) regroup(type, blocks.data() + at, groups.data() + at);
    return groups;
}
std::vector<float> numbers_of(DType type, const std::vector<std::byte>& groups, std::size_t count) {
    std::vector<float> values(count);
    dequantize(type, groups, values);
    return values;
}

std::vector<float> floats_of(const TensorEntry& entry) {
    std::vector<float> values(entry.data.size() / sizeof(float));
    entry.data.read(0, std::as_writable_bytes(std::span(values)));
    return values;
}

}  // namespace

TEST_CASE("blocks of 32 are ggml's, bit for bit", "[quantize][oracle]") {
    const SafeTensors file(blocks_file);
    const std::vector<float> all = floats_of(file.at("values"));
    for (const DType type : {DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1}) {
        INFO(name_of(type));
        const TensorEntry& want = file.at(name_of(type));
        const auto size = static_cast<std::size_t>(want.shape[1]), count = static_cast<std::size_t>(want.shape[0]);
        CHECK(size == block_bytes(type));
        for (std::size_t i = 0; i < count; ++i) {
            INFO("block " << i);
            std::vector<std::byte> made(size);
            quantize_block(type, std::span(all).subspan(i * block, block), made.data());
            CHECK(made == want.data.part(i * size, size).all());
        }
        const std::vector<float> values(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count * block));
        CHECK(quantized(type, values) == in_groups(type, want.data.all()));
        CHECK(rounded(type, values) == floats_of(file.at(std::string(name_of(type)) + ".values")));
    }
}

TEST_CASE("blocks of any bits are the numbers that they are for ggml, bit for bit", "[quantize][oracle]") {
    const SafeTensors file(blocks_file);
    for (const DType type : {DType::q4_1, DType::q5_0, DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k}) {
        INFO(name_of(type));
        const std::string name = std::string(name_of(type)) + ".random";
        const std::vector<float> want = floats_of(file.at(name + ".values"));
        CHECK(numbers_of(type, in_groups(type, file.at(name).data.all()), want.size()) == want);
    }
}

TEST_CASE("blocks of 256 have the error of ggml's within 2 %", "[quantize][oracle]") {
    const SafeTensors file(blocks_file);
    const std::vector<float> values = floats_of(file.at("weights"));
    for (const DType type : {DType::q4_k, DType::q5_k, DType::q6_k}) {
        INFO(name_of(type));
        const std::vector<float> own = rounded(type, values),
                                 theirs = floats_of(file.at(std::string(name_of(type)) + ".weights"));
        double own_error = 0, their_error = 0;
        for (std::size_t row = 0; row < values.size(); row += 256) {
            double own_part = 0, their_part = 0;
            for (std::size_t i = row; i < row + 256; ++i)
                own_part += std::pow(own[i] - values[i], 2), their_part += std::pow(theirs[i] - values[i], 2);
            CAPTURE(row, own_part, their_part);
            CHECK(own_part <= 1.25 * their_part);  // one block may meet other ties
            own_error += own_part, their_error += their_part;
        }
        CAPTURE(own_error, their_error);
        CHECK(std::sqrt(own_error / their_error) < 1.02);
    }
}

TEST_CASE("the error of a quantised element is within its bound", "[quantize]") {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> values(block * 500);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = normal(random) * std::exp2(static_cast<float>(i / block % 20) - 6);
    const std::vector<float> eight = rounded(DType::q8_0, values), four = rounded(DType::q4_0, values);
    for (std::size_t first = 0; first < values.size(); first += block) {
        float largest = 0;
        for (std::size_t i = first; i < first + block; ++i)
            if (std::abs(values[i]) > std::abs(largest)) largest = values[i];
        const double m = std::abs(largest), ulp = 1 + 1e-6;
        for (std::size_t i = first; i < first + block; ++i) {
            const bool other_sign = values[i] * largest < 0;
            REQUIRE(std::abs(eight[i] - values[i]) <= m * (1.0 / 254 + 0x1p-11) * ulp);
            REQUIRE(std::abs(four[i] - values[i]) <= m * ((other_sign ? 1.0 / 8 : 1.0 / 16) + 0x1p-11) * ulp);
        }
    }
}

TEST_CASE("what f16 scales cannot hold becomes NaN, and only its block", "[quantize]") {
    for (const DType type : all_quantized)
        for (const float bad :
             {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e30f, -1e30f, -3e38f}) {
            const std::size_t each = block_elements(type);
            std::vector<float> values(3 * each, 1.0f);
            values[each + 27] = bad;
            const std::vector<float> result = rounded(type, values);
            CAPTURE(name_of(type), bad);
            for (std::size_t i = 0; i < result.size(); ++i) CHECK(std::isnan(result[i]) == (i / each == 1));
        }
}

TEST_CASE("numbers near the ends of f32 and f16 are rounded to something defined", "[quantize]") {
    for (const DType type : all_quantized)
        for (const float size : {1e-45f, 1e-38f, 1e-30f, 1e-7f, 1e6f, 1e8f, 9e8f}) {
            std::vector<float> values(block_elements(type));
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = size * std::sin(static_cast<float>(i) + 0.5f) * (i % 64 < 32 ? 1.0f : 1e-3f);
            const std::vector<float> result = rounded(type, values);
            CAPTURE(name_of(type), size);
            for (std::size_t i = 0; i < result.size(); ++i) {
                const bool defined = std::isnan(result[i]) && size > 1e5f;  // a scale beyond f16
                CHECK((defined || std::abs(result[i] - values[i]) <= 0.2f * size + 1e-6f));
            }
        }
}

TEST_CASE("quantised tensors of any shape keep their values", "[quantize]") {
    CHECK(TensorType{Shape{3, 32}, DType::q8_0}.bytes() == 272);  // whole groups
    CHECK(TensorType{Shape{8, 32}, DType::q8_0}.bytes() == 8 * 34);
    CHECK(TensorType{Shape{9, 32}, DType::q4_0}.bytes() == 2 * 144);
    for (const Shape& shape : {Shape{3, 32}, Shape{5, 96}, Shape{2, 3, 64}, Shape{7, 33}}) {
        HostTensor tensor({shape, DType::q8_0});
        for (std::size_t i = 0; i < tensor.data.size(); ++i)  // scale 1/8: all of them are multiples of it
            tensor.data[i] = i % block == 0 ? 127.0 / 8 : static_cast<double>(i * 37 % 255) / 8 - 127.0 / 8;
        CHECK(widen(tensor.type, narrow(tensor)).data == tensor.data);
    }
}

TEST_CASE("matrices of a model are stored as asked, and nothing else is", "[quantize][models]") {
    const auto types_of = [](const char* json, std::vector<std::string>& left, DType wanted = DType::q4_0) {
        const ModelConfig config = parse_model_config(json, "test");
        Graph graph = build_model(config, {.rows = 1, .context = 16}, [](const std::string&) { return DType::f16; });
        transpose_weights(graph);
        left = store_matrices(graph, config, wanted);
        std::map<std::string, DType> types;
        for (const Value& value : graph.values())
            if (value.kind == ValueKind::weight) types[value.name] = value.type.dtype;
        return types;
    };
    std::vector<std::string> left;
    const auto gpt2 =
        types_of(R"({"model_type":"gpt2","n_layer":1,"n_embd":64,"n_head":2,"vocab_size":16,"n_positions":16})", left);
    CHECK(left.empty());
    for (const auto& [name, type] : gpt2) {
        INFO(name);
        const bool matrix =
            name.starts_with("wte.") || (name.find(".c_") != std::string::npos && name.ends_with(".weight"));
        CHECK(type ==
              (matrix ? DType::q4_0 : DType::f16));  // wpe, of the same shape as wte, stays; so do norms and biases
    }
    // rows of 64 do not divide into blocks of 256, those of 256 do
    for (const auto& [wanted, instead] :
         {std::pair{DType::q4_k, DType::q5_0}, {DType::q5_k, DType::q5_1}, {DType::q6_k, DType::q8_0}}) {
        const auto types =
            types_of(R"({"model_type":"gpt2","n_layer":1,"n_embd":64,"n_head":2,"vocab_size":16,"n_positions":16})",
                     left, wanted);
        CHECK(left.empty());
        CHECK(types.at("h.0.mlp.c_fc.weight") == instead);
        CHECK(types.at("h.0.mlp.c_proj.weight") == wanted);
    }
    // experts of 48 columns do not divide into blocks, their sisters of 64 do; the router stays in any case
    const auto mixtral = types_of(
        R"({"model_type":"mixtral","num_hidden_layers":1,"hidden_size":64,"num_attention_heads":2,"num_key_value_heads":2,
            "intermediate_size":48,"vocab_size":16,"max_position_embeddings":16,"num_local_experts":4,"num_experts_per_tok":2})",
        left);
    for (const auto& [name, type] : mixtral) {
        INFO(name);
        const bool stays =
            name.find("norm") != std::string::npos || name.ends_with(".gate.weight") || name.ends_with("w2.weight");
        CHECK(type == (stays ? DType::f16 : DType::q4_0));
    }
    REQUIRE(left.size() == 1);
    CHECK(left.front().find("w2.weight stays f16 [4, 64, 48]: q4_0 takes rows in blocks of 32") != std::string::npos);
}
