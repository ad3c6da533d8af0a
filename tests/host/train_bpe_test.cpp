// Training of byte-level BPE vocabularies: equal to Hugging Face's, equal to a plain algorithm, and refusals.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <stdexcept>

#include "runtime/base/interrupt.h"
#include "runtime/text/train_bpe.h"
#include "tests/host/expect_error.h"
#include "tests/host/tokenizer_data.h"
#include "tests/host/watchdog.h"
#include "vantage/tokenizer.h"

using namespace vantage;
using vantage::test::expect_error, vantage::test::in_test_data;

namespace {

using Texts = std::vector<std::string>;

struct TrainingCase {
    std::string name;
    BpeTrainingOptions options;
    Texts documents, tokens;
    std::vector<std::pair<std::string, std::string>> merges;
};

std::vector<TrainingCase> cases_of_hugging_face() {
    std::vector<TrainingCase> cases;
    for (const Json& each : read_json(in_test_data("bpe_training/expected.json")))
        cases.push_back({each["name"].get<std::string>(),
                         {each["vocab"].get<std::int64_t>(), each["min_frequency"].get<std::int64_t>(),
                          each["special_tokens"].get<Texts>(), each["add_prefix_space"].get<bool>()},
                         each["documents"].get<Texts>(),
                         each["tokens"].get<Texts>(),
                         each["merges"].get<std::vector<std::pair<std::string, std::string>>>()});
    return cases;
}

BpeTrainer trainer_on(const BpeTrainingOptions& options, const Texts& documents) {
    BpeTrainer trainer(options);
    for (const std::string& document : documents) trainer.add(document);
    return trainer;
}

BpeTrainingOptions bpe_options(std::int64_t vocab, std::int64_t min_frequency, Texts special_tokens = {}) {
    return {vocab, min_frequency, std::move(special_tokens), false};
}

// ---- a plain algorithm ----------------------------------------------------------------------------------------------

using WordOfIds = std::vector<std::uint32_t>;
using IdPair = std::pair<std::uint32_t, std::uint32_t>;

// A word after a merge.
WordOfIds with_merge(const WordOfIds& word, IdPair pair, std::uint32_t joined) {
    WordOfIds out;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && IdPair(word[i], word[i + 1]) == pair;
        out.push_back(here ? joined : word[i]);
        if (here) ++i;
    }
    return out;
}

// Counts all pairs anew for each merge. The words are of ASCII letters.
text::TrainedBpe trained_plainly(const text::StringMap<std::int64_t>& words, const BpeTrainingOptions& options) {
    text::TrainedBpe trained{text::initial_tokens(options.special_tokens), {}};
    const auto id_of = [&](const std::string& token) {
        return static_cast<std::uint32_t>(std::ranges::find(trained.tokens, token) - trained.tokens.begin());
    };
    std::vector<std::pair<WordOfIds, std::int64_t>> lists;
    for (const auto& [word, count] : words) {
        lists.push_back({{}, count});
        for (const char letter : word) lists.back().first.push_back(id_of(std::string(1, letter)));
    }
    while (trained.tokens.size() < static_cast<std::size_t>(options.vocab)) {
        std::map<IdPair, std::int64_t> counts;
        for (const auto& [word, count] : lists)
            for (std::size_t i = 1; i < word.size(); ++i) counts[{word[i - 1], word[i]}] += count;
        // The first of the largest: maps are sorted by key.
        const auto top = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
        if (top == counts.end() || top->second < options.min_frequency) break;
        const auto [left, right] = top->first;
        const std::string token = trained.tokens[left] + trained.tokens[right];
        const std::uint32_t joined = id_of(token);
        if (joined == trained.tokens.size()) trained.tokens.push_back(token);
        trained.merges.emplace_back(left, right);
        for (auto& [word, count] : lists) word = with_merge(word, {left, right}, joined);
    }
    return trained;
}

}  // namespace

// ---- results --------------------------------------------------------------------------------------------------------

TEST_CASE("BPE training: vocabularies and merges are those of Hugging Face's trainer", "[bpe_training][oracle]") {
    const std::vector<TrainingCase> cases = cases_of_hugging_face();
    REQUIRE(cases.size() >= 9);
    for (const TrainingCase& test : cases) {
        CAPTURE(test.name);
        const std::string file = trainer_on(test.options, test.documents).tokenizer_json();
        const Json model = parse_json(file, "the file")["model"];
        Json vocabulary = Json::object();
        for (const std::string& token : test.tokens) vocabulary[token] = vocabulary.size();
        CHECK(model["vocab"] == vocabulary);
        CHECK(model["merges"].get<std::vector<std::pair<std::string, std::string>>>() == test.merges);

        const Tokenizer tokenizer = Tokenizer::parse(file, "the file");
        CHECK(tokenizer.vocab_size() == static_cast<int>(test.tokens.size()));
        for (const std::string& token : test.options.special_tokens) {
            CHECK(tokenizer.is_special(tokenizer.id_of(token).value()));
            CHECK(tokenizer.encode(token).tokens == Texts{token});
        }
    }
}

TEST_CASE("BPE training: the file is the one that Hugging Face's library writes", "[bpe_training][oracle]") {
    const TrainingCase test = cases_of_hugging_face().front();
    const std::string file = trainer_on(test.options, test.documents).tokenizer_json();
    CHECK(file == read_file(in_test_data("bpe_training/tokenizer.json")));
}

TEST_CASE("BPE training: results are those of counting all pairs anew for each merge", "[bpe_training]") {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        const auto letters = 1 + random() % 4;
        text::StringMap<std::int64_t> words;
        for (auto left = 1 + random() % 30; left > 0; --left) {
            std::string word;
            for (auto length = 1 + random() % 12; length > 0; --length)
                word += static_cast<char>('a' + random() % letters);
            words[word] = 1 + static_cast<std::int64_t>(random() % 3);
        }
        const Texts special = round % 3 == 0 ? Texts{"ab", "b", "aa"} : Texts{};
        const BpeTrainingOptions options = bpe_options(260 + static_cast<std::int64_t>(random() % 60),
                                                       static_cast<std::int64_t>(random() % 4), special);
        const text::TrainedBpe trained = text::train_bpe(words, options, {}), plain = trained_plainly(words, options);
        CAPTURE(round);
        CHECK(trained.tokens == plain.tokens);
        CHECK(trained.merges == plain.merges);
    }
}

TEST_CASE("BPE training: the order of documents does not matter, and words are counted once", "[bpe_training]") {
    TrainingCase test = cases_of_hugging_face().front();
    BpeTrainer trainer = trainer_on(test.options, test.documents);
    const std::string file = trainer.tokenizer_json();
    CHECK(trainer.tokenizer_json() == file);
    const std::size_t words = trainer.words();
    for (const std::string& document : test.documents) trainer.add(document);
    trainer.add("");
    CHECK(trainer.words() == words);
    std::ranges::reverse(test.documents);
    CHECK(trainer_on(test.options, test.documents).tokenizer_json() == file);
}

TEST_CASE("BPE training: decoding gives back what was encoded", "[bpe_training]") {
    std::mt19937 random(5);
    constexpr char32_t characters[] = {'a',   'b',       ' ',       ' ',   '\n',      '\'',
                                       's',   '1',       '.',       U'é',  U'\u0301', U'中',
                                       U'🙂', U'\u200D', U'\u3000', U'\0', U'\u0085', U'\U0010FFFF'};
    const auto random_text = [&](std::size_t length) {
        std::string text;
        while (length-- > 0) append_utf8(text, characters[random() % std::size(characters)]);
        return text;
    };
    for (int round = 0; round < 20; ++round) {
        BpeTrainingOptions options = bpe_options(300 + 20 * round, round % 3, {"<s>", "</s>"});
        options.add_prefix_space = round % 2 == 1;
        const std::string seen = random_text(400), unseen = random_text(200) + "<s>Größe</s>";
        const Tokenizer tokenizer = Tokenizer::parse(trainer_on(options, {seen}).tokenizer_json(), "the file");
        for (const std::string& text : {seen, unseen}) {
            CAPTURE(round, text);
            const std::string decoded = tokenizer.decode(tokenizer.encode(text).ids, false);
            // The space also comes before a text between special tokens.
            if (!options.add_prefix_space) CHECK(decoded == text);
            if (options.add_prefix_space && text == seen) CHECK(decoded == (text.starts_with(' ') ? text : " " + text));
        }
    }
}

TEST_CASE("BPE training: bytes that are not UTF-8 count as U+FFFD", "[bpe_training]") {
    const BpeTrainingOptions options = bpe_options(270, 2);
    CHECK(trainer_on(options, {"a\xFF\xFF a\xFF\xFF", "\xE4\xB8"}).tokenizer_json() ==
          trainer_on(options, {"a\uFFFD\uFFFD a\uFFFD\uFFFD", "\uFFFD"}).tokenizer_json());
}

TEST_CASE("BPE training: a word of a megabyte takes seconds at most", "[bpe_training][slow]") {
    const double start = test::cpu_seconds();
    const std::string file = trainer_on(bpe_options(400, 2), {std::string(test::long_text, 'x')}).tokenizer_json();
    CHECK(parse_json(file, "the file")["model"]["merges"][3] == Json({"xxxxxxxx", "xxxxxxxx"}));
    CHECK(test::cpu_seconds() - start < 60);  // a quadratic loop takes an hour
}

// ---- calls ----------------------------------------------------------------------------------------------------------

TEST_CASE("BPE training: options that make no sense are refused", "[bpe_training]") {
    const auto refused = [](std::initializer_list<const char*> parts, const BpeTrainingOptions& options) {
        expect_error(ErrorKind::usage, parts, [&] { const BpeTrainer trainer(options); });
    };
    refused({"vocabulary of 0 tokens", "256 to"}, {});
    refused({"257 tokens", "258 to", "2 for special"}, bpe_options(257, 2, {"<s>", "</s>"}));
    refused({"1073741825 tokens", "to 1073741824"}, bpe_options((std::int64_t{1} << 30) + 1, 2));
    refused({"frequency", "-1", "at least 0"}, bpe_options(300, -1));
    refused({"special token is empty"}, bpe_options(300, 2, {"<s>", ""}));
    refused({"\"<s>\"", "twice"}, bpe_options(300, 2, {"<s>", "</s>", "<s>"}));
    refused({"not UTF-8"}, bpe_options(300, 2, {"a\xFF"}));
    refused({"4097 bytes", "at most 4096"}, bpe_options(300, 2, {std::string(4097, 'x')}));
    CHECK(trainer_on(bpe_options(257, 2, {"<s>", "a"}), {"aa aa"}).words() == 2);  // a stands for its byte, too
}

TEST_CASE("BPE training: without text there is no vocabulary", "[bpe_training]") {
    BpeTrainer trainer(bpe_options(300, 2));
    expect_error(ErrorKind::usage, {"no text"}, [&] { trainer.tokenizer_json(); });
    trainer.add("");
    expect_error(ErrorKind::usage, {"no text"}, [&] { trainer.tokenizer_json(); });
    trainer.add(" ");
    CHECK(Tokenizer::parse(trainer.tokenizer_json(), "the file").vocab_size() == 256);
}

TEST_CASE("BPE training: progress, what its callback throws, and interrupts leave the trainer as it was",
          "[bpe_training]") {
    const BpeTrainer trainer = trainer_on(bpe_options(300, 0), {"abcdefgh abcdefgh"});
    std::vector<std::int64_t> seen;
    const std::string file = trainer.tokenizer_json([&](std::int64_t tokens, std::int64_t wanted) {
        CHECK(wanted == 300);
        seen.push_back(tokens);
    });
    // Two words with and without a space: seven merges and one for the space.
    CHECK(seen == std::vector<std::int64_t>{257, 258, 259, 260, 261, 262, 263, 264});
    const auto fail = [](std::int64_t, std::int64_t) { throw std::runtime_error("enough"); };
    CHECK_THROWS_AS(trainer.tokenizer_json(fail), std::runtime_error);

    std::atomic<bool> stop = false;
    {
        const InterruptScope scope(stop);
        const auto stop_early = [&](std::int64_t tokens, std::int64_t) { stop = tokens >= 260; };
        expect_error(ErrorKind::interrupted, {}, [&] { trainer.tokenizer_json(stop_early); });
    }
    CHECK(trainer.tokenizer_json() == file);
}

TEST_CASE("BPE training: a document that is interrupted is not counted in part", "[bpe_training]") {
    BpeTrainer trainer = trainer_on(bpe_options(300, 0), {"one two"});
    const std::string file = trainer.tokenizer_json();
    std::atomic<bool> stop = true;
    {
        const InterruptScope scope(stop);
        expect_error(ErrorKind::interrupted, {}, [&] { trainer.add("two three"); });
    }
    CHECK(trainer.words() == 2);
    CHECK(trainer.tokenizer_json() == file);
}

TEST_CASE("a BPE trainer that was moved from says so", "[bpe_training]") {
    BpeTrainer trainer = trainer_on(bpe_options(300, 0), {"one two"});
    const BpeTrainer other = std::move(trainer);
    CHECK(other.words() == 2);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    expect_error(ErrorKind::usage, {"moved from"}, [&] { trainer.add("three"); });
    expect_error(ErrorKind::usage, {"moved from"}, [&] { static_cast<void>(trainer.words()); });
    expect_error(ErrorKind::usage, {"moved from"}, [&] { static_cast<void>(trainer.tokenizer_json()); });
}
