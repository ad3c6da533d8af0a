// What docs/guarantees.md says of threads, exceptions, lost devices and moved-from objects, where no other test has it.
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "runtime/base/files.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "small_training.h"
#include "test_model.h"
#include "tests/host/expect_error.h"
#include "vantage/vantage.h"

using namespace vantage;
using namespace vantage::test;

namespace {

const SessionOptions small_session{.context = 64, .precision = Precision::f32, .sampling = {.ignore_end = true}};

/// The ids of some prompt and of 8 tokens that follow it.
std::vector<std::int32_t> plain_text(const Model& model) {
    Session session(model, small_session);
    session.append(some_ids(20));
    session.generate(8);
    return session.tokens();
}

}  // namespace

TEST_CASE("devices, models and tokenizers are used by many threads at once", "[guarantees][threads]") {
    const Device device = Device::open();
    const Model shared = Model::load(device, mini_world_folder);
    const std::vector<std::int32_t> want = shared.tokenizer().encode("The dog chased the birds.").ids;
    std::vector<int> wrong(3, 1);
    {
        std::vector<std::jthread> threads;
        for (int& mine : wrong)
            threads.emplace_back([&] {
                mine = Device::list().empty() ? 1 : 0;
                const Model own = Model::load(Device::open(), mini_world_folder);
                for (const Model& model : {shared, own}) {
                    mine += model.tokenizer().encode("The dog chased the birds.").ids != want ? 1 : 0;
                    mine += model.info().layers != shared.info().layers || model.device().memory_available() == 0;
                }
            });
    }
    CHECK(wrong == std::vector<int>{0, 0, 0});
}

TEST_CASE("plans of one device run in many threads", "[guarantees][threads]") {
    std::vector<std::vector<float>> got(3);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < got.size(); ++i)
            threads.emplace_back([&, i] {
                Graph g;
                g.output("y", softmax(g.input("x", {4})));
                Plan plan(std::move(g), test_device());
                const auto shift = static_cast<float>(i);
                for (int round = 0; round < 5; ++round) {
                    plan.write("x", {shift, shift, shift, shift});
                    plan.run();
                }
                got[i] = plan.read("y").vector();
            });
    }
    for (const std::vector<float>& one : got) CHECK(one == std::vector<float>(4, 0.25f));
}

TEST_CASE("handles that were moved from stay valid", "[guarantees]") {
    // NOLINTBEGIN(bugprone-use-after-move, performance-move-const-arg)
    Device device = test_device();
    const Device other = std::move(device);
    Model model = mini_world();
    const Model moved = std::move(model);
    CHECK(device.caps().name == other.caps().name);
    CHECK(model.info().name == moved.info().name);
    // NOLINTEND(bugprone-use-after-move, performance-move-const-arg)
}

TEST_CASE("a plan that was moved from says so", "[guarantees]") {
    Graph g;
    g.output("y", softmax(g.input("x", {2})));
    Plan plan(std::move(g), test_device());
    Plan other = std::move(plan);
    other.write("x", {1, 1});
    other.run();
    // NOLINTBEGIN(bugprone-use-after-move)
    expect_error(ErrorKind::usage, {"moved from"}, [&] { plan.run(); });
    expect_error(ErrorKind::usage, {"moved from"}, [&] { static_cast<void>(plan.read("y")); });
    // NOLINTEND(bugprone-use-after-move)
    CHECK(other.read("y").vector() == std::vector<float>{0.5f, 0.5f});
}

TEST_CASE("a call that is refused leaves the sequence as it was", "[guarantees]") {
    Session session(mini_world(), small_session);
    session.append(some_ids(20));
    const std::vector<std::int32_t> outside{5, static_cast<std::int32_t>(mini_world().info().vocab)};
    const auto refused = [&](auto action) {
        expect_error(ErrorKind::usage, {}, action);
        CHECK(session.tokens() == some_ids(20));
    };
    refused([&] { session.append(outside); });
    refused([&] { session.append(some_ids(50)); });
    refused([&] { session.rewind(21); });
    refused([&] { session.restart({.temperature = -1}); });
    refused([&] { static_cast<void>(session.attention(99)); });
    session.generate(8);
    CHECK(session.tokens() == plain_text(mini_world()));
}

TEST_CASE("what a callback throws passes through, and the sequence goes on", "[guarantees]") {
    Session session(mini_world(), small_session);
    session.append(some_ids(20));
    const auto throwing = [](std::int32_t) -> bool { throw std::runtime_error("the caller's"); };
    CHECK_THROWS_AS(session.generate(8, throwing), std::runtime_error);
    CHECK(session.tokens().size() == 21);
    session.generate(7);
    CHECK(session.tokens() == plain_text(mini_world()));
}

TEST_CASE("a session goes on after an error that does not lose the device", "[guarantees][faults][once]") {
    const Device device = Device::open();
    const Model model = Model::load(device, mini_world_folder);
    const std::vector<std::int32_t> want = plain_text(model);
    int struck = 0;
    for (std::uint64_t nth = 1; nth < 40; nth += 3) {
        INFO("submission " << nth);
        Session session(model, small_session);
        session.append(some_ids(20));
        gpu::arm_fault(gpu::FaultPoint::submit, nth, VK_ERROR_OUT_OF_HOST_MEMORY);
        try {
            session.generate(8);
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::out_of_memory);
            ++struck;
        }
        gpu::arm_fault(gpu::FaultPoint::submit, 0, VK_SUCCESS);
        session.generate(std::ssize(want) - std::ssize(session.tokens()));
        CHECK(session.tokens() == want);
    }
    CHECK(struck > 1);
}

TEST_CASE("after a lost device all that was made with it says so, and a new one works", "[guarantees][faults]") {
    const Device device = Device::open();
    const Model model = Model::load(device, mini_world_folder);
    const std::vector<std::int32_t> want = plain_text(model);
    Session first(model, small_session), second(model, small_session);
    first.append(some_ids(20));
    second.append(some_ids(20));
    gpu::arm_fault(gpu::FaultPoint::submit, 2, VK_ERROR_DEVICE_LOST);
    expect_error(ErrorKind::device_lost, {}, [&] { first.generate(8); });
    gpu::arm_fault(gpu::FaultPoint::submit, 0, VK_SUCCESS);
    CHECK(first.tokens().size() >= 20);
    expect_error(ErrorKind::device_lost, {"was lost: "}, [&] { first.generate(8); });
    expect_error(ErrorKind::device_lost, {"was lost: "}, [&] { second.generate(8); });
    expect_error(ErrorKind::device_lost, {}, [&] { const Session third(model, small_session); });
    expect_error(ErrorKind::device_lost, {}, [&] { static_cast<void>(Model::load(device, mini_world_folder)); });
    CHECK(model.tokenizer().encode("a").ids.size() == 1);
    CHECK(plain_text(Model::load(Device::open(), mini_world_folder)) == want);
}

TEST_CASE("the same call gives the same bits", "[guarantees]") {
    const auto logits = [](Precision precision, std::int64_t chunk) {
        Session session(mini_world(), {.context = 64, .precision = precision, .inspect = true, .largest_chunk = chunk});
        session.append(some_ids(40));
        session.run();
        return session.logits().vector();
    };
    for (const Precision precision : {Precision::f32, Precision::f16}) {
        CHECK(logits(precision, 512) == logits(precision, 512));
        CHECK(logits(precision, 16) == logits(precision, 16));
    }
    const std::string config = read_file(VANTAGE_ROOT "/tests/data/oracle/models/gpt2/config.json");
    const auto drawn = [&](std::uint64_t seed) {
        Session session(Model::random(test_device(), "random", config, DType::f32, seed), {.context = 16});
        session.append(some_ids(8, 999));
        return session.next_logits().vector();
    };
    CHECK(drawn(7) == drawn(7));
    CHECK(drawn(7) != drawn(8));
}
