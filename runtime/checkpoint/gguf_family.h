// The architectures that are read from GGUF files: what a model folder calls their tensors and keys, and what
// llama.cpp's converter (convert_hf_to_gguf.py) changes on the way into a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/io/gguf.h"

namespace vantage::internal {

/// The metadata of an architecture: "llama.block_count".
class GgufKeys {
public:
    explicit GgufKeys(const Gguf& file);
    const Gguf& file() const { return file_; }
    const JsonFields& fields() const { return fields_; }  ///< all of the file
    std::string name(const char* key) const { return prefix_ + key; }
    bool has(const char* key) const { return fields_.has(name(key)); }
    std::int64_t integer(const char* key) const { return fields_.integer(name(key), 0); }
    std::optional<std::int64_t> optional_integer(const char* key) const {
        return fields_.optional_integer(name(key), 0);
    }
    std::optional<double> optional_number(const char* key) const { return fields_.optional_number(name(key), 0, 1e12); }
    std::optional<std::string> optional_text(const char* key) const { return fields_.optional_text(name(key)); }
    std::optional<bool> optional_flag(const char* key) const { return fields_.optional_flag(name(key)); }
    /// Whether there is a tensor of this name.
    bool has_tensor(const std::string& name) const { return file_.entries().contains(name); }

    std::int64_t heads() const;     ///< 1 to max_heads
    std::int64_t kv_heads() const;  ///< 1 to max_heads
    std::int64_t head_width() const;
    /// The numbers of a tensor of f32 in one dimension. Throws bad_file if it is none.
    std::vector<double> numbers(const std::string& tensor) const;

private:
    const Gguf& file_;
    JsonFields fields_;
    std::string prefix_;
};

/// Tensors with the factors of rotary positions, which config.json has.
inline constexpr const char *llama_factors = "rope_freqs.weight", *short_factors = "rope_factors_short.weight",
                            *long_factors = "rope_factors_long.weight";

struct GgufName {
    const char *gguf, *folder;
};

/// What the converter changes, for a file to be as a folder.
enum class GgufChange : std::uint8_t {
    none,
    rotary_pairs,      ///< rows of q and k are in the order of interleaved rotary pairs
    packed_qkv,        ///< the folder has the rows of q, k and v head by head, the file one after the other
    gain_is_one_more,  ///< a norm's weights are 1 + those of the folder
};

struct GgufFamily {
    const char* name;                     ///< "general.architecture"
    const char* model_type;               ///< in config.json
    const char* layer;                    ///< what a folder puts before a layer's number: "model.layers."
    std::span<const GgufName> outside;    ///< of layers
    std::span<const GgufName> attention;  ///< behind "blk.N.", of the attention and its norms
    std::span<const GgufName> mlp;        ///< behind "blk.N.", of the rest
    /// Puts what only this architecture has into config.json.
    void (*config)(const GgufKeys&, Json& config);
    GgufChange change = GgufChange::none;
    /// A key that its `config` reads. In files of other architectures it must have the value that changes no number.
    const char* reads = "";
};

/// The one of a file. Throws unsupported for one that is not read.
const GgufFamily& family_of(const Gguf& file);
/// The name in a folder of a tensor; its own where it has none there.
std::string folder_name(const GgufFamily& family, const std::string& name);

}  // namespace vantage::internal
