// Text to token ids and back, as a Hugging Face tokenizer.json says; and training of such files.
//
// Threads: any, for a Tokenizer; one at a time for a StreamDecoder and a BpeTrainer.
// Errors: as said below. A call that throws changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vantage {

namespace text {
class TokenizerState;
class DecoderStream;
class BpeTrainerState;
}  // namespace text

/// A tokenizer, never changed after loading: copies are free.
///
/// Threads: any. A moved-from tokenizer is a copy: it stays valid.
///
/// Models: byte-pair encoding (BPE), byte-level as GPT-2's, RoBERTa's and Llama 3's or SentencePiece-like with byte
/// fallback as Llama 2's; WordPiece as BERT's; Unigram as T5's and XLM-R's. Results are those of the Hugging Face
/// library `tokenizers`, with two settings of the file left out: `truncation` and `padding` are for batches of a
/// training run. Source: https://huggingface.co/docs/tokenizers
class Tokenizer {
public:
    Tokenizer(const Tokenizer&) = default;
    Tokenizer& operator=(const Tokenizer&) = default;
    /// Reads tokenizer.json. Throws bad_file: missing, not JSON, damaged, or with a component of a kind that is not
    /// known; the message names the file, what was found and what is known.
    static Tokenizer load(const std::string& tokenizer_json_path);
    /// The same from memory; `name_for_errors` stands for the file in messages.
    static Tokenizer parse(std::string_view json, const std::string& name_for_errors);

    /// An encoded text; the lists are equally long.
    struct Encoding {
        std::vector<std::int32_t> ids;
        std::vector<std::int32_t> type_ids;  ///< which of two texts, or what the template says
        std::vector<std::string> tokens;  ///< the vocabulary's spelling, such as "Ġthe"; Unigram's unknown: the text's
        /// The part of the original text behind each token: begin and end in Unicode code points. Several tokens of one
        /// character all have its place; special tokens that were added have (0, 0).
        std::vector<std::pair<std::size_t, std::size_t>> offsets;
    };

    /// `add_special`: with the tokens that the file's post-processor puts around a text, such as <s>. Special tokens
    /// that are spelled out in the text are recognized either way. Any bytes are accepted: each longest sequence that
    /// is not UTF-8 counts as one U+FFFD. Throws usage for a text of 2 GiB or more, and bad_file where a pattern of the
    /// file runs into its limits on this text.
    Encoding encode(std::string_view utf8, bool add_special = true) const;
    /// Two texts in one sequence, with special tokens; `type_ids` tell them apart where the file does, and each offset
    /// is in its own text.
    Encoding encode_pair(std::string_view first, std::string_view second) const;

    /// The text of ids, always valid UTF-8: what is not becomes U+FFFD. Ids without a token give nothing: models may
    /// have more outputs than the tokenizer has tokens. `skip_special`: without special tokens.
    std::string decode(std::span<const std::int32_t> ids, bool skip_special) const;

    /// The largest id plus one: what a model must have at least.
    int vocab_size() const;
    /// The id of a token in the vocabulary's spelling.
    std::optional<int> id_of(std::string_view token) const;
    /// The vocabulary's spelling; empty for an id without a token.
    std::string token_text(std::int32_t id) const;
    bool has(std::int32_t id) const;
    bool is_special(std::int32_t id) const;
    /// The bytes that a token stands for inside a text; they may be part of a character only.
    std::string token_bytes(std::int32_t id) const;
    /// A token as a label of one line that shows what is in it: a space as ·, control and other invisible characters as
    /// escapes (\n, \u{200B}), bytes that are no UTF-8 as \xE2, a mark without its letter on a ◌; special tokens as
    /// they are, ids without a token as #1234.
    std::string display(std::int32_t id) const;

    /// A hash of the file's text, such as names the tokens that a training run keeps on disk.
    std::uint64_t fingerprint() const;

private:
    friend class StreamDecoder;
    explicit Tokenizer(std::shared_ptr<const text::TokenizerState> state) : state_(std::move(state)) {}
    std::shared_ptr<const text::TokenizerState> state_;
};

/// Decodes ids as they come. What `push` and `finish` return is valid UTF-8, never half a character, and joined it is
/// exactly what `Tokenizer::decode` makes of all ids. A character is held back until it is complete, a run of byte
/// tokens (<0xE2> …) until it ends, since its last byte decides what becomes of all of them.
///
/// Threads: one at a time. A moved-from decoder throws usage.
class StreamDecoder {
public:
    /// `shown`: special tokens that are not skipped.
    explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true, std::vector<std::int32_t> shown = {});
    ~StreamDecoder();
    StreamDecoder(StreamDecoder&&) noexcept;
    StreamDecoder& operator=(StreamDecoder&&) noexcept;

    /// The text that this id completes; often empty.
    std::string push(std::int32_t id);
    /// What was held back. Afterwards the decoder stands at the start of a new text.
    std::string finish();

private:
    void require_stream() const;
    std::shared_ptr<const text::TokenizerState> state_;
    std::unique_ptr<text::DecoderStream> stream_;
    bool skip_special_;
    std::vector<std::int32_t> shown_;
};

/// What a BpeTrainer makes.
struct BpeTrainingOptions {
    /// Tokens: the special ones, one for each of the 256 bytes, and one for each merge. There are fewer when a text has
    /// no pair left to merge.
    std::int64_t vocab = 0;
    /// A pair of tokens is merged if the text has it at least this often. 2 is the default of Hugging Face's
    /// ByteLevelBPETokenizer; that of its BpeTrainer is 0, which merges all pairs.
    std::int64_t min_frequency = 2;
    /// They get the first ids, in this order. Texts that are added may spell them out, but that is text like any other.
    std::vector<std::string> special_tokens;
    /// The tokenizer puts a space before a text that has none, so that its first word is one like the others.
    bool add_prefix_space = false;
};

/// Trains a byte-level BPE vocabulary: begins with the 256 bytes, and merges the most frequent pair of neighbouring
/// tokens in the words of a text, again and again. Source: Sennrich, Haddow and Birch 2016,
/// https://arxiv.org/abs/1508.07909; words and bytes as in GPT-2.
///
/// Vocabulary and merges are equal to those of Hugging Face's `tokenizers` (BpeTrainer with ByteLevel.alphabet() as its
/// initial alphabet), in whatever order the documents come. Pairs are counted in 64 bits, there in 32.
///
/// Threads: one at a time. A moved-from trainer throws usage.
class BpeTrainer {
public:
    /// Throws usage for a vocabulary that is too small for bytes and special tokens or larger than 2^30, for a negative
    /// frequency, and for special tokens that are empty, given twice, not UTF-8 or longer than 4096 bytes.
    explicit BpeTrainer(BpeTrainingOptions options);
    ~BpeTrainer();
    BpeTrainer(BpeTrainer&&) noexcept;
    BpeTrainer& operator=(BpeTrainer&&) noexcept;

    /// Counts the words of a document. They end where it ends, so a text is best cut where a line begins. Takes memory
    /// for new words and, during the call, for a copy of the document and about 32 bytes for each of its words. Bytes
    /// that are not UTF-8 count as in Tokenizer::encode. Throws usage for a document of 2 GiB or more.
    void add(std::string_view utf8);
    /// The distinct words of all documents.
    std::size_t words() const;

    /// Called after each merge with the tokens so far and the wanted number. What it throws passes through.
    using Progress = std::function<void(std::int64_t tokens, std::int64_t wanted)>;
    /// Trains on the documents so far: the text of a tokenizer.json, which Tokenizer::parse and Hugging Face's
    /// Tokenizer.from_file read. Throws usage if no document has a word.
    std::string tokenizer_json(const Progress& progress = {}) const;

private:
    text::BpeTrainerState& state() const;
    std::unique_ptr<text::BpeTrainerState> state_;
};

}  // namespace vantage
