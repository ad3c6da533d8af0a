// Adapters (LoRA): models run with them as torch computed (tests/data/lora/make.py) and as the merged model does, and
// training changes them alone, beside weights of any type.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "oracle_model.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "small_training.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "vantage/session.h"
#include "vantage/train.h"

using namespace vantage;
using vantage::test::check_samples_change_nothing;
using vantage::test::difference;
using vantage::test::expect_error;
using vantage::test::logits_of;
using vantage::test::oracle_models;
using vantage::test::TemporaryDirectory;

namespace {

const std::string oracle_adapters = std::string(VANTAGE_TEST_DATA) + "/data/lora/";
const std::string story_model = std::string(VANTAGE_ROOT) + "/assets/models/mini-world";

/// A small GPT-2 in a folder, and data to tune it with.
struct Tuning {
    TemporaryDirectory folder;
    std::string base = folder.path("base/step-000040");
    Tokenizer tokenizer = Tokenizer::load(story_model + "/tokenizer.json");
    Dataset data =
        Dataset({story_model + "/valid.txt"}, tokenizer,
                {.context = 16, .validation_share = 0.1, .blank_lines = true, .folder = folder.path("tokens")});
    TrainOptions options{.steps = 8,
                         .sequences = 4,
                         .rate = {.rate = 5e-3, .warmup = 2},
                         .validation_sequences = 16,
                         .lora = LoraOptions{.rank = 4, .alpha = 8}};
    Tuning() {
        const std::string config = Json{
            {"architectures", {"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
            {"vocab_size", 2048},
            {"n_positions", 16},
            {"n_embd", 32},
            {"n_layer", 1},
            {"n_head", 2},
            {"activation_function",
             "gelu_new"}}.dump();
        Trainer whole(test_device(), config, data, {.steps = 40, .sequences = 4, .rate = {.rate = 1e-2}},
                      story_model + "/tokenizer.json");
        while (whole.next()) continue;
        REQUIRE(whole.save(folder.path("base")) == base);
    }
    Trainer trainer(const TrainOptions& with) const { return Trainer::from_folder(test_device(), base, data, with); }
    Trainer trainer() const { return trainer(options); }
};

std::vector<double> losses_of(Trainer& trainer, std::int64_t steps = 1 << 20) {
    std::vector<double> all;
    for (; steps > 0; --steps) {
        const auto record = trainer.next();
        if (!record) break;
        all.push_back(record->loss);
    }
    return all;
}

}  // namespace

TEST_CASE("models with adapters compute what torch does, and so do merged ones", "[lora]") {
    for (const std::string name : {"gpt2", "llama"}) {
        INFO(name);
        const TemporaryDirectory folder;
        const SafeTensors file(oracle_adapters + name + "/expected.safetensors");
        const auto ids = test::values_of<std::int32_t>(file.at("ids"));
        const auto want = test::values_of<float>(file.at("logits"));
        const Model base = Model::load(test_device(), oracle_models + name),
                    beside = Model::load(test_device(), oracle_models + name, {.lora = oracle_adapters + name});
        CHECK(beside.info().parameters > base.info().parameters);
        CHECK(difference(logits_of(base, ids), want).first > 0.1);
        CHECK(difference(logits_of(beside, ids), want).first <= test::Allowed().logits);
        merge_lora(oracle_models + name, oracle_adapters + name, folder.path("merged"));
        const Model merged = Model::load(test_device(), folder.path("merged"));
        CHECK(difference(logits_of(merged, ids), want).first <= test::Allowed().logits);
        CHECK(difference(logits_of(merged, ids), logits_of(beside, ids)).first <= 1e-4);
        // matrices are stored as --weights says, adapters are not
        const Model stored =
            Model::load(test_device(), oracle_models + name, {.weights = DType::f16, .lora = oracle_adapters + name});
        CHECK(difference(logits_of(stored, ids), want).first <= 0.05);
    }
}

TEST_CASE("adapters are trained, and the model stays", "[lora][train]") {
    Tuning tuning;
    tuning.options.steps = 30;
    const std::string before = read_file(tuning.base + "/model.safetensors");
    Trainer trainer = tuning.trainer();
    CHECK(trainer.parameters() == 4 * (32 + 96 + 32 + 32 + 32 + 128 + 128 + 32));
    const double first = trainer.evaluate().value();  // B is 0: the model itself
    Trainer plain = tuning.trainer({.steps = 1, .sequences = 4, .validation_sequences = 16});
    CHECK(std::abs(first - plain.evaluate().value()) < 1e-4);
    const std::vector<double> losses = losses_of(trainer);
    const double last = trainer.evaluate().value();
    CHECK(last < first - 0.01);  // 0.03 in 30 steps: the token table that stays is small, as it is after four steps
    CHECK(losses == [&] {
        Trainer again = tuning.trainer();
        return losses_of(again);
    }());

    const std::string saved = trainer.save(tuning.folder.path("run"));
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(saved)) files.insert(entry.path().filename().string());
    CHECK(files == std::set<std::string>{"adapter_config.json", "adapter_model.safetensors", "training.json",
                                         "training.safetensors"});
    CHECK(read_file(tuning.base + "/model.safetensors") == before);
    // the saved adapters must give the loss that was evaluated
    const Sampling greedy{.ignore_end = true};
    const std::string text = trainer.sample("The dog", 6, greedy);
    const Model model = Model::load(test_device(), tuning.base, {.lora = saved});
    CHECK(Generator(model, greedy, {.max_tokens = 6}).complete("The dog") == text);
    merge_lora(tuning.base, saved, tuning.folder.path("merged"));
    Trainer merged = Trainer::from_folder(test_device(), tuning.folder.path("merged"), tuning.data,
                                          {.steps = 1, .sequences = 4, .validation_sequences = 16});
    CHECK(std::abs(merged.evaluate().value() - last) < 1e-4);
    Trainer further = Trainer::from_folder(test_device(), saved, tuning.data, tuning.options);  // names its model
    CHECK(further.step() == 0);
    CHECK(std::abs(further.evaluate().value() - last) < 1e-6);
}

TEST_CASE("adapters are trained beside weights of 8 and 4 bits", "[lora][train]") {
    Tuning tuning;
    tuning.options.steps = 30;
    Trainer wide = tuning.trainer();
    const double base = wide.evaluate().value();
    for (const auto& [type, off] : {std::pair{DType::q8_0, 0.02}, {DType::q4_0, 0.3}}) {
        INFO(name_of(type));
        tuning.options.weights = type;
        Trainer trainer = tuning.trainer();
        CHECK(trainer.bytes() < wide.bytes());
        const double first = trainer.evaluate().value();
        CHECK(first != base);
        CHECK(std::abs(first - base) < off);
        static_cast<void>(losses_of(trainer));
        CHECK(trainer.evaluate().value() < first - 0.01);
        const std::string saved = trainer.save(tuning.folder.path(name_of(type)));
        const Sampling greedy{.ignore_end = true};
        const Model model = Model::load(test_device(), tuning.base, {.weights = type, .lora = saved});
        CHECK(Generator(model, greedy, {.max_tokens = 6}).complete("The dog") == trainer.sample("The dog", 6, greedy));
    }
}

TEST_CASE("the loss falls as the gradients of adapters say", "[lora][train]") {
    Tuning tuning;
    Trainer first = tuning.trainer();
    static_cast<void>(losses_of(first));  // while B is 0, A has no gradient
    const std::string adapters = first.save(tuning.folder.path("first"));
    // one sequence, so that all steps have the same loss to lower
    write_file(tuning.folder.path("one.txt"),
               "Mia gave the red box to Tom. The dog ran to the park and saw the cat. Mia was happy.\n");
    const Dataset one({tuning.folder.path("one.txt")}, tuning.tokenizer,
                      {.context = 16, .validation_share = 0, .folder = tuning.folder.path("tokens")});
    REQUIRE(one.sequences() == 1);
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0}) {
        INFO(name_of(type));
        constexpr double rate = 8e-3;
        Trainer trainer = Trainer::from_folder(test_device(), adapters, one,
                                               {.steps = 2,
                                                .sequences = 1,
                                                .rate = {.schedule = RateSchedule::constant, .rate = rate, .warmup = 0},
                                                .optimizer = Optimizer::sgd,
                                                .weight_decay = 0,
                                                .max_norm = 0,
                                                .weights = type});
        const TrainRecord begin = trainer.next().value(), end = trainer.next().value();
        // A step of -rate g lowers the loss by rate |g|², with the mean of |g|² at both ends to second order in the
        // rate. The third order was 0.5 % here, and the rounding of a loss near 7 is 1e-6 of a fall of 1e-3.
        const double fall = rate * (begin.norm * begin.norm + end.norm * end.norm) / 2;
        CHECK(fall > 2e-4);
        CHECK(std::abs((begin.loss - end.loss) / fall - 1) < 0.02);
    }
}

TEST_CASE("dropout in front of adapters changes what is learned, not how it is measured", "[lora][train]") {
    Tuning tuning;
    Trainer plain = tuning.trainer();
    tuning.options.lora->dropout = 0.3;
    Trainer dropping = tuning.trainer();
    const std::vector<double> all = losses_of(plain), some = losses_of(dropping);
    constexpr double rounding = 1e-5;
    CHECK(std::abs(some.front() - all.front()) < rounding);  // B is 0
    CHECK(std::abs(some.back() - all.back()) > rounding);
    // trained further, they keep their dropout, unless the options have another one
    const std::string saved = dropping.save(tuning.folder.path("run"));
    CHECK(read_json(saved + "/adapter_config.json").at("lora_dropout") == 0.3);
    LoraOptions lora = *tuning.options.lora;
    const auto further = [&](const std::optional<LoraOptions>& with) {
        tuning.options.lora = with;
        Trainer trainer = Trainer::from_folder(test_device(), saved, tuning.data, tuning.options);
        const double loss = trainer.evaluate().value();
        return std::pair(loss, losses_of(trainer, 1).front());
    };
    const auto own = further({}), same = further(lora);
    lora.dropout = 0;
    const auto none = further(lora);
    CHECK(own == same);
    CHECK(own.first == none.first);
    CHECK(std::abs(own.second - none.second) > rounding);
    lora.dropout = 1;
    expect_error(ErrorKind::usage, {"dropout of adapters is 1"}, [&] { static_cast<void>(further(lora)); });
}

TEST_CASE("a run of adapters that is resumed goes on as one that never stopped", "[lora][train]") {
    Tuning tuning;
    tuning.options.weights = DType::q8_0;
    tuning.options.lora->dropout = 0.1;
    tuning.options.pause_every = 3;
    Trainer whole = tuning.trainer();
    const std::vector<double> want = losses_of(whole);
    Trainer first = tuning.trainer();
    std::vector<double> got = losses_of(first, 3);
    first.save(tuning.folder.path("run"));
    Trainer second = Trainer::from_folder(test_device(), tuning.folder.path("run"), tuning.data, tuning.options, true);
    CHECK(second.step() == 3);
    for (const double loss : losses_of(second)) got.push_back(loss);
    CHECK(got == want);
    for (const char* file : {"/adapter_model.safetensors", "/training.safetensors"})
        CHECK(read_file(second.save(tuning.folder.path("run")) + file) ==
              read_file(whole.save(tuning.folder.path("whole")) + file));
    tuning.options.lora->rank = 8;
    expect_error(ErrorKind::usage, {"rank 8", "rank 4"}, [&] {
        Trainer::from_folder(test_device(), tuning.folder.path("run"), tuning.data, tuning.options, true);
    });
}

TEST_CASE("a run of adapters that samples after each step is the same to the last bit", "[lora][train]") {
    const Tuning tuning;
    check_samples_change_nothing(tuning.trainer(), tuning.trainer());
}

TEST_CASE("adapters that do not fit a model are refused when it is loaded", "[lora][bad]") {
    const auto refused = [](const std::string& name, const std::string& lora, ErrorKind kind,
                            std::initializer_list<const char*> parts) {
        expect_error(kind, parts, [&] { Model::load(test_device(), oracle_models + name, {.lora = lora}); });
    };
    refused("gpt2", oracle_adapters + "llama", ErrorKind::bad_file, {"no part of an adapter", "gpt2"});
    refused("gpt2", oracle_adapters, ErrorKind::bad_file, {"adapter_config.json"});
    Tuning tuning;
    const auto untrainable = [&](const TrainOptions& options, std::initializer_list<const char*> parts) {
        expect_error(ErrorKind::usage, parts, [&] { tuning.trainer(options); });
    };
    untrainable({.lora = LoraOptions{.targets = {"q_proj"}}}, {"q_proj", "c_attn"});
    untrainable({.lora = LoraOptions{.rank = 0}}, {"rank 0"});
    untrainable({.weights = DType::q8_0}, {"LoRA"});
    expect_error(ErrorKind::usage, {"folder"},
                 [&] { Trainer(test_device(), read_file(tuning.base + "/config.json"), tuning.data, tuning.options); });
}
