#include "runtime/graph/kernel_names.h"

#include <array>

namespace vantage::internal {

namespace {

struct RenamedKernel {
    std::string_view op, old_name, name;
};

constexpr std::array<RenamedKernel, 14> renamed{{{"matmul", "packed_rows", "int8_rows"},
                                                 {"matmul", "columns", "gemv_cpu"},
                                                 {"matmul", "quantized_lanes", "quantized"},
                                                 {"matmul", "panels", "gemm_cpu"},
                                                 {"matmul", "packed", "int8"},
                                                 {"matmul", "halves", "fp16"},
                                                 {"attention", "lanes", "cpu_simd"},
                                                 {"add", "lanes", "cpu_simd"},
                                                 {"mul", "lanes", "cpu_simd"},
                                                 {"scale", "lanes", "cpu_simd"},
                                                 {"softmax", "lanes", "cpu_simd"},
                                                 {"log_softmax", "lanes", "cpu_simd"},
                                                 {"layer_norm", "lanes", "cpu_simd"},
                                                 {"rms_norm", "lanes", "cpu_simd"}}};

}  // namespace

std::string current_kernel_name(std::string_view op, std::string_view name) {
    for (const RenamedKernel& one : renamed)
        if (one.old_name == name && (op.empty() || one.op == op)) return std::string(one.name);
    return std::string(name);
}

}  // namespace vantage::internal
