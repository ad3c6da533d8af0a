// Wrong model folders and token ids: each is an error of one line with the file, what was found and what is expected.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "../host/watchdog.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/transfer.h"
#include "runtime/io/safetensors.h"
#include "test_device.h"
#include "vantage/session.h"
#include "viewer/data/live_model.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

namespace fs = std::filesystem;

const std::string models = std::string(VANTAGE_TEST_DATA) + "/data/oracle/models/";

/// A copy of one of the oracle's models, which tests damage.
class Folder {
public:
    explicit Folder(const std::string& model = "gpt2") {
        for (const fs::directory_entry& file : fs::directory_iterator(models + model))
            if (file.path().filename().string().rfind("expected", 0) != 0)
                fs::copy(file.path(), folder_.path(file.path().filename().string()));
    }
    std::string path() const { return folder_.path(); }
    std::string path(const std::string& file) const { return folder_.path(file); }
    void remove(const std::string& file) const { fs::remove(path(file)); }
    void write(const std::string& file, const std::string& text) const { write_file(path(file), text); }
    void change_config(const std::string& key, const Json& value) const {
        Json config = read_json(path("config.json"));
        config[key] = value;
        write("config.json", config.dump());
    }

    /// Rewrites model.safetensors, changed by `change`.
    using Tensors = std::map<std::string, TensorToWrite>;
    void change_tensors(const std::function<void(Tensors&)>& change) const {
        const std::string file = path("model.safetensors");
        Tensors tensors;
        std::vector<TensorToWrite> all;
        const SafeTensors old(file);
        std::map<std::string, std::vector<std::byte>> data;
        for (const auto& [name, entry] : old.entries())
            tensors[name] = {name, entry.dtype, entry.shape, data[name] = entry.data.all()};
        change(tensors);
        for (const auto& [name, tensor] : tensors) all.push_back(tensor);
        write_safetensors(file + ".new", all);
        fs::rename(file + ".new", file);
    }

private:
    TemporaryDirectory folder_;
};

void expect_bad(const Folder& folder, std::initializer_list<const char*> parts) {
    const auto load = [&] { Model::load(test_device(), folder.path()); };
    expect_error(ErrorKind::bad_file, parts, load);
    expect_error(ErrorKind::bad_file, {folder.path().c_str()}, load);
}

}  // namespace

TEST_CASE("folders that are not models", "[bad]") {
    const Folder folder;
    const std::string missing = folder.path() + "/nowhere";
    expect_error(ErrorKind::bad_file, {missing.c_str(), "no such folder"},
                 [&] { Model::load(test_device(), missing); });
    CHECK(Model::load(test_device(), folder.path()).info().parameters > 0);  // the undamaged copy can be read
    SECTION("no config.json") {
        folder.remove("config.json");
        expect_bad(folder, {"config.json"});
    }
    SECTION("config.json that is no JSON") {
        folder.write("config.json", "{\"model_type\": ");
        expect_bad(folder, {"config.json", "not JSON"});
    }
    SECTION("generation_config.json that is no JSON") {
        folder.write("generation_config.json", "[1, ");
        expect_bad(folder, {"generation_config.json", "not JSON"});
    }
    SECTION("tokenizer.json that is no JSON") {
        folder.write("tokenizer.json", "not at all");
        expect_bad(folder, {"tokenizer.json", "not JSON"});
    }
    SECTION("another architecture") {
        folder.change_config("model_type", "hyena");
        expect_bad(folder, {"config.json", "hyena", "gpt2", "llama"});
    }
    SECTION("no weights") {
        folder.remove("model.safetensors");
        expect_bad(folder, {"model.safetensors"});
    }
    SECTION("weights cut off") {
        fs::resize_file(folder.path("model.safetensors"), fs::file_size(folder.path("model.safetensors")) - 100);
        expect_bad(folder, {"model.safetensors"});
    }
}

TEST_CASE("values that are not finite never pass for an answer", "[bad]") {
    const Folder folder;
    std::string name = "transformer.h.1.ln_2.weight";
    const auto with = [&](float value) {
        std::vector<float> gains(48, 1.0f);
        gains[7] = value;
        folder.change_tensors([&](Folder::Tensors& t) { t[name].data = std::as_bytes(std::span(gains)); });
        return Model::load(test_device(), folder.path());
    };
    const std::vector<std::int32_t> ids{1, 2, 3};
    SECTION("in the weights") {
        for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity()})
            expect_error(ErrorKind::bad_file, {"model.safetensors", name.c_str(), "element 7 is not finite"}, [&] {
                Session session(with(value));
                session.append(ids);
                session.next();
            });
    }
    SECTION("in a bias in front of an activation that would hide it") {
        const Folder opt("opt");
        opt.change_tensors([&](Folder::Tensors& t) {
            name = std::ranges::find_if(t, [](const auto& one) { return one.first.ends_with("fc1.bias"); })->first;
            static std::vector<float> bias;
            bias.assign(t[name].data.size() / sizeof(float), -std::numeric_limits<float>::infinity());
            t[name].data = std::as_bytes(std::span(bias));
        });
        expect_error(ErrorKind::bad_file, {name.c_str(), "element 0 is not finite"}, [&] {
            Session session(Model::load(test_device(), opt.path()));
            session.append(ids);
            session.next();
        });
    }
    SECTION("but -inf in the bias of the logits is a token that is never drawn") {
        const Folder phi("phi");
        Session healthy(Model::load(test_device(), phi.path()));
        healthy.append(ids);
        const std::int32_t best = healthy.next().value();
        phi.change_tensors([&](Folder::Tensors& t) {
            static std::vector<float> bias;
            bias.assign(t["lm_head.bias"].data.size() / sizeof(float), 0.0f);
            bias[static_cast<std::size_t>(best)] = -std::numeric_limits<float>::infinity();
            t["lm_head.bias"].data = std::as_bytes(std::span(bias));
        });
        Session session(Model::load(test_device(), phi.path()));
        session.append(ids);
        CHECK(session.next() != best);
    }
    SECTION("in weights that are rounded") {
        name = "transformer.h.1.mlp.c_fc.weight";
        expect_error(ErrorKind::unsupported, {"model.safetensors", name.c_str(), "65504 of f16"}, [&] {
            const std::vector<float> gains(48 * 192, 1e6f);
            folder.change_tensors([&](Folder::Tensors& t) { t[name].data = std::as_bytes(std::span(gains)); });
            Session session(Model::load(test_device(), folder.path(), {.weights = DType::f16}));
            session.append(ids);
            session.run();
        });
    }
    SECTION("in what is computed of large ones") {
        const Model model = with(3e38f);
        const auto fails = [&](const SessionOptions& options, auto use) {
            expect_error(ErrorKind::accuracy, {"not finite", "node", "check the model's weights"}, [&] {
                Session session(model, options);
                session.append(ids);
                use(session);
            });
        };
        fails({.precision = Precision::f32}, [](Session& s) { s.next(); });
        fails({.precision = Precision::f16}, [](Session& s) { s.next(); });
        fails({.precision = Precision::f32, .inspect = true}, [](Session& s) { s.run(); });
        fails({.precision = Precision::f32}, [](Session& s) { s.next_logits(); });
    }
    SECTION("in attention") {
        name = "transformer.h.0.ln_2.weight";  // what the second layer attends to
        const Model model = with(3e38f);
        const std::vector<std::int32_t> marks(ids.size());
        const auto fails = [&](auto read) {
            Session session(model, {.precision = Precision::f32, .record_attention = RecordAttention::all()});
            session.append(ids);
            session.run();
            CHECK(session.attention(0).size() == 3 * 9);  // 3 heads
            expect_error(ErrorKind::accuracy, {"attention weights of layer 1", "node", "check the model's weights"},
                         [&] { read(session); });
        };
        fails([](Session& s) { s.attention(1); });
        fails([](Session& s) { s.attention({.layer = 1, .head = 2}); });
        fails([](Session& s) { s.log_sum_exp({.layer = 1, .head = 2}); });
        fails([&](Session& s) { s.head_statistics(1, marks); });
        view::LiveModel live(model, {});
        live.start({.ids = ids}, {}, 0);
        test::Watchdog watchdog("the viewer's error");
        while (live.version().activity != view::Activity::failed) {
            REQUIRE(live.version().activity != view::Activity::ended);
            watchdog.look(live.version().number);
        }
    }
}

TEST_CASE("weights that do not fit the config", "[bad]") {
    const Folder folder;
    SECTION("a tensor is missing") {
        folder.change_tensors([](Folder::Tensors& t) { t.erase("transformer.h.1.mlp.c_fc.weight"); });
        expect_bad(folder, {"model.safetensors", "transformer.h.1.mlp.c_fc.weight", "missing"});
    }
    SECTION("a tensor too many") {
        const std::vector<std::byte> data(16);
        folder.change_tensors([&](Folder::Tensors& t) {
            t["transformer.h.0.adapter.weight"] = {"transformer.h.0.adapter.weight", "F32", {4}, data};
        });
        expect_bad(folder, {"model.safetensors", "transformer.h.0.adapter.weight", "not part of gpt2"});
    }
    SECTION("a layer more than the config has") {
        folder.change_config("n_layer", 1);
        expect_bad(folder, {"model.safetensors", "transformer.h.1.", "not part of gpt2"});
    }
    SECTION("a layer less than the config has") {
        folder.change_config("n_layer", 3);
        expect_bad(folder, {"model.safetensors", "transformer.h.2.", "missing"});
    }
    SECTION("another shape") {
        folder.change_tensors([](Folder::Tensors& t) { t["transformer.h.0.attn.c_attn.weight"].shape = {144, 48}; });
        expect_bad(folder, {"model.safetensors", "transformer.h.0.attn.c_attn.weight", "F32 [144, 48]", "[48, 144]"});
    }
    SECTION("another number of dimensions") {
        folder.change_tensors([](Folder::Tensors& t) { t["transformer.ln_f.weight"].shape = {1, 1, 1, 1, 1, 1, 48}; });
        expect_bad(folder, {"model.safetensors", "transformer.ln_f.weight", "[48]"});
    }
    SECTION("another vocabulary") {
        folder.change_config("vocab_size", 1001);
        expect_bad(folder, {"model.safetensors", "transformer.wte.weight", "F32 [1000, 48]", "[1001, 48]"});
    }
    SECTION("another type") {
        const std::vector<std::byte> data(48 * 8);
        folder.change_tensors([&](Folder::Tensors& t) {
            t["transformer.ln_f.bias"] = {"transformer.ln_f.bias", "F64", {48}, data};
        });
        expect_bad(folder, {"model.safetensors", "transformer.ln_f.bias", "F64", "F32, F16 or BF16"});
    }
    SECTION("an output layer that is not tied, and is not there") {
        folder.change_config("tie_word_embeddings", false);
        expect_bad(folder, {"model.safetensors", "lm_head.weight", "missing"});
    }
}

TEST_CASE("missing shards", "[bad]") {
    const Folder folder("llama_bf16");
    CHECK(Model::load(test_device(), folder.path()).info().weight_types == "bf16");
    SECTION("a shard is missing") {
        folder.remove("model-00002-of-00003.safetensors");
        expect_bad(folder, {"model-00002-of-00003.safetensors"});
    }
    SECTION("the index is no JSON") {
        folder.write("model.safetensors.index.json", "{");
        expect_bad(folder, {"model.safetensors.index.json", "not JSON"});
    }
    SECTION("the index names a tensor that its shard has not") {
        Json index = read_json(folder.path("model.safetensors.index.json"));
        index["weight_map"]["model.norm.weight"] = "model-00001-of-00003.safetensors";
        index["weight_map"]["model.embed_tokens.weight"] = "model-00003-of-00003.safetensors";
        folder.write("model.safetensors.index.json", index.dump());
        expect_bad(folder, {"model-0000"});
    }
    SECTION("a shard outside of the folder") {
        Json index = read_json(folder.path("model.safetensors.index.json"));
        index["weight_map"]["model.norm.weight"] = "../model-00001-of-00003.safetensors";
        folder.write("model.safetensors.index.json", index.dump());
        expect_bad(folder, {"model.safetensors.index.json", "../model-00001-of-00003.safetensors"});
    }
}

TEST_CASE("invalid tokens", "[bad]") {
    const Model model = Model::load(test_device(), models + "gpt2");
    Session session(model, {.context = 20});
    session.restart();
    const auto append = [&](std::vector<std::int32_t> ids) { return [&session, ids] { session.append(ids); }; };
    expect_error(ErrorKind::usage, {"1000", "vocabulary", "0 … 999"}, append({1, 1000}));
    expect_error(ErrorKind::usage, {"-1", "vocabulary"}, append({-1}));
    CHECK(session.tokens().empty());  // nothing of a rejected input remains
    expect_error(ErrorKind::usage, {"21 tokens", "context of 20", "make the context larger"},
                 append(std::vector<std::int32_t>(21, 5)));
    CHECK(session.tokens().empty());
    expect_error(ErrorKind::usage, {"no tokens"}, [&] { session.next(); });
    session.append(std::vector<std::int32_t>(20, 5));
    CHECK(session.context_full());
    CHECK(!session.next());
    expect_error(ErrorKind::usage, {"1 tokens", "context of 20", "20 are there"}, append({5}));

    expect_error(ErrorKind::usage, {"97", "gpt2", "96"}, [&] { Session(model, {.context = 97}); });
    expect_error(ErrorKind::usage, {"at least one token"}, [&] { Session(model, {.context = -1}); });
    Session all(model);
    expect_error(ErrorKind::usage, {"97 tokens", "context of 96"},
                 [&] { all.append(std::vector<std::int32_t>(97, 5)); });
    for (const Sampling& wrong :
         {Sampling{.temperature = -1}, Sampling{.top_k = -1}, Sampling{.top_p = 1.5}, Sampling{.min_p = -0.1},
          Sampling{.repeat_penalty = 0}, Sampling{.repeat_penalty = 1e-38},
          Sampling{.temperature = std::numeric_limits<double>::infinity()}})
        expect_error(ErrorKind::usage, {"sampling"}, [&] { all.restart(wrong); });
}

TEST_CASE("attention outside the recorded range is an error", "[bad]") {
    const Model model = Model::load(test_device(), models + "gpt2");
    Session session(model, {.context = 20, .record_attention = RecordAttention::all()});
    session.restart();
    session.append(std::vector<std::int32_t>{1, 2, 3});
    session.run();
    CHECK(session.attention({1, 2}, {0, 3}, {0, 3}).values().size() == 9);
    expect_error(ErrorKind::usage, {"layer 2", "0 … 1"}, [&] { session.attention({2, 0}, {0, 1}, {0, 1}); });
    expect_error(ErrorKind::usage, {"head 3", "0 … 2"}, [&] { session.attention({0, 3}, {0, 1}, {0, 1}); });
    expect_error(ErrorKind::usage, {"queries", "2 from 2 on", "3 there are"}, [&] {
        session.attention({0, 0}, {2, 2}, {0, 1});
    });
    expect_error(ErrorKind::usage, {"keys", "1 from -1 on"}, [&] { session.attention({0, 0}, {0, 1}, {-1, 1}); });
}

TEST_CASE("a file of weights that becomes shorter while it is uploaded ends the run, not the process", "[bad]") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    state.staging->direct_mapping = false;
    const gpu::Buffer other = gpu::allocate(state, 64, gpu::MemoryKind::device, "other");
    std::promise<void> begun, cut;
    std::jthread uploading([&] {  // the model's upload waits for the piece of this one
        gpu::upload(state, other, 0, 64, [&](std::uint64_t, std::span<std::byte> piece) {
            begun.set_value();
            cut.get_future().wait_for(std::chrono::minutes(5));
            std::ranges::fill(piece, std::byte{0});
        });
    });
    begun.get_future().wait();
    const Folder folder;
    const Model model = Model::load(device, folder.path());
    Session session(model, {.context = 8});
    fs::resize_file(folder.path("model.safetensors"), 4096);
    cut.set_value();
    expect_error(ErrorKind::bad_file, {"model.safetensors", "it became shorter while it was read"}, [&] {
        session.append({{1, 2}});
        session.next();
    });
}
