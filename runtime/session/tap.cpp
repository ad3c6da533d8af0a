#include "runtime/session/tap.h"

#include <algorithm>
#include <cstring>

#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/recording.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/ops/attention_weights.h"
#include "runtime/ops/head_statistics.h"
#include "shaders/params/head_statistics.h"

namespace vantage::internal {

namespace {
constexpr std::int64_t cells_per_piece = 1 << 20;     // 4 MiB: rows of 32 768 keys go 32 at a time
constexpr std::int64_t products_per_piece = 1 << 28;  // a second of a slow device, between two looks for Ctrl-C
}  // namespace

std::vector<float> Tap::weights(const TapSource& source, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                                std::int64_t first_key, std::int64_t keys) {
    std::vector<float> all(static_cast<std::size_t>(rows * keys));
    if (all.empty()) return all;
    const std::int64_t keys_each = std::min(keys, cells_per_piece),
                       rows_each = std::max<std::int64_t>(1, cells_per_piece / keys_each);
    std::vector<float> part;
    for (std::int64_t row = 0; row < rows; row += rows_each)
        for (std::int64_t key = 0; key < keys; key += keys_each) {
            const std::int64_t r = std::min(rows_each, rows - row), k = std::min(keys_each, keys - key);
            part.resize(static_cast<std::size_t>(r * k));
            Attrs attrs = source.attrs;
            for (const auto& [name, value] : {std::pair{"head", head},
                                              {"first_row", first_row + row},
                                              {"rows", r},
                                              {"first_key", first_key + key},
                                              {"keys", k},
                                              {"position", std::int64_t{0}}})
                attrs.set(name, value);
            const std::span<float> to[] = {part};
            std::vector<TapSource::Data> operands(attention_weights_op.operands.size());
            using namespace ops::attention_weights;
            operands[q_] = source.q, operands[k_] = source.k, operands[lse_] = source.lse;
            operands[position_bias_] = source.position_bias, operands[block_mask_] = source.block_mask;
            run(attention_weights_op, std::move(attrs), operands, to);
            for (std::int64_t i = 0; i < r; ++i)
                std::copy_n(part.data() + i * k, k, all.data() + (row + i) * keys + key);
        }
    return all;
}

HeadTable Tap::statistics(const TapSource& source, std::int64_t first_row, std::int64_t row_count, std::int64_t count,
                          std::span<const std::int32_t> tokens, std::span<const float> factors) {
    const std::int64_t heads = source.q.type->shape[1], width = source.q.type->shape[2];
    HeadTable all{.rows = std::vector<float>(static_cast<std::size_t>(row_count * heads * ROW_NUMBERS)),
                  .keys = {},
                  .heads = heads};
    std::vector<double> received(static_cast<std::size_t>(KEY_NUMBERS * heads * count));
    std::vector<float> part(received.size());
    const auto uploaded = [&](auto values, const char* name) {
        if (values.empty()) return gpu::Buffer();
        gpu::Buffer buffer = gpu::allocate(device_, values.size_bytes(), gpu::MemoryKind::device, name);
        gpu::upload(device_, buffer, 0, std::as_bytes(values));
        return buffer;
    };
    const gpu::Buffer token_buffer = uploaded(tokens, "tap.tokens"), factor_buffer = uploaded(factors, "tap.factors");
    std::optional<TensorType> factor_type;
    if (!factors.empty()) factor_type = TensorType{Shape{source.k.type->shape[0], heads}, DType::f32};
    const std::int64_t products = std::max<std::int64_t>(1, count * heads * width);
    // A key goes through all rows of a piece, and their features, in one loop.
    const std::int64_t rows_each =
        std::clamp<std::int64_t>(products_per_piece / products, 1, longest_loop / (width + 1));
    for (std::int64_t row = 0; row < row_count; row += rows_each) {
        const std::int64_t rows = std::min(rows_each, row_count - row);
        Attrs attrs = source.attrs;
        for (const auto& [name, value] : {std::pair{"first_row", first_row + row}, {"rows", rows}, {"keys", count}})
            attrs.set(name, value);
        const std::span<float> to[] = {
            std::span(all.rows).subspan(static_cast<std::size_t>(row * heads * ROW_NUMBERS),
                                        static_cast<std::size_t>(rows * heads * ROW_NUMBERS)),
            part};
        std::vector<TapSource::Data> operands(head_statistics_op.operands.size());
        using namespace ops::head_statistics;
        operands[q_] = source.q, operands[k_] = source.k, operands[lse_] = source.lse;
        operands[position_bias_] = source.position_bias, operands[block_mask_] = source.block_mask;
        operands[factors_] = {factor_buffer, factor_type};
        operands[tokens_] = {token_buffer, TensorType{Shape{std::ssize(tokens) / 2, 2}, DType::i32}};
        run(head_statistics_op, std::move(attrs), operands, to);
        for (std::size_t i = 0; i < part.size(); ++i) received[i] += static_cast<double>(part[i]);
    }
    all.keys.assign(received.begin(), received.end());
    return all;
}

void Tap::run(const OpDef& op, Attrs attrs, std::span<const TapSource::Data> operands,
              std::span<const std::span<float>> outputs) {
    OpCall call{.op = &op, .attrs = std::move(attrs), .inputs = {}, .outputs = {}};
    for (const TapSource::Data& operand : operands) call.inputs.push_back(operand.type);
    call.outputs = call.op->infer(call);
    std::vector<std::uint64_t> places;  // of the outputs in the result
    std::uint64_t bytes = 0;
    for (const std::span<float> output : outputs) {
        places.push_back(bytes);
        bytes += (output.size_bytes() + 255) / 256 * 256;
    }
    if (!result_ || result_.bytes() < bytes)
        result_ = gpu::allocate(device_, std::max<std::uint64_t>(bytes, 4 * cells_per_piece), gpu::MemoryKind::readback,
                                "tap");
    gpu::Recording recording(device_, "tap");
    for (Launch& launch : choose_kernel(call, device_.caps())->launch(call, device_.caps()).launches) {
        for (std::size_t i = 0; i < launch.operands.size(); ++i) {
            const Operand& operand = launch.operands[i];
            std::uint64_t address = result_.address() | 1;  // absent: memory all the same (Recorder::addresses_of)
            if (operand.kind == Operand::output)
                address = result_.address() + places[operand.index];
            else if (const gpu::Buffer& buffer = operands[operand.index].buffer)
                address = buffer.address();
            std::memcpy(launch.params.data() + i * sizeof address, &address, sizeof address);
        }
        recording.dispatch(gpu::pipeline(device_, {.module = launch.shader, .spec = launch.spec}), launch.params,
                           launch.groups, "tap");
    }
    recording.end();
    gpu::wait(device_, gpu::submit(device_, recording));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        gpu::download(device_, result_, places[i], std::as_writable_bytes(outputs[i]));
}

}  // namespace vantage::internal
