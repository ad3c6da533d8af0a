// Decoders of tokenizer.json, as a chain of streaming stages, so that decoding a list of ids and streaming share the
// code.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"

namespace vantage::text {

/// A stage receives tokens in chunks of whole characters and passes chunks to the next stage. Some stages work per
/// token (Strip). After a stage that fuses all tokens, the text is a single token of many chunks.
class DecoderStage {
public:
    virtual ~DecoderStage() = default;
    /// `ends`: the chunk is the last one of its token.
    virtual void push(std::string_view chunk, bool ends) = 0;
    /// There are no more tokens. Passes on what was held back.
    virtual void finish() { next().finish(); }

    void connect(DecoderStage* next) { next_ = next; }

protected:
    DecoderStage& next() const { return *next_; }

private:
    DecoderStage* next_ = nullptr;
};

/// Shared by the stages of a stream: the bytes of all tokens so far, to which the growth by replacements is compared.
struct DecoderBudget {
    std::size_t fed = 0;
};

/// The decoder of a file. Creates a chain of stages per text, and gives the text of single tokens.
class Decoder {
public:
    /// Without a decoder: tokens with spaces between them.
    Decoder();
    /// Reads the field "decoder". Throws bad_file with the list of supported kinds for an unknown kind.
    /// A ByteLevel decoder writes a space for `word_end`, which CLIP's words end with, as transformers does.
    explicit Decoder(const JsonFields& fields, const std::string& word_end = {});

    /// The bytes of one token inside a text. Throws bad_file if replacements make it too long.
    std::string token_bytes(std::string_view token) const;

    using Make = std::function<std::unique_ptr<DecoderStage>(const DecoderBudget&)>;
    /// A token after the previous stages; `fed` is its size in the vocabulary.
    using Bytes = std::function<std::optional<std::string>(const std::string& token, std::size_t fed)>;

private:
    friend class DecoderStream;
    void add(const JsonFields& fields);
    /// How a stage that replaces a plain string changes a single token.
    void add_rule(const std::string& wanted, const std::string& content, const std::string& file);

    std::vector<Make> stages_;
    // How each stage changes a single token; nothing if it does not. A final one produces bytes, which need not be
    // text:
    // the later stages are skipped.
    struct TokenRule {
        Bytes apply;
        bool is_final;
    };
    std::vector<TokenRule> rules_;
};

/// The state of decoding one text.
class DecoderStream : NotCopied {
public:
    explicit DecoderStream(const Decoder& decoder);
    void push(std::string_view token);
    void finish();
    /// The text that became final since the last call.
    std::string take();

private:
    DecoderBudget budget_;
    std::string out_;
    std::vector<std::unique_ptr<DecoderStage>> stages_;
};

}  // namespace vantage::text
