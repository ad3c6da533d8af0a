// Every architecture learns: a batch by heart, and the data of each kind through Trainer. The first step of a batch is
// compared with transformers (tests/data/train).
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../host/temporary_directory.h"
#include "oracle_model.h"
#include "runtime/base/at.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/models/architecture.h"
#include "runtime/train/initial_weights.h"
#include "runtime/train/training_graph.h"
#include "shaders/params/train.h"
#include "test_device.h"
#include "vantage/plan.h"
#include "vantage/session.h"
#include "vantage/train.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::oracle_models;
using vantage::test::TemporaryDirectory;

namespace {

constexpr std::int64_t batch_sequences = 2, batch_rows = 8, max_steps = 400;

/// A batch of drawn tokens, pixels and targets: nothing but the batch itself says what comes next. The second sequence
/// is shorter than the first, where the model is told.
class DrawnBatch {
public:
    DrawnBatch(const ModelConfig& config, const TrainingSettings& settings) : config_(config), settings_(settings) {}

    void write(Plan& plan, const Value& input) {
        const std::string& name = input.name;
        const std::int64_t count = input.type.shape.elements();
        if (name == model_names::pixels || name == train_names::loss_weights) {
            std::normal_distribution<float> normal;
            std::vector<float> values(static_cast<std::size_t>(count), 1 / static_cast<float>(count));
            if (name == model_names::pixels)
                for (float& x : values) x = normal(random_);
            return plan.write(name, values);
        }
        std::vector<std::int32_t> values(static_cast<std::size_t>(count));
        const std::int64_t source = settings_.source_rows;
        for (std::int64_t i = 0; i < count; ++i)
            at(values, i) = static_cast<std::int32_t>(
                name == model_names::types                  ? 0
                : name == model_names::length               ? settings_.rows - i
                : name == model_names::ends                 ? (i + 1) * settings_.rows - 1 - i
                : is_pair() && name == train_names::targets ? i
                : name == model_names::source_length        ? (config_.sees() ? source : source - i)
                : name == model_names::source_backwards
                    ? backwards(i / source, i % source)
                    : draw(name == train_names::targets ? config_.logit_columns() : config_.vocab));
        if (name == model_names::tokens) tokens_ = values;
        if (name == model_names::positions) values = positions();
        plan.write(name, values);
    }

private:
    bool is_pair() const { return !config_.towers.empty(); }
    std::int64_t draw(std::int64_t below) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
    }
    std::int64_t backwards(std::int64_t sequence, std::int64_t row) const {
        const std::int64_t source = settings_.source_rows, length = source - sequence;
        return sequence * source + (row < length ? length - 1 - row : row);
    }
    std::vector<std::int32_t> positions() const {
        std::vector<std::int32_t> all;
        for (std::int64_t i = 0; i < settings_.sequences; ++i) {
            const auto rows = static_cast<std::size_t>(settings_.rows);
            const auto some =
                token_positions(config_, std::span(tokens_).subspan(static_cast<std::size_t>(i) * rows, rows));
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }
    const ModelConfig& config_;
    const TrainingSettings& settings_;
    std::mt19937_64 random_{7};
    std::vector<std::int32_t> tokens_;
};

/// All parameters one behind the other, or all their gradients.
std::vector<double> parameters_of(Plan& plan, const TrainingStep& step, bool gradients) {
    std::vector<double> all;
    for (const Value& parameter : step.parameters) {
        const Array one = plan.read(gradients ? train_names::gradient(parameter.name) : parameter.name);
        all.insert(all.end(), one.data(), one.data() + one.size());
    }
    return all;
}

/// Loss below which a batch counts as learned: 0.01 above the minimum, which is 0, or with logits that are soft-capped to
/// [-c, c] that of c for the target and -c for all other tokens.
double learned_loss(const ModelConfig& config) {
    const double c = config.logit_softcap;
    return 0.01 + (c == 0 ? 0 : std::log1p(static_cast<double>(config.vocab - 1) * std::exp(-2 * c)));
}

struct Learned {
    std::int64_t steps = 0;
    double first = 0, last = INFINITY;  ///< losses
    double change = 0, foretold = 0;    ///< of the loss by the first step, and what the gradients say of it
};

TrainingSettings one_batch(const ModelConfig& config, const std::vector<float>& rates) {
    const std::int64_t source = config.sees() ? config.image.places() : batch_rows + 2;
    return {.sequences = batch_sequences,
            .rows = config.is_vision() ? config.image.places() : batch_rows,
            .source_rows = config.kind == ModelKind::encoder_decoder ? source : 0,
            .adam = {.beta2 = 0.95},
            .update = {.max_norm = 1},
            .rates = rates};
}

/// Before the first step.
Plan compiled(const ModelConfig& config, const TrainingSettings& settings, const TrainingStep& step) {
    Plan plan = compile(step.graph, test_device());
    DrawnBatch batch(config, settings);
    for (const Value& value : step.inputs) batch.write(plan, value);
    const auto is_parameter = [&](const Value& value) {
        return std::ranges::any_of(step.parameters, [&](const Value& one) { return one.name == value.name; });
    };
    for (const Value& value : step.graph.values())
        if (value.kind == ValueKind::weight || (value.kind == ValueKind::state && is_parameter(value)))
            plan.write(value.name, initial_values(config, value, 2));
        else if (value.kind == ValueKind::state)
            plan.fill(value.name, 0);
    std::vector<float> words(TRAIN_WORDS);
    words[TRAIN_SCALE] = 1;
    plan.write(train_names::train, words);
    return plan;
}

double loss_of_step(Plan& plan) {
    plan.run();
    return static_cast<double>(plan.read(train_names::loss).data()[0]);
}

/// Takes two steps; then, from the beginning again, steps until the batch is learned, at most `max_steps`.
Learned learned_by_heart(const ModelConfig& config) {
    std::vector<float> rates(static_cast<std::size_t>(max_steps), 1e-2f);
    rates.front() = 3e-5f;  // so small that the loss is nearly a line along the step, and no token takes another expert
    const TrainingSettings settings = one_batch(config, rates);
    const TrainingStep step = build_training_step(config, settings);
    Learned learned;
    {
        Plan plan = compiled(config, settings, step);
        const std::vector<double> begin = parameters_of(plan, step, false);
        learned.first = loss_of_step(plan);
        const std::vector<double> end = parameters_of(plan, step, false), before = parameters_of(plan, step, true);
        learned.change = loss_of_step(plan) - learned.first;
        const std::vector<double> after = parameters_of(plan, step, true);
        for (std::size_t i = 0; i < begin.size(); ++i)
            learned.foretold += (before[i] + after[i]) / 2 * (end[i] - begin[i]);
    }
    const WithoutGuard hundreds_of_equal_steps;
    Plan plan = compiled(config, settings, step);
    const double enough = learned_loss(config);
    for (; learned.steps < max_steps && !(learned.last < enough); ++learned.steps) learned.last = loss_of_step(plan);
    return learned;
}

const Tokenizer& words() {
    static const Tokenizer one = Tokenizer::load(oracle_models + "bert/tokenizer.json");
    return one;
}

/// A model of this config that has learned the lines of a file by heart.
struct Learner {
    TemporaryDirectory folder;
    Dataset data;
    Trainer trainer;

    Learner(const Json& config, const std::string& lines, DatasetOptions options = {.context = 16})
        : data(make_data(config, lines, options)),
          trainer(test_device(), config.dump(), data,
                  {.steps = 60, .sequences = 4, .rate = {.rate = 1e-2, .warmup = 2}, .weight_decay = 0},
                  oracle_models + "bert/tokenizer.json") {}
    double learn() {
        double loss = INFINITY;
        while (const auto record = trainer.next()) loss = record->loss;
        return loss;
    }

private:
    Dataset make_data(const Json& config, const std::string& lines, DatasetOptions options) const {
        write_file(folder.path("config.json"), config.dump());
        write_file(folder.path("a.jsonl"), lines);
        options.model = folder.path("config.json"), options.folder = folder.path("tokens");
        options.validation_files = {folder.path("a.jsonl")};
        return {{folder.path("a.jsonl")}, words(), options};
    }
};

Json small_bert(const char* head) {
    return {{"model_type", "bert"},    {"architectures", {head}},       {"vocab_size", 1000},
            {"hidden_size", 32},       {"num_hidden_layers", 1},        {"num_attention_heads", 2},
            {"intermediate_size", 32}, {"max_position_embeddings", 64}, {"id2label", {{"0", "small"}, {"1", "large"}}}};
}

Json small_transformer() {
    return {
        {"model_type", "transformer"}, {"d_model", 32},           {"num_heads", 2},     {"d_ff", 32},
        {"num_encoder_layers", 1},     {"num_decoder_layers", 1}, {"vocab_size", 1000}, {"max_position_embeddings", 32},
        {"decoder_start_token_id", 0}, {"eos_token_id", 3}};
}

constexpr const char* four_texts = R"({"text": "the cat", "label": "small"}
{"text": "the red house on the hill", "label": "large"}
{"text": "a dog", "label": 0}
{"text": "ten trees and a house", "label": 1}
)";

/// The tokenizer of tests/data/train/make.py: w0, w1, … are the tokens 0, 1, …, but 4 is <mask>. With `end` one more
/// token, which ends texts.
Tokenizer numbered_words(int end = 0) {
    Json vocabulary;
    if (end > 0) vocabulary["w" + std::to_string(end)] = end;
    for (int i = 0; i < 97; ++i) vocabulary[i == 4 ? "<mask>" : "w" + std::to_string(i)] = i;
    const Json tokenizer = {{"model",
                             {{"type", "WordPiece"},
                              {"unk_token", "w0"},
                              {"continuing_subword_prefix", "##"},
                              {"max_input_chars_per_word", 100},
                              {"vocab", vocabulary}}},
                            {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                            {"added_tokens", {{{"id", 4}, {"content", "<mask>"}, {"special", true}}}}};
    return Tokenizer::parse(tokenizer.dump(), "numbered words");
}

/// Its images, which are named by a number.
std::vector<float> numbered_image(const ImageInput& wanted, const std::string& path) {
    const int number = std::stoi(path.substr(path.rfind('/') + 1));
    std::vector<float> pixels(static_cast<std::size_t>(wanted.pixels()));
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<float>(std::sin(static_cast<double>(i) + number));
    return pixels;
}

/// The first step of a Trainer over all lines at once.
TrainRecord first_step(const std::string& model, const Json& lines) {
    const TemporaryDirectory folder;
    const std::string file = folder.path("a.jsonl"), config = oracle_models + model + "/config.json";
    std::string text;
    for (const Json& line : lines) text += line.dump() + "\n";
    write_file(file, text);
    const ModelConfig trained = parse_trained_config(read_file(config), config);
    const ImageInput wanted = trained.learned_image();
    DatasetOptions options{.context = 24, .model = oracle_models + model, .validation_share = 0};
    options.folder = folder.path("tokens");
    options.read_image = [&](const std::string& path) { return numbered_image(wanted, path); };
    const Dataset data({file}, numbered_words(trained.towers.empty() ? 0 : 421), options);
    for (const char* name : {"config.json", "model.safetensors"})  // a tokenizer there would be another one
        std::filesystem::copy_file(oracle_models + model + "/" + name, folder.path(name));
    Trainer trainer = Trainer::from_folder(test_device(), folder.path(), data,
                                           {.steps = 1, .sequences = std::ssize(lines), .seed = 5});
    return trainer.next().value();
}

}  // namespace

TEST_CASE("the first step of a batch is that of transformers", "[train]") {
    const std::string path = std::string(VANTAGE_TEST_DATA) + "/data/train/first_steps.json";
    const Json all = parse_json(read_file(path), path);
    for (const Json& one : sampled(std::vector<Json>(all.begin(), all.end()))) {
        const TrainRecord step = first_step(one["model"].get<std::string>(), one["lines"]);
        const double loss = one["loss"].get<double>(), norm = one["norm"].get<double>();
        INFO(one["model"] << ": loss " << step.loss << ", not " << loss << "; norm " << step.norm << ", not " << norm);
        CHECK(std::abs(step.loss - loss) < 1e-5 * loss);
        CHECK(std::abs(step.norm - norm) < 1e-4 * norm);
    }
}

TEST_CASE("every architecture learns one batch by heart", "[train]") {
    for (const std::string& model : sampled({"bart",
                                             "bert",
                                             "bert_answers",
                                             "bert_classification",
                                             "bert_relative_key",
                                             "bert_relative_key_query",
                                             "bert_tokens",
                                             "big_bird",
                                             "big_bird_answers",
                                             "big_bird_classification",
                                             "bloom",
                                             "clip",
                                             "distilbert",
                                             "distilbert_classification",
                                             "falcon",
                                             "falcon_alibi",
                                             "falcon_mamba",
                                             "falcon_multi_query",
                                             "gemma2",
                                             "gpt2",
                                             "gpt_neox",
                                             "gpt_neox_sequential",
                                             "gpt_oss",
                                             "gptj",
                                             "granite",
                                             "jamba",
                                             "jamba_tied",
                                             "llama",
                                             "llama_llama3",
                                             "longformer",
                                             "mamba",
                                             "mistral",
                                             "mixtral",
                                             "olmo2",
                                             "opt",
                                             "opt_post_norm",
                                             "phi",
                                             "phi3",
                                             "phi3_longrope",
                                             "qwen2",
                                             "qwen3",
                                             "recurrent_gru_tied",
                                             "recurrent_lstm",
                                             "roberta",
                                             "roberta_classification",
                                             "roberta_relative_key",
                                             "seq2seq_bahdanau",
                                             "seq2seq_concat",
                                             "seq2seq_dot",
                                             "seq2seq_luong",
                                             "seq2seq_plain",
                                             "smollm3",
                                             "t5",
                                             "t5_gated",
                                             "transformer",
                                             "transformer_norm_first",
                                             "vit",
                                             "vit_gpt2",
                                             "vit_rectangle"})) {
        const std::string path = oracle_models + model + "/config.json";
        const ModelConfig config = parse_trained_config(read_file(path), path);
        const Learned learned = learned_by_heart(config);
        INFO(model << ": loss " << learned.first << ", after " << learned.steps << " steps " << learned.last
                   << "; changed by " << learned.change << ", by gradients " << learned.foretold);
        CHECK(learned.last < learned_loss(config));
        CHECK(std::abs(learned.change - learned.foretold) < 0.01 * std::abs(learned.foretold));
    }
}

TEST_CASE("an encoder learns masked tokens", "[train]") {
    std::string lines;
    for (int i = 0; i < 20; ++i) lines += "{\"text\": \"the cat in the hat and the dog on the mat\"}\n";
    Learner bert(small_bert("BertForMaskedLM"), lines, {.context = 13});
    const double before = bert.trainer.evaluate().value();
    CHECK(std::abs(before - std::log(1000)) < 0.5);
    bert.learn();
    CHECK(bert.trainer.evaluate().value() < before / 2);
    CHECK(!bert.trainer.label_quality());
}

TEST_CASE("an encoder learns labels of texts", "[train]") {
    Learner bert(small_bert("BertForSequenceClassification"), four_texts);
    CHECK(bert.trainer.evaluate().value() > 0.3);
    CHECK(bert.learn() < 0.05);
    CHECK(bert.trainer.evaluate().value() < 0.05);
    CHECK(bert.trainer.label_quality().value().accuracy == 1);
    CHECK(bert.trainer.label_quality().value().calibration_error < 0.05);
    const Model model = Model::load(test_device(), bert.trainer.save(bert.folder.path("run")));
    Session session(model, {.context = 16});
    session.append(words().encode("ten trees and a house").ids);
    session.run();
    CHECK(session.logits().data()[1] > session.logits().data()[0] + 1);
}

TEST_CASE("an encoder–decoder learns answers", "[train]") {
    Learner transformer(small_transformer(),
                        "{\"source\": \"the cat\", \"target\": \"a dog\"}\n"
                        "{\"source\": \"ten trees and a house\", \"target\": \"the red hill on the house\"}\n");
    CHECK(transformer.learn() < 0.1);
    CHECK(transformer.trainer.sample("the cat", 16, {}).ends_with("a dog"));
    CHECK(transformer.trainer.sample("ten trees and a house", 16, {}).ends_with("the red hill on the house"));
}

TEST_CASE("a model that sees learns labels of images", "[train]") {
    const Json vit = {{"model_type", "vit"},      {"architectures", {"ViTForImageClassification"}},
                      {"hidden_size", 32},        {"num_hidden_layers", 1},
                      {"num_attention_heads", 2}, {"intermediate_size", 32},
                      {"image_size", 8},          {"patch_size", 4},
                      {"num_channels", 3},        {"id2label", {{"0", "dark"}, {"1", "light"}}}};
    const auto image = [](const std::string& path) {
        return std::vector<float>(3 * 8 * 8, path.ends_with("light.png") ? 1.f : -1.f);
    };
    Learner learner(vit, "{\"image\": \"light.png\", \"label\": \"light\"}\n{\"image\": \"dark.png\", \"label\": 0}\n",
                    {.context = 1, .read_image = image});
    CHECK(learner.learn() < 0.05);
    learner.trainer.evaluate();
    CHECK(learner.trainer.label_quality().value().accuracy == 1);
}
