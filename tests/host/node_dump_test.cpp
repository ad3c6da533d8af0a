// Dumps of nodes as files: what is written is read again, and a stranger's folder is refused with one line.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "runtime/base/json.h"
#include "runtime/base/spirv.h"
#include "runtime/exec/node_dump.h"
#include "shaders/params/step.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using test::expect_error;
using test::TemporaryDirectory;

namespace {

/// A call of a case of an op, with operands of zeros.
NodeDump dump_of(const char* name, std::size_t index = 0) {
    const OpDef* op = find_op(name);
    const Case test = op->cases().at(index);
    NodeDump dump{.node = "h.0." + std::string(name), .call = {.op = op, .attrs = test.attrs}, .kernel = "plain"};
    dump.call.inputs.resize(op->operands.size());
    for (std::size_t i = 0; i < test.inputs.size(); ++i) dump.call.inputs[i] = test.inputs[i].type;
    dump.call.outputs = op->infer(dump.call);
    for (const auto& type : dump.call.inputs) dump.inputs.emplace_back(type ? type->bytes() : 0);
    for (const TensorType& type : dump.call.outputs) dump.results.emplace_back(type.bytes());
    const SpirvModule& module = spirv_modules().front();
    dump.launches = {{.module = module.name, .constants = {256, 1}, .parameters = {std::byte{1}, std::byte{0xfe}}}};
    dump.modules[module.name].assign(module.code.begin(), module.code.end());
    dump.build = this_build();
    dump.device.api_version = 1u << 22 | 3u << 12;  // 1.3
    return dump;
}

std::int64_t size_of(const NodeDump& dump) {
    std::int64_t elements = 0;
    for (const auto& type : dump.call.inputs) elements += type ? type->shape.elements() : 0;
    for (const TensorType& type : dump.call.outputs) elements += type.shape.elements();
    return elements;
}

/// Writes the dump, changes the JSON, and reads it again.
NodeDump read_changed(const std::function<void(Json&)>& change, const char* op = "scale") {
    const TemporaryDirectory folder;
    write_dump(dump_of(op), folder.path("d"));
    Json tree = read_json(folder.path("d/dispatch.json"));
    change(tree);
    write_file(folder.path("d/dispatch.json"), tree.dump());
    return read_dump(folder.path("d"));
}

}  // namespace

TEST_CASE("a dump is read as it was written", "[dump]") {
    const TemporaryDirectory folder;
    const NodeDump dump = dump_of("scale");
    write_dump(dump, folder.path("above/d/"));
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder.path("above/d")))
        names.insert(file.path().filename());
    CHECK(names == std::set<std::string>{"dispatch.json", "operands.safetensors", dump.launches[0].module + ".spv"});
    const NodeDump read = read_dump(folder.path("above/d"));
    CHECK(read.node == dump.node);
    CHECK(read.call.attrs == dump.call.attrs);
    CHECK((read.call.inputs == dump.call.inputs && read.call.outputs == dump.call.outputs));
    CHECK((read.inputs == dump.inputs && read.results == dump.results));
    CHECK((read.launches == dump.launches && read.modules == dump.modules));
    CHECK(read.build == dump.build);
}

TEST_CASE("a dump goes to a new or empty folder, whole or not at all", "[dump]") {
    const TemporaryDirectory folder;
    std::filesystem::create_directory(folder.path("empty"));
    write_dump(dump_of("scale"), folder.path("empty"));
    expect_error(ErrorKind::bad_file, {"empty", "new or empty folder"},
                 [&] { write_dump(dump_of("scale"), folder.path("empty")); });
    write_file(folder.path("file"), std::string("x"));
    expect_error(ErrorKind::bad_file, {"file", "new or empty folder"},
                 [&] { write_dump(dump_of("scale"), folder.path("file")); });
    NodeDump damaged = dump_of("scale");
    damaged.results[0].pop_back();
    CHECK_THROWS_AS(write_dump(damaged, folder.path("damaged")), Error);
    CHECK(folder.entries() == 2);  // nothing is left of it
}

TEST_CASE("a stranger's dump is refused with one line", "[dump]") {
    const auto refused = [](std::initializer_list<const char*> parts, const std::function<void(Json&)>& change) {
        expect_error(ErrorKind::bad_file, parts, [&] { read_changed(change); });
    };
    refused({"\"op\" is \"rm -rf\"", "an op of this version"}, [](Json& j) { j["op"] = "rm -rf"; });
    refused({"\"op\""}, [](Json& j) { j["op"] = "a\n\033[2J"; });
    refused({"schema_version"}, [](Json& j) { j["schema_version"] = 2; });
    refused({"operands[0].shape"}, [](Json& j) { j["operands"][0]["shape"] = {-1}; });
    refused({"operands[0].shape"}, [](Json& j) { j["operands"][0]["shape"] = {1 << 20, 1 << 20, 1 << 20, 1 << 20}; });
    refused({"operands[0].shape"}, [](Json& j) { j["operands"][0]["shape"] = {0, 1 << 30, 1 << 30}; });
    refused({"operands[0].shape"}, [](Json& j) { j["operands"][0]["shape"] = {1, 1, 1, 1, 1, 1, 1}; });
    refused({"operands[0].type"}, [](Json& j) { j["operands"][0]["type"] = "f64"; });
    refused({"operands[0].name"}, [](Json& j) { j["operands"][0]["name"] = "nonsense"; });
    refused({"scale"}, [](Json& j) { j["operands"] = Json::array(); });
    refused({"results"}, [](Json& j) { j["results"][0]["shape"] = {3}; });
    refused({"operands.safetensors", "wanted"},
            [](Json& j) { j["operands"][0]["type"] = j["results"][0]["type"] = "f16"; });
    refused({"options.factor"}, [](Json& j) { j["options"]["factor"] = nullptr; });
    for (const char* name : {"../x", "", "a/b", "UPPER", "a\n"})
        refused({"launches[0].module"}, [&](Json& j) { j["launches"][0]["module"] = name; });
    refused({"cannot read"}, [](Json& j) { j["launches"][0]["module"] = "elsewhere"; });
    refused({"groups"}, [](Json& j) { j["launches"][0]["groups"] = {1, 2}; });
    refused({"push_constants"}, [](Json& j) { j["launches"][0]["push_constants"] = "0g"; });
    refused({"push_constants"}, [](Json& j) { j["launches"][0]["push_constants"] = std::string(1000, '0'); });
    refused({"device"}, [](Json& j) { j["device"] = 3; });
}

TEST_CASE("the step of a stranger's dump names sequences that there are", "[dump]") {
    NodeDump dump = dump_of("last_row");
    const auto step = static_cast<std::size_t>(dump.call.op->step);
    const std::uint32_t shift = 1 << 20;
    std::memcpy(&dump.inputs[step][4 * STEP_SHIFT], &shift, 4);
    const TemporaryDirectory folder;
    write_dump(dump, folder.path("d"));
    expect_error(ErrorKind::bad_file, {"row 0 of the step is of sequence 1048576"},
                 [&] { read_dump(folder.path("d")); });
}

TEST_CASE("a stranger's step has no more end tokens than words, and a choice of no expert is refused", "[dump]") {
    NodeDump dump = dump_of("sample");
    const auto step = static_cast<std::size_t>(dump.call.op->step);
    const std::int32_t many = 0x7fffffff, valid = 1;
    std::memcpy(&dump.inputs[step][4 * STEP_END_TOKENS], &many, 4);
    std::memcpy(&dump.inputs[step][4 * STEP_VALID], &valid, 4);
    std::vector<HostTensor> inputs;
    for (std::size_t i = 0; i < dump.inputs.size(); ++i)
        inputs.push_back(dump.call.inputs[i] ? widen(*dump.call.inputs[i], dump.inputs[i]) : HostTensor());
    CHECK(run_reference(dump.call, inputs).size() == dump.call.outputs.size());
    OpCall call = dump_of("load_balance").call;
    call.inputs[1]->shape[1] = 0;
    CHECK_THROWS_AS(call.op->infer(call), Error);
}

TEST_CASE("references bear any integers that a dump may have", "[dump]") {
    std::mt19937 random(1);
    constexpr std::int32_t odd[] = {0, 1, 2, 7, -1, -2, 1 << 20, 0x7fffffff, -0x7fffffff - 1};
    int accepted = 0;
    for (const OpDef* op : all_ops())
        for (std::size_t index = 0; op->cases != nullptr && index < op->cases().size(); ++index) {
            NodeDump dump = dump_of(op->name, index);
            if (size_of(dump) > 20000) continue;
            for (std::size_t i = 0; i < dump.inputs.size(); ++i) {
                const auto& type = dump.call.inputs[i];
                if (!type || (type->dtype != DType::i32 && type->dtype != DType::u32)) continue;
                for (std::size_t at = 0; at < dump.inputs[i].size(); at += 4) {
                    const bool shift = static_cast<int>(i) == op->step && at / 4 % STEP_WORDS == STEP_SHIFT;
                    const std::int32_t value = shift ? 0 : odd[random() % std::size(odd)];
                    std::memcpy(&dump.inputs[i][at], &value, 4);
                }
            }
            CAPTURE(op->name, index);
            const TemporaryDirectory folder;
            write_dump(dump, folder.path("d"));
            try {
                const NodeDump read = read_dump(folder.path("d"));
                CHECK(run_reference(read.call, inputs_of(read)).size() == dump.results.size());
                ++accepted;
            } catch (const Error& error) {
                CHECK(error.kind() == ErrorKind::bad_file);
            }
        }
    CHECK(accepted > 100);
}

TEST_CASE("the files of a stranger's dump are bounded", "[dump]") {
    const TemporaryDirectory folder;
    expect_error(ErrorKind::bad_file, {"dispatch.json"}, [&] { read_dump(folder.path("nowhere")); });
    write_dump(dump_of("scale"), folder.path("d"));
    const std::string module = folder.path("d/" + std::string(spirv_modules().front().name) + ".spv");
    for (const std::string& bytes :
         {std::string(), std::string("nonsense, but 28 bytes of it"), std::string(17 << 20, 'x')}) {
        write_file(module, bytes);
        expect_error(ErrorKind::bad_file, {".spv"}, [&] { read_dump(folder.path("d")); });
    }
    for (const std::string& text :
         {std::string("{"), std::string("[]"), std::string(2 << 20, ' '), std::string(200, '[')}) {
        write_file(folder.path("d/dispatch.json"), text);
        expect_error(ErrorKind::bad_file, {"dispatch.json"}, [&] { read_dump(folder.path("d")); });
    }
}
