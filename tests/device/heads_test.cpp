// What heads do: numbers made on the device against the weights they are made of, and against PyTorch's; rows that see
// nothing.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "oracle_model.h"
#include "runtime/conform/case_runner.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"
#include "shaders/params/head_statistics.h"
#include "test_model.h"
#include "tests/host/expect_error.h"

using namespace vantage;
using Catch::Approx;

namespace {

constexpr std::int64_t tokens_looked_at = 26;  // more than the window of the smallest Mistral

/// Ids of which some come back.
std::vector<std::int32_t> repeating_ids() {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < tokens_looked_at; ++i) ids.push_back(5 + i * i % 13);
    return ids;
}

/// Whose tokens they are; no ids: an image, its class and patches in rows of `columns`.
struct Scene {
    std::span<const std::int32_t> ids;
    AttentionKind kind = AttentionKind::self;
    int columns = 0;
    double apart(std::size_t i, std::size_t j) const {  // 0 where there is no distance
        if (kind == AttentionKind::cross) return 0;
        if (columns == 0) return std::abs(static_cast<double>(i) - static_cast<double>(j));
        if (i == 0 || j == 0) return 0;
        const auto row = [&](std::size_t place) { return (static_cast<int>(place) - 1) / columns; };
        const auto column = [&](std::size_t place) { return (static_cast<int>(place) - 1) % columns; };
        return std::hypot(row(i) - row(j), column(i) - column(j));
    }
};

/// The numbers of row i of a head that are easily said of its weights, by their places.
std::vector<std::pair<int, double>> row_of(std::span<const float> p, std::size_t i, const Scene& scene) {
    const std::span<const std::int32_t> ids = scene.ids;
    const bool in_line = scene.kind != AttentionKind::cross && scene.columns == 0;
    double total = 0, entropy = 0, distance = 0, offset = 0, squared = 0, same = 0, follows = 0, largest = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
        const auto weight = static_cast<double>(p[j]);
        total += weight;
        entropy -= weight > 0 ? weight * std::log(weight) : 0;
        distance += weight * scene.apart(i, j);
        squared += weight * scene.apart(i, j) * scene.apart(i, j);
        if (in_line) offset += weight * (static_cast<double>(j) - static_cast<double>(i));
        if (in_line && j < i && ids[j] == ids[i]) same += weight;
        if (in_line && j > 0 && j <= i && ids[j - 1] == ids[i]) follows += weight;
        largest = std::max(largest, weight);
    }
    const auto mass = [&](std::size_t j, bool there) { return there && j < p.size() ? static_cast<double>(p[j]) : 0; };
    return {{ROW_TOTAL, total},
            {ROW_ENTROPY, entropy},
            {ROW_DISTANCE, distance},
            {ROW_OFFSET, offset},
            {ROW_SQUARED, squared},
            {ROW_DUPLICATE, same},
            {ROW_INDUCTION, follows},
            {ROW_LARGEST, largest},
            {ROW_SELF, mass(i, scene.kind != AttentionKind::cross)},
            {ROW_PREVIOUS, mass(i - 1, in_line)},
            {ROW_NEXT, mass(i + 1, in_line)},
            {ROW_FIRST, mass(0, true)}};
}

/// A layer's numbers against weights [heads, rows, keys]; `allowed` is for a sum of them.
void check_table(const HeadTable& table, std::span<const float> weights, std::size_t heads, std::size_t n,
                 std::size_t keys, const Scene& scene, double allowed) {
    REQUIRE(table.rows.size() == n * heads * ROW_NUMBERS);
    REQUIRE(table.keys.size() == keys * heads * KEY_NUMBERS);
    REQUIRE(weights.size() == heads * n * keys);
    for (std::size_t head = 0; head < heads; ++head) {
        std::vector<double> received(keys);
        for (std::size_t i = 0; i < n; ++i) {
            const std::span<const float> p = weights.subspan((head * n + i) * keys, keys);
            const float* row = &table.rows[(i * heads + head) * ROW_NUMBERS];
            for (const auto& [number, want] : row_of(p, i, scene)) {
                INFO("head " << head << " row " << i << " number " << number);
                const double farthest = number == ROW_DISTANCE || number == ROW_OFFSET ? 10
                                        : number == ROW_SQUARED                        ? 100
                                                                                       : 1;
                CHECK(static_cast<double>(row[number]) == Approx(want).epsilon(1e-5).margin(farthest * allowed));
            }
            CHECK(p[static_cast<std::size_t>(row[ROW_LARGEST + 1])] == Approx(row[ROW_LARGEST]).margin(allowed));
            for (std::size_t j = 0; j < keys; ++j) received[j] += static_cast<double>(p[j]);
        }
        for (std::size_t j = 0; j < keys; ++j)
            CHECK(static_cast<double>(table.keys[(KEY_RECEIVED * heads + head) * keys + j]) ==
                  Approx(received[j]).epsilon(1e-5).margin(allowed));
    }
}

/// Sums of up to 26 weights that differ by at most 1e-6 (exp of a rounded score).
void check_layer(Session& session, std::int64_t layer, std::span<const std::int32_t> ids) {
    const std::int64_t heads = config_of(session.model()).heads;
    std::vector<float> weights;
    for (std::int64_t head = 0; head < heads; ++head) {
        const std::vector<float> one =
            session.attention({layer, head}, {0, tokens_looked_at}, {0, tokens_looked_at}).vector();
        weights.insert(weights.end(), one.begin(), one.end());
    }
    INFO("layer " << layer);
    check_table(session.head_statistics(layer, std::vector<std::int32_t>(ids.size(), MARK_WORD)), weights,
                static_cast<std::size_t>(heads), ids.size(), ids.size(), {.ids = ids}, 3e-5);
}

/// All layers that attend this way against weights [layers, heads, rows, keys] that PyTorch computed, summed up in
/// double. They differ by up to 2e-6, sums of 61 of them by 5e-5 (entropies: times |ln p| + 1).
void check_oracle(Session& session, const TensorEntry& attention, const Scene& scene) {
    const std::vector<float> all = test::values_of<float>(attention);
    const auto sizes = [&](std::size_t i) { return static_cast<std::size_t>(attention.shape[i]); };
    const std::size_t heads = sizes(1), rows = sizes(2), keys = sizes(3), each = heads * rows * keys;
    const std::size_t marked = scene.kind == AttentionKind::cross ? rows + keys : rows;
    const std::vector<std::int64_t>& layers = session.model().info().layers_of(scene.kind);
    REQUIRE(layers.size() == sizes(0));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        INFO(session.model().info().name << " layer " << layers[i] << " of " << static_cast<int>(scene.kind));
        check_table(session.head_statistics(layers[i], std::vector<std::int32_t>(marked, MARK_WORD), {}, scene.kind),
                    std::span(all).subspan(i * each, each), heads, rows, keys, scene, 5e-5);
    }
}

void check_model(const Model& model) {
    INFO(model.info().name);
    const std::vector<std::int32_t> ids = repeating_ids();
    Session session(
        model, {.context = tokens_looked_at, .precision = Precision::f32, .record_attention = RecordAttention::all()});
    session.append(ids);
    session.run();
    for (const std::int64_t layer : model.info().layers_of(AttentionKind::self)) check_layer(session, layer, ids);
}

}  // namespace

TEST_CASE("head statistics on the device are those of the exact weights", "[heads]") {
    check_model(mini_world());
    for (const char* name : {"mistral", "bloom", "bert", "jamba"})  // shared keys and a window; slopes; both directions
        check_model(Model::load(test_device(), test::oracle_models + name));
}

// Windows with a global token, sinks, blocks that count several times, distance biases, the text that a decoder reads,
// the patches of an image.
TEST_CASE("head statistics are those of the weights that PyTorch computed", "[heads]") {
    const auto expected = [](const std::string& name) {
        return SafeTensors(test::oracle_models + name + "/expected.safetensors");
    };
    const auto load = [](const std::string& name) { return Model::load(test_device(), test::oracle_models + name); };
    for (const char* name : {"longformer", "gpt_oss", "big_bird", "jamba", "jamba_tied"}) {
        const SafeTensors file = expected(name);
        const auto ids = test::values_of<std::int32_t>(file.at("p2.input_ids"));
        const bool global = name == std::string("longformer");  // its first token sees all, and is seen by all
        Session session(load(name), {.context = std::ssize(ids),
                                     .precision = Precision::f32,
                                     .record_attention = RecordAttention::all(),
                                     .global_tokens = global ? std::optional<std::int64_t>(1) : std::nullopt});
        const TensorEntry* types = file.find("p2.token_type_ids");
        session.append(ids, types != nullptr ? test::values_of<std::int32_t>(*types) : std::vector<std::int32_t>());
        session.run();
        check_oracle(session, file.at("p2.attn"), {.ids = ids});
    }
    for (const char* name : {"bart", "t5"}) {
        const SafeTensors file = expected(name);
        const auto read = test::values_of<std::int32_t>(file.at("p2.input_ids")),
                   written = test::values_of<std::int32_t>(file.at("p2.decoder_input_ids"));
        Session session(
            load(name),
            {.context = std::ssize(read), .precision = Precision::f32, .record_attention = RecordAttention::all()});
        session.set_source(read);
        session.rewind(0);
        session.append(written);
        session.run();
        check_oracle(session, file.at("p2.encoder_attn"), {.ids = read, .kind = AttentionKind::encoder});
        check_oracle(session, file.at("p2.decoder_attn"), {.ids = written});
        check_oracle(session, file.at("p2.cross_attn"), {.ids = read, .kind = AttentionKind::cross});
    }
    const SafeTensors file = expected("vit");
    Session session(load("vit"), {.precision = Precision::f32, .record_attention = RecordAttention::all()});
    const std::vector<float> pixels = test::values_of<float>(file.at("pixel_values"));
    session.set_image(std::span(pixels).first(3 * 32 * 32));
    session.run();
    check_oracle(session, file.at("i0.attn"), {.ids = {}, .columns = 4});
}

TEST_CASE("head statistics beside global tokens anywhere are those of the weights", "[heads]") {
    const std::vector<std::int32_t> ids = {5, 17, 40, 9, 77, 3, 5, 17, 40, 9, 77, 3, 12, 60, 33, 81, 7, 25, 90, 14};
    const auto n = std::ssize(ids);
    Session session(Model::load(test_device(), test::oracle_models + "longformer"),
                    {.context = n,
                     .precision = Precision::f32,
                     .record_attention = RecordAttention::all(),
                     .global_positions = std::vector<std::int64_t>{3, 15, 4}});
    session.append(ids);
    session.run();
    for (std::int64_t layer = 0; layer < 2; ++layer)
        check_table(session.head_statistics(layer, std::vector<std::int32_t>(ids.size(), MARK_WORD)),
                    session.attention(layer).vector(), 2, ids.size(), ids.size(), {.ids = ids}, 5e-5);
    test::expect_error(ErrorKind::unsupported, {"global tokens"},
                       [&] { static_cast<void>(SessionAccess::tap_source(session, 0)); });
}

namespace {
/// An op's case as it stands, with changes; by its first kernel that fits, and by the last.
void run_changed(const char* op_name, const char* case_name, const std::function<void(PreparedCase&)>& change,
                 const std::function<void(const std::vector<HostTensor>&)>& check) {
    const OpDef& op = *find_op(op_name);
    const std::vector<Case> cases = op.cases();
    const Case& found = *std::ranges::find(cases, std::string(case_name), &Case::name);
    PreparedCase prepared = prepare(op, found, {DType::f32, DType::f32});
    change(prepared);
    for (const Kernel* kernel : {choose_kernel(prepared.call, test_device().caps()), &op.kernels.back()}) {
        INFO(op_name << ", " << case_name << ", " << kernel->name);
        check(run_call(test_device(), prepared.call, prepared.inputs, *kernel));
    }
}
}  // namespace

// A row that sees nothing is empty, one that went wrong is NaN, and neither touches its neighbours.
TEST_CASE("rows without keys and rows with NaN have defined statistics", "[heads]") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr std::int64_t n = 70, heads = 3, empty = 2, wrong = 5;
    run_changed(
        "attention", "entropy, window",
        [&](PreparedCase& c) {
            HostTensor mask(TensorType{Shape{n, n}, DType::f32});
            for (std::int64_t j = 0; j < n; ++j) mask[empty * n + j] = -infinity;
            c.call.inputs[5] = mask.type, c.inputs[5] = mask;
            c.inputs[0][wrong * heads * 24] = std::nan("");  // of head 0
        },
        [&](const std::vector<HostTensor>& out) {  // o, lse, entropy, largest
            for (std::int64_t h = 0; h < heads; ++h) {
                CHECK(out[1][empty * heads + h] == -infinity);
                CHECK((out[2][empty * heads + h] == 0 && out[3][empty * heads + h] == 0));
                CHECK((out[0][empty * heads * 24 + h * 24] == 0));
                for (std::size_t number = 1; number <= 3; ++number) {
                    CHECK(std::isnan(out[number][wrong * heads + h]) == (h == 0));
                    CHECK(std::isfinite(out[number][(wrong + 1) * heads + h]));
                }
            }
            CHECK(std::isnan(out[0][wrong * heads * 24]));
        });
    run_changed(
        "head_statistics", "causal",
        [&](PreparedCase& c) {
            c.inputs[2][empty * 4] = -infinity;  // lse of head 0
            c.inputs[2][wrong * 4] = std::nan("");
        },
        [&](const std::vector<HostTensor>& out) {  // rows from 2 on
            const auto number = [&](std::int64_t row, int which) {
                return out[0][(row - 2) * 4 * ROW_NUMBERS + which];
            };
            for (int i = 0; i < ROW_SUMS; ++i) CHECK(number(empty, i) == 0);
            CHECK((std::isnan(number(wrong, ROW_TOTAL)) && std::isnan(number(wrong, ROW_ENTROPY))));
            for (const std::int64_t row : {empty, wrong})
                CHECK((number(row, ROW_LARGEST) == 0 && number(row, ROW_LARGEST + 1) == -1));
            CHECK(std::isfinite(number(wrong + 1, ROW_TOTAL)));
        });
}
