// The device that the tests run on: the one that VANTAGE_DEVICE names, opened once.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/base/options.h"
#include "vantage/device.h"

inline const vantage::Device& test_device() {
    static const vantage::Device device = vantage::Device::open();
    return device;
}

/// A part of a long list of cases: all of it, or with VANTAGE_TEST_SAMPLE=K/N the K-th of each N (CI, which takes another
/// K on each device). Tests that prove the same with each case take it, so that none is left out altogether.
class TestSample {
public:
    explicit TestSample(const char* variable = "VANTAGE_TEST_SAMPLE") {
        if (const auto wish = vantage::internal::environment(variable))
            if (std::sscanf(wish->c_str(), "%d/%d", &this_, &of_) != 2 || this_ < 1 || of_ < this_) std::abort();
    }
    /// Whether the next case is in it.
    bool next() { return count_++ % of_ == this_ - 1; }
    /// Of a list that has none of its own: one that depends on which sample it is.
    std::size_t instead(std::size_t size) const { return static_cast<std::size_t>(this_ - 1) % size; }

private:
    int this_ = 1, of_ = 1, count_ = 0;
};
/// The sample of a list; one element where it has none.
template <class T>
std::vector<T> sampled(const std::vector<T>& all) {
    TestSample sample;
    std::vector<T> some;
    for (const T& one : all)
        if (sample.next()) some.push_back(one);
    return some.empty() ? std::vector<T>{all[sample.instead(all.size())]} : some;
}
inline std::vector<std::string> sampled(std::initializer_list<const char*> all) {
    return sampled(std::vector<std::string>(all.begin(), all.end()));
}

/// While it lives plans have no red zones: looking at them reads memory back, and so records and waits.
class WithoutGuard {
public:
    WithoutGuard() { ::unsetenv("VANTAGE_GUARD"); }
    ~WithoutGuard() { ::setenv("VANTAGE_GUARD", "1", 1); }
    WithoutGuard(const WithoutGuard&) = delete;
    WithoutGuard& operator=(const WithoutGuard&) = delete;
};
