#include "runtime/train/token_data.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include "runtime/base/checksum.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t part_tokens = 8192;

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of x.
std::uint64_t mixed_bits(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// Names the tokens of these files with these settings: path, size and time of each file stand for its content.
std::string cache_name(const std::vector<std::string>& files, const Tokenizer* tokenizer, const DatasetOptions& o) {
    std::string text =
        format("1 {} {} {} {} {} {:.17g}", tokenizer != nullptr ? tokenizer->fingerprint() : 0,
               o.end_token.value_or(-1), int{o.blank_lines}, int{o.strict}, o.vocabulary, o.validation_share);
    const auto add = [&](const std::string& file) {
        std::error_code none;
        text += format("\n{} {} {}", fs::absolute(file).string(), fs::file_size(file, none),
                       fs::last_write_time(file, none).time_since_epoch().count());
    };
    for (const std::string& file : files) add(file);
    text += "\nvalidation";
    for (const std::string& file : o.validation_files) add(file);
    if (!o.chat_folder.empty())
        for (const char* file : {"chat_template.jinja", "tokenizer_config.json"}) add(o.chat_folder + "/" + file);
    return format("{:016x}{:016x}", checksum(text), checksum(text, 7));
}

std::string folder_of(const DatasetOptions& options) {
    const std::string cache = cache_directory();
    const fs::path folder = !options.folder.empty() ? fs::path(options.folder)
                            : !cache.empty()        ? fs::path(cache) / "tokens"
                                                    : fs::temp_directory_path() / "vantage-tokens";
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw bad_file_error("cannot make the folder {}: {}", folder.string(), error.message());
    return folder.string();
}

// All files of folders, in order.
std::vector<std::string> listed(const std::vector<std::string>& paths) {
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

}  // namespace

std::optional<std::int32_t> default_end_token(const Tokenizer& tokenizer) {
    for (const char* token : {"<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>"})
        if (const auto id = tokenizer.id_of(token)) return id;
    return std::nullopt;
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
            {"context", o.context},
            {"validation_files", absolute(o.validation_files)},
            {"validation_share", o.validation_share},
            {"blank_lines", o.blank_lines},
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
    o.validation_files = texts_of(f, "validation_files");
    o.validation_share = f.number("validation_share", 0, 1);
    o.blank_lines = f.flag("blank_lines"), o.strict = f.flag("strict");
    o.chat_folder = f.text("chat_folder"), o.folder = f.text("folder");
    o.vocabulary = f.integer("vocabulary", 0, 1 << 28);
    if (const auto id = f.optional_integer("end_token", 0, 1 << 28)) o.end_token = static_cast<std::int32_t>(*id);
    return o;
}

TokenData::TokenData(const std::vector<std::string>& paths, const Tokenizer* tokenizer, const DatasetOptions& options)
    : context_(options.context) {
    source_ = to_json(paths, options);
    if (context_ < 1 || context_ > max_data_context)
        throw usage_error("a data set's sequences have {} tokens, but may have 1 to {}", context_, max_data_context);
    if (!(options.validation_share >= 0 && options.validation_share < 1))
        throw usage_error("a data set's validation_share is {:g}, but must be from 0 to below 1",
                          options.validation_share);
    const std::vector<std::string> files = listed(paths);
    if (files.empty()) throw usage_error("no file to learn from");
    description_ = files.size() == 1 ? files.front() : format("{} and {} other files", files.front(), files.size() - 1);
    DatasetOptions o = options;
    if (!o.end_token && tokenizer != nullptr) o.end_token = default_end_token(*tokenizer);
    o.validation_files = listed(options.validation_files);
    if (tokenizer != nullptr) o.vocabulary = tokenizer->vocab_size();
    if (o.vocabulary < 1) throw usage_error("a data set of token ids needs the size of the vocabulary");
    vocabulary_ = o.vocabulary;
    if (o.end_token && (*o.end_token < 0 || *o.end_token >= vocabulary_))
        throw usage_error("the end token of a data set is {}, but its vocabulary has {}", *o.end_token, vocabulary_);
    const std::string base = folder_of(o) + "/" + cache_name(files, tokenizer, o), train = base + ".tokens",
                      validation = base + ".validation.tokens";
    std::error_code none;
    if (!fs::exists(train, none) || !fs::exists(validation, none)) tokenize(files, tokenizer, o, train, validation);
    tokens_.emplace(train, vocabulary_), validation_.emplace(validation, vocabulary_);
    key_ = format("{:016x}{:016x}-{}", tokens_->checksum(), validation_->checksum(), context_);
    targets_ = static_cast<std::int64_t>(tokens_->targets());
    begins_ = begins_in(*tokens_), validation_begins_ = begins_in(*validation_);
    if (begins_.empty())
        throw usage_error(
            "{} has {} tokens in {} documents, but a sequence takes {}: give more data, or a smaller context",
            description_, tokens_->tokens(), tokens_->documents(), context_ + 1);
    if (validation_begins_.empty() && !o.validation_files.empty())
        throw usage_error("the validation data have {} tokens, but a sequence takes {}", validation_->tokens(),
                          context_ + 1);
    if (targets_ == 0) throw usage_error("{}: no token is a target, so there is nothing to learn", description_);
}

void TokenData::tokenize(const std::vector<std::string>& files, const Tokenizer* tokenizer, const DatasetOptions& o,
                         const std::string& train, const std::string& validation) {
    DocumentOptions options{.tokenizer = tokenizer,
                            .end_token = o.end_token,
                            .vocabulary = o.vocabulary,
                            .blank_lines = o.blank_lines,
                            .strict = o.strict};
    if (!o.chat_folder.empty()) options.chat = text::read_chat_format(o.chat_folder);
    TokenWriter train_writer(train, o.vocabulary), validation_writer(validation, o.vocabulary);
    const double share = o.validation_files.empty() ? o.validation_share : 0;
    const auto copy_to = [](TokenWriter& writer) {
        return [&writer](std::span<const std::int32_t> ids, bool ends) {
            writer.add(ids);
            if (ends) writer.end_document();
        };
    };
    // Long documents are split by their parts, so that a text without separators has validation data, too.
    std::vector<std::int32_t> part;
    const auto place = [&] {
        const std::uint64_t hash = mixed_bits(checksum(std::as_bytes(std::span(part))));
        const bool measures = train_writer.documents() > 0 && static_cast<double>(hash >> 11) * 0x1p-53 < share;
        copy_to(measures ? validation_writer : train_writer)(part, true);
        part.clear();
    };
    const auto split = [&](std::span<const std::int32_t> ids, bool ends) {
        while (!ids.empty()) {
            const auto some = ids.first(std::min(ids.size(), part_tokens - part.size()));
            part.insert(part.end(), some.begin(), some.end());
            ids = ids.subspan(some.size());
            if (part.size() == part_tokens) place();
        }
        if (ends && !part.empty()) place();
    };
    const auto read = [&](const std::string& file, const TakeTokens& take) {
        const DocumentCounts counts = read_documents(file, options, take, [&](double done) {
            if (o.progress) o.progress(file, done);
        });
        skipped_ += counts.skipped;
        if (counts.skipped > 0)
            log(LogLevel::warning, "{}; lines of the file that were left out: {}", counts.first_skipped,
                counts.skipped);
    };
    for (const std::string& file : files) read(file, share > 0 ? TakeTokens(split) : copy_to(train_writer));
    for (const std::string& file : o.validation_files) read(file, copy_to(validation_writer));
    validation_writer.finish(), train_writer.finish();
}

// Documents, and multiples of the context in longer ones, whose sequence is in the file.
std::vector<std::uint64_t> TokenData::begins_in(const TokenFile& file) const {
    const auto length = static_cast<std::uint64_t>(context_);
    std::vector<std::uint64_t> begins;
    const std::span<const std::uint64_t> starts = file.starts();
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
        for (std::uint64_t begin = starts[i]; begin < starts[i + 1]; begin += length)
            if (begin + length + 1 <= file.tokens()) begins.push_back(begin);
    return begins;
}

std::int64_t TokenData::sequences() const {
    const auto all = static_cast<std::int64_t>(tokens_->tokens()) / context_;
    return std::clamp<std::int64_t>(all, 1, std::ssize(begins_));
}

std::int64_t TokenData::validation_sequences() const {
    const auto all = static_cast<std::int64_t>(validation_->tokens()) / context_;
    return std::min<std::int64_t>(all, std::ssize(validation_begins_));
}

void TokenData::read(std::uint64_t seed, std::int64_t index, const TrainingSequence& to) const {
    const auto each = static_cast<std::uint64_t>(sequences()), place = static_cast<std::uint64_t>(index),
               epoch = place / each, key = mixed_bits(seed + epoch * 0x9e3779b97f4a7c15);
    std::uint64_t begin = begins_[permuted(place % each, begins_.size(), key)];
    if (begin > 0 && (mixed_bits(key ^ place) & 1) != 0) --begin;  // at the end token in front of it
    read_at(*tokens_, begin, to);
}

void TokenData::read_validation(std::int64_t index, const TrainingSequence& to) const {
    read_at(*validation_, validation_begins_[permuted(static_cast<std::uint64_t>(index), validation_begins_.size(), 0)],
            to);
}

void TokenData::read_at(const TokenFile& file, std::uint64_t first, const TrainingSequence& to) const {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(context_) + 1);
    file.read(first, ids);
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        to.tokens[i] = id_of(ids[i]);
        to.targets[i] = is_target(ids[i + 1]) ? ids[i + 1] : -1;
    }
}

}  // namespace vantage::internal

namespace vantage {

using internal::TokenData;

Dataset::Dataset(const std::vector<std::string>& files, const Tokenizer& tokenizer, const DatasetOptions& options)
    : data_(std::make_shared<const TokenData>(files, &tokenizer, options)) {}
Dataset::Dataset(const std::vector<std::string>& files, const DatasetOptions& options)
    : data_(std::make_shared<const TokenData>(files, nullptr, options)) {}

std::int64_t Dataset::context() const { return data_->context(); }
std::int64_t Dataset::documents() const { return static_cast<std::int64_t>(data_->tokens().documents()); }
std::int64_t Dataset::tokens() const { return static_cast<std::int64_t>(data_->tokens().tokens()); }
std::int64_t Dataset::targets() const { return data_->targets(); }
std::int64_t Dataset::skipped() const { return data_->skipped(); }
std::int64_t Dataset::validation_tokens() const { return data_->validation_tokens(); }
std::int64_t Dataset::sequences() const { return data_->sequences(); }
std::int64_t Dataset::validation_sequences() const { return data_->validation_sequences(); }
const std::string& Dataset::description() const { return data_->description(); }

}  // namespace vantage
