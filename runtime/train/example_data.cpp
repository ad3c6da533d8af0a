#include "runtime/train/example_data.h"

#include <algorithm>
#include <filesystem>

#include "runtime/base/at.h"
#include "runtime/base/checksum.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/models/architecture.h"
#include "runtime/train/documents.h"

namespace vantage::internal {

namespace {

// The token behind an answer, as generation knows it.
std::optional<std::int32_t> answer_end(const ModelConfig& config, const Tokenizer* tokenizer,
                                       const DatasetOptions& options) {
    if (!options.end_token && !config.end_tokens.empty() && config.end_tokens.front() >= 0)
        return static_cast<std::int32_t>(config.end_tokens.front());
    return end_token_of(tokenizer, options);
}

bool reads_images(const ModelConfig& config) { return config.learned_image().channels > 0; }

void copy_to(std::span<std::int32_t> to, std::span<const std::int32_t> from, std::size_t first = 0) {
    if (!to.empty())
        std::ranges::copy(from.first(std::min(from.size(), to.size() - first)),
                          to.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace

ExampleData::ExampleData(const std::vector<std::string>& files, const Tokenizer* tokenizer,
                         const DatasetOptions& options, const ModelConfig& config)
    : TrainingData(files, tokenizer, options),
      config_(config),
      task_(task_of(config)),
      end_token_(answer_end(config, tokenizer, options)),
      read_image_(options.read_image),
      context_(config.is_vision() ? config.image.places() : options.context) {
    for (std::size_t i = 0; i < config.labels.size(); ++i)
        labels_.emplace(config.labels[i], static_cast<std::int32_t>(i));  // of equal names the first
    if (!tokenizer && !config.is_vision())
        throw usage_error("{} learns from texts, which need a tokenizer", config.architecture);
    if (reads_images(config) && !read_image_)
        throw usage_error("{} learns from images: say how they are read (DatasetOptions::read_image)",
                          config.architecture);
    read_files(files_, options, validation_files_.empty() ? options.validation_share : 0, training_);
    read_files(validation_files_, options, 0, validation_);
    if (training_.empty())
        throw usage_error("{} has {} examples, none of them to learn from: give more, or --eval-share 0", description(),
                          validation_.size());
    if (end_token_ && !config.is_vision() && *end_token_ >= config.vocab)
        throw usage_error("the end token of answers is {}, but the vocabulary of the model has {}", *end_token_,
                          config.vocab);
    require_two_labels();
    require_pairs();
    fit_context();
    set_key(format("{:016x}{:016x}-{}", checksum_of(training_), checksum_of(validation_), context_));
    if (cut_ > 0)
        log(LogLevel::warning, "{}: {} texts have more than {} tokens and are cut", description(), cut_, context_);
}

void ExampleData::read_files(const std::vector<std::string>& files, const DatasetOptions& options,
                             double validation_share, std::vector<Example>& to) {
    for (const std::string& file : files) {
        if (!file.ends_with(".jsonl") && !file.ends_with(".JSONL"))
            throw bad_file_error("{} is no .jsonl, in which {} finds its {}", file, config_.architecture,
                                 name_of(task_));
        const std::string folder = std::filesystem::path(file).parent_path().string();
        const auto take = [&](const std::string& line, const std::string& name) {
            const Json json = parse_json(line, name);
            Example example = example_of(JsonFields(json, name), folder);
            const bool measures = share_of(mixed_bits(checksum(line))) < validation_share;
            (measures ? validation_ : to).push_back(std::move(example));
        };
        read_json_lines(file, take, [&](double done) {
            if (options.progress) options.progress(file, done);
        });
    }
}

ExampleData::Example ExampleData::example_of(const JsonFields& fields, const std::string& folder) {
    Example example;
    if (reads_images(config_)) read_image_of(example, fields, folder);
    if (task_ == Task::labels) {
        example.label = label_of(fields);
        if (config_.is_vision()) return example;
        Tokenizer::Encoding text = encoded(fields, "text", "pair");
        example.tokens = std::move(text.ids), example.types = std::move(text.type_ids);
        cut(example.tokens);
        return example;
    }
    if (task_ == Task::pairs) {
        cut(example.tokens = encoded(fields, "text").ids);
        return example;
    }
    const bool prompt = fields.has("prompt");
    if (!reads_images(config_)) cut(example.source = encoded(fields, prompt ? "prompt" : "source").ids);
    cut(example.answer = answer_of(fields, prompt || fields.has("completion") ? "completion" : "target"));
    return example;
}

std::int32_t ExampleData::label_of(const JsonFields& fields) const {
    const std::vector<std::string>& names = config_.labels;
    const Json label = fields.has("label") ? fields.json().at("label") : Json();
    const auto found = label.is_string() ? labels_.find(label.get<std::string>()) : labels_.end();
    if (found != labels_.end()) return found->second;
    if (const auto number = JsonFields::integer_of(label); number && *number >= 0 && *number < std::ssize(names)) {
        const auto same = labels_.find(std::to_string(*number));
        if (same != labels_.end() && same->second != *number)
            fields.fail("label", format("the name \"{}\" in quotes, because names of labels are numbers", *number));
        return static_cast<std::int32_t>(*number);
    }
    fields.fail("label", format("a label of the model: 0 to {}, or {}", names.size() - 1, cut_short(join(names), 100)));
}

// A broken image is found before the first step.
void ExampleData::read_image_of(Example& example, const JsonFields& fields, const std::string& folder) const {
    const std::string image = fields.text("image");
    if (image.find('\0') != std::string::npos) fields.fail("image", "the path of a file");
    example.image = (std::filesystem::path(folder) / image).string();
    try {
        const std::vector<float> pixels = pixels_of(example.image);
        example.pixels_checksum = checksum(std::as_bytes(std::span(pixels)));
    } catch (const Error& problem) {
        if (problem.kind() != ErrorKind::bad_file) throw;
        throw bad_file_error("{}: {}", fields.name(), problem.what());
    }
}

std::vector<float> ExampleData::pixels_of(const std::string& image) const {
    std::vector<float> pixels = read_image_(image);
    if (std::ssize(pixels) != config_.learned_image().pixels())
        throw bad_file_error("{}: {} numbers, but the model takes {}", image, pixels.size(),
                             config_.learned_image().pixels());
    return pixels;
}

Tokenizer::Encoding ExampleData::encoded(const JsonFields& fields, const char* key, const char* pair) const {
    const std::string text = fields.text(key);
    Tokenizer::Encoding encoding = pair != nullptr && fields.has(pair)
                                       ? tokenizer_->encode_pair(text, fields.text(pair))
                                       : tokenizer_->encode(text);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos || encoding.ids.empty())
        fields.fail(key, "a text with a word in it");
    const std::int64_t types = config_.token_types;
    if (types > 0 && std::ranges::any_of(encoding.type_ids, [&](std::int64_t type) { return type >= types; }))
        fields.fail(pair != nullptr ? pair : key, format("no second text: the model has {} kinds of tokens", types));
    return encoding;
}

std::vector<std::int32_t> ExampleData::answer_of(const JsonFields& fields, const char* key) const {
    std::vector<std::int32_t> ids = encoded(fields, key).ids;
    if (end_token_ && ids.back() != *end_token_) ids.push_back(*end_token_);
    return ids;
}

// What a tokenizer puts behind a text stays.
void ExampleData::cut(std::vector<std::int32_t>& ids) {
    if (std::ssize(ids) <= context_) return;
    const std::int32_t last = ids.back();
    ids.resize(static_cast<std::size_t>(context_));
    if (tokenizer_->is_special(last)) ids.back() = last;
    ++cut_;
}

void ExampleData::require_two_labels() const {
    const std::int32_t first = training_.front().label;
    if (task_ == Task::labels && std::ranges::all_of(training_, [&](const Example& one) { return one.label == first; }))
        throw usage_error("{}: all examples to learn from have the label {}, so there is nothing to learn",
                          description(), at(config_.labels, first));
}

// The longest text, where that is less than the context.
void ExampleData::fit_context() {
    if (config_.is_vision()) return;
    std::size_t longest = 1;
    for (const std::vector<Example>* examples : {&training_, &validation_})
        for (const Example& example : *examples)
            longest = std::max({longest, example.tokens.size(), example.source.size(), example.answer.size()});
    context_ = std::min(context_, static_cast<std::int64_t>(longest));
}

std::uint64_t ExampleData::checksum_of(const std::vector<Example>& examples) {
    std::uint64_t hash = checksum_begin;
    const auto add = [&](std::span<const std::int32_t> numbers) {
        const std::uint64_t count = numbers.size();
        hash = checksum(std::as_bytes(std::span(&count, 1)), hash);
        hash = checksum(std::as_bytes(numbers), hash);
    };
    for (const Example& example : examples) {
        for (const auto* ids : {&example.tokens, &example.types, &example.source, &example.answer}) add(*ids);
        add(std::span(&example.label, 1));
        hash = checksum(std::as_bytes(std::span(&example.pixels_checksum, 1)), hash);
    }
    return hash;
}

// Each is to be found among others; a text is its end token, which sees the tokens before it.
void ExampleData::require_pairs() const {
    if (task_ != Task::pairs) return;
    if (validation_.size() == 1)
        throw usage_error("{}: one pair for validation has no other to be compared with: give more, or none",
                          description());
    if (std::ranges::all_of(training_, [&](const Example& one) {
            return one.tokens.size() > 1 && pooled_row(config_, one.tokens) == 0;
        }))
        log(LogLevel::warning, "{}: texts have no end token, so only their first token is learned from", description());
}

std::int64_t ExampleData::targets() const {
    std::int64_t count = 0;
    for (const Example& example : training_) count += task_ == Task::answers ? std::ssize(example.answer) : 1;
    return count;
}

std::int64_t ExampleData::tokens_of(const std::vector<Example>& examples) const {
    std::int64_t count = 0;
    for (const Example& example : examples)
        count += std::ssize(example.tokens) + std::ssize(example.source) + std::ssize(example.answer) +
                 (reads_images(config_) ? config_.learned_image().places() : 0);
    return count;
}

void ExampleData::read(std::uint64_t seed, std::int64_t index, const TrainingSequence& to) const {
    const std::uint64_t place = static_cast<std::uint64_t>(index), each = training_.size();
    write(at(training_, permuted(place % each, each, epoch_key(seed, place / each))), to);
}

void ExampleData::read_validation(std::int64_t index, const TrainingSequence& to) const {
    write(at(validation_, permuted(static_cast<std::uint64_t>(index), validation_.size(), 0)), to);
}

// The answer's tokens are read one place behind where they are targets (teacher forcing).
void ExampleData::write(const Example& example, const TrainingSequence& to) const {
    clear(to);
    const auto set = [](std::span<std::int32_t> one, std::int64_t value) {
        if (!one.empty()) one[0] = static_cast<std::int32_t>(value);
    };
    if (!to.pixels.empty()) std::ranges::copy(pixels_of(example.image), to.pixels.begin());
    write_source(example.source, to);
    if (reads_images(config_)) set(to.source_length, config_.learned_image().places());
    if (task_ == Task::labels) {
        copy_to(to.tokens, example.tokens);
        copy_to(to.types, example.types);
        set(to.length, std::ssize(example.tokens));
        set(to.targets, example.label);
        return;
    }
    if (task_ == Task::pairs) {
        copy_to(to.tokens, example.tokens);
        set(to.ends, pooled_row(config_, example.tokens).value());
        set(to.targets, 0);  // see `complete`
        return;
    }
    set(to.tokens, config_.start_token);
    copy_to(to.tokens, example.answer, 1);
    copy_to(to.targets, example.answer);
}

}  // namespace vantage::internal
