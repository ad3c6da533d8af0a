// Variants of attention as whole models (SessionOptions::variant), against what torch computed in float64
// (data/oracle/make_variants.py): logits, and the weights that a session tells of.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <numeric>

#include "oracle_model.h"
#include "runtime/base/at.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;

namespace attention_kinds {

namespace {

const std::string folders = std::string(VANTAGE_TEST_DATA) + "/data/oracle/variants/";
const std::vector<std::string> everywhere = {"own",       "linear",    "performer:40", "hard",     "window:9",
                                             "dilated:3", "strided:6", "bigbird:4",    "additive", "multiplicative"};

using Ids = std::vector<std::int32_t>;

Model model_of(const std::string& name) { return Model::load(test_device(), folders + name); }

/// What torch computed for one kind: some rows of the logits, and of the weights of every layer and head.
struct Expected {
    Ids ids, rows;
    std::vector<float> logits, attention, encoder_attention;

    Expected(const std::string& folder, const std::string& kind) : file_(folder + "/expected.safetensors") {
        for (const std::int64_t id : values_of<std::int64_t>(file_.at("input_ids")))
            ids.push_back(static_cast<std::int32_t>(id));
        for (const std::int64_t row : values_of<std::int64_t>(file_.at("rows")))
            rows.push_back(static_cast<std::int32_t>(row));
        logits = values_of<float>(file_.at(kind + ".logits"));
        if (kind.starts_with("linformer")) return;
        attention = values_of<float>(file_.at(kind + ".attention"));
        if (file_.find(kind + ".encoder_attention") != nullptr)
            encoder_attention = values_of<float>(file_.at(kind + ".encoder_attention"));
    }

private:
    SafeTensors file_;
};

/// The rows of an array […, tokens, columns], of each of its sheets.
std::vector<float> rows_of(const Array& all, const Ids& rows) {
    const std::int64_t columns = all.shape()[-1], tokens = all.shape()[-2];
    const std::vector<float> values = all.vector();
    std::vector<float> some;
    for (std::int64_t sheet = 0; sheet < std::ssize(values) / (tokens * columns); ++sheet)
        for (const std::int32_t row : rows) {
            const auto from = values.begin() + (sheet * tokens + row) * columns;
            some.insert(some.end(), from, from + columns);
        }
    return some;
}

/// The tokens of `ids` in a session that inspects and records.
Session inspected(const Model& model, SessionOptions options, const Ids& ids) {
    options.inspect = true, options.record_attention = RecordAttention::all();
    Session session(model, options);
    session.append(ids);
    session.run();
    return session;
}

Ids generated(const Model& model, const SessionOptions& options, const Ids& prompt, std::int64_t count) {
    Session session(model, options);
    session.restart({.temperature = 0.9, .seed = 4, .ignore_end = true});
    session.append(prompt);
    session.generate(count);
    return session.tokens();
}

}  // namespace

TEST_CASE("whole models attend as each variant says", "[kinds][models]") {
    const std::string name = GENERATE("llama", "bert"), kind = GENERATE(from_range(everywhere));
    INFO(name << ", " << kind);
    const Model model = model_of(name);
    const Expected want(folders + name, kind);
    // in chunks of eight rows, and in one
    const std::int64_t chunk = name == "bert" ? 512 : GENERATE(8, 512);
    Session session = inspected(
        model, {.precision = Precision::f32, .largest_chunk = chunk, .variant = attention_variant_named(kind)},
        want.ids);
    CHECK(difference(rows_of(session.logits(), want.rows), want.logits).first <= 2e-4);
    std::vector<float> weights;
    for (std::int64_t layer = 0; layer < model.info().layers; ++layer) {
        const std::vector<float> some = rows_of(session.attention(layer), want.rows);
        weights.insert(weights.end(), some.begin(), some.end());
        // the same weights, summed by the statistics of heads
        const std::vector<std::int32_t> marks(want.ids.size());
        const HeadTable table = session.head_statistics(layer, marks);
        for (std::int64_t head = 0; head < model.info().heads; ++head)
            for (const std::int32_t row : want.rows) {
                CHECK(std::abs(table.row(row, head).total - 1) <= 1e-4);
                const std::vector<float> p = session.attention(HeadId{layer, head}, {row, 1}).vector();
                CHECK(std::abs(table.row(row, head).largest.weight - *std::max_element(p.begin(), p.end())) <= 1e-5);
            }
    }
    CHECK(difference(weights, want.attention).first <= 5e-5);
}

TEST_CASE("variants in an encoder–decoder are those of both, beside cross-attention's own softmax", "[kinds][models]") {
    const std::string kind = GENERATE("own", "linear", "performer:40", "hard", "window:9", "strided:6", "bigbird:4");
    INFO(kind);
    const Model model = model_of("bart");
    const Expected want(folders + "bart", kind);
    SessionOptions options{.precision = Precision::f32, .variant = attention_variant_named(kind)};
    options.inspect = true, options.record_attention = RecordAttention::all();
    Session session(model, options);
    session.set_source(want.ids);
    session.append(Ids(want.ids.rbegin(), want.ids.rend() - 1));  // behind the start token
    session.run();
    CHECK(difference(rows_of(session.logits(), want.rows), want.logits).first <= 2e-4);
    for (const AttentionKind part : {AttentionKind::self, AttentionKind::encoder}) {
        std::vector<float> weights;
        for (std::int64_t layer = 0; layer < 2; ++layer) {
            const std::vector<float> some = rows_of(session.attention(layer, part), want.rows);
            weights.insert(weights.end(), some.begin(), some.end());
        }
        CHECK(difference(weights, part == AttentionKind::self ? want.attention : want.encoder_attention).first <= 5e-5);
    }
}

TEST_CASE("Linformer in a whole encoder", "[kinds][models]") {
    const Model model = model_of("bert");
    const Expected want(folders + "bert", "linformer:12");
    const SessionOptions options{
        .precision = Precision::f32, .inspect = true, .variant = attention_variant_named("linformer:12")};
    Session session(model, options);
    session.append(want.ids);
    session.run();
    CHECK(difference(rows_of(session.logits(), want.rows), want.logits).first <= 2e-4);
    expect_error(ErrorKind::unsupported, {"linformer:12", "12 projected keys"}, [&] { session.attention(0); });
    // a shorter text in the same session, beside what is left of the longer one
    session.restart();
    session.append(std::span(want.ids).first(9));
    session.run();
    Session fresh(model, options);
    fresh.append(std::span(want.ids).first(9));
    fresh.run();
    CHECK(session.logits().vector() == fresh.logits().vector());
}

TEST_CASE("variants in f16 are near those in f32", "[kinds][models]") {
    const std::string kind = GENERATE(from_range(everywhere));
    INFO(kind);
    if (kind == "hard") return;  // a rounded score may choose another key
    const Model model = model_of("llama");
    const Expected want(folders + "llama", kind);
    Session session = inspected(model, {.variant = attention_variant_named(kind)}, want.ids);
    CHECK(difference(rows_of(session.logits(), want.rows), want.logits).second <= 2e-2);
}

TEST_CASE("texts of variants do not depend on batch, chunks, context and what ran before", "[kinds][stable][batch]") {
    // the kinds that are more than a rule of softmax attention, and two that are
    const auto [kind, precision] = GENERATE(table<std::string, Precision>({{"linear", Precision::f32},
                                                                           {"linear", Precision::f16},
                                                                           {"performer:40", Precision::f32},
                                                                           {"performer:40", Precision::f16},
                                                                           {"hard", Precision::f32},
                                                                           {"additive", Precision::f16},
                                                                           {"strided:6", Precision::f16},
                                                                           {"bigbird:4", Precision::f16}}));
    INFO(kind << " in " << name_of(precision));
    const Model model = model_of("llama");
    SessionOptions options{
        .precision = precision, .stable = true, .largest_chunk = 8, .variant = attention_variant_named(kind)};
    const Ids prompt = some_ids(59, model.info().vocab);
    const Ids alone = generated(model, options, prompt, 20);  // beyond a chunk of 64
    CHECK(generated(model, options, prompt, 20) == alone);
    options.context = 85;
    CHECK(generated(model, options, prompt, 20) == alone);

    Batch batch(model, 3, options);
    for (std::int64_t i = 0; i < 3; ++i) {
        batch[i].restart({.temperature = 0.9, .seed = 4, .ignore_end = true});
        batch[i].append(i == 1 ? prompt : some_ids(5 + 11 * i, model.info().vocab));
    }
    batch.generate(20);
    CHECK(batch[1].tokens() == alone);

    Session session(model, options);  // goes on, goes back, and goes on again
    session.restart({.temperature = 0.9, .seed = 4, .ignore_end = true});
    session.append(prompt);
    session.generate(7);
    session.rewind(30);
    session.append(std::span(prompt).subspan(30));
    session.generate(20);
    CHECK(session.tokens() == alone);
}

TEST_CASE("what a variant wants and the model has not is said", "[kinds]") {
    const auto refused = [](const Model& model, const char* kind, std::initializer_list<const char*> words) {
        INFO(kind);
        expect_error(ErrorKind::usage, words,
                     [&] { static_cast<void>(Session(model, {.variant = attention_variant_named(kind)})); });
    };
    const auto oracle = [](const char* name) { return Model::load(test_device(), oracle_models + name); };
    for (const Model& causal : {model_of("llama"), oracle("clip")})
        refused(causal, "linformer:12", {"linformer:12", "causal layers", "needs an encoder"});
    refused(model_of("bert"), "linformer:13", {"attention_kinds", "linformer:13"});
    const Model llama = oracle("llama");
    refused(llama, "additive", {"additive", "attention_kinds", "config.json"});
    refused(llama, "multiplicative", {"multiplicative", "attention_kinds"});
    const Model bloom = oracle("bloom");
    for (const char* kind : {"linear", "performer"}) refused(bloom, kind, {"bloom", "biases its scores"});
    for (const char* kind : {"linear", "strided:4"}) refused(oracle("mistral"), kind, {"mistral", "window"});
    refused(oracle("mamba"), "hard", {"attention kind hard", "has no attention"});
    refused(oracle("recurrent_lstm"), "linear", {"attention kind linear", "has no attention"});
    refused(oracle("seq2seq_luong"), "window:3", {"attention kind window:3", "cross-attention only"});
    refused(oracle("gpt_oss"), "hard", {"sinks"});
    refused(oracle("longformer"), "window:4", {"longformer", "pattern of its own"});
    refused(oracle("big_bird"), "window:4", {"big_bird", "pattern of its own"});
    refused(oracle("bert_relative_key"), "multiplicative", {"bert", "biases its scores"});
    refused(oracle("gemma2"), "linear", {"gemma2", "caps its scores"});
    for (const char* name : {"", "soft", "linear:3", "window", "window:0", "window:x", "performer:0", "dilated:1",
                             "linformer", "performer:5000"})
        expect_error(ErrorKind::usage, {"attention kind"}, [&] { attention_variant_named(name); });
    CHECK(name_of(attention_variant_named("performer")) == "performer:256");
    for (const AttentionForm form : {AttentionForm::bigbird, AttentionForm::window, AttentionForm::dilated})
        expect_error(ErrorKind::usage, {"its number is 0"},
                     [&] { static_cast<void>(Session(llama, {.variant = {.form = form}})); });
}

TEST_CASE("variants go with windows, soft-caps, slopes and cross attention", "[kinds][models]") {
    const auto [name, kind] = GENERATE(table<std::string, std::string>({{"mistral", "dilated:2"},
                                                                        {"mistral", "window:3"},
                                                                        {"bloom", "hard"},
                                                                        {"bloom", "window:5"},
                                                                        {"gemma2", "bigbird:4"},
                                                                        {"gpt2", "linear"},
                                                                        {"opt", "performer:64"},
                                                                        {"t5", "window:4"},
                                                                        {"jamba", "strided:3"},
                                                                        {"vit_gpt2", "bigbird:4"},
                                                                        {"vit", "performer"}}));
    INFO(name << ", " << kind);
    const Model model = Model::load(test_device(), oracle_models + name);
    const SessionOptions options{.precision = Precision::f32,
                                 .record_attention = RecordAttention::all(),
                                 .variant = attention_variant_named(kind)};
    Session session(model, options);
    const Ids ids = some_ids(20, std::max<std::int64_t>(model.info().vocab, 40) - 3);
    const AttentionKind part = model.info().encoder_layers > 0 ? AttentionKind::encoder : AttentionKind::self;
    if (name == "vit")
        session.set_image(std::vector<float>(static_cast<std::size_t>(3 * 32 * 32), 0.3f));
    else if (name == "vit_gpt2")
        session.set_image(std::vector<float>(static_cast<std::size_t>(3 * 16 * 24), 0.3f));
    else if (model.info().encoder_layers > 0)
        session.set_source(ids);
    else
        session.append(ids);
    session.run();
    const Array p = session.attention(1, part);
    CHECK(p.shape()[1] > 1);
    const std::vector<float> all = p.vector();
    const std::int64_t heads = p.shape()[0], n = p.shape()[1];
    for (std::int64_t head = 0; head < heads; ++head)
        for (std::int64_t i = 0; i < n; ++i) {
            const float* row = &internal::at(all, (head * n + i) * p.shape()[2]);
            CHECK(std::abs(std::accumulate(row, row + p.shape()[2], 0.0) - 1) <= 1e-4);
            for (std::int64_t j = 0; j < p.shape()[2]; ++j)
                if ((kind == "dilated:2" && (i - j) % 2 != 0) ||
                    (kind.starts_with("window") && i - j >= kind.back() - '0'))
                    CHECK(row[j] == 0);
        }
}

}  // namespace attention_kinds
