// Recurrent models against what PyTorch's modules computed, and as sequences: chunks, batches, going back, the tap.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "oracle_model.h"
#include "runtime/base/at.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;

namespace {

using Ids = std::vector<std::int32_t>;

Model loaded(const std::string& name) { return Model::load(test_device(), oracle_models + name); }

/// Without a source for a language model.
Session shown(const Model& model, const Ids& source, const Ids& text, SessionOptions options) {
    options.inspect = true, options.guard = true;
    Session session(model, options);
    if (!source.empty()) {
        session.set_source(source);
        session.rewind(0);
    }
    session.append(text);
    session.run();
    return session;
}

Ids greedy(const Model& model, const SafeTensors& file) {
    const auto prompt = values_of<std::int32_t>(file.at("greedy.prompt_ids"));
    Session session(model, {.context = 40, .precision = Precision::f32, .guard = true});
    session.restart({.ignore_end = true});
    if (model.info().encoder_layers > 0)
        session.set_source(prompt);
    else
        session.append(prompt);
    return session.generate(file.at("greedy.ids").shape[0]);
}

}  // namespace

TEST_CASE("recurrent language models come out as torch's modules compute them", "[models][oracle][recurrent]") {
    const std::string name = GENERATE("recurrent_lstm", "recurrent_gru_tied");
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(name << " in " << name_of(precision));
    const Model model = loaded(name);
    const SafeTensors file(oracle_models + name + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, oracle_models + name);
    for (const std::string prompt : {"p0", "p1", "p2"}) {
        INFO(prompt);
        const auto ids = values_of<std::int32_t>(file.at(prompt + ".input_ids"));
        const Session session = shown(model, {}, ids, {.context = std::ssize(ids), .precision = precision});
        CHECK(difference(session.logits(), values_of<float>(file.at(prompt + ".logits"))).first <= allowed.logits);
        if (prompt == "p2") check_layers(session.hidden(), file.at("p2.hidden"), ids.size(), allowed);
    }
    if (precision == Precision::f32) CHECK(greedy(model, file) == values_of<std::int32_t>(file.at("greedy.ids")));
}

TEST_CASE("recurrent encoder–decoders come out as torch's modules compute them", "[models][oracle][recurrent]") {
    const std::string name =
        GENERATE("seq2seq_bahdanau", "seq2seq_luong", "seq2seq_dot", "seq2seq_concat", "seq2seq_plain");
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(name << " in " << name_of(precision));
    const Model model = loaded(name);
    const SafeTensors file(oracle_models + name + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, oracle_models + name);
    for (const std::string prompt : {"p0", "p1", "p2"}) {
        INFO(prompt);
        const auto source = values_of<std::int32_t>(file.at(prompt + ".input_ids")),
                   target = values_of<std::int32_t>(file.at(prompt + ".decoder_input_ids"));
        Session session = shown(model, source, target,
                                {.context = static_cast<std::int64_t>(std::max(source.size(), target.size())),
                                 .precision = precision,
                                 .record_attention = RecordAttention::all()});
        CHECK(difference(session.logits(), values_of<float>(file.at(prompt + ".logits"))).first <= allowed.logits);
        const auto last = values_of<float>(file.at(prompt + ".encoder_last_hidden"));
        CHECK(difference(session.encoder_last_hidden(), last).first <=
              allowed.hidden + allowed.hidden_of_largest * largest_of(last));
        if (prompt != "p2") continue;
        check_layers(session.encoder_hidden(), file.at("p2.encoder_hidden"), source.size(), allowed);
        check_layers(session.hidden(), file.at("p2.decoder_hidden"), target.size(), allowed);
        if (const TensorEntry* alignment = file.find("p2.cross_attn"))
            check_attention(session, *alignment, allowed, AttentionKind::cross);
        else
            CHECK(!model.info().attends(AttentionKind::cross));
    }
    if (precision == Precision::f32) CHECK(greedy(model, file) == values_of<std::int32_t>(file.at("greedy.ids")));
}

TEST_CASE("the rows of a prompt are the steps of a generation", "[models][recurrent]") {
    const std::string name = GENERATE("recurrent_lstm", "seq2seq_dot", "seq2seq_bahdanau", "seq2seq_luong");
    INFO(name);
    const Model model = loaded(name);
    const Ids text = some_ids(61, 90), source = model.info().encoder_layers > 0 ? some_ids(30, 90) : Ids();
    const SessionOptions by_row{.context = 61, .precision = Precision::f32, .largest_chunk = 1},
        in_chunks{.context = 61, .precision = Precision::f32};
    const std::vector<float> rows = shown(model, source, text, by_row).logits().vector();
    CHECK(difference(shown(model, source, text, in_chunks).logits(), rows).first <= 2e-4);
    Session session(model, in_chunks);
    CHECK(session.chunk(61) == (name == "seq2seq_bahdanau" || name == "seq2seq_luong" ? 1 : 32));
}

TEST_CASE("a recurrent model goes back to the state of any token", "[models][session][recurrent]") {
    const std::string name = GENERATE("recurrent_gru_tied", "seq2seq_bahdanau", "seq2seq_luong");
    INFO(name);
    const Model model = loaded(name);
    const Ids text = some_ids(21, 90), source = model.info().encoder_layers > 0 ? some_ids(13, 90) : Ids();
    const auto begun = [&](std::int64_t count) {
        Session session(model, {.context = 61, .precision = Precision::f32});
        if (!source.empty()) session.set_source(source), session.rewind(0);
        session.append(std::span(text).first(static_cast<std::size_t>(count)));
        return session;
    };
    for (const std::int64_t count : {1, 9, 20}) {
        INFO(count << " tokens are left");
        Session back = begun(21), fresh = begun(count);
        back.generate(15);
        back.rewind(count);
        CHECK(back.next_logits().vector() == fresh.next_logits().vector());
        CHECK(back.generate(9) == fresh.generate(9));
    }
    if (source.empty()) return;
    Session again = begun(21), fresh = begun(0);
    again.generate(5);
    again.set_source(source);
    fresh.set_source(source);
    CHECK(again.next_logits().vector() == fresh.next_logits().vector());
}

TEST_CASE("recurrent sequences of a batch are as alone", "[batch][stable][models][recurrent]") {
    const std::string name = GENERATE("recurrent_lstm", "seq2seq_bahdanau", "seq2seq_dot");
    INFO(name);
    const Model model = loaded(name);
    const bool reads = model.info().encoder_layers > 0;
    const SessionOptions options{.context = 61, .precision = Precision::f32};
    const std::vector<Ids> texts{some_ids(21, 90), {5}, some_ids(6, 90), some_ids(33, 90)};
    const auto begin = [&](Sequence& sequence, const Ids& text) {
        sequence.restart({.temperature = 0.9, .repeat_penalty = 1.2, .seed = 4, .ignore_end = true});
        if (reads)
            sequence.set_source(text);
        else
            sequence.append(text);
    };
    Batch batch(model, 4, options);
    for (std::int64_t i = 0; i < 4; ++i) begin(batch[i], at(texts, i));
    batch.generate(12);
    for (std::int64_t i = 0; i < 4; ++i) {
        INFO("sequence " << i);
        Session alone(model, options);
        begin(alone, at(texts, i));
        alone.generate(12);
        CHECK(batch[i].tokens() == alone.tokens());
        CHECK(batch[i].next_logits().vector() == alone.next_logits().vector());
    }
}

TEST_CASE("an alignment is a head like any other", "[models][heads][recurrent]") {
    const Model model = loaded("seq2seq_bahdanau");
    CHECK(!model.info().attends(AttentionKind::self));
    CHECK(!model.info().attends(AttentionKind::encoder));
    REQUIRE(model.info().layers_of(AttentionKind::cross).size() == 1);
    REQUIRE(model.info().heads_of(AttentionKind::cross) == 1);
    const Ids source = some_ids(13, 90), text = some_ids(7, 90);
    const auto session = [&](const RecordAttention& record, std::optional<std::vector<HeadId>> masked = {}) {
        return shown(model, source, text,
                     {.context = 20, .precision = Precision::f32, .record_attention = record, .masked_heads = masked});
    };
    Session recorded = session(RecordAttention::all()), replayed = session({});
    const HeadId head{0, 0, AttentionKind::cross};
    const std::vector<float> weights = recorded.attention(head, {0, 7}, {0, 13}).vector();
    CHECK(replayed.attention(head, {0, 7}, {0, 13}).vector() == weights);
    const std::vector<std::int32_t> marks(13 + 7);
    const HeadTable table = recorded.head_statistics(0, marks, {}, AttentionKind::cross);
    for (std::int64_t row = 0; row < 7; ++row) {
        const auto begin = weights.begin() + row * 13;
        double sum = 0;
        for (auto p = begin; p < begin + 13; ++p) sum += static_cast<double>(*p);
        CHECK(std::abs(sum - 1) <= 1e-5);
        const HeadRow numbers = table.row(row, 0);
        CHECK(std::abs(static_cast<double>(numbers.total) - sum) <= 1e-5);
        CHECK(numbers.largest.key == std::max_element(begin, begin + 13) - begin);
        CHECK(std::abs(numbers.largest.weight - *std::max_element(begin, begin + 13)) <= 1e-6F);
    }
    // without its only head the decoder sees a context of zeros, and not the source but by its first state
    CHECK(difference(session({}, std::vector{head}).logits(), recorded.logits()).first > 1e-2);
    CHECK(difference(session({}, std::vector<HeadId>()).logits(), recorded.logits()).first == 0);

    expect_error(ErrorKind::usage, {"seq2seq_bahdanau", "recurrent", "cross-attention"}, [&] {
        recorded.attention({0, 0}, {0, 1}, {0, 1});
    });
    const Model without = loaded("recurrent_lstm");
    Session lm(without, {.context = 4});
    expect_error(ErrorKind::usage, {"recurrent_lstm", "no attention"}, [&] { lm.attention({0, 0}, {0, 1}, {0, 1}); });
}

TEST_CASE("every node of recurrent models agrees with its reference", "[models][recurrent]") {
    const char* const config = GENERATE(
        R"({"model_type": "recurrent", "vocab_size": 97, "hidden_size": 300, "embedding_size": 33, "num_hidden_layers": 2})",
        R"({"model_type": "seq2seq", "vocab_size": 97, "hidden_size": 270, "embedding_size": 33, "num_layers": 2,
            "encoder_hidden_size": 35, "bidirectional": true, "cell": "gru", "attention": "concat"})");
    const Model model = Model::random(test_device(), "random", config, DType::f16, 3);
    Session session(model, {.context = 40, .record_attention = RecordAttention::all()});
    if (model.info().encoder_layers > 0) session.set_source(some_ids(11, 90));
    session.append(some_ids(21, 90));
    session.generate(3);
    session.run();
    for (const std::int64_t rows : {1, 8})
        for (const Divergence& d : session.plan(rows).check(3))
            FAIL_CHECK(d.node << " (" << d.kernel << "): " << d.message);
}
