// The GGUF format, versions 2 and 3: the metadata and the tensors of a model in one file, little-endian.
//
//   "GGUF", version u32, tensors u64, keys u64;  key: name, type u32, value;
//   tensor: name, dimensions u32, sizes u64 (the fastest first), type u32, offset u64;
//   padding to general.alignment (32), then the data of the tensors in their order, each padded to it
//
// A text is its length u64 and its bytes; an array the type u32 of its elements, their number u64, the elements.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"

namespace vantage::internal {

/// A type of ggml's tensors: some elements in a block of bytes.
struct GgmlType {
    std::uint32_t number;  ///< in files
    const char* name;      ///< "Q4_K"
    std::uint32_t elements, bytes;
};
/// nullptr for a type that no file should have.
const GgmlType* ggml_type(std::string_view name);

class Gguf {
public:
    /// Opens a file and checks its header. The data of tensors is read when it is asked for. Throws bad_file with the
    /// file, what was found and what is expected: another byte order or version, counts and lengths beyond the file,
    /// types that the format does not define, arrays of arrays, names that are empty, long or occur twice, tensors of
    /// more than four dimensions or 2^31 - 1 elements, rows that are no whole blocks, data that does not lie where the
    /// tensors before it end, or outside of the file.
    /// The first of several parts, "NAME-00001-of-00003.gguf", stands for all of them: they lie in the same folder.
    explicit Gguf(const std::string& path);
    /// The same for bytes in memory, which must outlive this object. `name` replaces the file name in messages.
    Gguf(std::span<const std::byte> bytes, const std::string& name);

    const std::string& name() const { return name_; }
    /// An object: the value of each key.
    const Json& metadata() const { return metadata_; }
    /// Shapes with the fastest size last, as in safetensors; the dtype is the name of the type; the data as in the
    /// file.
    const std::map<std::string, TensorEntry, std::less<>>& entries() const { return entries_; }

private:
    Gguf() = default;
    void read(const ByteSource& bytes);
    void read_other_parts(const std::string& path);

    std::string name_;
    Json metadata_ = Json::object();
    std::map<std::string, TensorEntry, std::less<>> entries_;
};

}  // namespace vantage::internal
