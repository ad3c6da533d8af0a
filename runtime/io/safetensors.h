// Tensors in files: the safetensors format, and a model folder's weights in one file or in shards.
//
// A file is the length of a header (8 bytes, little endian), the header (JSON: name → dtype, shape, data_offsets), and
// the data, in which tensors lie without gaps. https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/os.h"

namespace vantage {

/// The largest header that is read, as in the format's own library: 100 MB.
inline constexpr std::uint64_t safetensors_max_header = 100'000'000;

/// Bits of an element, 0 for a name that the format does not have. All of its types may lie in a file: "F32", "BF16", …
unsigned bits_of_dtype(std::string_view dtype);

/// One tensor of a file. `data` refers to the file's mapping and need not be aligned to the element.
struct TensorEntry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> data;

    std::int64_t elements() const;
    std::string text() const;  ///< "F32 [3, 768]"
};

class SafeTensors {
public:
    /// Maps a file and checks all of its header; the data is read when it is touched. Throws bad_file, naming the file,
    /// what was found and what was wanted: a header longer than the file or than 100 MB, not JSON, a dtype that does not
    /// exist, sizes that are negative or overflow, a shape and an amount of data that differ, data that overlaps, has
    /// gaps or lies outside the file.
    explicit SafeTensors(const std::string& path);
    /// The same in memory that outlives this object; `name` stands for the file in messages.
    SafeTensors(std::span<const std::byte> bytes, const std::string& name);

    const std::string& name() const { return name_; }
    const std::map<std::string, TensorEntry, std::less<>>& entries() const { return entries_; }
    const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
    /// nullptr when there is none of that name.
    const TensorEntry* find(std::string_view name) const;
    /// Throws bad_file when there is none of that name.
    const TensorEntry& at(std::string_view name) const;
    /// Tells the system that the tensor's bytes are not needed again soon (they were uploaded).
    void release(const TensorEntry& entry) const;

private:
    void read(std::span<const std::byte> bytes);

    std::string name_;
    std::unique_ptr<MappedFile> file_;
    std::map<std::string, TensorEntry, std::less<>> entries_;
    std::map<std::string, std::string, std::less<>> metadata_;
};

/// The weights of a model folder: `model.safetensors`, or the shards that `model.safetensors.index.json` lists.
class WeightFiles {
public:
    /// Throws bad_file: neither is there, a shard is missing, a tensor is not in the shard that the index says.
    explicit WeightFiles(const std::string& directory);

    /// nullptr when there is none of that name.
    const TensorEntry* find(std::string_view name) const;
    /// Throws bad_file when there is none of that name.
    const TensorEntry& at(std::string_view name) const;
    /// All names, in order. Those that an index does not list but a shard holds are among them.
    std::vector<std::string> names() const;
    /// The file that holds a tensor, for messages; the folder's file or index for a name that is nowhere.
    const std::string& file_of(std::string_view name) const;
    /// Tells the system that the tensor's bytes are not needed again soon (they were uploaded).
    void release(std::string_view name) const;

private:
    struct Place {
        const SafeTensors* file;
        const TensorEntry* entry;
    };
    void read_index(const std::string& directory);
    void add(const SafeTensors& file);

    std::string main_file_;
    std::vector<std::unique_ptr<SafeTensors>> files_;
    std::map<std::string, Place, std::less<>> places_;
};

/// A tensor to be written.
struct TensorToWrite {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> data;
};

/// Writes a file, whole or not at all. Tensors of wide elements come first, so that each is aligned to its element.
/// Throws usage for a tensor whose data does not fit its shape or whose name is there twice, bad_file when the file
/// cannot be written.
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace vantage
