// The GGUF reader on arbitrary bytes. In accepted files all data must be inside the file and have the size of its shape;
// what they become of a model folder must be read as the folder's files are.
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/checkpoint/gguf_model.h"
#include "runtime/checkpoint/gguf_tokenizer.h"
#include "runtime/models/config.h"
#include "runtime/text/chat_template.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/require.h"
#include "vantage/tokenizer.h"

namespace {

void check(const vantage::internal::Gguf& file, std::span<const std::byte> bytes) {
    std::size_t total = 0;
    for (const auto& [name, entry] : file.entries()) {
        const vantage::internal::GgmlType* const type = vantage::internal::ggml_type(entry.dtype);
        require(type != nullptr);
        require(static_cast<std::uint64_t>(entry.elements()) / type->elements * type->bytes == entry.data.size());
        require(entry.data.all().size() == entry.data.size());  // the sanitizer sees what is read
        total += entry.data.size();
    }
    require(total + 24 <= bytes.size());
}

void check_model(const vantage::internal::Gguf& file) {
    const vantage::internal::WeightFiles weights = gguf_weights(file);
    for (const std::string& name : weights.names()) require(!weights.find(name)->data.all().empty());
    vantage::internal::ModelConfig config = vantage::internal::parse_model_config(gguf_config_json(file), "fuzz.gguf");
    if (const std::string json = gguf_generation_json(file); !json.empty())
        apply_generation_config(config, json, "fuzz.gguf");
    if (const std::string json = gguf_tokenizer_json(file); !json.empty())
        static_cast<void>(vantage::Tokenizer::parse(json, "fuzz.gguf").encode("Mia found a key."));
    static_cast<void>(vantage::text::parse_chat_format(gguf_tokenizer_config(file), "fuzz.gguf"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const HeapMeter meter;
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    try {
        const vantage::internal::Gguf file(bytes, "fuzz.gguf");
        check(file, bytes);
        check_model(file);
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file || error.kind() == vantage::ErrorKind::unsupported);
        require_message(error);
    }
    meter.require_at_most(memory_for(size, 40) + (std::size_t{128} << 20));
    return 0;
}
