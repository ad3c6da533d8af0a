#include "runtime/io/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <ranges>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/utf8.h"

namespace vantage::internal {

namespace {

constexpr std::array<GgmlType, 33> types{
    {{0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
     {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
     {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
     {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
     {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
     {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
     {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
     {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
     {40, "NVFP4", 64, 36}}};

enum Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
/// The smallest size of a value in the file, in bytes.
std::uint64_t min_bytes(std::uint32_t kind) {
    static constexpr std::array<std::uint8_t, 13> all{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
    return all.at(kind);
}

constexpr std::uint64_t max_key = 65535, max_text = std::uint64_t{64} << 20, max_name = 63;  // bytes
constexpr std::uint64_t max_array = 1 << 22;  // elements; vocabularies and their merges have less than a million
constexpr std::uint32_t max_dimensions = 4;
constexpr std::uint64_t max_tensor_elements = std::numeric_limits<std::int32_t>::max();

/// The part before the data, read piece by piece.
class Header {
public:
    using Wide = unsigned long long;  // for messages

    Header(const ByteSource& bytes, const std::string& file) : bytes_(bytes), file_(file) {}

    std::uint64_t at() const { return at_; }
    std::uint64_t left() const { return bytes_.size() - at_; }

    template <class Number>
    Number number(const std::string& what) {
        std::array<std::byte, sizeof(Number)> raw{};
        read(raw, what);
        return std::bit_cast<Number>(raw);
    }
    std::string string(const std::string& what, std::uint64_t longest) {
        const auto length = number<std::uint64_t>(what);
        if (length > longest) fail(what, format("is {} bytes long, wanted at most {}", Wide{length}, Wide{longest}));
        require(length, what);
        std::string value(static_cast<std::size_t>(length), '\0');
        read(std::as_writable_bytes(std::span(value)), what);
        return value;
    }
    /// A number of things that take `least` bytes each.
    std::uint64_t count(const std::string& what, std::uint64_t least) {
        const auto value = number<std::uint64_t>(what);
        if (value > left() / least) fail(what, format("is {}, but {} bytes are left", Wide{value}, Wide{left()}));
        return value;
    }
    [[noreturn]] void fail(const std::string& what, const std::string& why) const {
        throw bad_file_error("{}: {} {}", file_, what, why);
    }

private:
    void require(std::uint64_t size, const std::string& what) const {
        if (size > left()) fail(what, format("ends behind the file's {} bytes", Wide{bytes_.size()}));
    }
    void read(std::span<std::byte> to, const std::string& what) {
        require(to.size(), what);
        for (std::size_t done = 0; done < to.size();) {
            if (at_ < begin_ || at_ >= begin_ + piece_.size()) fetch();
            const auto from = static_cast<std::size_t>(at_ - begin_);
            const std::size_t some = std::min(to.size() - done, piece_.size() - from);
            std::memcpy(to.data() + done, piece_.data() + from, some);
            done += some, at_ += some;
        }
    }
    void fetch() {
        throw_if_interrupted();
        constexpr std::uint64_t size = 1 << 18;
        piece_.resize(static_cast<std::size_t>(std::min(size, left())));
        bytes_.read(begin_ = at_, piece_);
    }

    const ByteSource& bytes_;
    const std::string& file_;
    std::uint64_t at_ = 0, begin_ = 0;
    std::vector<std::byte> piece_;  // from begin_ on
};

Json scalar(Header& header, std::uint32_t kind, const std::string& what) {
    switch (kind) {
        case u8: return header.number<std::uint8_t>(what);
        case i8: return header.number<std::int8_t>(what);
        case u16: return header.number<std::uint16_t>(what);
        case i16: return header.number<std::int16_t>(what);
        case u32: return header.number<std::uint32_t>(what);
        case i32: return header.number<std::int32_t>(what);
        case f32: return header.number<float>(what);
        case boolean: return header.number<std::uint8_t>(what) != 0;
        case text: return repair_utf8(header.string(what, max_text));
        case u64: return header.number<std::uint64_t>(what);
        case i64: return header.number<std::int64_t>(what);
        case f64: return header.number<double>(what);
        default: header.fail(what, format("has type {}, wanted one from 0 to 12", kind));
    }
}

Json value(Header& header, const std::string& what) {
    const auto kind = header.number<std::uint32_t>(what);
    if (kind != array) return scalar(header, kind, what);
    const auto of = header.number<std::uint32_t>(what);
    if (of == array) header.fail(what, "is an array of arrays, wanted one of numbers or texts");
    if (of > f64) header.fail(what, format("has elements of type {}, wanted one from 0 to 12", of));
    const std::uint64_t count = header.count("the number of elements of " + what, min_bytes(of));
    if (count > max_array) header.fail(what, format("has {} elements, wanted at most {}", count, max_array));
    Json::array_t all;
    all.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) all.push_back(scalar(header, of, what));
    return all;
}

std::uint64_t padded(std::uint64_t size, std::uint64_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

void check_beginning(Header& header) {
    if (header.number<std::uint32_t>("the mark \"GGUF\"") != 0x46554747)
        header.fail("the mark \"GGUF\"", "is missing: it is no GGUF file");
    const auto version = header.number<std::uint32_t>("the version");
    if ((version & 0xffffU) == 0 && version != 0)
        header.fail("the version", "is in the other byte order, wanted little-endian");
    if (version != 2 && version != 3) header.fail("the version", format("is {}, wanted 2 or 3", version));
}

Json read_metadata(Header& header, std::uint64_t keys) {
    Json metadata = Json::object();
    for (std::uint64_t i = 0; i < keys; ++i) {
        const std::string key = repair_utf8(header.string(format("key {}", i), max_key));
        if (!metadata.emplace(key, value(header, in_quotes(key))).second) header.fail(in_quotes(key), "occurs twice");
    }
    return metadata;
}

/// A tensor as the header has it: `offset` and `size` are in bytes, from the beginning of the data.
struct Place {
    std::string name;
    TensorEntry entry;
    std::uint64_t offset = 0, size = 0;
};

std::vector<std::int64_t> read_shape(Header& header, const std::string& what) {
    const auto dimensions = header.number<std::uint32_t>(what);
    if (dimensions > max_dimensions)
        header.fail(what, format("has {} dimensions, wanted at most {}", dimensions, max_dimensions));
    std::vector<std::int64_t> shape(dimensions);
    std::uint64_t elements = 1;
    for (std::int64_t& size : std::ranges::reverse_view(shape)) {  // the file has the fastest size first
        const auto read = header.number<std::uint64_t>(what);
        if (read == 0 || read > max_tensor_elements / elements)
            header.fail(what, format("has more elements than {}, or none", max_tensor_elements));
        elements *= read, size = static_cast<std::int64_t>(read);
    }
    return shape;
}

Place read_tensor(Header& header, std::uint64_t i) {
    Place place;
    place.name = repair_utf8(header.string(format("the name of tensor {}", i), max_name));
    const std::string what = "tensor " + in_quotes(place.name);
    if (place.name.empty()) header.fail(what, "has no name");
    place.entry.shape = read_shape(header, what);
    const auto number = header.number<std::uint32_t>(what);
    const auto type = std::ranges::find(types, number, &GgmlType::number);
    if (type == types.end()) header.fail(what, format("has type {}, which is none of ggml's", number));
    place.entry.dtype = type->name;
    if ((place.entry.shape.empty() ? 1 : place.entry.shape.back()) % type->elements != 0)
        header.fail(what, format("is {}, but its rows must be whole blocks of {}", place.entry.text(), type->elements));
    place.size = static_cast<std::uint64_t>(place.entry.elements()) / type->elements * type->bytes;
    place.offset = header.number<std::uint64_t>(what);
    return place;
}

}  // namespace

const GgmlType* ggml_type(std::string_view name) {
    const auto found = std::ranges::find(types, name, &GgmlType::name);
    return found == types.end() ? nullptr : &*found;
}

void Gguf::read(const ByteSource& bytes) {
    Header header(bytes, name_);
    check_beginning(header);
    constexpr std::uint64_t min_tensor = 8 + 1 + 4 + 8 + 4 + 8, min_key = 8 + 1 + 4 + 1;  // bytes
    const std::uint64_t tensors = header.count("the number of tensors", min_tensor),
                        keys = header.count("the number of keys", min_key);
    metadata_ = read_metadata(header, keys);
    const auto alignment = static_cast<std::uint64_t>(
        JsonFields(metadata_, name_).optional_integer("general.alignment", 1, 1 << 16).value_or(32));
    if (!std::has_single_bit(alignment)) header.fail("general.alignment", "is no power of two");

    std::vector<Place> places;
    std::uint64_t end = 0;  // of the tensors so far, padded
    for (std::uint64_t i = 0; i < tensors; ++i) {
        const Place& place = places.emplace_back(read_tensor(header, i));
        if (place.offset != end)
            header.fail("tensor " + in_quotes(place.name),
                        format("begins at byte {} of the data, wanted {}: the end of those before it, padded to {}",
                               Header::Wide{place.offset}, Header::Wide{end}, alignment));
        end = padded(end + place.size, alignment);
    }
    const std::uint64_t data = padded(header.at(), alignment);
    for (Place& place : places) {
        if (data > bytes.size() || place.offset + place.size > bytes.size() - data)
            header.fail("tensor " + in_quotes(place.name), "ends behind the file: is it whole?");
        place.entry.data = bytes.part(data + place.offset, place.size);
        if (!entries_.emplace(place.name, std::move(place.entry)).second)
            header.fail("tensor " + in_quotes(place.name), "occurs twice");
    }
}

namespace {

constexpr std::int64_t max_parts = 99999;
std::int64_t parts_of(const JsonFields& fields) {
    return std::max<std::int64_t>(fields.optional_integer("split.count", 0, max_parts).value_or(1), 1);
}
std::string ending_of_part(std::int64_t part, std::int64_t parts) {
    return format("-{:05}-of-{:05}.gguf", part + 1, parts);
}

}  // namespace

void Gguf::read_other_parts(const std::string& path) {
    const JsonFields fields(metadata_, name_);
    const std::int64_t parts = parts_of(fields);
    if (parts == 1) return;
    const std::int64_t own = fields.integer("split.no", 0, parts - 1);
    const std::string ending = ending_of_part(0, parts);
    if (own != 0 || !path.ends_with(ending))
        throw bad_file_error("{}: it is part {} of {} of a model; wanted the first one, whose name ends with {}", name_,
                             own + 1, parts, ending);
    for (std::int64_t i = 1; i < parts; ++i) {
        const std::string name = path.substr(0, path.size() - ending.size()) + ending_of_part(i, parts);
        Gguf part;
        part.name_ = escape_controls(name);
        part.read(ByteSource(name));
        const JsonFields of_part(part.metadata_, part.name_);
        if (parts_of(of_part) != parts || of_part.integer("split.no", 0, parts - 1) != i)
            throw bad_file_error("{}: it is no part {} of {}, as its name says", part.name_, i + 1, parts);
        for (auto& [tensor, entry] : part.entries_)
            if (!entries_.emplace(tensor, std::move(entry)).second)
                throw bad_file_error("{}: tensor {} is in a part before this one, too", part.name_, in_quotes(tensor));
    }
    const auto wanted = fields.optional_integer("split.tensors.count", 0, std::int64_t{1} << 31);
    if (wanted && *wanted != std::ssize(entries_))
        throw bad_file_error("{}: all {} parts have {} tensors, wanted {}", name_, parts, std::ssize(entries_),
                             *wanted);
}

Gguf::Gguf(const std::string& path) : name_(escape_controls(path)) {
    read(ByteSource(path));
    read_other_parts(path);
}
Gguf::Gguf(std::span<const std::byte> bytes, const std::string& name) : name_(escape_controls(name)) {
    read(ByteSource(bytes));
    if (parts_of(JsonFields(metadata_, name_)) > 1)
        throw unsupported_error("{}: it is one of several parts, which are read from files only", name_);
}

}  // namespace vantage::internal
