// Files of a training run that are read when it goes on, or is compared.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "expect_error.h"
#include "runtime/base/files.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/run_files.h"
#include "temporary_directory.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

LoggedRun logged(const std::string& lines) {
    const TemporaryDirectory folder;
    write_file(folder.path("log.jsonl"), lines);
    return read_log(folder.path("log.jsonl"));
}

}  // namespace

TEST_CASE("a log of a run is read up to the first line that is damaged", "[train]") {
    const std::string two = "{\"step\":0,\"loss\":2.5,\"norm\":1,\"rate\":0.1}\n{\"step\":0,\"eval\":2.25}\n";
    CHECK(logged(two + "{\"step\":0,\"becomes\":\"induction\"}\n").steps == std::vector<double>{0});  // a head
    const LoggedRun whole = logged(two + "{\"step\":1,\"loss\":null,\"norm\":1e300}\n");
    CHECK(whole.steps == std::vector<double>{0, 1});
    CHECK((whole.losses[0] == 2.5 && std::isnan(whole.losses[1])));
    CHECK((std::isnan(whole.norms[1]) && std::isnan(whole.rates[1])));
    CHECK((whole.evaluation_steps == std::vector<double>{0} && whole.evaluations == std::vector<double>{2.25}));
    for (const char* damaged :
         {"{\"step\":1,\"lo", "{\"step\":-1}\n", "{\"step\":1e300}\n", "{\"step\":0.5}\n", "3\n", "{}\n"}) {
        CAPTURE(damaged);
        CHECK(logged(two + damaged + "\n{\"step\":2,\"loss\":2}\n").steps == std::vector<double>{0});
    }
    expect_error(ErrorKind::bad_file, {"log.jsonl", "no steps"}, [] { logged("{\"step\":0,\"eval\":1}\n"); });
    const TemporaryDirectory folder;
    write_file(folder.path("log.jsonl"), two + "{\"step\":1,\"loss\":2}\n");
    LoggedRun run;
    const auto take = [&](const JsonFields& line) { take_line(run, line.json()); };
    CHECK(read_log_lines(folder.path("log.jsonl"), 1, take) == two);
    CHECK(run.steps == std::vector<double>{0});
}

TEST_CASE("the best checkpoint is that of the lowest evaluation, and has a link", "[train]") {
    const LoggedRun run = logged(
        R"({"step":0,"loss":9}
{"step":3,"eval":2.5}
{"step":7,"eval":null}
{"step":11,"eval":1.5}
{"step":15,"eval":1}
)");
    const auto best_of = [&](const std::map<std::int64_t, std::string>& checkpoints) {
        const auto best = best_checkpoint(run, checkpoints);
        return best ? best->step : 0;
    };
    CHECK(best_of({{4, ""}, {8, ""}, {12, ""}, {13, ""}}) == 12);  // that of step 16 is not there
    CHECK(best_of({{4, ""}, {8, ""}}) == 4);
    CHECK(best_of({{8, ""}, {13, ""}}) == 0);
    CHECK(best_checkpoint(run, {{16, ""}}).value().loss == 1);
    const TemporaryDirectory folder;
    const auto link = [&] { return std::filesystem::read_symlink(folder.path("best")).string(); };
    link_checkpoint(folder.path(), "best", 4);  // it may point to nothing
    CHECK(link() == "step-000004");
    link_checkpoint(folder.path(), "best", 12);
    CHECK(link() == "step-000012");
    CHECK(checkpoints_in(folder.path()).empty());
    link_checkpoint(folder.path(), "best", std::nullopt);
    CHECK(!std::filesystem::is_symlink(folder.path("best")));
    write_file(folder.path("best"), "somebody's");
    link_checkpoint(folder.path(), "best", std::nullopt);
    CHECK(std::filesystem::exists(folder.path("best")));
    write_file(folder.path("best.tmp-1-2"), "of a process that was killed");
    remove_unfinished(folder.path());
    CHECK(!std::filesystem::exists(folder.path("best.tmp-1-2")));
}

TEST_CASE("a checkpoint that does not fit is refused before it is written", "[train][bad]") {
    const TemporaryDirectory folder;
    require_room(folder.path(), 0);
    require_room(folder.path("missing"), UINT64_MAX);
    expect_error(ErrorKind::bad_file, {"takes 18446744073709551615 bytes, but", "are available"},
                 [&] { require_room(folder.path(), UINT64_MAX); });
}

TEST_CASE("the log of heads has the shares of each head by step", "[train][bad]") {
    LoggedHeads heads;
    const auto take = [&](const std::string& text) {
        const Json line = parse_json(text, "heads.jsonl");
        take_heads(heads, JsonFields(line, "heads.jsonl"));
    };
    take(R"({"step": 9, "heads": [{"layer": 1, "head": 2, "previous": 0.25, "induction": null,
                                                           "pattern": "mixed"}]})");
    take(R"({"step": 19, "heads": [{"layer": 1, "head": 2, "previous": 0.75, "induction": 0.5,
                                                            "pattern": "previous-token"}]})");
    const LoggedHead& head = heads.at({1, 2});
    CHECK((heads.size() == 1 && head.pattern == "previous-token"));
    CHECK((head.steps == std::vector<double>{9, 19} && head.previous == std::vector<double>{0.25, 0.75}));
    CHECK((std::isnan(head.induction[0]) && head.induction[1] == 0.5));
    for (const char* line :
         {R"({"step": 1})", R"({"step": 1, "heads": [3]})", R"({"step": 1, "heads": [{"layer": 0, "head": 1}]})"}) {
        CAPTURE(line);
        expect_error(ErrorKind::bad_file, {"heads.jsonl"}, [&] { take(line); });
    }
    CHECK(heads.size() == 1);  // nothing of a damaged line
}

TEST_CASE("settings of a run are read as they were written, and refused beyond their limits", "[train][bad]") {
    const RunSettings settings{.eval_every = 3,
                               .sample_every = 4,
                               .save_every = 5,
                               .keep = 6,
                               .patience = 7,
                               .prompt = "a",
                               .log_heads = true,
                               .probe = "b"};
    const Json json = to_json(settings);
    CHECK(to_json(run_settings_of(JsonFields(json, "run.json"))) == json);
    const Json options = to_json(TrainOptions{.recompute = 0});
    CHECK(to_json(train_options_of(JsonFields(options, "training.json"))) == options);
    const auto refused = [](Json changed, const char* key, const Json& value, auto read) {
        changed[key] = value;
        CAPTURE(key);
        expect_error(ErrorKind::bad_file, {key}, [&] { static_cast<void>(read(JsonFields(changed, "file"))); });
    };
    refused(json, "keep", 0, run_settings_of);
    refused(json, "eval_every", -1, run_settings_of);
    refused(json, "prompt", 3, run_settings_of);
    for (const char* key : {"beta1", "beta2", "momentum", "label_smoothing"})
        refused(options, key, 1, train_options_of);
    refused(options, "rate_floor", 1, train_options_of);
    refused(options, "steps", 1 << 25, train_options_of);
}
