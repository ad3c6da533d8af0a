#include "runtime/checkpoint/prune_heads.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/gguf_model.h"
#include "runtime/models/architecture.h"
#include "runtime/models/head_projections.h"
#include "runtime/models/model_builder.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

/// Features [first, first + count) of a tensor's axis.
struct Features {
    std::int64_t first, count;
    bool operator<(const Features& other) const { return first < other.first; }
    bool operator==(const Features&) const = default;
};

/// What happens to a tensor of the checkpoint.
struct Change {
    int axis = 0;
    bool remove = false;  ///< or set to 0
    std::set<Features> features = {};
};
using Changes = std::map<std::string, Change>;

struct Bytes {
    std::vector<std::int64_t> shape;
    std::vector<std::byte> data;
};

/// A tensor of one or two axes, changed.
Bytes changed(const TensorEntry& entry, const Change& change) {
    const bool columns = change.axis == 1;
    const std::int64_t rows = columns ? entry.shape[0] : 1, features = at(entry.shape, change.axis);
    const auto whole = static_cast<std::int64_t>(entry.data.size()), each = whole / (rows * features);
    std::vector<bool> hit(static_cast<std::size_t>(features));
    for (const Features& some : change.features)
        for (std::int64_t f = some.first; f < some.first + some.count; ++f) at(hit, f) = true;
    Bytes result{.shape = entry.shape, .data = {}};
    if (change.remove) at(result.shape, change.axis) -= std::ranges::count(hit, true);
    const std::vector<std::byte> bytes = entry.data.all();
    for (std::int64_t i = 0; i < rows * features; ++i) {
        const bool gone = at(hit, i % features);
        if (gone && change.remove) continue;
        if (gone)
            result.data.insert(result.data.end(), static_cast<std::size_t>(each), std::byte());
        else
            result.data.insert(result.data.end(), bytes.begin() + i * each, bytes.begin() + (i + 1) * each);
    }
    return result;
}

/// Which heads of a layer are kept, as the layers of a smaller model need it.
struct KeptHeads {
    std::int64_t key_heads = 0, group = 0;  ///< left in each layer; query heads of each key head
    bool operator==(const KeptHeads&) const = default;
};

class Pruning {
public:
    Pruning(const std::string& from, std::span<const HeadId> heads)
        : from_(from),
          heads_(heads.begin(), heads.end()),
          config_(parse_model_config(read_file(file("config.json"), 16 << 20), file("config.json"))),
          checkpoint_(from, config_) {
        config_.absent = checkpoint_.absent();
        check_heads();
        if (const std::optional<KeptHeads> kept = kept_heads()) {
            kept_ = *kept;
            remove_features();
        } else {
            clear_outputs();
        }
    }

    PrunedModel write(const std::string& to) const;

private:
    std::string file(const char* name) const { return (fs::path(from_) / name).string(); }
    std::int64_t heads_of(AttentionKind kind) const;
    bool is_pruned(const HeadId& head) const { return std::ranges::find(heads_, head) != heads_.end(); }
    void check_heads() const;
    std::optional<KeptHeads> kept_in(std::int64_t layer) const;
    std::optional<KeptHeads> kept_heads() const;
    Graph graph_of(AttentionKind kind) const;
    void add(const Graph& graph, const HeadMatrix& matrix, const HeadId& head, bool remove);
    void remove_features();
    void clear_outputs();
    std::string config_text() const;
    std::string index_text(std::uint64_t total_bytes) const;

    std::string from_;
    std::vector<HeadId> heads_;
    ModelConfig config_;
    Checkpoint checkpoint_;
    KeptHeads kept_;  ///< of a smaller model; else 0
    Changes changes_;
    std::map<std::string, std::pair<AttentionKind, std::int64_t>> layer_of_;  ///< by tensor
};

std::int64_t Pruning::heads_of(AttentionKind kind) const {
    return kind == AttentionKind::encoder ? config_.encoder.heads : config_.heads;
}

void Pruning::check_heads() const {
    if (heads_.empty()) throw usage_error("prune: no heads are to be removed");
    for (const HeadId& head : heads_) {
        const std::vector<std::int64_t> layers = config_.attending_layers(head.kind);
        const std::int64_t count = heads_of(head.kind);
        if (std::ranges::binary_search(layers, head.layer) && head.head >= 0 && head.head < count) continue;
        const bool hybrid = !config_.attending.empty();
        throw usage_error(
            "prune: head {} is not there: {} has {} layers of {} heads{}{}", name_of(head), from_, layers.size(), count,
            head.kind == AttentionKind::self ? "" : " of this kind",
            hybrid ? ": " + join(layers, ", ", [](std::int64_t layer) { return std::to_string(layer); }) : "");
    }
}

/// Nothing where query heads of a key head would be left in different numbers.
std::optional<KeptHeads> Pruning::kept_in(std::int64_t layer) const {
    const std::int64_t group = config_.heads / config_.kv_heads;
    KeptHeads kept;
    for (std::int64_t key_head = 0; key_head < config_.kv_heads; ++key_head) {
        std::int64_t left = 0;
        for (std::int64_t i = 0; i < group; ++i) left += is_pruned({layer, key_head * group + i}) ? 0 : 1;
        if (left == 0) continue;
        if (kept.group != 0 && kept.group != left) return std::nullopt;
        kept.group = left, ++kept.key_heads;
    }
    return kept.key_heads > 0 ? std::optional(kept) : std::nullopt;
}

/// What every layer of a smaller model has; nothing where there is no such model.
std::optional<KeptHeads> Pruning::kept_heads() const {
    // config.json has head_dim, and q, k and v have matrices of their own
    static const std::set<std::string> resizable{"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma2"};
    if (!resizable.contains(config_.architecture)) return std::nullopt;
    const std::optional<KeptHeads> first = kept_in(0);
    for (std::int64_t layer = 1; layer < config_.layers; ++layer)
        if (kept_in(layer) != first) return std::nullopt;
    // transformers refuses other numbers for some architectures, though head_dim says the width
    return first && config_.width % (first->key_heads * first->group) == 0 ? first : std::nullopt;
}

Graph Pruning::graph_of(AttentionKind kind) const {
    const BuildOptions shape{
        .rows = 1,
        .context = std::min<std::int64_t>(config_.context, 16),
        .encoder = kind == AttentionKind::encoder,
        .global_tokens = config_.own.has("global_tokens") ? std::optional<std::int64_t>(0) : std::nullopt};
    return build_model(config_, shape, [&](const std::string& name) { return checkpoint_.dtype(name); });
}

void Pruning::add(const Graph& graph, const HeadMatrix& matrix, const HeadId& head, bool remove) {
    const std::string weight = graph.value(graph.storage(matrix.weight)).name, tensor = checkpoint_.name_of(weight);
    const std::pair place{head.kind, head.layer};
    if (layer_of_.try_emplace(tensor, place).first->second != place)
        throw unsupported_error("prune: layers of {} share {}, so that their heads cannot be removed one by one", from_,
                                tensor);
    const Features features{at(matrix.first, head.head), matrix.head_width};
    const auto note = [&](const std::string& name, int axis) {
        Change& change = changes_[name];
        change.axis = axis, change.remove = remove;
        change.features.insert(features);
    };
    note(tensor, matrix.features_first ? 0 : 1);
    const std::string bias = weight.substr(0, weight.rfind('.')) + ".bias";
    const std::string bias_tensor = checkpoint_.name_of(bias);
    const bool makes_features = remove && matrix.features_first;
    if (makes_features && checkpoint_.files().find(bias_tensor) != nullptr) note(bias_tensor, 0);
}

void Pruning::remove_features() {
    const Graph graph = graph_of(AttentionKind::self);
    const std::int64_t group = config_.heads / config_.kv_heads;
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
        const HeadProjections matrices = head_projections(graph, layer, AttentionKind::self);
        std::vector<std::int64_t> left(static_cast<std::size_t>(config_.kv_heads));  // query heads of each key head
        for (std::int64_t head = 0; head < config_.heads; ++head) {
            const HeadId place{layer, head};
            left[static_cast<std::size_t>(head / group)] += is_pruned(place) ? 0 : 1;
            if (is_pruned(place)) add(graph, matrices.q, place, true), add(graph, matrices.o, place, true);
            if ((head + 1) % group != 0 || at(left, head / group) > 0) continue;
            add(graph, matrices.k, place, true), add(graph, matrices.v, place, true);
        }
    }
}

void Pruning::clear_outputs() {
    std::map<bool, Graph> graphs;  // of the decoder, and of the encoder of an encoder–decoder
    for (const HeadId& head : heads_) {
        const bool encoder = head.kind == AttentionKind::encoder;
        if (!graphs.contains(encoder)) graphs.emplace(encoder, graph_of(head.kind));
        const Graph& graph = graphs.at(encoder);
        add(graph, output_projection(graph, head.layer, head.kind), head, false);
    }
}

std::string Pruning::config_text() const {
    if (kept_.key_heads == 0) return read_file(file("config.json"), 16 << 20);
    auto json = parse_json<OrderedJson>(read_file(file("config.json"), 16 << 20), file("config.json"));
    json["num_attention_heads"] = kept_.key_heads * kept_.group;
    json["num_key_value_heads"] = kept_.key_heads;
    json["head_dim"] = config_.head_width;
    std::string text;  // a line for each field; indented all the way down, a small file could become a large one
    for (const auto& [key, value] : json.items())
        text += (text.empty() ? "{\n  " : ",\n  ") + Json(key).dump() + ": " + value.dump();
    return text + "\n}\n";
}

/// model.safetensors.index.json. It is made anew: transformers ignores what else an older one says.
std::string Pruning::index_text(std::uint64_t total_bytes) const {
    Json json{{"metadata", {{"total_size", total_bytes}}}, {"weight_map", Json::object()}};
    for (const auto& shard : checkpoint_.files().files())
        for (const auto& [name, entry] : shard->entries())
            json["weight_map"][name] = fs::path(shard->name()).filename().string();
    return json.dump(2) + "\n";
}

PrunedModel Pruning::write(const std::string& to) const {
    FolderWriter folder(to);
    PrunedModel result{.smaller = kept_.key_heads > 0};
    std::uint64_t total_bytes = 0;
    for (const auto& file : checkpoint_.files().files()) {
        std::map<std::string, Bytes> all;
        for (const auto& [name, entry] : file->entries()) {
            throw_if_interrupted();
            if (!is_ignored_tensor(config_, name)) require_finite(entry, file->name() + ": " + name);
            const auto change = changes_.find(name);
            all[name] =
                change == changes_.end() ? Bytes{entry.shape, entry.data.all()} : changed(entry, change->second);
            const auto elements = static_cast<std::uint64_t>(entry.elements());
            result.parameters_before += elements;
            result.parameters_after += elements * all[name].data.size() / std::max<std::uint64_t>(entry.data.size(), 1);
            total_bytes += all[name].data.size();
        }
        std::vector<TensorToWrite> tensors;
        for (const auto& [name, entry] : file->entries())
            tensors.push_back({name, entry.dtype, all[name].shape, all[name].data});
        write_safetensors(folder.file(fs::path(file->name()).filename().string()), tensors,
                          {file->metadata().begin(), file->metadata().end()});
    }
    if (fs::path(checkpoint_.files().files().front()->name()).filename() != "model.safetensors")  // shards
        write_file(folder.file("model.safetensors.index.json"), index_text(total_bytes));
    write_file(folder.file("config.json"), config_text());
    copy_beside_weights(from_, folder, {"config.json", "model.safetensors.index.json"});
    folder.finish();
    return result;
}

}  // namespace

PrunedModel prune_heads(const std::string& from, const std::string& to, std::span<const HeadId> heads) {
    refuse_gguf(from, "pruning");
    return Pruning(from, heads).write(to);
}

}  // namespace vantage::internal
