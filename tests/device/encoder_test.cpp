// Encoders against what PyTorch computed: hidden states, attention, pooled vectors and heads, in f32 and with f16 keys.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <optional>

#include "oracle_model.h"
#include "runtime/base/files.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using namespace vantage::test;

namespace {

/// Longformer's: ones in a mask, which begins with them.
std::optional<std::int64_t> global_tokens(const SafeTensors& file, const std::string& prompt) {
    const TensorEntry* mask = file.find(prompt + ".global_attention_mask");
    if (mask == nullptr) return std::nullopt;
    const auto ones = values_of<std::int32_t>(*mask);
    return std::count(ones.begin(), ones.end(), 1);
}

Session encode(const Model& model, const SafeTensors& file, const std::string& prompt, Precision precision) {
    const auto ids = values_of<std::int32_t>(file.at(prompt + ".input_ids"));
    Session session(model, {.context = static_cast<std::int64_t>(ids.size()),
                            .precision = precision,
                            .record_attention = RecordAttention::all(),
                            .inspect = true,
                            .guard = true,
                            .global_tokens = global_tokens(file, prompt)});
    const TensorEntry* types = file.find(prompt + ".token_type_ids");
    session.append(ids, types != nullptr ? values_of<std::int32_t>(*types) : std::vector<std::int32_t>());
    session.run();
    return session;
}

void check_if_there(const SafeTensors& file, const std::string& name, std::span<const float> got, double allowed) {
    const TensorEntry* want = file.find(name);
    if (want == nullptr) return;
    INFO(name);
    CHECK(difference(got, values_of<float>(*want)).first <= allowed);
}

}  // namespace

TEST_CASE("the oracle's encoders come out as PyTorch computed them", "[models][oracle]") {
    const std::string name = GENERATE("bert", "bert_classification", "roberta", "roberta_classification", "longformer",
                                      "distilbert", "distilbert_classification");
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(name << (precision == Precision::f32 ? " in f32" : " with f16 keys"));
    const std::string folder = oracle_models + name;
    const Model model = Model::load(test_device(), folder);
    const SafeTensors file(folder + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, folder);
    const double pooled = precision == Precision::f32 ? 2e-4 : 2e-2;
    for (const std::string prompt : {"p0", "p1", "p2", "padded"}) {
        if (file.find(prompt + ".input_ids") == nullptr) continue;  // padding among the tokens, where it matters
        INFO(prompt);
        Session session = encode(model, file, prompt, precision);
        check_if_there(file, prompt + ".logits", session.logits(), allowed.logits);
        check_if_there(file, prompt + ".pooler_output", session.pooled(), pooled);
        check_if_there(file, prompt + ".seq_relationship_logits", session.relation(), pooled);
        const std::vector<float> last = values_of<float>(file.at(prompt + ".last_hidden")),
                                 all = session.hidden().vector();
        CHECK(difference(std::span(all).last(last.size()), last).first <=
              allowed.hidden + allowed.hidden_of_largest * largest_of(last));
        if (file.find(prompt + ".hidden") == nullptr) continue;
        check_layers(all, file.at(prompt + ".hidden"), last.size() / static_cast<std::size_t>(model.info().width),
                     allowed);
        check_attention(session, file.at(prompt + ".attn"), allowed);
    }
}

TEST_CASE("a replay of an encoder has its token types", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "bert_classification");
    const std::vector<std::int32_t> ids = {5, 17, 40, 9, 77, 3}, types = {0, 0, 0, 1, 1, 1};
    const auto weights = [&](const RecordAttention& record_attention) {
        Session session(model, {.context = 6, .precision = Precision::f32, .record_attention = record_attention});
        session.append(ids, types);
        session.run();
        return session.attention({1, 2}, {0, 6}, {0, 6}).vector();
    };
    CHECK(weights(RecordAttention::all()) == weights({}));
}

TEST_CASE("Longformer's first tokens are global as many as the session says", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "longformer");  // windows of 8 and of 4 tokens
    const std::vector<std::int32_t> ids = {5, 17, 40, 9, 77, 3, 12, 60, 33, 81, 7, 25};
    const auto n = std::ssize(ids);
    const auto session_with = [&](std::optional<std::int64_t> count, const RecordAttention& record_attention) {
        Session session(
            model,
            {.context = n, .precision = Precision::f32, .record_attention = record_attention, .global_tokens = count});
        session.append(ids);
        session.run();
        return session;
    };
    for (const std::int64_t count : {0, 3, 12}) {
        Session session = session_with(count, RecordAttention::all());
        for (const Divergence& d : session.plan(16).check(3)) FAIL_CHECK(d.node << ": " << d.message);
        const std::vector<float> p = session.attention({1, 1}, {0, n}, {0, n}).vector();
        for (std::int64_t i = 0; i < n; ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < n; ++j) {
                const float weight = p[static_cast<std::size_t>(i * n + j)];
                const bool seen = std::abs(i - j) <= 2 || i < count || j < count;
                CHECK((weight > 0) == seen);
                sum += static_cast<double>(weight);
            }
            CHECK(std::abs(sum - 1) < 1e-5);
        }
        CHECK(session.attention({1, 1}, {2, 5}, {3, 6}).vector() ==
              session_with(count, {})
                  .attention({1, 1}, {2, 5}, {3, 6})
                  .vector());  // a replay, across the last global row
    }
    CHECK(session_with({}, {}).last_hidden().vector() ==
          session_with(0, {}).last_hidden().vector());  // masked words: none by itself
    expect_error(ErrorKind::usage, {"longformer", "-1 global tokens"}, [&] { session_with(-1, {}); });
    const Model other = Model::load(test_device(), oracle_models + "roberta");
    expect_error(ErrorKind::usage, {"roberta", "no global tokens"},
                 [&] { const Session session(other, {.context = 6, .global_tokens = 1}); });
}

TEST_CASE("BERT's first checkpoints say gamma and beta", "[models]") {
    const test::TemporaryDirectory folder;
    const std::string source = oracle_models + "bert_classification";
    const SafeTensors now(source + "/model.safetensors");
    std::vector<TensorToWrite> then;
    for (const auto& [name, entry] : now.entries()) {
        std::string older = name;
        for (const auto& [ending, spelling] :
             {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
            if (name.ends_with(ending)) older.replace(name.size() - std::string(ending).size(), name.npos, spelling);
        then.push_back({older, entry.dtype, entry.shape, entry.data});
    }
    write_safetensors(folder.path("model.safetensors"), then);
    write_file(folder.path("config.json"), read_file(source + "/config.json"));
    CHECK(Model::load(test_device(), folder.path()).info().parameters ==
          Model::load(test_device(), source).info().parameters);
}

TEST_CASE("an encoder runs the whole sequence again when it grows, and draws nothing", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "roberta");
    const std::vector<std::int32_t> ids = {5, 17, 40, 9, 77, 3};
    const auto last_hidden = [&](std::size_t cut) {
        Session session(model, {.context = 6, .precision = Precision::f32});
        session.append(std::span(ids).first(cut));
        session.run();
        session.append(std::span(ids).subspan(cut));
        session.run();
        return session.last_hidden().vector();
    };
    CHECK(last_hidden(6) == last_hidden(2));
    Session session(model, {.context = 6});
    session.append(ids);
    expect_error(ErrorKind::usage, {"roberta", "encoder", "draws no tokens"}, [&] { session.next(); });
    expect_error(ErrorKind::usage, {"token type 1"}, [&] {
        session.restart();
        session.append(ids, std::vector<std::int32_t>{0, 0, 0, 0, 0, 1});
    });
}
