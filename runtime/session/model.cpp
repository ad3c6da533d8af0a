#include "vantage/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/base/program.h"
#include "runtime/base/trace_span.h"
#include "runtime/base/utf8.h"
#include "runtime/checkpoint/adapter_files.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/gguf_model.h"
#include "runtime/checkpoint/gguf_tokenizer.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/upload_weight.h"
#include "runtime/gpu/device_state.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"
#include "runtime/models/weight_storage.h"
#include "runtime/session/model_access.h"
#include "runtime/session/random_weights.h"
#include "vantage/op.h"

namespace vantage {

namespace {

// A weight and the memory that is to hold it.
struct Upload {
    Value value;
    gpu::Buffer to;
    bool minus_infinity;  ///< may be in it
};

// Part by part, so that the host holds little at a time.
void upload(const Checkpoint& checkpoint, gpu::DeviceState& device, const std::vector<Upload>& uploads,
            const std::stop_token& stop) {
    const TraceSpan span("upload weights");
    for (const auto& [value, to, minus_infinity] : uploads) {
        const std::vector<std::string> parts = tensors_of(value);
        std::uint64_t offset = 0;
        for (const std::string& part : parts) {
            throw_if_interrupted();
            if (stop.stop_requested()) return;
            upload_weight(device, to, offset, value.type, checkpoint.dtype(part), value.transposed,
                          checkpoint.entry(part).data, checkpoint.place_of(part), minus_infinity);
            offset += value.type.bytes() / parts.size();
        }
    }
}

std::string path_in(const std::string& directory, const char* file) {
    return (std::filesystem::path(directory) / file).string();
}
bool exists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

}  // namespace

const std::vector<std::int64_t>& ModelInfo::layers_of(AttentionKind kind) const { return at(attending, kind); }

bool ModelInfo::attends(std::int64_t layer, AttentionKind kind) const {
    return std::ranges::binary_search(layers_of(kind), layer);
}

std::int64_t ModelInfo::heads_of(AttentionKind kind) const {
    if (!attends(kind)) return 0;
    return kind == AttentionKind::encoder ? encoder_heads : heads;
}

void internal::require_attention(const ModelInfo& info, const std::string& what) {
    if (std::ranges::all_of(info.attending, &std::vector<std::int64_t>::empty))
        throw usage_error(
            "{}: {} has no attention; its layers are recurrent. run, chat, bench model, explain and "
            "inspect take it",
            what, described(info));
}

std::string internal::attending_text(const ModelInfo& info, AttentionKind kind) {
    const std::vector<std::int64_t>& layers = info.layers_of(kind);
    const bool all = kind != AttentionKind::self || std::ssize(layers) == info.layers;
    if (all) return format("layers 0 … {}", std::ssize(layers) - 1);
    return "attention in layers " + join(layers, ", ", [](std::int64_t layer) { return std::to_string(layer); });
}

struct Model::State {
    Device device;
    ModelConfig config;
    ModelInfo info;
    std::optional<Tokenizer> tokenizer;
    std::map<std::string, DType> types;  // of the weights, by their names in graphs
    std::shared_ptr<Bindings> weights = std::make_shared<Bindings>();

    explicit State(const Device& d) : device(d) {}
    std::vector<Value> wanted_weights(const Graph::WeightTypes& types_of, const LoadOptions& options) const;
    void require_room(const std::vector<Value>& wanted, const std::string& name) const;
    gpu::Buffer add_weight(const Value& value);
    static std::shared_ptr<State> load(const Device& device, const std::string& directory, const LoadOptions& options,
                                       const std::optional<LoraOptions>& lora);
    void read_folder(const std::string& directory, const LoadOptions& options);
    void read_gguf(const Gguf& file);
    void load_weights(const std::string& directory, WeightFiles files, const LoadOptions& options);
    void draw_weights(DType type, std::uint64_t seed, const std::string& name);
    std::vector<Value> weights_in_f32() const {
        return wanted_weights([](const std::string&) { return DType::f32; }, {});
    }
    void describe();
};

// The weights of the model's graph; of an encoder–decoder those of both, the shared ones once.
std::vector<Value> Model::State::wanted_weights(const Graph::WeightTypes& types_of, const LoadOptions& options) const {
    std::vector<Value> wanted;
    std::set<std::string> names;
    const auto add = [&](bool encoder) {
        const BuildOptions shape{.rows = 1, .context = std::min<std::int64_t>(config.context, 16), .encoder = encoder};
        Graph graph = build_model(config, shape, types_of);
        transpose_weights(graph);
        std::vector<std::string> left;
        if (options.weights) left = store_matrices(graph, config, *options.weights);
        for (const Value& value : graph.values())
            if (value.kind == ValueKind::weight && names.insert(value.name).second) wanted.push_back(value);
        if (!left.empty())
            fall_back(left.front() + (left.size() > 1 ? format("; {} others stay, too", left.size() - 1) : ""));
    };
    add(false);
    if (config.kind == ModelKind::encoder_decoder) add(true);
    return wanted;
}

void Model::State::require_room(const std::vector<Value>& wanted, const std::string& name) const {
    std::uint64_t total = 0;
    for (const Value& value : wanted) total += value.type.bytes();
    if (const std::uint64_t available = device.memory_available(); total > available)
        throw Error(
            ErrorKind::out_of_memory,
            format("{}: the weights take {:.1f} MiB of device memory, but {:.1f} MiB are available on {}", name,
                   static_cast<double>(total) / 0x1p20, static_cast<double>(available) / 0x1p20, device.caps().name));
}

// Memory for a weight, which the model then has.
gpu::Buffer Model::State::add_weight(const Value& value) {
    const gpu::Buffer buffer = gpu::allocate(device.state(), value.type.bytes(), gpu::MemoryKind::device, value.name);
    for (const std::string& part : tensors_of(value)) types[part] = value.type.dtype;
    weights->buffers[value.name] = buffer;
    info.parameters += static_cast<std::uint64_t>(value.type.shape.elements());
    info.weight_bytes += value.type.bytes();
    return buffer;
}

void Model::State::load_weights(const std::string& directory, WeightFiles files, const LoadOptions& options) {
    const TraceSpan span("read checkpoint");
    const auto checkpoint = std::make_shared<const Checkpoint>(std::move(files), config, options.lora);
    config.absent = checkpoint->absent();
    if (config.own.has(pair_scale)) config.own.set(pair_scale, checkpoint->number(pair_scale));
    const std::vector<Value> wanted =
        wanted_weights([&](const std::string& name) { return checkpoint->dtype(name); }, options);
    const auto is_read = [&](const Value& value) { return checkpoint->has_adapters() || !is_adapter(value.name); };
    std::set<std::string> used;
    for (const Value& value : wanted) {
        if (!is_read(value)) continue;
        checkpoint->check_shape(value);
        for (const std::string& part : tensors_of(value)) used.insert(checkpoint->name_of(part));
    }
    checkpoint->check_surplus(used);
    require_room(wanted, directory);
    std::vector<Upload> uploads;
    for (const Value& value : wanted)
        if (const gpu::Buffer to = add_weight(value); is_read(value))
            uploads.push_back({value, to, is_bias_of_logits(config, value)});
    weights->pending_upload = std::make_shared<const Background>(
        [checkpoint, uploads = std::move(uploads), on = device](const std::stop_token& stop) {
            upload(*checkpoint, on.state(), uploads, stop);
        });
}

void Model::State::draw_weights(DType type, std::uint64_t seed, const std::string& name) {
    const TraceSpan span("draw weights");
    const std::vector<Value> wanted = wanted_weights([](const std::string&) { return DType::f32; }, {.weights = type});
    require_room(wanted, name);
    RandomWeights random(device.state(), seed);
    for (const Value& value : wanted) {
        throw_if_interrupted();
        random.fill(add_weight(value), value);
    }
}

// What the config and the weights say.
void Model::State::describe() {
    info.architecture = config.architecture;
    info.layers = config.layers, info.width = config.width, info.heads = config.heads, info.kv_heads = config.kv_heads;
    info.head_width = config.head_width, info.inner = config.inner, info.vocab = config.vocab,
    info.context = config.context;
    for (const AttentionKind kind : {AttentionKind::self, AttentionKind::encoder, AttentionKind::cross})
        at(info.attending, kind) = config.attending_layers(kind);
    info.encoder_layers = config.encoder.layers, info.encoder_heads = config.encoder.heads;
    if (config.own.has(pair_scale)) info.pair_scale = std::exp(config.own.number(pair_scale));
    std::set<std::string> names;
    for (const auto& [name, type] : types) names.insert(name_of(type));
    info.weight_types = join(names, " ");
}

void Model::State::read_folder(const std::string& directory, const LoadOptions& options) {
    const std::string file = path_in(directory, "config.json"),
                      generation = path_in(directory, "generation_config.json"),
                      words = path_in(directory, "tokenizer.json");
    config = parse_model_config(read_file(file, 16 << 20), file, options.tower);
    if (exists(generation)) apply_generation_config(config, read_file(generation, 16 << 20), generation);
    if (exists(words)) tokenizer = timed("read tokenizer", [&] { return Tokenizer::load(words); });
}

void Model::State::read_gguf(const Gguf& file) {
    config = parse_model_config(gguf_config_json(file), file.name());
    if (const std::string json = gguf_generation_json(file); !json.empty())
        apply_generation_config(config, json, file.name());
    const TraceSpan span("read tokenizer");
    if (const std::string json = gguf_tokenizer_json(file); !json.empty())
        tokenizer = Tokenizer::parse(json, file.name());
}

std::shared_ptr<Model::State> Model::State::load(const Device& device, const std::string& directory,
                                                 const LoadOptions& options, const std::optional<LoraOptions>& lora) {
    if (options.weights && !is_float(*options.weights) && !is_quantized(*options.weights))
        throw usage_error(std::string("weights in ") + name_of(*options.weights) +
                          ": they may be f32, f16, bf16 or quantized");
    if (!exists(directory))
        throw bad_file_error(directory + ": no such folder, wanted a model folder with config.json, or a .gguf file");
    auto state = std::make_shared<State>(device);
    std::optional<Gguf> gguf;
    if (is_gguf(directory))
        state->read_gguf(gguf.emplace(directory));
    else
        state->read_folder(directory, options);
    state->config.lora = options.lora.empty() ? lora : read_adapter_config(options.lora);
    try {
        state->load_weights(directory, gguf ? gguf_weights(*gguf) : WeightFiles(directory), options);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;  // by the graph: sizes that no tensor can have
        const std::string text = error.what(), place = text_of(error.where());
        throw bad_file_error("{}: {}", gguf ? directory : path_in(directory, "config.json"),
                             text.starts_with(place) ? text.substr(place.size()) : text);
    }
    const std::filesystem::path path = std::filesystem::path(directory).lexically_normal();
    state->info.directory = directory;
    state->info.name =
        escape_controls((path.has_filename() ? path.filename() : path.parent_path().filename()).string());
    state->describe();
    return state;
}

Model Model::load(const Device& device, const std::string& directory, const LoadOptions& options) {
    return Model(State::load(device, directory, options, {}));
}

Model Model::random(const Device& device, const std::string& name, const std::string& config, DType type,
                    std::uint64_t seed) {
    auto state = std::make_shared<State>(device);
    state->config = parse_model_config(config, name);
    state->draw_weights(type, seed, name);
    state->info.name = name;
    state->describe();
    return Model(std::move(state));
}

struct internal::ModelAccess {
    static const std::shared_ptr<Model::State>& state(const Model& model) { return model.state_; }
    static Model load(const Device& device, const std::string& directory, const LoadOptions& options,
                      const LoraOptions& lora) {
        return Model(Model::State::load(device, directory, options, lora));
    }
    static void set_weights(Model::State& state, const WeightValues& values) {
        for (const Value& value : state.weights_in_f32()) {
            throw_if_interrupted();
            Value declared = value;
            if (value.transposed) std::swap(declared.type.shape[-2], declared.type.shape[-1]);
            const std::vector<float> numbers = values(declared);
            upload_weight(state.device.state(), state.weights->buffers.at(value.name), 0, value.type, DType::f32,
                          value.transposed, std::as_bytes(std::span(numbers)));
        }
    }
    static Model make(const Device& device, const ModelConfig& config, const std::optional<Tokenizer>& tokenizer,
                      const std::string& name, const WeightValues& values) {
        auto state = std::make_shared<Model::State>(device);
        state->config = config, state->tokenizer = tokenizer, state->info.name = name;
        const std::vector<Value> wanted = state->weights_in_f32();
        state->require_room(wanted, name);
        for (const Value& value : wanted) state->add_weight(value);
        set_weights(*state, values);
        state->describe();
        return Model(std::move(state));
    }
};

Model internal::model_with_adapters(const Device& device, const std::string& directory, const LoadOptions& options,
                                    const LoraOptions& lora) {
    return ModelAccess::load(device, directory, options, lora);
}

Model internal::model_of(const Device& device, const ModelConfig& config, const std::optional<Tokenizer>& tokenizer,
                         const std::string& name, const WeightValues& values) {
    return ModelAccess::make(device, config, tokenizer, name, values);
}

void internal::set_weights(const Model& model, const WeightValues& values) {
    ModelAccess::set_weights(*ModelAccess::state(model), values);
}

Model Model::built_in(const Device& device) { return load(device, path_in(asset_directory(), "models/mini-world")); }

const ModelInfo& Model::info() const { return state_->info; }
bool Model::has_tokenizer() const { return state_->tokenizer.has_value(); }
const Tokenizer& Model::tokenizer() const {
    if (state_->config.is_vision()) throw usage_error(described(state_->info) + " looks at images: it reads no text");
    if (!state_->tokenizer)
        throw bad_file_error((is_gguf(state_->info.directory)
                                  ? state_->info.directory + ": there is no tokenizer in it"
                                  : path_in(state_->info.directory, "tokenizer.json") + ": no such file") +
                             "; without it this model takes ids only");
    return *state_->tokenizer;
}
const Device& Model::device() const { return state_->device; }

const ModelConfig& internal::config_of(const Model& model) { return ModelAccess::state(model)->config; }
Graph::WeightTypes internal::weight_types_of(const Model& model) {
    return [state = ModelAccess::state(model)](const std::string& name) { return state->types.at(name); };
}
Graph internal::graph_of(const Model& model, const BuildOptions& options) {
    return build_model(config_of(model), options, weight_types_of(model));
}
const std::shared_ptr<Bindings>& internal::weights_of(const Model& model) { return ModelAccess::state(model)->weights; }

std::string asset_directory() {
    if (const std::optional<std::string> models = find_asset("models"))
        return std::filesystem::path(*models).parent_path().string();
    throw bad_file_error(
        "the folder of Vantage's models and tables was not found near the program; set VANTAGE_ASSETS to it "
        "(share/vantage of the installation)");
}

}  // namespace vantage
