// The search for a head to suggest: one layer at a time, between tokens of a running model. Errors end it.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <thread>

#include "tests/device/gated_model.h"
#include "tests/host/watchdog.h"
#include "viewer/panels/focus_finder.h"
#include "viewer/window/headless.h"

using namespace vantage;
using namespace vantage::view;

namespace {

const Model& model_in_search() {
    static const Model model = Model::load(Device::open(), VANTAGE_ROOT "/assets/models/mini-world");
    return model;
}

}  // namespace

TEST_CASE("what goes wrong in the search for a head ends it with a line", "[view]") {
    LiveModel live(model_in_search());
    live.start({.text = "The red cup on the table is red"}, {}, 2);
    wait_for_model(live);
    int asked = 0;
    const auto finder =
        std::make_shared<FocusFinder>([&](Session&, std::int64_t, std::int64_t) -> std::vector<HeadStatistics> {
            ++asked;
            throw std::length_error("a table of no length");
        });
    finder->wait(live, live.version());
    CHECK_FALSE(finder->found());
    CHECK(finder->take_error() == "no head could be chosen: a table of no length");
    CHECK_FALSE(finder->take_error());
    finder->wait(live, live.version());  // of this run nothing more is asked
    CHECK(asked == 1);
    CHECK(live.version().activity == Activity::ended);
}

TEST_CASE("a model writes on between two layers of the search for a head", "[view]") {
    std::vector<std::size_t> tokens;  // of the session at each layer
    std::int64_t max_rows = 0;
    std::atomic<std::size_t> read = 0;
    test::GatedModel model(model_in_search());
    LiveModel& live = model.live;
    live.start({.text = "The red cup on the table is red"}, {.ignore_end = true}, 1000);
    const auto finder = std::make_shared<FocusFinder>([&](Session& session, std::int64_t, std::int64_t rows) {
        max_rows = std::max(max_rows, rows);
        tokens.push_back(session.tokens().size());
        ++read;
        return std::vector<HeadStatistics>(static_cast<std::size_t>(session.model().info().heads));
    });
    const auto layers = static_cast<std::size_t>(live.model().info().layers);
    test::Watchdog watchdog("the statistics of all layers");
    for (std::int64_t rows = 0; read < layers;) {  // a look with each version
        const Version version = live.version();
        watchdog.look(version.number, read.load());
        if (version.activity == Activity::writing && version.rows > rows) finder->look(live, version);
        rows = version.rows;
        model.looked_at(version);
        std::this_thread::yield();
    }
    REQUIRE(read == layers);
    CHECK(max_rows <= 512);
    // Two looks may fall into one step of the model and then see the same number of tokens. Three may not.
    for (std::size_t i = 2; i < tokens.size(); ++i) CHECK(tokens[i] > tokens[i - 2]);
}
