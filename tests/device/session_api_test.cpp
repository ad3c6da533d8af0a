// What callers may rely on: errors where something is missing or misused, and results with shapes.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <csignal>
#include <thread>

#include "oracle_model.h"
#include "runtime/base/interrupt.h"
#include "runtime/session/session_core.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/vantage.h"

using namespace vantage;
using namespace vantage::test;

namespace {

template <class T>
concept streams_temporary = requires(const std::string& prompt) { std::declval<T>().stream(prompt); };
static_assert(!std::is_move_constructible_v<Sequence> && std::is_nothrow_move_constructible_v<Session>);
static_assert(!streams_temporary<Generator> && streams_temporary<Generator&>);

Session ran(const SessionOptions& options, std::int64_t tokens = 12) {
    Session session(mini_world(), options);
    session.append(some_ids(tokens));
    session.run();
    return session;
}

}  // namespace

TEST_CASE("results that a session does not keep are an error", "[session]") {
    const Session session = ran({});
    expect_error(ErrorKind::usage, {"logits", "inspect"}, [&] { session.logits(); });
    expect_error(ErrorKind::usage, {"hidden states", "inspect"}, [&] { session.hidden(); });
    expect_error(ErrorKind::usage, {"hidden states", "inspect"}, [&] { session.last_hidden(); });
    const Session kept = ran({.inspect = true});
    const ModelInfo& info = mini_world().info();
    CHECK(kept.logits().shape() == Shape{12, info.vocab});
    CHECK(kept.hidden().shape() == Shape{info.layers + 1, 12, info.width});
    CHECK(kept.last_hidden().vector() == kept.hidden().row(info.layers).vector());
}

TEST_CASE("options without a meaning are an error", "[session]") {
    for (const std::int64_t chunk : {0, -5})
        expect_error(ErrorKind::usage, {"largest_chunk is"},
                     [&] { const Session session(mini_world(), {.largest_chunk = chunk}); });
    for (const double seconds : {-1.0, std::nan("")})
        expect_error(ErrorKind::usage, {"submission_seconds is"},
                     [&] { const Session session(mini_world(), {.submission_seconds = seconds}); });
}

TEST_CASE("plans and recoveries that make no sense are an error", "[session]") {
    Session session = ran({});
    for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{-1}})
        expect_error(ErrorKind::usage, {"plan of", "at least 1"}, [&] { session.plan(rows); });
    for (const std::int64_t tokens : {std::int64_t{1}, std::numeric_limits<std::int64_t>::max()})
        expect_error(ErrorKind::usage, {"no encoder–decoder"}, [&] { session.encoder_plan(tokens); });
    CHECK(session.chunk(std::numeric_limits<std::int64_t>::max()) == session.chunk(100000));
    expect_error(ErrorKind::usage, {"loads the model"}, [&] { session.recover({}); });
    CHECK(session.next().has_value());

    const std::string folder = std::string(VANTAGE_ROOT) + "/tests/data/oracle/models/";
    Session encoder(Model::load(test_device(), folder + "bert"));
    CHECK(encoder.chunk(std::numeric_limits<std::int64_t>::max()) > 100000);
    Session both(Model::load(test_device(), folder + "t5"), {.context = 16});
    for (const std::int64_t tokens : {std::int64_t{0}, std::int64_t{17}})
        expect_error(ErrorKind::usage, {"1 to 16"}, [&] { both.encoder_plan(tokens); });
}

TEST_CASE("a moved-from session and generator are an error", "[session]") {
    Session from = ran({});
    Session to = std::move(from);
    CHECK(to.processed() == 12);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    expect_error(ErrorKind::usage, {"moved from"}, [&] { from.next(); });
    expect_error(ErrorKind::usage, {"moved from"}, [&] { from.tokens(); });
    from = std::move(to);
    CHECK(from.next().has_value());
    Generator generator(mini_world(), {}, {.max_tokens = 2});
    const Generator other = std::move(generator);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    expect_error(ErrorKind::usage, {"moved from"}, [&] { generator.complete("A"); });
    Batch batch(mini_world(), 2, {.context = 8});
    const Batch moved = std::move(batch);
    CHECK(moved[1].tokens().empty());
    // NOLINTNEXTLINE(bugprone-use-after-move)
    expect_error(ErrorKind::usage, {"moved from"}, [&] { batch.run(); });
}

TEST_CASE("a call during a call of another thread is an error", "[session][threads]") {
    const auto core = std::make_shared<SessionOwner>(
        std::make_unique<SessionCore>(mini_world(), SessionOptions{.context = 8}, 1, true));
    const SessionUse here(core);
    const SessionUse nested(core);
    std::thread other(
        [&] { expect_error(ErrorKind::usage, {"one thread at a time"}, [&] { const SessionUse there(core); }); });
    other.join();
}

TEST_CASE("a session that generates refuses other threads between its tokens", "[session][threads]") {
    int refused = 0;
    const auto ask_in_thread = [&](Sequence& sequence) {
        std::thread([&] {
            expect_error(ErrorKind::usage, {"one thread at a time"}, [&] { static_cast<void>(sequence.tokens()); });
            ++refused;
        }).join();
        return true;
    };
    const SessionOptions options{.context = 16, .sampling = {.ignore_end = true}};
    Session session(mini_world(), options);
    session.append(some_ids(5));
    session.generate(2, [&](std::int32_t) { return ask_in_thread(session); });
    CHECK(refused == 2);
    Batch batch(mini_world(), 1, options);
    batch[0].append(some_ids(5));
    batch.generate(2, [&](std::int64_t, std::int32_t) { return ask_in_thread(batch[0]); });
    CHECK(refused == 4);
    Generator generator(mini_world(), {.ignore_end = true}, {.max_tokens = 2});
    generator.generate("A", [&](const Token&) { return ask_in_thread(generator.session()); });
    CHECK(refused >= 6);
}

TEST_CASE("a sequence without tokens draws nothing on the device", "[batch][session]") {
    const Sampling sampling{.ignore_end = true};
    SessionCore core(mini_world(), {.context = 64, .sampling = sampling}, 2, false);
    for (std::size_t i = 0; i < 2; ++i) core.append(i, some_ids(5), {});
    for (int token = 0; token < 3; ++token) core.next();
    core.restart(0, sampling);
    core.next();
    core.runs.settle();  // a draw may have been ahead
    const std::uint32_t known = core.states.known_tokens(0);
    for (int token = 0; token < 4; ++token) CHECK(core.next()[1].has_value());
    core.runs.settle();
    CHECK(core.states.known_tokens(0) == known);
    core.append(0, some_ids(5), {});
    for (int token = 0; token < 8; ++token) CHECK(core.next()[0].has_value());
    CHECK(core.sequences[0].tokens ==
          std::vector(core.sequences[1].tokens.begin(), core.sequences[1].tokens.begin() + 13));
}

TEST_CASE("a session that Ctrl-C stopped between two draws goes on", "[session]") {
    const Sampling sampling{.temperature = 0.8, .seed = 3, .ignore_end = true};
    const SessionOptions options{.context = 64, .precision = Precision::f32};
    const std::vector<std::int32_t> prompt = some_ids(9);
    Session plain(mini_world(), options);
    plain.restart(sampling);
    plain.append(prompt);
    plain.generate(8);
    Generator generator(mini_world(), sampling, {.max_tokens = 8, .session = options});
    int drawn = 0;
    catch_interrupts();
    expect_error(ErrorKind::interrupted, {"interrupted"}, [&] {
        generator.generate(prompt, [&](const Token&) { return ++drawn < 3 || std::raise(SIGINT) == 0; });
    });
    CHECK(take_interrupt());
    std::signal(SIGINT, SIG_DFL);
    Session& session = generator.session();
    CHECK(session.tokens().size() == prompt.size() + 3);
    CHECK(session.processed() == std::ssize(prompt) + 2);
    CHECK_FALSE(session.ended());
    CHECK(session.stats().generated_tokens == 3);
    CHECK(session.generate(5).size() == 5);
    CHECK(session.tokens() == plain.tokens());
}

// Each of `threads` threads makes `sessions` sessions of one model, one after the other, with prompts of its own.
static void check_sessions_in_threads(int threads, int sessions) {
    const auto text = [](int prompt) {
        Session session(mini_world(), {.context = 32, .precision = Precision::f32});
        session.append(some_ids(3 + prompt));
        return session.generate(8);
    };
    constexpr int prompts = 8;
    std::vector<std::vector<std::int32_t>> want;
    for (int prompt = 0; prompt < prompts; ++prompt) want.push_back(text(prompt));
    std::atomic<int> right = 0;
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            for (int i = 0; i < sessions; ++i)
                if (const int prompt = (thread + i) % prompts; text(prompt) == want.at(std::size_t(prompt))) ++right;
        });
    for (std::thread& thread : running) thread.join();
    CHECK(right == threads * sessions);
}

TEST_CASE("sessions of one model run in many threads", "[session][threads]") { check_sessions_in_threads(3, 2); }

TEST_CASE("eight threads make a hundred sessions each", "[.long][sessions]") { check_sessions_in_threads(8, 100); }

TEST_CASE("a session draws as its options say, after a restart, too", "[session]") {
    const Sampling sampling{.temperature = 1.2, .seed = 5, .ignore_end = true};
    Session set(mini_world(), {}), given(mini_world(), {.sampling = sampling});
    set.restart(sampling);
    for (Session* one : {&set, &given}) one->append(some_ids(9));
    const std::vector<std::int32_t> want = set.generate(16);
    CHECK(given.generate(16) == want);
    given.restart();
    given.append(some_ids(9));
    CHECK(given.generate(16) == want);
}

TEST_CASE("text in, text out", "[session]") {
    Session session(mini_world(), {.precision = Precision::f32});
    session.append("The animal didn't cross the street because it was too tired.");
    CHECK(session.text() == "The animal didn't cross the street because it was too tired.");
    session.generate(12);
    CHECK(session.text().ends_with(" The animal was too tired, not the street."));
    const std::size_t before = session.tokens().size();
    Session more(mini_world());
    more.append("Mia"), more.append(" put");
    CHECK(more.text() == "Mia put");
    CHECK(before > 12);
}

TEST_CASE("the next token's distribution is there without inspect, and changes no text", "[session]") {
    Session plain(mini_world(), {.precision = Precision::f32}), asked(mini_world(), {.precision = Precision::f32}),
        kept(mini_world(), {.precision = Precision::f32, .inspect = true});
    for (Session* one : {&plain, &asked, &kept}) one->append(some_ids(12));
    CHECK(difference(asked.next_logits(), kept.next_logits()).first < 2e-4);
    const std::vector<TokenProbability> top = asked.top(5);
    REQUIRE(top.size() == 5);
    CHECK(std::ranges::is_sorted(top, std::greater(), &TokenProbability::probability));
    double sum = 0;
    for (const TokenProbability& one : asked.top(mini_world().info().vocab)) sum += one.probability;
    CHECK(std::abs(sum - 1) < 1e-6);
    for (int i = 0; i < 6; ++i) {
        const std::int32_t best = asked.top(1).front().id;
        CHECK(asked.next() == best);
        CHECK(plain.next() == best);
    }
    Session empty(mini_world());
    expect_error(ErrorKind::usage, {"no tokens"}, [&] { empty.top(1); });
}

TEST_CASE("a text that the caller ends was stopped", "[generator]") {
    Generator generator(mini_world(), {.ignore_end = true}, {.max_tokens = 8});
    int seen = 0;
    CHECK(generator.generate("The animal", [&](const Token&) { return ++seen < 2; }) == Ending::stopped);
    Batch batch(mini_world(), 2, {.context = 64});
    const std::vector<std::vector<std::int32_t>> prompts{some_ids(5), some_ids(9)};
    const std::vector<Completion> all = complete(batch, prompts, {.ignore_end = true}, {.max_tokens = 4},
                                                 [](std::int64_t i, const Token&) { return i == 1; });
    CHECK((all[0].ending == Ending::stopped && all[1].ending == Ending::length));
    CHECK(std::string(name_of(Ending::stopped)) == "stopped");
}

TEST_CASE("attention of all heads, of one, and of a part agree", "[session]") {
    Session session = ran({.precision = Precision::f32, .record_attention = RecordAttention::all()});
    const Array all = session.attention(2), head = session.attention(HeadId{2, 3}),
                part = session.attention(HeadId{2, 3}, rows(4, 2), rows(1, 3));
    CHECK(all.shape() == Shape{mini_world().info().heads, 12, 12});
    CHECK(head.vector() == all.row(3).vector());
    CHECK(part.shape() == Shape{2, 3});
    CHECK(part(1, 2) == all(3, 5, 3));
    CHECK(session.log_sum_exp(HeadId{2, 3}).shape() == Shape{12});
    CHECK(session.value_norms(1, false).shape() == Shape{12, mini_world().info().heads});
}

TEST_CASE("numbers of heads have names", "[session][heads]") {
    Session session = ran({.precision = Precision::f32, .record_attention = RecordAttention::all()});
    const HeadTable table = session.head_statistics(1, std::vector<std::int32_t>(12, word_mark));
    const Array p = session.attention(HeadId{1, 2});
    const HeadRow row = table.row(7, 2);
    CHECK(std::abs(row.total - 1) < 1e-5f);
    CHECK(row.visible == 8);
    CHECK(std::abs(row.self - p(7, 7)) < 1e-5f);
    CHECK(std::abs(row.previous - p(7, 6)) < 1e-5f);
    CHECK(std::abs(row.largest.weight - p(7, row.largest.key)) < 1e-5f);
    float received = 0;
    for (std::int64_t i = 0; i < 12; ++i) received += p(i, 3);
    CHECK(std::abs(table.key(3, 2).received - received) < 1e-4f);
    CHECK(table.key(3, 2).seen == 9);
    expect_error(ErrorKind::usage, {"query 12"}, [&] { table.row(12, 0); });
}

TEST_CASE("a context without a wish is at most the limit", "[session]") {
    CHECK(Session(mini_world(), {.max_context = 40}).context() == 40);
    CHECK(Session(mini_world(), {.max_context = 4000}).context() == mini_world().info().context);
}

TEST_CASE("the built-in model is found", "[models]") {
    CHECK(Model::built_in(test_device()).info().name == "mini-world");
    CHECK(asset_directory().find("assets") != std::string::npos);
}

TEST_CASE("precisions have one table of names", "[session]") {
    for (const Precision one : {Precision::f16, Precision::f32, Precision::int8})
        CHECK(precision_named(name_of(one)) == one);
    expect_error(ErrorKind::usage, {"f64", "f16, f32, int8"}, [] { precision_named("f64"); });
}
