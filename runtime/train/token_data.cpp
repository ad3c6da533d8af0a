#include "runtime/train/token_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "runtime/base/at.h"
#include "runtime/base/checksum.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/train/documents.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t part_tokens = 8192;
constexpr std::int64_t max_vocabulary = 1 << 28;  // ids have bits left for flags
// Of the files of a data set in the cache.
constexpr const char *train_suffix = ".tokens", *validation_suffix = ".validation.tokens",
                     *skipped_suffix = ".skipped.json";

// Names the tokens of these files with these settings: path, size and time of each file stand for its content.
std::string cache_name(const std::vector<std::string>& files, const Tokenizer* tokenizer, const DatasetOptions& o) {
    std::string text =
        format("2 {} {} {} {} {} {:.17g}", tokenizer != nullptr ? tokenizer->fingerprint() : 0,
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

// Makes the folder; false where it cannot be written to.
bool is_writable(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    return !error && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

// Makes a folder where other users can make some, too. False unless it belongs to this user, and no other can write to
// it.
bool is_own(const fs::path& folder) {
    if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return false;
    struct stat status {};
    return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && is_writable(folder);
}

// Without a cache the tokens are in a folder of this user in the temporary folder.
std::string folder_of(const DatasetOptions& options) {
    if (!options.folder.empty()) {
        if (!is_writable(options.folder)) throw bad_file_error("cannot write to the folder {}", options.folder);
        return options.folder;
    }
    std::error_code error;
    const std::string cache = cache_directory();
    const fs::path kept = fs::path(cache) / "tokens",
                   temporary = fs::temp_directory_path(error) / format("vantage-tokens-{}", ::geteuid());
    if (!cache.empty() && is_writable(kept)) return kept.string();
    if (!error && is_own(temporary)) {
        if (!cache.empty())
            fall_back(format("cannot write to {}; the tokens are in {}", kept.string(), temporary.string()));
        return temporary.string();
    }
    throw bad_file_error(
        "no folder for tokens: {} (VANTAGE_CACHE_DIR) cannot be written to, and {} (TMPDIR) cannot, or others can "
        "write to it",
        kept.string(), temporary.string());
}

}  // namespace

TokenMasks::TokenMasks(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    const auto id = tokenizer.id_of("[MASK]"), other = id ? id : tokenizer.id_of("<mask>");
    if (!other) throw bad_file_error("the tokenizer has neither [MASK] nor <mask>, which a masked token is shown as");
    mask_ = *other;
}

void TokenMasks::apply(std::uint64_t key, const TrainingSequence& to) const {
    const auto vocabulary = static_cast<std::uint64_t>(tokenizer_.vocab_size());
    for (std::size_t i = 0; i < to.tokens.size(); ++i) {
        const std::uint64_t chosen = mixed_bits(key + i * 0x9e3779b97f4a7c15), shown = mixed_bits(chosen + 1);
        if (to.targets[i] < 0 || share_of(chosen) >= 0.15 || tokenizer_.is_special(to.targets[i]))
            to.targets[i] = -1;
        else if (share_of(shown) < 0.8)
            to.tokens[i] = mask_;
        else if (share_of(shown) < 0.9)
            to.tokens[i] = static_cast<std::int32_t>(mixed_bits(shown + 1) % vocabulary);
    }
}

TokenData::TokenData(const std::vector<std::string>& paths, const Tokenizer* tokenizer, const DatasetOptions& options,
                     Task task)
    : TrainingData(paths, tokenizer, options), context_(options.context), separate_(options.separate_documents) {
    DatasetOptions o = options;
    o.end_token = end_token_of(tokenizer, options), o.validation_files = validation_files_;
    if (tokenizer != nullptr) o.vocabulary = tokenizer->vocab_size();
    if (o.vocabulary < 1 || o.vocabulary > max_vocabulary)
        throw usage_error("a data set of token ids needs the size of the vocabulary, from 1 to {}", max_vocabulary);
    vocabulary_ = o.vocabulary;
    if (o.end_token && (*o.end_token < 0 || *o.end_token >= vocabulary_))
        throw usage_error("the end token of a data set is {}, but its vocabulary has {}", *o.end_token, vocabulary_);
    const auto has_ends = [](const std::string& file) { return !is_text_file(file) && !file.ends_with(".bin"); };
    if (separate_ && !o.end_token && !o.blank_lines && files_.size() == 1 && !has_ends(files_.front()))
        throw usage_error(
            "separate documents: nothing says where those of {} end; an end token does, or blank lines of a text",
            files_.front());
    if (task == Task::masked_tokens) {
        if (tokenizer == nullptr) throw usage_error("masked tokens need a tokenizer, which tells special tokens");
        masks_.emplace(*tokenizer);
    }
    for (const auto* files : {&files_, &validation_files_})  // also where their tokens are kept
        for (const std::string& file : *files) note_read_file(file);
    const std::string base = folder_of(o) + "/" + cache_name(files_, tokenizer, o), train = base + train_suffix,
                      validation = base + validation_suffix;
    std::error_code none;
    const auto open = [&] { tokens_.emplace(train, vocabulary_), validation_.emplace(validation, vocabulary_); };
    const bool kept = fs::exists(train, none) && fs::exists(validation, none);
    try {
        if (kept) read_skipped(base);
        if (!kept) tokenize(tokenizer, o, base);
        open();
    } catch (const Error& damage) {
        if (!kept || damage.kind() != ErrorKind::bad_file) throw;
        log(LogLevel::warning, "{}; the texts are read again", damage.what());
        skipped_.clear();
        tokenize(tokenizer, o, base);
        open();
    }
    for (const auto& [first, lines] : skipped_)
        log(LogLevel::warning, "{}; lines of the file that were left out: {}", first, lines);
    // what an epoch reads, and how
    const auto key_of = [](const TokenFile& file) {
        return format("{:016x}{:016x}", file.checksum(), checksum(std::as_bytes(file.starts())));
    };
    set_key(format("{}{}-{}", key_of(*tokens_), key_of(*validation_), context_) + (separate_ ? "-separate" : ""));
    begins_ = begins_in(*tokens_), validation_begins_ = begins_in(*validation_);
    if (begins_.empty())
        throw usage_error(
            "{} has {} tokens in {} documents, but a sequence takes {}: give more data, or a smaller context",
            description(), tokens(), documents(), context_ + 1);
    if (validation_begins_.empty() && !validation_files_.empty())
        throw usage_error("the validation data have {} tokens, but a sequence takes {}", validation_tokens(),
                          context_ + 1);
    if (targets() == 0)
        throw usage_error("{}: none of the {} tokens in {} documents is a target, so there is nothing to learn",
                          description(), tokens(), documents());
}

void TokenData::tokenize(const Tokenizer* tokenizer, const DatasetOptions& o, const std::string& base) {
    DocumentOptions options{.tokenizer = tokenizer,
                            .end_token = o.end_token,
                            .vocabulary = o.vocabulary,
                            .blank_lines = o.blank_lines,
                            .strict = o.strict};
    if (!o.chat_folder.empty()) options.chat = text::read_chat_format(o.chat_folder);
    TokenWriter train_writer(base + train_suffix, o.vocabulary),
        validation_writer(base + validation_suffix, o.vocabulary);
    const double share = validation_files_.empty() ? o.validation_share : 0;
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
        const bool measures = train_writer.documents() > 0 && share_of(hash) < share;
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
        if (counts.skipped > 0) skipped_.emplace_back(counts.first_skipped, counts.skipped);
    };
    for (const std::string& file : files_) read(file, share > 0 ? TakeTokens(split) : copy_to(train_writer));
    for (const std::string& file : validation_files_) read(file, copy_to(validation_writer));
    write_skipped(base);
    validation_writer.finish(), train_writer.finish();
}

// Each run warns about skipped lines, also one that reads the tokens from the cache.
void TokenData::write_skipped(const std::string& base) const {
    Json all = Json::array();
    for (const auto& [first, lines] : skipped_) all.push_back({{"first", first}, {"lines", lines}});
    std::error_code none;
    fs::remove(base + skipped_suffix, none);
    if (!all.empty())
        write_file(base + skipped_suffix, all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                   Replaces::own);
}
void TokenData::read_skipped(const std::string& base) {
    constexpr std::int64_t max_lines = std::int64_t{1} << 48;
    const std::string path = base + skipped_suffix;
    if (std::error_code none; !fs::exists(path, none)) return;
    const Json all = read_json(path);
    if (!all.is_array()) throw bad_file_error("{}: no list of lines that were left out", path);
    for (const Json& one : all) {
        const JsonFields fields(one, path);
        skipped_.emplace_back(fields.text("first"), fields.integer("lines", 1, max_lines));
    }
}

std::int64_t TokenData::skipped() const {
    std::int64_t lines = 0;
    for (const auto& [first, count] : skipped_) lines += count;
    return lines;
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

// An epoch passes over the tokens in equal strides, about a context each, from a place that it draws: a sequence begins
// with the first document from there on. Behind the last begin is the first one, at the mean distance of all.
std::uint64_t TokenData::begin_from(std::uint64_t key, std::uint64_t number, std::uint64_t each) const {
    const std::uint64_t last = begins_.back(),
                        around = last + last / std::max<std::uint64_t>(begins_.size() - 1, 1) + 1,
                        stride = around / each, drawn = mixed_bits(key) % stride;
    const auto found = std::ranges::lower_bound(begins_, number * stride + drawn);
    return found != begins_.end() ? *found : begins_.front();
}

void TokenData::read(std::uint64_t seed, std::int64_t index, const TrainingSequence& to) const {
    const auto each = static_cast<std::uint64_t>(sequences()), place = static_cast<std::uint64_t>(index);
    const std::uint64_t key = epoch_key(seed, place / each);
    std::uint64_t begin = begin_from(key, permuted(place % each, each, key), each);
    if (begin > 0 && !separate_ && (mixed_bits(key ^ place) & 1) != 0) --begin;  // at the end token in front of it
    read_at(*tokens_, begin, mixed_bits(mixed_bits(seed) + place), to);
}

void TokenData::read_validation(std::int64_t index, const TrainingSequence& to) const {
    const auto place = static_cast<std::uint64_t>(index);
    read_at(*validation_, validation_begins_[permuted(place, validation_begins_.size(), 0)], mixed_bits(place), to);
}

void TokenData::read_at(const TokenFile& file, std::uint64_t first, std::uint64_t key,
                        const TrainingSequence& to) const {
    clear(to);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(context_) + 1);
    file.read(first, ids);
    const std::span<const std::uint64_t> starts = file.starts();
    auto end = std::ranges::upper_bound(starts, first);  // of the document
    for (std::size_t i = 0, document = 0; i + 1 < ids.size(); ++i) {
        const std::int32_t target = ids[masks_ ? i : i + 1];
        const bool is_last = first + i + 1 == *end;
        to.tokens[i] = id_of(ids[i]);
        to.targets[i] = is_target(target) && (masks_ || !separate_ || !is_last) ? target : -1;
        if (!to.documents.empty()) to.documents[i] = static_cast<std::int32_t>(document);
        if (is_last) ++document, end = std::upper_bound(end, starts.end(), first + i + 1);
    }
    if (!to.length.empty()) to.length[0] = static_cast<std::int32_t>(context_);
    if (masks_) masks_->apply(key, to);
}

}  // namespace vantage::internal
