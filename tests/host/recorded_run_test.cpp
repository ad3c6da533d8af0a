// Recordings of training runs that a stranger made, or that are damaged.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "expect_error.h"
#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"
#include "runtime/train/recorded_run.h"
#include "temporary_directory.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::expect_error;

namespace {

namespace fs = std::filesystem;

const std::string recording = std::string(VANTAGE_TEST_DATA) + "/data/oracle/train";

/// Reads a copy of the recording that was changed.
void read_changed_run(const std::function<void(const std::string& folder)>& change) {
    const test::TemporaryDirectory folder;
    for (const fs::directory_entry& file : fs::directory_iterator(recording))
        fs::copy(file.path(), folder.path(file.path().filename().string()));
    change(folder.path());
    const RecordedRun run(folder.path());
    for (std::int64_t step = 0; step < run.steps(); ++step) run.batch(step, 0);
}

void with_hyper(const char* key, const Json& value, const char* says) {
    INFO(key << " = " << value.dump());
    expect_error(ErrorKind::bad_file, {"train.json", says}, [&] {
        read_changed_run([&](const std::string& folder) {
            Json json = read_json(folder + "/train.json");
            json["hyper"][key] = value;
            write_file(folder + "/train.json", json.dump());
        });
    });
}

void with_data(const char* name, const std::vector<std::int64_t>& shape, std::initializer_list<const char*> parts) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    INFO(name << ": " << Shape(shape).text());
    expect_error(ErrorKind::bad_file, parts, [&] {
        read_changed_run([&](const std::string& folder) {
            write_safetensors(folder + "/data.safetensors", {{name, "I32", shape, std::as_bytes(std::span(ids))}});
        });
    });
}

}  // namespace

TEST_CASE("a recording of a training run that is damaged is refused with one line", "[train][bad]") {
    read_changed_run([](const std::string&) {});
    for (const double beta : {1.0, 0.99999999, -1.0, 2.0}) with_hyper("betas", Json{beta, 0.9}, "betas");
    with_hyper("betas", Json{0.9}, "betas");
    with_hyper("label_smoothing", 3, "label_smoothing");
    with_hyper("accumulate", 0, "accumulate");
    expect_error(ErrorKind::bad_file, {"train.json", "\"schedule\"", "inverse_sqrt", "list \"lr\""}, [] {
        read_changed_run([](const std::string& folder) {
            Json json = read_json(folder + "/train.json");
            json["hyper"]["schedule"] = "stairs", json.erase("lr");
            write_file(folder + "/train.json", json.dump());
        });
    });
    with_data("tokens", {20, 0, 24}, {"tokens", "wanted 3 dimensions"});
    with_data("tokens", {3, 2, 24}, {"tokens", "wanted 3 dimensions"});
    with_data("tokens", {20, 2, 24, 0}, {"tokens", "wanted 3 dimensions"});
    with_data("tokens", {20, 2}, {"tokens", "wanted 3 dimensions"});
    with_data("tokens", {20, 2, 1}, {"without a token"});
    with_data("pixel_values", {20, 2, 3, 4, 4}, {"does not read pixel_values"});
    with_data("labels", {20, 2, 24}, {"input_ids"});
}

TEST_CASE("a recording has a list of learning rates, or says how they go", "[train]") {
    const auto rates = [](const Json& hyper, const Json& list) {
        const test::TemporaryDirectory folder;
        for (const fs::directory_entry& file : fs::directory_iterator(recording))
            fs::copy(file.path(), folder.path(file.path().filename().string()));
        Json json = read_json(folder.path("train.json"));
        json["hyper"].update(hyper), json.erase("lr");
        if (!list.is_null()) json["lr"] = list;
        write_file(folder.path("train.json"), json.dump());
        return RecordedRun(folder.path()).settings().rates;
    };
    const auto near = [](float got, double want) { return std::abs(got - want) <= 1e-6 * want; };
    const auto constant = rates({{"lr", 0.01}, {"warmup", 5}}, {});
    CHECK((constant.size() == 20 && near(constant[0], 0.002) && near(constant[19], 0.01)));
    const auto cosine =
        rates({{"schedule", "cosine"}, {"lr", 0.01}, {"min_lr", 0.002}, {"warmup", 4}, {"total", 24}}, {});
    CHECK((cosine.size() == 24 && near(cosine[0], 0.0025) && near(cosine[13], 0.006) && near(cosine[23], 0.002)));
    const auto linear = rates({{"schedule", "linear"}, {"lr", 0.01}, {"warmup", 0}, {"total", 10}}, {});
    CHECK((linear.size() == 20 && near(linear[4], 0.005) && linear[19] == 0));  // after its end it stays
    const auto noam = rates({{"schedule", "noam"}, {"lr", 1}, {"warmup", 10}, {"d_model", 64}}, {});
    CHECK((near(noam[9], std::pow(640, -0.5)) && near(noam[19], std::pow(64 * 20, -0.5))));
    const auto root = rates({{"schedule", "inverse_sqrt"}, {"lr", 0.01}, {"warmup", 5}}, {});
    CHECK(near(root[19], 0.005));
    const auto list = rates({{"schedule", "as its author likes"}}, std::vector<double>(20, 0.25));
    CHECK((list.size() == 20 && list[7] == 0.25F));
    with_hyper("optimizer", "SGD", "AdamW");
}

TEST_CASE("batches of a recording have the sizes and ids that the model reads", "[train][bad]") {
    const auto with_tensors = [](const std::vector<TensorToWrite>& tensors, std::initializer_list<const char*> parts) {
        expect_error(ErrorKind::bad_file, parts, [&] {
            read_changed_run(
                [&](const std::string& folder) { write_safetensors(folder + "/data.safetensors", tensors); });
        });
    };
    const std::vector<std::int32_t> ids(20 * 2 * 4), beyond(20 * 2 * 4, 256);
    const auto zeros = std::as_bytes(std::span(ids)), large = std::as_bytes(std::span(beyond));
    with_tensors({{"tokens", "I32", {20, 2, 4}, large}}, {"tokens has id 256", "vocabulary has 256"});
    const TensorToWrite input{"input_ids", "I32", {20, 2, 4}, zeros};
    with_tensors({input, {"labels", "I32", {20, 4, 2}, zeros}}, {"labels is I32 [20, 4, 2]", "4 elements"});
    with_tensors({input, {"labels", "I32", {0, 2, 4}}}, {"labels is I32 [0, 2, 4]"});
    with_tensors({input, {"labels", "F32", {20, 2, 4}, zeros}}, {"labels is F32"});
    with_tensors({input, {"labels", "I32", {20, 2, 4}, large}}, {"a label is 256"});
    expect_error(ErrorKind::bad_file, {"train.json", "20 losses, but 1 learning rates"}, [] {
        read_changed_run([](const std::string& folder) {
            Json json = read_json(folder + "/train.json");
            json["lr"] = {0.1};
            write_file(folder + "/train.json", json.dump());
        });
    });
}
