#include "runtime/exec/tap.h"

#include <algorithm>
#include <cstring>

#include "runtime/gpu/commands.h"
#include "runtime/gpu/kernel.h"

namespace vantage {

namespace {
constexpr std::int64_t cells_per_piece = 1 << 20;  // 4 MiB: rows of 32 768 keys go 32 at a time
}

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
            piece(source, std::move(attrs), part);
            for (std::int64_t i = 0; i < r; ++i)
                std::copy_n(part.data() + i * k, k, all.data() + (row + i) * keys + key);
        }
    return all;
}

void Tap::piece(const TapSource& source, Attrs attrs, std::span<float> to) {
    static const OpDef* op = find_op("attention_weights");
    OpCall call{.op = op,
                .attrs = std::move(attrs),
                .inputs = {source.q.type, source.k.type, source.lse.type, {}, source.position_bias.type},
                .outputs = {}};
    call.outputs = op->infer(call);
    Launch launch = choose_kernel(call, device_.caps())->launch(call, device_.caps()).launches.front();
    if (!result_ || result_.bytes() < to.size_bytes())
        result_ = gpu::allocate(device_, std::max<std::uint64_t>(to.size_bytes(), 4 * cells_per_piece),
                                gpu::MemoryKind::readback, "tap");
    const std::uint64_t bias = source.position_bias.type ? source.position_bias.buffer.address() : 0;
    const std::uint64_t addresses[] = {
        source.q.buffer.address(), source.k.buffer.address(), source.lse.buffer.address(), 0, bias, 0, 0,
        result_.address()};
    std::memcpy(launch.params.data(), addresses, sizeof addresses);
    gpu::Recording recording(device_, "tap");
    recording.dispatch(gpu::pipeline(device_, {.module = launch.shader, .spec = launch.spec}), launch.params,
                       launch.groups, "tap");
    recording.end();
    const gpu::Recording* one[] = {&recording};
    gpu::wait(device_, gpu::submit(device_, one));
    gpu::download(device_, result_, 0, std::as_writable_bytes(to));
}

}  // namespace vantage
