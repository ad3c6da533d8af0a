// Generator: text in, text out, over the built-in model.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "test_model.h"
#include "vantage/vantage.h"

using namespace vantage;

namespace {

const char* animal_text = "The animal didn't cross the street because it was too tired.";
const char* greedy_text = " The animal was too tired, not the street.";

}  // namespace

TEST_CASE("a loop over a stream, a callback and a whole text give the same", "[generator]") {
    Generator generator(mini_world(), {}, {.max_tokens = 12, .session = {.precision = Precision::f32}});
    CHECK(generator.complete(animal_text) == greedy_text);
    std::string streamed, called;
    int pieces = 0;
    for (const Token& token : generator.stream(animal_text)) streamed += token.text, ++pieces;
    CHECK(streamed == greedy_text);
    CHECK(pieces > 5);
    CHECK(generator.generate(animal_text, [&](const Token& token) { return called += token.text, true; }) ==
          Ending::end_token);
    CHECK(called == greedy_text);
}

TEST_CASE("a text ends where it is told to", "[generator]") {
    std::string text;
    const auto append = [&](const Token& token) { return text += token.text, true; };
    Generator stops(mini_world(), {},
                    {.max_tokens = 12, .stop = {", not", "", "street"}, .session = {.precision = Precision::f32}});
    CHECK(stops.generate(animal_text, append) == Ending::stop_text);
    CHECK(text == " The animal was too tired");  // the longer part of a stop text is never shown
    Generator few(mini_world(), {.ignore_end = true}, {.max_tokens = 3});
    CHECK(few.generate(animal_text, append) == Ending::length);
    CHECK(few.session().stats().generated_tokens == 3);
    Generator fills(mini_world(), {.ignore_end = true}, {.session = {.context = 20}});
    CHECK(fills.generate(animal_text, append) == Ending::context_full);
    CHECK(fills.session().context_full());
    Generator left(mini_world(), {.ignore_end = true});
    int seen = 0;
    left.generate(animal_text, [&](const Token&) { return ++seen < 2; });
    CHECK(seen == 2);
}

TEST_CASE("a model without recommendations is sampled at 0.8 and 0.95", "[generator]") {
    const Sampling sampling = recommended_sampling(mini_world());
    CHECK(sampling.temperature == 0.8);
    CHECK(sampling.top_p == 0.95);
    CHECK(sampling.repeat_penalty == 1);
    Generator generator(mini_world());
    const std::string text = generator.complete("Mia put the");
    CHECK(text == generator.complete("Mia put the"));  // the seed is counted from the beginning of each text
}
