// Generations that come and go while others run: each has the text that it has alone.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "oracle_model.h"
#include "runtime/gpu/faults.h"
#include "runtime/serve/attention_answers.h"
#include "runtime/serve/request_fields.h"
#include "runtime/serve/scheduler.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;
using serve::DrawnToken;
using serve::GenerationRequest;
using serve::Outcome;
using serve::Scheduler;
using serve::SchedulerOptions;

namespace {

using Ids = std::vector<std::int32_t>;

/// A generation whose end a test waits for.
struct Reader {
    std::shared_ptr<GenerationRequest> request = std::make_shared<GenerationRequest>();
    std::mutex mutex;
    std::condition_variable changed;
    Ids ids;
    std::string text;
    std::vector<DrawnToken> tokens;
    std::optional<Outcome> outcome;
    std::atomic<bool> behind = false;

    Reader(Ids prompt, const Sampling& sampling, std::int64_t max_tokens) {
        request->prompt = std::move(prompt);
        request->sampling = sampling;
        request->text.max_tokens = max_tokens;
        request->behind = [this] { return behind ? std::optional(0.0) : std::nullopt; };
        request->on_token = [this](const DrawnToken& token) {
            const std::lock_guard lock(mutex);
            if (token.id >= 0) ids.push_back(token.id);
            text += token.text;
            tokens.push_back(token);
            changed.notify_all();
        };
        request->on_end = [this](const Outcome& end) {
            const std::lock_guard lock(mutex);
            REQUIRE(!outcome);
            outcome = end;
            changed.notify_all();
        };
    }
    bool submit(Scheduler& scheduler) { return scheduler.submit(std::span(&request, 1)); }
    void cancel(Scheduler& scheduler) { scheduler.cancel(std::span(&request, 1)); }
    void wait() {
        std::unique_lock lock(mutex);
        REQUIRE(changed.wait_for(lock, std::chrono::minutes(5), [this] { return outcome.has_value(); }));
    }
    void wait_for_tokens(std::size_t count) {
        std::unique_lock lock(mutex);
        REQUIRE(changed.wait_for(lock, std::chrono::minutes(5), [&] { return ids.size() >= count || outcome; }));
    }
    std::size_t drawn() {
        const std::lock_guard lock(mutex);
        return ids.size();
    }
};

/// What follows a prompt in a session of its own.
Ids alone(const Model& model, const Ids& prompt, const Sampling& sampling, std::int64_t count,
          const SessionOptions& options) {
    Session session(model, options);
    session.restart(sampling);
    session.append(prompt);
    return session.generate(count);
}

SchedulerOptions small(std::int64_t slots, Precision precision = Precision::f32) {
    return {.slots = slots, .queue = 100, .session = {.context = 128, .precision = precision}, .prompt_part = 32};
}

Sampling drawn_with(std::uint64_t seed) {
    return {.temperature = 0.9, .top_p = 0.95, .seed = seed, .ignore_end = true};
}

}  // namespace

TEST_CASE("texts that come and go beside each other are those that they are alone", "[serve]") {
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    SchedulerOptions options = small(3, precision);
    options.session.stable = true;
    Scheduler scheduler(mini_world(), options);
    std::vector<std::unique_ptr<Reader>> readers;
    for (std::uint64_t i = 0; i < 9; ++i) {  // prompts of one part, of several, and of one token
        Ids prompt = some_ids(i % 3 == 0 ? 70 : i % 3 == 1 ? 1 : 9);
        prompt[0] = static_cast<std::int32_t>(20 + i);
        readers.push_back(std::make_unique<Reader>(prompt, drawn_with(i), 4 + static_cast<std::int64_t>(3 * i)));
        CHECK(readers.back()->submit(scheduler));
        if (i % 2 == 1) readers.back()->wait_for_tokens(1);  // the others go on meanwhile
    }
    for (const auto& reader : readers) {
        reader->wait();
        CHECK(!reader->outcome->error);
        CHECK(reader->outcome->ending == Ending::length);
        const Ids want = alone(mini_world(), reader->request->prompt, reader->request->sampling,
                               reader->request->text.max_tokens, options.session);
        CHECK(reader->ids == want);
        CHECK(reader->text == mini_world().tokenizer().decode(want, true));
        CHECK(reader->outcome->usage.generated == std::ssize(want));
    }
    CHECK(scheduler.is_idle());
}

TEST_CASE("a prompt that begins like an earlier text runs its rest only, and draws the same", "[serve]") {
    SchedulerOptions options = small(1);
    options.session.context = 256;
    Scheduler scheduler(mini_world(), options);
    const Ids prompt = some_ids(200);
    Reader first(prompt, drawn_with(1), 6), again(prompt, drawn_with(1), 6), other(prompt, drawn_with(1), 6);
    CHECK(first.submit(scheduler));
    first.wait();
    CHECK(again.submit(scheduler));
    again.wait();
    CHECK(first.outcome->usage.cached == 0);
    CHECK(again.outcome->usage.cached == 128);  // whole chunks of a stable session
    CHECK(again.ids == first.ids);
    other.request->owner = "someone else";  // may not learn what others have asked
    CHECK(other.submit(scheduler));
    other.wait();
    CHECK(other.outcome->usage.cached == 0);
    CHECK(other.ids == first.ids);
}

TEST_CASE("a client that goes frees its slot and changes no other text", "[serve]") {
    Scheduler scheduler(mini_world(), small(2));
    Reader stays(some_ids(9), drawn_with(3), 60), goes(some_ids(40), drawn_with(4), 80),
        waits(some_ids(5), drawn_with(5), 5), leaves_queue(some_ids(7), drawn_with(6), 5);
    for (Reader* reader : {&stays, &goes, &leaves_queue, &waits}) CHECK(reader->submit(scheduler));
    leaves_queue.cancel(scheduler);
    leaves_queue.wait();
    CHECK(leaves_queue.ids.empty());
    goes.wait_for_tokens(2);
    goes.cancel(scheduler);
    goes.wait();
    CHECK(goes.outcome->ending == Ending::stopped);
    CHECK(goes.drawn() < 80);
    waits.wait();
    CHECK(waits.ids == alone(mini_world(), waits.request->prompt, drawn_with(5), 5, small(2).session));
    stays.wait();
    CHECK(stays.ids == alone(mini_world(), stays.request->prompt, drawn_with(3), 60, small(2).session));
    CHECK(scheduler.counts().cancelled == 2);
    CHECK(scheduler.counts().running == 0);
}

TEST_CASE("no token is drawn for a reader that is behind, and the text goes on as it would have", "[serve]") {
    Scheduler scheduler(mini_world(), small(2));
    Reader slow(some_ids(9), drawn_with(3), 40), quick(some_ids(12), drawn_with(4), 90);
    CHECK(slow.submit(scheduler));
    slow.wait_for_tokens(3);
    slow.behind = true;
    CHECK(quick.submit(scheduler));
    quick.wait_for_tokens(10);
    const std::size_t before = slow.drawn();
    quick.wait();
    CHECK(slow.drawn() <= before);
    CHECK(slow.drawn() < 40);
    slow.behind = false;
    slow.wait();
    CHECK(slow.ids == alone(mini_world(), slow.request->prompt, drawn_with(3), 40, small(2).session));
}

TEST_CASE("a full queue takes no more, all or none; a drained one ends what waits", "[serve]") {
    SchedulerOptions options = small(1);
    options.queue = 2;
    Scheduler scheduler(mini_world(), options);
    Reader runs(some_ids(5), drawn_with(1), 100), second(some_ids(6), drawn_with(2), 5),
        third(some_ids(7), drawn_with(3), 5), fourth(some_ids(8), drawn_with(4), 5);
    CHECK(runs.submit(scheduler));
    runs.wait_for_tokens(1);
    const std::vector<std::shared_ptr<GenerationRequest>> three{second.request, third.request, fourth.request};
    CHECK(!scheduler.submit(three));
    CHECK(scheduler.submit(std::span(three).first(2)));
    CHECK(!fourth.submit(scheduler));
    CHECK(scheduler.counts().rejected == 2);
    scheduler.drain();
    second.wait();
    third.wait();
    CHECK(second.outcome->error.value().kind() == ErrorKind::interrupted);
    runs.wait();
    CHECK(!runs.outcome->error);
    CHECK(!fourth.submit(scheduler));
}

TEST_CASE("what a generation cannot be is refused before it waits", "[serve]") {
    Scheduler scheduler(mini_world(), small(1));
    Reader none({}, drawn_with(1), 5), long_one(some_ids(128), drawn_with(1), 5);
    expect_error(ErrorKind::usage, {"no tokens"}, [&] { none.submit(scheduler); });
    expect_error(ErrorKind::usage, {"128 tokens"}, [&] { long_one.submit(scheduler); });
    Reader fits(some_ids(127), drawn_with(1), 50);
    CHECK(fits.submit(scheduler));
    fits.wait();
    CHECK(fits.outcome->ending == Ending::context_full);
    CHECK(fits.ids.size() == 1);
}

TEST_CASE("probabilities of drawn tokens are the model's own, whatever the sampling", "[serve]") {
    Scheduler scheduler(mini_world(), small(2));
    Sampling sampling = drawn_with(8);
    sampling.repeat_penalty = 1.5;
    Reader told(some_ids(9), sampling, 6), beside(some_ids(4), drawn_with(2), 30);
    told.request->logprobs = 3;
    CHECK(beside.submit(scheduler));
    CHECK(told.submit(scheduler));
    told.wait();
    beside.wait();
    CHECK(told.ids == alone(mini_world(), told.request->prompt, sampling, 6, small(2).session));
    CHECK(beside.ids == alone(mini_world(), beside.request->prompt, drawn_with(2), 30, small(2).session));
    Session session(mini_world(), small(2).session);
    session.append(told.request->prompt);
    for (const DrawnToken& token : told.tokens) {
        if (token.id < 0) continue;
        const std::vector<TokenProbability> top = session.top(3);
        REQUIRE(token.top.size() >= 3);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(token.top[i].id == top[i].id);
            CHECK(std::abs(std::exp(token.top[i].logprob) - top[i].probability) < 1e-12);
        }
        const bool listed = std::ranges::any_of(
            token.top, [&](const auto& one) { return one.id == token.id && one.logprob == *token.logprob; });
        CHECK(listed);
        session.append(std::span(&token.id, 1));
    }
}

TEST_CASE("texts go on to the bit when the device is lost", "[serve][recover]") {
    const WithoutGuard fewer_submissions;
    set_log([](LogLevel, const std::string&) {});
    for (const std::uint64_t nth : {1u, 3u, 6u, 11u}) {
        std::optional<Model> model = Model::load(Device::open(), VANTAGE_ROOT "/assets/models/mini-world");
        SchedulerOptions options = small(2);
        options.reload = [] { return Model::load(Device::open(), VANTAGE_ROOT "/assets/models/mini-world"); };
        Scheduler scheduler(*model, options);
        model.reset();
        Reader warm(some_ids(3), drawn_with(1), 1);
        CHECK(warm.submit(scheduler));
        warm.wait();
        gpu::arm_fault(gpu::FaultPoint::submit, nth, VK_ERROR_DEVICE_LOST);
        Reader a(some_ids(70), drawn_with(5), 12), b(some_ids(9), drawn_with(6), 20);
        CHECK(a.submit(scheduler));
        CHECK(b.submit(scheduler));
        a.wait();
        b.wait();
        CHECK(!gpu::fault_armed());
        CHECK(scheduler.counts().losses == 1);
        CHECK(a.ids == alone(mini_world(), a.request->prompt, drawn_with(5), 12, small(2).session));
        CHECK(b.ids == alone(mini_world(), b.request->prompt, drawn_with(6), 20, small(2).session));
    }
    set_log({});
}

TEST_CASE("a batch draws in few lanes where few draw: the same to the last bit where it is stable", "[serve][batch]") {
    SessionOptions options{.context = 64, .precision = Precision::f16, .stable = true};
    const auto texts = [&](bool few) {
        options.fewest_lanes = few;
        Batch batch(mini_world(), 6, options);
        std::vector<Ids> all;
        for (std::int64_t i = 0; i < 6; ++i) {  // one after the other begins, and ends
            batch[i].restart(drawn_with(static_cast<std::uint64_t>(i)));
            batch[i].append(some_ids(3 + i));
            for (std::int64_t k = 0; k < 3; ++k) batch.next();
            if (i >= 2) batch[i - 2].end();
        }
        batch[0].rewind(std::ssize(batch[0].tokens()));  // goes on
        batch.generate(5);
        for (std::int64_t i = 0; i < 6; ++i) all.push_back(batch[i].tokens());
        return all;
    };
    CHECK(texts(true) == texts(false));
}

TEST_CASE("the attention of an answer is that of a session with its tokens", "[serve]") {
    const serve::ServedModel model(mini_world(), "", "", Pooling::mean, small(1, Precision::f16));
    serve::KeptText text{.ids = some_ids(30), .prompt = 20};
    serve::AttentionAnswers answers(model.session_options);
    const auto asked = [&](const std::string& body) {
        return answers.answer(serve::parse_attention(serve::parse_object(body), model), text, mini_world());
    };
    SessionOptions recording = model.session_options;
    recording.record_attention = {.layers = {1, 3}};
    Session session(mini_world(), recording);
    session.append(text.ids);
    session.run();

    const serve::Json windows = asked(R"({"id": "a", "heads": [[1, 2], [3, 0]], "top": 0, "rows": [4, 6]})");
    for (const auto& [number, head] :
         {std::pair{0, HeadId{.layer = 1, .head = 2}}, {1, HeadId{.layer = 3, .head = 0}}}) {
        const serve::Json& window = windows["windows"][static_cast<std::size_t>(number)];
        CHECK((window["layer"] == head.layer && window["head"] == head.head && window["first_row"] == 4));
        const Array want = session.attention(head, rows(4, 6));
        for (std::int64_t i = 0; i < 6; ++i)
            for (std::int64_t j = 0; j < 30; ++j)
                CHECK(window["weights"][static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].get<float>() ==
                      want(i, j));
    }
    text.ids.push_back(7);  // the answer goes on: only what is new runs
    session.append(std::span(text.ids).last(1));
    session.run();
    const serve::Json told = asked(R"({"id": "a", "layers": [3], "top": 4})");
    CHECK(told["places"].size() == 31);
    CHECK(told["prompt_tokens"] == 20);
    REQUIRE(told["rows"].size() == 11);  // each place whose logits drew a token of the answer
    const std::int64_t heads = mini_world().info().heads;
    for (std::int64_t i = 0; i < 11; ++i) {
        const serve::Json& row = told["rows"][static_cast<std::size_t>(i)];
        CHECK(row["row"] == 19 + i);
        const serve::Json& reads = row["reads"][0];
        CHECK((reads["layer"] == 3 && reads["head"] == "mean"));
        double sum = reads["rest"].get<double>() + reads["sink"].get<double>(), last = 1;
        for (std::size_t k = 0; k < reads["at"].size(); ++k) {
            double mean = 0;
            for (std::int64_t head = 0; head < heads; ++head)
                mean += session.attention({.layer = 3, .head = head}, rows(19 + i, 1))(
                    0, reads["at"][k].get<std::int64_t>());
            const double w = reads["w"][k].get<double>();
            CHECK(std::abs(w - mean / static_cast<double>(heads)) < 2e-6);  // rounded to 1e-6
            CHECK(w <= last);
            last = w;
            sum += w;
        }
        CHECK(std::abs(sum - 1) < 1e-5);
    }
    const serve::Json valued = asked(R"({"id": "a", "heads": [[1, 2]], "top": 64, "rows": [20, 1], "by": "value"})");
    const Array p = session.attention({.layer = 1, .head = 2}, rows(20, 1)), norms = session.value_norms(1, true);
    double all = 0;
    for (std::int64_t j = 0; j < 21; ++j) all += static_cast<double>(p(0, j)) * static_cast<double>(norms(j, 2));
    const serve::Json& by_value = valued["rows"][0]["reads"][0];
    for (std::size_t k = 0; k < by_value["at"].size(); ++k) {
        const auto j = by_value["at"][k].get<std::int64_t>();
        CHECK(std::abs(by_value["w"][k].get<double>() -
                       static_cast<double>(p(0, j)) * static_cast<double>(norms(j, 2)) / all) < 2e-6);
    }
    for (const char* wrong :
         {R"({})", R"({"id": "a", "layers": [4]})", R"({"id": "a", "heads": [[0, 99]]})",
          R"({"id": "a", "rows": [30, 9]})", R"({"id": "a", "by": "luck"})", R"({"id": "a", "top": 65})"})
        CHECK_THROWS_AS(asked(wrong), serve::ApiError);
}

TEST_CASE("answers are kept for their owner, for a while, and as many as are wanted", "[serve]") {
    serve::KeptTexts kept(2, 0.3);
    const auto prompt = std::make_shared<const Ids>(Ids{1, 2});
    kept.begin("a", "me", {prompt, prompt});
    kept.confirm("a");
    kept.add("a", 1, 9);
    CHECK(kept.find("a", "me", 1)->ids == Ids{1, 2, 9});
    CHECK(kept.find("a", "me", 0)->ids == Ids{1, 2});
    CHECK(!kept.find("a", "you", 0));
    CHECK(!kept.find("a", "me", 2));
    kept.begin("b", "me", {prompt});
    kept.begin("other", "you", {prompt});
    kept.confirm("b"), kept.confirm("other");
    kept.begin("c", "me", {prompt});
    kept.begin("refused", "me", {prompt});
    kept.forget("refused");
    CHECK(kept.find("a", "me", 0));  // what is refused takes nobody's place
    kept.confirm("c");
    CHECK(!kept.find("a", "me", 0));
    kept.add("a", 0, 5);  // of an answer that is forgotten
    std::this_thread::sleep_for(std::chrono::milliseconds(350));
    CHECK(!kept.find("c", "me", 0));
}

// What a greedy draw takes, from the model's own logits.
Ids greedy_with_penalties(const Model& model, Ids ids, const Sampling& sampling, std::int64_t count,
                          const SessionOptions& options) {
    Session session(model, options);
    session.append(ids);
    Ids drawn;
    for (std::int64_t i = 0; i < count; ++i) {
        std::vector<float> logits = session.next_logits().vector();
        for (const auto& [token, bias] : sampling.logit_bias) logits[static_cast<std::size_t>(token)] += bias;
        for (std::int32_t token = 0; token < std::ssize(logits); ++token) {
            const auto times = static_cast<double>(std::ranges::count(drawn, token));
            logits[static_cast<std::size_t>(token)] -=
                static_cast<float>(times * sampling.frequency_penalty + (times > 0 ? sampling.presence_penalty : 0));
        }
        drawn.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
        session.append(std::span(drawn).last(1));
    }
    return drawn;
}

TEST_CASE("biases and penalties by count change the logits that tokens are drawn from", "[serve][sampling]") {
    Scheduler scheduler(mini_world(), small(3));
    const SessionOptions plain = small(1).session;
    const Ids prompt = some_ids(9);
    const Ids own = alone(mini_world(), prompt, {.ignore_end = true}, 24, plain);
    Sampling forbids{.ignore_end = true,
                     .logit_bias = {{own[0], -std::numeric_limits<float>::infinity()}, {own[3], 1.5f}}};
    Sampling counts{.ignore_end = true, .presence_penalty = 0.7, .frequency_penalty = 0.4};
    Reader forbidden(prompt, forbids, 24), counted(prompt, counts, 24), usual(prompt, {.ignore_end = true}, 24);
    CHECK(counted.submit(scheduler));
    counted.wait_for_tokens(3);
    CHECK(forbidden.submit(scheduler));
    CHECK(usual.submit(scheduler));
    for (Reader* reader : {&forbidden, &counted, &usual}) reader->wait();
    CHECK(usual.ids == own);
    CHECK(forbidden.ids == greedy_with_penalties(mini_world(), prompt, forbids, 24, plain));
    CHECK(std::ranges::count(forbidden.ids, own[0]) == 0);
    CHECK(counted.ids == greedy_with_penalties(mini_world(), prompt, counts, 24, plain));
    CHECK(counted.ids != own);
    Reader next(prompt, {.ignore_end = true}, 24);  // nothing of it stays in a slot
    CHECK(next.submit(scheduler));
    next.wait();
    CHECK(next.ids == own);
    Session session(mini_world(), plain);
    expect_error(ErrorKind::usage, {"token_bias"}, [&] { session.restart(counts); });
    SessionOptions with = plain;
    with.token_bias = true;
    Session biased(mini_world(), with);
    expect_error(ErrorKind::usage, {"token 99999"}, [&] { biased.restart({.logit_bias = {{99999, 1.0f}}}); });
    biased.restart(counts);
    biased.append(prompt);
    CHECK(biased.generate(24) == counted.ids);
}
