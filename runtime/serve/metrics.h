// Counters and histograms in the text format of Prometheus.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::serve {

struct ServedModel;

/// How many values were at most each of the bounds, and their sum.
class Histogram {
public:
    explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
    void add(double value);
    std::string text(const std::string& name, const std::string& help) const;

private:
    std::vector<double> bounds_;
    std::vector<std::uint64_t> counts_;
    double sum_ = 0;
};

/// What a server has counted. Threads: any.
class Metrics : internal::NotCopied {
public:
    void note_request(const std::string& path, int status);
    void note_first_token(double seconds);
    void note_gap(double seconds);
    void note_end(double seconds);
    /// The whole page; `model` is null while none is loaded.
    std::string text(const ServedModel* model) const;

private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, int>, std::uint64_t> requests_;
    Histogram first_token_{{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}};
    Histogram gap_{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}};
    Histogram request_{{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}};
};

}  // namespace vantage::serve
