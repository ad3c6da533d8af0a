// Types shared by GLSL and C++, and specialization constants declared once for both.
//
// A params struct holds addresses (uvec2) first, then 4-byte scalars, so that both languages lay it out alike.
//
// Specialization constants are a list NAME(C) of rows C(id, type, CONSTANT, default); the type is uint, bool or float.
//   GLSL: NAME(VANTAGE_CONSTANT) declares them.
//   C++: VANTAGE_CONSTANTS(Struct, SHARED, NAME) makes params::Struct, with a field for each constant of both lists. It
//   converts to the words of Launch::spec, and Struct::of(words) reads them. SHARED is the list of constants that a
//   file of lib/ declares for the shader, or VANTAGE_NO_CONSTANTS.
// Id 0 is `lanes`, the workgroup size: layout(local_size_x = 64, local_size_x_id = 0) in; Shaders read it as
// gl_WorkGroupSize.x. A constant of their own with this id would be a second one, with a default of its own.
//
// Files of params/ and lib/ have an include guard where a shader or a .cpp file may reach them twice. glslang does not
// know #pragma once.
#ifndef VANTAGE_PARAMS_TYPES_H
#define VANTAGE_PARAMS_TYPES_H
#define VANTAGE_NO_CONSTANTS(C)
#ifdef __cplusplus
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>
namespace vantage::params {
using uint = std::uint32_t;
struct alignas(8) uvec2 {
    uint x = 0, y = 0;
};

using constant_uint = uint;
using constant_bool = uint;
using constant_float = float;
template <class T>
void set_word(std::vector<uint>& words, std::size_t id, T value) {
    if (words.size() <= id) words.resize(id + 1);
    words[id] = std::bit_cast<uint>(value);
}
consteval bool are_distinct(std::initializer_list<uint> ids) {
    std::uint64_t seen = 0;
    for (uint id : ids) {
        if (id >= 64 || (seen >> id & 1) != 0) return false;
        seen |= std::uint64_t{1} << id;
    }
    return true;
}
}  // namespace vantage::params
#define VANTAGE_PARAMS_BEGIN namespace vantage::params {
#define VANTAGE_PARAMS_END }
#define VANTAGE_CONSTANT_FIELD(number, type, name, value) constant_##type name = value;
#define VANTAGE_CONSTANT_WORD(number, type, name, value) set_word(words, number, name);
// NOLINTBEGIN(bugprone-macro-parentheses): `name` is a member
#define VANTAGE_CONSTANT_READ(number, type, name, value) \
    if (number < words.size()) made.name = std::bit_cast<constant_##type>(words[number]);
// NOLINTEND(bugprone-macro-parentheses)
#define VANTAGE_CONSTANT_NUMBER(number, type, name, value) , number
#define VANTAGE_CONSTANTS(Struct, SHARED, OWN)                                                     \
    namespace vantage::params {                                                                    \
    struct Struct {                                                                                \
        uint lanes = 1;                                                                            \
        SHARED(VANTAGE_CONSTANT_FIELD)                                                             \
        OWN(VANTAGE_CONSTANT_FIELD)                                                                \
        static Struct of(const std::vector<uint>& words) {                                         \
            Struct made;                                                                           \
            if (!words.empty()) made.lanes = words.front();                                        \
            SHARED(VANTAGE_CONSTANT_READ)                                                          \
            OWN(VANTAGE_CONSTANT_READ)                                                             \
            return made;                                                                           \
        }                                                                                          \
        operator std::vector<uint>() const {                                                       \
            std::vector<uint> words{lanes};                                                        \
            SHARED(VANTAGE_CONSTANT_WORD)                                                          \
            OWN(VANTAGE_CONSTANT_WORD)                                                             \
            return words;                                                                          \
        }                                                                                          \
    };                                                                                             \
    static_assert(are_distinct({0 SHARED(VANTAGE_CONSTANT_NUMBER) OWN(VANTAGE_CONSTANT_NUMBER)})); \
    }
// Of a shader without constants but its workgroup size.
VANTAGE_CONSTANTS(WorkgroupConstants, VANTAGE_NO_CONSTANTS, VANTAGE_NO_CONSTANTS)
#else
#define VANTAGE_PARAMS_BEGIN
#define VANTAGE_PARAMS_END
#define VANTAGE_CONSTANTS(Struct, SHARED, OWN)
#define VANTAGE_CONSTANT(number, type, name, value) layout(constant_id = number) const type name = value;
#endif
#endif
