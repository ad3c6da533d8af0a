// A plan's values by name: written, read, loaded from a file, and bound to memory that exists.
#include <algorithm>
#include <cstring>

#include "runtime/base/format.h"
#include "runtime/exec/plan_state.h"
#include "runtime/exec/upload_weight.h"
#include "runtime/gpu/buffer_block.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/graph_data.h"
#include "runtime/io/safetensors.h"
#include "vantage/vulkan.h"

namespace vantage {

namespace {

template <class T>
HostTensor host_tensor(const TensorType& type, std::span<const T> values) {
    HostTensor tensor(type);
    std::ranges::transform(values, tensor.data.begin(), [](T v) { return static_cast<double>(v); });
    return tensor;
}

void require_elements(const std::string& name, const TensorType& type, std::size_t given) {
    if (static_cast<std::int64_t>(given) != type.shape.elements())
        throw Error(ErrorKind::usage, format("plan: {} is {}, but {} values are given", name, type.text(), given));
}

DType dtype_of(const TensorEntry& entry, const std::string& what) {
    for (const auto& [name, type] : {std::pair{"F32", DType::f32}, {"F16", DType::f16}, {"BF16", DType::bf16}})
        if (entry.dtype == name) return type;
    throw Error(ErrorKind::bad_file, what + " is " + entry.dtype + ", wanted F32, F16 or BF16");
}

/// The bits that fill a 32-bit word with this value, of types whose elements divide a word.
std::uint32_t word_of(DType type, double value) {
    HostTensor one(TensorType{{2}, type});
    one.data = {value, value};
    const std::vector<std::byte> bytes = narrow(one);
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data(), 4);
    return word;
}

bool overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

int Plan::State::named(const std::string& name) const {
    if (const auto found = graph.outputs().find(name); found != graph.outputs().end()) return found->second;
    for (std::size_t i = 0; i < graph.values().size(); ++i) {
        const Value& value = graph.values()[i];
        if (!name.empty() && value.name == name && value.kind != ValueKind::node) return static_cast<int>(i);
    }
    throw Error(ErrorKind::usage, "plan: nothing is called " + (name.empty() ? "\"\"" : name));
}

int Plan::State::writable(const std::string& name, const char* deed) const {
    const int id = named(name);
    if (graph.value(graph.storage(id)).kind == ValueKind::node)
        throw Error(ErrorKind::usage, "plan: " + name + " is computed by the plan and cannot be " + deed);
    return id;
}

TensorType Plan::State::declared(int id) const {
    TensorType type = graph.value(id).type;
    if (graph.value(id).transposed) std::swap(type.shape[-2], type.shape[-1]);
    return type;
}

void Plan::State::upload(int id, std::span<const std::byte> bytes) {
    const Value& value = graph.value(id);
    const auto [buffer, offset] = memory.place_of(graph, schedule, id);
    upload_weight(device.state(), buffer, offset, value.type, value.type.dtype, value.transposed, bytes);
    mark_written(id);
}

void Plan::State::upload(int id, const HostTensor& tensor) {
    const Value& value = graph.value(id);
    if (!value.transposed || !is_quantized(value.type.dtype)) return upload(id, narrow(tensor));
    // Blocks of a quantized weight lie along its transposed rows: it is transposed first.
    const std::vector<float> floats(tensor.data.begin(), tensor.data.end());
    const auto [buffer, offset] = memory.place_of(graph, schedule, id);
    upload_weight(device.state(), buffer, offset, value.type, DType::f32, true, std::as_bytes(std::span(floats)));
    mark_written(id);
}

std::vector<std::byte> Plan::State::download(int id, std::uint64_t bytes, std::uint64_t from) const {
    memory.require_full();
    const auto [buffer, offset] = memory.place_of(graph, schedule, id);
    std::vector<std::byte> data(bytes);
    gpu::download(device.state(), buffer, offset + from, data);
    return data;
}

HostTensor Plan::State::host(int id) const {
    const TensorType& type = graph.value(id).type;
    return widen(type, download(id, type.bytes()));
}

void Plan::State::bind(const std::string& name, MemoryPlace place, std::uint64_t bytes) {
    const int id = graph.storage(writable(name, "bound"));
    const TensorType& type = graph.value(id).type;
    static_cast<void>(memory.place_of(graph, schedule, id));  // throws for a value that nothing reads
    const std::uint64_t needed = whole_words(type.bytes()), address = place.address();
    if (bytes < needed || address % 16 != 0)
        throw Error(ErrorKind::usage,
                    format("plan: {} is {}, which takes {} bytes at a multiple of 16; the memory has {} at {:x}", name,
                           type.text(), needed, bytes, address));
    const auto refuse_shared = [&](std::uint64_t begin, std::uint64_t size, const std::string& other) {
        if (overlap(address, needed, begin, size))
            throw Error(ErrorKind::usage, "plan: the memory for " + name + " is that of " + other + ", too");
    };
    if (memory.arena) refuse_shared(memory.arena.address(), schedule.arena_bytes, "intermediates of the same plan");
    for (const auto& [other, where] : memory.places)
        if (other != id) refuse_shared(where.address(), graph.value(other).type.bytes(), graph.value(other).name);
    memory.places[id] = std::move(place);
    memory.bound.insert(id);
    mark_written(id);
    recorder->forget();
}

std::string Plan::value_name(const Tensor& tensor) const {
    const State& s = state();
    if (!tensor) throw Error(ErrorKind::usage, "plan: an empty tensor names no value");
    if (detail::GraphAccess::lineage(tensor) != detail::GraphAccess::lineage(s.graph) ||
        static_cast<std::size_t>(tensor.id()) >= s.values_given)
        throw Error(ErrorKind::usage, "plan: the tensor is not one of the graph that was compiled");
    for (const auto& [name, id] : s.graph.outputs())
        if (id == tensor.id()) return name;
    const Value& value = s.graph.value(tensor.id());
    if (value.kind == ValueKind::node || value.name.empty())
        throw Error(ErrorKind::usage, "plan: the tensor is an intermediate: make it an output to read it");
    return value.name;
}

void Plan::write(const std::string& name, std::span<const float> values) {
    const int id = state().writable(name, "written");
    require_elements(name, state().declared(id), values.size());
    state().upload(id, host_tensor(state().graph.value(id).type, values));
}

void Plan::write(const std::string& name, std::span<const std::int32_t> values) {
    const int id = state().writable(name, "written");
    require_elements(name, state().declared(id), values.size());
    state().upload(id, host_tensor(state().graph.value(id).type, values));
}

void Plan::write(const std::string& name, const Array& values) {
    const TensorType type = state().declared(state().writable(name, "written"));
    if (type.shape != values.shape())
        throw Error(ErrorKind::usage,
                    "plan: " + name + " is " + type.text() + ", but an array " + values.shape().text() + " is given");
    write(name, values.values());
}

void Plan::write_bytes(const std::string& name, std::span<const std::byte> bytes) {
    const int id = state().writable(name, "written");
    const TensorType type = state().declared(id);
    if (type.bytes() != bytes.size())
        throw Error(ErrorKind::usage,
                    format("plan: {} is {}, but {} bytes are given", name, type.text(), bytes.size()));
    state().upload(id, bytes);
}

void Plan::fill(const std::string& name, double value) {
    State& s = state();
    const int id = s.writable(name, "filled");
    const TensorType& type = s.graph.value(id).type;
    if (is_quantized(type.dtype)) {
        HostTensor tensor(type);
        std::ranges::fill(tensor.data, value);
        return s.upload(id, tensor);
    }
    const auto [buffer, offset] = s.memory.place_of(s.graph, s.schedule, id);
    if (const std::uint64_t bytes = whole_words(type.bytes()); bytes > 0)
        gpu::fill(s.device.state(), buffer, offset, bytes, word_of(type.dtype, value));
    s.mark_written(id);
}

void Plan::load(const std::string& path) {
    State& s = state();
    const SafeTensors file(path);
    for (const auto& [id, place] : s.memory.places) {
        const Value& value = s.graph.value(id);
        if (value.kind != ValueKind::weight) continue;
        const std::vector<std::string> parts = value.parts.empty() ? std::vector{value.name} : value.parts;
        if (!std::ranges::all_of(parts, [&](const std::string& part) { return file.find(part) != nullptr; })) continue;
        const Shape whole = s.declared(id).shape;
        const Shape wanted = value.parts.empty() ? whole : Shape(whole.sizes().subspan(1));
        TensorType type = value.type;
        if (!value.parts.empty()) type.shape = Shape(type.shape.sizes().subspan(1));
        std::uint64_t offset = place.offset;
        for (const std::string& part : parts) {
            const TensorEntry& entry = file.at(part);
            if (!std::ranges::equal(entry.shape, wanted.sizes()))
                throw Error(ErrorKind::bad_file,
                            path + ": " + part + " is " + entry.text() + ", but the graph wants " + wanted.text());
            upload_weight(s.device.state(), place.buffer, offset, type, dtype_of(entry, path + ": " + part),
                          value.transposed, entry.data);
            file.release(entry);
            offset += type.bytes();
        }
        s.mark_written(id);
    }
}

Array Plan::read(const std::string& name, Range rows) const {
    const State& s = state();
    const int id = s.named(name);
    if (s.graph.value(s.graph.storage(id)).kind == ValueKind::node && !s.ran)
        throw Error(ErrorKind::usage, "plan: " + name + " is computed by a run, but none has been made");
    TensorType type = s.graph.value(id).type, before = type;
    if (rows != Range()) {
        if (type.shape.rank() == 0) throw Error(ErrorKind::usage, "plan: " + name + " is a scalar and has no rows");
        rows = rows.within(type.shape[0], "plan: " + name);
        before.shape[0] = rows.first, type.shape[0] = rows.count;
    } else {
        before.shape = {0};
    }
    const HostTensor tensor = widen(type, s.download(id, type.bytes(), before.bytes()));
    return {type.shape, std::vector<float>(tensor.data.begin(), tensor.data.end())};
}

std::vector<float> Plan::read_rows(const std::string& name, std::int64_t rows, std::int64_t first) const {
    const std::int64_t size = state().graph.value(state().named(name)).type.shape[0];
    first = std::clamp<std::int64_t>(first, 0, size);
    return read(name, {first, std::clamp<std::int64_t>(rows, 0, size - first)}).vector();
}

std::vector<std::byte> Plan::read_bytes(const std::string& name) const {
    const int id = state().named(name);
    return state().download(id, state().graph.value(id).type.bytes());
}

BufferView Plan::buffer(const std::string& name) const {
    const State& s = state();
    const int id = s.named(name);
    const auto [buffer, offset] = s.memory.place_of(s.graph, s.schedule, id);
    return {buffer.handle(), offset, s.graph.value(id).type.bytes(), buffer.address() + offset,
            std::make_shared<const gpu::Buffer>(buffer)};
}

void Plan::bind(const std::string& name, const BufferView& memory) {
    State& s = state();
    if (memory.buffer == VK_NULL_HANDLE) throw Error(ErrorKind::usage, "plan: the memory for " + name + " is empty");
    if (memory.owner && gpu::BufferAccess::block(*memory.owner).device != &s.device.state())
        throw Error(ErrorKind::usage, "plan: the memory for " + name + " is of another device");
    const gpu::Buffer buffer = memory.owner
                                   ? *memory.owner
                                   : gpu::wrap_foreign(s.device.state(), memory.buffer, memory.offset + memory.bytes,
                                                       memory.address - memory.offset, name);
    s.bind(name, {buffer, memory.offset}, memory.bytes);
}

void Plan::bind(const std::string& name, const SharedBuffer& memory) { bind(name, memory.view()); }

}  // namespace vantage
