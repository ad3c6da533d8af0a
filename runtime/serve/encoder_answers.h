// Answers of encoders: /v1/embeddings and /v1/rerank.
#pragma once

#include <string>
#include <vector>

#include "runtime/serve/api_error.h"
#include "runtime/serve/served_model.h"

namespace vantage::serve {

struct EmbeddingRequest {
    std::vector<std::vector<std::int32_t>> inputs;  ///< ids of each text
    bool base64 = false;                            ///< little-endian float32
    std::int64_t dimensions = 0;                    ///< the first ones, divided by their length again; 0: all
    std::vector<std::string> ignored;
};
/// Throws ApiError 400, and usage where a text is too long.
EmbeddingRequest parse_embedding(const Json& body, const ServedModel& model);
/// Runs in the scheduler's thread, with the model that it has. Vectors have the length 1.
Json embedding_answer(const EmbeddingRequest& request, const Model& model, const std::string& name, Pooling pooling,
                      const SessionOptions& options);

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
Json rerank_answer(const RerankRequest& request, const Model& model, const std::string& name,
                   const SessionOptions& options);

}  // namespace vantage::serve
