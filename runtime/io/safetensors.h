// The safetensors format: single files, and the weights of a model folder in one file or in shards.
//
// A file consists of the length of the header (8 bytes, little-endian), the header (JSON: name → dtype, shape,
// data_offsets) and the data of the tensors, without gaps. https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/files.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// Maximum header size, as in the reference library: 100 MB.
inline constexpr std::uint64_t safetensors_max_header = 100'000'000;

/// Bits per element of a dtype such as "F32" or "BF16", 0 if the format does not define it.
unsigned bits_of_dtype(std::string_view dtype);

/// One tensor of a file.
struct TensorEntry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    ByteSource data;

    std::int64_t elements() const;
    std::string text() const;  ///< "F32 [3, 768]"
};

/// What files call a type: "F16", "Q4_K".
std::string file_dtype(DType type);
/// Its type where weights may have it. Throws bad_file for others than F32, F16 and BF16, and the quantized
/// types of GGUF, with `what` in front: "model.safetensors: wte.weight".
DType dtype_of(const TensorEntry& entry, const std::string& what);
/// Throws bad_file where a value is not finite, as for a model that is run. -inf is a value of biases, such as logits'.
void require_finite(const TensorEntry& entry, const std::string& name);

class SafeTensors {
public:
    /// Opens a file and checks its header. The data is read when it is asked for. Throws bad_file with the file, what
    /// was found and what is expected: a header longer than the file or than 100 MB, invalid JSON, an unknown dtype,
    /// negative or overflowing sizes, data that does not match its shape, overlaps, leaves gaps or lies outside the
    /// file.
    explicit SafeTensors(const std::string& path);
    /// The same for bytes in memory, which must outlive this object. `name` replaces the file name in messages.
    SafeTensors(std::span<const std::byte> bytes, const std::string& name);

    const std::string& name() const { return name_; }
    const std::map<std::string, TensorEntry, std::less<>>& entries() const { return entries_; }
    const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
    /// nullptr if there is no such tensor.
    const TensorEntry* find(std::string_view name) const;
    /// Throws bad_file if there is no such tensor.
    const TensorEntry& at(std::string_view name) const;

private:
    void read(const ByteSource& bytes);

    std::string name_;
    std::map<std::string, TensorEntry, std::less<>> entries_;
    std::map<std::string, std::string, std::less<>> metadata_;
};

/// The weights of a model: of a folder `model.safetensors`, or the shards that `model.safetensors.index.json` lists.
class WeightFiles {
public:
    /// Throws bad_file if neither exists, a shard is missing, or a tensor is not in the shard that the index names.
    explicit WeightFiles(const std::string& directory);
    /// Tensors of one file in another format.
    using Entries = std::map<std::string, TensorEntry, std::less<>>;
    WeightFiles(std::string file, Entries entries);

    const std::vector<std::unique_ptr<SafeTensors>>& files() const { return files_; }
    /// nullptr if there is no such tensor.
    const TensorEntry* find(std::string_view name) const;
    /// All names, sorted. Includes tensors that are in a shard but not in the index.
    std::vector<std::string> names() const;
    /// The file that contains a tensor, for messages. For an unknown name: the single file, or the index.
    const std::string& file_of(std::string_view name) const;

private:
    struct Place {
        const SafeTensors* file;  ///< null: the main file
        const TensorEntry* entry;
    };
    void read_index(const std::string& directory);
    void add(const SafeTensors& file);

    std::string main_file_;
    std::vector<std::unique_ptr<SafeTensors>> files_;
    std::shared_ptr<const Entries> entries_;  // of another format
    std::map<std::string, Place, std::less<>> places_;
};

/// A tensor to write.
struct TensorToWrite {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> data = {};
    /// Makes the bytes when they are written, in place of `data`, so that few tensors are in memory at once.
    std::function<std::vector<std::byte>()> make = {};
};

/// Writes a file atomically. Tensors with wide elements come first, so that each is aligned to its element size. Throws
/// usage if the data does not match the shape or a name occurs twice, bad_file if the file cannot be written.
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace vantage::internal
