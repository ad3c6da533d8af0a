// Checkpoints: a run that is resumed goes on as if it had not stopped.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "../host/expect_error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "small_training.h"
#include "test_device.h"
#include "vantage/log.h"
#include "vantage/session.h"
#include "vantage/train.h"

using namespace vantage;
using namespace vantage::test;

TEST_CASE("a run that is resumed goes on as one that never stopped", "[train]") {
    const Training setting;
    Trainer whole = setting.trainer();
    const std::vector<double> want = losses(run(whole));
    Trainer first = setting.trainer();
    std::vector<double> got = losses(run(first, 3));
    const std::string saved = first.save(setting.folder.path("run"));
    const std::int64_t step = first.step();  // what was submitted ahead is in it
    CHECK((step >= 3 && step <= 5));
    CHECK(std::filesystem::equivalent(saved, setting.folder.path("run/latest")));
    Trainer second =
        Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
    CHECK(second.step() == step);
    for (const TrainRecord& record : run(first, step - 3)) got.push_back(record.loss);
    for (const double loss : losses(run(second))) got.push_back(loss);
    CHECK(got == want);
    CHECK(second.save(setting.folder.path("run")).ends_with("step-000008"));
    CHECK(read_file(setting.folder.path("run/latest/model.safetensors")) ==
          read_file(whole.save(setting.folder.path("other")) + "/model.safetensors"));
}

TEST_CASE("batches are left out, also by a run that goes on", "[train]") {
    Training setting;
    setting.options.rate.rate = 1e-30, setting.options.weight_decay = 0;  // every step has the model of the first
    Trainer all = setting.trainer();
    const std::vector<double> want = losses(run(all));
    setting.options.skipped_batches = 2;
    Trainer without = setting.trainer();
    const std::vector<double> got = losses(run(without));
    CHECK(std::ranges::equal(std::span(want).subspan(2), std::span(got).first(6)));
    setting.options.pause_every = 3, setting.options.skipped_batches = 0;
    Trainer first = setting.trainer();
    CHECK(losses(run(first, 3)) == std::vector(want.begin(), want.begin() + 3));
    first.save(setting.folder.path("run"));
    const auto goes_on = [&] {
        Trainer second =
            Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
        const std::vector<double> rest = losses(run(second, 3));
        second.save(setting.folder.path("run"));
        return rest;
    };
    setting.options.skipped_batches = 2;
    CHECK(goes_on() == std::vector(want.begin() + 5, want.end()));
    setting.options.skipped_batches = 0;  // the checkpoint knows
    CHECK(goes_on() == std::vector(got.begin() + 6, got.end()));
}

TEST_CASE("one batch in every step is learned by heart, also by a run that goes on", "[train]") {
    Training s;
    s.options.overfit = true, s.options.steps = 60, s.options.sequences = 1, s.options.pause_every = 30;
    s.options.rate = {.rate = 3e-2, .warmup = 2}, s.options.weight_decay = 0;
    Trainer trainer = s.trainer();
    run(trainer, 30);
    const std::string saved = trainer.save(s.folder.path("run"));
    const auto rest = run(trainer);
    CHECK(rest.back().loss < 0.3);
    Trainer again = Trainer::from_folder(test_device(), saved, s.data, s.options, true);
    CHECK(losses(run(again)) == losses(rest));
    s.options.overfit = false;
    Trainer other = s.trainer();
    CHECK(run(other).back().loss > 3);
}

TEST_CASE("another seed or other data go on only when asked", "[train]") {
    Training setting;
    setting.options.pause_every = 4;
    Trainer first = setting.trainer();
    run(first, 4);
    first.save(setting.folder.path("run"));
    const Dataset other(
        {valid_text}, tokenizer(),
        {.context = 16, .validation_share = 0.2, .blank_lines = true, .folder = setting.folder.path("other")});
    const auto goes_on = [&](const Dataset& data) {
        return Trainer::from_folder(test_device(), setting.folder.path("run"), data, setting.options, true);
    };
    expect_error(ErrorKind::usage, {"data are not those"}, [&] { goes_on(other); });
    setting.options.seed = 7;
    expect_error(ErrorKind::usage, {"seed is 7"}, [&] { goes_on(setting.data); });
    setting.options.other_data = true;
    Trainer second = goes_on(other);
    CHECK(second.step() == 4);
    CHECK(run(second).size() == 4);
    setting.options.rate.rate = 1;  // nothing else
    expect_error(ErrorKind::usage, {"rate is 1"}, [&] { goes_on(other); });
}

TEST_CASE("a run that goes on with another driver or version says so once", "[train]") {
    const Training setting;
    Trainer trainer = setting.trainer();
    run(trainer, 2);
    const std::string path = trainer.save(setting.folder.path("run")) + "/training.json";
    const auto warnings = [&] {
        const auto said = std::make_shared<std::vector<std::string>>();  // outlives a test that throws
        set_log([said](LogLevel level, const std::string& message) {
            if (level <= LogLevel::warning) said->push_back(message);
        });
        Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
        set_log({});
        return *said;
    };
    CHECK(warnings().empty());
    Json json = parse_json(read_file(path), path);
    json["driver"] = "another driver", json["vantage"] = "0.0.1";
    write_file(path, json.dump());
    const std::vector<std::string> said = warnings();
    REQUIRE(said.size() == 1);
    for (const char* part : {"step-00000", "driver \"another driver\" (here", "vantage \"0.0.1\" (here", "last bits"})
        CHECK(said[0].find(part) != std::string::npos);
    CHECK(said[0].find("device \"") == std::string::npos);
    for (const char* fact : {"device", "driver", "driver_version", "vantage", "commit"}) json.erase(fact);
    write_file(path, json.dump());  // as of an older version
    CHECK(warnings().empty());
}

TEST_CASE("a checkpoint is a model folder, and a trainer writes what it writes", "[train]") {
    const Training setting;
    Trainer trainer = setting.trainer();
    run(trainer);
    const Sampling greedy{.ignore_end = true};
    const std::string text = trainer.sample("The dog", 6, greedy);
    const Model model = Model::load(test_device(), trainer.save(setting.folder.path("run")));
    CHECK(model.has_tokenizer());
    CHECK(Generator(model, greedy, {.max_tokens = 6}).complete("The dog") == text);
    CHECK(trainer.sample("The dog", 6, greedy) == text);
    // and is trained on
    Trainer tuned =
        Trainer::from_folder(test_device(), setting.folder.path("run/latest"), setting.data, setting.options);
    CHECK(tuned.step() == 0);
    CHECK(tuned.next()->loss < 7.5);
}

TEST_CASE("checkpoints that are not whole are left out", "[train][bad]") {
    const Training setting;
    Trainer trainer = setting.trainer();
    run(trainer, 2);
    const std::string first = trainer.save(setting.folder.path("run"));
    run(trainer);
    const std::string second = trainer.save(setting.folder.path("run"));
    REQUIRE(first != second);
    write_file(setting.folder.path("run/step-000009-mine"), "not a checkpoint");
    const auto resumed = [&] {
        return Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true)
            .step();
    };
    const std::int64_t newest = trainer.step();
    CHECK(resumed() == newest);
    std::filesystem::resize_file(second + "/model.safetensors",
                                 std::filesystem::file_size(second + "/model.safetensors") - 4);
    CHECK(resumed() < newest);
    Trainer again =
        Trainer::from_folder(test_device(), setting.folder.path("run"), setting.data, setting.options, true);
    run(again);
    CHECK(again.save(setting.folder.path("run")) == second);  // in place of the damaged one
    CHECK(resumed() == newest);
    for (const std::string& folder : {first, second}) std::filesystem::remove(folder + "/training.json");
    expect_error(ErrorKind::bad_file, {"none of 2 checkpoints is whole", "step-000008: it has no training.json"},
                 resumed);
}

TEST_CASE("a checkpoint that was deleted is written again", "[train]") {
    const Training setting;
    Trainer trainer = setting.trainer();
    const std::string folder = setting.folder.path("run"), saved = trainer.save(folder);
    std::filesystem::remove_all(folder);
    CHECK(trainer.save(folder) == saved);
    CHECK(std::filesystem::exists(saved + "/model.safetensors"));
    expect_error(ErrorKind::usage, {"needs a folder"}, [&] { trainer.save(""); });
    expect_error(ErrorKind::bad_file, {"valid.txt"}, [&] { trainer.save(valid_text); });
}
