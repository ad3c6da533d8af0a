// Encoders against what PyTorch computed: hidden states, attention, pooled vectors and heads, in f32 and with f16 keys.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <optional>

#include "oracle_model.h"
#include "runtime/base/at.h"
#include "runtime/base/files.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "vantage/batch.h"

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
    const std::string name = GENERATE(
        from_range(sampled({"bert", "bert_classification", "roberta", "roberta_classification", "longformer",
                            "distilbert", "distilbert_classification", "bert_tokens", "bert_answers", "roberta_answers",
                            "distilbert_tokens", "bert_relative_key", "bert_relative_key_query", "roberta_relative_key",
                            "big_bird", "big_bird_classification", "big_bird_answers", "big_bird_tokens"})));
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

TEST_CASE("texts of models with relative positions run together, but not with relative queries", "[models]") {
    const std::vector<std::vector<std::int32_t>> texts = {{5, 17, 40, 9, 77, 3}, {8, 60}};
    const Model keys = Model::load(test_device(), oracle_models + "bert_relative_key"),
                both = Model::load(test_device(), oracle_models + "bert_relative_key_query");
    Batch batch(keys, 2, {.context = 6, .precision = Precision::f32});
    for (std::int64_t i : {0, 1}) batch[i].append(at(texts, i));
    batch.run();
    for (std::int64_t i : {0, 1}) {
        Session alone(keys, {.context = 6, .precision = Precision::f32});
        alone.append(at(texts, i));
        alone.run();
        CHECK(difference(batch[i].last_hidden().values(), alone.last_hidden().values()).first <= 1e-5);
    }
    expect_error(ErrorKind::usage, {"relative queries", "a batch has one sequence"},
                 [&] { const Batch two(both, 2, {.context = 6}); });
    const Batch one(both, 1, {.context = 6});
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
                const float weight = at(p, i * n + j);
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

namespace {

using Numbers = std::vector<double>;

/// Longformer's pass in double precision, from the checkpoint and the definitions of Beltagy et al. 2020.
struct LongformerReference {
    static constexpr std::size_t width = 32, inner = 64, heads = 2, each = width / heads, layers = 2;
    static constexpr std::int64_t half_windows[layers] = {4, 2};
    const SafeTensors file = SafeTensors(oracle_models + "longformer/model.safetensors");
    std::vector<Numbers> attention;  ///< by layer: [heads, n, n]

    Numbers weight(const std::string& name) const {
        const std::vector<float> values = values_of<float>(file.at("longformer." + name));
        return {values.begin(), values.end()};
    }
    Numbers dense(const std::string& name, const Numbers& x, std::size_t in, std::size_t out) const {
        const Numbers w = weight(name + ".weight"), b = weight(name + ".bias");
        Numbers y(x.size() / in * out);
        for (std::size_t i = 0; i < y.size(); ++i) {
            y[i] = b[i % out];
            for (std::size_t k = 0; k < in; ++k) y[i] += x[i / out * in + k] * w[i % out * in + k];
        }
        return y;
    }
    Numbers layer_norm(const std::string& name, const Numbers& x, const Numbers& residual) const {
        const Numbers w = weight(name + ".weight"), b = weight(name + ".bias");
        Numbers y(x.size());
        for (std::size_t first = 0; first < x.size(); first += width) {
            double mean = 0, variance = 0;
            for (std::size_t i = first; i < first + width; ++i) mean += (y[i] = x[i] + residual[i]) / width;
            for (std::size_t i = first; i < first + width; ++i) variance += (y[i] - mean) * (y[i] - mean) / width;
            for (std::size_t i = first; i < first + width; ++i)
                y[i] = (y[i] - mean) / std::sqrt(variance + 1e-5) * w[i - first] + b[i - first];
        }
        return y;
    }
    Numbers attend(std::size_t layer, const Numbers& x, const std::vector<bool>& global) {
        const std::string self = "encoder.layer." + std::to_string(layer) + ".attention.self.";
        const auto rows = [&](const char* name) { return dense(self + name, x, width, width); };
        const Numbers q[] = {rows("query"), rows("query_global")}, k[] = {rows("key"), rows("key_global")},
                      v[] = {rows("value"), rows("value_global")};
        const std::size_t n = global.size();
        Numbers y(n * width), p(heads * n * n);
        for (std::size_t head = 0; head < heads; ++head)
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t own = global[i] ? 1 : 0;
                double* const row = &p[(head * n + i) * n];
                double sum = 0;
                for (std::size_t j = 0; j < n; ++j) {
                    const auto distance = std::abs(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j));
                    if (distance > half_windows[layer] && !global[i] && !global[j]) continue;
                    double dot = 0;
                    for (std::size_t d = head * each; d < (head + 1) * each; ++d)
                        dot += q[own][i * width + d] * k[own][j * width + d];
                    sum += row[j] = std::exp(dot / std::sqrt(static_cast<double>(each)));
                }
                for (std::size_t j = 0; j < n; ++j) {
                    row[j] /= sum;
                    for (std::size_t d = head * each; d < (head + 1) * each; ++d)
                        y[i * width + d] += row[j] * v[own][j * width + d];
                }
            }
        attention.push_back(p);
        return y;
    }
    /// The last hidden state [n, width].
    Numbers run(std::span<const std::int32_t> ids, const std::vector<bool>& global) {
        const Numbers words = weight("embeddings.word_embeddings.weight"),
                      places = weight("embeddings.position_embeddings.weight"),
                      types = weight("embeddings.token_type_embeddings.weight");
        Numbers x, residual;
        for (std::size_t i = 0; i < ids.size(); ++i)
            for (std::size_t d = 0; d < width; ++d) {
                x.push_back(words[static_cast<std::size_t>(ids[i]) * width + d]);
                residual.push_back(places[(i + 2) * width + d] + types[d]);  // behind the padding token's row, 1
            }
        x = layer_norm("embeddings.LayerNorm", x, residual);
        for (std::size_t layer = 0; layer < layers; ++layer) {
            const std::string block = "encoder.layer." + std::to_string(layer) + ".";
            const Numbers seen = dense(block + "attention.output.dense", attend(layer, x, global), width, width);
            x = layer_norm(block + "attention.output.LayerNorm", seen, x);
            Numbers y = dense(block + "intermediate.dense", x, width, inner);
            for (double& value : y) value *= 0.5 * (1 + std::erf(value / std::sqrt(2.0)));
            x = layer_norm(block + "output.LayerNorm", dense(block + "output.dense", y, inner, width), x);
        }
        return x;
    }
};

std::vector<float> narrowed(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

TEST_CASE("Longformer's global tokens are at the positions that the session says", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "longformer");
    const std::vector<std::int32_t> ids = {5, 17, 40, 9, 77, 3, 12, 60, 33, 81, 7, 25, 90, 14};
    const auto n = std::ssize(ids);
    using Positions = std::vector<std::int64_t>;
    const auto session_with = [&](const Positions& positions, Precision precision, const RecordAttention& recorded) {
        Session session(
            model, {.context = n, .precision = precision, .record_attention = recorded, .global_positions = positions});
        session.append(ids);
        session.run();
        return session;
    };
    const Positions positions = GENERATE(Positions{}, Positions{0, 1}, Positions{6}, Positions{11, 1, 6, 7},
                                         Positions{0, 13}, Positions{13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(positions.size() << " positions" << (precision == Precision::f32 ? " in f32" : " with f16 keys"));
    std::vector<bool> global(ids.size());
    for (const std::int64_t position : positions) at(global, position) = true;
    LongformerReference reference;
    const std::vector<float> want = narrowed(reference.run(ids, global));
    Session session = session_with(positions, precision, RecordAttention::all());
    if (precision == Precision::f32)
        for (const Divergence& d : session.plan(16).check(3)) FAIL_CHECK(d.node << ": " << d.message);
    const Allowed allowed = allowed_in(precision, oracle_models + "longformer");
    CHECK(difference(session.last_hidden(), want).first <=
          allowed.hidden + allowed.hidden_of_largest * largest_of(want));
    for (std::int64_t layer = 0; layer < 2; ++layer)
        CHECK(difference(session.attention(layer), narrowed(at(reference.attention, layer))).first <=
              allowed.attention);
    // a window across global rows, and a replay
    CHECK(session.attention({1, 1}, {2, 6}, {3, 6}).vector() ==
          session_with(positions, precision, {}).attention({1, 1}, {2, 6}, {3, 6}).vector());
}

TEST_CASE("Longformer's first tokens by position are those by count", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "longformer");
    const std::vector<std::int32_t> ids = {5, 17, 40, 9, 77, 3, 12, 60, 33, 81, 7, 25};
    const auto last_hidden = [&](SessionOptions options) {
        options.context = std::ssize(ids), options.precision = Precision::f32;
        Session session(model, options);
        session.append(ids);
        session.run();
        return session.last_hidden().vector();
    };
    CHECK(last_hidden({.global_tokens = 2}) == last_hidden({.global_positions = {{1, 0}}}));
    CHECK(last_hidden({.global_tokens = 0}) == last_hidden({.global_positions = std::vector<std::int64_t>()}));
}

TEST_CASE("positions of global tokens that make no sense are refused", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "longformer");
    using Positions = std::vector<std::int64_t>;
    const auto session_with = [&](const Positions& positions, std::optional<std::int64_t> count = {}) {
        return Session(model, {.context = 12, .global_tokens = count, .global_positions = positions});
    };
    expect_error(ErrorKind::usage, {"global_tokens", "global_positions", "both"}, [&] { session_with({0}, 1); });
    expect_error(ErrorKind::usage, {"position -1", "0 … 11"}, [&] { session_with({3, -1}); });
    expect_error(ErrorKind::usage, {"position 12", "0 … 11"}, [&] { session_with({12}); });
    expect_error(ErrorKind::usage, {"position 7", "twice"}, [&] { session_with({7, 2, 7}); });
    const Model other = Model::load(test_device(), oracle_models + "roberta");
    expect_error(ErrorKind::usage, {"roberta", "no global tokens"},
                 [&] { const Session session(other, {.context = 6, .global_positions = Positions{1}}); });
    expect_error(ErrorKind::unsupported, {"4096", "5000"},
                 [&] { const Session session(model, {.context = 5000, .global_positions = Positions{1}}); });
    CHECK(Session(model, {.global_positions = Positions{1}}).context() == 78);  // all that the model has
    for (const Positions& positions : {Positions{2, 5}, Positions{0, 1, 2, 3, 4, 5}}) {
        Session session = session_with(positions);
        session.run();  // nothing is there
        session.append(std::vector<std::int32_t>{5, 17, 40, 9, 77});
        expect_error(ErrorKind::usage, {"position 5", "5 tokens"}, [&] { session.run(); });
        session.append(std::vector<std::int32_t>{3});
        session.run();
        CHECK(session.last_hidden().shape()[0] == 6);
    }
}

TEST_CASE("BERT's first checkpoints say gamma and beta", "[models]") {
    const test::TemporaryDirectory folder;
    const std::string source = oracle_models + "bert_classification";
    const SafeTensors now(source + "/model.safetensors");
    std::vector<TensorToWrite> then;
    std::map<std::string, std::vector<std::byte>> data;
    for (const auto& [name, entry] : now.entries()) {
        std::string older = name;
        for (const auto& [ending, spelling] :
             {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
            if (name.ends_with(ending)) older.replace(name.size() - std::string(ending).size(), name.npos, spelling);
        then.push_back({older, entry.dtype, entry.shape, data[name] = entry.data.all()});
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
