// What a model learns from: sequences with inputs and targets, whatever files they come from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/models/config.h"
#include "vantage/train.h"

namespace vantage::internal {

/// What a model learns to say: the next token of a text, tokens of a text that are masked, the label of a text or an
/// image, a text that answers a text or an image, or which text and which image are a pair.
enum class Task : std::uint8_t { next_tokens, masked_tokens, labels, answers, pairs };
const char* name_of(Task task);
/// Throws unsupported for a model that learns none of these.
Task task_of(const ModelConfig& config);

/// Where the inputs and targets of one sequence go. Empty: the model does not read them.
struct TrainingSequence {
    std::span<std::int32_t> tokens, targets;  ///< negative where a row has no target
    std::span<std::int32_t> types = {}, length = {}, source = {}, source_length = {};
    std::span<std::int32_t> ends = {};  ///< the last row of a text; rows of this sequence
    std::span<float> pixels = {};
    std::span<std::int32_t> source_backwards = {};  ///< rows of this sequence, see model_names
    std::span<std::int32_t> positions = {};         ///< see `complete`
    std::span<std::int32_t> documents = {};         ///< of each row, ascending from 0
    /// The row's place in its document plus a number, see `complete`.
    std::vector<std::pair<std::int32_t, std::span<std::int32_t>>> document_rows = {};
};
/// No tokens and no targets.
void clear(const TrainingSequence& to);
/// The text that an encoder reads: its tokens, their number, and its rows backwards.
void write_source(std::span<const std::int32_t> tokens, const TrainingSequence& to);
/// Writes what follows from the others, and lets rows count from the first of the micro-batch, of which this is
/// sequence `number`.
void complete(const ModelConfig& config, std::int64_t number, const TrainingSequence& to);
class TrainingData;
/// The place at which sequence `number` of a run is read, in micro-batches of `sequences`. A micro-batch has no pair
/// twice: what remains of an epoch after whole micro-batches is left out.
std::int64_t place_of(const TrainingData& data, std::int64_t sequences, std::int64_t number);

class TrainingData : NotCopied {
public:
    virtual ~TrainingData() = default;
    virtual Task task() const = 0;
    virtual std::int64_t context() const = 0;     ///< rows of a sequence, and of its source
    virtual std::int64_t vocabulary() const = 0;  ///< ids are below it; 0: no tokens
    virtual std::int64_t documents() const = 0;
    virtual std::int64_t tokens() const = 0;
    virtual std::int64_t targets() const = 0;
    virtual std::int64_t skipped() const = 0;
    virtual bool separates_documents() const { return false; }
    virtual std::int64_t validation_tokens() const = 0;
    virtual std::int64_t sequences() const = 0;  ///< of an epoch
    virtual std::int64_t validation_sequences() const = 0;
    /// Writes the sequence number `index` of training, or of validation. From any thread.
    virtual void read(std::uint64_t seed, std::int64_t index, const TrainingSequence& to) const = 0;
    virtual void read_validation(std::int64_t index, const TrainingSequence& to) const = 0;

    const std::string& description() const { return description_; }
    const std::string& key() const { return key_; }        ///< equal for equal sequences
    const Json& source() const { return source_; }         ///< files and options, as training.json keeps them
    const std::string& folder() const { return folder_; }  ///< of the model that learns; empty where none is named
    const std::vector<std::string>& labels() const { return labels_; }  ///< DatasetOptions::labels
    const std::optional<Tokenizer>& tokenizer() const { return tokenizer_; }

protected:
    /// Lists the files of `paths` and of DatasetOptions::validation_files.
    TrainingData(const std::vector<std::string>& paths, const Tokenizer* tokenizer, const DatasetOptions& options);
    void set_key(std::string key) { key_ = std::move(key); }
    std::vector<std::string> files_, validation_files_;  ///< folders' files, too
    std::optional<Tokenizer> tokenizer_;

private:
    std::string description_, key_, folder_;
    std::vector<std::string> labels_;
    Json source_;
};

/// What DatasetOptions::model says that files have. `tokenizer`: null for token ids and images.
std::shared_ptr<const TrainingData> read_training_data(const std::vector<std::string>& files,
                                                       const Tokenizer* tokenizer, const DatasetOptions& options);

/// The files of these paths, those of folders in order.
std::vector<std::string> files_in(const std::vector<std::string>& paths);

inline constexpr std::int64_t max_data_context = 1 << 28;

/// The token that ends documents where a data set names none: <|endoftext|>, </s>, <|end_of_text|> or <eos>.
std::optional<std::int32_t> default_end_token(const Tokenizer& tokenizer);
/// What ends a text: DatasetOptions::end_token, or the tokenizer's.
std::optional<std::int32_t> end_token_of(const Tokenizer* tokenizer, const DatasetOptions& options);

/// Options and files of a data set as JSON, and back.
Json to_json(const std::vector<std::string>& files, const DatasetOptions& options);
std::vector<std::string> dataset_files_of(const JsonFields& fields);
DatasetOptions dataset_options_of(const JsonFields& fields);

/// i-th element of a permutation of 0 … count - 1 that depends on the key: a Feistel network of four rounds over the
/// next power of four, walked until the result is below count (Black & Rogaway, "Ciphers with Arbitrary Finite
/// Domains", 2002). Nothing is shuffled or stored.
std::uint64_t permuted(std::uint64_t i, std::uint64_t count, std::uint64_t key);
/// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of x.
std::uint64_t mixed_bits(std::uint64_t x);
/// The upper 53 bits as a number from 0 to below 1.
inline double share_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }
/// The key of an epoch's order.
std::uint64_t epoch_key(std::uint64_t seed, std::uint64_t epoch);

}  // namespace vantage::internal
