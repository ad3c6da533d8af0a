// The words are lists of tokens, at first one token for each byte. A queue has the pairs of neighbours that can be
// merged, each with its count and with the words that have it. The most frequent pair is merged in these words only,
// which changes the counts of the pairs beside it. Of equally frequent pairs the one with the smallest ids comes first.
//
// A pair appears in one step only: at the start, or with the merge that makes one of its tokens, because no later merge
// makes this token again. (Two places with the same bytes whose ends are ends of tokens had the same tokens at all
// times, since no merge crossed an end. So a token is made of the same pair everywhere.) Afterwards a pair can only
// become rarer.
//
// Each place that is merged makes its word shorter. All merges together change at most four counts for each byte of the
// distinct words, and read a word at most once for each pair that it ever had.
//
// Source: tokenizers/src/models/bpe/trainer.rs in https://github.com/huggingface/tokenizers, with the same result.
#include "runtime/text/train_bpe.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "runtime/base/at.h"
#include "runtime/base/interrupt.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/unicode.h"

namespace vantage::text {
namespace {

/// Two neighbouring tokens, ordered by the left id, then by the right one.
struct TokenPair {
    std::uint32_t left, right;
    auto operator<=>(const TokenPair&) const = default;
};
struct TokenPairHash {
    std::size_t operator()(TokenPair pair) const {
        return std::hash<std::uint64_t>{}((std::uint64_t{pair.left} << 32) | pair.right);
    }
};

/// A pair in the queue.
struct MergeCandidate {
    std::int64_t count;  // when it was queued: may be less by now
    TokenPair pair;
    std::vector<std::uint32_t> words;  // that had the pair then

    bool operator<(const MergeCandidate& other) const {  // heaps put the largest on top
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

std::string spelling_of(char32_t letter) {
    std::string text;
    append_utf8(text, letter);
    return text;
}

class BpeTraining {
public:
    BpeTraining(const StringMap<std::int64_t>& words, const BpeTrainingOptions& options);
    TrainedBpe run(const BpeTrainer::Progress& progress);

private:
    struct Word {
        std::size_t begin, length;  // in symbols_
        std::int64_t count;
    };
    struct PairCount {
        std::int64_t count;
        std::size_t place;  // in appeared_, during the step in which the pair appeared
    };

    void add_word(std::string_view bytes, std::int64_t count, const std::array<std::uint32_t, 256>& ids);
    void change_count(TokenPair pair, std::int64_t change, std::uint32_t word);
    void end_step();
    void queue(MergeCandidate candidate);
    std::optional<MergeCandidate> take_top();
    std::uint32_t token_of(TokenPair pair);
    void merge(std::uint32_t word, TokenPair pair, std::uint32_t joined);

    std::size_t vocab_;
    std::int64_t min_count_;
    std::vector<std::string> tokens_;
    StringMap<std::uint32_t> ids_;

    std::vector<std::uint32_t> symbols_;  // the tokens of all words
    std::vector<Word> words_;
    std::unordered_map<TokenPair, PairCount, TokenPairHash> pairs_;
    std::vector<MergeCandidate> appeared_;  // in this step
    std::vector<MergeCandidate> queue_;     // a heap
};

BpeTraining::BpeTraining(const StringMap<std::int64_t>& words, const BpeTrainingOptions& options)
    : vocab_(static_cast<std::size_t>(options.vocab)),
      min_count_(std::max<std::int64_t>(options.min_frequency, 1)),
      tokens_(initial_tokens(options.special_tokens)) {
    for (std::size_t id = 0; id < tokens_.size(); ++id) ids_.emplace(tokens_[id], u32(id));
    std::array<std::uint32_t, 256> ids{};
    for (unsigned byte = 0; byte < 256; ++byte)
        ids[byte] = ids_.at(spelling_of(letter_of(static_cast<std::uint8_t>(byte))));

    std::size_t bytes = 0;
    for (const auto& [word, count] : words) bytes += word.size();
    symbols_.reserve(bytes);
    words_.reserve(words.size());
    for (const auto& [word, count] : words) add_word(word, count, ids);
    end_step();
}

void BpeTraining::add_word(std::string_view bytes, std::int64_t count, const std::array<std::uint32_t, 256>& ids) {
    throw_if_interrupted();
    const std::uint32_t word = u32(words_.size());
    words_.push_back({symbols_.size(), bytes.size(), count});
    for (const char byte : bytes) {
        symbols_.push_back(ids[static_cast<unsigned char>(byte)]);
        if (symbols_.size() - words_.back().begin >= 2)
            change_count({symbols_[symbols_.size() - 2], symbols_.back()}, count, word);
    }
}

void BpeTraining::change_count(TokenPair pair, std::int64_t change, std::uint32_t word) {
    const auto [found, appears] = pairs_.try_emplace(pair, PairCount{0, appeared_.size()});
    found->second.count += change;
    if (appears) appeared_.push_back({0, pair, {}});
    if (change < 0) return;
    std::vector<std::uint32_t>& words = at(appeared_, found->second.place).words;
    if (words.empty() || words.back() != word) words.push_back(word);  // words come one after the other
}

/// Queues the pairs that appeared since the last step.
void BpeTraining::end_step() {
    for (MergeCandidate& candidate : appeared_) {
        candidate.count = pairs_.at(candidate.pair).count;
        queue(std::move(candidate));
    }
    appeared_.clear();
}

/// Keeps the candidate if it can be merged: a rare pair stays rare.
void BpeTraining::queue(MergeCandidate candidate) {
    if (candidate.count < min_count_) return;
    queue_.push_back(std::move(candidate));
    std::push_heap(queue_.begin(), queue_.end());
}

/// The most frequent pair; nothing if no pair is left. A pair that has become rarer moves down in the queue when it
/// comes to the top, not with every change.
std::optional<MergeCandidate> BpeTraining::take_top() {
    while (!queue_.empty()) {
        std::pop_heap(queue_.begin(), queue_.end());
        MergeCandidate top = std::move(queue_.back());
        queue_.pop_back();
        const std::int64_t count = pairs_.at(top.pair).count;
        if (top.count == count) return top;
        top.count = count;
        queue(std::move(top));
    }
    return std::nullopt;
}

/// The id of the token that a pair makes: a new one, or that of a special token which is spelled alike.
std::uint32_t BpeTraining::token_of(TokenPair pair) {
    const auto [found, is_new] = ids_.try_emplace(tokens_[pair.left] + tokens_[pair.right], u32(tokens_.size()));
    if (is_new) tokens_.push_back(found->first);
    return found->second;
}

/// Replaces the pair wherever it is in the word, left to right, in place.
void BpeTraining::merge(std::uint32_t word, TokenPair pair, std::uint32_t joined) {
    const std::int64_t count = words_[word].count;
    const auto replace = [&](TokenPair old, TokenPair by) {
        change_count(old, -count, word);
        change_count(by, count, word);
    };
    std::uint32_t* const symbols = symbols_.data() + words_[word].begin;
    const std::size_t length = words_[word].length;
    std::size_t out = 0;
    for (std::size_t in = 0; in < length;) {
        if (in + 1 == length || symbols[in] != pair.left || symbols[in + 1] != pair.right) {
            symbols[out++] = symbols[in++];
            continue;
        }
        in += 2;
        if (out > 0) replace({symbols[out - 1], pair.left}, {symbols[out - 1], joined});
        if (in < length) replace({pair.right, symbols[in]}, {joined, symbols[in]});
        symbols[out++] = joined;
    }
    words_[word].length = out;
}

TrainedBpe BpeTraining::run(const BpeTrainer::Progress& progress) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;
    while (tokens_.size() < vocab_) {
        const std::optional<MergeCandidate> top = take_top();
        if (!top) break;
        const std::uint32_t joined = token_of(top->pair);
        merges.emplace_back(top->pair.left, top->pair.right);
        for (const std::uint32_t word : top->words) {
            throw_if_interrupted();
            merge(word, top->pair, joined);
        }
        end_step();
        if (progress) progress(static_cast<std::int64_t>(tokens_.size()), static_cast<std::int64_t>(vocab_));
    }
    return {std::move(tokens_), std::move(merges)};
}

}  // namespace

std::vector<std::string> initial_tokens(const std::vector<std::string>& special_tokens) {
    std::array<char32_t, 256> letters{};
    for (unsigned byte = 0; byte < 256; ++byte) letters[byte] = letter_of(static_cast<std::uint8_t>(byte));
    std::ranges::sort(letters);
    std::vector<std::string> tokens = special_tokens;
    for (const char32_t letter : letters) {
        std::string token = spelling_of(letter);
        if (std::ranges::find(special_tokens, token) == special_tokens.end()) tokens.push_back(std::move(token));
    }
    return tokens;
}

TrainedBpe train_bpe(const StringMap<std::int64_t>& words, const BpeTrainingOptions& options,
                     const BpeTrainer::Progress& progress) {
    return BpeTraining(words, options).run(progress);
}

}  // namespace vantage::text
