// What the window says of its state: what can be done now, what a list is set to, why a run or a number is not there.
#include "panels_shown.h"
#include "runtime/base/at.h"
#include "viewer/panels/actions.h"

using namespace view_test;

TEST_CASE("actions that cannot be done say why, and lists mark what they are set to", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    const ViewState state{.max_tokens = 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    for (const auto& [word, why] : {std::pair{"stop", "nothing is running"},
                                    {"pause", "nothing is running"},
                                    {"kind", "this model has one kind of attention"},
                                    {"blink", "Nothing to compare yet"},
                                    {"show-both", "Nothing to compare yet"},
                                    {"colour-diff", "Nothing to compare yet"}}) {
        CAPTURE(word);
        REQUIRE(refusal_of(action_named(word), s.viewer) != nullptr);
        const ViewState before = s.viewer.state();
        perform(s.viewer, action_named(word));
        CHECK(s.viewer.at().note.starts_with(why));
        CHECK(s.viewer.state() == before);
    }
    CHECK(refusal_of(action_named("export"), s.viewer) == nullptr);
    CHECK(refusal_of(action_named("axis"), s.viewer) == nullptr);
    for (const char* word : {"scale-sqrt", "colours-magma"}) CHECK(action_named(word).on(s.viewer));
    for (const char* word : {"scale-log", "colours-grey", "colour-self"}) {
        CHECK_FALSE(action_named(word).on(s.viewer));
        perform(s.viewer, action_named(word));
        CHECK(action_named(word).on(s.viewer));
    }
    CHECK_FALSE(action_named("scale-sqrt").on(s.viewer));
    CHECK(s.viewer.state().scale == AttentionScale::logarithmic);
    CHECK(s.viewer.state().colours == ColourMap::grey);
}

TEST_CASE("a menu greys what cannot be done, and marks what a list is set to", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    const ViewState state{.max_tokens = 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    const Palette& palette = palette_of(Theme::dark);
    /// Whether the line of an action, or what is left of its name, has this colour.
    const auto has = [&](const std::string& word, ImU32 colour, bool mark = false) {
        const Action& action = action_named(word);
        s.viewer.at().menu = action.menu, s.viewer.at().menu_line = -1;
        s.viewer.touch(), s.user.settle();
        const TextLog log;
        const Image image = s.window.screenshot();
        const auto name = std::ranges::find(log.texts, std::string(action.name));
        REQUIRE(name != log.texts.end());
        const Box& line = at(log.places, name - log.texts.begin());
        return has_colour(image, mark ? Box{line.x - 20, line.y, 16, line.high} : line, colour);
    };
    for (const char* word : {"show-both", "blink", "difference", "stop", "kind"}) {
        CAPTURE(word);
        CHECK_FALSE(has(word, palette.ink));
    }
    for (const char* word : {"quit", "run", "thumbnails", "axis"}) {
        CAPTURE(word);
        CHECK(has(word, palette.ink));
    }
    CHECK(has("scale-sqrt", palette.accent, true));
    CHECK_FALSE(has("scale-log", palette.accent, true));
    s.viewer.state().scale = AttentionScale::logarithmic;
    CHECK_FALSE(has("scale-sqrt", palette.accent, true));
    CHECK(has("scale-log", palette.accent, true));
}

TEST_CASE("a model without a tokenizer reads the token ids that are typed as its prompt", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened(oracle + "mistral");
    REQUIRE_FALSE(opened.model.has_tokenizer());
    ViewState state{.max_tokens = 0};
    const auto prompt = [](const ViewState& wanted) {
        LivePrompt ids;
        for (const char digit : wanted.prompt)
            if (digit >= '0' && digit <= '9') ids.ids.push_back(digit - '0');
        if (ids.ids.empty()) throw Error(ErrorKind::usage, "expected token ids, such as 5, 9, 2");
        return ids;
    };
    PanelsShown s(opened, state, {.text = {}, .ids = {5, 6, 7, 9}}, {.prompt = prompt});
    s.viewer.at().prompt.clear();
    s.user.press(GLFW_KEY_ENTER);
    s.user.type("words");
    s.user.press(GLFW_KEY_ENTER);
    CHECK(s.user.take_note().starts_with("expected token ids"));
    CHECK(s.live.version().run == 1);
    s.viewer.at().prompt.clear();
    s.user.press(GLFW_KEY_ENTER);
    s.user.type("5, 9, 2");
    s.user.press(GLFW_KEY_ENTER);
    s.user.until_ended();
    CHECK(s.live.version().run == 2);
    CHECK(s.viewer.runs().a().tokens.ids == std::vector<std::int32_t>{5, 9, 2});
    CHECK(std::ranges::count(texts_in(s.window, s.viewer.layout().tokens), "#9") == 1);
}

/// The first row of pixels that differs, from one on.
static int first_difference(const Image& a, const Image& b, float from) {
    for (int y = static_cast<int>(from); y < a.height; ++y)
        for (int x = 0; x < a.width; ++x)
            if (!(a.at(x, y) == b.at(x, y))) return y;
    return a.height;
}

TEST_CASE("a message leaves the status and the panels where they are", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    const ViewState state{.max_tokens = 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    const Image before = s.window.screenshot();
    s.viewer.say("a message");
    CHECK(first_difference(before, s.window.screenshot(), s.viewer.layout().bar.bottom()) == before.height);
    const std::vector<std::string> texts = texts_of(s.window);
    CHECK(has_text(texts, "a message"));
    CHECK(has_text(texts, "finished"));
    CHECK(has_text(texts, "rows sum to 1 ✓"));
    // ---- in a small window a long one takes the place of the menus' names
    glfwSetWindowSize(s.window.handle(), 640, 480);
    s.user.turn_until("the new size", [&] { return s.viewer.layout().bar.wide == 640; });
    s.user.settle();
    s.viewer.say("");
    const Image small = s.window.screenshot();
    s.user.type("d");
    CHECK(first_difference(small, s.window.screenshot(), s.viewer.layout().bar.bottom()) == small.height);
    CHECK(has_text(texts_of(s.window), "finished"));
}

TEST_CASE("a run at work says how far it is, and what viewing costs", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    LiveModel* model = nullptr;
    int steps = 0;
    LiveModel live(opened.model, {.on_version = WindowSystem::wake, .before_step = [&] {
                                      if (++steps == 1) model->set_speed(0.01);  // then it waits
                                  }});
    model = &live;
    live.start({.text = {}, .ids = std::vector<std::int32_t>(250, 5)}, {}, 2);
    Window window(opened.device, live, {}, {.width = 1200, .height = 800});
    User user(window);
    user.turn_until("the first chunk of the prompt", [&] { return live.version().rows == 128; });
    user.settle();
    const std::vector<std::string> at_work = texts_of(window);
    for (const char* text : {"128 of 250 prompt tokens read", "reading", "model slowed by ", "frame "}) {
        CAPTURE(text);
        CHECK(has_text(at_work, text));
    }
    const Box& bar = window.viewer().layout().bar;
    CHECK(unexplained(window, {bar}) == std::vector<std::string>{});
    live.set_speed(0);
    user.until_ended();
    TextLog at_rest;
    static_cast<void>(window.screenshot());
    for (const char* text : {"finished", "frame "}) CHECK(has_text(at_rest.texts, text));
    CHECK_FALSE(has_text(at_rest.texts, "model slowed"));
    // ---- the speed; and the device, whose name may have a digit
    const std::string device = opened.device.caps().name;
    CHECK(std::ranges::any_of(at_rest.texts, [](const std::string& text) { return text.ends_with(" tok/s"); }));
    CHECK(unexplained(window, {bar}) == std::vector<std::string>{});
    const auto shown = std::ranges::find_if(
        at_rest.texts, [&](const std::string& text) { return text.starts_with(device.substr(0, device.find(" ("))); });
    REQUIRE(shown != at_rest.texts.end());
    const Box& place = at(at_rest.places, shown - at_rest.texts.begin());
    CHECK(std::ranges::any_of(at_rest.explained, [&](const Box& box) { return box.has(place.x, place.y); }));
}

TEST_CASE("a prompt that does not fit leaves the run as it is", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    const ViewState state{.max_tokens = 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    const Version before = s.live.version();
    for (int i = 0; i < 300; ++i) s.viewer.at().prompt += " cup";
    s.viewer.run_prompt();
    s.user.settle();
    const std::string note = s.user.take_note();
    CHECK(note.starts_with("The prompt has 3"));
    CHECK(note.ends_with(" tokens; mini-world holds 256"));
    CHECK(s.live.version().run == before.run);
    CHECK(s.viewer.state().prompt == state.prompt);
    CHECK(has_text(texts_of(s.window), "finished"));
}

TEST_CASE("without a row the window says why, and saves no files", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    Window window(opened.device, live, {}, {.width = 900, .height = 640, .frozen = true});
    User user(window);
    user.settle();
    CHECK(has_text(texts_of(window), "The model has read nothing yet"));
    user.type("E");
    CHECK(user.take_note() == "nothing to save yet: the model has not read a token");
    CHECK(window.viewer().take_request() == Request::none);
    live.start({}, {}, 4);  // no prompt to continue
    test::Watchdog watchdog("the error");
    while (!live.error()) {
        watchdog.look(live.version().number);
        REQUIRE(window.turn(0.01));
    }
    user.settle();
    const std::vector<std::string> texts = texts_of(window);
    CHECK(has_text(texts, "The run has failed"));
    CHECK(has_text(texts, "failed"));
    CHECK_FALSE(has_text(texts, "The model is reading"));
    CHECK(has_text(texts, "there is nothing to continue"));  // in a place of its own
    const Layout& layout = window.viewer().layout();
    CHECK(layout.message.high > 0);
    CHECK(layout.focus.y >= layout.message.bottom());
}

TEST_CASE("the first rows have no numbers, and the panel says from where on", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.rows = 1;
    PanelsShown s(opened, state, {.text = state.prompt});
    const auto unknown = [&] {  // ends of the heads' colours
        return std::ranges::count(texts_in(s.window, s.viewer.layout().heads), "–");
    };
    CHECK(has_text(texts_of(s.window), "counted from row 4 on"));
    CHECK(unknown() == 2);
    s.viewer.state().rows = 6;
    s.viewer.touch(), s.user.settle();
    CHECK_FALSE(has_text(texts_of(s.window), "counted from row 4 on"));
    CHECK(unknown() == 0);
}

TEST_CASE("the text shows its query after a resize, too", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.prompt += " cup. " + state.prompt;
    PanelsShown s(opened, state, {.text = state.prompt});
    const auto shows_query = [&] {  // the only frame in the text, around its newest token
        const Box& text = s.viewer.layout().tokens;
        const Box lines{text.x, text.y + text_above, text.wide, text.high - text_above};
        return has_colour(s.window.screenshot(), lines, palette_of(Theme::dark).accent);
    };
    CHECK(shows_query());
    glfwSetWindowSize(s.window.handle(), 640, 480);
    s.user.turn_until("the new size", [&] { return s.viewer.layout().bar.wide == 640; });
    s.user.settle();
    REQUIRE(s.viewer.at().text_lines > 3);
    keep(s.window.screenshot(), "text in a small window");
    CHECK(shows_query());
    // ---- and stays where it was scrolled to
    const Box& text = s.viewer.layout().tokens;
    s.user.move(static_cast<double>(text.x) + 40, static_cast<double>(text.y) + 60);
    s.user.scroll(20);
    s.user.move(2, 478);
    CHECK_FALSE(shows_query());
}
