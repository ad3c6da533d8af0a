// A device that is lost while texts are generated: they go on as they would have, to the last bit.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/faults.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/vantage.h"

using namespace vantage;
using namespace vantage::test;

namespace {

std::string folder_of(const std::string& name) {
    return std::string(VANTAGE_ROOT) + "/tests/data/oracle/models/" + name;
}

std::vector<float> numbers(const Array& array) { return {array.begin(), array.end()}; }

/// A model, loaded again on a new device after each loss.
class Reloaded {
public:
    explicit Reloaded(std::string folder) : folder_(std::move(folder)) { load(); }
    const Model& model() const { return *model_; }
    std::function<Model()> reload() {
        return [this] {
            ++losses;
            model_.reset();
            load();
            return *model_;
        };
    }
    /// What `make` returns; once more after a loss.
    template <class Make>
    auto make(Make make) {
        try {
            return make();
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::device_lost) throw;
        }
        reload()();
        return make();
    }
    int losses = 0;

private:
    void load() { model_.emplace(Model::load(Device::open(), folder_)); }
    std::string folder_;
    std::optional<Model> model_;
};

/// Checks that `made()` is the same when the device is lost at any one of its submissions (of a sample, with
/// VANTAGE_TEST_SAMPLE).
template <class Made>
void lose_at_each_submission(Reloaded& on, Made made) {
    const WithoutGuard fewer_submissions;
    set_log([](LogLevel, const std::string&) {});  // a line for each loss
    const auto want = made();
    TestSample sample;
    std::uint64_t nth = 0;
    int tries = 0;
    do {
        do ++nth;
        while (!sample.next());
        ++tries;
        INFO("the device is lost at submission " << nth);
        gpu::arm_fault(gpu::FaultPoint::submit, nth, VK_ERROR_DEVICE_LOST);
        const bool same = made() == want;
        CHECK(same);
    } while (!gpu::fault_armed());
    gpu::arm_fault(gpu::FaultPoint::any, 0, VK_SUCCESS);
    set_log({});
    CHECK(nth > 6);
    CHECK(on.losses == tries - 1);
}

const Sampling lively{.temperature = 0.9, .repeat_penalty = 1.2, .seed = 5, .ignore_end = true};

/// What two turns of a conversation leave: ids, and the logits of the next token.
std::pair<std::vector<std::int32_t>, std::vector<float>> two_turns(Reloaded& on, Precision precision) {
    GeneratorOptions options{
        .max_tokens = 5, .session = {.context = 64, .precision = precision, .largest_chunk = 8}, .reload = on.reload()};
    Generator generator = on.make([&] { return Generator(on.model(), lively, options); });
    const auto go_on = [](const Token&) { return true; };
    generator.generate(some_ids(11, 90), go_on);
    std::vector<std::int32_t> ids = generator.session().tokens();
    ids.resize(ids.size() - 2);  // a part of the reply is taken back
    for (const std::int32_t id : {7, 40, 3}) ids.push_back(id);
    generator.generate(ids, go_on);
    Session& session = generator.session();
    std::vector<float> logits;
    try {
        logits = numbers(session.next_logits());
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::device_lost) throw;
        session.recover(on.reload());
        logits = numbers(session.next_logits());
    }
    return {session.tokens(), logits};
}

}  // namespace

TEST_CASE("a generator goes on to the bit wherever its device is lost", "[recover][once]") {
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    Reloaded on(folder_of("gpt2"));
    lose_at_each_submission(on, [&] { return two_turns(on, precision); });
}

TEST_CASE("prompts of a batch go on to the bit wherever their device is lost", "[recover][once]") {
    Reloaded on(folder_of("llama"));
    lose_at_each_submission(on, [&] {
        const GeneratorOptions options{.max_tokens = 6, .reload = on.reload()};
        const SessionOptions session{.context = 48, .precision = Precision::f32, .largest_chunk = 8};
        Batch batch = on.make([&] { return Batch(on.model(), 3, session); });
        const std::vector<std::vector<std::int32_t>> prompts{some_ids(3, 90), some_ids(19, 90), some_ids(1, 90)};
        std::vector<std::vector<std::int32_t>> ids;
        for (const Completion& one : complete(batch, prompts, lively, options)) ids.push_back(one.ids);
        return ids;
    });
}

TEST_CASE("a session of an encoder–decoder goes on to the bit wherever its device is lost", "[recover][once]") {
    Reloaded on(folder_of("t5"));
    lose_at_each_submission(on, [&] {
        const SessionOptions options{.context = 32, .precision = Precision::f32};
        Session session = on.make([&] { return Session(on.model(), options); });
        const auto survive = [&](auto call) {
            try {
                return call();
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::device_lost) throw;
            }
            session.recover(on.reload());
            call();
        };
        session.restart(lively);
        survive([&] { session.set_source(some_ids(9, 90)); });
        for (int token = 0; token < 5; ++token) survive([&] { session.next(); });
        return std::pair(session.tokens(), session.stats().prompt_tokens);
    });
}

TEST_CASE("a recurrent session goes on to the bit wherever its device is lost", "[recover][once]") {
    Reloaded on(folder_of(GENERATE("mamba", "jamba")));
    lose_at_each_submission(on, [&] {
        const SessionOptions options{.context = 48, .precision = Precision::f16, .largest_chunk = 8};
        Session session = on.make([&] { return Session(on.model(), options); });
        session.restart(lively);
        session.append(some_ids(13, 90));
        for (int token = 0; token < 4; ++token) {
            if (token == 2) session.rewind(9);  // to a state that is no longer kept
            try {
                session.next();
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::device_lost) throw;
                session.recover(on.reload());
                session.next();
            }
        }
        return session.tokens();
    });
}

TEST_CASE("a second loss before another token ends a text, and a session may be recovered later", "[recover][once]") {
    Reloaded on(folder_of("gpt2"));
    const SessionOptions options{.context = 32, .precision = Precision::f32, .record_attention = {.layers = {1}}};
    Session session(on.model(), options);
    session.append(some_ids(9, 90));
    session.generate(3);
    const std::vector<std::int32_t> ids = session.tokens();
    const std::vector<float> weights = numbers(session.attention(1));
    const auto fail = []() -> Model { throw Error(ErrorKind::device_lost, "again"); };
    expect_error(ErrorKind::device_lost, {"again"}, [&] { session.recover(fail); });
    expect_error(ErrorKind::device_lost, {"recover it"}, [&] { static_cast<void>(session.tokens()); });
    expect_error(ErrorKind::device_lost, {"recover it"}, [&] { static_cast<void>(session.attention(1)); });
    session.recover(on.reload());
    CHECK(session.tokens() == ids);
    CHECK(numbers(session.attention(1)) == weights);
    CHECK(session.stats().generated_tokens == 3);

    Generator generator(on.model(), lively, {.session = options, .reload = fail});
    gpu::arm_fault(gpu::FaultPoint::submit, 4, VK_ERROR_DEVICE_LOST);
    expect_error(ErrorKind::device_lost, {"again"}, [&] { generator.complete("The"); });
    int reloads = 0;
    const auto lose_again = [&] {
        ++reloads;
        Model model = Model::load(Device::open(), folder_of("gpt2"));
        gpu::arm_fault(gpu::FaultPoint::submit, 1, VK_ERROR_DEVICE_LOST);
        return model;
    };
    on.reload()();
    Generator twice(on.model(), lively, {.session = options, .reload = lose_again});
    gpu::arm_fault(gpu::FaultPoint::submit, 1, VK_ERROR_DEVICE_LOST);
    expect_error(ErrorKind::device_lost, {"VK_ERROR_DEVICE_LOST"}, [&] { twice.complete("The"); });
    CHECK(reloads == 1);
}

TEST_CASE("an encoder runs again after a recovery", "[recover][once]") {
    Reloaded on(folder_of("bert"));
    Session session(on.model(), {.precision = Precision::f32});
    session.append(some_ids(7, 90));
    session.run();
    const std::vector<float> want = numbers(session.last_hidden());
    session.recover(on.reload());
    session.run();
    CHECK(numbers(session.last_hidden()) == want);
}

TEST_CASE("every thread hears what lost the device", "[faults]") {
    const Device device = Device::open();
    gpu::arm_fault(gpu::FaultPoint::wait, 1, VK_TIMEOUT);
    const Model model = Model::load(device, folder_of("gpt2"));
    expect_error(ErrorKind::device_lost, {"did not finish within", "VANTAGE_TIMEOUT"}, [&] {
        Session session(model, {.context = 16});
        session.append(some_ids(3, 90));
        session.generate(3);
    });
}
