// Models of random weights: what is on the device, and what does not fit it.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "runtime/exec/bindings.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/shapes.h"
#include "runtime/session/model_access.h"
#include "test_device.h"
#include "vantage/model.h"

using namespace vantage;

namespace {

std::vector<double> weight_of(const Model& model, const std::string& name, const TensorType& type) {
    std::vector<std::byte> bytes(type.bytes());
    gpu::download(model.device().state(), vantage::weights_of(model)->buffers.at(name), 0, bytes);
    return widen(type, bytes).data;
}

}  // namespace

TEST_CASE("Random weights: matrices of deviation 0.02 whose rows differ, gains of 1, also in halves") {
    const char* config = R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 512, "n_head": 8, "n_positions": 64,
        "vocab_size": 4096})";
    for (const DType type : {DType::f32, DType::f16}) {
        const Model model = Model::random(test_device(), "small", config, type, 3);
        CHECK(model.info().parameters == 4096 * 512 + 64 * 512 + (12 * 512 + 13) * 512 + 2 * 512);
        CHECK(!model.has_tokenizer());
        const std::vector<double> table = weight_of(model, "wte.weight", {{4096, 512}, type});  // more than a block
        double sum = 0, squares = 0, same = 0;
        for (std::size_t i = 0; i < table.size(); ++i) {
            sum += table[i], squares += table[i] * table[i];
            same += i >= 512 && table[i] == table[i - 512] ? 1 : 0;
        }
        const auto count = static_cast<double>(table.size());
        // five standard deviations of a mean, and of a variance, of as many numbers as the block has (a million)
        CHECK(std::abs(sum / count) < 5 * 0.02 / 1000);
        CHECK(std::abs(squares / count / 4e-4 - 1) < 5 * std::sqrt(2.0) / 1000);
        CHECK(same / count < 0.01);  // halves of the same size meet now and then
        for (const double gain : weight_of(model, "ln_f.weight", {{512}, DType::f32})) REQUIRE(gain == 1);
    }
}

TEST_CASE("A named shape that does not fit is refused with the numbers, before anything is allocated") {
    gpu::DeviceState& device = test_device().state();
    const std::uint64_t before = device.memory.held;
    device.memory.limit = std::uint64_t{1} << 30;
    try {
        Model::random(test_device(), "llama-8b", shape_named("llama-8b").config, DType::f16);
        FAIL("16 GB fit into 1 GiB");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::out_of_memory);
        CHECK(std::string(error.what()).find("llama-8b: the weights take 153") == 0);  // 15 317 MiB, with norms in f32
    }
    device.memory.limit = UINT64_MAX;
    CHECK(device.memory.held == before);
}
