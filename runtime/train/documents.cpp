#include "runtime/train/documents.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"
#include "runtime/text/unicode.h"
#include "runtime/train/token_file.h"

namespace vantage::internal {

namespace {

using text::jinja::OrderedJson;
using Ids = std::vector<std::int32_t>;

constexpr std::size_t max_messages = 2000;  // of a conversation
constexpr std::size_t piece_bytes = std::size_t{1} << 22, longest_line = std::size_t{1} << 24;
// Longer texts are tokenised in parts, cut behind a line, so that memory stays bounded.
constexpr std::size_t encoded_at_once = std::size_t{1} << 20;
constexpr const char* end_of_text = "<|endoftext|>";

/// The parts of a file between separators (an empty one: the whole file), with bounded memory. A line end of \r\n is
/// read as \n.
class Parts {
public:
    Parts(const std::string& path, std::string separator)
        : path_(path), bytes_(path), separator_(std::move(separator)) {}
    /// False at the end. A part longer than `most` bytes is cut behind a line, or with `whole` refused.
    bool next(std::string& part, std::size_t most, bool whole) {
        while (true) {
            const std::size_t found = separator_.empty() ? std::string::npos : buffer_.find(separator_, searched_);
            if (found != std::string::npos) return take(part, found, found + separator_.size(), true, true);
            searched_ = std::max(begin_, buffer_.size() - std::min(buffer_.size(), overlap()));
            if (buffer_.size() - begin_ > most + overlap()) {
                if (whole) throw bad_file_error("{}: a line of more than {} bytes", path_, most);
                const std::size_t end = cut_before(begin_ + most);
                return take(part, end, end, false);
            }
            if (read_ == bytes_.size())
                return begin_ < buffer_.size() && take(part, buffer_.size(), buffer_.size(), true);
            read_piece();
        }
    }
    /// Whether the last part ended at a separator or the end of the file, and whether that was a separator.
    bool ended() const { return ended_; }
    bool separated() const { return separated_; }
    double done() const { return bytes_.empty() ? 1 : static_cast<double>(read_) / static_cast<double>(bytes_.size()); }

private:
    // What the beginning of a separator may take of the end of the buffer.
    std::size_t overlap() const { return std::max<std::size_t>(separator_.size(), 1) - 1; }
    bool take(std::string& part, std::size_t end, std::size_t next, bool ended, bool separated = false) {
        part.assign(buffer_, begin_, end - begin_);
        begin_ = searched_ = next, ended_ = ended, separated_ = separated;
        return true;
    }
    // Behind the last line end up to `end`, or without one between two characters.
    std::size_t cut_before(std::size_t end) const {
        const std::size_t line = buffer_.rfind('\n', end - 1);
        if (line != std::string::npos && line >= begin_) return line + 1;
        constexpr std::size_t max_continuation = 3;  // bytes of a character behind its first
        std::size_t cut = end;
        const auto continues = [&] { return (static_cast<unsigned char>(buffer_[cut]) & 0xC0U) == 0x80U; };
        while (cut > begin_ + 1 && end - cut <= max_continuation && continues()) --cut;
        return continues() ? end : cut;  // no UTF-8 anyway
    }
    void read_piece() {
        buffer_.erase(0, begin_);
        searched_ -= begin_, begin_ = 0;
        const std::size_t old = buffer_.size(), count = std::min<std::uint64_t>(piece_bytes, bytes_.size() - read_);
        buffer_.resize(old + count);
        bytes_.read(read_, std::as_writable_bytes(std::span(buffer_).subspan(old)));
        if (read_ == 0 && buffer_.starts_with(byte_order_mark)) buffer_.erase(0, byte_order_mark.size());
        read_ += count;
        std::size_t to = old - (old > 0 && buffer_[old - 1] == '\r' ? 1 : 0);
        searched_ = std::min(searched_, to - std::min(to, overlap()));  // that \r may become the \n of a separator
        for (std::size_t from = to; from < buffer_.size(); ++from)
            if (buffer_[from] != '\r' || from + 1 == buffer_.size() || buffer_[from + 1] != '\n')
                buffer_[to++] = buffer_[from];
        buffer_.resize(to);
    }
    std::string path_;
    ByteSource bytes_;
    std::string separator_, buffer_;
    std::size_t begin_ = 0, searched_ = 0;  ///< of the next part, and how far it has no separator
    std::uint64_t read_ = 0;
    bool ended_ = true, separated_ = false;
};

bool contains(const std::string& path, const std::string& word) {
    Parts parts(path, word);
    std::string part;
    while (parts.next(part, encoded_at_once, false))
        if (parts.ended()) return parts.separated();
    return false;
}

/// What a file's name ends with, in small letters: ".jsonl".
std::string kind_of(const std::string& path) {
    std::string kind = std::filesystem::path(path).extension().string();
    std::ranges::transform(kind, kind.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    return kind;
}

/// A text with the parts of it that a model learns to say: begin and end in bytes, ascending.
struct Spoken {
    std::string text = {};
    std::vector<std::pair<std::size_t, std::size_t>> targets = {};
    bool special = true;  ///< the tokenizer adds its special tokens; a chat template writes them itself
    void add(const std::string& part, bool target) {
        if (target && !part.empty()) targets.emplace_back(text.size(), text.size() + part.size());
        text += part;
    }
};

using TakeText = std::function<void(const std::string& text)>;

class DocumentReader {
public:
    DocumentReader(const std::string& path, const DocumentOptions& options, const TakeTokens& take,
                   const std::function<void(double)>& progress, TakeText take_text = {})
        : path_(path), options_(options), take_(take), progress_(progress), take_text_(std::move(take_text)) {}

    DocumentCounts read() {
        const std::string kind = kind_of(path_);
        if (kind == ".gz" || kind == ".zst" || kind == ".xz")
            throw bad_file_error("{} is compressed: decompress it first", path_);
        if (kind == ".jsonl")
            read_lines();
        else if (take_text_ && (kind == ".bin" || kind == ".safetensors"))
            throw bad_file_error("{} has token ids, but a text is wanted", path_);
        else if (kind == ".bin")
            read_token_ids();
        else if (kind == ".safetensors")
            read_tensors();
        else
            read_text();
        return counts_;
    }

private:
    // Formats that are no text have NUL bytes near their begin, and so has UTF-16.
    void refuse_binary() const {
        const ByteSource bytes(path_);
        std::vector<std::byte> begin(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), 1 << 16)));
        bytes.read(0, begin);
        if (std::ranges::find(begin, std::byte()) != begin.end())
            throw bad_file_error("{} is no text: it has a NUL byte, as binary files and UTF-16 have", path_);
    }

    // ---- text -------------------------------------------------------------------------------------------------------

    void read_text() {
        refuse_binary();
        Parts parts(path_, options_.blank_lines ? "\n\n" : contains(path_, end_of_text) ? end_of_text : "");
        std::string part;
        bool begins = true;
        while (parts.next(part, encoded_at_once, false)) {
            note(parts.done());
            if (parts.ended()) part.erase(part.find_last_not_of('\n') + 1);
            if (begins) part.erase(0, std::min(part.find_first_not_of('\n'), part.size()));
            if (begins && part.empty()) continue;  // not a document of special tokens alone
            if (take_text_) {
                take_text_(part);
                counts_.documents += parts.ended() ? 1 : 0;
            } else {
                add(tokenizer().encode(part, begins).ids, parts.ended());
            }
            begins = parts.ended();
        }
    }

    // ---- lines of JSON ----------------------------------------------------------------------------------------------

    void read_lines() {
        const auto take = [&](const std::string& line, const std::string& name) {
            try {
                const Json json = parse_json(line, name);
                const JsonFields fields(json, name);
                if (take_text_)
                    take_texts(fields);
                else
                    add(encoded(spoken(fields)));
            } catch (const Error& problem) {
                if (options_.strict || problem.kind() != ErrorKind::bad_file) throw;
                if (counts_.skipped++ == 0) counts_.first_skipped = problem.what();
                if (counts_.skipped > 10 + counts_.documents / 1000)
                    throw bad_file_error("{}: {} lines cannot be read; the first: {}", path_, counts_.skipped,
                                         counts_.first_skipped);
            }
        };
        read_json_lines(path_, take, progress_);
        if (counts_.documents == 0 && counts_.skipped > 0) throw bad_file_error("{}", counts_.first_skipped);
    }

    void take_texts(const JsonFields& fields) {
        std::vector<std::string> texts;
        if (fields.has("messages")) {
            for (const Json& message : fields.list("messages"))
                if (const auto found = message.find("content"); found != message.end() && found->is_string())
                    texts.push_back(found->get<std::string>());  // not of calls of tools
        } else {
            texts.push_back(spoken(fields).text);
        }
        for (const std::string& text : texts) take_text_(text);
        ++counts_.documents;
    }

    Spoken spoken(const JsonFields& fields) const {
        Spoken all;
        if (fields.has("text")) {
            all.add(fields.text("text"), true);
        } else if (fields.has("messages")) {
            add_conversation(all, fields);
        } else if (fields.has("prompt")) {
            all.add(fields.text("prompt"), false);
            all.add(fields.text("completion"), true);
        } else if (fields.has("instruction")) {
            const std::string input = fields.optional_text("input").value_or("");
            all.add(fields.text("instruction") + "\n" + (input.empty() ? "" : input + "\n"), false);
            all.add(fields.text("output"), true);
        } else {
            throw bad_file_error("{}: no field \"text\", \"messages\", \"prompt\" or \"instruction\"", fields.name());
        }
        return all;
    }

    // What the template adds for a reply is what the model is to say: from where it invites a reply to behind it.
    void add_conversation(Spoken& all, const JsonFields& fields) const {
        if (!options_.chat || !options_.chat->chat_template)
            throw bad_file_error("{}: messages, but there is no model with a chat template to write them",
                                 fields.name());
        const Json& messages = fields.list("messages");
        // Each reply is found by writing all before it, so the time is that of the square of their number.
        if (messages.size() > max_messages)
            throw bad_file_error("{}: {} messages, at most {} are supported", fields.name(), messages.size(),
                                 max_messages);
        all.special = false;
        OrderedJson variables = options_.chat->tokens;
        variables["messages"] = OrderedJson::array(), variables["add_generation_prompt"] = false;
        OrderedJson& shown = variables["messages"];
        const auto written = [&](bool reply_follows) {
            throw_if_interrupted();
            variables["add_generation_prompt"] = reply_follows;
            try {
                return options_.chat->chat_template->render(variables, 0);
            } catch (const Error& error) {  // it refuses this conversation (usage), or fails with it
                if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::bad_file) throw;
                throw bad_file_error("{}: {}", fields.name(), error.what());
            }
        };
        const auto add_rest = [&](const std::string& whole, bool target) {
            if (!whole.starts_with(all.text))
                throw bad_file_error("{}: the chat template rewrites earlier messages, so that replies have no place",
                                     fields.name());
            all.add(whole.substr(all.text.size()), target);
        };
        for (const Json& message : messages) {
            const bool reply = JsonFields(message, fields.name(), "messages").text("role") == "assistant";
            if (reply) add_rest(written(true), false);
            shown.push_back(OrderedJson(message));
            if (reply) add_rest(written(false), true);
        }
        add_rest(written(false), false);
    }

    // A token counts where its text begins in a part that counts.
    Ids encoded(const Spoken& spoken) const {
        const Tokenizer::Encoding encoding = tokenizer().encode(spoken.text, spoken.special);
        Ids ids = encoding.ids;
        if (spoken.targets.size() == 1 &&
            spoken.targets[0] == std::pair<std::size_t, std::size_t>(0, spoken.text.size()))
            return ids;
        std::vector<bool> counts;  // by code point
        std::size_t target = 0;
        for (std::size_t byte = 0; byte < spoken.text.size(); ++byte) {
            if ((static_cast<unsigned char>(spoken.text[byte]) & 0xC0U) == 0x80U) continue;
            while (target < spoken.targets.size() && byte >= spoken.targets[target].second) ++target;
            counts.push_back(target < spoken.targets.size() && byte >= spoken.targets[target].first);
        }
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto [begin, end] = encoding.offsets[i];
            if (begin >= end || begin >= counts.size() || !counts[begin]) ids[i] |= not_a_target;
        }
        return ids;
    }

    // ---- ids --------------------------------------------------------------------------------------------------------

    void read_token_ids() {
        const ByteSource bytes(path_);
        std::array<std::int32_t, 256> header{};
        std::uint64_t begin = 0;
        unsigned width = 2;
        if (bytes.size() >= sizeof(header)) {
            bytes.read(0, std::as_writable_bytes(std::span(header)));
            if (header[0] == 20240520 || header[0] == 20240801) begin = sizeof(header);
            if (header[0] == 20240801) width = 4;
        }
        const std::uint64_t count = (bytes.size() - begin) / width;
        if ((bytes.size() - begin) % width != 0 ||
            (begin > 0 && static_cast<std::uint64_t>(static_cast<std::uint32_t>(header[2])) != count))
            throw bad_file_error("{}: {} bytes are not the tokens that it says it has", path_, bytes.size());
        Ids document;
        for (std::uint64_t first = 0; first < count; first += piece_bytes) {
            const std::uint64_t here = std::min<std::uint64_t>(piece_bytes, count - first);
            note(static_cast<double>(first) / static_cast<double>(count));
            std::vector<std::byte> raw(here * width);
            bytes.read(begin + first * width, raw);
            for (std::uint64_t i = 0; i < here; ++i) {
                std::uint32_t id = 0;
                std::memcpy(&id, raw.data() + i * width, width);
                document.push_back(checked(id, first + i));
                if (options_.end_token != document.back()) continue;
                add(document);
                document.clear();
            }
            add(document, false);  // of a file without end tokens no more than a piece is in memory
            document.clear();
        }
        add({});
    }

    void read_tensors() {
        const SafeTensors file(path_);
        const auto numbers = [&](const char* name, const char* dtype, auto example) {
            std::vector<decltype(example)> values;
            if (const TensorEntry* entry = file.find(name)) {
                if (entry->dtype != dtype)
                    throw bad_file_error("{}: {} is {}, wanted {}", path_, name, entry->text(), dtype);
                values.resize(static_cast<std::size_t>(entry->elements()));
                entry->data.read(0, std::as_writable_bytes(std::span(values)));
            }
            return values;
        };
        Ids ids = numbers("tokens", "I32", std::int32_t{});
        if (file.find("tokens") == nullptr) throw bad_file_error("{}: no tensor \"tokens\"", path_);
        const std::vector<std::uint8_t> mask = numbers("mask", "U8", std::uint8_t{});
        std::vector<std::int64_t> starts = numbers("documents", "I64", std::int64_t{});
        if (file.find("mask") != nullptr && mask.size() != ids.size())
            throw bad_file_error("{}: {} tokens, but {} in the mask", path_, ids.size(), mask.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ids[i] = checked(static_cast<std::uint32_t>(ids[i]), i);
            if (!mask.empty() && mask[i] == 0) ids[i] |= not_a_target;
        }
        if (starts.empty()) starts.push_back(0);
        starts.push_back(std::ssize(ids));
        for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
            if ((i == 0 && starts[i] != 0) || starts[i] > starts[i + 1] || starts[i + 1] > std::ssize(ids))
                throw bad_file_error("{}: document {} begins at {}", path_, i, starts[i]);
            add(std::span(ids).subspan(static_cast<std::size_t>(starts[i]),
                                       static_cast<std::size_t>(starts[i + 1] - starts[i])));
        }
    }

    std::int32_t checked(std::uint32_t id, std::uint64_t place) const {
        const auto vocabulary = static_cast<std::uint32_t>(options_.vocabulary);
        if (id >= vocabulary)
            throw bad_file_error("{}: token {} is id {}, but the vocabulary has {}", path_, place, id, vocabulary);
        return static_cast<std::int32_t>(id);
    }

    // -----------------------------------------------------------------------------------------------------------------

    const Tokenizer& tokenizer() const {
        if (options_.tokenizer == nullptr) throw bad_file_error("{} is text, but there is no tokenizer", path_);
        return *options_.tokenizer;
    }
    void note(double done) const {
        throw_if_interrupted();
        if (progress_) progress_(done);
    }
    // Of a document, or of its next part.
    void add(std::span<const std::int32_t> ids, bool ends = true) {
        Ids all(ids.begin(), ids.end());
        if (!all.empty()) last_ = all.back();
        if (ends && last_ && options_.end_token && id_of(*last_) != *options_.end_token)
            all.push_back(is_target(*last_) ? *options_.end_token : *options_.end_token | not_a_target);
        const bool document = ends && last_.has_value();
        if (document) ++counts_.documents, last_.reset();
        if (document || !all.empty()) take_(all, document);
    }

    const std::string& path_;
    const DocumentOptions& options_;
    const TakeTokens& take_;
    const std::function<void(double)>& progress_;
    TakeText take_text_;  ///< in place of tokens
    DocumentCounts counts_;
    std::optional<std::int32_t> last_;  ///< id of the document that has begun
};

}  // namespace

bool is_text_file(const std::string& path) {
    const std::string kind = kind_of(path);
    return kind != ".jsonl" && kind != ".bin" && kind != ".safetensors";
}

DocumentCounts read_documents(const std::string& path, const DocumentOptions& options, const TakeTokens& take,
                              const std::function<void(double)>& progress) {
    return DocumentReader(path, options, take, progress).read();
}

DocumentCounts read_texts(const std::string& path, const DocumentOptions& options, const TakeText& take,
                          const std::function<void(double)>& progress) {
    const TakeTokens none;
    return DocumentReader(path, options, none, progress, take).read();
}

void read_json_lines(const std::string& path,
                     const std::function<void(const std::string& line, const std::string& name)>& take,
                     const std::function<void(double)>& progress) {
    Parts parts(path, "\n");
    std::string line;
    for (std::int64_t number = 1; parts.next(line, longest_line, true); ++number) {
        throw_if_interrupted();
        if (progress) progress(parts.done());
        if (line.find_first_not_of(" \t\r") != std::string::npos) take(line, format("{}:{}", path, number));
    }
}

}  // namespace vantage::internal
