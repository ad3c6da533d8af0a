// WeightFiles on an arbitrary model.safetensors.index.json, in a folder with two matching shards, one with a duplicate
// tensor, and a damaged one. No index may cause a read outside the folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/safetensors.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/heap_meter.h"

namespace {

/// A folder with three shards and a damaged one.
struct Shards : Folder {
    Shards();
};
Shards::Shards() {
    const std::vector<float> values = {1, 2};
    const auto data = std::as_bytes(std::span(values));
    vantage::write_safetensors(path("a"), {{"x", "F32", {2}, data}, {"model.norm.weight", "BF16", {2, 2}, data}});
    vantage::write_safetensors(path("b"), {{"y", "F32", {1, 2}, data}, {"z", "I64", {0}, {}}});
    vantage::write_safetensors(path("twice"), {{"x", "F32", {2}, data}});
    write("damaged", "12345678");
}

/// The index was accepted: each tensor must be in the shard that it names, with the size of its shape.
void check(const vantage::WeightFiles& weights, std::string_view index, const std::string& folder) {
    for (const std::string& name : weights.names()) {
        const vantage::TensorEntry& entry = *weights.find(name);
        const auto bits = static_cast<std::uint64_t>(vantage::bits_of_dtype(entry.dtype));
        require(static_cast<std::uint64_t>(entry.elements()) * bits == std::uint64_t{8} * entry.data.size());
        require(std::filesystem::path(weights.file_of(name)).parent_path() == folder);
    }
    const nlohmann::json tree = nlohmann::json::parse(index);
    for (const auto& [name, shard] : tree.at("weight_map").items()) {
        require(weights.find(name) != nullptr);
        require(std::filesystem::path(weights.file_of(name)).filename() == shard.get<std::string>());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const HeapMeter meter;
    static const Shards folder;
    const std::string_view index(reinterpret_cast<const char*>(data), size);
    folder.write("model.safetensors.index.json", index);
    try {
        check(vantage::WeightFiles(folder.path()), index, folder.path());
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file);
        require_message(error);
    }
    meter.require_at_most(memory_for(size));
    return 0;
}
