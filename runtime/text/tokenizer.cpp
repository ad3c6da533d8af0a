#include "vantage/tokenizer.h"

#include <algorithm>

#include "runtime/base/checksum.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/trace_span.h"
#include "runtime/text/added_tokens.h"
#include "runtime/text/decoder.h"
#include "runtime/text/model.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/post_processor.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/unicode.h"

namespace vantage {
namespace text {

/// The parts of a file, in the order in which they process a text.
class TokenizerState {
public:
    explicit TokenizerState(const JsonFields& file);

    Tokenizer::Encoding encode(std::string_view original, std::int32_t type_id) const;
    Tokenizer::Encoding post_processed(std::vector<Tokenizer::Encoding> parts, bool add_special) const {
        return concatenated(post_processor ? post_processor(std::move(parts), add_special) : parts);
    }

    /// The spelling in the vocabulary; nullptr for an unknown id.
    const std::string* token(std::int32_t id) const;

    Normalizer normalizer;  // empty: none
    PreTokenizer pre_tokenizer;
    std::unique_ptr<const Model> model;
    AddedTokens added;
    PostProcessor post_processor;
    Decoder decoder;
    std::uint64_t fingerprint = 0;
};

namespace {

/// Objects with a "type": a step of a tokenizer, or a sequence of them.
std::size_t steps_in(const Json& json) {
    std::size_t count = json.is_object() && json.contains("type") ? 1 : 0;
    if (json.is_structured())
        for (const Json& inner : json) count += steps_in(inner);
    return count;
}

// Known files have up to ten. Some steps cost time for each other one.
JsonFields checked_steps(const JsonFields& file) {
    constexpr std::size_t most = 64;
    for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
        if (const auto fields = file.optional_object(part); fields && steps_in(fields->json()) > most)
            file.fail(part, format("at most {} steps", most));
    return file;
}

template <class Made>
Made made_of(const std::optional<JsonFields>& fields, Made (*make)(const JsonFields&)) {
    return fields ? make(*fields) : Made();
}

/// For each byte offset between two characters: the number of characters before it.
std::vector<std::uint32_t> character_counts(std::string_view text) {
    std::vector<std::uint32_t> counts(text.size() + 1);
    std::uint32_t count = 0;
    for (const auto [code, begin, end] : Characters{text}) counts[end] = ++count;
    return counts;
}

}  // namespace

TokenizerState::TokenizerState(const JsonFields& file)
    : normalizer(made_of(file.optional_object("normalizer"), make_normalizer)),
      pre_tokenizer(made_of(file.optional_object("pre_tokenizer"), make_pre_tokenizer)),
      model(make_model(file.object("model"))),
      added(file, model->vocabulary(), normalizer),
      post_processor(made_of(file.optional_object("post_processor"), make_post_processor)) {
    const std::string word_end = file.object("model").optional_text("end_of_word_suffix").value_or("");
    if (const std::optional<JsonFields> fields = file.optional_object("decoder")) decoder = Decoder(*fields, word_end);
}

Tokenizer::Encoding TokenizerState::encode(std::string_view original, std::int32_t type_id) const {
    Pieces pieces = added.extract(AlignedText(original), normalizer);
    if (pre_tokenizer) pre_tokenizer(pieces);

    Tokenizer::Encoding encoding;
    const std::vector<std::uint32_t> characters = character_counts(original);
    const auto add = [&](std::int32_t id, std::string_view spelling, std::size_t begin, std::size_t end) {
        const std::vector<Origin>& origins = pieces.text.origins;
        encoding.ids.push_back(id);
        encoding.type_ids.push_back(type_id);
        encoding.tokens.emplace_back(spelling);
        encoding.offsets.emplace_back(characters[origins[begin].begin], characters[origins[end - 1].end]);
    };
    std::vector<Model::Token> word;
    for (const Piece& piece : pieces.pieces) {
        throw_if_interrupted();
        if (piece.is_token()) {
            add(piece.token, pieces.view(piece), piece.begin, piece.end);
            continue;
        }
        word.clear();
        model->tokenize(pieces.view(piece), word);
        for (const Model::Token& part : word) {
            const std::size_t begin = piece.begin + part.begin, end = piece.begin + part.end;
            add(part.id, part.verbatim ? pieces.view(begin, end) : *model->vocabulary().text_of(part.id), begin, end);
        }
    }
    return encoding;
}

const std::string* TokenizerState::token(std::int32_t id) const {
    if (const AddedToken* found = added.by_id(id)) return &found->content;
    return model->vocabulary().text_of(id);
}

namespace {

/// Repairs invalid UTF-8 first, so that all later steps can rely on it.
std::string checked_text(std::string_view bytes) {
    constexpr std::size_t longest = (std::size_t{1} << 31) - 1;  // positions in a word are 32-bit
    std::string text = repair_utf8(bytes);
    if (text.size() > longest)
        throw usage_error("the text has {} bytes, wanted at most {}: encode it in parts", text.size(), longest);
    return text;
}

/// Bytes as a label: see Tokenizer::display.
std::string visible(std::string_view bytes) {
    static constexpr std::pair<char32_t, const char*> names[] = {
        {' ', "·"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}};
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Step step = utf8_step(bytes, at);
        if (step.kind != Utf8Step::Kind::character) {
            for (unsigned i = 0; i < step.bytes; ++i)
                out += format("\\x{:02X}", static_cast<unsigned>(static_cast<unsigned char>(bytes[at + i])));
        } else {
            const char32_t c = character_at(bytes, at).code;
            const auto named = std::ranges::find(names, c, &std::pair<char32_t, const char*>::first);
            if (named != std::end(names))
                out += named->second;
            else if (c < 0x80 && is_invisible(c))
                out += format("\\x{:02X}", static_cast<unsigned>(c));
            else if (is_invisible(c))
                out += format("\\u{{{:04X}}}", static_cast<unsigned>(c));
            else if (at == 0 && is_combining_mark(c))
                out.append("◌").append(bytes, at, step.bytes);
            else
                out.append(bytes, at, step.bytes);
        }
        at += step.bytes;
    }
    return out;
}

}  // namespace
}  // namespace text

// ---- Tokenizer ------------------------------------------------------------------------------------------------------

Tokenizer Tokenizer::load(const std::string& path) {
    constexpr std::size_t limit = std::size_t{256} << 20;
    return parse(read_file(path, limit), path);
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& name) {
    const std::string shown = escape_controls(name);  // in messages
    constexpr std::size_t growth = 32;                // a vocabulary is a list of short texts
    const Json tree = parse_json(json, shown, growth);
    auto state = std::make_shared<text::TokenizerState>(text::checked_steps(JsonFields(tree, shown)));
    state->fingerprint = internal::checksum(json);
    return Tokenizer(std::move(state));
}

std::uint64_t Tokenizer::fingerprint() const { return state_->fingerprint; }

Tokenizer::Encoding Tokenizer::encode(std::string_view utf8, bool add_special) const {
    const TraceSpan span("tokenise");
    std::vector<Encoding> parts;
    parts.push_back(state_->encode(text::checked_text(utf8), 0));
    return state_->post_processed(std::move(parts), add_special);
}

Tokenizer::Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second) const {
    std::vector<Encoding> parts;
    parts.push_back(state_->encode(text::checked_text(first), 0));
    parts.push_back(state_->encode(text::checked_text(second), 1));
    return state_->post_processed(std::move(parts), true);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
    StreamDecoder stream(*this, skip_special);
    std::string text;
    for (const std::int32_t id : ids) text += stream.push(id);
    return text + stream.finish();
}

int Tokenizer::vocab_size() const {
    return std::max(state_->model->vocabulary().largest_id(), state_->added.largest_id()) + 1;
}

std::optional<int> Tokenizer::id_of(std::string_view token) const {
    if (const text::AddedToken* found = state_->added.by_content(token)) return found->id;
    return state_->model->vocabulary().id_of(token);
}

std::string Tokenizer::token_text(std::int32_t id) const {
    const std::string* token = state_->token(id);
    return token == nullptr ? std::string() : *token;
}

bool Tokenizer::has(std::int32_t id) const { return state_->token(id) != nullptr; }

bool Tokenizer::is_special(std::int32_t id) const {
    const std::string* token = state_->token(id);
    return token != nullptr && state_->added.is_special(*token);
}

std::string Tokenizer::token_bytes(std::int32_t id) const {
    const std::string* token = state_->token(id);
    if (token == nullptr) return {};
    return state_->added.by_id(id) != nullptr ? *token : state_->decoder.token_bytes(*token);
}

std::string Tokenizer::display(std::int32_t id) const {
    if (!has(id)) return "#" + std::to_string(id);
    return text::visible(token_bytes(id));
}

// ---- StreamDecoder --------------------------------------------------------------------------------------------------

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special, std::vector<std::int32_t> shown)
    : state_(tokenizer.state_),
      stream_(std::make_unique<text::DecoderStream>(state_->decoder)),
      skip_special_(skip_special),
      shown_(std::move(shown)) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

void StreamDecoder::require_stream() const {
    if (!stream_) throw internal::usage_error("this decoder was moved from: use the one that it was moved to");
}

std::string StreamDecoder::push(std::int32_t id) {
    require_stream();
    const std::string* token = state_->token(id);
    if (token == nullptr) return {};
    if (skip_special_ && state_->added.is_special(*token) && std::ranges::count(shown_, id) == 0) return {};
    stream_->push(*token);
    return stream_->take();
}

std::string StreamDecoder::finish() {
    require_stream();
    stream_->finish();
    std::string rest = stream_->take();
    stream_ = std::make_unique<text::DecoderStream>(state_->decoder);
    return rest;
}

}  // namespace vantage
