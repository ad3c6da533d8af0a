// A whole model folder, which may have adapters: load it on the null device (tests/null_device), draw one token or run
// the encoder, render the chat template. Nothing but errors of the right kind may come of it, and the memory must fit
// the size of the files.
//
// The input is the folder (packed_files.h).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/models/image_processor.h"
#include "runtime/session/model_access.h"
#include "runtime/text/chat_template.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/null_device.h"
#include "tests/fuzz/packed_files.h"
#include "vantage/session.h"

namespace {

using namespace vantage;
using packed_files::File;

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

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return packed_files::mutate(names, data, size, max_size, seed);
}
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                                 const std::uint8_t* data2, std::size_t size2, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
    return packed_files::cross(names, {data1, size1}, {data2, size2}, out, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    const Device& device = null_device();
    const std::vector<File> files = packed_files::unpack(names, data, size);
    packed_files::fill(folder, names, files);
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
