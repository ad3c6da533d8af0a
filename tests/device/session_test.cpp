// A session's promises on the built-in model: chunks, repeats, the full context, no recording and no allocation per
// token.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>

#include "../host/expect_error.h"
#include "runtime/gpu/faults.h"
#include "test_device.h"
#include "test_model.h"
#include "vantage/session.h"

using namespace vantage;

namespace {

std::vector<float> all_logits(std::int64_t largest_chunk, std::span<const std::int32_t> ids) {
    Session session(mini_world(),
                    {.precision = Precision::f32, .inspect = true, .guard = true, .largest_chunk = largest_chunk});
    session.append(ids);
    session.run();
    return session.logits().vector();
}

}  // namespace

TEST_CASE("a prompt in chunks gives what it gives at once", "[session]") {
    const std::vector<std::int32_t> ids = some_ids(75);
    const std::vector<float> whole = all_logits(512, ids), chunked = all_logits(8, ids),
                             single = all_logits(1, std::span(ids).first(20));
    REQUIRE(whole.size() == chunked.size());
    double worst = 0;
    for (std::size_t i = 0; i < whole.size(); ++i)
        worst = std::max(worst, static_cast<double>(std::abs(whole[i] - chunked[i])));
    CHECK(worst < 2e-4);  // the oracle's strict limit for logits in f32
    worst = 0;
    for (std::size_t i = 0; i < single.size(); ++i)
        worst = std::max(worst, static_cast<double>(std::abs(whole[i] - single[i])));
    CHECK(worst < 2e-4);
}

TEST_CASE("tokens are drawn without recording or allocating", "[session]") {
    const WithoutGuard free;
    Session session(mini_world(), {.largest_chunk = 32});
    session.restart({.temperature = 0.7, .seed = 3, .ignore_end = true});
    session.append(some_ids(110));  // 40 more cross the boundary of a chunk of keys
    REQUIRE(session.next().has_value());
    const gpu::CallCounts before = gpu::call_counts();
    std::vector<double> host;  // microseconds, by token
    for (double last = session.stats().host_seconds; host.size() < 40; last = session.stats().host_seconds) {
        REQUIRE(session.next().has_value());
        host.push_back((session.stats().host_seconds - last) * 1e6);
    }
    const gpu::CallCounts after = gpu::call_counts();
    CHECK(after.recordings == before.recordings);
    CHECK(after.allocations == before.allocations);
    CHECK(after.submissions > before.submissions);
    std::sort(host.begin(), host.end());
    std::printf("host time per token beyond waiting: median %.1f us, of 90 %% at most %.1f us\n", host[20], host[36]);
}

TEST_CASE("the same seed repeats, another one differs", "[session]") {
    Session session(mini_world(), {});
    const auto draw = [&](std::uint64_t seed) {
        session.restart({.temperature = 1.2, .seed = seed, .ignore_end = true});
        session.append(some_ids(9));
        return session.generate(24);
    };
    const std::vector<std::int32_t> first = draw(1);
    CHECK(draw(1) == first);
    CHECK(draw(2) != first);
}

TEST_CASE("a session goes back, and on from there as if the rest had never been", "[session]") {
    const Sampling sampling{.temperature = 0.9, .repeat_penalty = 1.5, .seed = 4, .ignore_end = true};
    Session one(mini_world(), {.precision = Precision::f32}), two(mini_world(), {.precision = Precision::f32});
    one.restart(sampling), two.restart(sampling);
    one.append(some_ids(40));
    one.generate(12);
    one.rewind(21);
    CHECK(one.tokens() == some_ids(21));
    one.append(std::vector<std::int32_t>{5, 6, 7});
    two.append(some_ids(21));
    two.append(std::vector<std::int32_t>{5, 6, 7});
    CHECK(one.generate(20) == two.generate(20));
    CHECK(one.stats().prompt_tokens == 43);  // the first 21 have run once
    one.rewind(30), two.rewind(30);          // into what was drawn; the last token runs again
    CHECK(one.generate(5) == two.generate(5));
    test::expect_error(ErrorKind::usage, {"36", "35"}, [&] { one.rewind(36); });
}

TEST_CASE("a generator keeps the beginning that its ids share with the session", "[session]") {
    Generator generator(mini_world(), {}, {.max_tokens = 6, .session = {.precision = Precision::f32}});
    const auto drawn = [&](const std::vector<std::int32_t>& ids) {
        std::vector<std::int32_t> out;
        generator.generate(std::span(ids), [&](const Token& token) {
            out.push_back(token.id);
            return true;
        });
        return out;
    };
    std::vector<std::int32_t> ids = some_ids(30);
    const std::vector<std::int32_t> first = drawn(ids);
    CHECK(generator.session().stats().prompt_tokens == 30);
    CHECK(drawn(ids) == first);
    CHECK(generator.session().stats().prompt_tokens == 31);  // the last one, to draw from
    ids[20] = 1;
    drawn(ids);
    CHECK(generator.session().stats().prompt_tokens == 41);
}

TEST_CASE("what is appended after tokens were drawn continues from them", "[session]") {
    Session one(mini_world(), {.precision = Precision::f32}), two(mini_world(), {.precision = Precision::f32});
    one.append(some_ids(10));
    const std::vector<std::int32_t> drawn = one.generate(5);
    one.append(some_ids(4));
    std::vector<std::int32_t> all = some_ids(10);
    all.insert(all.end(), drawn.begin(), drawn.end());
    const std::vector<std::int32_t> more = some_ids(4);
    all.insert(all.end(), more.begin(), more.end());
    CHECK(one.tokens() == all);
    two.append(all);
    CHECK(one.generate(6) == two.generate(6));
}

TEST_CASE("a full context ends the text", "[session]") {
    Session session(mini_world(), {.context = 20});
    session.restart({.ignore_end = true});
    session.append(some_ids(15));
    CHECK(session.generate(100).size() == 5);
    CHECK(session.context_full());
    CHECK_FALSE(session.next().has_value());
    CHECK_THROWS_AS(session.append(some_ids(1)), Error);
}

TEST_CASE("attention of a watched session sums to 1, and a replay gives the same", "[session]") {
    const std::vector<std::int32_t> ids = some_ids(40);
    Session recorded(mini_world(), {.precision = Precision::f32, .record_attention = RecordAttention::all()}),
        blind(mini_world(), {.precision = Precision::f32});
    for (Session* session : {&recorded, &blind}) {
        session->append(ids);
        session->run();
    }
    for (std::int64_t layer : {0, 3}) {
        const std::vector<float> p = recorded.attention({layer, 5}, {0, 40}, {0, 40}).vector(),
                                 replayed = blind.attention({layer, 5}, {0, 40}, {0, 40}).vector();
        for (std::size_t row = 0; row < 40; ++row) {
            double sum = 0;
            for (std::size_t key = 0; key < 40; ++key) sum += p[row * 40 + key];
            CHECK(std::abs(sum - 1) < 1e-5);
        }
        CHECK(p == replayed);
    }
    CHECK_THROWS_AS(recorded.attention({4, 0}, {0, 1}, {0, 1}), Error);
    CHECK_THROWS_AS(recorded.attention({0, 8}, {0, 1}, {0, 1}), Error);
    CHECK_THROWS_AS(recorded.attention({0, 0}, {0, 41}, {0, 1}), Error);
}

TEST_CASE("a session watches the layers it is told to, and no other", "[session]") {
    const std::vector<std::int32_t> ids = some_ids(20);
    Session all(mini_world(), {.record_attention = RecordAttention::all()}),
        one(mini_world(), {.record_attention = {.layers = {2}}});
    for (Session* session : {&all, &one}) {
        session->append(ids);
        session->run();
    }
    CHECK(one.memory().recorded * static_cast<std::uint64_t>(mini_world().info().layers) == all.memory().recorded);
    for (std::int64_t layer : {2, 0, 0, 1}) {  // watched; replayed; the replay asked again; another layer
        CHECK(one.attention({layer, 1}, {0, 20}, {0, 20}).vector() ==
              all.attention({layer, 1}, {0, 20}, {0, 20}).vector());
        CHECK(one.log_sum_exp({layer, 1}, {5, 15}).vector() == all.log_sum_exp({layer, 1}, {5, 15}).vector());
    }
    for (Session* session : {&all, &one}) {
        session->append(some_ids(3));
        session->run();
    }
    const std::vector<float> a = one.attention({1, 0}, {20, 3}, {0, 23}).vector(),
                             b = all.attention({1, 0}, {20, 3}, {0, 23}).vector();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 5e-5);  // the replay ran in one chunk
    CHECK_THROWS_AS(Session(mini_world(), {.record_attention = {.layers = {4}}}), Error);
    CHECK_THROWS_AS(Session(mini_world(), {.record_attention = {.layers = {-1}}}), Error);
}

TEST_CASE("rows drawn one by one are watched like a prompt's", "[session]") {
    Session drawn(mini_world(), {.precision = Precision::f32, .record_attention = RecordAttention::all()}),
        whole(mini_world(), {.precision = Precision::f32, .record_attention = RecordAttention::all()});
    drawn.append(some_ids(12));
    drawn.generate(10);
    drawn.run();
    whole.append(drawn.tokens());
    whole.run();
    const auto n = static_cast<std::int64_t>(drawn.tokens().size());
    const std::vector<float> a = drawn.attention({1, 0}, {0, n}, {0, n}).vector(),
                             b = whole.attention({1, 0}, {0, n}, {0, n}).vector();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 5e-5);
}

TEST_CASE("every node of the built-in model's plan agrees with its reference", "[session]") {
    Session session(mini_world(),
                    {.precision = Precision::f32, .record_attention = RecordAttention::all(), .guard = true});
    session.append(some_ids(30));
    session.run();
    for (std::int64_t rows : {1, 8}) {
        const std::vector<Divergence> found = session.plan(rows).check(3);
        for (const Divergence& d : found) FAIL_CHECK(d.node << " (" << d.kernel << "): " << d.message);
    }
}

TEST_CASE("fused and unfused runs agree", "[session]") {
    const std::vector<std::int32_t> ids = some_ids(33);
    std::vector<std::vector<float>> logits;
    for (bool fuse : {true, false}) {
        Session session(mini_world(), {.precision = Precision::f32, .inspect = true, .fuse = fuse});
        session.append(ids);
        session.run();
        logits.push_back(session.logits().vector());
    }
    for (std::size_t i = 0; i < logits[0].size(); ++i) REQUIRE(std::abs(logits[0][i] - logits[1][i]) < 2e-4);
}

TEST_CASE("a run cut into many submissions gives what it gives in one", "[session]") {
    const std::vector<std::int32_t> ids = some_ids(40);
    std::vector<std::vector<float>> logits;
    for (double seconds : {10.0, 1e-5}) {  // nothing is cut; every dispatch is, and most of them in pieces
        Session session(
            mini_world(),
            {.precision = Precision::f32, .inspect = true, .largest_chunk = 8, .submission_seconds = seconds});
        session.append(ids);
        session.run();
        logits.push_back(session.logits().vector());
    }
    CHECK(logits[0] == logits[1]);
}
