// Angles of rotary positions, made on the host in double.
//   inv_freq_i = theta^(-2i/rotary_dim): Su et al. 2021 (RoFormer)
// linear: Chen et al. 2023 (position interpolation). llama3: Llama 3.1's model card and code. yarn: Peng et al. 2023.
// longrope: Ding et al. 2024.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

constexpr double two_pi = 2 * std::numbers::pi;

void check(std::int64_t rotary_dim, double theta, const RopeScaling& scaling) {
    const auto fail = [](const std::string& what) { throw usage_error("rope: " + what); };
    if (rotary_dim < 0 || rotary_dim % 2 != 0) fail(format("rotary_dim is {}, but must be even", rotary_dim));
    const double minimum = scaling.type == "yarn" ? 1 : 0;
    if (!(theta > minimum)) fail(format("theta is {:g}, but must be above {:g}", theta, minimum));
    if (!scaling.type.empty() && !(scaling.factor > 0))
        fail(format("factor is {:g}, but must be above 0", scaling.factor));
    if ((scaling.type == "llama3" || scaling.type == "yarn") && scaling.original_context <= 0)
        fail(format("the original context is {}, but must be above 0", scaling.original_context));
    if (scaling.type == "llama3" &&
        !(scaling.high_freq_factor > scaling.low_freq_factor && scaling.low_freq_factor > 0))
        fail(format("llama3 scaling has low_freq_factor {:g} and high_freq_factor {:g}, but 0 < low < high is wanted",
                    scaling.low_freq_factor, scaling.high_freq_factor));
    if (scaling.type == "longrope" && static_cast<std::int64_t>(scaling.factors.size()) != rotary_dim / 2)
        fail(
            format("longrope scaling has {} factors, but {} pairs are turned", scaling.factors.size(), rotary_dim / 2));
    if (scaling.type == "yarn" && !(scaling.beta_fast > 0 && scaling.beta_slow > 0))
        fail(format("yarn scaling has beta_fast {:g} and beta_slow {:g}, but both must be above 0", scaling.beta_fast,
                    scaling.beta_slow));
}

/// Long waves are stretched by `factor`, short ones stay, those between are mixed.
double llama3(double frequency, const RopeScaling& scaling) {
    const double turns =
        static_cast<double>(scaling.original_context) * frequency / two_pi;  // within the original context
    if (turns < scaling.low_freq_factor) return frequency / scaling.factor;
    if (turns > scaling.high_freq_factor) return frequency;
    const double share = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
    return (1 - share) * frequency / scaling.factor + share * frequency;
}

/// The pair (as a fraction) that turns this often within the original context.
double yarn_bound(double turns, double dim, double theta, const RopeScaling& scaling) {
    return dim * std::log(static_cast<double>(scaling.original_context) / (turns * two_pi)) / (2 * std::log(theta));
}

void yarn(std::vector<double>& frequencies, double theta, const RopeScaling& scaling) {
    const double dim = 2 * static_cast<double>(frequencies.size());
    double low = yarn_bound(scaling.beta_fast, dim, theta, scaling),
           high = yarn_bound(scaling.beta_slow, dim, theta, scaling);
    if (scaling.truncate) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, dim - 1);
    if (low == high) high += 0.001;
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        frequencies[i] *= stretched / scaling.factor + (1 - stretched);
    }
}

double attention_factor(const RopeScaling& scaling) {
    if (scaling.type != "yarn" && scaling.type != "longrope") return 1;
    if (scaling.attention_factor != 0) return scaling.attention_factor;
    if (scaling.factor <= 1) return 1;
    if (scaling.type == "yarn") return 0.1 * std::log(scaling.factor) + 1;
    return std::sqrt(1 + std::log(scaling.factor) / std::log(static_cast<double>(scaling.original_context)));
}

std::string name_of_table(std::int64_t positions, std::int64_t rotary_dim, double theta, const RopeScaling& s) {
    std::string name = format("rope_table.{}x{}.theta={:.17g}", positions, rotary_dim, theta);
    if (s.type.empty()) return name;
    name += format(".{}.{:.17g}", s.type, s.factor);
    if (s.type == "llama3")
        name += format(".{:.17g}.{:.17g}.{}", s.low_freq_factor, s.high_freq_factor, s.original_context);
    if (s.type == "yarn")
        name += format(".{:.17g}.{:.17g}.{:.17g}.{}.{}", s.beta_fast, s.beta_slow, attention_factor(s),
                       s.truncate ? 1 : 0, s.original_context);
    if (s.type == "longrope") {
        name += format(".{:.17g}", attention_factor(s));
        for (const double factor : s.factors) name += format(".{:.17g}", factor);
    }
    return name;
}

}  // namespace

std::vector<double> rope_frequencies(std::int64_t rotary_dim, double theta, const RopeScaling& scaling) {
    check(rotary_dim, theta, scaling);
    std::vector<double> frequencies(static_cast<std::size_t>(rotary_dim / 2));
    for (std::size_t i = 0; i < frequencies.size(); ++i)
        frequencies[i] = std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(rotary_dim));
    if (scaling.type == "linear") {
        for (double& frequency : frequencies) frequency /= scaling.factor;
    } else if (scaling.type == "llama3") {
        for (double& frequency : frequencies) frequency = llama3(frequency, scaling);
    } else if (scaling.type == "yarn") {
        yarn(frequencies, theta, scaling);
    } else if (scaling.type == "longrope") {
        for (std::size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= scaling.factors[i];
    } else if (!scaling.type.empty()) {
        throw unsupported_error("rope: scaling of type " + scaling.type +
                                " is unknown: linear, llama3, yarn and longrope are known");
    }
    return frequencies;
}

Tensor rope_table(Graph& graph, std::int64_t positions, std::int64_t rotary_dim, double theta,
                  const RopeScaling& scaling) {
    const auto make = [=, frequencies = rope_frequencies(rotary_dim, theta, scaling)] {
        const double factor = attention_factor(scaling);
        std::vector<float> table;
        table.reserve(static_cast<std::size_t>(positions * rotary_dim));
        for (std::int64_t position = 0; position < positions; ++position) {
            for (const double frequency : frequencies)
                table.push_back(static_cast<float>(factor * std::cos(static_cast<double>(position) * frequency)));
            for (const double frequency : frequencies)
                table.push_back(static_cast<float>(factor * std::sin(static_cast<double>(position) * frequency)));
        }
        return table;
    };
    return graph.constant(name_of_table(positions, rotary_dim, theta, scaling), {positions, rotary_dim}, make);
}

}  // namespace vantage
