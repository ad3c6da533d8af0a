// Sampling on the device: what is drawn, how often, and when nothing is.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>

#include "runtime/base/at.h"
#include "runtime/ops/sampling.h"
#include "shaders/params/step.h"
#include "test_device.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

using namespace vantage;

namespace {

constexpr int draws_per_run = 32;

struct Settings {
    SamplingRule rule;
    float penalty = 1;
    std::uint32_t seed = 1, end = 1, limit = 4096;
    std::vector<std::uint32_t> end_tokens;
};

std::vector<std::byte> step_bytes(const Settings& s, std::uint32_t position, std::uint32_t valid) {
    std::array<std::uint32_t, STEP_WORDS> words{};
    words[STEP_POSITION] = position, words[STEP_VALID] = valid;
    words[STEP_END] = s.end, words[STEP_LIMIT] = s.limit, words[STEP_SEED_LOW] = s.seed;
    words[STEP_TEMPERATURE] = std::bit_cast<std::uint32_t>(s.rule.temperature), words[STEP_TOP_K] = s.rule.top_k;
    words[STEP_TOP_P] = std::bit_cast<std::uint32_t>(s.rule.top_p),
    words[STEP_MIN_P] = std::bit_cast<std::uint32_t>(s.rule.min_p);
    words[STEP_PENALTY] = std::bit_cast<std::uint32_t>(s.penalty),
    words[STEP_END_TOKENS] = static_cast<std::uint32_t>(s.end_tokens.size());
    std::copy(s.end_tokens.begin(), s.end_tokens.end(), words.begin() + STEP_END_TOKEN);
    std::vector<std::byte> bytes(sizeof words);
    std::memcpy(bytes.data(), words.data(), sizeof words);
    return bytes;
}

// A model without layers: the same logits for every token. One run takes `rows` known tokens at a time, several times.
class Sampler {
public:
    explicit Sampler(const std::vector<float>& logits, int draws = draws_per_run, std::int64_t rows = 1)
        : plan_(graph_of(static_cast<std::int64_t>(logits.size()), draws, rows), test_device()) {
        plan_.write("logits", std::span(logits));
    }

    // The first token is 0 unless given; words are set as a session would.
    void start(const Settings& s, std::vector<std::int32_t> prompt = {0}) {
        prompt.resize(4096);
        plan_.write("tokens", std::span<const std::int32_t>(prompt));
        plan_.write_bytes("step", step_bytes(s, 0, 0));
        plan_.write_bytes("seen", std::vector<std::byte>(plan_.read_bytes("seen").size()));
    }
    void run(int times = 1) {
        for (int i = 0; i < times; ++i) plan_.run();
    }
    std::uint32_t word(int i) const { return static_cast<std::uint32_t>(at(plan_.read("step").values(), i)); }
    // What lies from place `first` on up to `end`.
    std::vector<std::size_t> tokens(std::uint32_t first = 1) const {
        const std::vector<float> all = plan_.read("tokens").vector();
        return {all.begin() + first, all.begin() + word(STEP_END)};
    }
    std::vector<std::size_t> draw(const Settings& s, int times) {
        start(s);
        run(times);
        return tokens();
    }

private:
    static Graph graph_of(std::int64_t vocab, int draws, std::int64_t rows) {
        Graph g;
        const Tensor logits = g.input("logits", {1, vocab});
        Tensor tokens = g.state("tokens", {4096}, DType::i32), step = g.state("step", {STEP_WORDS}, DType::u32);
        Tensor seen = g.state("seen", {(vocab + 31) / 32}, DType::u32);
        for (int i = 0; i < draws; ++i) {
            step = begin_step(step, rows);
            seen = mark_seen(seen, tokens, step);
            const SampleResult next = sample(logits, tokens, step, seen);
            tokens = next.tokens, step = next.step;
        }
        return g;
    }
    Plan plan_;
};

std::vector<float> random_logits(std::size_t vocab, unsigned seed, float deviation) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> x(vocab);
    for (float& value : x) value = normal(random);
    return x;
}

std::vector<double> probabilities(const std::vector<float>& logits, SamplingRule rule) {
    const std::vector<std::uint64_t> weights =
        sampling_weights(std::vector<double>(logits.begin(), logits.end()), rule);
    const double total = static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    std::vector<double> p;
    p.reserve(weights.size());
    for (std::uint64_t weight : weights) p.push_back(static_cast<double>(weight) / total);
    return p;
}

// Pearson's statistic in units of its standard deviation above its mean; cells that expect less than five draws are
// joined.
double surprise(const std::vector<double>& counts, const std::vector<double>& expected) {
    double statistic = 0, cells = 0, rest = 0, rest_expected = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (expected[i] < 5) {
            rest += counts[i], rest_expected += expected[i];
            continue;
        }
        statistic += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
        ++cells;
    }
    if (rest_expected >= 5) statistic += (rest - rest_expected) * (rest - rest_expected) / rest_expected, ++cells;
    return (statistic - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

std::vector<double> count(const std::vector<std::size_t>& tokens, std::size_t vocab) {
    std::vector<double> counts(vocab);
    for (std::size_t token : tokens) ++counts.at(token);
    return counts;
}

}  // namespace

TEST_CASE("a step as the host writes it has the words that kernels read", "[sampling]") {
    const Settings s{.rule = {.temperature = 0.7f, .top_k = 40, .top_p = 0.9f, .min_p = 0.05f},
                     .penalty = 1.3f,
                     .seed = 77,
                     .end = 12,
                     .limit = 64,
                     .end_tokens = {5, 9}};
    const std::vector<std::int32_t> words = Step{
        .position = 3,
        .valid = 0,
        .end = 12,
        .limit = 64,
        .seed = 77,
        .sampling = {0.7, 40, 0.9, 0.05},
        .repeat_penalty = 1.3,
        .end_tokens = {5, 9}}.words();
    std::vector<std::byte> want = step_bytes(s, 3, 0);
    const std::uint32_t keys = 3;
    std::memcpy(want.data() + STEP_KEYS * 4, &keys, 4);
    CHECK(std::ranges::equal(std::as_bytes(std::span(words)), want));
    CHECK_THROWS_AS(Step{.position = -1}.words(), Error);
    CHECK_THROWS_AS((Step{.sampling = {.temperature = std::nan("")}}.words()), Error);
    CHECK(Step{.seed = std::uint64_t{7} << 32}.words()[STEP_SEED_HIGH] == 7);
    CHECK(Step{.done = true, .end_tokens = std::vector<std::int32_t>(12, 1)}.words()[STEP_END_TOKENS] == 8);
}

TEST_CASE("tokens are drawn as often as their probabilities say", "[sampling]") {
    const std::vector<float> logits = random_logits(50, 3, 1.5f);
    Sampler sampler(logits);
    const SamplingRule narrow{.temperature = 0.7f, .top_k = 20, .top_p = 0.95f, .min_p = 0.02f};
    for (const Settings& settings : {Settings{.seed = 1}, Settings{.rule = narrow, .seed = 4000000000u}}) {
        const std::vector<std::size_t> tokens = sampler.draw(settings, 1600 / draws_per_run);
        std::vector<double> expected = probabilities(logits, settings.rule);
        for (double& p : expected) p *= static_cast<double>(tokens.size());
        const std::vector<double> counts = count(tokens, logits.size());
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (expected[i] == 0) CHECK(counts[i] == 0);
        CHECK(std::abs(surprise(counts, expected)) < 3.5);
    }
}

TEST_CASE("one draw tells nothing about the next", "[sampling]") {
    const std::vector<float> logits{0, 0.5f, 1, 0.2f};
    const std::vector<std::size_t> tokens = Sampler(logits).draw({.seed = 11}, 1600 / draws_per_run);
    const std::vector<double> p = probabilities(logits, {});
    std::vector<double> pairs(16), expected(16);
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) ++pairs[tokens[i] * 4 + tokens[i + 1]];
    for (std::size_t i = 0; i < 16; ++i) expected[i] = p[i / 4] * p[i % 4] * static_cast<double>(tokens.size() - 1);
    CHECK(std::abs(surprise(pairs, expected)) < 3.5);
}

TEST_CASE("the seed and the place decide a draw, and nothing else", "[sampling]") {
    Sampler sampler(random_logits(997, 5, 1));
    const std::vector<std::size_t> first = sampler.draw({.seed = 42}, 4), other = sampler.draw({.seed = 43}, 4);
    CHECK(sampler.draw({.seed = 42}, 4) == first);
    CHECK(other != first);
    sampler.start({.seed = 42, .end = 17}, std::vector<std::int32_t>(17, 3));  // another prompt, one token at a time
    sampler.run(4);
    const std::vector<std::size_t> later = sampler.tokens(17);
    CHECK(later ==
          std::vector<std::size_t>(first.begin() + 16, first.begin() + 16 + static_cast<std::ptrdiff_t>(later.size())));
}

TEST_CASE("a prompt in chunks draws once, after its last token", "[sampling]") {
    Sampler sampler(random_logits(64, 6, 1), 1, 4);
    sampler.start({.seed = 9, .end = 10}, std::vector<std::int32_t>(10, 3));
    for (std::uint32_t end : {10u, 10u, 11u, 12u}) {
        sampler.run();
        CHECK(sampler.word(STEP_END) == end);
    }
    CHECK(sampler.word(STEP_POSITION) == 10);
    CHECK(sampler.word(STEP_VALID) == 1);
}

TEST_CASE("only tokens of the set are drawn, and all of them", "[sampling]") {
    const std::vector<float> logits = random_logits(333, 8, 1);
    Sampler sampler(logits);
    for (const SamplingRule& rule :
         {SamplingRule{.top_k = 5}, SamplingRule{.top_p = 0.1f}, SamplingRule{.min_p = 0.5f},
          SamplingRule{.temperature = 3, .top_k = 9, .top_p = 0.5f, .min_p = 0.1f}, SamplingRule{.temperature = 0}}) {
        const std::vector<double> p = probabilities(logits, rule);
        std::set<std::size_t> want;
        for (std::size_t i = 0; i < p.size(); ++i)
            if (p[i] > 0) want.insert(i);
        const std::vector<std::size_t> tokens = sampler.draw({.rule = rule, .seed = 3}, 6);
        CHECK(std::set<std::size_t>(tokens.begin(), tokens.end()) == want);
    }
}

TEST_CASE("a large penalty writes every token once, the most probable first", "[sampling]") {
    std::vector<float> logits = random_logits(draws_per_run, 12, 1);
    for (float& value : logits) value = 10 + value;
    logits[0] = 1;  // the prompt's token is seen from the beginning
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    order.pop_back();
    std::vector<std::size_t> tokens = Sampler(logits).draw({.rule = {.temperature = 0}, .penalty = 1e6f}, 1);
    tokens.pop_back();  // by then all are seen
    CHECK(tokens == order);
}

TEST_CASE("an end token ends a sequence, so does a full context, and then nothing changes", "[sampling]") {
    const std::vector<float> logits = random_logits(16, 14, 1);
    Sampler sampler(logits, 4);
    const Settings free{.seed = 5}, full{.seed = 5, .limit = 7};
    const std::vector<std::size_t> all = sampler.draw(free, 6);
    Settings ended = free;
    ended.end_tokens = {99, static_cast<std::uint32_t>(all[9])};
    const auto stop = static_cast<std::size_t>(std::find(all.begin(), all.end(), all[9]) - all.begin());
    CHECK(sampler.draw(ended, 6) ==
          std::vector<std::size_t>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(stop) + 1));
    CHECK(sampler.word(STEP_DONE) == 1);
    const std::uint32_t end = sampler.word(STEP_END);
    sampler.run(3);
    CHECK(sampler.word(STEP_END) == end);
    CHECK(sampler.word(STEP_POSITION) == end);  // one past the last: nothing is left to run
    CHECK(sampler.word(STEP_VALID) == 0);

    CHECK(sampler.draw(full, 6) == std::vector<std::size_t>(all.begin(), all.begin() + 6));
    CHECK(sampler.word(STEP_DONE) == 2);
    CHECK(sampler.word(STEP_END) == 7);
}

TEST_CASE("many equal tokens are drawn evenly", "[sampling]") {  // weights of 2^31 each: sums go beyond 32 bits
    const std::size_t vocab = std::size_t{1} << 17;
    Sampler sampler(std::vector<float>(vocab, 1.5f), 16);
    const std::vector<std::size_t> tokens = sampler.draw({.rule = {.top_p = 0.5f}, .seed = 21}, 3);
    std::vector<double> counts(4);
    for (std::size_t token : tokens) ++counts.at(token * counts.size() / vocab);
    CHECK(std::abs(surprise(counts, std::vector<double>(4, static_cast<double>(tokens.size()) / 4))) < 3.5);
    CHECK(std::set<std::size_t>(tokens.begin(), tokens.end()).size() > tokens.size() - 2);
}
