// The words of --weights: storage types that a model's matrices may be converted to.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "runtime/base/internal.h"
#include "vantage/tensor.h"

namespace vantage::internal {

inline const std::map<std::string, DType> weight_types{
    {"bf16", DType::bf16}, {"f16", DType::f16},   {"f32", DType::f32},   {"q4", DType::q4_0},   {"q4_0", DType::q4_0},
    {"q4_1", DType::q4_1}, {"q4_k", DType::q4_k}, {"q5_0", DType::q5_0}, {"q5_1", DType::q5_1}, {"q5_k", DType::q5_k},
    {"q6_k", DType::q6_k}, {"q8", DType::q8_0},   {"q8_0", DType::q8_0}};

/// The word of one of `weight_types`: "q4" for DType::q4_0.
inline std::string weight_type_name(DType type) {
    return std::ranges::find(weight_types, type, &std::pair<const std::string, DType>::second)->first;
}

}  // namespace vantage::internal
