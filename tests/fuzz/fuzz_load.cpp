// A whole model folder, which may have adapters: load it on the null device (tests/null_device), draw one token or run
// the encoder, render the chat template. Nothing but errors of the right kind may come of it, and the memory must fit
// the size of the files.
//
// The input is the folder: a byte with the number of files, and for each of them a byte with its name (the index in
// `names`, modulo their number), its length in 4 bytes (little-endian), and its content. The last file of a name
// counts. What is cut off is missing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/models/image_processor.h"
#include "runtime/session/model_access.h"
#include "runtime/text/chat_template.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/heap_meter.h"
#include "vantage/log.h"
#include "vantage/session.h"

/// libFuzzer's own mutation. Weak, because programs that only replay inputs do not have it.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t max_size);

namespace {

using namespace vantage;
using Random = std::minstd_rand;

// ---- the input -----------------------------------------------------------------------------------------------------

constexpr std::array<const char*, 12> names{"config.json",
                                            "generation_config.json",
                                            "tokenizer.json",
                                            "tokenizer_config.json",
                                            "chat_template.jinja",
                                            "preprocessor_config.json",
                                            "model.safetensors",
                                            "model.safetensors.index.json",
                                            "model-00001-of-00002.safetensors",
                                            "model-00002-of-00002.safetensors",
                                            "adapter_config.json",
                                            "adapter_model.safetensors"};

struct File {
    std::size_t name = 0;
    std::string bytes;
    bool is(std::string_view end) const { return std::string_view(names[name]).ends_with(end); }
};

std::vector<File> unpack(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    const auto take = [&](std::size_t count) {
        const std::string_view taken = rest.substr(0, count);
        rest.remove_prefix(taken.size());
        return taken;
    };
    const auto number = [&](std::size_t bytes) {
        std::size_t value = 0, shift = 0;
        for (const char byte : take(bytes)) {
            value |= std::size_t{static_cast<std::uint8_t>(byte)} << shift;
            shift += 8;
        }
        return value;
    };
    std::vector<File> files(std::min<std::size_t>(number(1), 32));
    for (File& file : files) {
        file.name = number(1) % names.size();
        file.bytes = take(number(4));
    }
    return files;
}

std::string pack(const std::vector<File>& files) {
    std::string packed(1, static_cast<char>(files.size()));
    for (const File& file : files) {
        packed += static_cast<char>(file.name);
        for (int shift = 0; shift < 32; shift += 8) packed += static_cast<char>(file.bytes.size() >> shift);
        packed += file.bytes;
    }
    return packed;
}

// ---- the run -------------------------------------------------------------------------------------------------------

void set_environment() {
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) ::setenv(name, VANTAGE_NULL_DEVICE, 1);
    ::setenv("NULL_DEVICE_MEMORY", "67108864", 1);
    for (const char* name : {"HOME", "XDG_CACHE_HOME", "VANTAGE_CACHE_DIR", "VANTAGE_DEVICE", "VANTAGE_GUARD"})
        ::setenv(name, "", 1);  // no cache of pipelines
}

void fill(const Folder& folder, const std::vector<File>& files) {
    for (const char* name : names) std::remove(folder.path(name).c_str());
    for (const File& entry : files) folder.write(names[entry.name], entry.bytes);
}

/// Runs a step, which may throw errors of these kinds. FUZZ_VERBOSE shows them.
void allowed(std::initializer_list<ErrorKind> kinds, const std::function<void()>& step) {
    try {
        step();
    } catch (const Error& error) {
        if (std::ranges::count(kinds, error.kind()) == 0) {
            std::fprintf(stderr, "not allowed here: %s\n", error.what());
            std::abort();
        }
        require_message(error);
        if (std::getenv("FUZZ_VERBOSE") != nullptr) std::fprintf(stderr, "%s\n", error.what());
    }
}

void render_chat(const std::string& folder) {
    const text::ChatFormat format = text::read_chat_format(folder);
    if (!format.chat_template) return;
    text::jinja::OrderedJson variables = format.tokens;
    variables["messages"] = {{{"role", "user"}, {"content", "Hi"}}};
    variables["add_generation_prompt"] = true;
    static_cast<void>(format.chat_template->render(variables, 0, {.steps = 20'000}));
}

std::vector<std::int32_t> prompt_of(const Model& model) {
    std::vector<std::int32_t> ids{1, 2};
    if (model.has_tokenizer()) ids = model.tokenizer().encode("Hi, a<s> bc").ids;
    return ids;
}

/// A small picture, prepared as preprocessor_config.json says.
std::vector<float> pixels_of(const internal::ModelConfig& config, const std::string& folder) {
    const std::string file = folder + "/preprocessor_config.json";
    const auto processor = internal::parse_image_processor(internal::read_file(file, 1 << 20), file);
    const internal::Image image(5, 5, {});
    return processor.pixel_values(processor.framed(image, config.image), config.image);
}

/// One token; of an encoder its outputs.
void run_session(const Model& model, const std::string& folder) {
    const internal::ModelConfig& config = internal::config_of(model);
    constexpr std::int64_t most_pixels = 1 << 16;
    if (config.sees() && config.image.pixels() > most_pixels) return;
    Session session(model, {.max_context = 128});
    if (config.sees()) session.set_image(pixels_of(config, folder));
    if (config.is_vision()) return session.run();
    if (config.sees()) {
        session.run();  // it has its image
    } else if (config.kind == internal::ModelKind::encoder_decoder) {
        session.set_source(prompt_of(model));
    } else {
        session.append(prompt_of(model));
        if (config.kind == internal::ModelKind::encoder) return session.run();
    }
    if (const auto token = session.next(); token && model.has_tokenizer())
        static_cast<void>(model.tokenizer().decode(std::array{*token}, false));
}

/// Bytes of the host that a folder may take while it is used.
std::size_t memory_limit(const std::vector<File>& files) {
    std::size_t limit = std::size_t{64} << 20;
    bool chats = false;
    for (const File& file : files) {
        limit += (file.is("tokenizer.json") ? 40 : 10) * file.bytes.size();
        chats = chats || file.is("chat_template.jinja") || file.is("tokenizer_config.json");
    }
    return limit + (chats ? std::size_t{128} << 20 : 0);
}

// ---- the mutations -------------------------------------------------------------------------------------------------

std::size_t below(Random& random, std::size_t end) { return random() % end; }

Json extreme(Random& random, const Json& old) {
    const double value = old.is_number() ? old.get<double>() : 0;
    const std::array<Json, 22> values{0,         1,     2,   3,         -1,        7,        8,          63,
                                      64,        65,    127, 255,       65536,     1 << 28,  2147483647, 4294967296,
                                      INT64_MAX, 1e308, 0.1, value + 1, value / 2, value * 2};
    const Json chosen = values[below(random, values.size())];
    const bool whole = old.is_number_integer() && chosen.is_number_float() && std::abs(chosen.get<double>()) < 1e15;
    return whole ? Json(chosen.get<std::int64_t>()) : chosen;
}

void collect(Json& node, std::vector<Json*>& all) {
    all.push_back(&node);
    if (!node.is_structured()) return;
    for (Json& child : node) collect(child, all);
}

void mutate_member(Json& node, const Json& other, Random& random) {
    if (!node.is_structured() || node.empty()) {
        node = other;
        return;
    }
    auto at = node.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(random, node.size())));
    switch (below(random, 4)) {
        case 0: node.erase(at); break;
        case 1: *at = other; break;
        case 2: {
            const Json copy = *at;
            if (node.is_array()) {
                node.push_back(copy);
            } else {
                node[at.key() + "2"] = copy;
            }
            break;
        }
        default: std::swap(*at, *node.begin()); break;
    }
}

/// The text of a tree with one change. Empty if the text is not JSON.
std::string mutated_json(const std::string& text, Random& random) {
    Json tree;
    try {
        tree = internal::parse_json(text, "input");
    } catch (const Error&) {
        return "";
    }
    std::vector<Json*> nodes, numbers;
    collect(tree, nodes);
    std::ranges::copy_if(nodes, std::back_inserter(numbers), [](const Json* node) { return node->is_number(); });
    Json& node = *nodes[below(random, nodes.size())];
    const Json other = *nodes[below(random, nodes.size())];
    constexpr std::array<std::size_t, 4> depths{1, 2, 90, 300};
    std::size_t depth = 0;
    switch (below(random, 8)) {
        case 0:
        case 1:
        case 2:
            if (!numbers.empty()) {
                Json& number = *numbers[below(random, numbers.size())];
                number = extreme(random, number);
                break;
            }
            [[fallthrough]];
        case 3: node = extreme(random, node); break;
        case 4: node = other; break;
        case 5: depth = depths[below(random, depths.size())]; break;
        default: mutate_member(node, other, random); break;
    }
    if (depth != 0) node = "\x01";
    std::string changed = tree.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (depth != 0) changed.replace(changed.find("\"\\u0001\""), 8, std::string(depth, '[') + std::string(depth, ']'));
    if (changed.starts_with('{') && !tree.empty() && below(random, 16) == 0)  // a key twice
        changed.insert(1, Json(tree.begin().key()).dump() + ":" + other.dump() + ",");
    return changed;
}

void mutate_bytes(std::string& bytes, std::size_t most) {
    const std::size_t size = bytes.size();
    bytes.resize(std::max(most, size));
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
}

/// A .safetensors file: 8 bytes with the size of the header, the header, the data.
void mutate_tensors(std::string& bytes, std::size_t most, Random& random) {
    std::uint64_t size = 0;
    if (bytes.size() >= 8) std::memcpy(&size, bytes.data(), 8);
    if (bytes.size() < 8 || size > bytes.size() - 8) return mutate_bytes(bytes, most);
    std::string header = bytes.substr(8, size), data = bytes.substr(8 + size);
    switch (below(random, 8)) {
        case 0: return mutate_bytes(bytes, most);
        case 1: mutate_bytes(header, header.size() + 64); break;
        case 2: data.resize(below(random, 2 * data.size() + 2)); break;
        default:
            if (std::string changed = mutated_json(header, random); !changed.empty()) header = std::move(changed);
    }
    size = below(random, 16) == 0 ? size + below(random, 17) - 8 : header.size();
    bytes = std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

void mutate_file(File& file, std::size_t most, Random& random) {
    if (file.is(".safetensors")) return mutate_tensors(file.bytes, most, random);
    std::string changed = file.is(".json") && below(random, 4) != 0 ? mutated_json(file.bytes, random) : "";
    if (changed.empty())
        mutate_bytes(file.bytes, most);
    else
        file.bytes = std::move(changed);
}

std::size_t store(const std::vector<File>& files, std::uint8_t* data, std::size_t size, std::size_t max_size) {
    const std::string packed = pack(files);
    if (packed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, packed.data(), packed.size());
    return packed.size();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    Random random(seed);
    std::vector<File> files = unpack(data, size);
    if (files.empty()) return LLVMFuzzerMutate(data, size, max_size);
    File& chosen = files[below(random, files.size())];
    if (below(random, 32) == 0)
        chosen.name = below(random, names.size());
    else if (below(random, 64) == 0)
        std::swap(chosen, files.back()), files.pop_back();
    else
        mutate_file(chosen, max_size - std::min(max_size, size) + chosen.bytes.size(), random);
    return store(files, data, size, max_size);
}

/// The first folder with one file of the second.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                                 const std::uint8_t* data2, std::size_t size2, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
    Random random(seed);
    std::vector<File> files = unpack(data1, size1);
    const std::vector<File> others = unpack(data2, size2);
    if (!others.empty()) {
        const File& other = others[below(random, others.size())];
        std::erase_if(files, [&](const File& file) { return file.name == other.name; });
        files.push_back(other);
    }
    const std::string packed = pack(files);
    if (packed.size() > max_size) return 0;
    std::memcpy(out, packed.data(), packed.size());
    return packed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    static const Device device = [] {
        set_environment();
        set_log([](LogLevel, const std::string&) {});
        return Device::open();
    }();
    const std::vector<File> files = unpack(data, size);
    fill(folder, files);
    const HeapMeter meter;
    using enum ErrorKind;
    allowed({bad_file, unsupported, usage}, [&] { render_chat(folder.path()); });
    allowed({bad_file, unsupported, out_of_memory}, [&] {
        const bool adapted =
            std::ranges::any_of(files, [](const File& file) { return file.is("adapter_config.json"); });
        const Model model = Model::load(device, folder.path(), {.lora = adapted ? folder.path() : ""});
        allowed({bad_file, unsupported, out_of_memory, usage, accuracy}, [&] { run_session(model, folder.path()); });
    });
    meter.require_at_most(memory_limit(files));
    return 0;
}
