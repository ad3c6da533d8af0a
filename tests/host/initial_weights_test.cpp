// Initial weights: the rules of all architectures against statistics of what transformers and torch draw, recorded by
// tests/data/initial_weights/make.py, and the numbers themselves.
#include <catch2/catch_test_macros.hpp>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>
#include <set>

#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/base/portable_math.h"
#include "runtime/models/architecture.h"
#include "runtime/train/initial_weights.h"
#include "runtime/train/training_graph.h"

using namespace vantage;

namespace {

const std::string recorded_data = std::string(VANTAGE_TEST_DATA) + "/data/";

/// Moments and extremes of the numbers of a tensor.
struct Moments {
    double count = 0, mean = 0, deviation = 0, smallest = 0, largest = 0, kurtosis = 0;
};

Moments moments_of(const std::vector<float>& numbers) {
    Moments found{.count = static_cast<double>(numbers.size()), .smallest = numbers[0], .largest = numbers[0]};
    for (const float x : numbers) found.mean += x / found.count;
    double square = 0, fourth = 0;
    for (const float x : numbers) {
        const double d = x - found.mean;
        square += d * d / found.count, fourth += d * d * d * d / found.count;
        found.smallest = std::min<double>(found.smallest, x), found.largest = std::max<double>(found.largest, x);
    }
    found.deviation = std::sqrt(square);
    found.kurtosis = square > 0 ? fourth / (square * square) : 0;
    return found;
}

/// A row of a recorded file; make.py describes it.
struct RecordedTensor {
    std::string kind;
    Moments statistics;
    std::set<std::int64_t> zero_rows;
};

RecordedTensor recorded_tensor(const Json& row) {
    const auto number = [&](std::size_t i) { return row.at(i).get<double>(); };
    RecordedTensor all{.kind = row.at(0).get<std::string>(),
                       .statistics = {.count = number(1),
                                      .mean = number(2),
                                      .deviation = number(3),
                                      .smallest = number(4),
                                      .largest = number(5)},
                       .zero_rows = {}};
    if (all.kind != "fixed") all.statistics.kurtosis = number(6);
    if (row.back().is_array()) all.zero_rows = row.back().get<std::set<std::int64_t>>();
    return all;
}

/// "h.*.attn.c_attn.weight": "*" for each part of the name that is a number, unless it is the last one.
std::string name_pattern(const std::string& name) {
    std::string pattern;
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        const std::string part = name.substr(begin, end - begin);
        const bool number = !part.empty() && std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c); });
        pattern += (begin > 0 ? "." : "") + (number && end < name.size() ? "*" : part);
        begin = end + 1;
    }
    return pattern;
}

ModelConfig recorded_config(const Json& model, const std::string& name, Tower tower = Tower::text) {
    const Json& config = model["config"];
    return parse_model_config(config.is_string() ? read_file(recorded_data + config.get<std::string>()) : config.dump(),
                              name, tower);
}

/// The configs of a model that a file has recorded: of CLIP one for each tower.
std::vector<ModelConfig> recorded_configs(const Json& model, const std::string& name, const std::string& type) {
    std::vector<ModelConfig> configs = {recorded_config(model, name)};
    if (type == "clip") configs.push_back(recorded_config(model, name, Tower::image));
    for (ModelConfig& config : configs) {  // optional weights that were not recorded, as for a checkpoint
        config.absent.clear();
        for (const char* weight : optional_weights(config))
            if (std::ranges::none_of(checkpoint_prefixes(config, weight), [&](const std::string& prefix) {
                    return model["tensors"].contains(name_pattern(prefix + weight));
                }))
                config.absent.emplace_back(weight);
    }
    return configs;
}

/// The tensors of a checkpoint that the weights of a model are, by pattern.
using TensorsByPattern = std::map<std::string, std::vector<Value>>;
TensorsByPattern tensors_by_pattern(const ModelConfig& config) {
    TensorsByPattern tensors;
    std::set<std::string> seen;
    for (const bool encoder : {false, true}) {
        if (encoder && config.kind != ModelKind::encoder_decoder) continue;
        const Graph graph = build_model(config, {.rows = 1, .context = 8, .encoder = encoder});
        for (const Value& value : graph.values()) {
            if (value.kind != ValueKind::weight || !seen.insert(value.name).second) continue;
            Value part = value;
            part.parts.clear();
            if (!value.parts.empty()) part.type.shape = Shape(value.type.shape.sizes().subspan(1));
            for (const std::string& name : tensors_of(value)) {
                part.name = name;
                tensors[name_pattern(name)].push_back(part);
            }
        }
    }
    return tensors;
}

/// The row that was recorded of a pattern, under one of the prefixes that a checkpoint may have.
const Json* recorded_row(const Json& model, const ModelConfig& config, const std::string& pattern) {
    for (const std::string& prefix : checkpoint_prefixes(config, pattern))
        if (model["tensors"].contains(prefix + pattern)) return &model["tensors"][prefix + pattern];
    return nullptr;
}

/// Numbers of these tensors from as many seeds as give about `wanted`, without the rows that must be zeros.
std::vector<float> drawn_numbers(const ModelConfig& config, const std::vector<Value>& tensors,
                                 const RecordedTensor& recorded, std::int64_t wanted) {
    std::vector<float> all;
    for (std::uint64_t seed = 0; std::ssize(all) < wanted; ++seed)
        for (const Value& tensor : tensors) {
            const std::vector<float> values = initial_values(config, tensor, seed);
            REQUIRE(std::ssize(values) == tensor.type.shape.elements());
            REQUIRE(std::ranges::all_of(values, [](float x) { return std::isfinite(x); }));
            const std::int64_t width = std::ssize(values) / tensor.type.shape[0];
            for (std::int64_t row = 0; row < tensor.type.shape[0]; ++row) {
                const std::vector<float> some(values.begin() + row * width, values.begin() + (row + 1) * width);
                if (!recorded.zero_rows.contains(row))
                    all.insert(all.end(), some.begin(), some.end());
                else
                    REQUIRE(some == std::vector<float>(some.size()));
            }
        }
    return all;
}

/// Fixed numbers agree to the digits that are recorded. Of n and N random numbers with the standard deviation σ and the
/// kurtosis κ, let e = √(1/n + 1/N). The difference of the means has the standard deviation σ e, that of the standard
/// deviations σ e √((κ - 1)/4), and that of the kurtoses e √24 for normal numbers and less for uniform ones. Five of
/// these are allowed. Extremes of bounded numbers are about range/n from their bounds.
void check_distribution(const Moments& got, const RecordedTensor& recorded) {
    const Moments& want = recorded.statistics;
    INFO(recorded.kind << ": " << got.count << " numbers, mean " << got.mean << ", deviation " << got.deviation
                       << ", from " << got.smallest << " to " << got.largest << ", kurtosis " << got.kurtosis);
    INFO("recorded: mean " << want.mean << ", deviation " << want.deviation << ", from " << want.smallest << " to "
                           << want.largest << ", kurtosis " << want.kurtosis);
    const auto near = [](double x, double y, double allowed) { return std::abs(x - y) <= allowed; };
    if (recorded.kind == "fixed") {
        for (const auto field : {&Moments::mean, &Moments::deviation, &Moments::smallest, &Moments::largest})
            CHECK(near(got.*field, want.*field, 1e-5 * std::abs(want.*field) + 1e-6));
        return;
    }
    const double each = 1 / got.count + 1 / want.count, of = 5 * std::sqrt(each);
    CHECK(near(got.mean, want.mean, of * want.deviation));
    CHECK(near(got.deviation, want.deviation, of * want.deviation * std::sqrt((want.kurtosis - 1) / 4)));
    CHECK(near(got.kurtosis, want.kurtosis, of * std::sqrt(24)));
    if (recorded.kind == "normal") return;
    const double slack = 60 * each * (want.largest - want.smallest);
    CHECK(near(got.smallest, want.smallest, slack));
    CHECK(near(got.largest, want.largest, slack));
}

/// Calls `check` for each model that is recorded, with its config.
void for_each_recorded(const std::function<void(const Json& model, const ModelConfig& config)>& check) {
    for (const Architecture* architecture : all_architectures()) {
        const std::string type = architecture->name;
        const Json models = read_json(recorded_data + "initial_weights/" + type + ".json");
        for (const auto& [name, model] : models.items()) {
            INFO(name);
            for (const ModelConfig& config : recorded_configs(model, name, type)) check(model, config);
        }
    }
}

Value f32_weight(const std::string& name, Shape shape) {
    return {.type = {shape, DType::f32}, .name = name, .kind = ValueKind::weight};
}

ModelConfig trained_config(const char* json) { return parse_model_config(json, "config.json"); }

const char* padded_llama =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 6,
    "intermediate_size": 96, "vocab_size": 100, "pad_token_id": 3})";

const char* small_mamba = R"({"model_type": "mamba", "num_hidden_layers": 2, "hidden_size": 32, "vocab_size": 100,
    "state_size": 4, "time_step_rank": 8})";

}  // namespace

TEST_CASE("initial weights are distributed as transformers and torch draw them", "[initial_weights][slow]") {
    std::int64_t compared = 0;
    for_each_recorded([&](const Json& model, const ModelConfig& config) {
        for (const auto& [pattern, tensors] : tensors_by_pattern(config)) {
            INFO(pattern);
            const Json* row = recorded_row(model, config, pattern);
            REQUIRE(row != nullptr);
            const RecordedTensor recorded = recorded_tensor(*row);
            check_distribution(
                moments_of(drawn_numbers(config, tensors, recorded, recorded.kind == "fixed" ? 1 : 1 << 14)), recorded);
            ++compared;
        }
    });
    CHECK(compared > 1000);
}

TEST_CASE("every parameter of a training step has initial values", "[initial_weights]") {
    std::set<std::string> trained;
    for_each_recorded([&](const Json& model, const ModelConfig& config) {
        std::vector<Value> parameters;
        try {
            parameters =
                build_training_step(config, {.sequences = 1, .rows = 8, .source_rows = 8, .rates = {1}}).parameters;
        } catch (const Error&) {
            return;  // no output layer, or an op without a gradient
        }
        trained.insert(config.architecture);
        for (const Value& parameter : parameters) {
            INFO(parameter.name);
            for (const std::string& name : tensors_of(parameter))
                CHECK(recorded_row(model, config, name_pattern(name)) != nullptr);
            Value before = parameter;
            before.kind = ValueKind::weight;
            CHECK(initial_values(config, parameter, 7) == initial_values(config, before, 7));
        }
    });
    INFO(join(trained));
    for (const char* architecture : {"gpt2", "llama", "bert", "t5", "vit", "bart", "transformer"})
        CHECK(trained.contains(architecture));
}

TEST_CASE("initial numbers depend on the seed, the name and the element alone", "[initial_weights]") {
    const ModelConfig config = trained_config(padded_llama);
    const Value small = f32_weight("layers.0.mlp.up_proj.weight", {96, 48}), large = f32_weight(small.name, {100, 50}),
                other = f32_weight("layers.1.mlp.up_proj.weight", {96, 48});
    const std::vector<float> values = initial_values(config, small, 5), more = initial_values(config, large, 5);
    CHECK(values == initial_values(config, small, 5));
    CHECK(std::equal(values.begin(), values.end(), more.begin()));
    const auto share_equal = [&](const std::vector<float>& others) {
        double equal = 0;
        for (std::size_t i = 0; i < values.size(); ++i) equal += values[i] == others[i];
        return equal / static_cast<double>(values.size());
    };
    CHECK(share_equal(initial_values(config, other, 5)) < 0.01);
    CHECK(share_equal(initial_values(config, small, 6)) < 0.01);
    CHECK(share_equal(initial_values(config, small, 5 + (std::uint64_t{1} << 32))) < 0.01);
}

// The numbers were computed by another implementation, in Python with math.log, cos, sin and expm1.
TEST_CASE("initial numbers never change", "[initial_weights]") {
    using Floats = std::vector<float>;
    const auto from = [](const ModelConfig& config, const Value& value, std::uint64_t seed, std::int64_t first) {
        const Floats values = initial_values(config, value, seed);
        return Floats(values.begin() + first, values.begin() + first + 4);
    };
    const ModelConfig config = trained_config(padded_llama), state_space = trained_config(small_mamba);
    const Value normal = f32_weight("layers.0.mlp.up_proj.weight", {96, 48}),
                uniform = f32_weight("layers.0.mixer.dt_proj.weight", {64, 8}),
                steps = f32_weight("layers.0.mixer.dt_proj.bias", {64}),
                decays = f32_weight("layers.0.mixer.A_log", {64, 4});
    CHECK(from(config, normal, 1, 0) == Floats{-0x1.79ad5cp-8f, 0x1.4ce3aep-7f, 0x1.c00340p-6f, -0x1.82c476p-7f});
    CHECK(from(config, normal, 0xfedcba9876543210, 96 * 48 - 4) ==
          Floats{0x1.248c44p-7f, 0x1.46dcf2p-6f, -0x1.6895fep-7f, 0x1.190e58p-7f});
    CHECK(from(state_space, uniform, 1, 0) == Floats{-0x1.411fb2p-2f, 0x1.bffb4cp-3f, -0x1.34d1fap-2f, -0x1.15ac7p-2f});
    CHECK(from(state_space, steps, 1, 0) == Floats{-0x1.3a47dap+1f, -0x1.4bf7e8p+2f, -0x1.94e7a2p+2f, -0x1.32a076p+2f});
    CHECK(from(state_space, decays, 1, 4) == Floats{0x0p+0f, 0x1.62e43p-1f, 0x1.193ea8p+0f, 0x1.62e43p+0f});
}

TEST_CASE("portable functions are those of the C library, with the same bits everywhere", "[initial_weights]") {
    for (int i = 1; i < 100000; ++i) {
        const double x = i * 1e-5;
        const CirclePoint point = portable_circle(x);
        const double angle = 2 * std::numbers::pi * x;
        REQUIRE(std::abs(portable_log(x) / std::log(x) - 1) < 0x1p-51);
        REQUIRE(std::abs(portable_exp(1000 * (x - 0.5)) / std::exp(1000 * (x - 0.5)) - 1) < 0x1p-51);
        REQUIRE(std::abs(point.cosine - std::cos(angle)) < 0x1p-50);  // the angle is rounded, too
        REQUIRE(std::abs(point.sine - std::sin(angle)) < 0x1p-50);
    }
    CHECK(portable_log(1) == 0);
    CHECK(portable_exp(0) == 1);
    CHECK(portable_log(0.1) == -0x1.26bb1bbb55515p+1);
    CHECK(portable_exp(0.1) == 0x1.1aec7b35a00d4p+0);
    CHECK(portable_circle(0.1).cosine == 0x1.9e3779b97f4a8p-1);
    CHECK(portable_circle(0.3).sine == 0x1.e6f0e134455p-1);
}

TEST_CASE("a stack has the values of its tensors one after the other", "[initial_weights]") {
    const ModelConfig config = trained_config(padded_llama);
    Value stack = f32_weight("experts.w1.weight", {2, 5, 3});
    stack.parts = {"experts.0.w1.weight", "experts.1.w1.weight"};
    std::vector<float> parts;
    for (const std::string& name : stack.parts) {
        const std::vector<float> one = initial_values(config, f32_weight(name, {5, 3}), 1);
        parts.insert(parts.end(), one.begin(), one.end());
    }
    CHECK(initial_values(config, stack, 1) == parts);
}

TEST_CASE("rules that no recorded model has", "[initial_weights]") {
    const ModelConfig config = trained_config(padded_llama);
    const auto deviation = [&](const std::string& name, Shape shape) {
        return moments_of(initial_values(config, f32_weight(name, shape), 1)).deviation;
    };
    const std::string attention = "layers.0.self_attn.";
    CHECK(std::abs(deviation(attention + "attention_linformer.64.key.weight", {512, 64}) * 8 - 1) < 0.02);
    CHECK(std::abs(deviation(attention + "attention_multiplicative.weight", {64, 64}) * 8 * std::sqrt(3) - 1) < 0.04);
    CHECK(std::abs(deviation(attention + "attention_additive.score", {64}) * 8 * std::sqrt(3) - 1) < 0.4);
    const ModelConfig original =
        trained_config(R"({"model_type": "transformer", "d_model": 32, "num_heads": 4, "d_ff": 48,
        "num_encoder_layers": 1, "num_decoder_layers": 1, "vocab_size": 20})");
    CHECK(initial_values(original, f32_weight("final_logits_bias", {1, 20}), 1) == std::vector<float>(20));
}

TEST_CASE("initializer_range and pad_token_id are read", "[initial_weights][config]") {
    const auto changed = [](const std::string& more, const std::string& type = "llama") {
        Json tree = Json::parse(padded_llama);
        tree["model_type"] = type;
        tree.update(Json::parse(more));
        return parse_model_config(tree.dump(), "config.json");
    };
    CHECK(changed("{}").initializer_range == 0.02);
    CHECK(changed(R"({"initializer_range": 0.5})").initializer_range == 0.5);
    CHECK(changed(R"({"initializer_range": null})").initializer_range == 0.02);
    CHECK(changed(R"({"init_std": 0.25})").initializer_range == 0.25);
    CHECK(changed("{}", "mamba").initializer_range == 0.1);
    CHECK(changed("{}").padding_token == 3);
    CHECK(changed(R"({"pad_token_id": -1})").padding_token == 99);
    CHECK(changed(R"({"pad_token_id": null})").padding_token == -1);
    CHECK(changed("{}", "gpt_neox").padding_token == -1);  // its table has no such row
    const ModelConfig beyond = changed(R"({"pad_token_id": 100})");
    const std::vector<float> table = initial_values(beyond, f32_weight("embed_tokens.weight", {100, 48}), 1);
    CHECK(std::ranges::count(table, 0.f) == 0);
}

TEST_CASE("what is no weight has no initial values", "[initial_weights]") {
    Value input = f32_weight("tokens", {4});
    input.kind = ValueKind::input;
    CHECK_THROWS_AS(initial_values(trained_config(padded_llama), input, 1), Error);
}
