// Every level of a map for all rules of attention: against weights made in double, against the level below, and row by
// row against all at once.
#include <algorithm>

#include "gated_model.h"
#include "runtime/base/at.h"
#include "test_model.h"
#include "view_reference.h"

using namespace view_reference;

namespace {

// Weights drawn small give scores near 0: the scale of queries makes them large enough to tell keys apart.
const char* const windows =
    R"({"model_type":"gemma2","num_hidden_layers":2,"hidden_size":48,"num_attention_heads":4,"num_key_value_heads":2,
        "head_dim":12,"intermediate_size":64,"vocab_size":1900,"max_position_embeddings":512,"sliding_window":37,
        "attn_logit_softcapping":6.0,"final_logit_softcapping":30.0,"query_pre_attn_scalar":0.0004,"rms_norm_eps":1e-6,
        "hidden_activation":"gelu_pytorch_tanh","rope_theta":10000.0})";
const char* const sinks =
    R"({"model_type":"gpt_oss","num_hidden_layers":2,"hidden_size":48,"num_attention_heads":4,"num_key_value_heads":1,
        "head_dim":16,"intermediate_size":32,"vocab_size":1900,"max_position_embeddings":512,"sliding_window":50,
        "num_local_experts":2,"num_experts_per_tok":1,
        "rope_scaling":{"rope_type":"yarn","factor":8.0,"original_max_position_embeddings":64}})";
const char* const narrow_heads =  // heads of 3 numbers, which no kernel reads four at a time
    R"({"model_type":"gpt2","n_layer":1,"n_embd":12,"n_head":4,"vocab_size":1900,"n_positions":512})";

// Cells that make so many of them across a map of level `level`, for n tokens.
double cells_of(int level, std::int64_t n) {
    return std::max(1.0, std::ceil(static_cast<double>(n) / std::exp2(level)));
}

MapCells map_of(ViewData& data, const HeadId& head, std::int64_t n, int level, const ViewState& state = {}) {
    const FrameData& frame = data.finish(state, all_of(head, n, cells_of(level, n)));
    CHECK(frame.map.progress == 1);
    return data.read_cells();
}

/// The largest difference of mass and peak between a map and what the next finer one pools to.
double unlike_pooled(const MapCells& coarse, const MapCells& fine, std::int64_t n) {
    double off = 0;
    const std::int64_t rows_of_fine = std::int64_t{1} << fine.level;
    for (std::int64_t r = 0; r < coarse.rows; ++r)
        for (std::int64_t c = 0; c < coarse.columns; ++c) {
            double sum = 0, peak = 0, rows = 0;
            for (std::int64_t i = 2 * r; i < std::min(2 * r + 2, fine.rows); ++i) {
                const auto weight = static_cast<double>(std::min(rows_of_fine, n - i * rows_of_fine));
                rows += weight;
                for (std::int64_t j = 2 * c; j < std::min(2 * c + 2, fine.columns); ++j) {
                    const auto at = static_cast<std::size_t>(i * fine.columns + j);
                    sum += weight * static_cast<double>(fine.mass[at]);
                    peak = std::max(peak, static_cast<double>(fine.peak[at]));
                }
            }
            const auto at = static_cast<std::size_t>(r * coarse.columns + c);
            off = std::max({off, std::abs(static_cast<double>(coarse.mass[at]) - sum / rows),
                            std::abs(static_cast<double>(coarse.peak[at]) - peak)});
        }
    return off;
}

constexpr int max_levels = 7;

}  // namespace

TEST_CASE("all levels of a map are exact for windows, capped scores, shared keys and sinks", "[view]") {
    struct Kind {
        const char* config;
        double row_sum;  // that every row has; less than 1, and different ones, with sinks
    };
    for (const auto& [config, row_sum] : {Kind{windows, 1}, Kind{sinks, 0}, Kind{narrow_heads, 1}}) {
        const Model model = Model::random(test_device(), "rules", config, DType::f32, 7);
        LiveModel live(model, {.context = 256, .precision = Precision::f32});
        std::uint64_t run = 0;
        for (const std::int64_t n : {std::int64_t{1}, std::int64_t{65}, std::int64_t{203}}) {
            live.start({.ids = some_ids(n)}, {}, 0);
            wait_for_end(live, ++run);
            for (const std::int64_t layer : {std::int64_t{0}, model.info().layers - 1}) {
                const HeadId head{layer, 3};
                const std::vector<double> p = weights_of(live, head, n);
                MapCells finer;
                for (int level = 0; level < max_levels && (n >> level) > 0; ++level) {
                    ViewData fresh(live);  // made from the weights, not from the level below
                    const MapCells map = map_of(fresh, head, n, level);
                    CAPTURE(config, n, layer, level);
                    REQUIRE(map.level == level);
                    CHECK(fresh.counts().tiles_pooled == 0);
                    const auto [mass, peak] = worst(map, p, n);
                    CHECK(mass <= tolerance);
                    CHECK(peak <= tolerance);
                    if (level > 0) CHECK(unlike_pooled(map, finer, n) <= 2e-6);
                    for (std::int64_t r = 0; r < map.rows && row_sum > 0; ++r) {
                        double sum = 0;
                        for (std::int64_t c = 0; c < map.columns; ++c)
                            sum += static_cast<double>(at(map.mass, r * map.columns + c));
                        CHECK(std::abs(sum - row_sum) <= tolerance);
                    }
                    finer = map;
                }
            }
        }
    }
}

TEST_CASE("levels that are pooled are those that are made from the weights", "[view]") {
    LiveModel live(mini_world(), {.precision = Precision::f32});
    const std::int64_t n = 203;
    live.start({.ids = some_ids(n)}, {}, 0);
    wait_for_end(live);
    const HeadId head{1, 6};
    ViewData data(live);
    for (int level = 0; level < max_levels; ++level) {
        const MapCells pooled = map_of(data, head, n, level);
        ViewData fresh(live);
        const MapCells made = map_of(fresh, head, n, level);
        double off = 0;
        for (std::size_t i = 0; i < made.mass.size(); ++i)
            off = std::max({off, static_cast<double>(std::abs(made.mass[i] - pooled.mass[i])),
                            static_cast<double>(std::abs(made.peak[i] - pooled.peak[i]))});
        CAPTURE(level);
        CHECK(off <= 2e-6);
    }
    CHECK(data.counts().tiles_pooled > 0);
}

TEST_CASE("a map that grew row by row is that of one run at every level", "[view][once]") {
    const std::int64_t n = 150;
    test::GatedModel model(mini_world(), {.precision = Precision::f32, .largest_chunk = 40});
    LiveModel& live = model.live;
    std::vector<std::unique_ptr<ViewData>> grown;
    for (int level = 0; level < 6; ++level) grown.push_back(std::make_unique<ViewData>(live));
    const HeadId head{2, 0};
    live.start({.ids = some_ids(100)}, {.ignore_end = true}, n - 100 + 1);
    test::Watchdog watchdog("the end of the model's run");
    for (Version version; version.activity != Activity::ended;) {
        version = live.version();
        watchdog.look(version.number);
        const std::int64_t rows = version.rows;
        for (int level = 0; level < 6; ++level)  // each version is drawn, whatever of it a batch holds
            if (rows > 0) at(grown, level)->update({}, all_of(head, rows, cells_of(level, rows)), seconds_now());
        model.looked_at(version);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    wait_for_end(live);
    REQUIRE(live.version().rows == n);
    const std::vector<double> p = weights_of(live, head, n);
    for (int level = 0; level < 6; ++level) {
        const auto [mass, peak] = worst(map_of(*at(grown, level), head, n, level), p, n);
        CAPTURE(level);
        CHECK(mass <= tolerance);
        CHECK(peak <= tolerance);
    }
    // Back in time, where the last row of cells is cut, and on again.
    ViewData& data = *grown[4];
    for (const std::int64_t rows :
         {std::int64_t{128}, std::int64_t{101}, std::int64_t{150}, std::int64_t{3}, std::int64_t{150}}) {
        ViewState past;
        past.rows = rows;
        data.finish(past, all_of(head, rows, cells_of(4, n)));
        const auto [mass, peak] = worst(data.read_cells(), weights_of(live, head, rows), rows);
        CAPTURE(rows);
        CHECK(mass <= tolerance);
        CHECK(peak <= tolerance);
    }
}

TEST_CASE("a cache in half precision moves no cell by more than 0.002", "[view]") {
    const std::int64_t n = 120;
    LiveModel exact(mini_world(), {.precision = Precision::f32}), halved(mini_world(), {.precision = Precision::f16});
    for (LiveModel* live : {&exact, &halved}) {
        live->start({.ids = some_ids(n)}, {}, 0);
        wait_for_end(*live);
    }
    ViewData data(halved);
    double moved = 0;
    for (const HeadId& head : exact.heads()) {
        const std::vector<double> p = weights_of(exact, head, n);
        for (const int level : {0, 3}) {
            const auto [mass, peak] = worst(map_of(data, head, n, level), p, n);
            moved = std::max({moved, mass, peak});
        }
    }
    CHECK(moved <= 2e-3);
    CHECK(moved > 0);
}

namespace {

/// A model whose heads look at so many tokens, and a map of one of them at some levels: sampled cells are exact sums
/// and maxima, however many batches they were made in, and each row of cells sums to 1.
void check_long_text(std::int64_t n, std::initializer_list<int> levels, std::int64_t samples) {
    const std::string config =
        R"({"model_type":"llama","num_hidden_layers":1,"hidden_size":16,"num_attention_heads":2,"num_key_value_heads":1,
            "head_dim":8,"intermediate_size":16,"vocab_size":1900,"max_position_embeddings":)" +
        std::to_string(n) + R"(,"rms_norm_eps":1e-5,"rope_theta":10000.0,"tie_word_embeddings":true})";
    const WithoutGuard without;
    const Model model = Model::random(test_device(), "long", config, DType::f32, 3);
    LiveModel live(model, {.context = n, .largest_chunk = 512});
    live.start({.ids = some_ids(n)}, {}, 0);
    wait_for_end(live);
    REQUIRE(live.version().rows == n);
    const HeadId head{0, 1};
    ViewData data(live);
    for (const int level : levels) {
        const MapCells map = map_of(data, head, n, level);
        REQUIRE(map.level == level);
        for (std::int64_t sample = 0; sample < samples; ++sample) {
            const std::int64_t r = sample * sample * 131 % map.rows, c = sample * 37 % (r + 1);
            const auto [mass, peak] = cell_of(live, head, r << level, c << level, level, n);
            const auto at = static_cast<std::size_t>(r * map.columns + c);
            CAPTURE(level, r, c);
            CHECK(std::abs(static_cast<double>(map.mass[at]) - mass) <= tolerance * std::max(1.0, mass));
            CHECK(std::abs(static_cast<double>(map.peak[at]) - peak) <= tolerance);
        }
        for (std::int64_t r = 0; r < map.rows; ++r) {
            double sum = 0;
            for (std::int64_t c = 0; c < map.columns; ++c)
                sum += static_cast<double>(at(map.mass, r * map.columns + c));
            REQUIRE(std::abs(sum - 1) <= 2e-5);  // of up to so many weights
        }
    }
    CHECK(data.counts().tiles_pooled == 0);  // from coarse to fine: made of the weights, each of them
}

}  // namespace

TEST_CASE("sampled cells are exact at every level that a zoom passes", "[view]") {
    check_long_text(700, {4, 3, 2}, 48);
}
TEST_CASE("sampled cells of a text of 4500 tokens are exact at every level that a zoom passes", "[view][once]") {
    check_long_text(4500, {7, 5, 4, 3, 2}, 48);
}
TEST_CASE("cells of a text of 32768 tokens are exact sums", "[view][.long]") { check_long_text(32768, {6}, 64); }
