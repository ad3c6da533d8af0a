// Texts that follow a grammar, drawn on the device.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oracle_model.h"
#include "runtime/gpu/faults.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;

namespace {

const char* person =
    R"({"properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "maximum": 99},
                                        "pets": {"type": "array", "items": {"enum": ["dog", "cat"]}, "maxItems": 2}},
                         "required": ["name", "age", "pets"], "additionalProperties": false})";

Sampling drawn_with(const Grammar& grammar, std::uint64_t seed) {
    return {.temperature = 1.5, .seed = seed, .grammar = grammar};
}

SessionOptions biased() { return {.context = 256, .precision = Precision::f32, .token_bias = true}; }

/// What follows a prompt, without an end token.
std::string text_of(const std::vector<std::int32_t>& ids) { return mini_world().tokenizer().decode(ids, true); }

}  // namespace

TEST_CASE("what a session draws is JSON of the schema", "[grammar]") {
    const Grammar grammar = Grammar::json_schema(person);
    Session session(mini_world(), biased());
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        session.restart(drawn_with(grammar, seed));
        session.append("The dog");
        const std::string text = text_of(session.generate(200));
        CAPTURE(text);
        CHECK(session.ended());
        CHECK(!session.dead_end());
        CHECK(grammar.accepts(text));
        const nlohmann::json object = nlohmann::json::parse(text);
        CHECK(object["name"].is_string());
        CHECK(object["age"].get<std::int64_t>() <= 99);
        CHECK(object["pets"].size() <= 2);
    }
}

TEST_CASE("each text of a batch follows its own grammar, and is the one that it is alone", "[grammar]") {
    const std::vector<Grammar> grammars{Grammar::json_schema(person), Grammar::regex("(the|a) [a-z]{3,8}\\."),
                                        Grammar::json_object()};
    SessionOptions options = biased();
    options.stable = true;
    Batch batch(mini_world(), 4, options);
    for (std::int64_t i = 0; i < 4; ++i) {  // the last one has none
        const auto seed = static_cast<std::uint64_t>(i);
        batch[i].restart(i < 3 ? drawn_with(grammars[seed], seed) : Sampling{.ignore_end = true});
        batch[i].append("A red key");
    }
    batch.generate(60);
    for (std::int64_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        Session session(mini_world(), options);
        const auto seed = static_cast<std::uint64_t>(i);
        session.restart(i < 3 ? drawn_with(grammars[seed], seed) : Sampling{.ignore_end = true});
        session.append("A red key");
        session.generate(60);
        CHECK(batch[i].tokens() == session.tokens());
    }
    CHECK(batch[1].ended());
}

TEST_CASE("a text with a grammar or penalties that begins beside another is the one that it is alone", "[grammar]") {
    const bool few = GENERATE(false, true);
    SessionOptions options = biased();
    options.stable = true;
    options.fewest_lanes = few;
    // whose draws wait for the host, so that nothing runs ahead of it
    Sampling first{.temperature = 0.7, .seed = 8, .ignore_end = true}, penalised = first;
    first.presence_penalty = 1, penalised.frequency_penalty = 2;
    for (const Sampling& second : {drawn_with(Grammar::json_schema(person), 1), penalised}) {
        Batch batch(mini_world(), 3, options);
        batch[0].restart(first);
        batch[0].append("The dog");
        batch.generate(5);
        batch[1].restart(second);
        batch[1].append("A red key");
        batch.generate(3);
        batch[2].restart({.ignore_end = true});
        batch[2].append("A");  // a run of one row
        batch.generate(40);
        Session session(mini_world(), options);
        session.restart(second);
        session.append("A red key");
        session.generate(43);
        CHECK(batch[1].tokens() == session.tokens());
        session.restart(first);
        session.append("The dog");
        session.generate(48);
        CHECK(batch[0].tokens() == session.tokens());
    }
}

TEST_CASE("a text goes on where it was after a loss, and begins anew after `append`", "[grammar][recover]") {
    const Grammar grammar = Grammar::json_schema(person);
    Session session(mini_world(), biased());
    session.restart(drawn_with(grammar, 3));
    session.append("The dog");
    const std::vector<std::int32_t> whole = session.generate(200);

    const WithoutGuard fewer_submissions;
    const auto open = [] { return Model::load(Device::open(), VANTAGE_ROOT "/assets/models/mini-world"); };
    Session second(open(), biased());
    second.restart(drawn_with(grammar, 3));
    second.append("The dog");
    std::vector<std::int32_t> ids = second.generate(5);
    gpu::arm_fault(gpu::FaultPoint::submit, 1, VK_ERROR_DEVICE_LOST);
    expect_error(ErrorKind::device_lost, {}, [&] { second.next(); });
    second.recover(open);
    for (const std::int32_t id : second.generate(200)) ids.push_back(id);
    CHECK(ids == whole);

    second.append(" and");
    CHECK(grammar.accepts(text_of(second.generate(200))));
}

TEST_CASE("a text that nothing may follow ends, and leaves the others of its batch alone", "[grammar]") {
    Sampling none = drawn_with(Grammar::regex("[a-z]+"), 1);
    for (std::int32_t token = 0; token < mini_world().tokenizer().vocab_size(); ++token)
        none.logit_bias.emplace_back(token, -std::numeric_limits<float>::infinity());
    Sampling after_one = drawn_with(Grammar::regex("ab"), 1);
    for (std::int32_t token = 0; token < mini_world().tokenizer().vocab_size(); ++token)
        if (mini_world().tokenizer().token_bytes(token).starts_with("b"))
            after_one.logit_bias.emplace_back(token, -std::numeric_limits<float>::infinity());
    for (std::int32_t token = 0; token < mini_world().tokenizer().vocab_size(); ++token)
        if (mini_world().tokenizer().token_bytes(token) == "ab")
            after_one.logit_bias.emplace_back(token, -std::numeric_limits<float>::infinity());
    Batch batch(mini_world(), 3, biased());
    batch[0].restart({.ignore_end = true});
    batch[1].restart(none);
    batch[2].restart(after_one);
    for (int i = 0; i < 3; ++i) batch[i].append("The dog");
    batch.generate(10);
    CHECK(batch[0].tokens().size() == 12);
    CHECK(batch[1].tokens().size() == 2);
    CHECK(batch[1].dead_end());
    CHECK(batch[2].tokens().size() == 3);
    CHECK(batch[2].dead_end());

    Session session(mini_world(), biased());
    session.restart(none);
    session.append("The dog");
    CHECK(!session.next());
    CHECK(session.dead_end());
    session.set_sampling(drawn_with(Grammar::regex(" [a-z]{2}"), 2));
    session.rewind(2);  // it goes on: the text of the grammar begins where it was set
    CHECK(text_of(session.generate(20)).size() == 3);
    CHECK(!session.dead_end());
}

TEST_CASE("grammars that a session cannot follow are refused", "[grammar]") {
    Session without(mini_world(), {.context = 64});
    expect_error(ErrorKind::usage, {"token_bias"}, [&] { without.restart(drawn_with(Grammar::json_object(), 1)); });
    expect_error(ErrorKind::usage, {"only the empty text"}, [] { static_cast<void>(Grammar::regex("")); });
}
