// The public trainer: checks of its options, the words of documents, and the file that it makes.
#include <algorithm>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/base/trace_span.h"
#include "runtime/text/added_tokens.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/train_bpe.h"
#include "runtime/text/unicode.h"

namespace vantage {
namespace text {
namespace {

void check_special_tokens(const std::vector<std::string>& tokens) {
    std::set<std::string_view> seen;
    for (const std::string& token : tokens) {
        if (token.empty()) throw usage_error("a special token is empty, wanted a text such as <|endoftext|>");
        if (!is_utf8(token)) throw usage_error("the special token {} is not UTF-8", in_quotes(token));
        if (token.size() > longest_added_token)
            throw usage_error("the special token {} has {} bytes, wanted at most {}", in_quotes(token), token.size(),
                              longest_added_token);
        if (!seen.insert(token).second)
            throw usage_error("the special token {} is given twice, wanted distinct ones", in_quotes(token));
    }
}

void check_training_options(const BpeTrainingOptions& options) {
    check_special_tokens(options.special_tokens);
    if (options.min_frequency < 0)
        throw usage_error("the minimum frequency of a pair is {}, wanted at least 0", options.min_frequency);
    const auto smallest = static_cast<std::int64_t>(initial_tokens(options.special_tokens).size());
    if (options.vocab < smallest || options.vocab > largest_token_id + 1)
        throw usage_error("a vocabulary of {} tokens, wanted {} to {}: 256 for bytes and {} for special tokens",
                          options.vocab, smallest, largest_token_id + 1, smallest - 256);
}

// ---- the file -------------------------------------------------------------------------------------------------------

std::string in_json(const std::string& text) { return Json(text).dump(); }

/// A list or an object of rows that are JSON already, in the layout of Hugging Face's pretty files.
std::string json_block(const char* brackets, const std::vector<std::string>& rows, const std::string& indent) {
    std::string block(1, brackets[0]);
    for (const std::string& row : rows) block += (&row == rows.data() ? "\n  " : ",\n  ") + indent + row;
    if (!rows.empty()) block += "\n" + indent;
    return block + brackets[1];
}

std::string added_tokens_json(const std::vector<std::string>& special_tokens) {
    std::vector<std::string> rows;
    for (const std::string& token : special_tokens)
        rows.push_back(json_block(
            "{}",
            {"\"id\": " + std::to_string(rows.size()), "\"content\": " + in_json(token), "\"single_word\": false",
             "\"lstrip\": false", "\"rstrip\": false", "\"normalized\": false", "\"special\": true"},
            "    "));
    return json_block("[]", rows, "  ");
}

std::string vocabulary_json(const std::vector<std::string>& tokens) {
    std::vector<std::string> rows;
    for (const std::string& token : tokens) rows.push_back(in_json(token) + ": " + std::to_string(rows.size()));
    return json_block("{}", rows, "    ");
}

std::string merges_json(const TrainedBpe& trained) {
    std::vector<std::string> rows;
    for (const auto& [left, right] : trained.merges)
        rows.push_back(json_block("[]", {in_json(trained.tokens[left]), in_json(trained.tokens[right])}, "      "));
    return json_block("[]", rows, "    ");
}

std::string byte_level_json(bool add_prefix_space, bool trim_offsets) {
    const auto flag = [](const char* key, bool value) { return format("\"{}\": {}", key, value ? "true" : "false"); };
    return json_block("{}",
                      {"\"type\": \"ByteLevel\"", flag("add_prefix_space", add_prefix_space),
                       flag("trim_offsets", trim_offsets), "\"use_regex\": true"},
                      "  ");
}

/// What `Tokenizer.save` of Hugging Face's library writes for these components, byte for byte.
std::string file_of(const TrainedBpe& trained, const BpeTrainingOptions& options) {
    const std::string model = json_block(
        "{}",
        {"\"type\": \"BPE\"", "\"dropout\": null", "\"unk_token\": null", "\"continuing_subword_prefix\": null",
         "\"end_of_word_suffix\": null", "\"fuse_unk\": false", "\"byte_fallback\": false", "\"ignore_merges\": false",
         "\"vocab\": " + vocabulary_json(trained.tokens), "\"merges\": " + merges_json(trained)},
        "  ");
    return json_block("{}",
                      {"\"version\": \"1.0\"", "\"truncation\": null", "\"padding\": null",
                       "\"added_tokens\": " + added_tokens_json(options.special_tokens), "\"normalizer\": null",
                       "\"pre_tokenizer\": " + byte_level_json(options.add_prefix_space, true),
                       // Its only effect: offsets keep the space before a word.
                       "\"post_processor\": " + byte_level_json(true, false),
                       // It has the fields of a pre-tokenizer, which have no effect.
                       "\"decoder\": " + byte_level_json(true, true), "\"model\": " + model},
                      "");
}

}  // namespace

// ---- the words ------------------------------------------------------------------------------------------------------

class BpeTrainerState {
public:
    explicit BpeTrainerState(BpeTrainingOptions wanted) : options(std::move(wanted)), finder_(gpt2_words()) {
        check_training_options(options);
    }

    void add(std::string_view utf8) {
        std::string text = repair_utf8(utf8);
        constexpr std::size_t longest = (std::size_t{1} << 31) - 1;  // lengths in train_bpe.cpp are 32-bit
        if (text.size() > longest)
            throw usage_error("the document has {} bytes, wanted at most {}: add it in parts", text.size(), longest);
        if (options.add_prefix_space && !text.empty() && text.front() != ' ') text.insert(0, 1, ' ');
        count(text, finder_(text));
    }

    const BpeTrainingOptions options;
    StringMap<std::int64_t> words;

private:
    /// All places or, after an exception, none.
    void count(std::string_view text, const std::vector<Match>& places) {
        const auto word = [&](std::size_t i) { return text.substr(places[i].begin, places[i].end - places[i].begin); };
        std::size_t counted = 0;
        try {
            for (; counted < places.size(); ++counted) {
                throw_if_interrupted();
                if (const auto found = words.find(word(counted)); found != words.end())
                    ++found->second;
                else
                    words.emplace(word(counted), 1);
            }
        } catch (...) {
            while (counted-- > 0)
                if (const auto found = words.find(word(counted)); --found->second == 0) words.erase(found);
            throw;
        }
    }

    Finder finder_;
};

}  // namespace text

BpeTrainer::BpeTrainer(BpeTrainingOptions options)
    : state_(std::make_unique<text::BpeTrainerState>(std::move(options))) {}
BpeTrainer::~BpeTrainer() = default;
BpeTrainer::BpeTrainer(BpeTrainer&&) noexcept = default;
BpeTrainer& BpeTrainer::operator=(BpeTrainer&&) noexcept = default;

text::BpeTrainerState& BpeTrainer::state() const {
    if (!state_) throw usage_error("this trainer was moved from: use the one that it was moved to");
    return *state_;
}

void BpeTrainer::add(std::string_view utf8) {
    const TraceSpan span("count words");
    state().add(utf8);
}

std::size_t BpeTrainer::words() const { return state().words.size(); }

std::string BpeTrainer::tokenizer_json(const Progress& progress) const {
    const text::BpeTrainerState& all = state();
    if (all.words.empty()) throw usage_error("there is no text to train a vocabulary on: add a document first");
    const TraceSpan span("train vocabulary");
    return text::file_of(text::train_bpe(all.words, all.options, progress), all.options);
}

}  // namespace vantage
