#include "runtime/checkpoint/gguf_model.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "runtime/base/ggml_blocks.h"
#include "runtime/base/quantize.h"
#include "runtime/base/utf8.h"
#include "runtime/checkpoint/gguf_family.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

// ---- tensors --------------------------------------------------------------------------------------------------------

/// Where the file has row r of a folder.
using RowOrder = std::function<std::int64_t(std::int64_t r)>;

/// Of q or k, whose heads of `width` rows have pairs (i, i + width / 2) beside each other in the file.
RowOrder rotary_pairs(std::int64_t width) {
    return [=](std::int64_t r) {
        const std::int64_t in_head = r % width, half = in_head / (width / 2), pair = in_head % (width / 2);
        return r / width * width + 2 * pair + half;
    };
}

/// Of q, k and v, which a folder has for each key head: its queries, the key, the value. The file has all queries, then
/// all keys, then all values.
RowOrder packed_qkv(std::int64_t width, std::int64_t heads, std::int64_t kv_heads) {
    return [=, queries = heads / kv_heads](std::int64_t r) {
        const std::int64_t block = r / width, group = block / (queries + 2), within = block % (queries + 2),
                           in_file = within < queries    ? group * queries + within
                                     : within == queries ? heads + group
                                                         : heads + kv_heads + group;
        return in_file * width + r % width;
    };
}

ByteSource with_rows_moved(const ByteSource& data, std::int64_t rows, RowOrder order) {
    const std::uint64_t row = data.size() / static_cast<std::uint64_t>(rows);
    return ByteSource(data.size(), [=, order = std::move(order)](std::uint64_t first, std::span<std::byte> to) {
        while (!to.empty()) {
            const std::uint64_t r = first / row, within = first % row;
            const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(row - within, to.size()));
            const auto from = static_cast<std::uint64_t>(order(static_cast<std::int64_t>(r)));
            data.read(from * row + within, to.first(some));
            to = to.subspan(some), first += some;
        }
    });
}

/// Numbers of f32, less 1. What is read begins with a whole number.
ByteSource less_one(const ByteSource& data) {
    return ByteSource(data.size(), [=](std::uint64_t first, std::span<std::byte> to) {
        data.read(first, to);
        for (std::size_t i = 0; i + sizeof(float) <= to.size(); i += sizeof(float)) {
            float value = 0;
            std::memcpy(&value, to.data() + i, sizeof(value));
            value -= 1;
            std::memcpy(to.data() + i, &value, sizeof(value));
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

/// What a tensor is called without "blk.N." and ".weight".
std::string_view kind_of(std::string_view name) {
    if (name.starts_with("blk.")) name.remove_prefix(std::min(name.size(), name.find('.', 4) + 1));
    return name.substr(0, name.rfind('.'));
}

/// The tensors of one file under the names of a folder.
class FolderTensors {
public:
    explicit FolderTensors(const Gguf& file) : file_(file), family_(family_of(file)), keys_(file) {}

    std::map<std::string, TensorEntry, std::less<>> all() {
        for (const auto& [name, tensor] : file_.entries()) add(name, tensor);
        return std::move(entries_);
    }

private:
    void add(const std::string& name, const TensorEntry& tensor) {
        if (name == llama_factors || name == short_factors || name == long_factors) return;
        require_readable(file_, name, tensor);
        TensorEntry entry = tensor;
        entry.data = in_order_of_folder(name, entry);
        const std::string named = folder_name(family_, name);
        if (const std::size_t star = named.find(".*."); named != name && star != std::string::npos)
            return add_experts(name, entry, named.substr(0, star + 1), named.substr(star + 2));
        put(name, named, std::move(entry));
    }

    void add_experts(const std::string& name, const TensorEntry& all, const std::string& before,
                     const std::string& behind) {
        const std::int64_t experts = keys_.integer("expert_count");
        if (all.shape.size() != 3 || all.shape[0] != experts || experts > max_experts)
            throw bad_file_error("{}: tensor {} is {}, wanted matrices of {} experts", file_.name(), in_quotes(name),
                                 all.text(), experts);
        constexpr std::uint64_t min_bytes = 64;  // of an expert, so that names take no more memory than weights
        const std::uint64_t bytes = all.data.size() / static_cast<std::uint64_t>(experts);
        if (bytes < min_bytes)
            throw bad_file_error("{}: tensor {} is {}: experts of {} bytes are too small", file_.name(),
                                 in_quotes(name), all.text(), bytes);
        for (std::int64_t e = 0; e < experts; ++e) {
            TensorEntry one = all;
            one.shape.erase(one.shape.begin());
            one.data = all.data.part(static_cast<std::uint64_t>(e) * bytes, bytes);
            put(name, before + std::to_string(e) + behind, std::move(one));
        }
    }

    ByteSource in_order_of_folder(const std::string& name, const TensorEntry& entry) const {
        const std::string_view kind = kind_of(name);
        if (family_.change == GgufChange::gain_is_one_more && kind.ends_with("norm")) {
            if (entry.dtype != "F32")
                throw bad_file_error("{}: tensor {} is {}, wanted F32", file_.name(), in_quotes(name), entry.text());
            return less_one(entry.data);
        }
        if (family_.change == GgufChange::rotary_pairs && (kind == "attn_q" || kind == "attn_k")) {
            const std::int64_t heads = kind == "attn_q" ? keys_.heads() : keys_.kv_heads(),
                               width = rows_of(name, entry) / heads;
            if (width < 2 || width % 2 != 0 || entry.shape[0] % heads != 0)
                throw bad_file_error("{}: tensor {} is {}, whose rows are no pairs of {} heads", file_.name(),
                                     in_quotes(name), entry.text(), heads);
            return with_rows_moved(entry.data, entry.shape[0], rotary_pairs(width));
        }
        if (family_.change == GgufChange::packed_qkv && kind == "attn_qkv") {
            const std::int64_t heads = keys_.heads(), kv_heads = keys_.kv_heads(), all = heads + 2 * kv_heads,
                               rows = rows_of(name, entry);
            if (rows < all || rows % all != 0 || heads % kv_heads != 0)
                throw bad_file_error("{}: tensor {} is {}, whose rows are no {} heads for queries and {} for keys",
                                     file_.name(), in_quotes(name), entry.text(), heads, kv_heads);
            return with_rows_moved(entry.data, rows, packed_qkv(rows / all, heads, kv_heads));
        }
        return entry.data;
    }

    /// Rows that can be moved: of a vector its elements.
    std::int64_t rows_of(const std::string& name, const TensorEntry& entry) const {
        if (entry.shape.empty() || (entry.shape.size() == 1 && ggml_type(entry.dtype)->elements != 1))
            throw bad_file_error("{}: tensor {} is {}, which has no rows", file_.name(), in_quotes(name), entry.text());
        return entry.shape[0];
    }

    void put(const std::string& name, const std::string& folder, TensorEntry entry) {
        if (const DType type = dtype_of(entry, name); is_quantized(type)) {
            const Groups groups(entry.data, type, file_.name() + ": tensor " + in_quotes(name));
            entry.data = ByteSource(groups.size(), groups);
        }
        if (!entries_.emplace(folder, std::move(entry)).second)
            throw bad_file_error("{}: tensor {} is there under two names", file_.name(), in_quotes(name));
    }

    const Gguf& file_;
    const GgufFamily& family_;
    GgufKeys keys_;
    std::map<std::string, TensorEntry, std::less<>> entries_;
};

}  // namespace

bool is_gguf(const std::string& path) {
    std::error_code ignored;
    return path.ends_with(".gguf") && !std::filesystem::is_directory(path, ignored);
}

void refuse_gguf(const std::string& path, const char* what) {
    if (is_gguf(path))
        throw unsupported_error("{}: {} takes a folder of safetensors, not a GGUF file", escape_controls(path), what);
}

WeightFiles gguf_weights(const Gguf& file) { return WeightFiles(file.name(), FolderTensors(file).all()); }

}  // namespace vantage::internal
