// What heads do: numbers made on the device against the weights they are made of; silenced heads against a checkpoint whose
// output projection has zeros for them; norms of values against the weights of the file.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "oracle_model.h"
#include "runtime/base/os.h"
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

/// The numbers of row i of a head that are easily said of its weights, by their places.
std::vector<std::pair<int, double>> row_of(std::span<const float> p, std::size_t i, std::span<const std::int32_t> ids) {
    double total = 0, entropy = 0, distance = 0, same = 0, follows = 0, largest = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
        const auto weight = static_cast<double>(p[j]);
        total += weight;
        entropy -= weight > 0 ? weight * std::log(weight) : 0;
        distance += weight * std::abs(static_cast<double>(i) - static_cast<double>(j));
        if (j < i && ids[j] == ids[i]) same += weight;
        if (j > 0 && j <= i && ids[j - 1] == ids[i]) follows += weight;
        largest = std::max(largest, weight);
    }
    const auto mass = [&](std::size_t j) { return j < p.size() ? static_cast<double>(p[j]) : 0; };
    return {{ROW_TOTAL, total},       {ROW_ENTROPY, entropy}, {ROW_DISTANCE, distance}, {ROW_DUPLICATE, same},
            {ROW_INDUCTION, follows}, {ROW_LARGEST, largest}, {ROW_SELF, mass(i)},      {ROW_PREVIOUS, mass(i - 1)},
            {ROW_NEXT, mass(i + 1)},  {ROW_FIRST, mass(0)}};
}

/// Sums of up to 26 weights that differ by at most 1e-6 (exp of a rounded score), and 26 times that for a distance.
void check_layer(Session& session, std::int64_t layer, std::span<const std::int32_t> ids) {
    const auto heads = static_cast<std::size_t>(session.model().config().heads), n = ids.size();
    const HeadTable table = session.head_statistics(layer, std::vector<std::int32_t>(n, MARK_WORD));
    REQUIRE(table.rows.size() == n * heads * ROW_NUMBERS);
    for (std::size_t head = 0; head < heads; ++head) {
        const std::vector<float> weights =
            session.attention(layer, static_cast<std::int64_t>(head), 0, tokens_looked_at, 0, tokens_looked_at);
        std::vector<double> received(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::span<const float> p = std::span(weights).subspan(i * n, n);
            const float* row = &table.rows[(i * heads + head) * ROW_NUMBERS];
            for (const auto& [number, want] : row_of(p, i, ids)) {
                INFO("layer " << layer << " head " << head << " row " << i << " number " << number);
                CHECK(static_cast<double>(row[number]) == Approx(want).margin(3e-5));
            }
            CHECK(p[static_cast<std::size_t>(row[ROW_LARGEST + 1])] == Approx(row[ROW_LARGEST]).margin(1e-6));
            for (std::size_t j = 0; j < n; ++j) received[j] += static_cast<double>(p[j]);
        }
        for (std::size_t j = 0; j < n; ++j)
            CHECK(static_cast<double>(table.keys[(KEY_RECEIVED * heads + head) * n + j]) ==
                  Approx(received[j]).margin(3e-5));
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

/// GPT-2 with zeros in the rows of attn.c_proj that belong to these heads.
void write_without_heads(const std::string& folder, const std::string& from, std::span<const HeadPlace> heads,
                         std::size_t head_width) {
    const SafeTensors file(from + "/model.safetensors");
    std::vector<std::vector<float>> changed;
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, entry] : file.entries()) changed.push_back(test::values_of<float>(entry));
    std::size_t at = 0;
    for (const auto& [name, entry] : file.entries()) {
        std::vector<float>& values = changed[at++];
        for (const HeadPlace& place : heads)
            if (name.ends_with("h." + std::to_string(place.layer) + ".attn.c_proj.weight")) {
                const auto width = static_cast<std::size_t>(entry.shape[1]);
                std::fill_n(values.begin() + place.head * static_cast<std::int64_t>(head_width * width),
                            head_width * width, 0.0f);
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

TEST_CASE("a silenced head is one whose output projection is zero", "[heads]") {
    const std::string folder = test::oracle_models + "gpt2";
    const Model model = Model::load(test_device(), folder);
    const std::vector<HeadPlace> heads{{0, 0}, {0, 1}, {0, 2}, {1, 2}};
    const test::TemporaryDirectory without;
    write_without_heads(without.path(), folder, heads, static_cast<std::size_t>(model.config().head_width));
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
