// Roofs of a device, the shapes that are measured, and the picture of both.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "runtime/base/files.h"
#include "runtime/bench/model_shapes.h"
#include "runtime/bench/ops_bench.h"
#include "runtime/bench/roofline_chart.h"
#include "runtime/bench/roofs.h"
#include "runtime/bench/shapes.h"
#include "runtime/gpu/choose_device.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using Catch::Approx;

namespace {

Caps gpu_caps() {
    Caps caps;
    caps.name = "Made-up GPU / 2";
    caps.driver = "madeup";
    caps.driver_version = "Mesa 1.2 (x)";
    caps.uuid[15] = 9;
    return caps;
}

Roofs some_roofs() {
    const Caps caps = gpu_caps();
    return {.device = caps.name,
            .driver = caps.driver,
            .driver_version = caps.driver_version,
            .uuid = uuid_text(caps.uuid),
            .date = "2026-01-01T00:00:00Z",
            .memory = {{1 << 20, 400, 800}, {1 << 24, 200, 300}, {1 << 28, 100, 150}},
            .f32_gflops = 1000,
            .f16_gflops = 2000,
            .int8_gops = 0,
            .matrices = {{{16, 16, 16, "f16", "f16", "f32"}, 8000},
                         {{16, 8, 16, "f16", "f16", "f32"}, 9000},
                         {{16, 16, 32, "s8", "s8", "s32"}, 12000}},
            .dispatch_us = 1,
            .barrier_us = 2,
            .submit_us = 10,
            .compile_ms = 5};
}

BenchCase case_of(const char* op, std::vector<std::optional<TensorType>> inputs, const Attrs& attrs = {}) {
    OpCall call{.op = find_op(op), .attrs = attrs, .inputs = std::move(inputs), .outputs = {}};
    call.inputs.resize(call.op->operands.size());
    call.outputs = call.op->infer(call);
    return {.name = "x", .call = std::move(call)};
}

}  // namespace

TEST_CASE("a roof by the size of what is moved, and by unit", "[bench]") {
    const Roofs roofs = some_roofs();
    CHECK(roofs.seconds_moving(500, 500) == Approx(1000 / 400e9));
    CHECK(roofs.seconds_moving(1000, 0) == Approx(1000 / 800e9));
    CHECK(roofs.seconds_moving(0, 1000) == Approx(1000 / 400e9));
    CHECK(roofs.seconds_moving(700, 300) == Approx(600 / 400e9 + 400 / 800e9));
    CHECK(roofs.seconds_moving(0, 1 << 24) == Approx((1 << 24) / 200e9));
    CHECK(roofs.seconds_moving(0, 1 << 22) == Approx((1 << 22) / 300e9));  // half way in the logarithm
    CHECK(roofs.seconds_moving(1e12, 0) == Approx(1e12 / 150e9));
    CHECK(roofs.seconds_moving(0, 0) == 0);
    CHECK(Roofs{}.seconds_moving(1, 1) == 0);
    CHECK(roofs.main_memory_gb_per_s() == 150);
    CHECK(roofs.cache_gb_per_s() == 800);
    CHECK(roofs.arithmetic_gflops(Arithmetic::matrix, "f16") == 9000);
    CHECK(roofs.arithmetic_gflops(Arithmetic::matrix) == 12000);
    CHECK(roofs.arithmetic_gflops(Arithmetic::int8) == 0);
}

TEST_CASE("kept roofs come back; damaged ones and those of another driver do not", "[bench]") {
    const Caps caps = gpu_caps();
    const test::TemporaryDirectory directory;
    const std::string path = roofs_path(caps, directory.path("cache"));
    CHECK(path.find("/cache/roofs/00000000-0000-0000-0000-000000000009-Mesa-1.2-x-") != std::string::npos);
    CHECK(path.find(' ', directory.path().size()) == std::string::npos);
    CHECK(roofs_path(caps, "").empty());
    CHECK(!load_roofs(caps, path));

    const std::string file = directory.path("roofs.json"), text = roofs_to_json(some_roofs()).dump();
    write_file(file, text);
    const auto kept = load_roofs(caps, file);
    REQUIRE(kept);
    CHECK(roofs_to_json(*kept) == roofs_to_json(some_roofs()));

    Caps updated = caps;
    updated.driver_version = "Mesa 1.3";
    CHECK(roofs_path(updated, "c") != roofs_path(caps, "c"));
    CHECK(!load_roofs(updated, file));
    write_file(file, text.substr(0, text.size() / 2));
    CHECK(!load_roofs(caps, file));
    for (const auto& [field, value] :
         {std::pair{"version", Json(99)},
          {"memory", Json::array()},
          {"f32_gflops", Json(-1)},
          {"memory", Json::array({{{"bytes", 2}, {"copy_gb_per_s", 0}, {"read_gb_per_s", 1}}})},
          {"memory", Json::array({{{"bytes", 2}, {"copy_gb_per_s", 1}, {"read_gb_per_s", 1}},
                                  {{"bytes", 1}, {"copy_gb_per_s", 1}, {"read_gb_per_s", 1}}})}}) {
        Json wrong = roofs_to_json(some_roofs());
        wrong[field] = value;
        write_file(file, wrong.dump());
        INFO(field);
        CHECK(!load_roofs(caps, file));
    }
}

TEST_CASE("the lowest roof over a call bounds it", "[bench]") {
    const Roofs roofs = some_roofs();
    Caps scalar = gpu_caps(), halves = gpu_caps();
    halves.fp16 = true, halves.max_workgroup_invocations = halves.max_workgroup_size[0] = 256;
    const TensorType square{Shape{1024, 1024}, DType::f32}, weights{Shape{1024, 1024}, DType::f16},
        row{Shape{1, 4096}, DType::f32};
    const BenchCase product = case_of("matmul", {square, weights}, {{"transpose_b", true}, {"f16_operands", true}});
    // 2 · 1024³ operations at 10^12 a second
    CHECK(roof_of(product, roofs, scalar).bound == "f32");
    CHECK(roof_of(product, roofs, scalar).seconds == Approx(2.0 * 1024 * 1024 * 1024 / 1e12));
    // by the fastest unit of all kernels that fit, though the device would take another one, or --kernel measure one
    CHECK(roof_of(product, roofs, halves).bound == "f16");
    CHECK(roof_of(case_of("matmul", {square, square}), roofs, halves).bound == "f32");  // none in f16 fits
    const BenchCase vector = case_of("matmul", {row, {{Shape{4096, 4096}, DType::f32}}});
    const RoofOfCall memory = roof_of(vector, roofs, halves);
    CHECK(memory.bound == "memory");
    CHECK(memory.seconds == Approx(vector.cost().bytes() / (1e9 * memory.roof)));
}

TEST_CASE("every op has shapes, each once, under names that tell them apart", "[bench]") {
    const std::vector<BenchCase> all = bench_cases();
    std::set<const OpDef*> measured;
    std::map<std::string, std::string> names;
    for (const BenchCase& one : all) {
        measured.insert(one.call.op);
        const std::string name = std::string(one.call.op->name) + " " + one.name;
        INFO(name << ": " << operands_text(one.call));
        CHECK(names.emplace(name, operands_text(one.call)).second);
        CHECK(one.call.outputs == one.call.op->infer(one.call));
    }
    for (const OpDef* op : all_ops()) {
        INFO(op->name);
        CHECK(measured.count(op) == 1);
    }
    // what performance goals are about has to stay in the quick run
    std::set<std::string> quick;
    for (const BenchCase& one : bench_cases(true)) quick.insert(std::string(one.call.op->name) + " " + one.name);
    CHECK(quick.size() < all.size() / 2);
    for (const char* name : {"matmul 512^3", "matmul 1024^3", "matmul matvec 4096^2", "attention 8 heads d128 n1024",
                             "attention 8 heads d128 n1024 causal", "rms_norm 1024x4096", "layer_norm 1024x4096",
                             "add 4096x1024", "softmax 8x1024x1024"})
        CHECK(quick.count(name) == 1);
    CHECK(shape_of_model("llama-8b").layers == 32);
    test::expect_error(ErrorKind::usage, {}, [] { shape_of_model("gpt5"); });
}

TEST_CASE("the roofline: points where their numbers are, labels apart", "[bench]") {
    Report report("ops", gpu_caps());
    for (int i = 0; i < 60; ++i)
        report.row()
            .set("op", i % 3 == 0 ? "matmul" : "softmax")
            .set("case", "case " + std::to_string(i))
            .set("kernel", "tiled")
            .set("chosen", i % 2 == 0 ? "*" : "")
            .set("time_us", Spread{10, 0})
            .set("gflops", 10.0 + i)
            .set("flops", 1e6 * (1 + i % 7))
            .set("bytes", 1e6);
    report.row().set("op", "concat").set("kernel", "plain").set("time_us", Spread{1, 0}).set("flops", 0.0);
    const Roofline roofline = roofline_of(report, some_roofs());
    CHECK(roofline.points.size() == 60);
    CHECK(roofline.caption.find("without 1 that only move data") != std::string::npos);
    RooflineLayout layout;
    const Drawing drawing = draw_roofline(roofline, &layout);
    REQUIRE(layout.markers.size() == 60);
    for (std::size_t i = 0; i < 60; ++i) {
        const RooflinePoint& point = roofline.points[i];
        CHECK(layout.markers[i].x + layout.markers[i].width / 2 == Approx(layout.x_of(point.intensity)).margin(1));
        CHECK(layout.plot.contains(layout.markers[i]));
    }
    // on the line of main memory: 100 GB/s times 2 operations a byte are 200 GFLOP/s, below the roof of f32
    CHECK(layout.y_of(1000) == Approx(layout.y_of(200) - (layout.y_of(1) - layout.y_of(5))));
    CHECK(layout.x_of(10) - layout.x_of(1) == Approx(layout.x_of(100) - layout.x_of(10)));
    CHECK(layout.labels.size() > 10);
    for (std::size_t i = 0; i < layout.labels.size(); ++i) {
        CHECK(layout.plot.contains(layout.labels[i].box));
        for (std::size_t j = 0; j < i; ++j) CHECK(!layout.labels[i].box.overlaps(layout.labels[j].box));
        for (const Rect& marker : layout.markers) CHECK(!layout.labels[i].box.overlaps(marker));
    }
    const std::string svg = svg_text(drawing);
    CHECK(svg.starts_with("<svg xmlns="));
    for (const char* text :
         {"Roofline of Made-up GPU / 2", "arithmetic intensity (FLOP/byte)", "GFLOP/s", ">chosen<", ">not chosen<"}) {
        CAPTURE(text);
        CHECK(svg.find(text) != std::string::npos);
    }
    const Image image = paint(drawing);
    CHECK(image.width == drawing.width);
    test::expect_error(ErrorKind::usage, {}, [] { require_picture_name("a.jpg"); });
}
