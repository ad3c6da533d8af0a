// Which tokens may follow in a grammar: against each token followed by itself, and regular expressions against PCRE2.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/grammar_access.h"
#include "runtime/text/grammar/token_mask.h"
#include "runtime/text/regex.h"
#include "tests/host/expect_error.h"
#include "tests/host/repeated.h"
#include "tests/host/small_tokenizer.h"
#include "tests/host/tokenizer_data.h"
#include "vantage/grammar.h"

using namespace vantage;
using namespace vantage::internal;
using namespace vantage::test;
using text::grammar::Matcher;
using text::grammar::TokenMask;
using text::grammar::VocabularyTree;

namespace {

const std::vector<Grammar>& some_grammars() {
    static const std::vector<Grammar> all{
        Grammar::json_object(),
        Grammar::json_schema(R"({"properties": {"name": {"type": "string", "minLength": 2, "maxLength": 9},
                                                "ages": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
                                                "kind": {"enum": ["a dog", "the \"cat\"", null]}},
                                 "required": ["name"]})"),
        Grammar::regex("(the|a) [a-z]{3,12}( and [^\\n\"]*)?[.!?]"),
        Grammar::gbnf("root ::= (line \"\\n\")*\nline ::= [^\\n]+\n"),
        Grammar::gbnf("root ::= \"(\" root \")\" root | [äöü€😀a-f ]{0,5}"),
    };
    return all;
}

/// A token that may follow, each as likely; none where there is none.
std::optional<std::int32_t> any_allowed(const TokenMask& mask, std::mt19937& random) {
    std::vector<std::int32_t> tokens;
    for (std::size_t token = 0; token < mask.allowed().size(); ++token)
        if (mask.allowed()[token]) tokens.push_back(static_cast<std::int32_t>(token));
    if (tokens.empty()) return std::nullopt;
    return tokens[random() % tokens.size()];
}

void check_mask(const TokenMask& mask, Matcher& matcher, Matcher::State state, const Tokenizer& tokenizer) {
    CHECK(mask.may_end() == matcher.may_end(state));
    int wrong = 0;
    for (std::int32_t token = 0; token < tokenizer.vocab_size(); ++token) {
        const std::string bytes = tokenizer.is_special(token) ? "" : tokenizer.token_bytes(token);
        const bool wanted = !bytes.empty() && matcher.step(state, bytes) != Matcher::dead;
        if (mask.allowed()[static_cast<std::size_t>(token)] != wanted) ++wrong;
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a mask has the tokens that the grammar takes one by one", "[grammar]") {
    for (const char* folder :
         {"oracle/tokenizers/gpt2_bytebpe", "oracle/tokenizers/llama_sp_bpe", "tokenizers/llama3"}) {
        const Tokenizer tokenizer = tokenizer_in(folder);
        const auto vocabulary = std::make_shared<const VocabularyTree>(tokenizer, tokenizer.vocab_size() + 3);
        for (std::size_t i = 0; i < some_grammars().size(); ++i) {
            CAPTURE(folder, i);
            const Grammar& grammar = some_grammars()[i];
            TokenMask mask(grammar, vocabulary);
            Matcher matcher(GrammarAccess::network(grammar));
            Matcher::State state = matcher.start();
            std::mt19937 random(static_cast<unsigned>(i));
            std::vector<std::int32_t> tokens;
            for (int step = 0; step < 60; ++step) {
                check_mask(mask, matcher, state, tokenizer);
                const std::optional<std::int32_t> token = any_allowed(mask, random);
                if (!token) break;
                tokens.push_back(*token);
                state = matcher.step(state, tokenizer.token_bytes(*token));
                mask.follow(tokens);
            }
            CHECK((mask.any_allowed() || mask.may_end()));
            tokens.resize(tokens.size() / 2);  // back, and on with the rest
            mask.follow(tokens);
            state = matcher.start();
            for (const std::int32_t token : tokens) state = matcher.step(state, tokenizer.token_bytes(token));
            check_mask(mask, matcher, state, tokenizer);
        }
    }
}

TEST_CASE("a text that a mask has let through is one of the grammar", "[grammar]") {
    const Tokenizer tokenizer = tokenizer_in("oracle/tokenizers/gpt2_bytebpe");
    const auto vocabulary = std::make_shared<const VocabularyTree>(tokenizer, tokenizer.vocab_size());
    for (unsigned seed = 0; seed < 30; ++seed) {
        const Grammar& grammar = some_grammars()[seed % some_grammars().size()];
        TokenMask mask(grammar, vocabulary);
        std::mt19937 random(seed);
        std::vector<std::int32_t> tokens;
        std::string text;
        while (tokens.size() < 200 && !(mask.may_end() && random() % 4 == 0)) {
            const std::optional<std::int32_t> token = any_allowed(mask, random);
            if (!token) break;
            tokens.push_back(*token);
            text += tokenizer.token_bytes(*token);
            mask.follow(tokens);
        }
        CAPTURE(seed, text);
        CHECK(grammar.accepts(text) == mask.may_end());
    }
}

TEST_CASE("an end token ends a text, and a vocabulary may lack what is wanted", "[grammar]") {
    const Tokenizer tokenizer = small({"a", "b", "ab", "<end>"}, {"a b"},
                                      R"("added_tokens": [{"id": 3, "content": "<end>", "special": true}])");
    const auto vocabulary = std::make_shared<const VocabularyTree>(tokenizer, tokenizer.vocab_size());
    TokenMask mask(Grammar::regex("ab*"), vocabulary);
    CHECK(mask.allowed() == std::vector<bool>{true, false, true, false});
    CHECK(!mask.may_end());
    mask.follow(std::vector<std::int32_t>{2});
    CHECK(mask.allowed() == std::vector<bool>{false, true, false, false});
    CHECK(mask.may_end());
    mask.follow(std::vector<std::int32_t>{2, 3});
    CHECK(!mask.any_allowed());
    TokenMask lacking(Grammar::regex("ac"), vocabulary);
    lacking.follow(std::vector<std::int32_t>{0});
    CHECK((!lacking.any_allowed() && !lacking.may_end()));
}

TEST_CASE("a grammar that is too ambiguous ends a text, and takes no hours", "[grammar]") {
    // each a may be any of 12, in any order: more and more places, none of which end
    std::string gbnf = "root ::= (";
    for (int i = 0; i < 12; ++i) gbnf += std::string(i > 0 ? " | " : "") + "\"a\" root \"" + std::to_string(i) + "\"";
    const Grammar grammar = Grammar::gbnf(gbnf + " | \"b\")");
    expect_error(ErrorKind::usage, {"too ambiguous"},
                 [&] { static_cast<void>(grammar.accepts(std::string(300, 'a'))); });
    const Tokenizer tokenizer = small({"a", "b", "aa"}, {"a a"});
    TokenMask mask(grammar, std::make_shared<const VocabularyTree>(tokenizer, tokenizer.vocab_size()));
    std::vector<std::int32_t> tokens;
    while (tokens.size() < 300 && mask.any_allowed()) {
        tokens.push_back(2);
        mask.follow(tokens);
    }
    CHECK((!mask.any_allowed() && !mask.may_end()));
}

TEST_CASE("a text of more states than are kept goes on as before", "[grammar]") {
    const Tokenizer tokenizer = tokenizer_in("oracle/tokenizers/gpt2_bytebpe");
    const Grammar grammar = Grammar::json_schema(R"({"properties": {"a": {"type": "string", "maxLength": 10000}}})");
    TokenMask mask(grammar, std::make_shared<const VocabularyTree>(tokenizer, tokenizer.vocab_size()));
    std::string text = R"({"a":")";
    for (int i = 0; i < 9000; ++i) text += i % 3 == 0 ? "é" : "ü";
    const std::vector<std::int32_t> all = tokenizer.encode(text, false).ids;
    for (std::size_t count = 1; count <= all.size(); count += 40) mask.follow(std::span(all).first(count));
    mask.follow(all);
    CHECK(mask.any_allowed());
    CHECK(!mask.may_end());
    const std::vector<std::int32_t> end = tokenizer.encode("\"}", false).ids;
    std::vector<std::int32_t> whole = all;
    whole.insert(whole.end(), end.begin(), end.end());
    mask.follow(whole);
    CHECK(mask.may_end());
    CHECK(!mask.any_allowed());
    CHECK(grammar.accepts(text + "\"}"));
}

TEST_CASE("grammars whose rules would take hours are refused at once", "[grammar]") {
    std::string empty = "root ::= (";
    for (int i = 0; i < 100000; ++i) empty += "\"\"";
    expect_error(ErrorKind::usage, {"too large"}, [&] { Grammar::gbnf(empty + " \"a\"){10000}"); });
    std::string all = R"({"$defs": {"x": {"allOf": [)", any = "[";
    for (int i = 0; i < 50000; ++i) all += "{},";
    for (int i = 0; i < 400; ++i) any += R"({"allOf": [{"$ref": "#/$defs/x"}, {"type": "object"}]},)";
    const std::string schema = all + R"({"type": "object"}]}}, "anyOf": )" + any + "{}]}";
    expect_error(ErrorKind::usage, {"too many members"}, [&] { Grammar::json_schema(schema); });
    const auto many = [](const std::string& defs, const std::string& of) {
        std::string list;
        for (int i = 0; i < 3000; ++i) list += R"({"allOf": [)" + of + "]},";
        return R"({"$defs": {)" + defs + R"(}, "anyOf": [)" + list + "{}]}";
    };
    const std::string name(400'000, 'n'), zeros = "[" + repeated(100'000, "0,") + "0]";
    expect_error(ErrorKind::usage, {"too many members"}, [&] {
        Grammar::json_schema(many(R"("x": {"properties": {")" + name + R"(": true}})", R"({"$ref": "#/$defs/x"}, {})"));
    });
    const std::string value = R"({"properties": {"a": {"default": )" + zeros + "}}}";
    expect_error(ErrorKind::usage, {"too many members"}, [&] {
        Grammar::json_schema(
            many("\"x\": " + value + ", \"y\": " + value, R"({"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"})"));
    });
}

TEST_CASE("one of some texts is each of them, and nothing else", "[grammar]") {
    const std::vector<std::string> texts{"yes", "yes, please", "no", "a \"b\"\n", "ä"};
    const Grammar grammar = Grammar::one_of(texts);
    for (const std::string& text : texts) CHECK(grammar.accepts(text));
    for (const char* other : {"", "y", "yes,", "noyes", "nö"}) CHECK(!grammar.accepts(other));
    expect_error(ErrorKind::usage, {"no text fits"}, [] { Grammar::one_of({}); });
}

TEST_CASE("texts that fit regular expressions are those that PCRE2 matches", "[grammar]") {
    std::mt19937 random(7);
    for (const char* pattern :
         {"a*b+c?", "(ab|a)(bc|c)?", "[a-c]{2,4}", "(a|b(c|a)*)*c", "[^a]b{0,3}", "((a|b)c){1,3}|.a"}) {
        const text::Regex pcre("^(?:" + std::string(pattern) + ")$", "test");
        const Grammar grammar = Grammar::regex(pattern);
        for (int i = 0; i < 500; ++i) {
            std::string subject;
            for (std::size_t length = random() % 8; subject.size() < length;) subject += "abcd"[random() % 4];
            CAPTURE(pattern, subject);
            CHECK(grammar.accepts(subject) == !pcre.find_all(subject).empty());
        }
    }
}
