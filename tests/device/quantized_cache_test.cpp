// Keys and values in 8 and 4 bits: what attention reads of them, alone and beside other sequences.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <functional>
#include <iterator>

#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;

namespace quantised_cache {

namespace {

using Ids = std::vector<std::int32_t>;

SessionOptions with_cache(std::optional<DType> cache, bool inspect = false) {
    return {.context = 64, .precision = Precision::f32, .cache = cache, .inspect = inspect};
}

// Heads of 16 features, which only the floats of a prompt serve, and of 64, which kernels of few rows read as they are.
const Model& wide_heads() {
    static const Model model = Model::random(test_device(), "wide heads",
                                             R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 256, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 256, "rms_norm_eps": 1e-5})",
                                             DType::f32, 5);
    return model;
}
const Model& model_with_heads(bool wide) { return wide ? wide_heads() : mini_world(); }

double largest_magnitude_of(std::span<const float> values) {
    return std::abs(static_cast<double>(*std::ranges::max_element(values, {}, [](float x) { return std::abs(x); })));
}
// Largest difference, as a share of the largest number.
double share_apart(const Array& a, const Array& b) {
    std::vector<float> apart;
    std::ranges::transform(a.values(), b.values(), std::back_inserter(apart), std::minus());
    return largest_magnitude_of(apart) / largest_magnitude_of(b.values());
}

Array logits_with(const Model& model, const Ids& ids, std::optional<DType> cache, bool by_token) {
    Session session(model, with_cache(cache, true));
    if (!by_token) {
        session.append(ids);
        session.run();
        return session.logits();
    }
    std::vector<float> all;
    for (const std::int32_t id : ids) {
        session.append(std::span(&id, 1));
        session.run();
        const Array row = session.next_logits();
        all.insert(all.end(), row.begin(), row.end());
    }
    return {Shape{std::ssize(ids), model.info().vocab}, std::move(all)};
}

}  // namespace

// A prompt makes floats of the cache, a token reads it as it is: both see the same numbers.
TEST_CASE("a quantised cache changes logits by its rounding, and memory by its bits", "[sessions][quantised_cache]") {
    struct Kind {
        bool wide;
        DType type;
        double bound;
    };
    const Kind kind =
        GENERATE(Kind{false, DType::q8_0, 0.05}, Kind{true, DType::q8_0, 0.05}, Kind{true, DType::q4_0, 0.5});
    const DType type = kind.type;
    INFO(name_of(type) << (kind.wide ? ", heads of 64" : ", heads of 16"));
    const Model& model = model_with_heads(kind.wide);
    const Ids ids = some_ids(20, model.info().vocab);
    const Array exact = logits_with(model, ids, {}, false);
    const Array prompt = logits_with(model, ids, type, false), tokens = logits_with(model, ids, type, true);
    CAPTURE(share_apart(prompt, exact), share_apart(prompt, tokens));
    CHECK(share_apart(prompt, exact) > 0);
    CHECK(share_apart(prompt, exact) < kind.bound);
    // kernels add in another order, which may move a number to the next quant
    CHECK(share_apart(tokens, prompt) < kind.bound / 50);
    const auto bytes = [&](std::optional<DType> cache) {
        return static_cast<double>(Session(model, with_cache(cache)).memory().cache);
    };
    CHECK(bytes(type) <= bytes({}) * (type == DType::q8_0 ? 8.5 : 4.5) / 32 * 1.1);  // and alignment
}

TEST_CASE("texts with a quantised cache do not depend on what runs beside them", "[sessions][quantised_cache]") {
    const Model& model = wide_heads();
    const std::vector<Ids> prompts{some_ids(21, model.info().vocab), {5}, some_ids(40, model.info().vocab)};
    Batch batch(model, 3, with_cache(DType::q8_0));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        batch[static_cast<std::int64_t>(i)].restart({.ignore_end = true});
        batch[static_cast<std::int64_t>(i)].append(prompts[i]);
    }
    batch.generate(12);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        INFO("sequence " << i);
        Session alone(model, with_cache(DType::q8_0));
        alone.restart({.ignore_end = true});
        alone.append(prompts[i]);
        alone.generate(12);
        CHECK(batch[static_cast<std::int64_t>(i)].tokens() == alone.tokens());
    }
}

TEST_CASE("a quantised cache is refused where nothing reads it", "[sessions][quantised_cache]") {
    const Model& model = mini_world();
    expect_error(ErrorKind::usage, {"f32, f16, q8_0 or q4_0"}, [&] { Session(model, with_cache(DType::bf16)); });
    SessionOptions linear = with_cache(DType::q8_0);
    linear.variant = attention_variant_named("linear");
    expect_error(ErrorKind::unsupported, {"does not read a cache in q8_0"}, [&] { Session(model, linear); });
    SessionOptions recording = with_cache(DType::q8_0);
    recording.record_attention = RecordAttention::all();
    CHECK(Session(model, recording).memory().cache == Session(model, with_cache({})).memory().cache);
}

}  // namespace quantised_cache
