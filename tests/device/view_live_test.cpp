// LiveModel: which session it makes, and what it tells of a session that a program runs.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <tuple>

#include "random_model.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "test_device.h"
#include "tests/host/expect_error.h"
#include "tests/host/watchdog.h"
#include "viewer/data/live_model.h"

using namespace vantage;
using namespace vantage::view;

namespace {

/// A model that allows 131,072 tokens, with LongRoPE beyond `original` ones.
std::string long_model(std::int64_t original) {
    return R"({"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "hidden_act": "silu", "hidden_size": 32,
               "intermediate_size": 48, "max_position_embeddings": 131072, "num_attention_heads": 2,
               "num_hidden_layers": 1, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "vocab_size": 101,
               "tie_word_embeddings": false, "original_max_position_embeddings": )" +
           std::to_string(original) + R"(, "rope_theta": 10000.0,
               "rope_scaling": {"type": "longrope", "short_factor": [1, 1.1, 1.2, 1.3, 1.5, 1.7, 1.8, 1.9],
                                "long_factor": [1, 1.3, 2.1, 3.2, 4.4, 5, 6, 7]}})";
}

/// Of the run with this number; nothing: of the first.
void wait_until_ended(LiveModel& live, std::uint64_t run = 1) {
    test::Watchdog watchdog("the end of the model's run");
    while (live.version().run < run || live.version().activity != Activity::ended) {
        watchdog.look(live.version().number);
        std::this_thread::yield();
    }
}

std::vector<float> weights_of(Session& session) { return session.attention(HeadId{.layer = 0, .head = 1}).vector(); }

/// Weights of the viewer's session and of a session without options, of the same tokens.
std::pair<std::vector<float>, std::vector<float>> both_weights(const Model& model, LiveModel& live) {
    const std::vector<std::int32_t> ids{5, 9, 2, 77, 31, 8, 64, 12, 3, 90, 41, 17, 55, 28, 6, 73};
    Session plain(model, {.precision = Precision::f32, .record_attention = RecordAttention::all()});
    plain.append(ids);
    plain.run();
    const std::uint64_t begun = live.version().run;
    live.start({.ids = ids}, {}, 0);
    wait_until_ended(live, begun + 1);
    std::promise<std::vector<float>> viewed;
    live.with_session([&](Session& session) { viewed.set_value(weights_of(session)); });
    return {weights_of(plain), viewed.get_future().get()};
}

}  // namespace

TEST_CASE("the viewer takes LongRoPE's factors as other sessions do", "[view]") {
    const test::TemporaryDirectory folder;
    write_random_model(folder.path(), long_model(4096), DType::f32, 3);
    const Model model = Model::load(test_device(), folder.path());
    LiveModel live(model, {.precision = Precision::f32});
    CHECK(live.context() == 4096);
    const auto [plain, viewed] = both_weights(model, live);
    CHECK(plain == viewed);
}

TEST_CASE("the viewer's context is at most 32768 tokens, and less where the memory holds less", "[view]") {
    const Device device = Device::open();  // with a limit of its own
    const test::TemporaryDirectory folder;
    write_random_model(folder.path(), long_model(131072), DType::f32, 3);
    const Model model = Model::load(device, folder.path());
    CHECK(LiveModel(model).context() == 32768);

    std::uint64_t& limit = device.state().memory.limit;
    limit = std::uint64_t{1} << 30;  // less than devices have
    limit = limit - device.memory_available() + (std::uint64_t{2} << 20);
    std::string said;
    set_log([&](LogLevel, const std::string& message) { said += message; });
    const LiveModel live(model);
    set_log({});
    CHECK(live.context() < 32768);
    CHECK(live.context() >= 64);
    CHECK_THAT(said, Catch::Matchers::ContainsSubstring("tokens instead of the model's 32768"));
}

TEST_CASE("a prompt that the context does not hold is refused before anything changes", "[view]") {
    const Model model = Model::load(test_device(), VANTAGE_ROOT "/assets/models/mini-world");
    LiveModel live(model);
    live.start({.ids = {5, 9, 2}}, {}, 0);
    wait_until_ended(live);
    const Version before = live.version();
    test::expect_error(ErrorKind::usage, {"The prompt has 540 tokens; mini-world holds 256"},
                       [&] { live.start({.ids = std::vector<std::int32_t>(540, 7)}, {}, 4); });
    CHECK(live.version().number == before.number);
    CHECK_FALSE(live.error());
    LiveModel shorter(model, {.context = 16});
    test::expect_error(ErrorKind::usage, {"The prompt has 17 tokens; mini-world holds 16", "make the context larger"},
                       [&] { shorter.start({.ids = std::vector<std::int32_t>(17, 7)}, {}, 4); });
}

TEST_CASE("stopping interrupts a chunk of the prompt, and the model goes on to work", "[view]") {
    const Model model = Model::load(test_device(), VANTAGE_ROOT "/assets/models/mini-world");
    std::vector<std::int32_t> ids(200);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(3 + i * i % 61);
    LiveModel* running = nullptr;
    int step = 0;
    bool announced = false;
    LiveModel live(model, {.precision = Precision::f32, .largest_chunk = 32, .before_step = [&] {
                               if (++step != 3) return;
                               running->stop();
                               announced = std::string(status_of(running->version())) == "stopping …";
                           }});
    running = &live;
    live.start({.ids = ids}, {}, 4);
    wait_until_ended(live);
    const Version stopped = live.version();
    CHECK(announced);
    CHECK(std::string(status_of(stopped)) == "stopped");
    CHECK(stopped.rows == 64);  // two chunks: the third was not waited for
    CHECK(stopped.tokens == 64);
    CHECK_FALSE(live.error());

    const auto [plain, viewed] = both_weights(model, live);
    CHECK(plain == viewed);
    CHECK(std::string(status_of(live.version())) == "finished");
}

TEST_CASE("stopping does not wait for the submissions of a chunk that are left", "[view]") {
    const Model model = Model::load(test_device(), VANTAGE_ROOT "/assets/models/mini-world");
    std::atomic<std::uint64_t> begun = 0;
    LiveModel live(model, {.precision = Precision::f32, .submission_seconds = 1e-6, .before_step = [&] {
                               begun = gpu::call_counts().submissions;
                           }});
    live.start({.ids = std::vector<std::int32_t>(200, 7)}, {}, 4);
    test::Watchdog watchdog("a few of the many submissions of the first chunk");
    constexpr std::uint64_t few = 4;
    while (begun == 0 || gpu::call_counts().submissions < begun + few) {
        watchdog.look(gpu::call_counts().submissions);
        std::this_thread::yield();
    }
    live.stop();
    wait_until_ended(live);
    CHECK(std::string(status_of(live.version())) == "stopped");
    CHECK(live.version().rows == 0);
    CHECK_FALSE(live.error());
}

TEST_CASE("a speed limits the tokens of a second", "[view]") {
    const Model model = Model::load(test_device(), VANTAGE_ROOT "/assets/models/mini-world");
    LiveModel live(model);
    live.set_speed(40);
    const double begin = seconds_now();
    live.start({.ids = {5, 9, 2}}, {.ignore_end = true}, 10);
    wait_until_ended(live);
    CHECK(seconds_now() - begin >= 9.0 / 40);
    CHECK(live.version().tokens == 13);
    CHECK(live.version().tokens_per_second <= 40);
}

TEST_CASE("rows that a followed session runs again begin another run", "[view]") {
    const test::TemporaryDirectory folder;
    write_random_model(folder.path(), long_model(4096), DType::f32, 3);
    const Model model = Model::load(test_device(), folder.path());
    const std::vector<std::int32_t> ids{5, 9, 2, 77, 31, 8, 64, 12, 3, 90, 41, 17, 55, 28, 6, 73};
    for (const bool stable : {false, true}) {
        Session session(model, {.context = 64, .stable = stable, .record_attention = RecordAttention::all()});
        LiveModel live(session);
        session.append(std::span(ids).first(5));
        session.run();
        live.publish();
        const Version before = live.version();
        session.append(std::span(ids).subspan(5));
        live.publish();
        CHECK((live.version().run > before.run) == stable);
        CHECK(live.version().rows == (stable ? 0 : 5));  // those that stay as they are
        session.run();
        live.publish();
        CHECK(live.version().run == before.run + (stable ? 1 : 0));
        CHECK(live.version().rows == 16);
        LiveTokens tokens;
        live.read_tokens(tokens);
        CHECK(tokens.ids == ids);
    }
}

TEST_CASE("a followed session says its precision", "[view]") {
    const test::TemporaryDirectory folder;
    write_random_model(folder.path(), long_model(4096), DType::f32, 3);
    const Model model = Model::load(test_device(), folder.path());
    for (const Precision precision : {Precision::f16, Precision::f32}) {
        Session session(model, {.context = 64, .precision = precision, .record_attention = RecordAttention::all()});
        CHECK(LiveModel(session).precision() == precision);
        CHECK(LiveModel(model, {.context = 64, .precision = precision}).precision() == precision);
    }
}

TEST_CASE("a live model goes on with its text and its rows wherever its device is lost", "[view][recover]") {
    const WithoutGuard fewer_submissions;
    const std::string folder = std::string(VANTAGE_ROOT) + "/tests/data/oracle/models/gpt2";
    const std::vector<std::int32_t> prompt{5, 9, 2, 77, 31, 8, 64, 12, 3, 90, 41};
    const auto load = [&] { return Model::load(Device::open(), folder); };
    std::optional<Model> model = load();
    const auto reload = [&] {
        model.reset();
        return *(model = load());
    };
    // the tokens, the weights of all rows, and what was published of them; the device is lost at submission `nth`
    const auto shown = [&](std::uint64_t nth) {
        LiveModel live(*model, {.context = 64, .precision = Precision::f32, .largest_chunk = 8});
        gpu::arm_fault(gpu::FaultPoint::submit, nth, VK_ERROR_DEVICE_LOST);
        live.start({.ids = prompt}, {.temperature = 0.9, .seed = 5, .ignore_end = true}, 5);
        test::Watchdog watchdog("the end of the model's run");
        while (live.version().activity != Activity::ended) {
            watchdog.look(live.version().number);
            if (live.error() && live.error()->kind == ErrorKind::device_lost) live.recover(reload);
            std::this_thread::yield();
        }
        LiveTokens tokens;
        live.read_tokens(tokens);
        std::promise<std::vector<float>> weights;
        live.with_session([&](Session& session) { weights.set_value(weights_of(session)); });
        return std::tuple(tokens.ids, tokens.texts, live.version().rows, live.version().tokens, tokens.run,
                          weights.get_future().get());
    };
    const auto want = shown(0);
    CHECK(std::get<2>(want) == 15);
    for (std::uint64_t nth = 1; nth < 8; ++nth) {
        INFO("the device is lost at submission " << nth);
        const auto got = shown(nth);
        CHECK(std::get<0>(got) == std::get<0>(want));
        CHECK(std::get<1>(got) == std::get<1>(want));
        CHECK(std::get<2>(got) == std::get<2>(want));
        CHECK(std::get<3>(got) == std::get<3>(want));
        CHECK(std::get<4>(got) == std::get<4>(want));
        const bool same_weights = std::get<5>(got) == std::get<5>(want);
        CHECK(same_weights);
        CHECK(!gpu::fault_armed());
    }
    gpu::arm_fault(gpu::FaultPoint::any, 0, VK_SUCCESS);
}
