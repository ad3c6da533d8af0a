// What heads do: numbers made on the device against the weights they are made of; silenced heads against a checkpoint whose
// output projection has zeros for them; norms of values against the weights of the file.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "oracle_model.h"
#include "runtime/base/os.h"
#include "runtime/exec/case_runner.h"
#include "runtime/graph/op.h"
#include "runtime/models/config.h"
#include "shaders/params/head_statistics.h"
#include "test_model.h"

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
    AttentionOf of = AttentionOf::self;
    int columns = 0;
    double apart(std::size_t i, std::size_t j) const {  // 0 where there is no distance
        if (of == AttentionOf::cross) return 0;
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
    const bool in_line = scene.of != AttentionOf::cross && scene.columns == 0;
    double total = 0, entropy = 0, distance = 0, same = 0, follows = 0, largest = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
        const auto weight = static_cast<double>(p[j]);
        total += weight;
        entropy -= weight > 0 ? weight * std::log(weight) : 0;
        distance += weight * scene.apart(i, j);
        if (in_line && j < i && ids[j] == ids[i]) same += weight;
        if (in_line && j > 0 && j <= i && ids[j - 1] == ids[i]) follows += weight;
        largest = std::max(largest, weight);
    }
    const auto mass = [&](std::size_t j, bool there) { return there && j < p.size() ? static_cast<double>(p[j]) : 0; };
    return {{ROW_TOTAL, total},
            {ROW_ENTROPY, entropy},
            {ROW_DISTANCE, distance},
            {ROW_DUPLICATE, same},
            {ROW_INDUCTION, follows},
            {ROW_LARGEST, largest},
            {ROW_SELF, mass(i, scene.of != AttentionOf::cross)},
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
                CHECK(static_cast<double>(row[number]) ==
                      Approx(want).epsilon(1e-5).margin(number == ROW_DISTANCE ? 10 * allowed : allowed));
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
    const std::int64_t heads = session.model().config().heads;
    std::vector<float> weights;
    for (std::int64_t head = 0; head < heads; ++head) {
        const std::vector<float> one = session.attention(layer, head, 0, tokens_looked_at, 0, tokens_looked_at);
        weights.insert(weights.end(), one.begin(), one.end());
    }
    INFO("layer " << layer);
    check_table(session.head_statistics(layer, std::vector<std::int32_t>(ids.size(), MARK_WORD)), weights,
                static_cast<std::size_t>(heads), ids.size(), ids.size(), {.ids = ids}, 3e-5);
}

/// All layers that attend this way against weights [layers, heads, rows, keys] that PyTorch computed, summed up in double. They
/// differ by up to 2e-6, sums of 61 of them by 5e-5 (entropies: times |ln p| + 1).
void check_oracle(Session& session, const TensorEntry& attention, const Scene& scene) {
    const std::vector<float> all = test::values_of<float>(attention);
    const auto sizes = [&](std::size_t i) { return static_cast<std::size_t>(attention.shape[i]); };
    const std::size_t heads = sizes(1), rows = sizes(2), keys = sizes(3), each = heads * rows * keys;
    const std::size_t marked = scene.of == AttentionOf::cross ? rows + keys : rows;
    for (std::size_t layer = 0; layer < sizes(0); ++layer) {
        INFO(session.model().info().name << " layer " << layer << " of " << static_cast<int>(scene.of));
        check_table(session.head_statistics(static_cast<std::int64_t>(layer),
                                            std::vector<std::int32_t>(marked, MARK_WORD), {}, scene.of),
                    std::span(all).subspan(layer * each, each), heads, rows, keys, scene, 5e-5);
    }
}

void check_model(const Model& model) {
    INFO(model.info().name);
    const std::vector<std::int32_t> ids = repeating_ids();
    Session session(model, {.context = tokens_looked_at, .precision = Precision::f32, .watch = Watch::all()});
    session.append(ids);
    session.process();
    for (std::int64_t layer = 0; layer < model.config().layers; ++layer) check_layer(session, layer, ids);
}

std::vector<float> logits_of(const Model& model, std::optional<std::vector<HeadPlace>> silenced) {
    Session session(
        model,
        {.context = tokens_looked_at, .precision = Precision::f32, .inspect = true, .silenced = std::move(silenced)});
    session.append(repeating_ids());
    session.process();
    return session.logits();
}

/// The output projection of a head's layer in a checkpoint of GPT-2 or BART.
std::string projection_of(const HeadPlace& place, bool bart) {
    if (!bart) return "h." + std::to_string(place.layer) + ".attn.c_proj.weight";
    return (place.of == AttentionOf::encoder ? "encoder" : "decoder") + std::string(".layers.") +
           std::to_string(place.layer) + (place.of == AttentionOf::cross ? ".encoder_attn" : ".self_attn") +
           ".out_proj.weight";
}

/// The model with zeros in its output projections where they belong to these heads: in rows (GPT-2's are [in, out]), or in columns.
void write_without_heads(const std::string& folder, const std::string& from, std::span<const HeadPlace> heads,
                         const std::function<std::size_t(const HeadPlace&)>& width_of_head, bool bart) {
    const SafeTensors file(from + "/model.safetensors");
    std::vector<std::vector<float>> changed;
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, entry] : file.entries()) changed.push_back(test::values_of<float>(entry));
    std::size_t at = 0;
    for (const auto& [name, entry] : file.entries()) {
        std::vector<float>& values = changed[at++];
        for (const HeadPlace& place : heads)
            if (name.ends_with(projection_of(place, bart))) {
                const auto rows = static_cast<std::size_t>(entry.shape[0]),
                           columns = static_cast<std::size_t>(entry.shape[1]), each = width_of_head(place),
                           begin = static_cast<std::size_t>(place.head) * each;
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < columns; ++c)
                        if (const std::size_t in = bart ? c : r; in >= begin && in < begin + each)
                            values[r * columns + c] = 0;
            }
        tensors.push_back({name, "F32", entry.shape, std::as_bytes(std::span(values))});
    }
    write_safetensors(folder + "/model.safetensors", tensors);
    write_file(folder + "/config.json", read_file(from + "/config.json", 1 << 20));
}

}  // namespace

TEST_CASE("head statistics on the device are those of the exact weights", "[heads]") {
    check_model(mini_world());
    for (const char* name : {"mistral", "bloom", "bert"})  // shared keys and a window; slopes; both directions
        check_model(Model::load(test_device(), test::oracle_models + name));
}

// Windows with a global token, sinks, distance biases, the text that a decoder reads, the patches of an image.
TEST_CASE("head statistics are those of the weights that PyTorch computed", "[heads]") {
    const auto expected = [](const std::string& name) {
        return SafeTensors(test::oracle_models + name + "/expected.safetensors");
    };
    const auto load = [](const std::string& name) { return Model::load(test_device(), test::oracle_models + name); };
    for (const char* name : {"longformer", "gpt_oss"}) {
        const SafeTensors file = expected(name);
        const auto ids = test::values_of<std::int32_t>(file.at("p2.input_ids"));
        const bool global = name == std::string("longformer");  // its first token sees all, and is seen by all
        Session session(load(name), {.context = std::ssize(ids),
                                     .precision = Precision::f32,
                                     .watch = Watch::all(),
                                     .global_tokens = global ? std::optional<std::int64_t>(1) : std::nullopt});
        session.append(ids);
        session.process();
        check_oracle(session, file.at("p2.attn"), {.ids = ids});
    }
    for (const char* name : {"bart", "t5"}) {
        const SafeTensors file = expected(name);
        const auto read = test::values_of<std::int32_t>(file.at("p2.input_ids")),
                   written = test::values_of<std::int32_t>(file.at("p2.decoder_input_ids"));
        Session session(load(name), {.context = std::ssize(read), .precision = Precision::f32, .watch = Watch::all()});
        session.encode(read);
        session.rewind(0);
        session.append(written);
        session.process();
        check_oracle(session, file.at("p2.encoder_attn"), {.ids = read, .of = AttentionOf::encoder});
        check_oracle(session, file.at("p2.decoder_attn"), {.ids = written});
        check_oracle(session, file.at("p2.cross_attn"), {.ids = read, .of = AttentionOf::cross});
    }
    const SafeTensors file = expected("vit");
    Session session(load("vit"), {.precision = Precision::f32, .watch = Watch::all()});
    const std::vector<float> pixels = test::values_of<float>(file.at("pixel_values"));
    session.look(std::span(pixels).first(3 * 32 * 32));
    session.process();
    check_oracle(session, file.at("i0.attn"), {.ids = {}, .columns = 4});
}

TEST_CASE("heads of an encoder–decoder are silenced by whose they are", "[heads]") {
    const std::string folder = test::oracle_models + "bart";
    const Model model = Model::load(test_device(), folder);
    const std::vector<HeadPlace> heads{{0, 1, AttentionOf::encoder}, {1, 0}, {1, 3, AttentionOf::cross}};
    const std::vector<std::int32_t> read{5, 9, 70, 9, 33}, written{2, 8, 9};
    const auto session_of = [&](const Model& of, std::optional<std::vector<HeadPlace>> silenced) {
        Session session(of,
                        {.context = 8, .precision = Precision::f32, .inspect = true, .silenced = std::move(silenced)});
        session.encode(read);
        session.rewind(0);
        session.append(written);
        session.process();
        return session;
    };
    const std::vector<float> plain = session_of(model, std::nullopt).logits();
    Session session = session_of(model, std::vector<HeadPlace>());
    for (std::size_t count = 1; count <= heads.size(); ++count) {  // one more each time, the encoder's first
        const std::vector<HeadPlace> some(heads.end() - static_cast<std::ptrdiff_t>(count), heads.end());
        const test::TemporaryDirectory without;
        write_without_heads(
            without.path(), folder, some,
            [&](const HeadPlace& place) { return static_cast<std::size_t>(32 / model.info().heads_of(place.of)); },
            true);
        INFO(count << " heads");
        const std::vector<float> want = session_of(Model::load(test_device(), without.path()), std::nullopt).logits();
        CHECK(session_of(model, some).logits() == want);
        session.silence(some);  // the encoder reads again where its heads change
        session.process();
        CHECK(session.logits() == want);
        CHECK(want != plain);
    }
    session.silence({});
    session.process();
    CHECK(session.logits() == plain);
    for (const auto& [place, why] :
         {std::pair{HeadPlace{2, 0, AttentionOf::encoder}, "encoder has layers 0 … 1 with heads 0 … 1"},
          {HeadPlace{0, 4, AttentionOf::cross}, "head x0.4"}})
        test::expect_error(ErrorKind::usage, {"cannot be silenced", why},
                           [&] { session.silence(std::span(&place, 1)); });
    test::expect_error(ErrorKind::usage, {"head e0.0", "is no encoder–decoder"}, [&] {
        Session(mini_world(), {.context = 8, .silenced = std::vector<HeadPlace>{{0, 0, AttentionOf::encoder}}});
    });
}

// v_j = W_v x_j + b_v, x the encoder's last hidden state; W_O v with the head's columns of out_proj.
TEST_CASE("norms of the values that a decoder reads are those of the encoder's text", "[heads]") {
    const std::string folder = test::oracle_models + "bart";
    const SafeTensors file(folder + "/model.safetensors");
    const auto tensor = [&](const std::string& name) {
        return test::values_of<float>(file.at("model.decoder.layers.1.encoder_attn." + name));
    };
    const std::vector<float> w = tensor("v_proj.weight"), b = tensor("v_proj.bias"), out = tensor("out_proj.weight");
    Session session(Model::load(test_device(), folder),
                    {.context = 8, .precision = Precision::f32, .watch = Watch::all(), .inspect = true});
    session.encode(std::vector<std::int32_t>{5, 9, 70, 9, 33});
    session.process();
    const std::vector<float> x = session.encoder_last_hidden(),
                             bare = session.value_norms(1, false, AttentionOf::cross),
                             projected = session.value_norms(1, true, AttentionOf::cross);
    const std::size_t d = b.size(), heads = 4, dv = d / heads, token = 3;
    REQUIRE(bare.size() == 5 * heads);
    for (std::size_t head = 0; head < heads; ++head) {
        std::vector<double> v(dv);
        double norm = 0, step = 0;
        for (std::size_t i = 0; i < dv; ++i) {
            v[i] = static_cast<double>(b[head * dv + i]);
            for (std::size_t k = 0; k < d; ++k)
                v[i] += static_cast<double>(x[token * d + k]) * static_cast<double>(w[(head * dv + i) * d + k]);
            norm += v[i] * v[i];
        }
        for (std::size_t o = 0; o < d; ++o) {
            double sum = 0;
            for (std::size_t i = 0; i < dv; ++i) sum += v[i] * static_cast<double>(out[o * d + head * dv + i]);
            step += sum * sum;
        }
        CHECK(static_cast<double>(bare[token * heads + head]) == Approx(std::sqrt(norm)).epsilon(1e-4));
        CHECK(static_cast<double>(projected[token * heads + head]) == Approx(std::sqrt(step)).epsilon(1e-4));
    }
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

TEST_CASE("a silenced head is one whose output projection is zero", "[heads]") {
    const std::string folder = test::oracle_models + "gpt2";
    const Model model = Model::load(test_device(), folder);
    const std::vector<HeadPlace> heads{{0, 0}, {0, 1}, {0, 2}, {1, 2}};
    const test::TemporaryDirectory without;
    const auto width = static_cast<std::size_t>(model.config().head_width);
    write_without_heads(
        without.path(), folder, heads, [&](const HeadPlace&) { return width; }, false);
    const std::vector<float> silenced = logits_of(model, heads), plain = logits_of(model, std::nullopt);
    CHECK(silenced ==
          logits_of(Model::load(test_device(), without.path()), std::nullopt));  // zeros add nothing: not a bit
    CHECK(silenced != plain);
    CHECK(logits_of(model, std::vector<HeadPlace>()) == plain);
}

TEST_CASE("a session silences other heads without another plan", "[heads]") {
    const Model& model = mini_world();
    const std::vector<HeadPlace> one{{1, 0}}, none;
    Session session(model,
                    {.context = tokens_looked_at, .precision = Precision::f32, .inspect = true, .silenced = none});
    session.append(repeating_ids());
    session.process();
    const std::vector<float> plain = session.logits();
    session.silence(one);
    session.process();
    CHECK(session.logits() == logits_of(model, one));
    test::expect_error(ErrorKind::usage, {"head 99.0", "layers 0"}, [&] {
        session.silence(std::vector<HeadPlace>{{99, 0}});
    });
    session.silence(none);
    session.process();
    CHECK(session.logits() == plain);
    Session without(model, {.context = 8});
    test::expect_error(ErrorKind::usage, {"SessionOptions::silenced"}, [&] { without.silence(one); });
    test::expect_error(ErrorKind::usage, {"head 0.77"}, [&] {
        Session(model, {.context = 8, .silenced = std::vector<HeadPlace>{{0, 77}}});
    });
}

// v_j = (ln_1(x_j) W)_v + b_v of the first layer, by hand from the file; ‖W_O v‖ with the head's rows of c_proj.
TEST_CASE("norms of values are those of the checkpoint's", "[heads]") {
    const std::string folder = test::oracle_models + "gpt2";
    const SafeTensors file(folder + "/model.safetensors");
    const auto tensor = [&](const std::string& name) { return test::values_of<float>(file.at("transformer." + name)); };
    const std::vector<float> wte = tensor("wte.weight"), wpe = tensor("wpe.weight"), gain = tensor("h.0.ln_1.weight"),
                             shift = tensor("h.0.ln_1.bias"), w = tensor("h.0.attn.c_attn.weight"),
                             b = tensor("h.0.attn.c_attn.bias"), out = tensor("h.0.attn.c_proj.weight");
    const std::vector<std::int32_t> ids = repeating_ids();
    const std::size_t d = gain.size(), heads = 3, dv = d / heads, j = 4;
    std::vector<double> x(d), v(d);
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < d; ++i) {
        x[i] = static_cast<double>(wte[static_cast<std::size_t>(ids[j]) * d + i]) + static_cast<double>(wpe[j * d + i]);
        mean += x[i] / static_cast<double>(d);
    }
    for (const double e : x) variance += (e - mean) * (e - mean) / static_cast<double>(d);
    for (std::size_t i = 0; i < d; ++i) {
        v[i] = static_cast<double>(b[2 * d + i]);
        for (std::size_t k = 0; k < d; ++k)
            v[i] += ((x[k] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gain[k]) +
                     static_cast<double>(shift[k])) *
                    static_cast<double>(w[k * 3 * d + 2 * d + i]);
    }
    Session session(Model::load(test_device(), folder),
                    {.context = tokens_looked_at, .precision = Precision::f32, .watch = Watch::all()});
    session.append(ids);
    session.process();
    const std::vector<float> bare = session.value_norms(0, false), projected = session.value_norms(0, true);
    for (std::size_t head = 0; head < heads; ++head) {
        double norm = 0, step = 0;
        for (std::size_t i = 0; i < dv; ++i) norm += v[head * dv + i] * v[head * dv + i];
        for (std::size_t o = 0; o < d; ++o) {
            double sum = 0;
            for (std::size_t i = 0; i < dv; ++i)
                sum += v[head * dv + i] * static_cast<double>(out[(head * dv + i) * d + o]);
            step += sum * sum;
        }
        CHECK(static_cast<double>(bare[j * heads + head]) ==
              Approx(std::sqrt(norm)).epsilon(1e-4));  // f32 against double
        CHECK(static_cast<double>(projected[j * heads + head]) == Approx(std::sqrt(step)).epsilon(1e-4));
    }
}
