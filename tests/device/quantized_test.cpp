// The built-in model with its matrices in 8 and 4 bits against what PyTorch computed with all of theirs.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

#include "oracle_model.h"
#include "runtime/base/ggml_blocks.h"
#include "runtime/base/quantize.h"
#include "runtime/base/version.h"
#include "runtime/conform/case_runner.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/compare.h"
#include "runtime/ops/coopmat.h"
#include "tests/host/expect_error.h"

using namespace vantage;
using namespace vantage::test;

namespace {

const std::string built_in_folder = std::string(VANTAGE_ROOT) + "/assets/models/mini-world";

}  // namespace

// A weight's error is spread evenly over a step; the step is 2 m / 254 or m / 8, and the largest m of 32 normal numbers
// is 2.1 deviations: an error of 0.5 % of a matrix's own size in q8, and of 7.6 % in q4, in each of its results. There
// are 17 matrices on the way to a logit, 4 in a row in each of 4 layers and the table, whose errors are independent:
// 2 % and 31 % if nothing damped them.
TEST_CASE("the built-in model in 8 and 4 bits says nearly what it says in 16", "[models][quantize]") {
    const SafeTensors file(built_in_folder + "/expected.safetensors");
    const auto ids = values_of<std::int32_t>(file.at("0.input_ids"));
    const std::vector<float> want = values_of<float>(file.at("0.logits"));
    const double size = difference(want, std::vector<float>(want.size(), 0)).second;
    for (const auto& [type, allowed] : {std::pair(DType::q8_0, 0.02), std::pair(DType::q4_0, 0.31)}) {
        INFO(name_of(type));
        const Model model = Model::load(test_device(), built_in_folder, {.weights = type});
        CHECK(model.info().weight_types == std::string("f16 ") + name_of(type));
        Session session(
            model,
            {.context = static_cast<std::int64_t>(ids.size()) + 32, .precision = Precision::f32, .inspect = true});
        session.append(ids);
        session.run();
        const double error = difference(session.logits(), want).second / size;
        INFO("relative error " << error);
        CHECK(error <= allowed);
        CHECK(error >= allowed / 100);  // it is quantised
        if (type != DType::q8_0) continue;
        Session writer(model, {.context = static_cast<std::int64_t>(ids.size()) + 32, .precision = Precision::f32});
        writer.restart({.ignore_end = true});
        writer.append(ids);
        const auto greedy = values_of<std::int32_t>(file.at("0.greedy_ids"));
        CHECK(writer.generate(8) == std::vector(greedy.begin(), greedy.begin() + 8));
    }
}

TEST_CASE("weights in types that are none of theirs are refused", "[models][quantize]") {
    expect_error(ErrorKind::usage, {"weights in i32: they may be f32, f16, bf16 or quantized"},
                 [] { Model::load(test_device(), built_in_folder, {.weights = DType::i32}); });
}

// Scales that are subnormal in f16 as well: q6_k's are, of weights of usual sizes.
TEST_CASE("blocks of any bits are the same numbers on the device and on the host, bit for bit", "[ops][quantize]") {
    const SafeTensors file(std::string(VANTAGE_ROOT) + "/tests/data/quantized/blocks.safetensors");
    for (const DType type : {DType::q4_1, DType::q5_0, DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k}) {
        INFO(name_of(type));
        std::vector<std::byte> blocks = file.at(std::string(name_of(type)) + ".random").data.all();
        const std::size_t size = internal::block_bytes(type), count = blocks.size() / size;
        for (std::size_t b = 0; b < count; b += 2)
            for (const std::uint8_t place : internal::scale_places(type))
                blocks[b * size + place + 1] &= std::byte{0x83};  // no exponent: below 2^-14
        const auto rows = static_cast<std::int64_t>(count * internal::block_elements(type) / 32);
        blocks.resize((blocks.size() + info(type).bytes - 1) / info(type).bytes * info(type).bytes);
        std::vector<std::byte> groups(blocks.size());
        for (std::size_t at = 0; at < groups.size(); at += info(type).bytes)
            internal::regroup(type, blocks.data() + at, groups.data() + at);
        std::vector<float> want(static_cast<std::size_t>(rows * 32));
        internal::dequantize(type, groups, want);

        Graph graph([type](const std::string&) { return type; });
        const Tensor ids = graph.input("ids", {rows}, DType::i32), table = graph.weight("table", {rows, 32});
        graph.output("rows", embedding(ids, table));
        Plan plan(std::move(graph), test_device());
        std::vector<std::int32_t> all(static_cast<std::size_t>(rows));
        std::iota(all.begin(), all.end(), 0);
        plan.write("ids", all);
        plan.write_bytes("table", groups);
        plan.run();
        CHECK(plan.read("rows").vector() == want);
    }
}

// One row is rounded by the lanes that multiply it, several by a launch before: a text must not depend on which.
TEST_CASE("a row that is rounded to bytes has the same bits alone and among others", "[ops][quantize]") {
    const Device& device = test_device();
    if (!has_family("integer_dot")) SKIP("the compiler of shaders knows no dot products of bytes");
    const auto weight = [](std::int64_t n, std::int64_t k, DType type) {
        return Case::Input{.type = TensorType{Shape{n, k}, type}, .fixed_type = true};
    };
    for (const auto& [op_name, rows_type] :
         {std::pair("matmul", DType::f32), std::pair("matmul", DType::f16), std::pair("joint_linear", DType::f32)})
        for (const DType type : {DType::q8_0, DType::q4_0})
            for (const std::int64_t k : {96, 1024}) {
                const OpDef& op = *find_op(op_name);
                const bool joint = op.name == std::string("joint_linear");
                const char* const kernel_name = joint ? "int8" : "int8_rows";
                const auto results = [&](std::int64_t first, std::int64_t rows) {
                    Case test{.name = "rows",
                              .attrs = {{"int8_operands", true}},
                              .inputs = {{.type = TensorType{Shape{5, k}}}, weight(23, k, type)}};
                    if (joint)
                        test.inputs.push_back(weight(9, k, type));
                    else
                        test.attrs.set("transpose_b", true);
                    const PreparedCase all = prepare(op, test, {rows_type, DType::f32});
                    test.inputs[0].type = TensorType{Shape{rows, k}};
                    PreparedCase prepared = prepare(op, test, {rows_type, DType::f32});
                    std::copy(all.inputs.begin() + 1, all.inputs.end(), prepared.inputs.begin() + 1);
                    std::copy_n(all.inputs[0].data.begin() + first * k, rows * k, prepared.inputs[0].data.begin());
                    const auto kernel = std::ranges::find(op.kernels, std::string_view(kernel_name),
                                                          [](const Kernel& one) { return std::string_view(one.name); });
                    if (!eligible(*kernel, prepared.call, device.caps())) SKIP("no dot products of bytes by quads");
                    return run_call(device, prepared.call, prepared.inputs, *kernel);
                };
                INFO(op_name << " " << name_of(type) << " " << k);
                const std::vector<HostTensor> five = results(0, 5), four = results(1, 4);
                for (std::int64_t row = 0; row < 5; ++row) {
                    const std::vector<HostTensor> one = results(row, 1);
                    for (std::size_t i = 0; i < one.size(); ++i) {
                        const std::int64_t n = one[i].type.shape[-1];
                        CHECK(std::equal(one[i].data.begin(), one[i].data.end(), five[i].data.begin() + row * n));
                        if (row > 0)
                            CHECK(std::equal(one[i].data.begin(), one[i].data.end(),
                                             four[i].data.begin() + (row - 1) * n));
                    }
                }
            }
}

namespace {

// Bytes times a power of two, one of each block the largest that there is: rounding finds the very numbers again, and a
// product of packed bytes has no other error than that of f32. What rounding itself costs is the ops' tests' affair.
void check_rows_of_bytes(const OpDef& op, const char* kernel_name, const Case& test) {
    INFO(op.name << ", " << kernel_name);
    const Device& device = test_device();
    std::mt19937 random(7);
    std::uniform_int_distribution<int> byte(-127, 127);
    PreparedCase prepared = prepare(op, test, {DType::f32, DType::f32});
    for (std::size_t i = 0; i < prepared.inputs[0].data.size(); ++i)
        prepared.inputs[0].data[i] =
            (i % 32 == 5 ? -127 : byte(random)) * std::exp2(static_cast<double>(i / 32 % 9) - 18);
    const Kernel* kernel = nullptr;
    for (const Kernel& one : op.kernels)
        if (std::string(one.name) == kernel_name) kernel = &one;
    REQUIRE(kernel != nullptr);
    const bool runs = eligible(*kernel, prepared.call, device.caps());
    const bool on_matrices = (kernel->needs & need_coopmat) != 0;
    CHECK(runs == (has_family("integer_dot") &&
                   (!on_matrices || (has_family("coopmat") && int8_matrix(device.caps()) != nullptr))));
    if (!runs) return;
    std::vector<HostTensor> want{HostTensor(prepared.call.outputs[0])};
    op.reference(prepared.call, prepared.inputs, want);
    const std::vector<HostTensor> got = run_call(device, prepared.call, prepared.inputs, *kernel);
    CHECK(compare("c", got[0], want[0], op.tolerance).message.empty());
}

}  // namespace

TEST_CASE("rows that are bytes already lose nothing where they are rounded to bytes", "[ops][quantize]") {
    for (const auto& [kernel, m, n, k, type] : {std::tuple("int8", 70, 23, 1056, DType::q8_0),  // k in parts
                                                {"int8_rows", 5, 23, 96, DType::q4_0},
                                                {"coopmat_int8", 70, 23, 1056, DType::q8_0},
                                                {"coopmat_int8", 150, 201, 352, DType::q4_0}})
        check_rows_of_bytes(*find_op("matmul"), kernel,
                            {.name = "bytes",
                             .attrs = {{"transpose_b", true}, {"int8_operands", true}},
                             .inputs = {{.type = TensorType{Shape{m, k}}},
                                        {.type = TensorType{Shape{n, k}, type}, .fixed_type = true}}});
    const OpDef& experts = *find_op("expert_linear");
    for (Case& test : experts.cases()) {
        const DType type = test.inputs[1].quantized;
        if (!is_quantized(type) || test.attrs.flag("any_rows") || test.inputs[0].type->shape[0] < 100) continue;
        test.attrs.set("int8_operands", true);
        test.inputs[1].type->dtype = type, test.inputs[1].fixed_type = true;
        check_rows_of_bytes(experts, "coopmat_int8", test);
    }
}
