// What a Dataset is made of: token files, and the order in which training reads them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/train/documents.h"
#include "runtime/train/token_file.h"
#include "vantage/train.h"

namespace vantage::internal {

/// i-th element of a permutation of 0 … count - 1 that depends on the key: a Feistel network of four rounds over the
/// next power of four, walked until the result is below count (Black & Rogaway, "Ciphers with Arbitrary Finite
/// Domains", 2002). Nothing is shuffled or stored.
std::uint64_t permuted(std::uint64_t i, std::uint64_t count, std::uint64_t key);

inline constexpr std::int64_t max_data_context = 1 << 28;

/// The token that ends documents where a data set names none: <|endoftext|>, </s>, <|end_of_text|> or <eos>.
std::optional<std::int32_t> default_end_token(const Tokenizer& tokenizer);

/// Options and files of a data set as JSON, and back.
Json to_json(const std::vector<std::string>& files, const DatasetOptions& options);
std::vector<std::string> dataset_files_of(const JsonFields& fields);
DatasetOptions dataset_options_of(const JsonFields& fields);

/// Tokens of one sequence and what follows each; -1 where that is not a target.
struct TrainingSequence {
    std::span<std::int32_t> tokens, targets;
};

class TokenData {
public:
    TokenData(const std::vector<std::string>& files, const Tokenizer* tokenizer, const DatasetOptions& options);

    const TokenFile& tokens() const { return *tokens_; }
    std::int64_t context() const { return context_; }
    std::int64_t targets() const { return targets_; }
    std::int64_t skipped() const { return skipped_; }
    std::int64_t vocabulary() const { return vocabulary_; }
    std::int64_t sequences() const;
    std::int64_t validation_sequences() const;
    std::int64_t validation_tokens() const { return static_cast<std::int64_t>(validation_->tokens()); }
    const std::string& description() const { return description_; }
    /// Equal for equal sequences: checksums of the tokens, and the context.
    const std::string& key() const { return key_; }
    /// The files and options, as training.json keeps them.
    const Json& source() const { return source_; }

    /// The sequence number `index` of training, of which each epoch has `sequences`.
    void read(std::uint64_t seed, std::int64_t index, const TrainingSequence& to) const;
    void read_validation(std::int64_t index, const TrainingSequence& to) const;

private:
    void tokenize(const std::vector<std::string>& files, const Tokenizer* tokenizer, const DatasetOptions& options,
                  const std::string& train, const std::string& validation);
    void read_at(const TokenFile& file, std::uint64_t first, const TrainingSequence& to) const;
    std::vector<std::uint64_t> begins_in(const TokenFile& file) const;

    std::int64_t context_ = 0, vocabulary_ = 0, targets_ = 0, skipped_ = 0;
    std::string description_, key_;
    Json source_;
    std::optional<TokenFile> tokens_, validation_;
    std::vector<std::uint64_t> begins_, validation_begins_;  ///< where sequences begin
};

}  // namespace vantage::internal
