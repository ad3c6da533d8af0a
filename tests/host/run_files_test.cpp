// Files of a training run that are read when it goes on, or is compared.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
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
