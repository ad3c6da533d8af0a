#include "runtime/checkpoint/gguf_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "runtime/base/at.h"
#include "runtime/base/ggml_blocks.h"
#include "runtime/base/quantize.h"
#include "runtime/base/utf8.h"

namespace vantage::internal {

namespace {

// ---- architectures --------------------------------------------------------------------------------------------------

struct Rename {
    const char *gguf, *folder;
};

/// An architecture, which a folder calls the same.
struct Family {
    const char* name;
    bool interleaved;  ///< rows of q and k are in the order of interleaved rotary pairs
};
constexpr std::array families{Family{"llama", true}, Family{"qwen2", false}, Family{"qwen3", false}};

// What a folder calls tensors. Those of a layer follow "blk.N." and "model.layers.N.".
constexpr std::array outside{Rename{"token_embd", "model.embed_tokens"}, Rename{"output_norm", "model.norm"},
                             Rename{"output", "lm_head"}};
constexpr std::array in_layers{
    Rename{"attn_norm", "input_layernorm"},    Rename{"attn_q", "self_attn.q_proj"},
    Rename{"attn_k", "self_attn.k_proj"},      Rename{"attn_v", "self_attn.v_proj"},
    Rename{"attn_output", "self_attn.o_proj"}, Rename{"attn_q_norm", "self_attn.q_norm"},
    Rename{"attn_k_norm", "self_attn.k_norm"}, Rename{"ffn_norm", "post_attention_layernorm"},
    Rename{"ffn_gate", "mlp.gate_proj"},       Rename{"ffn_up", "mlp.up_proj"},
    Rename{"ffn_down", "mlp.down_proj"}};

const Family& family_of(const Gguf& file) {
    const std::string name = JsonFields(file.metadata(), file.name()).text("general.architecture");
    for (const Family& one : families)
        if (name == one.name) return one;
    throw unsupported_error("{}: the architecture {} is not read from GGUF yet, only {}; use a folder of safetensors",
                            file.name(), in_quotes(name),
                            join(families, ", ", [](const Family& one) { return std::string(one.name); }));
}

std::string renamed(const auto& table, const std::string& name) {
    const std::size_t dot = name.rfind('.');  // before "weight" or "bias"
    if (dot != std::string::npos)
        for (const Rename& one : table)
            if (name.compare(0, dot, one.gguf) == 0) return one.folder + name.substr(dot);
    return {};
}

/// The name in a folder of a tensor; its own where it has none there.
std::string folder_name(const std::string& name) {
    std::string found;
    if (name.starts_with("blk.")) {
        const std::size_t dot = name.find('.', 4);
        if (dot != std::string::npos) found = renamed(in_layers, name.substr(dot + 1));
        if (!found.empty()) found = "model.layers." + name.substr(4, dot - 4) + "." + found;
    } else {
        found = renamed(outside, name);
    }
    return found.empty() ? name : found;
}

// ---- config.json ----------------------------------------------------------------------------------------------------

/// The keys of an architecture: "llama.block_count".
class Keys {
public:
    Keys(const JsonFields& fields, std::string prefix) : fields_(fields), prefix_(std::move(prefix) + ".") {}
    std::int64_t integer(const char* key) const { return fields_.integer(prefix_ + key, 0); }
    std::optional<std::int64_t> optional_integer(const char* key) const {
        return fields_.optional_integer(prefix_ + key, 0);
    }
    std::optional<double> optional_number(const char* key) const {
        return fields_.optional_number(prefix_ + key, 0, 1e12);
    }
    std::optional<std::string> optional_text(const char* key) const { return fields_.optional_text(prefix_ + key); }
    std::string name(const char* key) const { return prefix_ + key; }

private:
    const JsonFields& fields_;
    std::string prefix_;
};

Json end_tokens(const JsonFields& fields) {
    std::vector<std::int64_t> ends;
    for (const char* key : {"eos", "eot", "eom"})
        if (const auto id =
                fields.optional_integer(format("tokenizer.ggml.{}_token_id", key), 0, std::int64_t{1} << 32))
            if (std::ranges::find(ends, *id) == ends.end()) ends.push_back(*id);
    return ends;
}

void refuse(const Gguf& file, const Keys& keys) {
    const auto no = [&](const std::string& what) {
        throw unsupported_error("{}: {} is not read from GGUF yet; use a folder of safetensors", file.name(), what);
    };
    if (JsonFields(file.metadata(), file.name()).optional_integer("split.count", 0, 1 << 16).value_or(1) > 1)
        throw unsupported_error("{}: a model in several parts is not read yet; join them with llama-gguf-split --merge",
                                file.name());
    constexpr std::int64_t quantization_version = 2;  // of ggml's blocks, since 2023
    if (const auto version = JsonFields(file.metadata(), file.name())
                                 .optional_integer("general.quantization_version", 0, std::int64_t{1} << 32);
        version.value_or(quantization_version) != quantization_version)
        no(format("general.quantization_version {}", *version));
    if (keys.optional_integer("expert_count").value_or(0) > 0) no("a mixture of experts");
    const std::string scaling = keys.optional_text("rope.scaling.type").value_or("none");
    if (scaling != "none") no(keys.name("rope.scaling.type") + " " + in_quotes(scaling));
    if (keys.optional_number("rope.scaling.factor").value_or(1) != 1) no(keys.name("rope.scaling.factor"));
    const std::int64_t heads = std::max<std::int64_t>(keys.integer("attention.head_count"), 1),
                       wanted = keys.integer("embedding_length") / heads,
                       width = keys.optional_integer("attention.key_length").value_or(wanted);
    if (keys.optional_integer("rope.dimension_count").value_or(width) != width)
        no(keys.name("rope.dimension_count") + " that is not the width of a head");
    if (keys.optional_number("rope.scale_linear").value_or(1) != 1) no(keys.name("rope.scale_linear"));
    if (file.entries().contains("rope_freqs.weight")) no("\"rope_freqs.weight\", the scaling of Llama 3's positions,");
}

// ---- tensors --------------------------------------------------------------------------------------------------------

/// Row r of a folder's q or k is this one of the file, whose heads of `width` rows have pairs (i, i + width / 2) beside
/// each other.
std::int64_t row_in_file(std::int64_t r, std::int64_t width) {
    const std::int64_t in_head = r % width, half = in_head / (width / 2), pair = in_head % (width / 2);
    return r / width * width + 2 * pair + half;
}

ByteSource with_rows_moved(const ByteSource& data, std::int64_t rows, std::int64_t head_width) {
    const std::uint64_t row = data.size() / static_cast<std::uint64_t>(rows);
    return ByteSource(data.size(), [=](std::uint64_t first, std::span<std::byte> to) {
        while (!to.empty()) {
            const std::uint64_t r = first / row, within = first % row;
            const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(row - within, to.size()));
            const auto from = static_cast<std::uint64_t>(row_in_file(static_cast<std::int64_t>(r), head_width));
            data.read(from * row + within, to.first(some));
            to = to.subspan(some), first += some;
        }
    });
}

/// Blocks as groups, with the bits moved to where kernels find them. A last group is filled up with zeros.
class Groups {
public:
    Groups(ByteSource blocks, DType type, std::string name)
        : blocks_(std::move(blocks)), type_(type), name_(std::move(name)) {}

    std::uint64_t size() const { return (blocks_.size() + group_ - 1) / group_ * group_; }
    void operator()(std::uint64_t first, std::span<std::byte> to) const {
        constexpr std::uint64_t groups_each = 1024;
        std::vector<std::byte> raw, made;
        while (!to.empty()) {
            const std::uint64_t begin = first / group_ * group_, skip = first - begin,
                                count = std::min(groups_each, (skip + to.size() + group_ - 1) / group_),
                                there = std::min(count * group_, blocks_.size() - begin);
            raw.assign(static_cast<std::size_t>(count * group_), std::byte{0});
            blocks_.read(begin, std::span(raw).first(static_cast<std::size_t>(there)));
            require_finite_scales(raw);
            made.resize(raw.size());
            for (std::size_t g = 0; g < made.size(); g += group_) regroup(type_, raw.data() + g, made.data() + g);
            const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), made.size() - skip));
            std::memcpy(to.data(), made.data() + skip, some);
            to = to.subspan(some), first += some;
        }
    }

private:
    void require_finite_scales(std::span<const std::byte> blocks) const {
        const std::size_t size = block_bytes(type_);
        for (const std::uint8_t place : scale_places(type_))
            for (std::size_t at = place; at < blocks.size(); at += size) {
                std::uint16_t scale = 0;
                std::memcpy(&scale, blocks.data() + at, sizeof(scale));
                if ((scale & 0x7c00U) == 0x7c00U)
                    throw bad_file_error("{}: a scale is not finite; is the file damaged?", name_);
            }
    }

    ByteSource blocks_;
    DType type_;
    std::uint64_t group_ = info(type_).bytes;
    std::string name_;
};

void require_readable(const Gguf& file, const std::string& name, const TensorEntry& entry) {
    if (std::ranges::find(weight_dtypes, entry.dtype, file_dtype) == weight_dtypes.end())
        throw unsupported_error("{}: tensor {} is {}, which is not read yet; wanted {}", file.name(), in_quotes(name),
                                entry.dtype, join(weight_dtypes, ", ", file_dtype));
}

}  // namespace

bool is_gguf(const std::string& path) {
    std::error_code ignored;
    return path.ends_with(".gguf") && !std::filesystem::is_directory(path, ignored);
}

void refuse_gguf(const std::string& path, const char* what) {
    if (is_gguf(path))
        throw unsupported_error("{}: {} takes a folder of safetensors, not a GGUF file", escape_controls(path), what);
}

std::string gguf_config_json(const Gguf& file) {
    const Family& family = family_of(file);
    const JsonFields fields(file.metadata(), file.name());
    const Keys keys(fields, family.name);
    refuse(file, keys);
    const std::int64_t heads = keys.integer("attention.head_count");
    const auto embedding = file.entries().find("token_embd.weight");
    if (embedding == file.entries().end() || embedding->second.shape.size() != 2)
        throw bad_file_error("{}: there is no matrix \"token_embd.weight\"", file.name());
    Json config = {{"model_type", family.name},
                   {"vocab_size", embedding->second.shape[0]},
                   {"hidden_size", keys.integer("embedding_length")},
                   {"intermediate_size", keys.integer("feed_forward_length")},
                   {"num_hidden_layers", keys.integer("block_count")},
                   {"num_attention_heads", heads},
                   {"num_key_value_heads", keys.optional_integer("attention.head_count_kv").value_or(heads)},
                   {"max_position_embeddings", keys.integer("context_length")},
                   {"rope_theta", keys.optional_number("rope.freq_base").value_or(10000)},
                   {"hidden_act", "silu"},
                   {"tie_word_embeddings", !file.entries().contains("output.weight")},
                   {"eos_token_id", end_tokens(fields)}};
    if (const auto eps = keys.optional_number("attention.layer_norm_rms_epsilon")) config["rms_norm_eps"] = *eps;
    if (const auto width = keys.optional_integer("attention.key_length")) config["head_dim"] = *width;
    if (family.name == std::string("llama") && file.entries().contains("blk.0.attn_q.bias"))
        config["attention_bias"] = true;
    return config.dump();
}

WeightFiles gguf_weights(const Gguf& file) {
    const Family& family = family_of(file);
    const JsonFields fields(file.metadata(), file.name());
    const Keys keys(fields, family.name);
    const std::int64_t heads = std::max<std::int64_t>(keys.integer("attention.head_count"), 1),
                       key_heads =
                           std::max<std::int64_t>(keys.optional_integer("attention.head_count_kv").value_or(heads), 1);
    std::map<std::string, TensorEntry, std::less<>> entries;
    for (const auto& [name, tensor] : file.entries()) {
        require_readable(file, name, tensor);
        TensorEntry entry = tensor;
        const bool q = name.find(".attn_q.") != std::string::npos, k = name.find(".attn_k.") != std::string::npos;
        if (family.interleaved && (q || k) && !entry.shape.empty()) {
            const std::int64_t width = entry.shape[0] / (q ? heads : key_heads);
            const bool whole_rows = entry.shape.size() > 1 || ggml_type(entry.dtype)->elements == 1;
            if (width < 2 || width % 2 != 0 || entry.shape[0] % width != 0 || !whole_rows)
                throw bad_file_error("{}: tensor {} is {}, whose rows are no pairs of {} heads", file.name(),
                                     in_quotes(name), entry.text(), q ? heads : key_heads);
            entry.data = with_rows_moved(entry.data, entry.shape[0], width);
        }
        if (const DType type = dtype_of(entry, name); is_quantized(type)) {
            const Groups groups(entry.data, type, file.name() + ": " + name);
            entry.data = ByteSource(groups.size(), groups);
        }
        if (!entries.emplace(folder_name(name), std::move(entry)).second)
            throw bad_file_error("{}: tensor {} is there under two names", file.name(), in_quotes(name));
    }
    return WeightFiles(file.name(), std::move(entries));
}

}  // namespace vantage::internal
