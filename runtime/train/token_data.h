// Texts as token files, and the order in which training reads them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/documents.h"
#include "runtime/train/token_file.h"
#include "runtime/train/training_data.h"

namespace vantage::internal {

/// BERT's rule (Devlin et al. 2018): 15 % of the tokens that are not special are targets. Of these 80 % are shown as
/// the mask token, 10 % as a random one and 10 % as they are. The random numbers are counted: they depend on the key
/// and the place in the sequence.
class TokenMasks {
public:
    /// Throws bad_file for a tokenizer without [MASK] and <mask>.
    explicit TokenMasks(const Tokenizer& tokenizer);
    /// `to.targets` are the tokens themselves, negative where they must not be targets.
    void apply(std::uint64_t key, const TrainingSequence& to) const;

private:
    Tokenizer tokenizer_;
    std::int32_t mask_ = 0;
};

class TokenData final : public TrainingData {
public:
    /// `task`: next or masked tokens.
    TokenData(const std::vector<std::string>& files, const Tokenizer* tokenizer, const DatasetOptions& options,
              Task task = Task::next_tokens);

    const TokenFile& token_file() const { return *tokens_; }
    Task task() const override { return masks_ ? Task::masked_tokens : Task::next_tokens; }
    std::int64_t context() const override { return context_; }
    std::int64_t vocabulary() const override { return vocabulary_; }
    std::int64_t documents() const override { return static_cast<std::int64_t>(tokens_->documents()); }
    std::int64_t tokens() const override { return static_cast<std::int64_t>(tokens_->tokens()); }
    std::int64_t targets() const override { return static_cast<std::int64_t>(tokens_->targets()); }
    std::int64_t skipped() const override;
    bool separates_documents() const override { return separate_; }
    std::int64_t validation_tokens() const override { return static_cast<std::int64_t>(validation_->tokens()); }
    std::int64_t sequences() const override;
    std::int64_t validation_sequences() const override;
    void read(std::uint64_t seed, std::int64_t index, const TrainingSequence& to) const override;
    void read_validation(std::int64_t index, const TrainingSequence& to) const override;

private:
    void write_skipped(const std::string& base) const;
    void read_skipped(const std::string& base);
    /// Writes the files of the cache whose names begin with `base`.
    void tokenize(const Tokenizer* tokenizer, const DatasetOptions& options, const std::string& base);
    /// `key`: of the random numbers of masks.
    void read_at(const TokenFile& file, std::uint64_t first, std::uint64_t key, const TrainingSequence& to) const;
    std::vector<std::uint64_t> begins_in(const TokenFile& file) const;
    std::uint64_t begin_from(std::uint64_t key, std::uint64_t number, std::uint64_t each) const;

    std::int64_t context_ = 0, vocabulary_ = 0;
    std::vector<std::pair<std::string, std::int64_t>> skipped_;  ///< why the first line of a file, and how many
    bool separate_ = false;
    std::optional<TokenMasks> masks_;
    std::optional<TokenFile> tokens_, validation_;
    std::vector<std::uint64_t> begins_, validation_begins_;  ///< where sequences begin
};

}  // namespace vantage::internal
