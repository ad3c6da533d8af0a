#include "runtime/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/finite.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/base/quantize.h"

namespace vantage::internal {
namespace {

constexpr std::array<std::pair<std::string_view, unsigned>, 22> bits_by_dtype{{
    {"F64", 64},    {"F32", 32},        {"F16", 16},        {"BF16", 16},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
    {"C64", 64},    {"I64", 64},        {"I32", 32},        {"I16", 16},    {"I8", 8},      {"U64", 64},
    {"U32", 32},    {"U16", 16},        {"U8", 8},          {"BOOL", 8},
}};

constexpr std::size_t length_bytes = 8;  // the length of the header, at the start of the file

std::string shape_text(const std::vector<std::int64_t>& shape) {
    return format("[{}]", join(shape, ", ", [](std::int64_t size) { return std::to_string(size); }));
}

/// Bytes of a tensor; nothing if the number overflows or is not a whole number of bytes.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, unsigned bits) {
    std::uint64_t total = bits;
    bool empty = false;
    for (const std::int64_t size : shape)
        if (size == 0)
            empty = true;
        else if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(size), &total))
            return std::nullopt;
    if (empty) return 0;
    return total % 8 == 0 ? std::optional(total / 8) : std::nullopt;
}

/// The byte range of a tensor, counted from the end of the header.
struct Extent {
    std::uint64_t begin, end;
    const std::string* name;
};

Extent read_extent(const JsonFields& fields, const std::string& name, std::uint64_t available) {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> offsets = fields.integers("data_offsets", 0, any);
    if (offsets.size() != 2 || offsets[0] > offsets[1])
        fields.fail("data_offsets", "a begin and an end, in this order");
    const auto begin = static_cast<std::uint64_t>(offsets[0]), end = static_cast<std::uint64_t>(offsets[1]);
    if (end > available)
        fields.fail("data_offsets",
                    format("an end of at most {}, the bytes that follow the header; the end is {}", available, end));
    return {begin, end, &name};
}

TensorEntry read_entry(const JsonFields& fields, const Extent& extent, const ByteSource& data) {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    TensorEntry entry;
    entry.dtype = fields.text("dtype");
    const unsigned bits = bits_of_dtype(entry.dtype);
    if (bits == 0)
        fields.fail("dtype", "one of: " + join(bits_by_dtype, ", ", [](const auto& one) { return one.first; }));
    fields.list("shape");  // throws for a bare number
    entry.shape = fields.integers("shape", 0, any);
    const std::optional<std::uint64_t> wanted = bytes_of(entry.shape, bits);
    const std::uint64_t found = extent.end - extent.begin;
    if (!wanted) fields.fail("shape", "sizes whose product is a number of bytes; they are " + shape_text(entry.shape));
    if (*wanted != found)
        fields.fail("data_offsets", format("{} bytes for {}; they hold {}", *wanted, entry.text(), found));
    entry.data = data.part(extent.begin, found);
    return entry;
}

/// Each byte of the data must belong to exactly one tensor, so that nothing is hidden in a gap or read twice.
void check_layout(std::vector<Extent> extents, std::uint64_t available, const std::string& file) {
    std::ranges::sort(extents, {}, [](const Extent& extent) { return std::pair(extent.begin, extent.end); });
    using Number = unsigned long long;
    std::uint64_t at = 0;
    const std::string* before = nullptr;
    for (const Extent& extent : extents) {
        if (extent.begin != at) {
            const std::string neighbour = before == nullptr ? "the header" : in_quotes(*before);
            throw bad_file_error("{}: the data of {} begins at byte {}, {} {}, wanted byte {}", file,
                                 in_quotes(*extent.name), Number{extent.begin},
                                 extent.begin < at ? "inside" : "after a gap that follows", neighbour, Number{at});
        }
        at = extent.end;
        before = extent.name;
    }
    if (at != available)
        throw bad_file_error("{}: {} bytes follow the header, but its tensors end at byte {}", file, Number{available},
                             Number{at});
}

}  // namespace

unsigned bits_of_dtype(std::string_view dtype) {
    for (const auto& [name, bits] : bits_by_dtype)
        if (dtype == name) return bits;
    return 0;
}

std::int64_t TensorEntry::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return count;
}

std::string TensorEntry::text() const { return dtype + " " + shape_text(shape); }

std::string file_dtype(DType type) {
    std::string name = name_of(type);
    for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return name;
}

DType dtype_of(const TensorEntry& entry, const std::string& what) {
    for (const DType type : weight_dtypes)
        if (entry.dtype == file_dtype(type)) return type;
    throw bad_file_error("{} is {}, wanted F32, F16 or BF16", what, entry.dtype);
}

void require_finite(const TensorEntry& entry, const std::string& name) {
    const DType type = dtype_of(entry, name);
    std::vector<std::uint64_t> words((entry.data.size() + 7) / 8);
    entry.data.read(0, std::as_writable_bytes(std::span(words)).first(entry.data.size()));
    const std::size_t element = first_not_finite(words, type, name.ends_with("bias"));
    if (element < static_cast<std::size_t>(entry.elements()))
        throw bad_file_error("{}: element {} is not finite; is the file damaged?", name, element);
}

// ---- one file -------------------------------------------------------------------------------------------------------

SafeTensors::SafeTensors(const std::string& path) : name_(path) { read(ByteSource(path)); }

SafeTensors::SafeTensors(std::span<const std::byte> bytes, const std::string& name) : name_(name) {
    read(ByteSource(bytes));
}

void SafeTensors::read(const ByteSource& bytes) {
    const auto complain = [&](const std::string& what) { throw bad_file_error("{}: {}", name_, what); };
    if (bytes.size() < length_bytes)
        complain(
            format("the file has {} bytes, wanted at least the {} of the header's length", bytes.size(), length_bytes));
    std::array<std::byte, length_bytes> first{};
    bytes.read(0, first);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::uint64_t>(first[i]) << (8 * i);
    if (length > safetensors_max_header)
        complain(format("the header is {} bytes long, wanted at most {}; is this a safetensors file?", length,
                        safetensors_max_header));
    if (length > bytes.size() - length_bytes)
        complain(format("the header is {} bytes long, but the file ends after {} of them; is the download complete?",
                        length, bytes.size() - length_bytes));
    std::string text(static_cast<std::size_t>(length), '\0');
    bytes.read(length_bytes, std::as_writable_bytes(std::span(text)));
    const ByteSource data = bytes.part(length_bytes + length, bytes.size() - length_bytes - length);

    const Json tree = parse_json(text, name_ + ": header");
    const JsonFields header(tree, name_);
    std::vector<Extent> extents;
    for (const auto& [key, value] : tree.items()) {
        if (key == "__metadata__") {
            const JsonFields fields = header.object(key);
            for (const auto& [word, meaning] : value.items()) metadata_[word] = fields.text(word);
            continue;
        }
        const JsonFields fields = header.object(key);
        const auto place = entries_.emplace(key, TensorEntry{}).first;
        extents.push_back(read_extent(fields, place->first, data.size()));
        place->second = read_entry(fields, extents.back(), data);
    }
    check_layout(std::move(extents), data.size(), name_);
}

const TensorEntry* SafeTensors::find(std::string_view name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
}

const TensorEntry& SafeTensors::at(std::string_view name) const {
    if (const TensorEntry* entry = find(name)) return *entry;
    throw bad_file_error("{}: no tensor {}", name_, in_quotes(std::string(name)));
}

// ---- a model folder -------------------------------------------------------------------------------------------------

WeightFiles::WeightFiles(const std::string& directory) {
    const std::filesystem::path folder(directory);
    const std::string single = (folder / "model.safetensors").string();
    const std::string index = (folder / "model.safetensors.index.json").string();
    std::error_code ignored;
    if (std::filesystem::exists(single, ignored)) {
        main_file_ = single;
        files_.push_back(std::make_unique<SafeTensors>(single));
        add(*files_.back());
    } else if (std::filesystem::exists(index, ignored)) {
        main_file_ = index;
        read_index(directory);
    } else {
        throw bad_file_error(
            "{}: no weights; wanted model.safetensors, or model.safetensors.index.json with its shards", directory);
    }
}

void WeightFiles::add(const SafeTensors& file) {
    for (const auto& [name, entry] : file.entries()) {
        const auto [place, fresh] = places_.emplace(name, Place{&file, &entry});
        if (!fresh)
            throw bad_file_error("{}: tensor {} is in both {} and {}", main_file_, in_quotes(name),
                                 place->second.file->name(), file.name());
    }
}

void WeightFiles::read_index(const std::string& directory) {
    const Json tree = read_json(main_file_);
    const JsonFields map = JsonFields(tree, main_file_).object("weight_map");
    std::map<std::string, const SafeTensors*> shards;
    for (const auto& [name, value] : map.json().items()) {
        const std::string shard = map.text(name);
        // Only a plain file name, so that an index can neither read outside the folder nor inject terminal control
        // sequences into messages.
        const auto is_odd = [](char c) { return c == '/' || c == '\\' || (c >= 0 && c < ' '); };
        if (shard.empty() || shard == ".." || std::ranges::any_of(shard, is_odd))
            map.fail(name, "the name of a file in the same folder");
        if (shards.contains(shard)) continue;
        const std::string path = (std::filesystem::path(directory) / shard).string();
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored))
            throw bad_file_error("{}: missing; {} wants it for tensor {}", path, main_file_, in_quotes(name));
        files_.push_back(std::make_unique<SafeTensors>(path));
        shards.emplace(shard, files_.back().get());
        add(*files_.back());
    }
    for (const auto& [name, value] : map.json().items()) {
        const std::string shard = map.text(name);
        if (shards.at(shard)->find(name) == nullptr)
            map.fail(name, "a shard that contains the tensor; that file does not");
    }
}

WeightFiles::WeightFiles(std::string file, Entries entries)
    : main_file_(std::move(file)), entries_(std::make_shared<const Entries>(std::move(entries))) {
    for (const auto& [name, entry] : *entries_) places_.emplace(name, Place{nullptr, &entry});
}

const TensorEntry* WeightFiles::find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : found->second.entry;
}

std::vector<std::string> WeightFiles::names() const {
    std::vector<std::string> names;
    names.reserve(places_.size());
    for (const auto& [name, place] : places_) names.push_back(name);
    return names;
}

const std::string& WeightFiles::file_of(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() || found->second.file == nullptr ? main_file_ : found->second.file->name();
}

// ---- writing --------------------------------------------------------------------------------------------------------

namespace {

std::uint64_t size_of(const TensorToWrite& tensor) {
    const unsigned bits = bits_of_dtype(tensor.dtype);
    const bool negative = std::ranges::any_of(tensor.shape, [](std::int64_t size) { return size < 0; });
    const std::optional<std::uint64_t> wanted = bits == 0 || negative ? std::nullopt : bytes_of(tensor.shape, bits);
    if (!wanted)
        throw usage_error("tensor {} cannot be written: it is no {} {}", in_quotes(tensor.name), tensor.dtype,
                          shape_text(tensor.shape));
    return *wanted;
}

void write_data(FileWriter& file, const TensorToWrite& tensor) {
    const std::vector<std::byte> made = tensor.make ? tensor.make() : std::vector<std::byte>();
    const std::span<const std::byte> data = tensor.make ? made : tensor.data;
    if (data.size() != size_of(tensor))
        throw usage_error("tensor {} cannot be written: {} bytes are no {} {}", in_quotes(tensor.name), data.size(),
                          tensor.dtype, shape_text(tensor.shape));
    file.write(data);
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
    std::vector<const TensorToWrite*> order;
    order.reserve(tensors.size());
    for (const TensorToWrite& tensor : tensors) order.push_back(&tensor);
    std::ranges::stable_sort(order, std::greater(),
                             [](const TensorToWrite* tensor) { return bits_of_dtype(tensor->dtype); });
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    auto& entries = header.get_ref<nlohmann::ordered_json::object_t&>();  // [] of it looks at all names before
    if (!metadata.empty()) entries.emplace_back("__metadata__", metadata);
    std::uint64_t size = 0;
    std::set<std::string_view> names{"__metadata__"};
    for (const TensorToWrite* tensor : order) {
        if (!names.insert(tensor->name).second)
            throw usage_error("tensor {} cannot be written: the name occurs twice", in_quotes(tensor->name));
        const std::uint64_t end = size + size_of(*tensor);
        entries.emplace_back(
            tensor->name,
            nlohmann::ordered_json{{"dtype", tensor->dtype}, {"shape", tensor->shape}, {"data_offsets", {size, end}}});
        throw_if_interrupted();
        size = end;
    }
    std::string text = header.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
    text.append((8 - text.size() % 8) % 8, ' ');  // aligns the data to 8 bytes

    std::array<std::byte, length_bytes> length{};
    for (std::size_t i = 0; i < length_bytes; ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i) & 0xFF);
    FileWriter file(path);
    file.write(length);
    file.write(text);
    for (const TensorToWrite* tensor : order) write_data(file, *tensor);
    file.finish();
}

}  // namespace vantage::internal
