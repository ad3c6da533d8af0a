// Output of `vantage conform`: each failure at once, then one line per op and kernel, unsupported cases, and totals.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/conform/case_runner.h"

namespace vantage::cli {

/// One kernel on one case.
struct Outcome {
    std::string op, kernel;
    std::string test;   ///< the case's name
    std::string part;   ///< which call of the case, if it has several
    std::string types;  ///< "f32", "f16", "f32 weights bf16"
    CaseResult result;
    std::string unit;   ///< the case that the totals count, with all of its calls, types and kernels
    std::string rerun;  ///< command line that repeats this run
    bool passed() const { return result.status == CaseResult::passed; }
};

/// A case that Vantage does not support. `partly`: only some of its results are not supported.
struct NotSupported {
    std::string test, reason;
    bool partly = false;
};

class ConformReport {
public:
    /// `verbose`: print every outcome, not only failures. `dump`: folder for the first run that fails; empty: none.
    ConformReport(const Device& device, bool as_json, bool verbose, std::string dump)
        : device_(device), as_json_(as_json), verbose_(verbose), dump_(std::move(dump)) {}

    void add(Outcome outcome);
    void add(NotSupported what);
    bool empty() const { return outcomes_.empty() && not_supported_.empty(); }
    /// All outcomes and totals.
    Json json() const;
    /// Prints the summary. Returns false if a run failed.
    bool finish() const;

private:
    struct Totals {
        std::size_t passed = 0, failed = 0, not_supported = 0;
    };
    Totals totals() const;
    void print(const Outcome& outcome) const;
    void print_kernels() const;
    void print_not_supported() const;

    const Device& device_;
    bool as_json_, verbose_;
    std::string dump_;  ///< empty when it was written
    std::vector<Outcome> outcomes_;
    std::vector<NotSupported> not_supported_;
};

}  // namespace vantage::cli
