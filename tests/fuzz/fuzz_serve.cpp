// Bodies of requests to `vantage serve`, read for the built-in model on the null device: each is a request within its
// limits, or an error of status 400 that is one line of JSON. The first byte chooses the endpoint.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/serve/attention_answers.h"
#include "runtime/serve/encoder_answers.h"
#include "runtime/serve/request_fields.h"
#include "runtime/serve/text_request.h"
#include "tests/fuzz/null_device.h"
#include "tests/fuzz/require.h"

namespace {

using namespace vantage;

const serve::ServedModel& served() {
    static const serve::ServedModel model(Model::load(null_device(), VANTAGE_ROOT "/assets/models/mini-world"), "",
                                          "chatml", Pooling::mean, {.slots = 1});
    return model;
}

void check_text(const serve::TextRequest& request) {
    const std::int64_t context = served().scheduler.context(), vocab = served().info.vocab;
    require(!request.prompts.empty() && request.choices >= 1 && request.choices <= 16);
    require(request.prompts.size() * static_cast<std::size_t>(request.choices) <= 1024 * 16);
    for (const std::vector<std::int32_t>& prompt : request.prompts) {
        require(!prompt.empty());
        for (const std::int32_t id : prompt) require(id >= 0 && id < vocab);
    }
    require(!request.echo || request.prompt_texts.size() == request.prompts.size());
    require(request.sampling.temperature >= 0 && request.sampling.top_p <= 1 && request.sampling.top_k >= 0);
    require(request.text.max_tokens >= 0 && request.text.stop.size() <= 17 && context > 0);
}

void check_attention(const serve::AttentionRequest& request) {
    require(!request.layers.empty() && request.top >= 0 && request.top <= 64);
    for (const std::int64_t layer : request.layers) require(layer >= 0 && layer < served().info.layers);
    if (request.heads)
        for (const HeadId& head : *request.heads) require(head.head >= 0 && head.head < served().info.heads);
}

void read(std::uint8_t endpoint, const serve::Json& body) {
    switch (endpoint % 5) {
        case 0: return check_text(serve::parse_completion(body, served()));
        case 1: return check_text(serve::parse_chat(body, served()));
        case 2: return check_attention(serve::parse_attention(body, served()));
        case 3: return static_cast<void>(serve::parse_embedding(body, served()));
        default: return static_cast<void>(serve::parse_rerank(body, served()));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static_cast<void>(served());
    if (size == 0) return 0;
    const auto refused = [](const serve::ApiError& error) {
        require(error.status == 400);
        const std::string text = error.json().dump(-1, ' ', false, serve::Json::error_handler_t::replace);
        require(!serve::Json::parse(text)["error"]["message"].get<std::string>().empty());
    };
    try {
        read(data[0], serve::parse_object({reinterpret_cast<const char*>(data) + 1, size - 1}));
    } catch (const serve::ApiError& error) {
        refused(error);
    } catch (const Error& error) {
        refused(serve::ApiError(error));
    }
    return 0;
}
