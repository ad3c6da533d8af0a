// Heads that are removed from a model, shifted at one position, or read from its weights.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <filesystem>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "oracle_model.h"
#include "runtime/base/files.h"
#include "runtime/checkpoint/prune_heads.h"
#include "runtime/models/config.h"
#include "runtime/session/head_weights.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"
#include "runtime/session/token_embeddings.h"
#include "test_model.h"

using namespace vantage;
using Catch::Approx;

namespace {

constexpr std::int64_t shifted_tokens = 9;

std::vector<float> logits_masking(const Model& model, std::optional<std::vector<HeadId>> masked_heads = {}) {
    const bool pair = config_of(model).kind == ModelKind::encoder_decoder;
    Session session(model, {.context = shifted_tokens,
                            .precision = Precision::f32,
                            .inspect = true,
                            .masked_heads = std::move(masked_heads)});
    if (pair) session.set_source(std::vector<std::int32_t>{5, 9, 70, 9, 33}), session.rewind(0);
    session.append(some_ids(shifted_tokens, 90));
    session.run();
    return session.logits().vector();
}

/// The logits of the model in `folder` with these heads removed, and with them masked.
struct Removed {
    PrunedModel pruned;
    std::vector<float> logits, masked;
};
Removed remove(const std::string& folder, const std::vector<HeadId>& heads) {
    const test::TemporaryDirectory without;
    const std::string to = without.path() + "/model";
    const PrunedModel pruned = prune_heads(folder, to, heads);
    return {pruned, logits_masking(Model::load(test_device(), to)),
            logits_masking(Model::load(test_device(), folder), heads)};
}

std::vector<float> tensor_of(const std::string& folder, const std::string& name) {
    return test::values_of<float>(WeightFiles(folder).find(name)[0]);
}

}  // namespace

TEST_CASE("heads of any model are removed by zeros in its output projections", "[prune]") {
    using Heads = std::vector<HeadId>;
    const std::vector<std::pair<const char*, Heads>> models{
        {"gpt2", {{0, 0}, {0, 1}, {0, 2}, {1, 2}}},
        {"falcon", {{1, 3}}},
        {"llama_bf16", {{0, 1}, {1, 1}, {1, 2}}},  // unequal numbers; three files
        {"bart", {{0, 1, AttentionKind::encoder}, {1, 0}, {1, 3, AttentionKind::cross}}},
        {"t5", {{1, 0, AttentionKind::cross}, {0, 1, AttentionKind::encoder}}},
        {"longformer", {{0, 1}}},
        {"jamba", {{1, 0}, {1, 1}, {1, 2}, {1, 3}, {4, 2}}}};
    for (const auto& [name, heads] : models) {
        INFO(name);
        const std::string folder = test::oracle_models + name;
        const Removed removed = remove(folder, heads);
        CHECK_FALSE(removed.pruned.smaller);
        CHECK(removed.pruned.parameters_after == removed.pruned.parameters_before);
        CHECK(removed.logits == removed.masked);  // zeros add nothing: not a bit
        CHECK(removed.logits != logits_masking(Model::load(test_device(), folder)));
    }
}

TEST_CASE("a model becomes smaller where all layers lose as many heads", "[prune]") {
    using Heads = std::vector<HeadId>;
    // llama: 6 heads of 2 key heads; qwen2: 4 of 2, with biases; qwen3: f16, norms of heads; llama_linear: 4 of 2
    const std::vector<std::pair<const char*, Heads>> models{
        {"llama", {{0, 0}, {0, 5}, {1, 2}, {1, 3}}},                  // one of each key head
        {"llama", {{0, 0}, {0, 1}, {0, 2}, {1, 3}, {1, 4}, {1, 5}}},  // a whole key head
        {"qwen2", {{0, 1}, {0, 2}, {1, 0}, {1, 3}}},
        {"qwen3", {{0, 2}, {0, 3}, {1, 0}, {1, 1}}},
        {"mixtral", {{0, 1}, {0, 2}, {1, 0}, {1, 3}}}};
    for (const auto& [name, heads] : models) {
        INFO(name);
        const Removed removed = remove(test::oracle_models + name, heads);
        CHECK(removed.pruned.smaller);
        CHECK(removed.pruned.parameters_after < removed.pruned.parameters_before);
        CHECK(test::difference(removed.logits, removed.masked).first < 2e-5);
    }
    // one head of one key head, two of the other: they would read other keys
    CHECK_FALSE(remove(test::oracle_models + "llama", {{0, 0}, {0, 1}, {0, 3}, {1, 0}, {1, 1}, {1, 3}}).pruned.smaller);
}

TEST_CASE("a pruned model is a whole new folder, or nothing", "[prune]") {
    const std::string from = test::oracle_models + "gpt2";
    const test::TemporaryDirectory folder;
    const std::string to = folder.path() + "/new";
    const std::vector<HeadId> one{{0, 1}}, missing{{2, 0}}, cross{{0, 0, AttentionKind::cross}};
    test::expect_error(ErrorKind::bad_file, {"it exists"}, [&] { prune_heads(from, from, one); });
    test::expect_error(ErrorKind::usage, {"head 2.0", "2 layers of 3 heads"}, [&] { prune_heads(from, to, missing); });
    test::expect_error(ErrorKind::usage, {"head x0.0"}, [&] { prune_heads(from, to, cross); });
    test::expect_error(ErrorKind::usage, {"no heads"}, [&] { prune_heads(from, to, {}); });
    test::expect_error(ErrorKind::bad_file, {"config.json"}, [&] { prune_heads(folder.path(), to, one); });
    CHECK(std::filesystem::is_empty(folder.path()));
    prune_heads(from, to, one);
    for (const char* name : {"/tokenizer.json", "/config.json"}) CHECK(read_file(to + name) == read_file(from + name));
}

TEST_CASE("the weights of heads are those of the file, with the linear part of the norm", "[composition]") {
    // Llama: q of head 4 and k and v of key head 1, [out, in], with the gain of the RMSNorm
    const std::string llama = test::oracle_models + "llama";
    const HeadWeights head = at(head_weights(Model::load(test_device(), llama), 1, AttentionKind::self), 4);
    constexpr std::size_t width = 48, head_width = 8;
    REQUIRE(head.width == 48);
    const auto part = [&](const char* name) { return tensor_of(llama, std::string("model.layers.1.") + name); };
    const std::vector<float> q = part("self_attn.q_proj.weight"), k = part("self_attn.k_proj.weight"),
                             v = part("self_attn.v_proj.weight"), o = part("self_attn.o_proj.weight"),
                             gain = part("input_layernorm.weight");
    for (std::size_t f = 0; f < head_width; ++f)
        for (std::size_t c = 0; c < width; ++c) {
            const std::size_t i = f * width + c;
            CHECK(head.q[i] == Approx(q[(4 * head_width + f) * width + c] * gain[c]));
            CHECK(head.k[i] == Approx(k[(1 * head_width + f) * width + c] * gain[c]));
            CHECK(head.v[i] == Approx(v[(1 * head_width + f) * width + c] * gain[c]));
            CHECK(head.o[i] == o[c * width + 4 * head_width + f]);
        }
    // GPT-2: one matrix [in, 3 width] for q, k and v; LayerNorm subtracts the mean
    const std::string gpt2 = test::oracle_models + "gpt2";
    const HeadWeights second = at(head_weights(Model::load(test_device(), gpt2), 0, AttentionKind::self), 2);
    const std::vector<float> packed = tensor_of(gpt2, "transformer.h.0.attn.c_attn.weight"),
                             gamma = tensor_of(gpt2, "transformer.h.0.ln_1.weight");
    const std::size_t first = 2 * width + 2 * 16;  // of v
    double mean = 0;
    for (std::size_t c = 0; c < width; ++c)
        mean += static_cast<double>(packed[c * 3 * width + first]) * static_cast<double>(gamma[c]) / width;
    for (std::size_t c = 0; c < width; ++c)
        CHECK(second.v[c] == Approx(static_cast<double>(packed[c * 3 * width + first] * gamma[c]) - mean).margin(1e-6));
    // Falcon: [key head][its query heads | k | v], two query heads each
    const std::string falcon = test::oracle_models + "falcon";
    const Model packed_by_head = Model::load(test_device(), falcon);
    const std::vector<HeadWeights> grouped = head_weights(packed_by_head, 0, AttentionKind::self);
    const std::vector<float> rows = tensor_of(falcon, "transformer.h.0.self_attention.query_key_value.weight"),
                             scale = tensor_of(falcon, "transformer.h.0.ln_attn.weight");
    const auto row = [&](std::size_t slot) {  // the first feature of a slot
        std::vector<double> values;
        double sum = 0;
        for (std::size_t c = 0; c < width; ++c)
            sum += values.emplace_back(static_cast<double>(rows[slot * 12 * width + c] * scale[c]));
        for (double& value : values) value -= sum / width;
        return values;
    };
    for (const auto& [found, slot] :
         {std::pair{&grouped[3].q, 5}, {&grouped[3].k, 6}, {&grouped[2].v, 7}, {&grouped[1].k, 2}})
        for (std::size_t c = 0; c < width; ++c)
            CHECK(static_cast<double>((*found)[c]) == Approx(row(static_cast<std::size_t>(slot))[c]).margin(1e-6));
    test::expect_error(ErrorKind::unsupported, {"cross-attention"}, [&] {
        head_weights(Model::load(test_device(), test::oracle_models + "bart"), 0, AttentionKind::cross);
    });
}

TEST_CASE("token embeddings are rows of the file's table", "[similarity]") {
    const std::string folder = test::oracle_models + "falcon_mamba";
    // rows of 32 elements begin within the groups of 256 that quantized tables have
    const DType stored = GENERATE(DType::f32, DType::f16, DType::q8_0, DType::q4_0);
    INFO(name_of(stored));
    const Model model = Model::load(test_device(), folder, {.weights = stored});
    const std::vector<float> table = tensor_of(folder, "backbone.embeddings.weight");
    const auto width = static_cast<std::size_t>(model.info().width);
    const std::vector<std::int32_t> ids{7, static_cast<std::int32_t>(model.info().vocab - 1), 7, 0};
    const std::vector<float> rows = token_embeddings(model, ids, AttentionKind::self);
    REQUIRE(rows.size() == ids.size() * width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const float want = table[static_cast<std::size_t>(ids[i / width]) * width + i % width];
        // a sixteenth of the largest of a block, or half an f16
        CHECK(std::abs(rows[i] - want) <= (stored == DType::f32   ? 0
                                           : is_quantized(stored) ? 0.3F
                                                                  : 1e-3F * (1 + std::abs(want))));
    }
    CHECK(std::equal(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(width),
                     rows.begin() + static_cast<std::ptrdiff_t>(2 * width)));
}

namespace {

/// −Σ_j A_j v_j of a head at a position: what removes its output there.
std::vector<float> removing_shift(Session& session, const HeadId& head, std::int64_t position) {
    const HostTensor values = SessionAccess::values(session, head.layer, head.kind);
    const std::int64_t kv_heads = values.type.shape[1], width = values.type.shape[2],
                       kv_head = head.head / (session.model().info().heads_of(head.kind) / kv_heads);
    const std::vector<float> weights = session.attention(head, {position, 1}, {}).vector();
    std::vector<float> shift(static_cast<std::size_t>(width));
    for (std::int64_t d = 0; d < width; ++d)
        for (std::int64_t key = 0; key < std::ssize(weights); ++key)
            at(shift, d) -= at(weights, key) * static_cast<float>(values[(key * kv_heads + kv_head) * width + d]);
    return shift;
}

std::vector<float> last_row(const std::vector<float>& logits, std::int64_t rows) {
    return {logits.end() - std::ssize(logits) / rows, logits.end()};
}

}  // namespace

TEST_CASE("a head that is shifted by the opposite of its output is masked at this position", "[shift]") {
    for (const char* name : {"gpt2", "llama", "mistral", "jamba", "bart"}) {
        INFO(name);
        const Model model = Model::load(test_device(), test::oracle_models + name);
        const bool pair = config_of(model).kind == ModelKind::encoder_decoder;
        const std::int64_t last = shifted_tokens - 1;
        Session session(model, {.context = shifted_tokens,
                                .precision = Precision::f32,
                                .record_attention = RecordAttention::all(),
                                .inspect = true,
                                .head_shift = HeadShift{}});
        if (pair) session.set_source(std::vector<std::int32_t>{5, 9, 70, 9, 33}), session.rewind(0);
        session.append(some_ids(shifted_tokens, 90));
        session.run();
        const std::vector<float> plain = session.logits().vector();
        CHECK(plain == logits_masking(model));
        // in the last layer only the last row of the head reaches the last logits
        std::vector<HeadId> heads{{model.info().layers - 1, 1}};
        if (pair) heads.push_back({model.info().layers - 1, 1, AttentionKind::cross});
        for (const HeadId& head : heads) {
            session.shift_head({head, last, removing_shift(session, head, last)});
            CHECK(session.processed() <= last);
            session.run();
            const std::vector<float> shifted = session.logits().vector(), masked = logits_masking(model, {{head}});
            CHECK(test::difference(last_row(shifted, shifted_tokens), last_row(masked, shifted_tokens)).first < 1e-5);
            const auto before = static_cast<std::ptrdiff_t>(plain.size() / shifted_tokens * last);
            CHECK(std::equal(plain.begin(), plain.begin() + before, shifted.begin()));  // not a bit
            CHECK(last_row(shifted, shifted_tokens) != last_row(plain, shifted_tokens));
            session.shift_head({});
            session.run();
            CHECK(session.logits().vector() == plain);
        }
    }
}

TEST_CASE("an encoder's head is shifted at one position, in all that follows", "[shift]") {
    const Model model = Model::load(test_device(), test::oracle_models + "bert_classification");
    const std::vector<std::int32_t> ids = some_ids(7, 90);
    Session session(model, {.context = 7,
                            .precision = Precision::f32,
                            .record_attention = RecordAttention::all(),
                            .head_shift = HeadShift{}});
    session.append(ids);
    session.run();
    const HeadId head{model.info().layers - 1, 2};
    session.shift_head({head, 0, removing_shift(session, head, 0)});
    session.run();
    Session masked(model, {.context = 7, .precision = Precision::f32, .masked_heads = std::vector<HeadId>{head}});
    masked.append(ids);
    masked.run();
    CHECK(test::difference(session.logits().values(), masked.logits().values()).first < 1e-5);
}

TEST_CASE("shifts that cannot be are refused, and rewinding keeps them", "[shift]") {
    const Model& model = mini_world();
    const auto width = static_cast<std::size_t>(config_of(model).head_width);
    Session session(model, {.context = 8, .precision = Precision::f32, .head_shift = HeadShift{}});
    const auto refused = [&](const HeadShift& shift, std::initializer_list<const char*> parts) {
        test::expect_error(ErrorKind::usage, parts, [&] { session.shift_head(shift); });
    };
    const std::vector<float> ones(width, 1.0f);
    refused({{99, 0}, 0, ones}, {"head 99.0 cannot be shifted", "layers 0"});
    refused({{0, 0}, 8, ones}, {"position 8", "8 tokens"});
    refused({{0, 0}, -1, ones}, {"position -1"});
    refused({{0, 0}, 0, {1, 2}}, {"2 values"});
    refused({{0, 0}, 0, std::vector<float>(width, std::nanf(""))}, {"not finite"});
    Session without(model, {.context = 8});
    test::expect_error(ErrorKind::usage, {"SessionOptions::head_shift"}, [&] { without.shift_head({}); });
    const Model bart = Model::load(test_device(), test::oracle_models + "bart");
    test::expect_error(ErrorKind::unsupported, {"head e0.0", "encoder"}, [&] {
        Session(bart, {.context = 8, .head_shift = HeadShift{{0, 0, AttentionKind::encoder}, 0, {}}});
    });
    // the same shift from the beginning, and set later; the tokens before it are kept
    const HeadShift shift{{1, 2}, 3, ones};
    session.append(some_ids(6));
    session.run();
    session.shift_head(shift);
    const std::vector<float> later = session.next_logits().vector();
    Session begun(model, {.context = 8, .precision = Precision::f32, .head_shift = shift});
    begun.append(some_ids(6));
    CHECK(begun.next_logits().vector() == later);
    session.rewind(5);
    const std::vector<std::int32_t> ids = some_ids(6);
    session.append(std::span(ids).subspan(5));
    CHECK(session.next_logits().vector() == later);
    session.rewind(3);  // before it
    Session plain(model, {.context = 8, .precision = Precision::f32});
    plain.append(some_ids(3));
    CHECK(session.next_logits().vector() == plain.next_logits().vector());
}
