// Encoder–decoders against what PyTorch computed: hidden states, the three attentions, logits and greedy text.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "oracle_model.h"
#include "tests/host/expect_error.h"

using namespace vantage;
using namespace vantage::test;

namespace {

Session translated(const Model& model, const SafeTensors& file, const std::string& prompt, Precision precision) {
    const auto source = values_of<std::int32_t>(file.at(prompt + ".input_ids")),
               target = values_of<std::int32_t>(file.at(prompt + ".decoder_input_ids"));
    Session session(model, {.context = static_cast<std::int64_t>(std::max(source.size(), target.size())),
                            .precision = precision,
                            .record_attention = RecordAttention::all(),
                            .inspect = true,
                            .guard = true});
    session.set_source(source);
    CHECK(session.tokens() == std::vector{target.front()});  // the start token
    session.rewind(0);
    session.append(target);
    session.run();
    return session;
}

std::vector<std::int32_t> greedy(const Model& model, const SafeTensors& file, std::size_t count) {
    const auto source = values_of<std::int32_t>(file.at("greedy.prompt_ids"));
    Session session(model, {.context = 40, .precision = Precision::f32, .guard = true});
    session.restart({.ignore_end = true});
    session.set_source(source);
    return session.generate(static_cast<std::int64_t>(count));
}

}  // namespace

TEST_CASE("the oracle's encoder–decoders come out as PyTorch computed them", "[models][oracle]") {
    const std::string name =
        GENERATE(from_range(sampled({"bart", "t5", "t5_gated", "transformer", "transformer_norm_first"})));
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(name << (precision == Precision::f32 ? " in f32" : " with f16 keys"));
    const std::string folder = oracle_models + name;
    const Model model = Model::load(test_device(), folder);
    const SafeTensors file(folder + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, folder);
    for (const std::string prompt : {"p0", "p1", "p2"}) {
        INFO(prompt);
        Session session = translated(model, file, prompt, precision);
        CHECK(difference(session.logits(), values_of<float>(file.at(prompt + ".logits"))).first <= allowed.logits);
        const auto last = values_of<float>(file.at(prompt + ".encoder_last_hidden"));
        CHECK(difference(session.encoder_last_hidden(), last).first <=
              allowed.hidden + allowed.hidden_of_largest * largest_of(last));
        if (prompt != "p2") continue;
        check_layers(session.encoder_hidden(), file.at("p2.encoder_hidden"), session.source_tokens().size(), allowed);
        check_layers(session.hidden(), file.at("p2.decoder_hidden"), session.tokens().size(), allowed);
        check_attention(session, file.at("p2.encoder_attn"), allowed, AttentionKind::encoder);
        check_attention(session, file.at("p2.decoder_attn"), allowed, AttentionKind::self);
        check_attention(session, file.at("p2.cross_attn"), allowed, AttentionKind::cross);
    }
    if (precision == Precision::f32) {
        const auto want = values_of<std::int32_t>(file.at("greedy.ids"));
        CHECK(greedy(model, file, want.size()) == want);
    }
}

TEST_CASE("a replay of an encoder–decoder reads its text again", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "t5");
    const std::vector<std::int32_t> source = {5, 17, 40, 9, 77, 3}, target = {0, 8, 21};
    const auto weights = [&](const RecordAttention& record_attention, AttentionKind kind, std::int64_t rows,
                             std::int64_t keys) {
        Session session(model, {.context = 6, .precision = Precision::f32, .record_attention = record_attention});
        session.set_source(source);
        session.rewind(0);
        session.append(target);
        session.run();
        return session.attention({1, 1, kind}, {0, rows}, {0, keys}).vector();
    };
    CHECK(weights(RecordAttention::all(), AttentionKind::self, 3, 3) == weights({}, AttentionKind::self, 3, 3));
    CHECK(weights(RecordAttention::all(), AttentionKind::encoder, 6, 6) == weights({}, AttentionKind::encoder, 6, 6));
    CHECK(weights(RecordAttention::all(), AttentionKind::cross, 3, 6) == weights({}, AttentionKind::cross, 3, 6));
}

TEST_CASE("a text of its own for each encode, and nothing without one", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "bart");
    const auto first_logits = [&](Session& session, std::initializer_list<std::int32_t> source) {
        session.set_source(std::vector<std::int32_t>(source));
        session.run();
        return session.logits().vector();
    };
    const SessionOptions options{.context = 6, .precision = Precision::f32, .inspect = true};
    Session again(model, options), fresh(model, options);
    expect_error(ErrorKind::usage, {"bart", "set_source()"}, [&] { again.run(); });
    first_logits(again, {4, 5, 6, 7, 8, 9});
    CHECK(first_logits(again, {11, 12}) == first_logits(fresh, {11, 12}));  // nothing of the longer text is left
    expect_error(ErrorKind::usage, {"nothing to read"}, [&] { again.set_source({}); });
    expect_error(ErrorKind::usage, {"token id 103"}, [&] { again.set_source(std::vector<std::int32_t>{103}); });
    expect_error(ErrorKind::usage, {"7 tokens do not fit"}, [&] { again.set_source(std::vector<std::int32_t>(7, 4)); });
    expect_error(ErrorKind::usage, {"layer 2"}, [&] { again.attention({2, 0, AttentionKind::cross}, {0, 1}, {0, 1}); });
    expect_error(ErrorKind::usage, {"head 2"}, [&] {
        again.attention({0, 2, AttentionKind::encoder}, {0, 1}, {0, 1});
    });
    const Model decoder = Model::load(test_device(), oracle_models + "llama");
    Session plain(decoder, {.context = 4});
    expect_error(ErrorKind::usage, {"llama", "no encoder–decoder"},
                 [&] { plain.set_source(std::vector<std::int32_t>{4}); });
    expect_error(ErrorKind::usage, {"llama", "no encoder–decoder"}, [&] {
        plain.attention({0, 0, AttentionKind::cross}, {0, 0}, {0, 0});
    });
}
