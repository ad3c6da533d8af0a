// Whole models against what PyTorch computed: what tests of decoders and encoders share. Tolerances: the oracle's
// README, §5.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"
#include "test_device.h"
#include "vantage/session.h"

namespace vantage::test {

inline const std::string oracle_models = std::string(VANTAGE_TEST_DATA) + "/data/oracle/models/";

template <class T>
std::vector<T> values_of(const TensorEntry& entry) {
    std::vector<T> values(entry.data.size() / sizeof(T));
    entry.data.read(0, std::as_writable_bytes(std::span(values)));
    return values;
}

/// Of all tokens, in one run in f32.
inline std::vector<float> logits_of(const Model& model, const std::vector<std::int32_t>& ids) {
    Session session(model, {.context = std::ssize(ids), .precision = Precision::f32, .inspect = true});
    session.append(ids);
    session.run();
    return session.logits().vector();
}

struct Allowed {
    double logits = 2e-4, logits_rms = 1e-4;
    double hidden = 1e-3;          ///< absolute, or
    double hidden_of_largest = 0;  ///< this share of a layer's largest value
    double attention = 5e-5;
};

/// In f16 the noise that meta.json measured for the model decides.
inline Allowed allowed_in(Precision precision, const std::string& folder) {
    if (precision == Precision::f32) return {};
    const Json meta = read_json(folder + "/meta.json");
    const Json& noise = meta.at("noise_p2_logits").at("f16");
    return {.logits = 4 * noise.at("max").get<double>(),
            .logits_rms = 3 * noise.at("rms").get<double>(),
            .hidden = 0,
            .hidden_of_largest = 3e-2,
            .attention = 1e-2};
}

/// Largest and root mean square difference.
inline std::pair<double, double> difference(std::span<const float> got, std::span<const float> want) {
    REQUIRE(got.size() == want.size());
    double worst = 0, sum = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double d = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
        worst = d <= worst ? worst : d;  // a NaN stays
        sum += d * d;
    }
    return {worst, std::sqrt(sum / static_cast<double>(std::max<std::size_t>(got.size(), 1)))};
}

inline double largest_of(std::span<const float> values) {
    float largest = 0;
    for (const float v : values) largest = std::max(largest, std::abs(v));
    return static_cast<double>(largest);
}

/// [layers, tokens, width], of each layer the first `tokens` rows.
inline void check_layers(std::span<const float> got, const TensorEntry& want, std::size_t tokens,
                         const Allowed& allowed) {
    const std::vector<float> all = values_of<float>(want);
    REQUIRE(got.size() == all.size());
    const std::size_t layers = static_cast<std::size_t>(want.shape[0]), each = all.size() / layers,
                      rows = tokens * static_cast<std::size_t>(want.shape[2]);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        INFO("layer " << layer << ", " << tokens << " tokens");
        const std::span<const float> there = std::span(all).subspan(layer * each, rows);
        CHECK(difference(got.subspan(layer * each, rows), there).first <=
              allowed.hidden + allowed.hidden_of_largest * largest_of(there));
    }
}

/// [layers, heads, rows, keys].
inline void check_attention(Session& session, const TensorEntry& want, const Allowed& allowed,
                            AttentionKind kind = AttentionKind::self) {
    const std::vector<float> all = values_of<float>(want);
    const std::vector<std::int64_t>& layers = session.model().info().layers_of(kind);
    const std::int64_t heads = want.shape[1], rows = want.shape[2], keys = want.shape[3];
    REQUIRE(want.shape[0] == std::ssize(layers));
    const auto each = static_cast<std::size_t>(rows * keys);
    std::size_t place = 0;
    for (const std::int64_t layer : layers)
        for (std::int64_t head = 0; head < heads; ++head) {
            INFO("layer " << layer << ", head " << head);
            const std::vector<float> got = session.attention({layer, head, kind}, {0, rows}, {0, keys}).vector();
            CHECK(difference(got, std::span(all).subspan(place++ * each, each)).first <= allowed.attention);
        }
}

}  // namespace vantage::test
