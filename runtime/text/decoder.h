// Decoders of tokenizer.json, as a chain of stages that work on tokens as they come: decoding all at once and decoding
// while a model writes are the same code.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"

namespace vantage::text {

/// A stage takes tokens in chunks of whole characters and gives chunks to the next. Tokens are the unit of some stages
/// (Strip works on each); from the stage that joins all into one text, that text is a single token of many chunks.
class DecoderStage {
public:
    virtual ~DecoderStage() = default;
    /// `ends`: the chunk is the last one of its token.
    virtual void push(std::string_view chunk, bool ends) = 0;
    /// No token follows. Passes on what was held back.
    virtual void finish() = 0;

    void connect(DecoderStage* next) { next_ = next; }

protected:
    DecoderStage& next() const { return *next_; }

private:
    DecoderStage* next_ = nullptr;
};

/// What the stages of a stream know of it together: the bytes of all tokens so far, against which replacements that blow
/// up the text are measured.
struct DecoderBudget {
    std::size_t fed = 0;
};

/// The decoder of a file: makes a chain per text, and knows what a single token stands for.
class Decoder {
public:
    /// Without a decoder: tokens with spaces between them.
    Decoder();
    /// The field "decoder". Throws bad_file for a kind that is not known, with the list of those that are.
    explicit Decoder(const JsonFields& fields);

    /// The bytes of one token inside a text. Throws bad_file when replacements blow them up.
    std::string token_bytes(std::string_view token) const;

    using Make = std::function<std::unique_ptr<DecoderStage>(const DecoderBudget&)>;
    /// Of a token as the stages before left it; `fed` is its size in the vocabulary.
    using Bytes = std::function<std::optional<std::string>(const std::string& token, std::size_t fed)>;

private:
    friend class DecoderStream;
    void add(const JsonFields& fields);
    /// What a stage that replaces a plain text makes of a token alone.
    void add_rule(const std::string& wanted, const std::string& content, const std::string& file);

    std::vector<Make> stages_;
    // What each stage makes of a token alone; nothing when it leaves it as it is. Behind a final one stand bytes, which
    // need not be text, and the later stages have no say.
    struct TokenRule {
        Bytes apply;
        bool is_final;
    };
    std::vector<TokenRule> rules_;
};

/// One text in the making.
class DecoderStream {
public:
    explicit DecoderStream(const Decoder& decoder);
    DecoderStream(const DecoderStream&) = delete;
    DecoderStream& operator=(const DecoderStream&) = delete;

    void push(std::string_view token);
    void finish();
    /// The text that became certain since the last call.
    std::string take();

private:
    DecoderBudget budget_;
    std::string out_;
    std::vector<std::unique_ptr<DecoderStage>> stages_;
};

}  // namespace vantage::text
