// The oracle's op cases, which others computed, by every kernel of this device.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/options.h"
#include "runtime/conform/oracle_cases.h"
#include "test_device.h"

using namespace vantage;

namespace {

const std::vector<OracleCase>& cases() {
    static const std::vector<OracleCase> all = [] {
        const std::string folder = std::string(VANTAGE_TEST_DATA) + "/data/oracle/";
        std::vector<OracleCase> both = read_oracle_cases(folder + "ops");
        for (const char* more : {"more_ops", "recurrent_ops"})
            std::ranges::move(read_oracle_cases(folder + more), std::back_inserter(both));
        return both;
    }();
    return all;
}

}  // namespace

TEST_CASE("the oracle's op cases are all known, and those that are built are named", "[ops][oracle]") {
    std::map<std::string, int> built, not_supported;
    std::vector<std::string> partly;
    for (const OracleCase& test : cases()) {
        ++(test.not_supported.empty() ? built : not_supported)[test.op];
        partly.insert(partly.end(), test.partly.begin(), test.partly.end());
    }
    CHECK(partly.empty());
    CHECK(cases().size() == 182 + 25 + 12);
    // an op that stops being mapped, or a case that is refused, is noticed here
    const std::map<std::string, int> want = {{"matmul", 11},
                                             {"gemm", 1},
                                             {"linear", 1},
                                             {"softmax", 9},
                                             {"log_softmax", 1},
                                             {"sparsemax", 4},
                                             {"layer_norm", 8},
                                             {"add_layer_norm", 1},
                                             {"rms_norm", 8},
                                             {"gelu_erf", 1},
                                             {"gelu_tanh", 1},
                                             {"quick_gelu", 1},
                                             {"silu", 1},
                                             {"relu", 1},
                                             {"relu2", 1},
                                             {"sigmoid", 1},
                                             {"tanh", 1},
                                             {"elu", 1},
                                             {"softplus", 1},
                                             {"softcap", 1},
                                             {"swish", 7},
                                             {"swiglu", 1},
                                             {"geglu_tanh", 1},
                                             {"sinusoidal_positions", 4},
                                             {"rope", 9},
                                             {"attention", 45},
                                             {"attention_entropy", 1},
                                             {"alibi_slopes", 7},
                                             {"t5_relative_bucket", 2},
                                             {"linear_attention", 5},
                                             {"relative_attention", 3},
                                             {"additive_attention", 1},
                                             {"luong_attention", 3},
                                             {"batch_norm", 2},
                                             {"patch_embed", 1},
                                             {"state_space", 3},
                                             {"causal_conv1d", 1},
                                             {"recurrent", 12},
                                             {"moe", 1},
                                             {"switch_route", 1},
                                             {"embedding", 1},
                                             {"sampling_probs", 4},
                                             {"repetition_penalty", 1},
                                             {"split_heads", 1},
                                             {"split_qkv", 2},
                                             {"attention_backward", 9},
                                             {"cross_entropy", 7},
                                             {"lr_schedule", 5},
                                             {"layer_norm_backward", 2},
                                             {"rms_norm_backward", 2},
                                             {"rope_backward", 2},
                                             {"adam", 2},
                                             {"clip_grad_norm", 2},
                                             {"gelu_erf_backward", 1},
                                             {"gelu_tanh_backward", 1},
                                             {"silu_backward", 1},
                                             {"relu_backward", 1},
                                             {"quick_gelu_backward", 1},
                                             {"tanh_backward", 1},
                                             {"elu_backward", 1},
                                             {"swiglu_backward", 1},
                                             {"softmax_backward", 1},
                                             {"linear_backward", 1},
                                             {"embedding_backward", 1},
                                             {"batch_norm_backward", 1},
                                             {"sgd", 1},
                                             {"adamw", 1}};
    CHECK(built == want);
    for (const OracleCase& test : cases())
        if (!test.not_supported.empty() && built.count(test.op) != 0) {
            INFO(test.name << ": " << test.not_supported);
            CHECK((test.not_supported.starts_with("option ") || test.not_supported.starts_with("operand ")));
        }
}

namespace {

/// Which keys a query sees is the same code in every storage, so f32 is enough: each rule is another pipeline, and
/// attention takes the longest of all to compile. Whole models with rules run in f16, too (other_sizes_test.cpp).
bool is_worth_compiling(const OracleCall& call) {
    if (call.op != "attention" || call.call.in(0).dtype == DType::f32) return true;
    const Attrs& attrs = call.call.attrs;
    for (const char* rule : {"softcap", "window_left", "window_right", "prefix_len", "block_size"})
        if (attrs.has(rule)) return false;
    return true;
}

}  // namespace

TEST_CASE("every kernel of every op agrees with the oracle", "[ops][oracle][subgroup]") {
    const Device& device = test_device();
    const std::string wish = environment("VANTAGE_TEST_CASE").value_or(""),
                      kernel = environment("VANTAGE_TEST_KERNEL").value_or("");
    std::set<std::string> ran, in_f16;                   // cases
    std::map<std::string, std::set<std::string>> calls;  // of an op, and of an op by a kernel
    std::size_t supported = 0;
    TestSample sample;
    for (const OracleCase& test : cases()) {
        if (!wish.empty() && wish != test.name) continue;
        if (wish.empty() && !sample.next()) continue;
        if (test.not_supported.empty()) ++supported;
        run_oracle_case(device, test, is_worth_compiling, kernel, [&](const OracleRun& run) {
            ran.insert(test.name);
            if (run.storage == DType::f16) in_f16.insert(test.name);
            const std::string call = test.name + ", " + run.call.part + ", " + name_of(run.storage);
            for (const std::string& name : {run.call.op, run.call.op + "/" + run.kernel}) calls[name].insert(call);
            INFO(run.call.op << " (" << test.name << (run.call.part.empty() ? "" : ", ") << run.call.part << ", "
                             << name_of(run.storage) << ") kernel=" << run.kernel << "\n  " << run.result.message
                             << "\n  rerun: VANTAGE_TEST_CASE='" << test.name << "' VANTAGE_TEST_KERNEL='" << run.kernel
                             << "' vantage_tests_device '[oracle]'");
            CHECK(run.result.status == CaseResult::passed);
            return true;
        });
    }
    if (!wish.empty() || !kernel.empty()) return;
    CHECK(ran.size() == supported);
    CHECK(in_f16.size() > ran.size() / 3);
    for (const char* op : {"matmul", "attention", "attention_weights"})  // `plain` fits everything
        CHECK(calls[std::string(op) + "/plain"] == calls[op]);
}
