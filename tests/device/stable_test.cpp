// Stable sessions (SessionOptions::stable, and all of f32): what a sequence computes is the same to the last bit, with
// any neighbours, in batches of any size, for any context, and whatever ran before.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <numeric>
#include <tuple>

#include "oracle_model.h"
#include "test_model.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;

namespace {

using Ids = std::vector<std::int32_t>;

/// f32 without the option, which it does not need.
SessionOptions stable_in(Precision precision) {
    return {.precision = precision, .stable = precision != Precision::f32};
}

const Sampling drawing{.temperature = 0.9, .top_p = 0.95, .repeat_penalty = 1.2, .seed = 4, .ignore_end = true};

/// A sequence's tokens and the logits of the next one.
struct Written {
    Ids tokens;
    std::vector<float> logits;
    bool operator==(const Written&) const = default;
};

void begin(Sequence& sequence, const Ids& text, bool as_source) {
    if (as_source)
        sequence.set_source(text);
    else
        sequence.append(text);
}

Written written_alone(const Model& model, const SessionOptions& options, const Ids& text, std::int64_t count) {
    Session session(model, options);
    session.restart(drawing);
    begin(session, text, model.info().encoder_layers > 0);
    session.generate(count);
    return {session.tokens(), session.next_logits().vector()};
}

/// The text as the last but one of `sequences`; the others end at different tokens.
Written written_beside(const Model& model, const SessionOptions& options, std::int64_t sequences, const Ids& text,
                       std::int64_t count) {
    const bool as_source = model.info().encoder_layers > 0;
    const std::int64_t own = std::max<std::int64_t>(sequences - 2, 0);
    Batch batch(model, sequences, options);
    for (std::int64_t i = 0; i < sequences; ++i) {
        batch[i].restart(drawing);
        begin(batch[i], i == own ? text : some_ids(1 + 5 * i % 19, model.info().vocab), as_source);
    }
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(sequences));
    batch.generate(count, [&](std::int64_t i, std::int32_t) {
        return ++drawn[static_cast<std::size_t>(i)] < (i == own ? count : 1 + i % 5);
    });
    return {batch[own].tokens(), batch[own].next_logits().vector()};
}

/// A model with states in place of a cache, of which those before every 128th token are kept.
Model recurrent_model(DType weights) {
    return Model::random(test_device(), "recurrent", R"({"model_type": "mamba", "hidden_size": 64, "state_size": 8,
        "num_hidden_layers": 2, "vocab_size": 300})",
                         weights);
}

/// A model whose first layer keeps states and whose second one attends; its other rows have experts.
Model hybrid_model(DType weights) {
    return Model::random(test_device(), "hybrid", R"({"model_type": "jamba", "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "attn_layer_period": 2,
        "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 3,
        "mamba_d_state": 8, "max_position_embeddings": 600, "vocab_size": 300})",
                         weights);
}

/// A model with room for several chunks of 128; its matrices divide into blocks of quants.
Model long_model(DType weights) {
    return Model::random(test_device(), "long", R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 600,
        "vocab_size": 300, "rms_norm_eps": 1e-5})",
                         weights);
}

}  // namespace

TEST_CASE("stable sequences do not depend on batch, neighbours and context", "[stable][batch][models]") {
    const std::string name = GENERATE("llama", "gpt2", "gemma2", "mixtral", "mamba", "jamba", "t5");
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(name << " in " << name_of(precision));
    const Model model = Model::load(test_device(), oracle_models + name);
    SessionOptions options = stable_in(precision);
    options.largest_chunk = 8;  // three of them
    const Ids text = some_ids(21, model.info().vocab);
    const Written alone = written_alone(model, options, text, 12);
    for (const std::int64_t sequences : {1, 3, 11}) {
        INFO("a batch of " << sequences << ", chunks of " << options.largest_chunk);
        options.context = 35 + 7 * sequences % 5;
        options.submission_seconds = sequences == 3 ? 0 : 1e-4;
        CHECK(written_beside(model, options, sequences, text, 12) == alone);
    }
}

TEST_CASE("stable sequences of quantized weights do not depend on the size of the batch", "[stable][batch]") {
    const auto [precision, weights] =
        GENERATE(std::pair(Precision::f16, DType::q8_0), std::pair(Precision::f16, DType::q4_0),
                 std::pair(Precision::int8, DType::q8_0));
    INFO(name_of(precision) << " with " << name_of(weights));
    const Model model = long_model(weights);
    SessionOptions options = stable_in(precision);
    const Ids text = some_ids(140, 300);
    const Written alone = written_alone(model, options, text, 12);
    options.context = 170;
    for (const std::int64_t sequences : {3, 11}) CHECK(written_beside(model, options, sequences, text, 12) == alone);
}

TEST_CASE("stable sequences do not depend on what ran before", "[stable][once]") {
    using Make = Model (*)(DType);
    const auto [precision, weights, make] = GENERATE(std::tuple(Precision::f32, DType::f32, Make(long_model)),
                                                     std::tuple(Precision::f16, DType::f16, Make(long_model)),
                                                     std::tuple(Precision::int8, DType::q4_0, Make(long_model)),
                                                     std::tuple(Precision::f32, DType::f32, Make(recurrent_model)),
                                                     std::tuple(Precision::f16, DType::f16, Make(recurrent_model)),
                                                     std::tuple(Precision::f32, DType::f32, Make(hybrid_model)),
                                                     std::tuple(Precision::f16, DType::f16, Make(hybrid_model)));
    const Model model = make(weights);
    INFO(name_of(precision) << " with " << name_of(weights) << ", " << model.info().name);
    const SessionOptions options = stable_in(precision);
    const Ids text = some_ids(150, 300), more = some_ids(30, 290);
    const Written alone = written_alone(model, options, text, 20);
    CHECK(alone.tokens.size() == 170);

    Session session(model, options);
    session.restart(drawing);
    for (const std::size_t end : {1u, 129u, 143u, 150u}) {  // a prompt in pieces
        session.append(std::span(text).first(end).subspan(session.tokens().size()));
        session.run();
    }
    (void)session.next_logits();
    session.generate(20);
    CHECK(Written{session.tokens(), session.next_logits().vector()} == alone);

    // drawn tokens become a part of the prompt
    Ids all = session.tokens();
    all.insert(all.end(), more.begin(), more.end());
    session.append(more);
    session.generate(9);
    CHECK(Written{session.tokens(), session.next_logits().vector()} == written_alone(model, options, all, 9));

    // back to where tokens were drawn, to within the prompt, and to its end
    for (const std::int64_t kept : {163, 131, 128, 40}) {
        INFO("back to " << kept);
        session.rewind(kept);
        session.generate(9);
        CHECK(Written{session.tokens(), session.next_logits().vector()} ==
              written_alone(model, options, Ids(all.begin(), all.begin() + kept), 9));
        session.rewind(40);
        session.append(std::span(all).subspan(40));
        session.run();
    }
    session.rewind(150);
    session.generate(20);
    CHECK(Written{session.tokens(), session.next_logits().vector()} == alone);

    // as a whole batch of such a length
    SessionOptions wide = options;
    wide.context = 300;
    CHECK(written_beside(model, wide, 10, text, 20) == alone);
}

TEST_CASE("what a stable session shows does not depend on what it went back from", "[stable][session]") {
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    const Model model = long_model(DType::f16);
    SessionOptions options = stable_in(precision);
    options.inspect = true;
    options.record_attention = RecordAttention::all();
    const Ids text = some_ids(141, 300);
    const auto shown = [](Session& session) {
        session.run();
        const Array attention = session.attention(HeadId{.layer = 1, .head = 1});
        return std::tuple(session.next_logits().vector(), session.logits().vector(), session.hidden().vector(),
                          attention.vector());
    };
    for (const unsigned kept : sampled(std::vector{1u, 7u, 13u, 127u, 128u, 130u, 140u})) {
        INFO("back to " << kept);
        Session session(model, options), fresh(model, options);
        session.append(text);
        session.run();
        session.rewind(static_cast<std::int64_t>(kept));
        fresh.append(std::span(text).first(kept));
        CHECK(shown(session) == shown(fresh));
    }
}

TEST_CASE("a recurrent session shows the same wherever it went back to", "[stable][session]") {
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    const bool hybrid = GENERATE(false, true);
    INFO((hybrid ? "hybrid" : "recurrent"));
    const Model model = hybrid ? hybrid_model(DType::f16) : recurrent_model(DType::f16);
    SessionOptions options = stable_in(precision);
    options.inspect = true;
    if (hybrid) options.record_attention = RecordAttention::all();
    const Ids text = some_ids(300, 300);
    const auto shown = [&](Session& session) {
        session.run();
        const Array attention = hybrid ? session.attention(HeadId{.layer = 1, .head = 3}) : Array();
        return std::tuple(session.next_logits().vector(), session.logits().vector(), session.hidden().vector(),
                          attention.vector());
    };
    Session session(model, options);
    for (const unsigned kept : sampled(std::vector{299u, 297u, 290u, 256u, 255u, 129u, 128u, 127u, 3u, 1u})) {
        INFO("back to " << kept);
        Session fresh(model, options);
        session.append(std::span(text).subspan(session.tokens().size()));
        session.run();
        session.rewind(static_cast<std::int64_t>(kept));
        fresh.append(std::span(text).first(kept));
        CHECK(shown(session) == shown(fresh));
    }
}

// Not stable: whole runs of 512 rows, and states that are made again from the last one that is kept. The rounding of a
// prompt's kernels is not that of generated tokens, but what is drawn greedily is the same here.
TEST_CASE("a recurrent session without stable runs goes back to any token", "[session][batch]") {
    const bool hybrid = GENERATE(false, true);
    INFO((hybrid ? "hybrid" : "recurrent"));
    const Model model = hybrid ? hybrid_model(DType::f32) : Model::load(test_device(), oracle_models + "mamba");
    const Ids text = some_ids(400, model.info().vocab);
    const auto logits_of = [&](std::size_t count) {
        Session fresh(model, {.context = 420, .precision = Precision::f32});
        fresh.append(std::span(text).first(count));
        return fresh.next_logits().vector();
    };
    Session session(model, {.context = 420, .precision = Precision::f16, .stable = false});
    session.append(text);
    session.run();
    for (const std::size_t kept : {399u, 398u, 390u, 385u, 384u, 200u, 128u, 100u, 1u}) {
        INFO("back to " << kept);
        session.rewind(static_cast<std::int64_t>(kept));
        CHECK(difference(session.next_logits().vector(), logits_of(kept)).first < 2e-3);
        CHECK(session.generate(2).size() == 2);
        session.rewind(static_cast<std::int64_t>(kept));
        session.append(std::span(text).subspan(kept));
        CHECK(difference(session.next_logits().vector(), logits_of(text.size())).first < 2e-3);
    }
}

// The one that draws is further ahead of the host each time that the other gets a short prompt.
TEST_CASE("recurrent sequences of a batch do not lose their states to what others do", "[stable][batch]") {
    const bool hybrid = GENERATE(false, true);
    INFO((hybrid ? "hybrid" : "recurrent"));
    const Model model = hybrid ? hybrid_model(DType::f32) : recurrent_model(DType::f32);
    const SessionOptions options = stable_in(Precision::f32);
    const Ids text = some_ids(140, 300);
    const Written alone = written_alone(model, options, text, 20);
    Batch batch(model, 2, options);
    batch[0].restart(drawing);
    batch[0].append(text);
    for (int round = 0; round < 20; ++round) {
        batch[1].restart(drawing);
        batch[1].append(some_ids(3, 300));
        batch.generate(1);
        if (round % 7 == 6) (void)batch[0].next_logits();
    }
    CHECK(Written{batch[0].tokens(), batch[0].next_logits().vector()} == alone);
}

// A full sequence draws nothing while others do. What the device had run ahead of it still counts when it goes back.
TEST_CASE("a recurrent sequence that was full goes back to the states that are kept", "[stable][batch]") {
    const Model model = recurrent_model(DType::f32);
    SessionOptions options = stable_in(Precision::f32);
    options.context = 64;
    const Ids text = some_ids(20, 300), other = some_ids(3, 300);
    for (const std::int64_t back : {1, 2, 3}) {
        INFO("back by " << back);
        Batch batch(model, 2, options);
        batch[0].restart(drawing);
        batch[0].append(text);
        batch[1].restart(drawing);
        batch[1].append(other);
        batch.generate(6);
        const Ids drawn = batch[0].tokens();
        const auto full = static_cast<std::size_t>(options.context) - drawn.size();
        batch[0].append(some_ids(static_cast<std::int64_t>(full), 300));
        batch[1].restart(drawing);
        batch[1].append(other);
        (void)batch.next();
        batch[0].rewind(std::ssize(drawn) - back);
        Session alone(model, options);
        alone.restart(drawing);
        alone.append(std::span(drawn).first(drawn.size() - static_cast<std::size_t>(back)));
        CHECK(batch[0].next_logits().vector() == alone.next_logits().vector());
    }
}

TEST_CASE("a stable session says that it runs a partial chunk again", "[stable][once]") {
    const Model model = long_model(DType::f16);
    const Ids text = some_ids(150, 300);
    Session session(model, stable_in(Precision::f16));
    session.append(std::span(text).first(140));
    session.run();
    const std::uint64_t before = session.forgotten();
    (void)session.next_logits();  // in the same run as before
    CHECK(session.forgotten() == before);
    session.append(std::span(text).subspan(140));
    CHECK(session.forgotten() > before);
    CHECK(session.processed() == 128);
    session.run();
    CHECK(session.processed() == 150);
    const std::uint64_t again = session.forgotten();
    session.rewind(140);
    CHECK(session.forgotten() > again);
    CHECK(session.processed() == 128);
    session.rewind(128);
    session.append(std::span(text).subspan(128, 9));
    CHECK(session.processed() == 128);  // whole chunks stay
}

TEST_CASE("a stable generator keeps prompts and no drawn tokens", "[stable][once]") {
    const Model& model = mini_world();
    const GeneratorOptions options{.max_tokens = 10, .session = stable_in(Precision::f16)};
    const auto take = [](Generator& generator, const Ids& ids) {
        Ids drawn = ids;
        generator.generate(std::span(ids), [&](const Token& token) {
            drawn.push_back(token.id);
            return true;
        });
        return drawn;
    };
    Generator talking(model, drawing, options);
    Ids turn = some_ids(140, 300);
    for (int number = 0; number < 3; ++number) {
        Generator fresh(model, drawing, options);
        const Ids written = take(talking, turn);
        CHECK(written == take(fresh, turn));
        turn = written;  // first as it is, then with more behind it
        if (number > 0) turn.push_back(7);
    }
}

TEST_CASE("logits of a stable session are those of its text, in whatever pieces it came", "[stable][session]") {
    const Model model = long_model(DType::f32);
    const Ids text = some_ids(270, 300);
    const auto logits = [&](const std::vector<std::int64_t>& ends, double seconds) {
        Session session(model, {.precision = Precision::f32, .inspect = true, .submission_seconds = seconds});
        for (const std::int64_t end : ends) {
            session.append(std::span(text).subspan(session.tokens().size(),
                                                   static_cast<std::size_t>(end) - session.tokens().size()));
            session.run();
        }
        return session.logits().vector();
    };
    const std::vector<float> whole = logits({270}, 0.1);
    CHECK(whole.size() == 270u * 300u);
    CHECK(logits({1, 17, 128, 129, 270}, 0.1) == whole);
    CHECK(logits({256, 270}, 1e-5) == whole);
}

TEST_CASE("a stable sequence that was recovered can be changed before it runs again", "[stable][recover][once]") {
    const Model model = long_model(DType::f32);
    const auto changed = [&](bool recovers, auto change) {
        Batch batch(model, 1, stable_in(Precision::f32));
        batch[0].append(some_ids(100, 300));
        batch.generate(60);
        if (recovers) batch.recover([&] { return model; });
        change(batch[0]);
        batch.generate(9);
        return std::pair(Written{batch[0].tokens(), batch[0].next_logits().vector()}, batch.stats().prompt_tokens);
    };
    const auto append = [](Sequence& s) { s.append(some_ids(10, 300)); };
    const auto rewind = [](Sequence& s) { s.rewind(130); };
    const auto both = [](Sequence& s) { s.rewind(90), s.append(some_ids(50, 300)); };
    CHECK(changed(true, append) == changed(false, append));
    CHECK(changed(true, rewind) == changed(false, rewind));
    CHECK(changed(true, both) == changed(false, both));
}

TEST_CASE("encoders are stable in batches", "[stable][batch]") {
    const Model model = Model::load(test_device(), oracle_models + "bert");
    const std::vector<std::string> texts{"a cat", "dogs", "the second text is somewhat longer than the first one",
                                         "one of many", "another"};
    const EmbedOptions options{.session = stable_in(GENERATE(Precision::f32, Precision::f16))};
    const Array all = embed(model, texts, options);
    for (std::size_t i = 0; i < texts.size(); ++i)
        CHECK(all.row(static_cast<std::int64_t>(i)).vector() == embed(model, {texts[i]}, options).row(0).vector());
}
