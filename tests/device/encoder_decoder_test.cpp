// Encoder–decoders against what PyTorch computed: hidden states, the three attentions, logits and greedy text.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

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
                            .watch = Watch::all(),
                            .inspect = true,
                            .guard = true});
    session.encode(source);
    CHECK(session.tokens() == std::vector{target.front()});  // the start token
    session.rewind(0);
    session.append(target);
    session.process();
    return session;
}

std::vector<std::int32_t> greedy(const Model& model, const SafeTensors& file, std::size_t count) {
    const auto source = values_of<std::int32_t>(file.at("greedy.prompt_ids"));
    Session session(model, {.context = 40, .precision = Precision::f32, .guard = true});
    session.restart({.ignore_end = true});
    session.encode(source);
    return session.generate(static_cast<std::int64_t>(count));
}

}  // namespace

TEST_CASE("the oracle's encoder–decoders come out as PyTorch computed them", "[models][oracle]") {
    const std::string name = GENERATE("bart", "t5", "t5_gated", "transformer", "transformer_norm_first");
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
        check_attention(session, file.at("p2.encoder_attn"), allowed, AttentionOf::encoder);
        check_attention(session, file.at("p2.decoder_attn"), allowed, AttentionOf::self);
        check_attention(session, file.at("p2.cross_attn"), allowed, AttentionOf::cross);
    }
    if (precision == Precision::f32) {
        const auto want = values_of<std::int32_t>(file.at("greedy.ids"));
        CHECK(greedy(model, file, want.size()) == want);
    }
}
