// Removing heads from a model: the files beside the weights.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/checkpoint/prune_heads.h"
#include "runtime/io/safetensors.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;

namespace {

void copy_oracle_model(const char* name, const std::string& to) {
    std::filesystem::copy(std::string(VANTAGE_ROOT) + "/tests/data/oracle/models/" + name, to);
}

}  // namespace

TEST_CASE("a pruned model has an index of its own shards, and none beside a single file", "[prune]") {
    const test::TemporaryDirectory folder;
    const std::vector<HeadId> one{{0, 1}};
    copy_oracle_model("gpt2", folder.path("single"));
    copy_oracle_model("llama_bf16", folder.path("shards"));
    for (const std::string& index : {std::string("no JSON"), std::string(200'000, '[')}) {
        write_file(folder.path("single/model.safetensors.index.json"), index);
        prune_heads(folder.path("single"), folder.path("new"), one);
        CHECK_FALSE(std::filesystem::exists(folder.path("new/model.safetensors.index.json")));
        std::filesystem::remove_all(folder.path("new"));
    }
    // Indented, each number of this list would be a line of 200 bytes.
    const std::string path = folder.path("shards/model.safetensors.index.json");
    std::string index = read_file(path), list(90, '[');
    for (int i = 0; i < 100'000; ++i) list += "1,";
    index.insert(index.find('{') + 1, "\"other\": " + list + "1" + std::string(90, ']') + ",");
    write_file(path, index);
    prune_heads(folder.path("shards"), folder.path("pruned"), one);
    const Json before = read_json(path), after = read_json(folder.path("pruned/model.safetensors.index.json"));
    CHECK(after["weight_map"] == before["weight_map"]);
    CHECK(after["metadata"]["total_size"] == before["metadata"]["total_size"]);
    CHECK_FALSE(after.contains("other"));
    CHECK(WeightFiles(folder.path("pruned")).files().size() == WeightFiles(folder.path("shards")).files().size());
}

TEST_CASE("the config.json of a smaller model does not grow", "[prune]") {
    const test::TemporaryDirectory folder;
    copy_oracle_model("llama", folder.path("old"));
    const std::string path = folder.path("old/config.json");
    std::string config = read_file(path), list(90, '[');
    for (int i = 0; i < 100'000; ++i) list += "1,";
    config.insert(config.find('{') + 1, "\"other\": " + list + "1" + std::string(90, ']') + ",");
    write_file(path, config);
    const std::vector<HeadId> heads{{0, 0}, {0, 5}, {1, 2}, {1, 3}};  // of 6
    CHECK(prune_heads(folder.path("old"), folder.path("new"), heads).smaller);
    const std::string written = read_file(folder.path("new/config.json"));
    CHECK(written.size() < config.size() + 100);
    Json expected = parse_json(config, "old");
    expected["num_attention_heads"] = 4, expected["num_key_value_heads"] = 2;
    Json found = parse_json(written, "new");
    found.erase("head_dim"), expected.erase("head_dim");
    CHECK(found == expected);
}
