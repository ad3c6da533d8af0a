// Types shared by GLSL and C++. A params struct holds addresses (uvec2) first, then 4-byte scalars: so both languages lay
// it out alike.
#ifndef VANTAGE_PARAMS_TYPES_H
#define VANTAGE_PARAMS_TYPES_H
#ifdef __cplusplus
#include <cstdint>
namespace vantage::params {
using uint = std::uint32_t;
struct alignas(8) uvec2 {
    uint x = 0, y = 0;
};
}  // namespace vantage::params
#define VANTAGE_PARAMS_BEGIN namespace vantage::params {
#define VANTAGE_PARAMS_END }
#else
#define VANTAGE_PARAMS_BEGIN
#define VANTAGE_PARAMS_END
#endif
#endif
