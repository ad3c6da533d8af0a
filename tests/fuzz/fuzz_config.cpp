// The readers of config.json, generation_config.json and preprocessor_config.json, all on the same arbitrary bytes.
// They must accept them or throw an error of the right kind. Accepted values must be within the limits that builders
// rely on.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/models/config.h"
#include "runtime/models/image_processor.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/require.h"

namespace {

void check_ends(const vantage::ModelConfig& c) {
    for (const std::int64_t token : c.end_tokens) require(token >= 0);
}

void check_model(const vantage::ModelConfig& c) {
    for (const std::int64_t size : {c.layers, c.width, c.inner, c.context})
        require(size > 0 && size <= std::int64_t{1} << 28);
    const std::vector<std::int64_t> attending = c.attending_layers(vantage::AttentionKind::self);
    for (const std::int64_t layer : attending) require(layer >= 0 && layer < c.layers);
    if (attending.empty()) return check_ends(c);
    for (const std::int64_t size : {c.heads, c.kv_heads, c.head_width})
        require(size > 0 && size <= std::int64_t{1} << 28);
    require(c.is_vision() ? c.vocab == 0 && c.image.places() == c.context
                          : c.vocab > 0 && c.vocab <= std::int64_t{1} << 28);
    require(c.heads % c.kv_heads == 0 && c.head_width <= 256);
    require(c.rotary_width % 2 == 0 && c.rotary_width <= c.head_width && c.experts_per_token <= c.experts);
    require(c.windows.empty() || static_cast<std::int64_t>(c.windows.size()) == c.layers);
    require(c.norm_eps >= 0 && c.rope_theta >= 1 && c.rope_scaling.factor > 0);
    for (const std::int64_t layer : {std::int64_t{0}, c.layers - 1}) {
        const double scale = c.attention(layer).scale.value_or(1);  // without one 1/√head_width
        require(std::isfinite(scale) && scale > 0);
    }
    check_ends(c);
}

void check_generation(const vantage::ModelConfig& c) {
    require(c.temperature >= 0 && c.temperature <= 100 && c.top_p >= 0 && c.top_p <= 1);
    require(c.top_k >= 0 && c.repetition_penalty > 0);
    check_ends(c);
}

/// `unsupported` is for a valid file of a model that this build cannot run.
template <class Read>
void accept_or_complain(const Read& read) {
    try {
        read();
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file || error.kind() == vantage::ErrorKind::unsupported);
        require_message(error);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const HeapMeter meter;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    accept_or_complain([&] { check_model(vantage::parse_model_config(text, "fuzz.json")); });
    accept_or_complain([&] {
        vantage::ModelConfig config;
        vantage::apply_generation_config(config, text, "fuzz.json");
        check_generation(config);
    });
    accept_or_complain([&] {
        const vantage::ImageProcessor p = vantage::parse_image_processor(text, "fuzz.json");
        for (const int side : {p.height, p.width, p.crop_height, p.crop_width}) require(side > 0 && side <= 1 << 13);
        for (const double deviation : p.deviation) require(deviation > 0);
    });
    meter.require_at_most(memory_for(size));
    return 0;
}
