// What heads do, in numbers, and which of them is worth a look: on matrices made for the purpose.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "runtime/inspect/head_habit.h"
#include "runtime/inspect/telling_head.h"
#include "runtime/io/json.h"
#include "runtime/io/safetensors.h"
#include "tests/host/expect_error.h"

using namespace vantage;
using Catch::Approx;

namespace {

/// Weights by (query, key); rows are made to sum to 1.
std::vector<float> matrix(int tokens, const std::function<double(int, int)>& weight) {
    std::vector<float> values(static_cast<std::size_t>(tokens * tokens));
    for (int query = 0; query < tokens; ++query) {
        double sum = 0;
        for (int key = 0; key <= query; ++key) sum += weight(query, key);
        for (int key = 0; key <= query; ++key)
            values[static_cast<std::size_t>(query * tokens + key)] = static_cast<float>(weight(query, key) / sum);
    }
    return values;
}

TokenSequence different_tokens(int count) {
    TokenSequence text;
    text.ids.resize(static_cast<std::size_t>(count));
    std::iota(text.ids.begin(), text.ids.end(), 100);
    return text;
}

double one_if(bool condition) { return condition ? 1 : 0; }

// Heads as they come.
double uniform(int, int) { return 1; }
double resting(int, int key) { return one_if(key == 0); }
double back_by(int distance, int query, int key) { return one_if(key == std::max(0, query - distance)); }
double itself(int query, int key) { return one_if(key == query); }
/// Rests on the first token, but for one link.
double one_link(int query, int key, int from, int to, double strength) {
    if (query != from) return resting(query, key);
    return key == to ? strength : key == 0 ? 1 - strength : 0;
}
/// Every query reads key `to` for the most part.
double stripe(int query, int key, int to) {
    return query <= to ? resting(query, key) : key == to ? 0.9 : key == 0 ? 0.1 : 0;
}

HeadStatistics of(const TokenSequence& text, const std::function<double(int, int)>& weight) {
    return head_statistics(matrix(text.size(), weight), text);
}

}  // namespace

TEST_CASE("head statistics: entropy runs from 0 to that of a uniform row") {
    const TokenSequence text = different_tokens(12);
    const HeadStatistics even = of(text, uniform), sharp = of(text, resting);
    double wanted = 0;
    for (int query = 3; query < 12; ++query) wanted += std::log(query + 1.0) / 9;
    CHECK(even.first_query == 3);
    CHECK(even.entropy == Approx(wanted));
    CHECK(even.relative_entropy == Approx(1));
    CHECK(sharp.entropy == 0);
    CHECK(sharp.relative_entropy == 0);
    CHECK(sharp.largest == 1);
}

TEST_CASE("head statistics: masses are shares of what is read") {
    const TokenSequence text = different_tokens(10);
    CHECK(of(text, resting).first == 1);
    CHECK(of(text, [](int q, int k) { return back_by(1, q, k); }).previous == 1);
    CHECK(of(text, itself).self == 1);
    const HeadStatistics mixed =
        of(text, [](int q, int k) { return 0.2 * resting(q, k) + 0.5 * back_by(1, q, k) + 0.3 * itself(q, k); });
    CHECK(mixed.first == Approx(0.2));
    CHECK(mixed.previous == Approx(0.5));
    CHECK(mixed.self == Approx(0.3));
    CHECK(mixed.repeats == 0);
}

TEST_CASE("head statistics: induction and duplicates follow the token ids") {
    const TokenSequence text{.ids = {1, 2, 3, 4, 5, 1, 2, 3, 4}, .words = {}};
    const HeadStatistics copying = of(text, [](int q, int k) { return one_if(q >= 5 ? k == q - 4 : k == 0); });
    CHECK(copying.repeats == 4);
    CHECK(copying.induction == Approx(1));
    CHECK(copying.duplicate == 0);
    CHECK((copying.strongest_induction.query == 5 && copying.strongest_induction.key == 1));
    const HeadStatistics same = of(text, [](int q, int k) { return one_if(q >= 5 ? k == q - 5 : k == 0); });
    CHECK(same.induction == 0);
    CHECK(same.duplicate == Approx(1));
    // several earlier occurrences count together
    const TokenSequence thrice{.ids = {7, 1, 2, 7, 3, 4, 7}, .words = {}};
    const HeadStatistics split =
        of(thrice, [](int q, int k) { return q == 6 ? (k == 1 || k == 4 ? 0.5 : 0) : resting(q, k); });
    CHECK(split.repeats == 2);
    CHECK(split.induction == Approx(0.5));  // all of the last row's mass, none of the one at 3, which rests
}

TEST_CASE("head statistics: what came next does not count where it is the token before, or the query") {
    const TokenSequence text{.ids = {1, 2, 3, 9, 9, 8, 9},
                             .words = {}};  // 9 at 3, 4, 6: next to each other, and one between
    const HeadStatistics head = of(text, [](int q, int k) { return back_by(1, q, k); });
    CHECK(head.repeats == 1);  // the 9 at 6 for the one at 3
    CHECK(head.induction == 0);
}

TEST_CASE("head statistics: the first rows do not count, unless there are no others") {
    const HeadStatistics one = of(different_tokens(1), uniform);
    CHECK(one.first_query == 0);
    CHECK(one.entropy == 0);
    CHECK(one.relative_entropy == 0);
    CHECK((one.strongest.query == 0 && one.strongest.key == 0 && one.strongest.weight == 1));
    CHECK(of(different_tokens(2), uniform).first_query == 1);
    CHECK(of(different_tokens(4), uniform).first_query == 3);
    const HeadStatistics linked = of(different_tokens(8), [](int q, int k) { return one_link(q, k, 6, 2, 0.7); });
    CHECK((linked.strongest.query == 3 && linked.strongest.key == 0));
    CHECK((linked.outstanding.query == 6 && linked.outstanding.key == 2));
    CHECK(linked.outstanding.weight == Approx(0.7f));
}

TEST_CASE("head statistics: rows one by one give what the matrix gives, and have to fit") {
    const TokenSequence text = different_tokens(20);
    const std::vector<float> weights = matrix(20, [](int q, int k) { return 1 + std::sin(3.0 * q * k); });
    HeadReader reader(text);
    for (std::size_t q = 0; q < 20; ++q)
        reader.add(std::span(weights).subspan(q * 20, q + 1));  // no more keys than it sees
    const HeadStatistics by_rows = reader.finished(), whole = head_statistics(weights, text);
    CHECK(by_rows.entropy == whole.entropy);
    CHECK(by_rows.standing_out == whole.standing_out);
    test::expect_error(ErrorKind::usage, {"20 tokens", "row 20"}, [&] { reader.add(weights); });
    test::expect_error(ErrorKind::usage, {"20 tokens", "only 1 rows"}, [&] {
        HeadReader early(text);
        early.add(weights);
        static_cast<void>(early.finished());
    });
    test::expect_error(ErrorKind::usage, {"400"},
                       [&] { static_cast<void>(head_statistics(std::span(weights).first(399), text)); });
}

TEST_CASE("words are told from punctuation and from the later pieces of words") {
    const std::vector<std::string> tokens{"The",  " animal", " didn", "'t", " c", "k", ".", " '",
                                          "Then", "日",      "本",    " é", "\n", "",  "12"};
    const std::vector<bool> words = words_among(tokens);
    CHECK(words == std::vector<bool>{true, true, true, false, true, false, false, false, true, true, true, true, false,
                                     false, true});
}

TEST_CASE("the telling head is the one whose link stands out") {
    const TokenSequence text = different_tokens(14);
    const std::vector<HeadStatistics> heads{
        of(text, uniform),
        of(text, resting),
        of(text, [](int q, int k) { return back_by(1, q, k); }),
        of(text, itself),
        of(text, [](int q, int k) { return back_by(2, q, k); }),
        of(text, [](int q, int k) { return stripe(q, k, 2); }),
        of(text, [](int q, int k) { return one_link(q, k, 9, 1, 0.6); }),
        of(text, [](int q, int k) { return one_link(q, k, 9, 1, 0.4); }),
    };
    for (std::size_t i = 0; i < 4; ++i) CHECK(heads[i].standing_out < 0.05);  // uniform, resting, before, itself
    CHECK(heads[4].standing_out < 0.1);                                       // always two back: a place, not a content
    CHECK(heads[5].standing_out < 0.01);                                      // everyone reads the same
    const std::optional<TellingHead> telling = most_telling_head(heads, 4);
    REQUIRE(telling);
    CHECK((telling->layer == 1 && telling->head == 2));
    CHECK(telling->reason == TellingHead::stands_out);
    CHECK((telling->read.query == 9 && telling->read.key == 1));
    CHECK(telling->score == Approx(0.6));
}

TEST_CASE("a head that copies tells more than a weak link, and less with few repetitions") {
    TokenSequence text{.ids = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5}, .words = {}};
    const auto copy = [](int q, int k) {
        return q >= 6 ? 0.8 * one_if(k == q - 5) + 0.2 * resting(q, k) : resting(q, k);
    };
    const std::vector<HeadStatistics> heads{of(text, [](int q, int k) { return one_link(q, k, 9, 5, 0.5); }),
                                            of(text, copy)};
    const std::optional<TellingHead> telling = most_telling_head(heads, 2);
    REQUIRE(telling);
    CHECK(telling->head == 1);
    CHECK(telling->reason == TellingHead::copies);
    CHECK(telling->read.key == telling->read.query - 5);
    CHECK(telling->score == Approx(0.8 * 5 / 6));
    // one repetition may be chance
    text.ids = {1, 2, 3, 4, 5, 6, 1, 7, 8, 9, 10};
    const HeadStatistics once = of(text, copy);
    CHECK(once.repeats == 1);
    CHECK(once.induction / 2 == Approx(0.4));
}

TEST_CASE("links of punctuation and word pieces do not stand out") {
    TokenSequence text = different_tokens(12);
    text.words.assign(12, true);
    text.words[8] = text.words[3] = false;
    CHECK(of(text, [](int q, int k) { return one_link(q, k, 8, 2, 0.9); }).standing_out == 0);
    CHECK(of(text, [](int q, int k) { return one_link(q, k, 9, 3, 0.9); }).standing_out == 0);
    CHECK(of(text, [](int q, int k) { return one_link(q, k, 9, 4, 0.9); }).standing_out == Approx(0.9));
}

TEST_CASE("no head tells anything in a text without far keys") {
    const std::vector<HeadStatistics> heads{of(different_tokens(3), uniform), of(different_tokens(3), itself)};
    CHECK_FALSE(most_telling_head(heads, 2));
    CHECK_FALSE(most_telling_head({}, 2));
}

TEST_CASE("a head's habit is named, and said in a note") {
    const TokenSequence text = different_tokens(10);
    const auto habit = [&](const std::function<double(int, int)>& weight) { return habit_of(of(text, weight)); };
    CHECK(habit(uniform).kind == HeadHabit::spread);
    CHECK(habit(resting).kind == HeadHabit::first);
    CHECK(habit(resting).text() == "rests on the first token (1.00)");
    CHECK(habit([](int q, int k) { return 0.72 * back_by(1, q, k) + 0.28 * resting(q, k); }).note() == "before .72");
    CHECK(habit(itself).note() == "self 1");
    CHECK(habit([](int q, int k) { return 0.4 * back_by(1, q, k) + 0.4 * itself(q, k) + 0.2 * resting(q, k); }).kind ==
          HeadHabit::mixed);
}

TEST_CASE("in the built-in model the rule finds what a person would point at") {
    const std::string folder = std::string(VANTAGE_ROOT) + "/assets/models/mini-world/";
    const SafeTensors file(folder + "expected.safetensors");
    const Json prompts = read_json(folder + "expected.json").at("prompts");
    const std::vector<std::pair<std::string, std::string>> links{{" it", " animal"}, {" cabinet", " keys"}};
    for (std::size_t i = 0; i < links.size(); ++i) {
        INFO(prompts.at(i).at("prompt").get<std::string>());
        const auto texts = prompts.at(i).at("tokens").get<std::vector<std::string>>();
        const TokenSequence text{.ids = prompts.at(i).at("input_ids").get<std::vector<std::int32_t>>(),
                                 .words = words_among(texts)};
        const TensorEntry& entry = file.at(std::to_string(i) + ".attentions");  // [layers, heads, tokens, tokens]
        std::vector<float> weights(entry.data.size() / sizeof(float));
        std::memcpy(weights.data(), entry.data.data(), entry.data.size());
        const std::size_t each = texts.size() * texts.size();
        std::vector<HeadStatistics> heads;
        for (std::size_t head = 0; head < weights.size() / each; ++head)
            heads.push_back(head_statistics(std::span(weights).subspan(head * each, each), text));
        const std::optional<TellingHead> telling = most_telling_head(heads, static_cast<int>(entry.shape[1]));
        REQUIRE(telling);
        CHECK(telling->reason == TellingHead::stands_out);
        CHECK(texts[static_cast<std::size_t>(telling->read.query)] == links[i].first);
        CHECK(texts[static_cast<std::size_t>(telling->read.key)] == links[i].second);
    }
}
