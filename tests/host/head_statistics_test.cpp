// What heads do, in numbers, and which of them is worth a look: on matrices made for the purpose.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "runtime/base/at.h"
#include "runtime/base/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/inspect/head_pattern.h"
#include "runtime/inspect/salient_head.h"
#include "runtime/io/safetensors.h"
#include "runtime/ops/head_statistics.h"
#include "runtime/picture/head_chart.h"
#include "shaders/params/head_statistics.h"
#include "tests/host/expect_error.h"
#include "vantage/op.h"

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
            at(values, query * tokens + key) = static_cast<float>(weight(query, key) / sum);
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

/// What the op's reference says of heads whose weights are `weights` [heads, n, n]: with q_i the i-th unit vector and
/// k_j = ln p_.j scores are the weights' logarithms, and 0 is their log-sum-exp.
std::vector<HeadStatistics> of_weights(std::span<const float> weights, const TokenSequence& text, bool causal = true) {
    const std::int64_t n = text.size(), heads = std::ssize(weights) / (n * n);
    const auto typed = [](Shape shape, DType type = DType::f32) { return HostTensor(TensorType{shape, type}); };
    std::vector<HostTensor> in(9);
    HostTensor &q = in[0] = typed({n, heads, n}), &k = in[1] = typed({n, heads, n}),
               &tokens = in[8] = typed({n, 2}, DType::i32);
    in[2] = typed({n, heads});
    const std::vector<std::int32_t> marks = text.marks();
    for (std::int64_t i = 0; i < n; ++i) {
        tokens[2 * i] = at(text.ids, i), tokens[2 * i + 1] = at(marks, i);
        for (std::int64_t h = 0; h < heads; ++h) {
            q[(i * heads + h) * n + i] = 1;
            for (std::int64_t j = 0; j < n; ++j) {
                const auto p = static_cast<double>(at(weights, (h * n + i) * n + j));
                k[(j * heads + h) * n + i] = p == 0 ? -1e30 : std::log(p);  // NaN stays
            }
        }
    }
    OpCall call{.op = &head_statistics_op,
                .attrs = {{"scale", 1.0}, {"rows", n}, {"keys", n}},
                .inputs = {q.type, k.type, in[2].type, {}, {}, {}, {}, {}, tokens.type},
                .outputs = {}};
    if (causal) call.attrs.set("causal", true);
    std::vector<HostTensor> out;
    for (const TensorType& type : call.outputs = call.op->infer(call)) out.emplace_back(type);
    call.op->reference(call, in, out);
    const auto floats = [](const HostTensor& t) { return std::vector<float>(t.data.begin(), t.data.end()); };
    return head_statistics(floats(out[0]), floats(out[1]), {.keys = text, .causal = causal}, static_cast<int>(heads));
}

HeadStatistics of(const TokenSequence& text, const std::function<double(int, int)>& weight) {
    return of_weights(matrix(text.size(), weight), text).front();
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

// A = rows (1), (.4 .6), (.2 .5 .3), (.1 .2 .3 .4), (.1 .1 .2 .2 .4) with the tokens 7 8 7 8 7. By hand, of a sum of 5:
//   previous: .4 + .5 + .3 + .2;  duplicate, A[i, j] for j < i with the same token: .2 + .2 + (.1 + .2);
//   induction, one to the right of those, up to the query: A[2,1] + A[3,2] + A[4,1] + A[4,3] = .5 + .3 + .1 + .2
TEST_CASE("head statistics: scores are those of TransformerLens's head detector, and columns add up") {
    const TokenSequence text{.ids = {7, 8, 7, 8, 7}, .words = {}, .separators = {false, false, false, true, false}};
    const std::vector<float> a{1, 0, 0,    0,    0,    0.4f, 0.6f, 0,    0,    0,    0.2f, 0.5f, 0.3f,
                               0, 0, 0.1f, 0.2f, 0.3f, 0.4f, 0,    0.1f, 0.1f, 0.2f, 0.2f, 0.4f};
    const HeadStatistics head = of_weights(a, text).front();
    CHECK(head.previous_score == Approx(1.4 / 5));
    CHECK(head.duplicate_score == Approx(0.7 / 5));
    CHECK(head.induction_score == Approx(1.1 / 5));
    CHECK(head.total == Approx(1));
    CHECK(head.separators == Approx((0.4 + 0.2) / 2));  // the queries that count are 3 and 4
    CHECK(head.distance == Approx((0.1 * 3 + 0.2 * 2 + 0.3 + 0.1 * 4 + 0.1 * 3 + 0.2 * 2 + 0.2) / 2));
    CHECK(head.near == Approx((1 + 0.9) / 2));
    CHECK(head.effective ==
          Approx((std::exp(-0.1 * std::log(0.1) - 0.2 * std::log(0.2) - 0.3 * std::log(0.3) - 0.4 * std::log(0.4)) +
                  std::exp(-0.2 * std::log(0.1) - 0.4 * std::log(0.2) - 0.4 * std::log(0.4))) /
                 2));
    REQUIRE(head.received.size() == 5);
    CHECK(head.received[0] == Approx(1.8 / 5));
    CHECK(head.received[1] == Approx(1.4 / 4));
    CHECK(head.received[4] == Approx(0.4));
    CHECK(head.argmax_received == 1);
    CHECK(pattern_of(head).id() == "uniform");  // (1.280 / ln 4 + 1.471 / ln 5) / 2
    CHECK(pattern_of(head).rule() == "entropy relative to a uniform row 0.92 ≥ 0.85");
}

TEST_CASE("head statistics: an encoder's queries see what is behind them") {
    const TokenSequence text = different_tokens(5);
    std::vector<float> a(25);
    for (std::size_t i = 0; i < 5; ++i) a[i * 5 + std::min<std::size_t>(i + 1, 4)] = 1;  // each reads the next
    const HeadStatistics head = of_weights(a, text, false).front();
    CHECK(head.first_query == 0);
    CHECK(head.next == Approx(0.8));
    CHECK(head.self == Approx(0.2));
    CHECK(pattern_of(head).id() == "next-token");
    std::ranges::fill(a, 0.2f);
    CHECK(of_weights(a, text, false).front().relative_entropy == Approx(1));
    CHECK(of_weights(a, text, false).front().received[4] == Approx(0.2));
}

TEST_CASE("head statistics: tables have to fit the text") {
    const TokenSequence text = different_tokens(4);
    test::expect_error(ErrorKind::usage, {"4 tokens", "2 heads"}, [&] {
        static_cast<void>(head_statistics(std::vector<float>(7), {}, {.keys = text, .causal = true}, 2));
    });
}

TEST_CASE("head statistics: of cross attention and of images no number is told that has no meaning") {
    const TokenSequence read = different_tokens(4), written = different_tokens(3);
    const auto table = [](std::size_t tokens, std::size_t numbers) { return std::vector<float>(tokens * numbers); };
    std::vector<float> rows = table(3, ROW_NUMBERS), keys = table(4, KEY_NUMBERS);
    for (std::size_t i = 0; i < 3; ++i) {
        rows[i * ROW_NUMBERS + ROW_TOTAL] = 1, rows[i * ROW_NUMBERS + ROW_FIRST] = 0.25f;
        rows[i * ROW_NUMBERS + ROW_VISIBLE] = 4;
        rows[i * ROW_NUMBERS + ROW_LINKS] = 0.75f, rows[i * ROW_NUMBERS + ROW_LINKS + 1] = i == 2 ? 3.0f : -1.0f;
    }
    const HeadTexts cross{.keys = read, .queries = written};
    CHECK(cross.marks().size() == 7);
    const HeadStatistics across = head_statistics(rows, keys, cross, 1).front();
    CHECK(across.tokens == 3);
    CHECK(across.first == Approx(0.25));
    CHECK(across.received.size() == 4);
    CHECK((across.outstanding.query == 2 && across.outstanding.key == 3));
    for (const double number : {across.distance, across.near, across.self, across.previous, across.next,
                                across.previous_score, across.duplicate_score, across.induction_score})
        CHECK(std::isnan(number));
    CHECK(pattern_of(across).kind == HeadPattern::mixed);

    rows =
        table(4, ROW_NUMBERS);  // a class and three patches; of a patch's weight half is the class's, the rest 2 away
    for (std::size_t i = 0; i < 4; ++i) {
        rows[i * ROW_NUMBERS + ROW_TOTAL] = 1, rows[i * ROW_NUMBERS + ROW_FIRST] = 0.5f;
        if (i > 0) rows[i * ROW_NUMBERS + ROW_DISTANCE] = 1, rows[i * ROW_NUMBERS + ROW_NEAR] = 0.5f;
    }
    const HeadStatistics image = head_statistics(rows, keys, {.keys = read, .columns = 3}, 1).front();
    CHECK(image.distance == Approx(2));
    CHECK(image.near == Approx(0.5));
    CHECK(image.self == 0);
    CHECK((std::isnan(image.previous) && std::isnan(image.next) && std::isnan(image.duplicate_score)));
}

// "repeats" counts only what comes back further than 2 behind; a score is defined wherever any token comes back.
TEST_CASE("head statistics: a small score is a number, one of nothing is none") {
    const TokenSequence near{.ids = {1, 2, 2, 3}, .words = {}};
    const HeadStatistics head = of(near, [](int q, int k) { return q == 2 && k == 1 ? 0.01 : one_if(k == 0); });
    CHECK(head.repeats == 0);
    CHECK(head.duplicate_score == Approx(0.01 / 1.01 / 4));
    CHECK(std::isnan(of(different_tokens(4), uniform).duplicate_score));
    CHECK(std::isnan(head.separators));  // it is not known which tokens are some
}

TEST_CASE("head statistics: what went wrong is not a number, and comes last") {
    const TokenSequence text = different_tokens(5);
    std::vector<float> a = matrix(5, uniform);
    a[4 * 5 + 2] = std::numeric_limits<float>::quiet_NaN();
    const HeadStatistics head = of_weights(a, text).front();
    for (const double number : {head.entropy, head.effective, head.largest, head.total}) CHECK(std::isnan(number));
    CHECK(pattern_of(head).kind == HeadPattern::mixed);
    const double nan = std::nan("");
    std::vector<double> values{nan, 0.5, nan, -1, 2, nan, 0.5};
    std::ranges::sort(values, larger_first);
    CHECK((values[0] == 2 && values[1] == 0.5 && values[2] == 0.5 && values[3] == -1 && std::isnan(values[4])));
    for (const double x : {nan, 1.0, 2.0}) CHECK_FALSE(larger_first(x, x));
}

TEST_CASE("words are told from punctuation and from the later pieces of words") {
    const std::vector<std::string> tokens{"The",  " animal", " didn", "'t", " c", "k", ".", " '",
                                          "Then", "日",      "本",    " é", "\n", "",  "12"};
    const std::vector<bool> words = words_among(tokens);
    CHECK(words == std::vector<bool>{true, true, true, false, true, false, false, false, true, true, true, true, false,
                                     false, true});
}

TEST_CASE("the salient head is the one whose link stands out") {
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
    const std::optional<SalientHead> salient = most_salient_head(heads, 4);
    REQUIRE(salient);
    CHECK((salient->layer == 1 && salient->head == 2));
    CHECK(salient->reason == SalientHead::single_link);
    CHECK((salient->read.query == 9 && salient->read.key == 1));
    CHECK(salient->score == Approx(0.6));
}

TEST_CASE("a head that copies tells more than a weak link, and less with few repetitions") {
    TokenSequence text{.ids = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5}, .words = {}};
    const auto copy = [](int q, int k) {
        return q >= 6 ? 0.8 * one_if(k == q - 5) + 0.2 * resting(q, k) : resting(q, k);
    };
    const std::vector<HeadStatistics> heads{of(text, [](int q, int k) { return one_link(q, k, 9, 5, 0.5); }),
                                            of(text, copy)};
    const std::optional<SalientHead> salient = most_salient_head(heads, 2);
    REQUIRE(salient);
    CHECK(salient->head == 1);
    CHECK(salient->reason == SalientHead::induction);
    CHECK(salient->read.key == salient->read.query - 5);
    CHECK(salient->score == Approx(0.8 * 5 / 6));
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

TEST_CASE("a Gaussian around an offset is fitted with its width") {
    const TokenSequence text = different_tokens(80);
    const auto gaussian = [&](double offset, double sigma) {
        return of_weights(
                   [&] {  // both sides, so that nothing is cut off but at the ends of the text
                       std::vector<float> p(80 * 80);
                       for (int i = 0; i < 80; ++i) {
                           double sum = 0;
                           const auto weight = [&](int j) {
                               return std::exp(-std::pow(j - i - offset, 2) / (2 * sigma * sigma));
                           };
                           for (int j = 0; j < 80; ++j) sum += weight(j);
                           for (int j = 0; j < 80; ++j) at(p, i * 80 + j) = static_cast<float>(weight(j) / sum);
                       }
                       return p;
                   }(),
                   text, false)
            .front();
    };
    CHECK(gaussian(0, 2).sigma == Approx(2).epsilon(0.03));
    CHECK(gaussian(0, 2).offset == Approx(0).margin(0.01));
    CHECK(gaussian(-3, 1).sigma == Approx(1).epsilon(0.2));  // the first rows have no key so far back
    CHECK(gaussian(-3, 1).offset == Approx(-3).epsilon(0.05));
    // moments by hand: half on the token before, half on the one three before that
    const HeadStatistics two =
        of(text, [](int q, int k) { return q < 4 ? itself(q, k) : one_if(k == q - 1 || k == q - 4); });
    const double rows = 77, offset = -2.5 * 76 / rows, squared = 8.5 * 76 / rows;  // row 3 attends to itself
    CHECK(two.offset == Approx(offset));
    CHECK(two.sigma == Approx(std::sqrt(squared - offset * offset)));
}

TEST_CASE("no head tells anything in a text without far keys") {
    const std::vector<HeadStatistics> heads{of(different_tokens(3), uniform), of(different_tokens(3), itself)};
    CHECK_FALSE(most_salient_head(heads, 2));
    CHECK_FALSE(most_salient_head({}, 2));
}

TEST_CASE("every head has one pattern, with a sentence and a short label") {
    const TokenSequence text = different_tokens(10);
    const auto pattern = [&](const std::function<double(int, int)>& weight) { return pattern_of(of(text, weight)); };
    CHECK(pattern(uniform).kind == HeadPattern::uniform);
    CHECK(pattern(resting).kind == HeadPattern::attention_sink);
    CHECK(pattern(resting).text() == "rests on the first token (1.00)");
    CHECK(pattern([](int q, int k) { return 0.72 * back_by(1, q, k) + 0.28 * resting(q, k); }).short_label() ==
          "prev .72");
    CHECK(pattern(itself).short_label() == "self 1");
    CHECK(pattern([](int q, int k) {
              return 0.4 * back_by(1, q, k) + 0.4 * itself(q, k) + 0.2 * resting(q, k);
          }).kind == HeadPattern::local);
    CHECK(pattern([](int q, int k) { return 0.45 * back_by(1, q, k) + 0.55 * one_if(k == std::max(0, q - 5)); }).kind ==
          HeadPattern::mixed);
    CHECK(pattern([](int q, int k) { return stripe(q, k, 2); }).kind == HeadPattern::broadcast);
}

TEST_CASE("a head that rests on separators has the pattern separator, unless the separator is the first token") {
    TokenSequence text = different_tokens(10);
    text.separators.assign(10, false);
    text.separators[2] = true;
    const auto on_third = [](int q, int k) { return stripe(q, k, 2); };
    CHECK(pattern_of(of(text, on_third)).kind == HeadPattern::separator);
    text.separators[0] = true;
    CHECK(pattern_of(of(text, resting)).kind == HeadPattern::attention_sink);
}

// The first row of the table of patterns in docs/reading-attention.md that begins with this id, cell by cell.
std::vector<std::string> row_of_page(const std::string& page, const std::string& id) {
    const std::size_t table = page.find("## Patterns"), at = page.find("\n| `" + id + "` |", table);
    std::vector<std::string> cells;
    if (at == std::string::npos) return cells;
    std::istringstream line(page.substr(at + 3, page.find('\n', at + 1) - at - 3));
    for (std::string cell; std::getline(line, cell, '|');)
        cells.push_back(cell.substr(std::min<std::size_t>(1, cell.size()), cell.size() - 2));
    return cells;
}

TEST_CASE("the table of head patterns, the page on them and the colours of pictures agree") {
    const std::string page = read_file(std::string(VANTAGE_ROOT) + "/docs/reading-attention.md");
    std::size_t rows = 0;
    for (std::size_t at = page.find("## Patterns"); (at = page.find("\n| `", at + 1)) < page.find("## Salience");)
        ++rows;
    CHECK(rows == head_patterns().size());
    std::set<std::vector<int>> colours;
    for (const PatternInfo& info : head_patterns()) {
        INFO(info.id);
        CHECK(&info == &info_of(info.kind));
        const std::vector<std::string> cells = row_of_page(page, info.id);
        REQUIRE(cells.size() == 5);
        CHECK(cells[1] == info.column);
        CHECK(cells[3] == (info.minimum > 0 ? format("{:.2f}", info.minimum) : "–"));
        CHECK(cells[4] == info.definition);
        const Rgb colour = pattern_colour(info.id);
        CHECK(colours.insert({colour.r, colour.g, colour.b}).second);
    }
}

TEST_CASE("the most salient heads come in order, each once") {
    const TokenSequence text = different_tokens(14);
    const std::vector<HeadStatistics> heads{of(text, uniform),
                                            of(text, [](int q, int k) { return one_link(q, k, 9, 1, 0.4); }),
                                            of(text, [](int q, int k) { return one_link(q, k, 9, 1, 0.6); }),
                                            of(text, [](int q, int k) { return one_link(q, k, 8, 2, 0.5); })};
    const std::vector<SalientHead> best = salient_heads(heads, 2, 2);
    REQUIRE(best.size() == 2);
    CHECK((best[0].layer == 1 && best[0].head == 0));
    CHECK((best[1].layer == 1 && best[1].head == 1));
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
        entry.data.read(0, std::as_writable_bytes(std::span(weights)));
        const std::size_t each = texts.size() * texts.size();
        std::vector<HeadStatistics> heads;
        for (std::size_t head = 0; head < weights.size() / each; ++head)
            heads.push_back(of_weights(std::span(weights).subspan(head * each, each), text).front());
        const std::optional<SalientHead> salient = most_salient_head(heads, static_cast<int>(entry.shape[1]));
        REQUIRE(salient);
        CHECK(salient->reason == SalientHead::single_link);
        CHECK(at(texts, salient->read.query) == links[i].first);
        CHECK(at(texts, salient->read.key) == links[i].second);
    }
}
