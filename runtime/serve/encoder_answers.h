// Answers of encoders: /v1/embeddings and /v1/rerank.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/serve/api_error.h"
#include "runtime/serve/served_model.h"

namespace vantage::serve {

/// Runs texts of ids one after the other in a session that lives on, and grows by powers of two, so that few plans are
/// made. In the scheduler's thread.
class EncoderSession : internal::NotCopied {
public:
    explicit EncoderSession(const SessionOptions& options) : options_(options) {}
    /// With this model from now on.
    EncoderSession& on(const Model& model);
    Session& run(std::span<const std::int32_t> ids, std::span<const std::int32_t> types = {});
    void forget();

private:
    SessionOptions options_;
    std::optional<Model> model_;
    std::optional<Session> session_;
};

struct EmbeddingRequest {
    std::vector<std::vector<std::int32_t>> inputs;  ///< ids of each text
    bool base64 = false;                            ///< little-endian float32
    std::int64_t dimensions = 0;                    ///< the first ones, divided by their length again; 0: all
    std::vector<std::string> ignored;
};
/// Throws ApiError 400, and usage where a text is too long.
EmbeddingRequest parse_embedding(const Json& body, const ServedModel& model);
/// Vectors have the length 1.
Json embedding_answer(const EmbeddingRequest& request, EncoderSession& encoder, const std::string& name,
                      Pooling pooling);

struct RerankRequest {
    std::vector<std::string> documents;
    std::vector<Tokenizer::Encoding> pairs;  ///< the query with each document
    std::int64_t top = 0;
    bool returns_documents = false;
    std::vector<std::string> ignored;
};
/// Throws ApiError 400: also unless the model is a classifier of pairs with one output.
RerankRequest parse_rerank(const Json& body, const ServedModel& model);
/// The most relevant first; a relevance is the sigmoid of the model's output.
Json rerank_answer(const RerankRequest& request, EncoderSession& encoder, const std::string& name);

}  // namespace vantage::serve
