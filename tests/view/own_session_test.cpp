// A window on a session that a program runs: vantage/view.h.
#include <atomic>
#include <thread>

#include "tests/host/temporary_directory.h"
#include "vantage/view.h"
#include "window_user.h"

using namespace view_test;

namespace {

struct OwnSession {
    Opened opened;
    Session session{opened.model, {.record_attention = RecordAttention::all()}};
    AttentionFeed feed{session};
    ViewWindow window{feed, {.width = 900, .height = 640}};
    OwnSession() { session.append(opened.model.tokenizer().encode(ViewState::default_prompt, true).ids); }
};

/// Below the menu bar, which shows times.
bool same_below_bar(const Image& a, const Image& b) {
    constexpr int bar = 44;
    if (a.width != b.width || a.height != b.height) return false;
    for (int y = bar; y < a.height; ++y)
        for (int x = 0; x < a.width; ++x)
            if (!(a.at(x, y) == b.at(x, y))) return false;
    return true;
}

}  // namespace

TEST_CASE("a window saves whole pictures of one version", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    OwnSession s;
    const test::TemporaryDirectory folder;
    const auto saved = [&](const std::string& name) {
        s.window.save(folder.path(name));
        keep(read_png(folder.path(name)).image, name);
        return read_png(folder.path(name)).image;
    };
    for (int token = 0; token < 12; ++token) {
        REQUIRE(s.window.turn());
        REQUIRE(s.session.next());
        s.feed.publish();
        if (token % 4 != 3) continue;
        const Image at_once = saved("at-once");  // no turn since the version was published
        for (int turn = 0; turn < 40; ++turn) REQUIRE(s.window.turn(0.05));
        CHECK(same_below_bar(at_once, saved("settled")));
    }
}

TEST_CASE("a feed is published by its session's thread while the window draws", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    OwnSession s;
    std::atomic<int> published = 0;
    const std::jthread generation([&] {
        for (int token = 0; token < 12 && s.session.next(); ++token) {
            s.feed.publish();
            ++published;
        }
        published = -1;
    });
    int most = 0, turns = 0;
    for (; published >= 0; ++turns) {
        REQUIRE(s.window.turn(0.01));
        most = std::max(most, published.load());
    }
    CHECK(most > 0);
    CHECK(turns > 1);
}

TEST_CASE("a window whose session has ended waits", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    OwnSession s;
    for (int token = 0; token < 4; ++token) REQUIRE(s.session.next());
    s.feed.publish();
    // When all is drawn, each turn takes the second that it may wait.
    int waited = 0;
    for (int turn = 0; turn < 200 && waited < 3; ++turn) {
        const double begin = seconds_now();
        REQUIRE(s.window.turn(1));
        waited = seconds_now() - begin > 0.9 ? waited + 1 : 0;
    }
    CHECK(waited == 3);
}
