// Syntactic relations: the CoNLL-U reader, words and their tokens, and what heads find.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "runtime/inspect/dependencies.h"
#include "tests/host/expect_error.h"

using namespace vantage;
using Catch::Approx;

namespace {

/// A line of ten columns.
std::string line(const std::string& id, const std::string& form, const std::string& head, const std::string& relation,
                 const std::string& misc = "_") {
    return id + "\t" + form + "\t_\t_\t_\t_\t" + head + "\t" + relation + "\t_\t" + misc + "\n";
}

/// "The dog's old bed." with "dog's" as a multiword token.
std::string dog_sentence() {
    return "# text = ignored\n" + line("1", "The", "2", "det") + line("2-3", "dög's", "_", "_") +
           line("2", "dög", "5", "nmod:poss") + line("3", "'s", "2", "case") + line("4", "old", "5", "amod") +
           line("4.1", "empty", "_", "_") + line("5", "bed", "0", "root", "SpaceAfter=No") +
           line("6", ".", "5", "punct") + "\n";
}

}  // namespace

TEST_CASE("CoNLL-U sentences have words of the text and the relations between them", "[dependencies]") {
    const std::vector<Sentence> all = parse_conllu(
        dog_sentence() + line("1", "Go", "0", "root") + line("2", "on", "1", "advmod") /* no empty line at the end */,
        "file");
    REQUIRE(all.size() == 2);
    const Sentence& s = all[0];
    CHECK(s.text == "The dög's old bed.");
    CHECK(s.line == 2);
    using Places = std::vector<std::pair<std::size_t, std::size_t>>;
    CHECK(s.words == Places{{0, 3}, {4, 9}, {10, 13}, {14, 17}, {17, 18}});  // code points, not bytes
    std::string relations;  // the root has no head, and "'s" is in the same word as its own
    for (const Sentence::Relation& r : s.relations)
        relations += r.name + " " + std::to_string(r.dependent) + std::to_string(r.head) + ", ";
    CHECK(relations == "det 01, nmod:poss 13, amod 23, punct 43, ");
    CHECK(all[1].text == "Go on");
    CHECK(parse_conllu(line("1", "a", "2", "x") + line("2", " ", "1", "x", "SpaceAfter=No"), "file")[0].text == "a  ");
    CHECK(all[1].line == 11);
}

TEST_CASE("damaged CoNLL-U is refused with the line", "[dependencies]") {
    const auto refused = [](const std::string& text, std::initializer_list<const char*> parts) {
        test::expect_error(ErrorKind::bad_file, parts, [&] { parse_conllu(text, "f.conllu"); });
    };
    refused("1\tThe\t2\n", {"f.conllu:1:", "3 columns", "10"});
    refused(line("1", "a", "2", "det") + line("3", "b", "0", "root"), {"f.conllu:2:", "ID \"3\"", "expected 2"});
    refused(line("1", "a", "x", "det"), {"f.conllu:1:", "HEAD \"x\""});
    refused(line("1", "a", "-1", "det"), {"f.conllu:1:", "HEAD \"-1\""});
    refused("# c\n" + line("1", "a", "0", "root") + line("2", "b", "3", "det"), {"f.conllu:3:", "HEAD 3", "2 words"});
    refused(line("1", "", "0", "root"), {"f.conllu:1:", "FORM"});
    refused(line("1", "a", "0", ""), {"f.conllu:1:", "DEPREL"});
    refused(line("1", "a\xff", "0", "root"), {"f.conllu:1:", "UTF-8"});
    refused(line("2-3", "a", "_", "_"), {"f.conllu:1:", "ID \"2-3\""});
    refused(line("1-1", "a", "_", "_"), {"f.conllu:1:", "ID \"1-1\""});
    refused(line("99999999999", "a", "0", "root"), {"f.conllu:1:", "expected 1"});
    refused("", {"f.conllu", "no relations"});
    refused(line("1", "a", "0", "root"), {"f.conllu", "no relations"});
}

TEST_CASE("attention to a word is a sum over its tokens, from a word a mean", "[dependencies]") {
    Sentence s;
    s.words = {{0, 3}, {4, 9}, {9, 10}};
    // [CLS] The d ög 's.  : the last token belongs to two words
    const std::vector<std::pair<std::size_t, std::size_t>> tokens{{0, 0}, {0, 3}, {4, 5}, {5, 7}, {7, 10}};
    const std::vector<std::vector<int>> words = tokens_of_words(s, tokens);
    CHECK(words == std::vector<std::vector<int>>{{1}, {2, 3, 4}, {4}});
    std::vector<float> weights(25);
    for (std::size_t i = 0; i < 25; ++i) weights[i] = static_cast<float>(i + 1);
    const std::vector<double> attention = word_attention(weights, 5, words);
    CHECK(attention[0 * 3 + 1] == 8 + 9 + 10);
    CHECK(attention[1 * 3 + 0] == Approx((12 + 17 + 22) / 3.0));
    CHECK(attention[1 * 3 + 1] == Approx((13 + 14 + 15 + 18 + 19 + 20 + 23 + 24 + 25) / 3.0));
    const std::vector<std::vector<int>> none{{1}, {}};
    CHECK(word_attention(weights, 5, none) == std::vector<double>{7, 0, 0, 0});
}

TEST_CASE("a head finds the head of a word that it attends to most, or that attends to it most", "[dependencies]") {
    // word 1 attends to 0, word 2 to itself and a little to 1; nothing attends to word 2 but itself
    const std::vector<double> attention{1, 0, 0, 0.9, 0.1, 0, 0.1, 0.2, 0.7};
    CHECK(predicted_heads(attention, 3, true) == std::vector<int>{-1, 0, 1});
    CHECK(predicted_heads(attention, 3, false) == std::vector<int>{1, 2, -1});
}

TEST_CASE("scores count right words by relation, next to the best fixed offset", "[dependencies]") {
    Sentence s;
    s.words.resize(4);
    s.relations = {{0, 1, "det"}, {2, 3, "det"}, {1, 0, "nsubj"}, {3, 1, "punct"}};
    RelationScores scores;
    scores.count(s, 2);
    std::vector<double> next(16);  // every word attends to the next one
    for (std::size_t i = 0; i + 1 < 4; ++i) next[i * 4 + i + 1] = 1;
    scores.add(s, 1, next);
    const RelationScore& det = scores.by_name.at("det");
    CHECK(det.count == 2);
    CHECK(det.to_head == std::vector<int>{0, 2});
    CHECK(det.from_head == std::vector<int>{0, 0});
    CHECK(det.best_offset() == std::pair(1, 2));
    CHECK(scores.by_name.at("nsubj").from_head == std::vector<int>{0, 1});
    CHECK(scores.all.count == 3);  // without punct
    CHECK(scores.all.to_head == std::vector<int>{0, 2});
    CHECK(scores.all.best_offset() == std::pair(1, 2));
    s.relations = {{0, 3, "x"}, {3, 2, "x"}};  // equal numbers: the shorter offset
    RelationScores others;
    others.count(s, 1);
    CHECK(others.all.best_offset() == std::pair(-1, 1));
}
