// A call of an op as its functions see it: what the reference and the layout of a custom kernel are given.
//
// Threads: values; const functions in any thread.
// Errors: fail(), require() and in() throw usage. Indices are not checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vantage/graph.h"

namespace vantage {

/// One call of an op: its options and the types of its operands. Absent operands are empty.
struct OpCall {
    const internal::OpDef* op = nullptr;
    Attrs attrs;  ///< of a custom kernel: its parameters, attrs.bytes("params")
    std::vector<std::optional<TensorType>> inputs;
    std::vector<TensorType> outputs;  ///< empty while `infer` runs
    SourceLocation where;
    std::string scope = {};  ///< of the node, for messages: "h.3."
    bool has(int i) const {
        return static_cast<std::size_t>(i) < inputs.size() && inputs[static_cast<std::size_t>(i)].has_value();
    }
    /// Fails for an operand that is absent: "gelu: x is an empty tensor".
    const TensorType& in(int i) const {
        if (!has(i)) fail_empty(i);
        return *inputs[static_cast<std::size_t>(i)];
    }
    const TensorType& out(int i) const { return outputs[static_cast<std::size_t>(i)]; }
    /// Throws `usage` as "model.cpp:12: h.3.layer_norm: gamma is f32 [512], wanted [768]".
    [[noreturn]] void fail(const std::string& what) const;
    void require(bool condition, const std::string& what) const {
        if (!condition) fail(what);
    }

private:
    [[noreturn]] void fail_empty(int i) const;
};

/// A tensor on the host, in double: what references read and write.
struct HostTensor {
    TensorType type;
    std::vector<double> data;
    HostTensor() = default;
    explicit HostTensor(const TensorType& t) : type(t), data(static_cast<std::size_t>(type.shape.elements())) {}
    double& operator[](std::int64_t i) { return data[static_cast<std::size_t>(i)]; }
    double operator[](std::int64_t i) const { return data[static_cast<std::size_t>(i)]; }
};

/// An operand of a dispatch: the tensor and how it is accessed.
struct Operand {
    enum Kind : std::uint8_t { input, output, scratch } kind = input;  ///< scratch: kernels of the runtime only
    std::uint8_t index = 0;
    enum Access : std::uint8_t { reads = 1, writes = 2, reads_writes = 3 } access = reads;
    bool operator==(const Operand&) const = default;
};
constexpr Operand in(int i) { return {Operand::input, static_cast<std::uint8_t>(i), Operand::reads}; }
constexpr Operand out(int i) { return {Operand::output, static_cast<std::uint8_t>(i), Operand::writes}; }

/// Allowed error of an element: absolute + relative * |want|. For f16 and int8 `absolute` is multiplied by the root
/// mean square of the wanted tensor. The int8 tolerance applies to results computed from quantized activations.
struct Tolerance {
    double absolute = 2e-5, relative = 2e-5;
};
struct Tolerances {
    Tolerance f32{2e-5, 2e-5}, f16{1e-2, 1e-2}, int8{4e-2, 1e-2};
};

}  // namespace vantage
