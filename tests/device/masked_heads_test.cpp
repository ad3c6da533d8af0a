// Heads one by one: silenced ones against a checkpoint whose output projection has zeros for them; norms of values
// against the weights of the file.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "oracle_model.h"
#include "runtime/base/files.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "test_model.h"

using namespace vantage;
using Catch::Approx;

namespace {

constexpr std::int64_t tokens_of_text = 26;

/// Ids of which some come back.
std::vector<std::int32_t> ids_of_text() {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < tokens_of_text; ++i) ids.push_back(5 + i * i % 13);
    return ids;
}

std::vector<float> logits_of(const Model& model, std::optional<std::vector<HeadId>> masked_heads) {
    Session session(model, {.context = tokens_of_text,
                            .precision = Precision::f32,
                            .inspect = true,
                            .masked_heads = std::move(masked_heads)});
    session.append(ids_of_text());
    session.run();
    return session.logits().vector();
}

/// The output projection of a head's layer in a checkpoint of GPT-2 or BART.
std::string projection_of(const HeadId& place, bool bart) {
    if (!bart) return "h." + std::to_string(place.layer) + ".attn.c_proj.weight";
    return (place.kind == AttentionKind::encoder ? "encoder" : "decoder") + std::string(".layers.") +
           std::to_string(place.layer) + (place.kind == AttentionKind::cross ? ".encoder_attn" : ".self_attn") +
           ".out_proj.weight";
}

/// The model with zeros in its output projections where they belong to these heads: in rows (GPT-2's are [in, out]), or
/// in columns.
void write_without_heads(const std::string& folder, const std::string& from, std::span<const HeadId> heads,
                         const std::function<std::size_t(const HeadId&)>& width_of_head, bool bart) {
    const SafeTensors file(from + "/model.safetensors");
    std::vector<std::vector<float>> changed;
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, entry] : file.entries()) changed.push_back(test::values_of<float>(entry));
    std::size_t at = 0;
    for (const auto& [name, entry] : file.entries()) {
        std::vector<float>& values = changed[at++];
        for (const HeadId& place : heads)
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

TEST_CASE("a silenced head is one whose output projection is zero", "[heads]") {
    const std::string folder = test::oracle_models + "gpt2";
    const Model model = Model::load(test_device(), folder);
    const std::vector<HeadId> heads{{0, 0}, {0, 1}, {0, 2}, {1, 2}};
    const test::TemporaryDirectory without;
    const auto width = static_cast<std::size_t>(config_of(model).head_width);
    write_without_heads(
        without.path(), folder, heads, [&](const HeadId&) { return width; }, false);
    const std::vector<float> masked_heads = logits_of(model, heads), plain = logits_of(model, std::nullopt);
    CHECK(masked_heads ==
          logits_of(Model::load(test_device(), without.path()), std::nullopt));  // zeros add nothing: not a bit
    CHECK(masked_heads != plain);
    CHECK(logits_of(model, std::vector<HeadId>()) == plain);
}

TEST_CASE("a session silences other heads without another plan", "[heads]") {
    const Model& model = mini_world();
    const std::vector<HeadId> one{{1, 0}}, none;
    Session session(model,
                    {.context = tokens_of_text, .precision = Precision::f32, .inspect = true, .masked_heads = none});
    session.append(ids_of_text());
    session.run();
    const std::vector<float> plain = session.logits().vector();
    session.mask_heads(one);
    session.run();
    CHECK(session.logits().vector() == logits_of(model, one));
    test::expect_error(ErrorKind::usage, {"head 99.0", "layers 0"}, [&] {
        session.mask_heads(std::vector<HeadId>{{99, 0}});
    });
    session.mask_heads(none);
    session.run();
    CHECK(session.logits().vector() == plain);
    Session without(model, {.context = 8});
    test::expect_error(ErrorKind::usage, {"SessionOptions::masked_heads"}, [&] { without.mask_heads(one); });
    test::expect_error(ErrorKind::usage, {"head 0.77"}, [&] {
        Session(model, {.context = 8, .masked_heads = std::vector<HeadId>{{0, 77}}});
    });
}

TEST_CASE("heads of an encoder–decoder are silenced by whose they are", "[heads]") {
    const std::string folder = test::oracle_models + "bart";
    const Model model = Model::load(test_device(), folder);
    const std::vector<HeadId> heads{{0, 1, AttentionKind::encoder}, {1, 0}, {1, 3, AttentionKind::cross}};
    const std::vector<std::int32_t> read{5, 9, 70, 9, 33}, written{2, 8, 9};
    const auto session_of = [&](const Model& of, const std::optional<std::vector<HeadId>>& masked_heads) {
        Session session(of, {.context = 8, .precision = Precision::f32, .inspect = true, .masked_heads = masked_heads});
        session.set_source(read);
        session.rewind(0);
        session.append(written);
        session.run();
        return session;
    };
    const std::vector<float> plain = session_of(model, std::nullopt).logits().vector();
    Session session = session_of(model, std::vector<HeadId>());
    for (std::size_t count = 1; count <= heads.size(); ++count) {  // one more each time, the encoder's first
        const std::vector<HeadId> some(heads.end() - static_cast<std::ptrdiff_t>(count), heads.end());
        const test::TemporaryDirectory without;
        write_without_heads(
            without.path(), folder, some,
            [&](const HeadId& place) { return static_cast<std::size_t>(32 / model.info().heads_of(place.kind)); },
            true);
        INFO(count << " heads");
        const std::vector<float> want =
            session_of(Model::load(test_device(), without.path()), std::nullopt).logits().vector();
        CHECK(session_of(model, some).logits().vector() == want);
        session.mask_heads(some);  // the encoder reads again where its heads change
        session.run();
        CHECK(session.logits().vector() == want);
        CHECK(want != plain);
    }
    session.mask_heads({});
    session.run();
    CHECK(session.logits().vector() == plain);
    for (const auto& [place, why] :
         {std::pair{HeadId{2, 0, AttentionKind::encoder}, "encoder has layers 0 … 1 with heads 0 … 1"},
          {HeadId{0, 4, AttentionKind::cross}, "head x0.4"}})
        test::expect_error(ErrorKind::usage, {"cannot be masked", why},
                           [&] { session.mask_heads(std::span(&place, 1)); });
    test::expect_error(ErrorKind::usage, {"head e0.0", "is no encoder–decoder"}, [&] {
        Session(mini_world(), {.context = 8, .masked_heads = std::vector<HeadId>{{0, 0, AttentionKind::encoder}}});
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
    const std::vector<std::int32_t> ids = ids_of_text();
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
    Session session(
        Model::load(test_device(), folder),
        {.context = tokens_of_text, .precision = Precision::f32, .record_attention = RecordAttention::all()});
    session.append(ids);
    session.run();
    const std::vector<float> bare = session.value_norms(0, false).vector(),
                             projected = session.value_norms(0, true).vector();
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

// v_j = W_v x_j + b_v, x the encoder's last hidden state; W_O v with the head's columns of out_proj.
TEST_CASE("norms of the values that a decoder reads are those of the encoder's text", "[heads]") {
    const std::string folder = test::oracle_models + "bart";
    const SafeTensors file(folder + "/model.safetensors");
    const auto tensor = [&](const std::string& name) {
        return test::values_of<float>(file.at("model.decoder.layers.1.encoder_attn." + name));
    };
    const std::vector<float> w = tensor("v_proj.weight"), b = tensor("v_proj.bias"), out = tensor("out_proj.weight");
    Session session(
        Model::load(test_device(), folder),
        {.context = 8, .precision = Precision::f32, .record_attention = RecordAttention::all(), .inspect = true});
    session.set_source(std::vector<std::int32_t>{5, 9, 70, 9, 33});
    session.run();
    const std::vector<float> x = session.encoder_last_hidden().vector(),
                             bare = session.value_norms(1, false, AttentionKind::cross).vector(),
                             projected = session.value_norms(1, true, AttentionKind::cross).vector();
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
