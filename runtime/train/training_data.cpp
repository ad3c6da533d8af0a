#include "runtime/train/training_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <numeric>

#include "runtime/base/at.h"
#include "runtime/base/checksum.h"
#include "runtime/base/errors.h"
#include "runtime/base/utf8.h"
#include "runtime/models/architecture.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/example_data.h"
#include "runtime/train/token_data.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

constexpr std::array task_names = {"texts", "texts with masked tokens", "labels", "answers",
                                   "pairs of a text and an image"};

std::string absolute(const std::string& path) { return path.empty() ? path : fs::absolute(path).string(); }
std::vector<std::string> absolute(std::vector<std::string> paths) {
    for (std::string& path : paths) path = absolute(path);
    return paths;
}

std::vector<std::string> texts_of(const JsonFields& fields, const char* key) {
    std::vector<std::string> all;
    for (const Json& one : fields.list(key)) {
        if (!one.is_string()) fields.fail(key, "a list of texts");
        all.push_back(one.get<std::string>());
    }
    return all;
}

ModelConfig config_of_model(const std::string& model, const std::vector<std::string>& labels) {
    if (fs::is_directory(model)) return ModelOrigin::from_folder(model, labels).config();
    if (!labels.empty())
        throw usage_error("a new output layer needs the folder of a trained model, but {} is not a folder", model);
    return parse_trained_config(read_file(model, 16 << 20), model);
}

// Calls `visit` with the begin and the length of each document among the first rows.
template <class Visit>
void for_documents(const TrainingSequence& of, std::size_t rows, const Visit& visit) {
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= rows; ++i)
        if (i == rows || (!of.documents.empty() && of.documents[i] != of.documents[i - 1])) {
            visit(begin, i - begin);
            begin = i;
        }
}

}  // namespace

std::vector<std::string> files_in(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::exists(path, error)) throw bad_file_error("{}: no such file or folder", path);
        if (!fs::is_directory(path, error)) {
            files.push_back(path);
            continue;
        }
        const std::size_t before = files.size();
        for (auto entry = fs::recursive_directory_iterator(path, error); !error && entry != fs::end(entry);
             entry.increment(error))
            if (entry->is_regular_file(error)) files.push_back(entry->path().string());
        if (error) throw bad_file_error("{}: {}", path, error.message());
        std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
    }
    return files;
}

const char* name_of(Task task) { return at(task_names, task); }

Task task_of(const ModelConfig& config) {
    if (!config.towers.empty()) return Task::pairs;
    if (config.kind == ModelKind::decoder) return Task::next_tokens;
    if (config.kind == ModelKind::encoder_decoder) return Task::answers;
    if (config.head == Head::masked_lm) return Task::masked_tokens;
    if (config.head == Head::classification && config.labelling == Labelling::one_of) return Task::labels;
    throw unsupported_error(
        "training of {} {} is not supported: encoders learn masked tokens (…ForMaskedLM) or one label of several "
        "(…ForSequenceClassification, …ForImageClassification)",
        config.architecture,
        config.head == Head::none             ? "without an output layer"
        : config.head == Head::classification ? "with labels that do not exclude one another"
                                              : "with labels for each token");
}

void clear(const TrainingSequence& to) {
    for (const std::span<std::int32_t>& part : {to.tokens, to.types, to.length, to.ends, to.source, to.source_length,
                                                to.positions, to.source_backwards, to.documents})
        std::ranges::fill(part, 0);
    std::ranges::fill(to.targets, -1);
    std::ranges::fill(to.pixels, 0.f);
}

void write_source(std::span<const std::int32_t> tokens, const TrainingSequence& to) {
    std::ranges::copy(tokens.first(std::min(tokens.size(), to.source.size())), to.source.begin());
    const std::int64_t length = std::ssize(tokens);
    if (!to.source_length.empty()) to.source_length[0] = static_cast<std::int32_t>(length);
    for (std::int64_t row = 0; row < std::ssize(to.source_backwards); ++row)
        at(to.source_backwards, row) = static_cast<std::int32_t>(row < length ? length - 1 - row : row);
}

void complete(const ModelConfig& config, std::int64_t number, const TrainingSequence& to) {
    if (!to.positions.empty()) {  // behind the text they are not read
        const std::size_t length = to.length.empty() ? to.tokens.size() : static_cast<std::size_t>(to.length[0]);
        for_documents(to, length, [&](std::size_t begin, std::size_t count) {
            std::ranges::copy(token_positions(config, to.tokens.subspan(begin, count)),
                              to.positions.begin() + static_cast<std::ptrdiff_t>(begin));
        });
    }
    for (const auto& [offset, places] : to.document_rows)
        for_documents(to, places.size(), [&](std::size_t begin, std::size_t count) {
            std::iota(places.begin() + static_cast<std::ptrdiff_t>(begin),
                      places.begin() + static_cast<std::ptrdiff_t>(begin + count), offset);
        });
    const auto move = [&](std::span<std::int32_t> rows, std::size_t each) {
        for (std::int32_t& row : rows) row += static_cast<std::int32_t>(number) * static_cast<std::int32_t>(each);
    };
    move(to.source_backwards, to.source_backwards.size());
    move(to.ends, to.tokens.size());
    if (!config.towers.empty() && at(to.targets, 0) >= 0) at(to.targets, 0) = static_cast<std::int32_t>(number);
}

std::int64_t place_of(const TrainingData& data, std::int64_t sequences, std::int64_t number) {
    if (data.task() != Task::pairs) return number;
    const std::int64_t all = data.sequences(), whole = all / sequences * sequences;
    return number / whole * all + number % whole;
}

TrainingData::TrainingData(const std::vector<std::string>& paths, const Tokenizer* tokenizer,
                           const DatasetOptions& options)
    : files_(files_in(paths)), validation_files_(files_in(options.validation_files)), source_(to_json(paths, options)) {
    // training.json is JSON, and names them
    const std::vector<std::string> folders{options.model, options.chat_folder, options.folder};
    for (const std::vector<std::string>& named : {paths, options.validation_files, folders})
        for (const std::string& path : absolute(named))
            if (!is_utf8(path))
                throw usage_error("{}: a path that a training run reads must be UTF-8", repair_utf8(path));
    if (files_.empty()) throw usage_error("no file to learn from");
    description_ =
        files_.size() == 1 ? files_.front() : format("{} and {} other files", files_.front(), files_.size() - 1);
    if (options.context < 1 || options.context > max_data_context)
        throw usage_error("a data set's sequences have {} tokens, but may have 1 to {}", options.context,
                          max_data_context);
    if (!(options.validation_share >= 0 && options.validation_share < 1))
        throw usage_error("a data set's validation_share is {:g}, but must be from 0 to below 1",
                          options.validation_share);
    if (const fs::path model = options.model; !model.empty())
        folder_ = (fs::is_directory(model) ? model : fs::absolute(model).parent_path()).string();
    labels_ = options.labels;
    if (tokenizer != nullptr) tokenizer_ = *tokenizer;
}

std::shared_ptr<const TrainingData> read_training_data(const std::vector<std::string>& files,
                                                       const Tokenizer* tokenizer, const DatasetOptions& options) {
    if (options.model.empty() && !options.labels.empty())
        throw usage_error(
            "a data set with labels needs the folder of the model that gets them (DatasetOptions::model)");
    if (options.model.empty()) return std::make_shared<const TokenData>(files, tokenizer, options);
    const ModelConfig config = config_of_model(options.model, options.labels);
    const Task task = task_of(config);
    if (task == Task::labels || task == Task::answers || task == Task::pairs) {
        if (options.separate_documents)
            throw usage_error("separate documents are of texts, but {} learns from {}, a sequence each",
                              config.architecture, name_of(task));
        return std::make_shared<const ExampleData>(files, tokenizer, options, config);
    }
    return std::make_shared<const TokenData>(files, tokenizer, options, task);
}

std::optional<std::int32_t> default_end_token(const Tokenizer& tokenizer) {
    for (const char* token : {"<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>"})
        if (const auto id = tokenizer.id_of(token)) return id;
    return std::nullopt;
}

std::optional<std::int32_t> end_token_of(const Tokenizer* tokenizer, const DatasetOptions& options) {
    return options.end_token || tokenizer == nullptr ? options.end_token : default_end_token(*tokenizer);
}

std::uint64_t mixed_bits(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

std::uint64_t epoch_key(std::uint64_t seed, std::uint64_t epoch) {
    return mixed_bits(seed + epoch * 0x9e3779b97f4a7c15);
}

std::uint64_t permuted(std::uint64_t i, std::uint64_t count, std::uint64_t key) {
    const int half = std::max(1, static_cast<int>(std::bit_width(count - 1) + 1) / 2);
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    do {
        std::uint64_t left = i >> half, right = i & mask;
        for (std::uint64_t round = 0; round < 4; ++round) {
            const std::uint64_t next = left ^ (mixed_bits(right + key * 4 + round) & mask);
            left = right, right = next;
        }
        i = left << half | right;
    } while (i >= count);
    return i;
}

Json to_json(const std::vector<std::string>& files, const DatasetOptions& o) {
    return {{"files", absolute(files)},
            {"model", absolute(o.model)},
            {"labels", o.labels},
            {"context", o.context},
            {"validation_files", absolute(o.validation_files)},
            {"validation_share", o.validation_share},
            {"blank_lines", o.blank_lines},
            {"separate_documents", o.separate_documents},
            {"strict", o.strict},
            {"chat_folder", absolute(o.chat_folder)},
            {"vocabulary", o.vocabulary},
            {"end_token", o.end_token ? Json(*o.end_token) : Json()},
            {"folder", absolute(o.folder)}};
}

std::vector<std::string> dataset_files_of(const JsonFields& fields) { return texts_of(fields, "files"); }

DatasetOptions dataset_options_of(const JsonFields& f) {
    DatasetOptions o;
    o.context = f.integer("context", 1, max_data_context);
    o.model = f.optional_text("model").value_or("");
    if (f.has("labels")) o.labels = texts_of(f, "labels");
    o.validation_files = texts_of(f, "validation_files");
    o.validation_share = f.number("validation_share", 0, 1);
    o.blank_lines = f.flag("blank_lines"), o.strict = f.flag("strict");
    o.separate_documents = f.optional_flag("separate_documents").value_or(false);
    o.chat_folder = f.text("chat_folder"), o.folder = f.text("folder");
    o.vocabulary = f.integer("vocabulary", 0, 1 << 28);
    if (const auto id = f.optional_integer("end_token", 0, 1 << 28)) o.end_token = static_cast<std::int32_t>(*id);
    return o;
}

}  // namespace vantage::internal

namespace vantage {

Dataset::Dataset(const std::vector<std::string>& files, const Tokenizer& tokenizer, const DatasetOptions& options)
    : data_(internal::read_training_data(files, &tokenizer, options)) {}
Dataset::Dataset(const std::vector<std::string>& files, const DatasetOptions& options)
    : data_(internal::read_training_data(files, nullptr, options)) {}

std::int64_t Dataset::context() const { return data_->context(); }
std::int64_t Dataset::documents() const { return data_->documents(); }
std::int64_t Dataset::tokens() const { return data_->tokens(); }
std::int64_t Dataset::targets() const { return data_->targets(); }
std::int64_t Dataset::skipped() const { return data_->skipped(); }
std::int64_t Dataset::validation_tokens() const { return data_->validation_tokens(); }
std::int64_t Dataset::sequences() const { return data_->sequences(); }
std::int64_t Dataset::validation_sequences() const { return data_->validation_sequences(); }
const std::string& Dataset::description() const { return data_->description(); }

}  // namespace vantage
