// A plan's values by name: written, read, loaded from a file, and bound to memory that exists.
#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/exec/plan_state.h"
#include "runtime/exec/upload_weight.h"
#include "runtime/gpu/buffer_block.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/graph_data.h"
#include "runtime/io/safetensors.h"
#include "vantage/vulkan.h"

namespace vantage {

namespace {

// Matrices [.., out, in], each element `unit` items long, as [.., in, out].
template <class Item>
std::vector<Item> turned_back(const Shape& shape, const std::vector<Item>& items, std::size_t unit = 1) {
    const auto out = static_cast<std::size_t>(shape[-2]), in = static_cast<std::size_t>(shape[-1]);
    std::vector<Item> turned(items.size());
    for (std::size_t matrix = 0; matrix < items.size(); matrix += out * in * unit)
        for (std::size_t r = 0; r < out; ++r)
            for (std::size_t c = 0; c < in; ++c)
                std::copy_n(&items[matrix + (r * in + c) * unit], unit, &turned[matrix + (c * out + r) * unit]);
    return turned;
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

}  // namespace

int Plan::State::stored(const std::string& name) const {
    for (; named_values < graph.values().size(); ++named_values) {
        const Value& value = graph.values()[named_values];
        if (!value.name.empty() && value.kind != ValueKind::node)
            stored_ids.emplace(value.name, static_cast<int>(named_values));
    }
    const auto found = stored_ids.find(name);
    return found != stored_ids.end() ? found->second : -1;
}

int Plan::State::readable(const std::string& name) const {
    if (const auto found = graph.outputs().find(name); found != graph.outputs().end()) return found->second;
    if (const int id = stored(name); id >= 0) return id;
    throw usage_error("plan: nothing is called " + (name.empty() ? "\"\"" : name));
}

std::string Plan::State::name(int id) const {
    if (const std::string& name = graph.value(id).name; !name.empty()) return name;
    for (const auto& [name, output] : graph.outputs())
        if (output == id) return name;
    return "";
}

int Plan::State::require_writable(int id, const char* deed) const {
    if (graph.value(graph.storage(id)).kind == ValueKind::node)
        throw usage_error("plan: " + name(id) + " is computed by the plan and cannot be " + deed);
    return id;
}

int Plan::State::writable(const std::string& name, const char* deed) const {
    const int id = stored(name);
    return require_writable(id >= 0 ? id : readable(name), deed);
}

int Plan::State::writable(const Tensor& tensor, const char* deed) const {
    return require_writable(id_of(tensor), deed);
}

int Plan::State::id_of(const Tensor& tensor) const {
    if (!tensor) throw usage_error("plan: an empty tensor names no value");
    if (!GraphAccess::same_value(tensor, graph))
        throw usage_error("plan: the tensor is not one of the graph that was compiled");
    const int storage = graph.storage(tensor.id());  // of a view: that of the value it shows
    const auto kept = [&](const auto& output) { return graph.storage(output.second) == storage; };
    if (graph.value(storage).kind == ValueKind::node && name(tensor.id()).empty() &&
        std::ranges::none_of(graph.outputs(), kept))
        throw usage_error("plan: the tensor is an intermediate: make it an output to read it");
    return tensor.id();
}

void Plan::State::require_declared(int id, const char* deed) const {
    if (!graph.value(id).transposed) return;
    throw usage_error("plan: {}, which the graph declares as {}, is kept transposed and cannot be {}", name(id),
                      declared(id).shape.text(), deed);
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

void Plan::State::bind(int id, MemoryPlace place, std::uint64_t bytes) {
    const std::string name = this->name(id);
    id = graph.storage(id);
    require_declared(id, "bound");
    const TensorType& type = graph.value(id).type;
    static_cast<void>(memory.place_of(graph, schedule, id));  // throws for a value that nothing reads
    const std::uint64_t needed = whole_words(type.bytes()), address = place.address();
    if (bytes < needed || address % 16 != 0)
        throw usage_error("plan: {} is {}, which takes {} bytes at a multiple of 16; the memory has {} at {:x}", name,
                          type.text(), needed, bytes, address);
    const auto refuse_shared = [&](const std::string& other) {
        throw usage_error("plan: the memory for " + name + " is that of " + other + ", too");
    };
    const std::uint64_t arena = memory.arena ? memory.arena.address() : 0;
    if (memory.arena && address < arena + schedule.arena_bytes && arena < address + needed)
        refuse_shared("intermediates of the same plan");
    if (const auto other = memory.other_at(graph, id, address, needed)) refuse_shared(graph.value(*other).name);
    memory.set_place(id, std::move(place));
    memory.bound.insert(id);
    mark_written(id);
    recorder->forget();
}

template <class T>
void Plan::State::write(int id, std::span<const T> values) {
    const TensorType type = declared(id);
    if (std::ssize(values) != type.shape.elements())
        throw usage_error("plan: {} is {}, but {} values are given", name(id), type.text(), values.size());
    HostTensor tensor(graph.value(id).type);
    std::ranges::copy(values, tensor.data.begin());
    upload(id, tensor);
}

void Plan::write(const std::string& name, std::span<const float> values) {
    state().write(state().writable(name, "written"), values);
}
void Plan::write(const std::string& name, std::span<const std::int32_t> values) {
    state().write(state().writable(name, "written"), values);
}
void Plan::write(const Tensor& tensor, std::span<const float> values) {
    state().write(state().writable(tensor, "written"), values);
}
void Plan::write(const Tensor& tensor, std::span<const std::int32_t> values) {
    state().write(state().writable(tensor, "written"), values);
}

void Plan::write(const std::string& name, const Array& values) {
    const TensorType type = state().declared(state().writable(name, "written"));
    if (type.shape != values.shape())
        throw usage_error("plan: " + name + " is " + type.text() + ", but an array " + values.shape().text() +
                          " is given");
    write(name, values.values());
}

void Plan::write_bytes(const std::string& name, std::span<const std::byte> bytes) {
    const int id = state().writable(name, "written");
    if (is_quantized(state().graph.value(id).type.dtype)) state().require_declared(id, "written as bytes");
    const TensorType type = state().declared(id);
    if (type.bytes() != bytes.size())
        throw usage_error("plan: {} is {}, but {} bytes are given", name, type.text(), bytes.size());
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
        const std::vector<std::string> parts = tensors_of(value);
        if (!std::ranges::all_of(parts, [&](const std::string& part) { return file.find(part) != nullptr; })) continue;
        const Shape whole = s.declared(id).shape;
        const Shape wanted = value.parts.empty() ? whole : Shape(whole.sizes().subspan(1));
        TensorType type = value.type;
        if (!value.parts.empty()) type.shape = Shape(type.shape.sizes().subspan(1));
        std::uint64_t offset = place.offset;
        for (const std::string& part : parts) {
            const TensorEntry& entry = file.at(part);
            if (!std::ranges::equal(entry.shape, wanted.sizes()))
                throw bad_file_error(path + ": " + part + " is " + entry.text() + ", but the graph wants " +
                                     wanted.text());
            upload_weight(s.device.state(), place.buffer, offset, type, dtype_of(entry, path + ": " + part),
                          value.transposed, entry.data, path + ": " + part, part.ends_with("bias"));
            offset += type.bytes();
        }
        s.mark_written(id);
    }
}

Array Plan::State::read(int id, Range rows) const {
    const Value& value = graph.value(id);
    const std::string label = "plan: " + name(id);
    if (graph.value(graph.storage(id)).kind == ValueKind::node && !ran)
        throw usage_error(label + " is computed by a run, but none has been made");
    TensorType type = declared(id);
    std::int64_t first = 0;  // element
    if (rows != Range()) {
        if (type.shape.rank() == 0) throw usage_error(label + " is a scalar and has no rows");
        rows = rows.within(type.shape[0], label);
        if (type.shape.elements() > 0) first = rows.first * (type.shape.elements() / type.shape[0]);
        type.shape[0] = rows.count;
    }
    const std::int64_t count = type.shape.elements();
    if (!value.transposed) {
        const HostTensor part = widen_part(type.dtype, first, count, [&](std::uint64_t from, std::uint64_t bytes) {
            return download(id, bytes, from);
        });
        return {type.shape, std::vector<float>(part.data.begin(), part.data.end())};
    }
    // The graph's rows are columns of what the plan keeps: all of it is read.
    const std::vector<double> whole = turned_back(value.type.shape, host(id).data);
    return {type.shape, std::vector<float>(whole.begin() + first, whole.begin() + first + count)};
}

Array Plan::read(const std::string& name, Range rows) const { return state().read(state().readable(name), rows); }
Array Plan::read(const Tensor& tensor, Range rows) const { return state().read(state().id_of(tensor), rows); }

std::vector<float> Plan::read_rows(const std::string& name, std::int64_t rows, std::int64_t first) const {
    const std::int64_t size = state().declared(state().readable(name)).shape[0];
    first = std::clamp<std::int64_t>(first, 0, size);
    return read(name, {first, std::clamp<std::int64_t>(rows, 0, size - first)}).vector();
}

std::vector<std::byte> Plan::read_bytes(const std::string& name) const {
    const State& s = state();
    const int id = s.readable(name);
    const Value& value = s.graph.value(id);
    if (is_quantized(value.type.dtype)) s.require_declared(id, "read as bytes");
    std::vector<std::byte> bytes = s.download(id, value.type.bytes());
    return value.transposed ? turned_back(value.type.shape, bytes, info(value.type.dtype).bytes) : bytes;
}

BufferView Plan::buffer(const std::string& name) const {
    const State& s = state();
    const int id = s.readable(name);
    s.require_declared(s.graph.storage(id), "shared");
    const auto [buffer, offset] = s.memory.place_of(s.graph, s.schedule, id);
    return {buffer.handle(), offset, whole_words(s.graph.value(id).type.bytes()), buffer.address() + offset,
            std::make_shared<const gpu::Buffer>(buffer)};
}

std::byte* Plan::host_memory(const std::string& name) const {
    const State& s = state();
    const int id = s.readable(name);
    if (!s.graph.value(id).host_visible) throw usage_error("plan: {} is not visible to the host", name);
    const auto [buffer, offset] = s.memory.place_of(s.graph, s.schedule, id);
    return buffer.mapped() + offset;
}

void Plan::bind(const std::string& name, const BufferView& memory) {
    State& s = state();
    const int id = s.writable(name, "bound");
    const auto require = [&](bool condition, const char* what) {
        if (!condition) throw usage_error("plan: the memory for " + name + what);
    };
    require(memory.buffer != VK_NULL_HANDLE, " is empty");
    require(memory.address >= memory.offset && memory.address != 0, " has no device address");
    if (!memory.owner)
        return s.bind(id,
                      {gpu::wrap_foreign(s.device.state(), memory.buffer, memory.offset + memory.bytes,
                                         memory.address - memory.offset, name),
                       memory.offset},
                      memory.bytes);
    const gpu::Buffer& owner = *memory.owner;
    require(&gpu::BufferAccess::block(owner).device == &s.device.state(), " is of another device");
    require(memory.buffer == owner.handle() && memory.address == owner.address() + memory.offset &&
                memory.offset <= owner.bytes() && memory.bytes <= owner.bytes() - memory.offset,
            " is not a range of the buffer that owns it");
    s.bind(id, {owner, memory.offset}, memory.bytes);
}

void Plan::bind(const std::string& name, const SharedBuffer& memory) { bind(name, memory.view()); }

}  // namespace vantage
