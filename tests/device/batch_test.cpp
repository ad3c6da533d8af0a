// Several sequences in the same runs: each gets what it gets alone.
#include <csignal>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "oracle_model.h"
#include "runtime/base/at.h"
#include "runtime/base/interrupt.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;

namespace {

using Ids = std::vector<std::int32_t>;

// With chunks of 8: a prompt of three runs, one of a single token, one that ends in the first run.
constexpr std::int64_t chunk = 8;
std::vector<Ids> prompts_for(const Model& model) {
    const auto vocab = model.info().vocab - 3;
    std::vector<Ids> prompts{some_ids(21, vocab), {5}, some_ids(6, vocab)};
    std::ranges::reverse(prompts[2]);
    return prompts;
}

// Kernels of matrix products are chosen by the number of rows, which a batch has more of: sums are rounded in another
// order. This is the oracle's strict limit for logits in f32.
constexpr double rounding = 2e-4;

SessionOptions exact(bool inspect) {
    return {.context = 40, .precision = Precision::f32, .inspect = inspect, .largest_chunk = chunk};
}

void give(Batch& batch, const std::vector<Ids>& prompts) {
    for (std::size_t i = 0; i < prompts.size(); ++i) batch[static_cast<std::int64_t>(i)].append(prompts[i]);
}

const std::vector<Sampling>& samplings() {  // one for each sequence: greedy, and drawn in two ways
    static const std::vector<Sampling> all{
        {.ignore_end = true},
        {.temperature = 0.9, .top_p = 0.9, .repeat_penalty = 1.3, .seed = 4, .ignore_end = true},
        {.temperature = 1.2, .top_k = 20, .repeat_penalty = 1.7, .seed = 5, .ignore_end = true}};
    return all;
}

Ids drawn_alone(const Model& model, const Ids& prompt, const Sampling& sampling, std::int64_t count) {
    Session session(model, exact(false));
    session.restart(sampling);
    session.append(prompt);
    session.generate(count);
    return session.tokens();
}

}  // namespace

TEST_CASE("a batch of decoders equals single sessions", "[batch][models]") {
    // learned positions; rotary ones with grouped heads; a window; soft-caps and windows by turns; experts; ALiBi;
    // states
    const std::string name = GENERATE("gpt2", "llama", "mistral", "gemma2", "mixtral", "bloom", "mamba", "jamba");
    INFO(name);
    const Model model = Model::load(test_device(), oracle_models + name);
    const std::vector<Ids> prompts = prompts_for(model);

    Batch looked(model, 3, exact(true));
    give(looked, prompts);
    looked.run();
    for (std::int64_t i = 0; i < 3; ++i) {
        INFO("sequence " << i);
        Session alone(model, exact(true));
        alone.append(at(prompts, i));
        alone.run();
        CHECK(difference(looked[i].logits(), alone.logits()).first <= rounding);
        CHECK(difference(looked[i].hidden(), alone.hidden()).first <= 1e-3);  // the oracle's limit for hidden states
        CHECK(difference(looked[i].router_logits(), alone.router_logits()).first <= rounding);
    }

    Batch batch(model, 3, exact(false));
    for (std::size_t i = 0; i < 3; ++i) batch[static_cast<std::int64_t>(i)].restart(samplings()[i]);
    give(batch, prompts);
    batch.generate(12);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(batch[static_cast<std::int64_t>(i)].tokens() == drawn_alone(model, prompts[i], samplings()[i], 12));
}

// Of the sequence `slot` of a batch, with these others (empty: none): its text, and the logits behind it.
struct Written {
    Ids tokens;
    std::vector<float> logits;
    bool operator==(const Written&) const = default;
};
Written written_beside(const Model& model, const SessionOptions& options, std::size_t slot, std::vector<Ids> prompts,
                       std::span<const std::int64_t> ends, bool as_source = false) {
    Batch batch(model, std::ssize(prompts), options);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        Sequence& one = batch[static_cast<std::int64_t>(i)];
        one.restart(samplings()[i == slot ? 1 : 0]);
        if (prompts[i].empty()) continue;
        if (as_source)
            one.set_source(prompts[i]);
        else
            one.append(prompts[i]);
    }
    std::vector<std::int64_t> drawn(prompts.size());
    batch.generate(12, [&](std::int64_t i, std::int32_t) {
        const auto at = static_cast<std::size_t>(i);
        return ++drawn[at] < (at == slot ? 12 : ends[at]);
    });
    Sequence& own = batch[static_cast<std::int64_t>(slot)];
    return {own.tokens(), own.next_logits().vector()};
}

TEST_CASE("a sequence's logits are equal to the last bit, whatever runs beside", "[batch][models]") {
    const std::string name = GENERATE(from_range(sampled({"llama", "mixtral", "gemma2", "jamba", "t5"})));
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(name << " in " << name_of(precision));
    const Model model = Model::load(test_device(), oracle_models + name);
    SessionOptions options = exact(false);
    options.precision = precision;
    const std::vector<Ids> prompts = prompts_for(model);
    const auto other = some_ids(17, model.info().vocab - 3);
    const bool as_source = name == "t5";
    const auto write = [&](std::size_t slot, const std::vector<Ids>& all, std::vector<std::int64_t> ends) {
        return written_beside(model, options, slot, all, ends, as_source);
    };
    const Written alone = write(0, {prompts[0], {}, {}, {}, {}}, {0, 0, 0, 0, 0});
    CHECK(write(0, {prompts[0], prompts[1], prompts[2], other, other}, {0, 2, 5, 12, 1}) == alone);
    CHECK(write(3, {prompts[2], other, {}, prompts[0], prompts[1]}, {1, 7, 0, 0, 3}) == alone);
}

TEST_CASE("a sequence that begins later does not change one that draws", "[batch]") {
    const Model model = Model::load(test_device(), oracle_models + "llama");
    SessionOptions options = exact(false);
    options.precision = Precision::f16;
    const std::vector<Ids> prompts = prompts_for(model);
    const Written alone = written_beside(model, options, 0, {prompts[0], {}, {}}, std::vector<std::int64_t>(3));
    Batch batch(model, 3, options);
    batch[0].restart(samplings()[1]);
    batch[0].append(prompts[0]);
    for (int round = 0; round < 12; ++round) {
        if (round == 3) batch[1].append(prompts[2]);
        if (round == 6) batch[2].append(prompts[1]);
        if (round == 8) batch[1].restart(samplings()[2]), batch[1].append(prompts[0]);
        REQUIRE(batch.next()[0].has_value());
        if (round % 4 == 1) batch.run();  // runs what was drawn, and changes nothing
    }
    CHECK(batch.stats().prompt_tokens <= 61);  // of all: none runs again because of another
    CHECK((Written{batch[0].tokens(), batch[0].next_logits().vector()}) == alone);
}

TEST_CASE("logits asked for in between change no text and no statistics", "[batch]") {
    const std::string name = GENERATE("llama", "jamba", "t5");
    INFO(name);
    const Model model = Model::load(test_device(), oracle_models + name);
    SessionOptions options = exact(false);
    options.precision = Precision::f16;
    const std::vector<Ids> prompts = prompts_for(model);
    const bool source = model.info().encoder_layers > 0;
    Batch plain(model, 3, options), asked(model, 3, options);
    for (Batch* batch : {&plain, &asked})
        for (std::size_t i = 0; i < 3; ++i) {
            Sequence& one = (*batch)[static_cast<std::int64_t>(i)];
            one.restart(samplings()[i]);
            if (source)
                one.set_source(prompts[i]);
            else
                one.append(prompts[i]);
        }
    for (int round = 0; round < 8; ++round) {
        const std::int64_t i = round % 3, before = asked[(i + 1) % 3].processed();
        const Array logits = asked[i].next_logits();
        CHECK(asked[i].next_logits().vector() == logits.vector());
        CHECK(asked[(i + 1) % 3].processed() == before);  // only the one that is asked runs
        if (i == 0)                                       // greedy
            CHECK(std::ranges::max_element(logits) - logits.begin() == plain.next()[0].value());
        else
            plain.next();
        asked.next();
    }
    for (std::int64_t i = 0; i < 3; ++i) CHECK(plain[i].tokens() == asked[i].tokens());
    CHECK(plain.stats().prompt_tokens == asked.stats().prompt_tokens);
    // to run a row once more, states are made again from the last that is kept: these rows have run
    if (name != "jamba") CHECK(plain.stats().prompt_rows == asked.stats().prompt_rows);
    CHECK(plain.stats().generated_tokens == asked.stats().generated_tokens);
}

TEST_CASE("a batch of encoders equals single sessions", "[batch][models]") {
    const std::string name = GENERATE("bert", "bert_classification", "longformer", "distilbert");
    INFO(name);
    const Model model = Model::load(test_device(), oracle_models + name);
    SessionOptions options{.precision = Precision::f32};
    if (name == "longformer") options.global_tokens = 2;
    const std::vector<Ids> prompts = prompts_for(model);
    Batch batch(model, 3, options);
    give(batch, prompts);
    batch.run();
    for (std::int64_t i = 0; i < 3; ++i) {
        INFO("sequence " << i);
        Session alone(model, options);
        alone.append(at(prompts, i));
        alone.run();
        CHECK(difference(batch[i].last_hidden(), alone.last_hidden()).first <= 1e-3);  // the oracle's limit
        CHECK(difference(batch[i].pooled(), alone.pooled()).first <= 1e-3);
        CHECK(difference(batch[i].relation(), alone.relation()).first <= rounding);
        CHECK(difference(batch[i].logits(), alone.logits()).first <= rounding);
    }
    const std::vector<float> before = batch[0].last_hidden().vector();
    batch[2].append(Ids{7});  // runs again as a whole; the others have run
    batch.run();
    CHECK(batch[0].last_hidden().vector() == before);
    CHECK(batch[2].last_hidden().shape()[0] == 7);
}

TEST_CASE("each text of a batch has BigBird's blocks by its own length", "[batch][models]") {
    const Model model = Model::load(test_device(), oracle_models + "big_bird");  // blocks of 4, 2 of them drawn
    const SafeTensors file(oracle_models + "big_bird/expected.safetensors");
    const Allowed allowed = allowed_in(Precision::f32, oracle_models + "big_bird");
    const auto ids = [&](const std::string& text) { return values_of<std::int32_t>(file.at(text + ".input_ids")); };
    const auto types = [&](const std::string& text) {
        return values_of<std::int32_t>(file.at(text + ".token_type_ids"));
    };
    // full up to 36 tokens; of the texts that PyTorch has computed one is longer, with one token in its last block
    const std::vector<Ids> texts = {ids("p1"), ids("p2"), some_ids(36, 100), some_ids(37, 100), some_ids(80, 100)};
    Batch batch(model, std::ssize(texts), {.precision = Precision::f32});
    for (std::int64_t i = 0; i < std::ssize(texts); ++i)
        batch[i].append(at(texts, i), i < 2 ? types(i == 0 ? "p1" : "p2") : Ids());
    batch.run();
    for (const auto& [i, text] : {std::pair{0, "p1"}, {1, "p2"}})
        CHECK(difference(batch[i].logits(), values_of<float>(file.at(text + std::string(".logits")))).first <=
              allowed.logits);
    for (std::int64_t i = 2; i < std::ssize(texts); ++i) {
        INFO(at(texts, i).size() << " tokens");
        Session alone(model, {.context = std::ssize(at(texts, i)), .precision = Precision::f32});
        alone.append(at(texts, i));
        alone.run();
        CHECK(difference(batch[i].logits(), alone.logits()).first <= rounding);
    }
}

TEST_CASE("sequences of a batch have global tokens at the same positions", "[batch][models]") {
    const Model model = Model::load(test_device(), oracle_models + "longformer");
    const SessionOptions options{
        .context = 16, .precision = Precision::f32, .global_positions = std::vector<std::int64_t>{4, 1}};
    const std::vector<Ids> prompts = {
        {5, 17, 40, 9, 77, 3, 12, 60, 33, 81}, {7, 25, 90, 14, 8}, {6, 5, 4, 3, 2, 9, 8, 7, 12}};
    Batch batch(model, 3, options);
    give(batch, prompts);
    batch.run();
    for (std::int64_t i = 0; i < 3; ++i) {
        INFO("sequence " << i);
        Session alone(model, options);
        alone.append(at(prompts, i));
        alone.run();
        CHECK(difference(batch[i].last_hidden(), alone.last_hidden()).first <= 1e-3);
    }
    batch[1].rewind(4);  // no token 4 any more
    expect_error(ErrorKind::usage, {"position 4", "4 tokens"}, [&] { batch.run(); });
}

TEST_CASE("a batch of encoder–decoders equals single sessions", "[batch][models]") {
    const std::string name = GENERATE("t5", "bart");
    INFO(name);
    const Model model = Model::load(test_device(), oracle_models + name);
    const std::vector<Ids> texts = prompts_for(model);
    Batch batch(model, 3, exact(false));
    for (std::size_t i = 0; i < 3; ++i) {
        batch[static_cast<std::int64_t>(i)].restart(samplings()[i]);
        batch[static_cast<std::int64_t>(i)].set_source(texts[i]);
    }
    batch.generate(8);
    for (std::size_t i = 0; i < 3; ++i) {
        Session alone(model, exact(false));
        alone.restart(samplings()[i]);
        alone.set_source(texts[i]);
        alone.generate(8);
        CHECK(batch[static_cast<std::int64_t>(i)].tokens() == alone.tokens());
    }
}

TEST_CASE("the guard passes for states of few bytes that a batch shares", "[batch]") {
    const Model model = Model::load(test_device(), oracle_models + "t5");
    const std::int64_t sequences = GENERATE(2, 3, 4);  // their lengths are 8 to 16 bytes
    Batch batch(model, sequences,
                {.context = 160, .precision = Precision::f32, .guard = true, .sampling = {.ignore_end = true}});
    for (std::int64_t i = 0; i < sequences; ++i) batch[i].set_source(some_ids(3 + 8 * i, 90));
    batch[0].append(some_ids(120, 90));  // in a run of one lane
    batch.generate(2);
    CHECK((batch[0].tokens().size() == 123 && batch[1].tokens().size() == 3));
}

TEST_CASE("sequences of a batch end one by one, and another takes the place of one", "[batch]") {
    const Model model = Model::load(test_device(), oracle_models + "gpt2");
    const std::vector<Ids> prompts = prompts_for(model);
    SessionOptions options = exact(false);
    options.context = 30;  // the first has room for 9 more
    Batch batch(model, 3, options);
    for (std::size_t i = 0; i < 3; ++i) batch[static_cast<std::int64_t>(i)].restart(samplings()[i]);
    give(batch, prompts);
    std::int64_t of_last = 0;
    batch.generate(14, [&](std::int64_t i, std::int32_t) { return i != 2 || ++of_last < 4; });
    CHECK(batch[0].context_full());
    CHECK((batch[0].ended() && !batch[1].ended() && batch[2].ended()));
    CHECK(batch[0].tokens() == drawn_alone(model, prompts[0], samplings()[0], 9));
    CHECK(batch[2].tokens() == drawn_alone(model, prompts[2], samplings()[2], 4));
    CHECK_FALSE(batch.next()[0].has_value());  // the other goes on

    batch[0].restart(samplings()[1]);
    batch[0].append(prompts[2]);
    const Ids more{3, 1};
    batch[2].append(more);
    batch.generate(5);
    CHECK(batch[0].tokens() == drawn_alone(model, prompts[2], samplings()[1], 5));
    CHECK(batch[1].tokens() == drawn_alone(model, prompts[1], samplings()[1], 20));
    Ids after = drawn_alone(model, prompts[2], samplings()[2], 4);
    after.insert(after.end(), more.begin(), more.end());
    CHECK(batch[2].tokens() == drawn_alone(model, after, samplings()[2], 5));
}

TEST_CASE("prompts are completed together as a generator completes each", "[batch]") {
    const Model& model = mini_world();
    const std::vector<std::string> prompts{"Once upon a time", "The animal didn't cross the street because it", "A"};
    const GeneratorOptions options{.max_tokens = 12, .stop = {" the"}, .session = {.precision = Precision::f32}};
    const Sampling sampling{.temperature = 0.8, .seed = 3};
    std::vector<Ids> ids;
    for (const std::string& prompt : prompts) ids.push_back(model.tokenizer().encode(prompt, true).ids);
    Batch batch(model, 3, {.context = 40, .precision = Precision::f32});
    const std::vector<Completion> completions = complete(batch, ids, sampling, options);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        Generator generator(model, sampling, options);
        std::string text;
        const Ending ending = generator.generate(prompts[i], [&](const Token& token) {
            text += token.text;
            return true;
        });
        CHECK(completions[i].text == text);
        CHECK(completions[i].ending == ending);
    }
    expect_error(ErrorKind::usage, {"prompt 2 of 2"}, [&] { complete(batch, std::vector<Ids>{{1}, {}}, sampling); });
    expect_error(ErrorKind::usage, {"4 prompts", "3 sequences"},
                 [&] { complete(batch, std::vector<Ids>(4, Ids{1}), sampling); });
}

TEST_CASE("what a batch cannot take is said", "[batch]") {
    const Model decoder = Model::load(test_device(), oracle_models + "llama"),
                images = Model::load(test_device(), oracle_models + "vit");
    expect_error(ErrorKind::usage, {"images"}, [&] { Batch(images, 2); });
    expect_error(ErrorKind::usage, {"0 sequences"}, [&] { Batch(decoder, 0); });
    expect_error(ErrorKind::usage, {"records no attention"},
                 [&] { Batch(decoder, 2, {.record_attention = RecordAttention::all()}); });
    Batch batch(decoder, 2, {.context = 8});
    expect_error(ErrorKind::usage, {"2 sequences", "no sequence 2"}, [&] { batch[2].append(Ids{1}); });
    expect_error(ErrorKind::usage, {"nothing to continue"}, [&] { batch.next(); });
    expect_error(ErrorKind::usage, {"no encoder–decoder"}, [&] { batch[0].set_source(Ids{1}); });
    expect_error(ErrorKind::usage, {"9 tokens do not fit"}, [&] { batch[1].append(Ids(9, 1)); });
}

TEST_CASE("a long prompt beside sequences that draw runs its own rows only", "[batch]") {
    const Model model = Model::random(test_device(), "small", R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 32,
        "n_head": 2, "n_positions": 600, "vocab_size": 300})");
    // f32: two tokens are as likely in f16
    Batch batch(model, 16, {.context = 600, .precision = Precision::f32, .sampling = {.ignore_end = true}});
    for (std::int64_t i = 0; i < 15; ++i) batch[i].append(some_ids(3 + i, 300));
    batch.generate(2);
    const std::int64_t before = batch.stats().prompt_rows;
    batch[15].append(some_ids(512, 300));
    const std::vector<std::optional<std::int32_t>> drawn = batch.next();
    CHECK(std::ranges::all_of(drawn, [](const std::optional<std::int32_t>& token) { return token.has_value(); }));
    CHECK(batch.stats().prompt_rows - before == 512);  // the others go on with what was drawn of them
    Session alone(model, {.context = 600, .precision = Precision::f32});
    alone.append(some_ids(512, 300));
    CHECK(alone.next() == drawn[15]);
}

TEST_CASE("a batch of one is a batch, not a session", "[batch]") {
    const Model model = Model::load(test_device(), oracle_models + "t5");
    Batch one(model, 1, exact(false));
    one.run();  // nothing to do
    one[0].set_source(some_ids(9, 90));
    CHECK(one.stats().prompt_tokens == 0);  // the encoder runs with the next call
    one.generate(2);
    CHECK(one.stats().prompt_tokens == 9);
    one[0].restart();
    CHECK(one.stats().prompt_tokens == 9);
    one.restart();
    CHECK(one.stats().prompt_tokens == 0);
}

TEST_CASE("what Ctrl-C cut off goes on as if nothing had been", "[batch][session]") {
    const Model model = Model::load(test_device(), oracle_models + "llama");
    const std::vector<Ids> prompts = prompts_for(model);
    SessionOptions options = exact(false);
    options.precision = Precision::f16;
    options.stable = GENERATE(false, true);
    const auto begun = [&] {
        auto batch = std::make_unique<Batch>(model, 3, options);
        for (std::size_t i = 0; i < 3; ++i) (*batch)[static_cast<std::int64_t>(i)].restart(samplings()[i]);
        give(*batch, prompts);
        return batch;
    };
    const std::unique_ptr<Batch> plain = begun();
    std::unique_ptr<Batch> cut = begun();
    plain->generate(10);
    catch_interrupts();
    int struck = 0, again = 0;
    for (int delay = 0; delay < 400; delay += 3) {
        if (std::ssize((*cut)[0].tokens()) >= std::ssize(prompts[0]) + 10) {
            if (struck > 0 || ++again > 100) break;
            cut = begun();  // on a busy machine each signal may come late
        }
        std::thread user([&] {  // somewhere: between chunks, in a draw, behind it
            std::this_thread::sleep_for(std::chrono::microseconds(200 * delay));
            std::raise(SIGINT);
        });
        try {
            for (int token = 0; token < 3 && std::ssize((*cut)[0].tokens()) < std::ssize(prompts[0]) + 10; ++token)
                cut->next();
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::interrupted);
            ++struck;
        }
        user.join();
        take_interrupt();
    }
    std::signal(SIGINT, SIG_DFL);
    CHECK(struck > 0);
    // On a slow device each of the first tokens takes longer than all delays.
    for (int token = 0; token < 10 && std::ssize((*cut)[0].tokens()) < std::ssize(prompts[0]) + 10; ++token)
        cut->next();
    for (std::int64_t i = 0; i < 3; ++i) CHECK((*cut)[i].tokens() == (*plain)[i].tokens());
}

TEST_CASE("a session keeps a limited number of plans", "[session]") {
    const Model model = Model::load(test_device(), oracle_models + "gpt2");
    Session session(model, {.context = 64});
    std::vector<std::uint64_t> bytes;
    for (std::int64_t rows = 1; rows <= 20; ++rows) bytes.push_back(session.plan(rows).arena_bytes());
    CHECK(session.memory().intermediates == std::accumulate(bytes.begin() + 4, bytes.end(), std::uint64_t{0}));
    session.append(some_ids(20, 100));
    CHECK(session.next().has_value());
}

TEST_CASE("texts become the vectors that they are alone", "[batch][models]") {
    const Model model = Model::load(test_device(), oracle_models + "bert");
    std::vector<std::string> texts{"a cat", "the second text is somewhat longer than the first one and the third one",
                                   "", "dogs"};
    texts.insert(texts.end(), 33, "one of many");  // two runs of 18 lanes
    std::vector<std::int64_t> progress;
    std::size_t timed = 0;
    EmbedOptions options{.normalise = true,
                         .session = {.precision = Precision::f32, .profile = true},
                         .on_progress = [&](std::int64_t done, std::int64_t) { progress.push_back(done); },
                         .on_timings = [&](const std::vector<DispatchTiming>&) { ++timed; }};
    const Array all = embed(model, texts, options);
    CHECK((std::ssize(progress) == all.shape()[0] && progress.back() == std::ssize(texts)));
    CHECK(timed == 2);  // sizes 8 and 16
    for (const std::int64_t i : {0, 1, 2, 3, 20}) {
        Session session(model, {.precision = Precision::f32});
        session.append(at(texts, i));
        session.run();
        CHECK(difference(all.row(i), embedding(session, options)).first < 1e-4);
    }
    expect_error(ErrorKind::usage, {"encoder"}, [&] { embed(mini_world(), {"a"}); });
}
