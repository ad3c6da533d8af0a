// Examples: inputs with what a model is to say about them. Files are .jsonl; a line is one of
//   {"text", "label"}     encoders that classify; with "pair" a second text. A label is a number or a name of id2label
//   {"source", "target"}  encoder–decoders; or {"prompt", "completion"}
//   {"image", "text"}     pairs of encoders (CLIP)
//   {"image", "label"}    and {"image", "target"}: the path of an image file, relative to the file
// All lines must be right: a wrong label is an error, not left out. Texts are in memory; images are read when a step
// needs them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/training_data.h"

namespace vantage::internal {

class ExampleData final : public TrainingData {
public:
    /// `config`: of the model that learns labels or answers.
    ExampleData(const std::vector<std::string>& files, const Tokenizer* tokenizer, const DatasetOptions& options,
                const ModelConfig& config);

    Task task() const override { return task_; }
    std::int64_t context() const override { return context_; }
    std::int64_t vocabulary() const override { return tokenizer_ ? tokenizer_->vocab_size() : 0; }
    std::int64_t documents() const override { return std::ssize(training_); }
    std::int64_t tokens() const override { return tokens_of(training_); }
    std::int64_t targets() const override;
    std::int64_t skipped() const override { return 0; }
    std::int64_t validation_tokens() const override { return tokens_of(validation_); }
    std::int64_t sequences() const override { return std::ssize(training_); }
    std::int64_t validation_sequences() const override { return std::ssize(validation_); }
    void read(std::uint64_t seed, std::int64_t index, const TrainingSequence& to) const override;
    void read_validation(std::int64_t index, const TrainingSequence& to) const override;

private:
    struct Example {
        std::vector<std::int32_t> tokens = {}, types = {};  ///< of a text that is classified
        std::vector<std::int32_t> source = {}, answer = {};
        std::string image = {};
        std::uint64_t pixels_checksum = 0;
        std::int32_t label = -1;
    };
    void read_files(const std::vector<std::string>& files, const DatasetOptions& options, double validation_share,
                    std::vector<Example>& to);
    Example example_of(const JsonFields& fields, const std::string& folder);
    std::int32_t label_of(const JsonFields& fields) const;
    void read_image_of(Example& example, const JsonFields& fields, const std::string& folder) const;
    std::vector<float> pixels_of(const std::string& image) const;
    Tokenizer::Encoding encoded(const JsonFields& fields, const char* key, const char* pair = nullptr) const;
    std::vector<std::int32_t> answer_of(const JsonFields& fields, const char* key) const;
    void cut(std::vector<std::int32_t>& ids);
    void require_two_labels() const;
    void require_pairs() const;
    void fit_context();
    static std::uint64_t checksum_of(const std::vector<Example>& examples);
    std::int64_t tokens_of(const std::vector<Example>& examples) const;
    void write(const Example& example, const TrainingSequence& to) const;

    ModelConfig config_;
    std::map<std::string, std::int32_t> labels_;  // numbers of the config's names
    Task task_;
    std::optional<std::int32_t> end_token_;
    std::function<std::vector<float>(const std::string&)> read_image_;
    std::int64_t context_ = 0, cut_ = 0;
    std::vector<Example> training_, validation_;
};

}  // namespace vantage::internal
