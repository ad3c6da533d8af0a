// Two runs side by side: cells on the slots of an alignment, their differences, and the distances of heads, against
// weights in double.
#include <catch2/catch_test_macros.hpp>

#include "runtime/base/at.h"
#include "test_model.h"
#include "view_reference.h"
#include "viewer/data/comparison.h"
#include "viewer/data/head_distances.h"

using namespace view_reference;

namespace {

/// Two runs, and what a viewer would hold of them.
struct Pair {
    LiveModel &a, &b;
    RunComparison comparison{a, b};
    ViewData data_a{a, {.max_slots = a.context() + b.context()}}, data_b{b, {.max_slots = a.context() + b.context()}};
    LiveTokens tokens_a, tokens_b;
    Version version_a, version_b;

    void update() {
        version_a = a.version(), version_b = b.version();
        a.read_tokens(tokens_a), b.read_tokens(tokens_b);
        comparison.update({version_a, tokens_a}, {version_b, tokens_b});
        data_a.set_slots(comparison.slots(false)), data_b.set_slots(comparison.slots(true));
    }
    ShownRows all_rows() const {
        return {comparison.rows_of(AttentionKind::self), comparison.rows_of(AttentionKind::encoder)};
    }
    /// Runs `state` to its end. Until the thread of `a` has begun the run, its version is the settled one of the run
    /// before.
    void run(const ViewState& state) {
        const std::uint64_t run_before = a.version().run;
        a.start({.text = state.prompt}, state.sampling, state.max_tokens);
        comparison.start(state);
        test::Watchdog watchdog("the ends of both runs");
        do {
            update();
            watchdog.look(version_a.number, version_b.number);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        } while (version_a.run == run_before || !comparison.settled(version_a, version_b));
    }
};

/// Weights of one run on the slots of both, 0 where it has no token: [slots, slots].
std::vector<double> on_slots(const std::vector<double>& p, const Slots& slots, std::int64_t tokens,
                             std::int64_t count) {
    std::vector<double> all(static_cast<std::size_t>(count * count));
    for (std::int64_t r = 0; r < count; ++r)
        for (std::int64_t c = 0; c < count; ++c) {
            const auto i = slots.token(r), j = slots.token(c);
            if (i && j) at(all, r * count + c) = at(p, *i * tokens + *j);
        }
    return all;
}

/// What a cell without gaps should be: the mean over its rows of Σ (p_B − p_A).
double difference_of(const std::vector<double>& a, const std::vector<double>& b, std::int64_t n, std::int64_t row,
                     std::int64_t column, std::int64_t size) {
    double sum = 0;
    const std::int64_t end = std::min(row + size, n);
    for (std::int64_t r = row; r < end; ++r)
        for (std::int64_t c = column; c < std::min(column + size, n); ++c) sum += at(b, r * n + c) - at(a, r * n + c);
    return sum / static_cast<double>(end - row);
}

double total_variation(const std::vector<double>& a, const std::vector<double>& b, const Alignment& slots,
                       std::int64_t n) {
    double sum = 0, rows = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        const auto i = slots.a.token(r), j = slots.b.token(r);
        if (!i || !j || std::min(*i, *j) < 3) continue;
        double row = 0;
        for (std::int64_t c = 0; c < n; ++c) row += std::abs(at(b, r * n + c) - at(a, r * n + c));
        sum += row / 2, rows += 1;
    }
    return sum / rows;
}

/// Differences of the two maps, level by level, where all slots of a cell are pairs.
void check_differences(Pair& pair, const HeadId& head, std::int64_t n) {
    const Alignment& slots = pair.comparison.own();
    const std::vector<double> a = on_slots(weights_of(pair.a, head, pair.version_a.rows), slots.a, pair.version_a.rows,
                                           n),
                              b = on_slots(weights_of(pair.b, head, pair.version_b.rows), slots.b, pair.version_b.rows,
                                           n);
    ViewState state;
    state.rows = n;
    for (const double cells : {1000.0, 20.0, 8.0}) {
        pair.data_a.finish(state, all_of(head, n, cells));
        pair.data_b.finish(state, all_of(head, n, cells));
        const MapCells map_a = pair.data_a.read_cells(), map_b = pair.data_b.read_cells();
        REQUIRE(map_a.level == map_b.level);
        REQUIRE(map_a.rows == map_b.rows);
        const std::int64_t size = std::int64_t{1} << map_a.level;
        const auto whole = [&](std::int64_t first) {
            for (std::int64_t slot = first; slot < std::min(first + size, n); ++slot)
                if (!slots.paired(slot)) return false;
            return true;
        };
        double off = 0;
        std::int64_t compared = 0;
        for (std::int64_t r = 0; r < map_a.rows; ++r)
            for (std::int64_t c = 0; c < map_a.columns; ++c) {
                if (!whole(r * size) || !whole(c * size)) continue;
                const auto at = static_cast<std::size_t>(r * map_a.columns + c);
                const double got = static_cast<double>(map_b.mass[at]) - static_cast<double>(map_a.mass[at]);
                off = std::max(off, std::abs(got - difference_of(a, b, n, r * size, c * size, size)));
                ++compared;
            }
        CAPTURE(map_a.level);
        CHECK(off <= 2 * tolerance);
        CHECK(compared > 0);
        // of one run alone cells with gaps are what there is of it: rows that are there sum to 1
        for (std::int64_t r = 0; r < map_b.rows; ++r) {
            double sum = 0;
            for (std::int64_t c = 0; c < map_b.columns; ++c)
                sum += static_cast<double>(at(map_b.mass, r * map_b.columns + c));
            const bool there = slots.b.tokens_before(std::min((r + 1) * size, n)) > slots.b.tokens_before(r * size);
            CHECK(std::abs(sum - (there ? 1 : 0)) <= tolerance);
        }
    }
    HeadDistances distances(pair.a, pair.b);
    distances.finish(pair.comparison, pair.all_rows());
    CHECK(std::abs(distances.of(head) - total_variation(a, b, slots, n)) <= tolerance);
}

}  // namespace

TEST_CASE("a second run reads what the first one writes, and differences are those of the weights", "[view]") {
    const Model quantised =
        Model::load(test_device(), VANTAGE_ROOT "/assets/models/mini-world", {.weights = DType::q4_0});
    LiveModel a(mini_world(), {.precision = Precision::f32}), b(quantised, {.precision = Precision::f32});
    Pair pair{a, b};
    ViewState state;
    state.compared = Compared{.weights = DType::q4_0};
    state.max_tokens = 20;
    pair.run(state);
    CHECK_FALSE(pair.comparison.own_text());
    const std::int64_t n = pair.comparison.rows_of(AttentionKind::self);
    REQUIRE(n == pair.version_a.rows);
    REQUIRE(n > 30);
    CHECK(std::equal(pair.tokens_b.ids.begin(), pair.tokens_b.ids.end(), pair.tokens_a.ids.begin()));
    check_differences(pair, {1, 0}, n);
    check_differences(pair, {3, 6}, n);
    // another text, and nothing of the one before
    state.prompt = "Tom took the blue box. Tom took";
    pair.run(state);
    REQUIRE(pair.comparison.rows_of(AttentionKind::self) == pair.version_a.rows);
    check_differences(pair, {1, 0}, pair.version_a.rows);
}

TEST_CASE("a second prompt is aligned with the first, and cells of pairs are compared", "[view]") {
    LiveModel a(mini_world(), {.precision = Precision::f32}), b(mini_world(), {.precision = Precision::f32});
    Pair pair{a, b};
    ViewState state;
    state.compared =
        Compared{.prompt = "Tom put the old blue cup on the table. Then Mia took the red box. Tom put the"};
    state.max_tokens = 16;
    pair.run(state);
    REQUIRE(pair.comparison.own_text());
    const Alignment& slots = pair.comparison.own();
    const std::int64_t n = slots.count();
    REQUIRE(n == pair.comparison.rows_of(AttentionKind::self));
    REQUIRE(n > std::max(pair.version_a.rows, pair.version_b.rows));  // “old” is in one of them only
    std::int64_t pairs = 0;
    for (std::int64_t slot = 0; slot < n; ++slot) pairs += slots.paired(slot) ? 1 : 0;
    CHECK(pairs > n / 2);
    check_differences(pair, {1, 0}, n);
    check_differences(pair, {2, 3}, n);
    // modifiers and distances are each run's own
    state.modifiers = {.sink_off = true};
    state.axis = KeyAxis::relative;
    state.rows = n;
    pair.data_b.finish(state, all_of({1, 0}, n, 1000));
    const MapCells map = pair.data_b.read_cells();
    const std::vector<double> p = weights_of(b, {1, 0}, pair.version_b.rows);
    double off = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        const auto row = slots.b.token(r);
        for (std::int64_t distance = 0; distance < map.columns; ++distance) {
            double wanted = 0;
            if (row && distance < *row) {
                const auto at = static_cast<std::size_t>(*row * pair.version_b.rows);
                wanted = p[at + static_cast<std::size_t>(*row - distance)] / (1 - p[at]);
            }
            off = std::max(off, std::abs(static_cast<double>(at(map.mass, r * map.columns + distance)) - wanted));
        }
    }
    CHECK(off <= 1e-4);  // divided by what is left without the sink
}

TEST_CASE("maps of texts that are aligned while they grow are those of the end", "[view][once]") {
    LiveModel a(mini_world(), {.precision = Precision::f32, .largest_chunk = 16}),
        b(mini_world(), {.precision = Precision::f32, .largest_chunk = 8});
    Pair pair{a, b};
    ViewState state{.prompt = "Mia put the red cup on the table. Then Tom took the blue box. Mia put the red cup"};
    state.compared = Compared{.prompt = "Tom put the blue cup on the big table. Then Mia took the red box. Tom put"};
    state.max_tokens = 60;
    state.sampling.ignore_end = true;
    a.start({.text = state.prompt}, state.sampling, state.max_tokens);
    pair.comparison.start(state);
    HeadDistances distances(a, b);
    test::Watchdog watchdog("the ends of both runs");
    do {
        pair.update();
        const std::int64_t rows = pair.comparison.rows_of(AttentionKind::self);
        ViewState seen = state;
        seen.rows = rows;
        for (ViewData* data : {&pair.data_a, &pair.data_b})
            data->update(seen, all_of({1, 0}, std::max<std::int64_t>(rows, 1), rows % 2 == 0 ? 1000 : 8),
                         seconds_now());
        distances.update(pair.comparison, pair.all_rows(), 0.002);
        watchdog.look(pair.version_a.number, pair.version_b.number);
    } while (!pair.comparison.settled(a.version(), b.version()));
    pair.update();
    const std::int64_t n = pair.comparison.rows_of(AttentionKind::self);
    check_differences(pair, {1, 0}, n);
    for (const std::int64_t rows : {n, n / 2, n / 4, n}) {  // back in time, too
        HeadDistances fresh(a, b);
        distances.finish(pair.comparison, {.own = rows});
        fresh.finish(pair.comparison, {.own = rows});
        CHECK(std::abs(distances.of({1, 0}) - fresh.of({1, 0})) <= 1e-9);
    }
    CHECK(pair.data_a.counts().waits == 0);
}
