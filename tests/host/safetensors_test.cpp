// safetensors files: round trips, damaged files, shards and their index.
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

std::string little_endian(std::uint64_t number) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
    return bytes;
}

/// A file of this header and `data` bytes.
std::string file_of(const std::string& header, std::size_t data) {
    return little_endian(header.size()) + header + std::string(data, '\x01');
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void expect_bad(const std::string& file, std::initializer_list<const char*> parts) {
    TemporaryDirectory folder;
    const std::string path = folder.path("bad.safetensors");
    write_file(path, file);
    expect_error(ErrorKind::bad_file, {"bad.safetensors"}, [&] { SafeTensors{path}; });
    expect_error(ErrorKind::bad_file, parts, [&] { SafeTensors{path}; });
    // The same from memory of exactly that size, so that sanitizers detect a read past the end.
    expect_error(ErrorKind::bad_file, parts, [&] { SafeTensors(bytes_of(file), "bad.safetensors"); });
}

std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

}  // namespace

// ---- good files -----------------------------------------------------------------------------------------------------

TEST_CASE("safetensors: round trip", "[safetensors]") {
    TemporaryDirectory folder;
    const std::string path = folder.path("out.safetensors");
    const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
    const std::vector<std::int32_t> ids = {7, -8};
    const std::vector<std::uint8_t> bytes = {1, 2, 3};
    const std::vector<std::int64_t> wide = {1ll << 40};
    write_safetensors(path,
                      {{"bytes", "U8", {3}, bytes_of(bytes)},
                       {"a \"quoted\"\nname", "F32", {2, 3}, bytes_of(floats)},
                       {"ids", "I32", {2}, bytes_of(ids)},
                       {"wide", "I64", {}, bytes_of(wide)},
                       {"none", "F16", {0, 5}, {}}},
                      {{"model", "test"}});
    CHECK(folder.entries() == 1);
    const SafeTensors file(path);
    CHECK(file.entries().size() == 5);
    CHECK(file.metadata().at("model") == "test");
    const TensorEntry& matrix = file.at("a \"quoted\"\nname");
    CHECK(matrix.text() == "F32 [2, 3]");
    CHECK(matrix.elements() == 6);
    CHECK(same_bytes(matrix.data.all(), bytes_of(floats)));
    CHECK(same_bytes(file.at("ids").data.all(), bytes_of(ids)));
    CHECK(same_bytes(file.at("bytes").data.all(), bytes_of(bytes)));
    CHECK(file.at("wide").elements() == 1);
    CHECK(file.at("none").data.empty());
    for (const auto& [name, entry] : file.entries())  // wide types first: each is aligned
        if (!entry.data.empty()) CHECK(entry.data.begin() % (bits_of_dtype(entry.dtype) / 8) == 0);
    CHECK(file.find("nothing") == nullptr);
    expect_error(ErrorKind::bad_file, {"out.safetensors", "no tensor \"nothing\""}, [&] { file.at("nothing"); });
    CHECK(same_bytes(matrix.data.all(), bytes_of(floats)));
}

TEST_CASE("safetensors: all dtypes of the format, unaligned data and padding", "[safetensors]") {
    const std::string header =
        R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[3,5]},)"
        R"("c":{"dtype":"F4","shape":[2,3],"data_offsets":[5,8]},"d":{"dtype":"F8_E4M3","shape":[],"data_offsets":[8,9]},)"
        R"("e":{"dtype":"C64","shape":[1,1],"data_offsets":[9,17]},"f":{"dtype":"BOOL","shape":[0],"data_offsets":[17,17]}}   )";
    const std::string bytes = file_of(header, 17);
    const SafeTensors file(bytes_of(bytes), "memory");
    CHECK(file.entries().size() == 6);
    CHECK(file.at("c").data.size() == 3);
    CHECK(file.at("d").elements() == 1);
    const std::string empty = file_of("{}", 0);
    CHECK(SafeTensors(bytes_of(empty), "memory").entries().empty());
}

TEST_CASE("safetensors: invalid tensors are rejected, and the old file is kept", "[safetensors]") {
    TemporaryDirectory folder;
    const std::string path = folder.path("out.safetensors");
    const std::vector<float> floats = {1, 2};
    write_file(path, std::string("old"));
    const auto write = [&](const TensorToWrite& tensor) { write_safetensors(path, {tensor}); };
    expect_error(ErrorKind::usage, {"\"x\"", "8 bytes", "F32 [3]"}, [&] {
        write({"x", "F32", {3}, bytes_of(floats)});
    });
    expect_error(ErrorKind::usage, {"F99"}, [&] { write({"x", "F99", {2}, bytes_of(floats)}); });
    expect_error(ErrorKind::usage, {"[-2]"}, [&] { write({"x", "F32", {-2}, bytes_of(floats)}); });
    expect_error(ErrorKind::usage, {"occurs twice"}, [&] {
        write_safetensors(path, {{"x", "F32", {2}, bytes_of(floats)}, {"x", "F32", {2}, bytes_of(floats)}});
    });
    expect_error(ErrorKind::usage, {"occurs twice"}, [&] { write({"__metadata__", "F32", {2}, bytes_of(floats)}); });
    CHECK(read_file(path) == "old");
    expect_error(ErrorKind::bad_file, {"no/such/folder"}, [&] {
        write_safetensors("no/such/folder/x.safetensors", {{"x", "F32", {2}, bytes_of(floats)}});
    });
}

// ---- damaged files --------------------------------------------------------------------------------------------------

TEST_CASE("safetensors: invalid headers", "[safetensors][bad]") {
    expect_bad("", {"0 bytes", "at least the 8"});
    expect_bad("1234567", {"7 bytes"});
    expect_bad(little_endian(3) + "{}", {"3 bytes long", "ends after 2"});
    expect_bad(little_endian(100'000'001) + "{}", {"100000001 bytes long", "at most 100000000"});
    expect_bad(little_endian(0xFFFFFFFFFFFFFFFF) + "{}", {"18446744073709551615", "at most 100000000"});
    expect_bad(little_endian(100'000'000) + "{}", {"100000000 bytes long", "ends after 2"});
    expect_bad(file_of("", 0), {"not JSON"});
    expect_bad(file_of("{\"a\":", 0), {"header", "not JSON"});
    expect_bad(file_of("PK\x03\x04 something else", 0), {"not JSON"});
    expect_bad(file_of("{\"\xFF\": 1}", 0), {"not JSON"});
    expect_bad(file_of("[]", 0), {"a list of 0", "wanted an object"});
    expect_bad(file_of(std::string(100'000, '['), 0), {"nested deeper"});
    std::string sizes, words;
    for (int i = 0; i < 2'000'000; ++i) sizes += ",1";
    for (int i = 0; i < 500'000; ++i) words += format("{}\"{}\":\"\"", i > 0 ? "," : "", i);
    const char* too_large = "lists and fields would take";
    expect_bad(file_of(one_tensor("F32", "[1" + sizes + "]", "[0,4]"), 4), {"header", too_large});
    expect_bad(file_of("{\"__metadata__\": {" + words + "}}", 0), {"header", too_large});
    expect_bad(file_of("{\"w\": 3}", 0), {"\"w\" is 3", "an object"});
    expect_bad(file_of(R"({"__metadata__": {"format": 1}})", 0), {"\"__metadata__.format\" is 1", "a text"});
    expect_bad(file_of(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", 4), {"\"w.dtype\" is missing"});
    expect_bad(file_of(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4), {"\"w.shape\" is missing"});
    expect_bad(file_of(R"({"w":{"dtype":"F32","shape":[1]}})", 4), {"\"w.data_offsets\" is missing"});
}

TEST_CASE("safetensors: invalid types, shapes and sizes", "[safetensors][bad]") {
    expect_bad(file_of(one_tensor("F31", "[1]", "[0,4]"), 4), {"\"w.dtype\" is \"F31\"", "one of: ", "BF16"});
    expect_bad(file_of(one_tensor("F32", "[-1]", "[0,4]"), 4), {"\"w.shape[0]\" is -1"});
    expect_bad(file_of(one_tensor("F32", "[0.5]", "[0,4]"), 4), {"\"w.shape[0]\" is 0.5"});
    expect_bad(file_of(one_tensor("F32", "1", "[0,4]"), 4), {"\"w.shape\" is 1", "a list"});
    expect_bad(file_of(one_tensor("F32", "[3]", "[0,4]"), 4),
               {"\"w.data_offsets\"", "12 bytes for F32 [3]", "they hold 4"});
    expect_bad(file_of(one_tensor("F16", "[1]", "[0,4]"), 4), {"2 bytes for F16 [1]"});
    expect_bad(file_of(one_tensor("F32", "[4294967296,4294967296]", "[0,4]"), 4), {"\"w.shape\"", "4294967296"});
    expect_bad(file_of(one_tensor("F32", "[4611686018427387904]", "[0,0]"), 0),
               {"\"w.shape\""});  // times 4 is 0 in 64 bits
    expect_bad(file_of(one_tensor("F32", "[0,4294967296,4294967296]", "[0,0]"), 0), {"\"w.shape\""});
    expect_bad(file_of(one_tensor("F32", "[18446744073709551617]", "[0,4]"), 4), {"\"w.shape[0]\""});
    expect_bad(file_of(one_tensor("F4", "[3]", "[0,1]"), 1), {"\"w.shape\"", "number of bytes"});
}

TEST_CASE("safetensors: data that overlaps, has gaps or is outside the file", "[safetensors][bad]") {
    const auto two = [](const std::string& first, const std::string& second) {
        return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
               R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
    };
    expect_bad(file_of(one_tensor("F32", "[1]", "[0,4]"), 3), {"\"w.data_offsets\"", "at most 3", "the end is 4"});
    expect_bad(file_of(one_tensor("F32", "[1]", "[4,0]"), 4), {"\"w.data_offsets\"", "in this order"});
    expect_bad(file_of(one_tensor("F32", "[1]", "[-4,0]"), 4), {"\"w.data_offsets[0]\" is -4"});
    expect_bad(file_of(one_tensor("F32", "[1]", "[0]"), 4), {"\"w.data_offsets\""});
    expect_bad(file_of(one_tensor("F32", "[1]", "[0,4,8]"), 8), {"\"w.data_offsets\""});
    expect_bad(file_of(one_tensor("F32", "[1]", "[18446744073709551612,18446744073709551616]"), 4),
               {"\"w.data_offsets[0]\""});
    expect_bad(file_of(one_tensor("F32", "[1]", "[0,4]"), 5), {"5 bytes follow", "end at byte 4"});
    expect_bad(file_of(one_tensor("F32", "[1]", "[4,8]"), 8),
               {"\"w\" begins at byte 4", "gap that follows the header", "wanted byte 0"});
    expect_bad(file_of(two("[0,4]", "[2,6]"), 6), {"\"b\" begins at byte 2", "inside \"a\"", "wanted byte 4"});
    expect_bad(file_of(two("[0,4]", "[0,4]"), 4), {"\"b\" begins at byte 0", "inside \"a\""});
    expect_bad(file_of(two("[5,9]", "[0,4]"), 9), {"\"a\" begins at byte 5", "gap that follows \"b\""});
    expect_error(ErrorKind::bad_file, {"no/such.safetensors"}, [] { SafeTensors("no/such.safetensors"); });
}

// ---- folders --------------------------------------------------------------------------------------------------------

namespace {

/// A folder with two shards, "a" and "b", and the given index.
struct Shards {
    TemporaryDirectory folder;
    std::vector<float> values = {1, 2};
    explicit Shards(const std::string& index) {
        write_safetensors(folder.path("model-00001-of-00002.safetensors"), {{"a", "F32", {2}, bytes_of(values)}});
        write_safetensors(folder.path("model-00002-of-00002.safetensors"), {{"b", "F32", {1, 2}, bytes_of(values)}});
        if (!index.empty()) write_file(folder.path("model.safetensors.index.json"), index);
    }
};
const char* const good_index = R"({"metadata": {"total_size": 16},
    "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})";

void expect_bad_index(const std::string& index, std::initializer_list<const char*> parts) {
    const Shards shards(index);
    expect_error(ErrorKind::bad_file, parts, [&] { WeightFiles{shards.folder.path()}; });
}

}  // namespace

TEST_CASE("weights: one file, or shards with an index", "[safetensors]") {
    const Shards shards(good_index);
    const WeightFiles weights(shards.folder.path());
    CHECK(weights.names() == std::vector<std::string>{"a", "b"});
    CHECK(weights.find("b")->text() == "F32 [1, 2]");
    CHECK(std::filesystem::path(weights.file_of("b")).filename() == "model-00002-of-00002.safetensors");
    CHECK(weights.find("c") == nullptr);
    write_safetensors(shards.folder.path("model.safetensors"), {{"c", "F32", {2}, bytes_of(shards.values)}});
    const WeightFiles single(shards.folder.path());  // the single file is preferred to an index
    CHECK(single.names() == std::vector<std::string>{"c"});
    CHECK(single.find("a") == nullptr);
}

TEST_CASE("weights: more shards than a process may have open files", "[safetensors]") {
    constexpr int shards = 300;
    const TemporaryDirectory folder;
    std::string index;
    for (int i = 0; i < shards; ++i) {
        const std::string name = format("w{}", i), file = format("part-{}.safetensors", i);
        const std::vector<float> value{static_cast<float>(i)};
        write_safetensors(folder.path(file), {{name, "F32", {1}, bytes_of(value)}});
        index += format("{}\"{}\": \"{}\"", i > 0 ? ", " : "", name, file);
    }
    write_file(folder.path("model.safetensors.index.json"), "{\"weight_map\": {" + index + "}}");
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few{.rlim_cur = 200, .rlim_max = before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::string problem;
    try {
        const WeightFiles weights(folder.path());
        for (int i = 0; i < shards; ++i) {
            float value = -1;
            weights.find(format("w{}", i))->data.read(0, std::as_writable_bytes(std::span(&value, 1)));
            if (value != static_cast<float>(i)) problem = format("w{} is {:g}", i, value);
        }
        // one that is opened again for a read, and is another file then
        write_file(folder.path("part-299.safetensors"), std::string(100, 'x'));
        expect_error(ErrorKind::bad_file, {"part-", "was replaced while it was read"}, [&] {
            for (int i = 0; i < shards; ++i) {
                float value = 0;
                weights.find(format("w{}", i))->data.read(0, std::as_writable_bytes(std::span(&value, 1)));
            }
        });
    } catch (const Error& error) {
        problem = error.what();
    }
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(problem.empty());
}

TEST_CASE("weights: missing and contradictory shards", "[safetensors][bad]") {
    expect_bad_index("", {"no weights", "model.safetensors.index.json"});
    expect_bad_index("{", {"model.safetensors.index.json", "not JSON"});
    expect_bad_index("{}", {"\"weight_map\" is missing"});
    expect_bad_index(R"({"weight_map": {"a": 3}})", {"\"weight_map.a\" is 3"});
    expect_bad_index(R"({"weight_map": {"a": "model-00003-of-00002.safetensors"}})",
                     {"model-00003-of-00002.safetensors: missing", "tensor \"a\""});
    expect_bad_index(R"({"weight_map": {"a": "../secret.safetensors"}})",
                     {"\"weight_map.a\" is \"../secret.safetensors\"", "same folder"});
    expect_bad_index(R"({"weight_map": {"a": "/etc/passwd"}})", {"same folder"});
    expect_bad_index(R"({"weight_map": {"a": ".."}})", {"same folder"});
    expect_bad_index(R"({"weight_map": {"a": "b\n\u001b[2J"}})", {R"("b\n\u001b[2J")", "same folder"});
    expect_bad_index(R"({"weight_map": {"c": "model-00001-of-00002.safetensors"}})",
                     {"\"weight_map.c\" is \"model-00001-of-00002.safetensors\"", "that file does not"});
    const Shards twice(good_index);
    write_safetensors(twice.folder.path("model-00002-of-00002.safetensors"),
                      {{"a", "F32", {2}, bytes_of(twice.values)}, {"b", "F32", {2}, bytes_of(twice.values)}});
    expect_error(ErrorKind::bad_file, {"tensor \"a\" is in both"}, [&] { WeightFiles{twice.folder.path()}; });
    const Shards damaged(good_index);
    write_file(damaged.folder.path("model-00002-of-00002.safetensors"), std::string("12345678"));
    expect_error(ErrorKind::bad_file, {"model-00002-of-00002.safetensors"},
                 [&] { WeightFiles{damaged.folder.path()}; });
    expect_error(ErrorKind::bad_file, {"no/such/folder", "no weights"}, [] { WeightFiles("no/such/folder"); });
}
