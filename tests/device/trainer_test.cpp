// Trainer: a small model learns, evaluates and writes.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "runtime/io/safetensors.h"
#include "small_training.h"
#include "test_device.h"
#include "vantage/session.h"
#include "vantage/train.h"

using namespace vantage;
using namespace vantage::test;

namespace {

/// A Mixtral of two layers, each with four experts of which a token uses two.
std::string small_mixtral(const Json& also = Json::object()) {
    Json config{{"architectures", {"MixtralForCausalLM"}},
                {"model_type", "mixtral"},
                {"vocab_size", 2048},
                {"max_position_embeddings", 16},
                {"hidden_size", 16},
                {"intermediate_size", 16},
                {"num_hidden_layers", 2},
                {"num_attention_heads", 2},
                {"num_key_value_heads", 2},
                {"num_local_experts", 4},
                {"num_experts_per_tok", 2}};
    config.update(also);
    return config.dump();
}

/// Token ids of documents as a file. `targets`: only so many of the first tokens are targets.
void write_documents(const std::string& path, const std::vector<std::vector<std::int32_t>>& documents,
                     std::size_t targets = SIZE_MAX) {
    std::vector<std::int32_t> tokens;
    std::vector<std::int64_t> starts;
    for (const auto& document : documents) {
        starts.push_back(std::ssize(tokens));
        tokens.insert(tokens.end(), document.begin(), document.end());
    }
    std::vector<std::uint8_t> mask(tokens.size());
    std::fill_n(mask.begin(), std::min(targets, mask.size()), std::uint8_t{1});
    write_safetensors(path, {{"tokens", "I32", {std::ssize(tokens)}, std::as_bytes(std::span(tokens))},
                             {"mask", "U8", {std::ssize(mask)}, std::as_bytes(std::span(mask))},
                             {"documents", "I64", {std::ssize(starts)}, std::as_bytes(std::span(starts))}});
}

/// -ln of the probability of a token.
double cross_entropy_of(std::span<const float> logits, std::int32_t token) {
    const double largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - largest);
    return std::log(sum) + largest - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

}  // namespace

TEST_CASE("a model learns, and the same seed learns the same to the last bit", "[train]") {
    Training setting;
    setting.options.steps = 30;
    Trainer trainer = setting.trainer();
    const double before = trainer.evaluate().value();
    CHECK(std::abs(before - std::log(2048)) < 0.2);  // nothing is known yet
    const std::vector<TrainRecord> records = run(trainer);
    REQUIRE(records.size() == 30);
    CHECK(trainer.step() == 30);
    CHECK((records.back().step == 29 && records.back().tokens == 30 * 4 * 16));
    double last = 0;  // the mean of ten steps: a step's loss depends on its four sequences
    for (const TrainRecord& record : records | std::views::drop(20)) last += record.loss / 10;
    CHECK(last < records.front().loss - 1);
    CHECK(trainer.evaluate().value() < before - 1);
    Trainer again = setting.trainer();
    CHECK(losses(run(again)) == losses(records));
    CHECK(again.evaluate() == trainer.evaluate());
    setting.options.label_smoothing = 0.5;  // which changes what is learned, not how it is measured
    Trainer smooth = setting.trainer();
    CHECK(smooth.evaluate().value() == before);
    setting.options.label_smoothing = 0;
    setting.options.seed = 1;
    Trainer other = setting.trainer();
    CHECK(losses(run(other)) != losses(records));
}

TEST_CASE("a constant loss scale stays, and f32 has none", "[train]") {
    Training setting;
    setting.options.steps = 3, setting.options.precision = Precision::f16;
    setting.options.loss_scale = 256;
    Trainer constant = setting.trainer();
    for (const TrainRecord& record : run(constant)) {
        CHECK((record.scale == 256 && !record.skipped));
        double squares = 0;
        for (const double norm : record.block_norms) squares += norm * norm;
        CHECK((record.block_norms.size() == 2 && constant.blocks() == std::vector<std::string>{"", "h.0"}));
        CHECK(std::abs(std::sqrt(squares) / record.norm - 1) < 1e-5);
    }
    setting.options.loss_scale = 0;
    Trainer dynamic = setting.trainer();
    CHECK(run(dynamic).front().scale == 65536);
    for (const double wrong : {-1.0, 0.5, 0x1p25}) {
        setting.options.loss_scale = wrong;
        expect_error(ErrorKind::usage, {"loss_scale"}, [&] { setting.trainer(); });
    }
    setting.options.loss_scale = 256, setting.options.precision = Precision::f32;
    expect_error(ErrorKind::usage, {"loss scale", "f32"}, [&] { setting.trainer(); });
}

TEST_CASE("a dynamic loss scale is halved by a step that overflows, which changes nothing", "[train]") {
    Training setting;
    setting.options.steps = 24, setting.options.precision = Precision::f16, setting.options.pause_every = 1;
    // Gradients grow with z_loss. Those that overflow only at the first scale depend on the device: it may round them
    // to f16. A hundredth of them does not overflow, so that seven halvings are enough.
    for (setting.options.z_loss = 1; setting.options.z_loss < 1e20; setting.options.z_loss *= 100) {
        Trainer trainer = setting.trainer();
        const double before = trainer.evaluate().value();
        std::vector<TrainRecord> records{trainer.next().value()};
        if (!records.front().skipped) continue;
        CHECK(trainer.evaluate().value() == before);
        for (const TrainRecord& record : run(trainer)) records.push_back(record);
        REQUIRE(records.size() == 24);
        CHECK(records.front().scale == 65536);
        for (std::size_t i = 0; i + 1 < records.size(); ++i)
            CHECK(records[i + 1].scale == (records[i].skipped ? records[i].scale / 2 : records[i].scale));
        CHECK(std::ranges::any_of(records, [](const TrainRecord& record) { return !record.skipped; }));
        CHECK(trainer.evaluate().value() != before);
        return;
    }
    FAIL("no step was skipped");
}

TEST_CASE("ten steps in a row without finite gradients end a run", "[train]") {
    Training setting;
    setting.options.steps = 30, setting.options.z_loss = 1e25;  // the squares of its gradients are beyond f32
    const auto ends = [&](const char* advice) {
        Trainer trainer = setting.trainer();
        for (const TrainRecord& record : run(trainer, 9)) CHECK((record.skipped && std::isinf(record.norm)));
        expect_error(ErrorKind::accuracy, {"gradients were not finite in 10 steps in a row, up to step 9", advice},
                     [&] { trainer.next(); });
    };
    ends("a lower learning rate may help");
    setting.options.precision = Precision::f16, setting.options.loss_scale = 1;
    ends("a lower loss scale may help");
}

TEST_CASE("a model with values that are not finite is not saved", "[train]") {
    Training setting;
    setting.options.steps = 1;
    const std::string saved = setting.trainer(small_gpt2(17)).save(setting.folder.path("run")),
                      file = saved + "/model.safetensors";
    // The last position is behind all sequences, so that weight decay alone changes its embedding.
    std::string bytes = read_file(file);
    const float large = 3e38f;
    std::memcpy(&bytes.at(SafeTensors(file).at("transformer.wpe.weight").data.begin() + 16 * 16 * sizeof large), &large,
                sizeof large);
    write_file(file, bytes);
    setting.options.rate = {.rate = 3}, setting.options.weight_decay = 1;
    Trainer trainer = Trainer::from_folder(test_device(), saved, setting.data, setting.options);
    CHECK(std::isfinite(trainer.next().value().loss));
    expect_error(ErrorKind::accuracy, {"wpe", "not finite after step 1"},
                 [&] { trainer.save(setting.folder.path("other")); });
    CHECK(!std::filesystem::exists(setting.folder.path("other/latest")));
}

TEST_CASE("a dynamic loss scale is lowered to 1 before steps without finite gradients end a run", "[train]") {
    Training setting;
    setting.options.steps = 30, setting.options.precision = Precision::f16;
    setting.options.z_loss = 1e25;  // the squares of its gradients are beyond f32, whatever their scale
    Trainer trainer = setting.trainer();
    const std::vector<TrainRecord> records = run(trainer, 16);
    REQUIRE(records.size() == 16);
    for (std::size_t i = 0; i < records.size(); ++i)
        CHECK((records[i].skipped && records[i].scale == std::ldexp(65536, -static_cast<int>(i))));
    expect_error(
        ErrorKind::accuracy,
        {"gradients were not finite in 17 steps in a row, up to step 16: the first such result is that of node",
         "a lower learning rate may help"},
        [&] { trainer.next(); });
}

TEST_CASE("a micro-batch without a target adds nothing to the loss and the gradients", "[train]") {
    const TemporaryDirectory folder;
    std::vector<std::int32_t> told(16), prompt(17);
    for (std::size_t i = 0; i < 17; ++i) prompt[i] = static_cast<std::int32_t>(i * 29 + 7);
    for (std::size_t i = 0; i < 16; ++i) told[i] = static_cast<std::int32_t>(i * 37 + 1);
    write_documents(folder.path("both.safetensors"), {told, prompt}, 16);
    write_documents(folder.path("alone.safetensors"), {told, {prompt[0]}}, 16);
    const auto records = [&](const char* file, std::int64_t micro_batches) {
        const Dataset data({folder.path(file)},
                           {.context = 16, .validation_share = 0, .vocabulary = 2048, .folder = folder.path()});
        REQUIRE(data.sequences() == (file[0] == 'b' ? 2 : 1));
        Trainer trainer(test_device(), small_gpt2(), data,
                        {.steps = 4, .sequences = 1, .accumulate = micro_batches, .rate = {.rate = 1e-2}});
        return run(trainer);
    };
    const std::vector<TrainRecord> both = records("both.safetensors", 2), alone = records("alone.safetensors", 1);
    REQUIRE((both.size() == 4 && alone.size() == 4));
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(std::abs(both[i].loss - alone[i].loss) < 1e-5);
        CHECK(std::abs(both[i].norm - alone[i].norm) < 1e-4 * alone[i].norm);
    }
    // A step of it alone is one of loss 0 and gradient 0: every second one.
    const std::vector<TrainRecord> each = records("both.safetensors", 1);
    CHECK(std::ranges::count_if(each, [](const TrainRecord& one) { return one.loss == 0 && one.norm == 0; }) == 2);
    CHECK(std::ranges::none_of(each, [](const TrainRecord& one) { return one.skipped; }));
}

TEST_CASE("micro-batches that are added up give the step of a large batch", "[train]") {
    Training setting;
    Trainer whole = setting.trainer();
    setting.options.sequences = 1, setting.options.accumulate = 4;
    Trainer parts = setting.trainer();
    const auto a = run(whole), b = run(parts);
    REQUIRE((a.size() == 8 && b.size() == 8));
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(std::abs(a[i].loss - b[i].loss) < 1e-5);
        CHECK(std::abs(a[i].norm - b[i].norm) < 1e-4 * a[i].norm);
    }
}

TEST_CASE("dropout changes what is learned, not how it is measured, and goes on after a resume", "[train]") {
    Training setting;
    Trainer without = setting.trainer();
    setting.options.dropout = 0.3, setting.options.attention_dropout = 0.2, setting.options.accumulate = 2;
    Trainer whole = setting.trainer();
    CHECK(whole.evaluate() == without.evaluate());
    const std::vector<double> want = losses(run(whole));
    setting.options.dropout = 0;
    Trainer all_features = setting.trainer();
    CHECK(losses(run(all_features)) != want);
    setting.options.dropout = 0.3, setting.options.attention_dropout = 0;
    Trainer all_weights = setting.trainer();
    CHECK(losses(run(all_weights)) != want);
    setting.options.attention_dropout = 0.2;
    Trainer first = setting.trainer();
    std::vector<double> got = losses(run(first, 3));
    first.save(setting.folder.path("run"));
    for (const TrainRecord& record : run(first, first.step() - 3)) got.push_back(record.loss);
    Trainer second =
        Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
    for (const double loss : losses(run(second))) got.push_back(loss);
    CHECK(got == want);
    setting.options.dropout = 1;
    expect_error(ErrorKind::usage, {"dropout is 1"}, [&] { setting.trainer(); });
}

TEST_CASE("uneven experts cost what the option or config.json says, and evaluation leaves them out", "[train]") {
    Training setting;
    setting.options.accumulate = 2;
    const std::string asks = small_mixtral({{"output_router_logits", true}, {"router_aux_loss_coef", 0.5}});
    Trainer plain = setting.trainer(small_mixtral()), asked = setting.trainer(asks);
    CHECK(asked.evaluate() == plain.evaluate());
    const std::vector<double> without = losses(run(plain)), want = losses(run(asked));
    CHECK(std::abs(want[0] - without[0] - 0.5 * 2) < 0.05);  // a new router takes two, and all are nearly as probable
    setting.options.load_balance = 0;
    Trainer off = setting.trainer(asks);
    CHECK(losses(run(off)) == without);
    setting.options.load_balance = 0.5;
    Trainer first = setting.trainer(small_mixtral());
    std::vector<double> got = losses(run(first, 3));
    first.save(setting.folder.path("run"));
    for (const TrainRecord& record : run(first, first.step() - 3)) got.push_back(record.loss);
    const auto goes_on = [&] {
        return Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
    };
    Trainer second = goes_on();
    for (const double loss : losses(run(second))) got.push_back(loss);
    CHECK(got == want);
    setting.options.load_balance = 0.25;
    expect_error(ErrorKind::usage, {"load_balance is 0.25, but the checkpoint has 0.5"}, goes_on);
    expect_error(ErrorKind::usage, {"load_balance is 0.25, but gpt2 has no experts"}, [&] { setting.trainer(); });
    setting.options.load_balance = 0.5, setting.options.precision = Precision::f16;
    Trainer scaled = setting.trainer(small_mixtral());
    CHECK(std::abs(scaled.next()->loss - want[0]) < 0.02);
}

TEST_CASE("experts that are balanced become more even than those that are not", "[train]") {
    // how far from 2 the loss of uneven experts is behind 60 steps with a factor: the difference that it makes
    const auto unevenness = [](double factor) {
        Training setting;
        setting.options.steps = 60, setting.options.load_balance = factor;
        setting.options.rate.schedule = RateSchedule::cosine;
        Trainer trainer = setting.trainer(small_mixtral({{"initializer_range", 0.3}}));
        run(trainer);
        const std::string trained = trainer.save(setting.folder.path("run"));
        setting.options.sequences = 64;
        const auto first_loss = [&](double measured) {
            setting.options.load_balance = measured;
            return Trainer::from_folder(test_device(), trained, setting.data, setting.options).next()->loss;
        };
        return first_loss(1) - first_loss(0) - 2;
    };
    const double with = unevenness(10), without = unevenness(0);
    INFO("with " << with << ", without " << without);
    CHECK(with < without / 2);
}

TEST_CASE("documents that are separate cost what each costs alone", "[train]") {
    const TemporaryDirectory folder;
    std::vector<std::vector<std::int32_t>> documents;
    std::int32_t next = 1;
    for (const int length : {5, 7, 6, 9, 3, 12}) {
        documents.emplace_back();
        for (int i = 0; i < length; ++i) documents.back().push_back((next = next * 37 % 2039));
    }
    write_documents(folder.path("documents.safetensors"), documents);
    const DatasetOptions how{
        .context = 16, .validation_share = 0, .separate_documents = true, .vocabulary = 2048, .folder = folder.path()};
    const Dataset data({folder.path("documents.safetensors")}, how);
    TrainOptions options{.steps = 1, .sequences = 1, .rate = {.rate = 1e-30}};
    Trainer trainer(test_device(), small_gpt2(), data, options);
    const Model model = trainer.model();
    std::vector<double> allowed;  // of the sequences that begin at a document each
    for (std::size_t first = 0; first < documents.size(); ++first) {
        double sum = 0, targets = 0;
        std::size_t room = 16;
        for (std::size_t i = first; i < documents.size() && room > 0; ++i) {
            const std::span<const std::int32_t> ids(documents[i]);
            const std::size_t rows = std::min(room, ids.size());
            room -= rows;
            Session session(model, {.precision = Precision::f32, .inspect = true});
            session.append(ids.first(rows));
            session.run();
            const Array logits = session.logits();
            for (std::size_t row = 0; row < std::min(rows, ids.size() - 1); ++row, ++targets)
                sum += cross_entropy_of(logits.row(static_cast<std::int64_t>(row)), ids[row + 1]);
        }
        if (room == 0) allowed.push_back(sum / targets);
    }
    const double loss = trainer.next().value().loss;
    INFO(loss);
    CHECK(std::ranges::any_of(allowed, [&](double one) { return std::abs(one - loss) < 2e-5; }));
}

TEST_CASE("recomputed activations change nothing but memory", "[train]") {
    Training setting;
    setting.options.dropout = setting.options.attention_dropout = 0.1, setting.options.recompute = 0;
    Trainer kept = setting.trainer();
    const std::vector<double> want = losses(run(kept));
    for (const std::int64_t recompute : {1, 2}) {
        setting.options.recompute = recompute;
        Trainer again = setting.trainer();
        const std::vector<double> got = losses(run(again));
        for (std::size_t i = 0; i < want.size(); ++i)
            CHECK(std::abs(got[i] - want[i]) < 1e-5);  // other nodes are fused
    }
    // a limit just below what all of them take, of a model whose activations outweigh logits and kernels' memory; the
    // same choice after a resume without a limit
    const std::string deep = small_gpt2(16, 96, 4);
    setting.options.recompute = -1, setting.options.accumulate = 2, setting.options.sequences = 16;
    Trainer all = setting.trainer(deep);
    CHECK(all.recompute() == 0);
    const std::uint64_t limit = all.bytes() + all.step_bytes() * 95 / 100;
    setting.options.memory = limit;
    Trainer fits = setting.trainer(deep);
    CHECK((fits.recompute() > 0 && fits.step_bytes() < all.step_bytes()));
    std::vector<double> got = losses(run(fits, 3));
    fits.save(setting.folder.path("run"));
    for (const TrainRecord& record : run(fits)) got.push_back(record.loss);
    const std::vector<double> whole = losses(run(all));
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(got[i] - whole[i]) < 1e-5);
    setting.options.memory = 0;
    Trainer again =
        Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
    CHECK(again.recompute() == fits.recompute());
    for (const double loss : losses(run(again))) CHECK(std::ranges::find(got, loss) != got.end());
    setting.options.memory = 1 << 20;
    expect_error(ErrorKind::out_of_memory, {"a step takes", "(parameters ", ", optimiser ", "but 1"},
                 [&] { setting.trainer(); });
    setting.options.memory = limit, setting.options.recompute = 0;
    expect_error(ErrorKind::out_of_memory, {"recompute"}, [&] { setting.trainer(deep); });
}

TEST_CASE("steps before a pause are those that an evaluation sees", "[train]") {
    Training setting;
    setting.options.pause_every = 4;
    Trainer trainer = setting.trainer();
    run(trainer, 4);
    CHECK(trainer.step() == 4);
    CHECK(trainer.save(setting.folder.path("run")).ends_with("step-000004"));
}

TEST_CASE("after the first step nothing is recorded or allocated, and the device never waits for the host", "[train]") {
    const WithoutGuard free;
    Training setting;
    setting.options.accumulate = 2;
    setting.options.submission_seconds = 60;  // a step is one submission, even on a slow device
    Trainer trainer = setting.trainer();
    run(trainer, 2);  // the third one is submitted
    const gpu::CallCounts before = gpu::call_counts();
    const std::uint64_t bytes = test_device().state().memory.held;
    while (const auto record = trainer.next()) {  // when a step is done, the next one is submitted
        CHECK(trainer.step() == std::min<std::int64_t>(record->step + 2, 8));
        CHECK(test_device().state().memory.held == bytes);
    }
    const gpu::CallCounts after = gpu::call_counts();
    CHECK(after.recordings == before.recordings);
    CHECK(after.allocations == before.allocations);
    CHECK(after.pipelines == before.pipelines);
    CHECK(after.submissions == before.submissions + 5);
    trainer.evaluate();  // the counters work
    CHECK(gpu::call_counts().recordings > after.recordings);
}

TEST_CASE("an interrupt ends a trainer after the submitted steps, and one that gives up at once", "[train]") {
    Training setting;
    const auto steps_after_interrupt = [&](bool give_up) {
        setting.options.give_up = give_up;
        Trainer trainer = setting.trainer();
        REQUIRE(trainer.next());
        const std::atomic<bool> flag{true};
        const internal::InterruptScope scope(flag);
        int steps = 0;
        try {
            while (trainer.next()) ++steps;
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::interrupted);
        }
        return steps;
    };
    CHECK(steps_after_interrupt(false) > 0);
    CHECK(steps_after_interrupt(true) == 0);
}

TEST_CASE("a run that is profiled is the same to the last bit", "[train]") {
    Training setting;
    setting.options.dropout = 0.1, setting.options.accumulate = 2;
    Trainer plain = setting.trainer();
    setting.options.profile = true;
    Trainer profiled = setting.trainer();
    CHECK(losses(run(profiled)) == losses(run(plain)));
    CHECK(profiled.evaluate() == plain.evaluate());
    const std::string one = plain.save(setting.folder.path("plain")),
                      two = profiled.save(setting.folder.path("profiled"));
    for (const char* file : {"/model.safetensors", "/training.safetensors"})
        CHECK(read_file(one + file) == read_file(two + file));
    CHECK(plain.take_timings().empty());
    CHECK(profiled.take_timings().empty() == !test_device().caps().timestamps);
    CHECK(profiled.take_timings().empty());  // they were taken
}

TEST_CASE("a run that samples after each step is the same to the last bit", "[train]") {
    const Training setting;
    check_samples_change_nothing(setting.trainer(), setting.trainer());
}

TEST_CASE("a trainer that was moved from says so, a data set stays one", "[train][guarantees]") {
    Training setting;
    Trainer trainer = setting.trainer(), other = std::move(trainer);
    const auto moved = [&](const auto& call) { expect_error(ErrorKind::usage, {"moved from"}, call); };
    moved([&] { trainer.next(); });
    moved([&] { trainer.evaluate(); });
    moved([&] { trainer.sample("x", 1); });
    moved([&] { trainer.save(setting.folder.path("run")); });
    moved([&] { trainer.stop(); });
    moved([&] { trainer.parameters(); });
    CHECK(run(other, 1).size() == 1);
    const Dataset data = std::move(setting.data);   // NOLINT(performance-move-const-arg)
    CHECK(setting.data.tokens() == data.tokens());  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("data are read with the tokenizer of the model, from whatever file", "[train][bad]") {
    const Training setting;
    const std::string path = mini_world_folder + "/tokenizer.json";
    const auto trains = [&](const Json& tokenizer) {
        const Dataset data({valid_text}, Tokenizer::parse(tokenizer.dump(2), "changed"),
                           {.context = 16, .blank_lines = true, .folder = setting.folder.path("changed")});
        Trainer(test_device(), small_gpt2(), data, setting.options, path).save(setting.folder.path("run"));
        // a resumed run has the tokenizer of its checkpoint
        Trainer::from_folder(test_device(), setting.folder.path("run"), data, setting.options, true);
        std::filesystem::remove_all(setting.folder.path("run"));
    };
    Json file = parse_json(read_file(path), path);
    trains(file);                                // the same, in more lines
    for (Json& merge : file["model"]["merges"])  // as older versions of tokenizers write them
        merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    file["model"]["vocab"].erase("<|endoftext|>");  // a special token with another name
    file["model"]["vocab"]["<|end|>"] = 0, file["added_tokens"][0]["content"] = "<|end|>";
    trains(file);
    Json& ids = file["model"]["vocab"];
    std::swap(ids["Ġdog"], ids["Ġcat"]);
    expect_error(ErrorKind::usage, {"token 391 is \"Ġcat\" in the data, but \"Ġdog\" in", "mini-world/tokenizer.json"},
                 [&] { trains(file); });
}

TEST_CASE("what a trainer cannot do is said before the first step", "[train][bad]") {
    Training setting;
    const auto refused = [&](ErrorKind kind, std::initializer_list<const char*> parts) {
        expect_error(kind, parts, [&] { setting.trainer(); });
    };
    setting.options.sequences = 0;
    refused(ErrorKind::usage, {"sequences is 0"});
    setting.options.sequences = 4, setting.options.beta1 = 1;
    refused(ErrorKind::usage, {"beta1"});
    setting.options.beta1 = 0.9, setting.options.momentum = 0.5;
    refused(ErrorKind::usage, {"momentum is of sgd, not of adamw"});
    setting.options.momentum = 0, setting.options.rate.warmup = (1 << 24) + 1;
    refused(ErrorKind::usage, {"warmup is 16777217"});
    setting.options.rate.warmup = 2, setting.options.eps = NAN;
    refused(ErrorKind::usage, {"eps is nan"});
    setting.options.eps = 1e-8, setting.options.optimizer = static_cast<Optimizer>(99);
    refused(ErrorKind::usage, {"optimizer is 99"});
    setting.options.optimizer = Optimizer::adamw;
    expect_error(ErrorKind::usage, {"16 tokens", "8 positions"},
                 [&] { Trainer(test_device(), small_gpt2(8), setting.data, setting.options); });
    std::string config = small_gpt2();
    config.replace(config.find("2048"), 4, "100");
    expect_error(ErrorKind::usage, {"2048 tokens", "100"},
                 [&] { Trainer(test_device(), config, setting.data, setting.options); });
    Trainer trainer = setting.trainer();
    run(trainer, 2);
    trainer.save(setting.folder.path("run"));
    setting.options.rate.rate = 1;
    expect_error(ErrorKind::usage, {"rate is 1.0", "checkpoint has 0.01"}, [&] {
        Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
    });
}
