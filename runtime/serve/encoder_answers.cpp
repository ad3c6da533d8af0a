#include "runtime/serve/encoder_answers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/base/format.h"
#include "runtime/models/config.h"
#include "runtime/serve/request_fields.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::serve {

using namespace internal;

namespace {

constexpr std::size_t max_inputs = 2048;

std::string base64(std::span<const float> values) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t padding = (3 - values.size_bytes() % 3) % 3;
    std::vector<unsigned char> bytes(values.size_bytes() + padding);
    std::memcpy(bytes.data(), values.data(), values.size_bytes());
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const unsigned word = unsigned{bytes[i]} << 16 | unsigned{bytes[i + 1]} << 8 | unsigned{bytes[i + 2]};
        for (const unsigned shift : {18u, 12u, 6u, 0u}) text += digits[word >> shift & 63u];
    }
    text.replace(text.size() - padding, padding, padding, '=');
    return text;
}

void require_encoder(const ServedModel& model, bool suits, const std::string& what) {
    if (!model.is_encoder() || !suits) throw ApiError(400, format("{} {}", described(model.info), what));
}

Json usage_of(std::int64_t tokens) { return {{"prompt_tokens", tokens}, {"total_tokens", tokens}}; }

}  // namespace

EncoderSession& EncoderSession::on(const Model& model) {
    if (!model_ || &model_->device().state() != &model.device().state()) {
        forget();
        model_ = model;
    }
    return *this;
}

void EncoderSession::forget() {
    session_.reset();
    model_.reset();
}

Session& EncoderSession::run(std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    if (!session_ || session_->context() < std::ssize(ids)) {
        constexpr std::int64_t smallest = 8;
        session_.reset();
        SessionOptions options = options_;
        options.context =
            std::min(model_->info().context, std::max(static_cast<std::int64_t>(std::bit_ceil(ids.size())), smallest));
        session_.emplace(*model_, options);
    }
    session_->restart();
    session_->append(ids, types);
    session_->run();
    return *session_;
}

EmbeddingRequest parse_embedding(const Json& body, const ServedModel& model) {
    require_encoder(model, true, "is no encoder: it makes no embeddings");
    RequestFields fields(body);
    fields.at("model");
    EmbeddingRequest request;
    const Json& input = fields.at("input");
    const std::string wanted = format("a text, a list of token ids, or a list of at most {} of either", max_inputs);
    const auto add = [&](const Json& one) {
        if (one.is_string())
            request.inputs.push_back(model.encoded(one.get_ref<const std::string&>(), true));
        else if (one.is_array())
            request.inputs.push_back(token_ids(one, "input"));
        else
            RequestFields::wrong("input", input, wanted);
        if (request.inputs.back().empty()) throw ApiError(400, "\"input\": a text has no tokens", "input");
    };
    if (input.is_string() || (input.is_array() && !input.empty() && input[0].is_number()))
        add(input);
    else if (input.is_array() && !input.empty() && input.size() <= max_inputs)
        for (const Json& one : input) add(one);
    else
        RequestFields::wrong("input", input, wanted);
    const std::string format_of = fields.text("encoding_format").value_or("float");
    if (format_of != "float" && format_of != "base64")
        RequestFields::wrong("encoding_format", format_of, "float or base64");
    request.base64 = format_of == "base64";
    request.dimensions = fields.integer("dimensions", 1, INT32_MAX).value_or(0);
    request.ignored = fields.unknown();
    return request;
}

Json embedding_answer(const EmbeddingRequest& request, EncoderSession& encoder, const std::string& name,
                      Pooling pooling) {
    Json data = Json::array();
    std::int64_t tokens = 0;
    for (const std::vector<std::int32_t>& ids : request.inputs) {
        tokens += std::ssize(ids);
        std::vector<float> vector = embedding(encoder.run(ids), {.pooling = pooling, .normalise = true}).vector();
        if (request.dimensions > std::ssize(vector))
            throw ApiError(400, format("\"dimensions\" is {}, but {} has {}", request.dimensions, name, vector.size()),
                           "dimensions");
        if (request.dimensions > 0) {
            vector.resize(static_cast<std::size_t>(request.dimensions));
            const double length = std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
            for (float& x : vector) x = length > 0 ? static_cast<float>(x / length) : x;
        }
        data.push_back({{"object", "embedding"},
                        {"index", data.size()},
                        {"embedding", request.base64 ? Json(base64(vector)) : Json(vector)}});
    }
    return {{"object", "list"}, {"data", std::move(data)}, {"model", name}, {"usage", usage_of(tokens)}};
}

RerankRequest parse_rerank(const Json& body, const ServedModel& model) {
    const ModelConfig& config = model.config;
    require_encoder(model, config.head == Head::classification && config.labels.size() == 1,
                    "is no classifier of pairs with one output, so it cannot rerank");
    RequestFields fields(body);
    fields.at("model");
    RerankRequest request;
    const std::optional<std::string> query = fields.text("query");
    if (!query) throw ApiError(400, "\"query\" is missing", "query");
    const Json& documents = fields.has("documents") ? fields.at("documents") : fields.at("texts");
    if (!documents.is_array() || documents.empty() || documents.size() > max_inputs)
        RequestFields::wrong("documents", documents, format("a list of 1 to {} texts", max_inputs));
    for (const Json& one : documents) {
        const Json& text = one.is_object() && one.contains("text") ? one["text"] : one;
        if (!text.is_string()) RequestFields::wrong("documents", one, "a text or {\"text\": …}");
        request.documents.push_back(text.get<std::string>());
        request.pairs.push_back(
            encode_pair_for(model.scheduler.context(), model.tokenizer, *query, request.documents.back()));
        if (config.token_types <= 1) request.pairs.back().type_ids.clear();
    }
    request.top = fields.integer("top_n", 1, INT32_MAX).value_or(std::ssize(request.documents));
    request.returns_documents = fields.boolean("return_documents").value_or(false);
    request.ignored = fields.unknown();
    return request;
}

Json rerank_answer(const RerankRequest& request, EncoderSession& encoder, const std::string& name) {
    std::vector<std::pair<double, std::size_t>> ranked;
    std::int64_t tokens = 0;
    for (const Tokenizer::Encoding& pair : request.pairs) {
        tokens += std::ssize(pair.ids);
        const Session& session = encoder.run(pair.ids, pair.type_ids);
        const auto logit = static_cast<double>(session.logits()(0));
        ranked.emplace_back(1 / (1 + std::exp(-logit)), ranked.size());
    }
    std::ranges::stable_sort(ranked, std::greater(), &std::pair<double, std::size_t>::first);
    ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(request.top)));
    Json results = Json::array();
    for (const auto& [relevance, index] : ranked) {
        Json one = {{"index", index}, {"relevance_score", relevance}};
        if (request.returns_documents) one["document"] = {{"text", request.documents[index]}};
        results.push_back(std::move(one));
    }
    return {{"object", "list"}, {"model", name}, {"results", std::move(results)}, {"usage", usage_of(tokens)}};
}

}  // namespace vantage::serve
