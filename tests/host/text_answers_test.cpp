// Entities and answers from the logits of every token.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "runtime/session/text_answers.h"

using namespace vantage;
using Catch::Approx;

TEST_CASE("Entities are joined as their labels say", "[encoders]") {
    const std::vector<std::string> labels = {"O", "B-PER", "I-PER", "B-LOC", "MISC"};
    // by token: the most probable label, whose probability is 4 / 8
    const std::size_t best[] = {1, 2, 1, 0, 3, 2, 2, 4, 4, 0, 1};
    std::vector<float> logits;
    for (const std::size_t one : best)
        for (std::size_t label = 0; label < labels.size(); ++label)
            logits.push_back(label == one ? std::log(4.0F) : 0.0F);
    const std::vector<TextAnswer> found = entities(labels, logits, 1, 10);  // the first and last are special tokens
    const std::vector<TextAnswer> want = {
        {"PER", 1, 2, 0.5}, {"PER", 2, 3, 0.5}, {"LOC", 4, 5, 0.5}, {"PER", 5, 7, 0.5}, {"MISC", 7, 9, 0.5}};
    REQUIRE(found.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
        CHECK(found[i].label == want[i].label);
        CHECK(found[i].first == want[i].first);
        CHECK(found[i].last == want[i].last);
        CHECK(found[i].probability == Approx(0.5));
    }
    CHECK(entities(labels, logits, 3, 4).empty());
    CHECK(entities(labels, logits, 3, 3).empty());
}

TEST_CASE("The best answers are the most probable pairs of places", "[encoders]") {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 2);
    const std::size_t first = 4, last = 12, longest = 3;
    std::vector<float> logits(2 * 14);
    for (float& x : logits) x = normal(random);
    // by the formula: products of two softmaxes over token 0 and the tokens of the text
    double sums[2] = {0, 0};
    const auto e = [&](std::size_t i, std::size_t column) {
        return std::exp(static_cast<double>(logits[2 * i + column]));
    };
    for (std::size_t column = 0; column < 2; ++column) {
        sums[column] = e(0, column);
        for (std::size_t i = first; i < last; ++i) sums[column] += e(i, column);
    }
    std::vector<TextAnswer> all{{"", 0, 0, e(0, 0) * e(0, 1) / sums[0] / sums[1]}};
    for (std::size_t i = first; i < last; ++i)
        for (std::size_t j = i; j < last && j < i + longest; ++j)
            all.push_back({"", i, j + 1, e(i, 0) * e(j, 1) / sums[0] / sums[1]});
    std::ranges::sort(all, std::greater(), &TextAnswer::probability);
    const std::vector<TextAnswer> found = best_answers(logits, first, last, longest, 1000);
    REQUIRE(found.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        INFO(i);
        CHECK(found[i].first == all[i].first);
        CHECK(found[i].last == all[i].last);
        CHECK(found[i].probability == Approx(all[i].probability));
    }
    CHECK(best_answers(logits, first, last, longest, 2).size() == 2);
}
