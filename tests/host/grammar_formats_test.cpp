// GBNF and regular expressions: which texts each piece of their syntax allows, and errors with their places.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/matcher.h"
#include "tests/host/expect_error.h"
#include "tests/host/repeated.h"

using namespace vantage;
using namespace vantage::text::grammar;
using vantage::test::expect_error;
using vantage::test::repeated;

namespace {

struct GrammarTexts {
    const char* grammar;
    std::vector<std::string> accepted, rejected;
};
struct GrammarRefusal {
    std::string grammar;
    const char* message;
};

void check_grammar(const Network& network, const GrammarTexts& texts) {
    CAPTURE(texts.grammar);
    Matcher m(std::make_shared<const Network>(network));
    const auto accepts = [&](const std::string& text) { return m.may_end(m.step(m.start(), text)); };
    for (const std::string& text : texts.accepted) {
        CAPTURE(text);
        CHECK(accepts(text));
    }
    for (const std::string& text : texts.rejected) {
        CAPTURE(text);
        CHECK_FALSE(accepts(text));
    }
}

void check_grammar_refusals(Network (*read)(std::string_view), const std::vector<GrammarRefusal>& all) {
    for (const auto& [grammar, message] : all) {
        CAPTURE(grammar.substr(0, 200));
        expect_error(ErrorKind::usage, {message}, [&, &text = grammar] { read(text); });
    }
}

// As within a text of JSON: letters stand for themselves, and all else for a '#'.
Part letters_only(RuleBuilder& rules, const CharRanges& ranges) {
    const CharRanges letters = intersection(ranges, {{'a', 'z'}});
    std::vector<Part> ways{rules.one_of(letters)};
    if (letters != ranges) ways.push_back(rules.text("#"));
    return rules.choice(ways);
}

Network searched(std::string_view regex, const CharPart& one_of) {
    RuleBuilder rules;
    const Rule whole = rules.declare("root");
    rules.define(whole, regex_part(rules, regex, one_of, true));
    return rules.build(whole);
}

Part as_written(RuleBuilder& rules, const CharRanges& ranges) { return rules.one_of(ranges); }

}  // namespace

TEST_CASE("GBNF: literals, classes and their escapes") {
    for (const GrammarTexts& texts : std::vector<GrammarTexts>{
             {R"(root ::= "abc")", {"abc"}, {"", "ab", "abcd", "ABC"}},
             {R"(root ::= "a" "b"  "c")", {"abc"}, {"a b c"}},
             {R"(root ::= "\n\r\t\\\"\[\]\-")", {"\n\r\t\\\"[]-"}, {"\\n"}},
             {R"(root ::= "\x41\xe4\u20AC\U0001F600")", {"A\u00E4\u20AC\U0001F600"}, {"A\xE4"}},
             {"root ::= \"ä#|(\" # a comment | \"x\"", {"ä#|("}, {"ä", "x"}},
             {R"(root ::= "")", {""}, {"a"}},
             {R"(root ::= [a-z0-9_])", {"a", "z", "m", "0", "9", "_"}, {"", "A", "-", "aa"}},
             {R"(root ::= [^\n"a-c])", {"d", " ", "\r", "ä", "\U0001F600"}, {"\n", "\"", "a", "b", "\xE4", "dd"}},
             {R"(root ::= [-a])", {"-", "a"}, {"b"}},
             {R"(root ::= [a-])", {"-", "a"}, {"b"}},
             {R"(root ::= [+\-*])", {"-", "+", "*"}, {","}},
             {R"(root ::= [\[\]^])", {"[", "]", "^"}, {"\\"}},
             {R"(root ::= [\x41-\u0043ä-ü€])", {"A", "C", "ä", "ö", "ü", "€"}, {"D", "ý"}},
             {R"(root ::= [^\x00-\uD7FF])", {"\uE000", "\U0010FFFF"}, {"a", "\uD7FF"}},
             {R"(root ::= .)", {"a", "\n", "€", "\U0010FFFF", std::string(1, '\0')}, {"", "ab", "\x80"}},
         })
        check_grammar(gbnf_network(texts.grammar), texts);
}

TEST_CASE("GBNF: groups, alternatives and repetitions") {
    for (const GrammarTexts& texts : std::vector<GrammarTexts>{
             {R"(root ::= "a" | "b" "c" | [d])", {"a", "bc", "d"}, {"", "b", "ac"}},
             {R"(root ::= "a" ("b" | "c") "d")", {"abd", "acd"}, {"ad", "abcd"}},
             {R"(root ::= | "a")", {"", "a"}, {"aa"}},
             {R"(root ::= ("a" |) "b" ())", {"ab", "b"}, {"a"}},
             {R"(root ::= "ab"*)", {"", "ab", "abab"}, {"a", "aba"}},
             {R"(root ::= "a" "b"+)", {"ab", "abb"}, {"a", "abab"}},
             {R"(root ::= ("a" | "b")? "c")", {"c", "ac", "bc"}, {"abc"}},
             {R"(root ::= [ab] {2})", {"ab", "bb"}, {"a", "aba"}},
             {R"(root ::= "a"{2,})", {"aa", "aaaaa"}, {"", "a"}},
             {R"(root ::= "a"{ 1 , 3 })", {"a", "aa", "aaa"}, {"", "aaaa"}},
             {R"(root ::= "b" "a"{0})", {"b"}, {"", "ba"}},
             {R"(root ::= ("a"{2})*)", {"", "aa", "aaaa"}, {"a", "aaa"}},
             {R"(root ::= ("a"*)*)", {"", "aaa"}, {"b"}},
         })
        check_grammar(gbnf_network(texts.grammar), texts);
    check_grammar(gbnf_network(R"(root ::= "a"{10000})"), {"10000", {repeated(10000, "a")}, {repeated(9999, "a")}});
    CHECK_NOTHROW(gbnf_network("root ::= " + repeated(64, "(") + "\"a\"" + repeated(64, ")")));
}

TEST_CASE("GBNF: rules and lines") {
    for (const GrammarTexts& texts : std::vector<GrammarTexts>{
             {"root ::= a-1 B_2\na-1 ::= \"x\"\nB_2 ::= \"y\" a-1?\n", {"xy", "xyx"}, {"x", "xyy"}},
             {"# first\n\nroot ::= # here\n  a # it ends\n\n\n# more\na ::= \"b\" # end", {"b"}, {"", "bb"}},
             {"root ::= \"a\" |\n \"b\" | # c\n\n \"c\"", {"a", "b", "c"}, {"ab"}},
             {"root ::= \"a\"\n  # next\n  | \"b\"\n  | c\nc ::= \"c\"", {"a", "b", "c"}, {"ac"}},
             {"root ::= (\n  \"a\"\n  \"b\" # x )\n  | \"c\"\n  *\n) \"d\"", {"abd", "d", "ccd"}, {"ab", "cabd"}},
             {"root ::= \"a\"{\t2 } b\r\nb ::= (\r\n\"b\"\r\n)\r\n", {"aab"}, {"ab"}},
             {"\xEF\xBB\xBFroot ::= \"(\" root \")\" | [0-9]", {"1", "((2))"}, {"", "((2)", "()"}},
             {"root ::= a b\na ::= \"x\" | b \"y\"\nb ::= \"z\"?", {"x", "xz", "y", "zyz"}, {"zz"}},
             {"root ::= \"a\nb\"", {"a\nb"}, {"ab"}},
         })
        check_grammar(gbnf_network(texts.grammar), texts);
}

TEST_CASE("GBNF: errors name the line and the column") {
    check_grammar_refusals(
        gbnf_network,
        {{"", "there is no rule \"root\""},
         {"a ::= \"b\"", "there is no rule \"root\""},
         {"root ::= \"a\xFF\"", "grammar: it is not UTF-8"},
         {"root ::= \"" + std::string(std::size_t{256} << 10, 'a') + "\"", "wanted at most 262144"},
         {"root ::= \"a\"\n\nb ::= \"ä\" c d", "grammar: 3:11: the rule \"c\" is not defined"},
         {"root ::= \"a\"\nroot ::= \"b\"", "grammar: 2:1: the rule \"root\" is defined a second time"},
         {"root = \"a\"", "1:6: found \"=\", wanted ::= behind the name of the rule \"root\""},
         {"root\n::= \"a\"", "1:5: found \"\\x0a\", wanted ::="},
         {"root ::= \"a\"\n\"b\"", "2:1: found \"\"\", wanted the name of a rule"},
         {"root ::= \"a\"\n*", "2:1: found \"*\", wanted the name of a rule"},
         {"root ::=\nb ::= \"x\"", "2:3: found \":\", wanted the end of the rule \"root\""},
         {"root ::= \"a\" )", "1:14: found \")\", wanted the end of the rule"},
         {"root ::= \"a\" &", "1:14: found \"&\", wanted the end of the rule"},
         {"root ::= (\"a\"\nb ::= \"c\"", "2:3: found \":\", wanted ) for the ( at 1:10"},
         {"root ::= (\"a\"", "1:14: found the end, wanted ) for the ( at 1:10"},
         {"root ::= " + repeated(65, "(") + "\"a\"" + repeated(65, ")"), "1:74: more than 64 groups in each other"},
         {"root ::= \"abc", "1:10: there is no \" for the \" here"},
         {"root ::= [a-", "1:10: there is no ] for the [ here"},
         {"root ::= []", "1:10: [] has no characters"},
         {"root ::= [^]", "1:10: [^] has no characters"},
         {"root ::= [9-0]", "1:11: the range \"9-0\" ends before it begins"},
         {R"(root ::= "a\q")", "1:12: the escape \"\\q\" is unknown"},
         {R"(root ::= "\x4")", "1:11: \\x wants 2 hexadecimal digits"},
         {R"(root ::= "\u12G4")", "\\u wants 4 hexadecimal digits"},
         {R"(root ::= "\uD83D\uDE00")", "\\uD83D is not a Unicode character"},
         {R"(root ::= "\U00110000")", "\\U00110000 is not a Unicode character"},
         {"root ::= \"\\", "1:11: the text ends behind a \\"},
         {"root ::= *", "1:10: there is nothing to repeat"},
         {"root ::= \"a\" | +", "1:16: there is nothing to repeat"},
         {"root ::= \"a\"*?", "1:14: a repetition of a repetition needs parentheses"},
         {"root ::= \"a\"{}", "1:14: found \"}\", wanted a number of times"},
         {"root ::= \"a\"{,2}", "1:14: found \",\", wanted a number of times"},
         {"root ::= \"a\"{2", "1:15: found the end, wanted } behind a number of times"},
         {"root ::= \"a\"{3,2}", "1:13: at least 3 and at most 2 times"},
         {"root ::= \"a\"{10001}", "1:14: a repetition of more than 10000 times"},
         {"root ::= \"a\"{1,99999999999999999999}", "1:16: a repetition of more than 10000 times"},
         {"root ::= <think> \"a\"", "1:10: tokens in <…> are not supported"},
         {"root ::= !<[1]>", "1:10: tokens in <…> are not supported"},
         {"root ::= root \"a\" | \"b\"", "left recursion"}});
}

TEST_CASE("Regular expressions: characters, classes and escapes") {
    for (const GrammarTexts& texts : std::vector<GrammarTexts>{
             {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
             {"ä€\U0001F600", {"ä€\U0001F600"}, {"ä"}},
             {"a.c",
              {"abc", "a.c", "a\u00E4c", "a\U0001F600c", "a\tc"},
              {"ac", "a\nc", "a\rc", "a\u2028c", "a\u2029c"}},
             {R"(\d\D)", {"1a", "9 "}, {"11", "aa", "\u0661a"}},
             {R"(\w\W)", {"a ", "_-", "Z\u00E4", "0."}, {"ab", "\u00E4 "}},
             {R"(\s\S)", {" a", "\t1", "\nx", "\u00A0\u00A1", "\uFEFF.", "\u2028x"}, {"  ", "ab", "\u0085x"}},
             {R"(\n\r\t\f\v)", {"\n\r\t\f\v"}, {"nrtfv"}},
             {R"(a\0b)", {std::string("a\0b", 3)}, {"a0b"}},
             {R"(\x41\u00e4\u20AC)", {"A\u00E4\u20AC"}, {"A\u00E4"}},
             {R"(\u{41}\u{1F600}\u{00010FFFF})", {"A\U0001F600\U0010FFFF"}, {"u{41}"}},
             {R"(\uD83D\uDE00+)", {"\U0001F600", "\U0001F600\U0001F600"}, {""}},
             {R"(\.\*\+\?\(\)\[\]\{\}\^\$\|\\\/\-\"\ \_)", {R"(.*+?()[]{}^$|\/-" _)"}, {"."}},
             {"{a}{b,c}{}]}{", {"{a}{b,c}{}]}{"}, {"a"}},
             {"[a-c_x]", {"a", "b", "c", "_", "x"}, {"", "d", "-", "ab"}},
             {"[^a-c]", {"d", "\n", "ä", "^", "\U0001F600"}, {"", "a", "b", "dd"}},
             {R"([\d.])", {"1", "."}, {"a", "d", "\\"}},
             {R"([^\W_])", {"a", "7"}, {"_", " "}},
             {R"([^\s\d]+)", {"ab"}, {"a b", "a1"}},
             {R"([\D])", {"a"}, {"1"}},
             {"[-a]", {"-", "a"}, {"b"}},
             {"[a-]", {"-", "a"}, {"b"}},
             {"[a-c-e]", {"a", "b", "-", "e"}, {"d"}},
             {R"([a\-c])", {"a", "-", "c"}, {"b"}},
             {R"([\]\[^\\])", {"]", "[", "^", "\\"}, {"a"}},
             {R"([.*+?(){}|$])", {".", "*", "$", "|", ")"}, {"a"}},
             {R"([\x00-\x1F\b])", {"\b", "\n"}, {" ", "b"}},
             {R"([\u{1F600}-\uD83D\uDE05])", {"\U0001F600", "\U0001F605"}, {"\U0001F606"}},
             {R"(a|[^\d\D])", {"a"}, {""}},
         })
        check_grammar(regex_network(texts.grammar), texts);
}

TEST_CASE("Regular expressions: groups, alternatives, repetitions and anchors") {
    for (const GrammarTexts& texts : std::vector<GrammarTexts>{
             {"", {""}, {"a"}},
             {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
             {"a(b|c)d", {"abd", "acd"}, {"ad", "abcd"}},
             {"(?:ab)+(?<name_1>c)(?P<n>d)()", {"abcd", "ababcd"}, {"cd"}},
             {"(|a)b", {"b", "ab"}, {"a"}},
             {"ab*", {"a", "abb"}, {"abab"}},
             {"ab+?", {"ab", "abb"}, {"a"}},
             {"ab??c*?", {"a", "ab", "acc"}, {"abb"}},
             {"a{3}", {"aaa"}, {"aa", "aaaa"}},
             {"a{2,}", {"aa", "aaaaa"}, {"a"}},
             {"a{1,3}?", {"a", "aaa"}, {"", "aaaa"}},
             {"(a{2}){2}", {"aaaa"}, {"aaa"}},
             {"(a*)*", {"", "aaa"}, {"b"}},
             {"[ab]{0}c", {"c"}, {"ac"}},
             {"^a$", {"a"}, {"^a$", "ba"}},
             {"^a|b$|^c$|d|^|$", {"a", "b", "c", "d", ""}, {"ax", "xb"}},
             {"^(a|b)$", {"a", "b"}, {"c"}},
         })
        check_grammar(regex_network(texts.grammar), texts);
    check_grammar(regex_network("(((){10000}){10000}){10000}a"), {"of nothing", {"a"}, {""}});
    check_grammar(regex_network("(?:ab){10000}"), {"10000", {repeated(10000, "ab")}, {repeated(9999, "ab")}});
    CHECK_NOTHROW(regex_network(repeated(64, "(") + "a" + repeated(64, ")")));
}

TEST_CASE("Regular expressions: a match somewhere in the text") {
    for (const GrammarTexts& texts : std::vector<GrammarTexts>{
             {"", {"", "a", "\n"}, {"\xFF"}},
             {"ab", {"ab", "xaby", "a\nab\n", "äab€"}, {"", "a b", "ab\xFF"}},
             {"^ab", {"ab", "abc", "ab\n"}, {"", "xab", "\nab"}},
             {"ab$", {"ab", "xab"}, {"abx", "ab\n"}},
             {"^ab$", {"ab"}, {"xab", "abx"}},
             {"^a|b$|^c$|d", {"axx", "xxb", "c", "xdx", "ab"}, {"xa", "bx", "cc"}},
             {"^(a|b)$", {"a", "b"}, {"ab"}},
             {"^", {"", "x"}, {"\xFF"}},
         })
        check_grammar(searched(texts.grammar, as_written), texts);
    // each character is written in the caller's way
    for (const GrammarTexts& texts : std::vector<GrammarTexts>{
             {"^a.$", {"ab", "a#"}, {"a.", "#b", "aA"}},
             {"^1[a-c]$", {"#b"}, {"1b", "##"}},
             {"^[^a-y]$", {"z", "#"}, {"a"}},
             {"1", {"#", "ab#c"}, {"abc", "1"}},
             {R"(^[^\d\D]|a$)", {"a", "#a"}, {"", "b"}},
         })
        check_grammar(searched(texts.grammar, letters_only), texts);
}

TEST_CASE("Regular expressions: errors name the character") {
    check_grammar_refusals(
        regex_network,
        {{std::string(16385, 'a'), "regular expression: it has 16385 bytes, wanted at most 16384"},
         {"a\xFF", "regular expression: it is not UTF-8"},
         {"ä(b", "regular expression: character 2: a ( without a )"},
         {"ab)c", "regular expression: character 3: a ) without a ("},
         {repeated(65, "(") + "a" + repeated(65, ")"), "character 65: more than 64 groups in each other"},
         {"ä[b", "character 2: a [ without a ]"},
         {"[a-", "character 1: a [ without a ]"},
         {"a[]b]", "character 2: [] has no characters"},
         {"[^]", "character 1: [^] has no characters"},
         {"[z-a]", "character 2: the range z-a ends before it begins"},
         {R"([\d-z])", "character 2: \\d-z is a range of more than characters"},
         {R"([a-\w])", "character 2: a-\\w is a range of more than characters"},
         {"a\\", "character 2: a \\ with nothing behind it"},
         {"a|*b", "character 3: there is nothing to repeat"},
         {"{2}", "character 1: there is nothing to repeat"},
         {"^*", "character 2: there is nothing to repeat"},
         {"a**", "character 3: a repetition of a repetition needs a group"},
         {"a{2}{3}", "character 5: a repetition of a repetition needs a group"},
         {"a*+", "character 3: possessive repetitions are not supported"},
         {"a{3,2}", "character 2: at least 3 and at most 2 times"},
         {"a{10001}", "character 2: a repetition of more than 10000 times"},
         {"a{0,99999999999999999999}", "a repetition of more than 10000 times"},
         {"a{,3}", "character 2: write {0,} or \\{, as the meaning of {,3} differs"},
         {"a^b", "character 2: ^ is only supported at the beginning"},
         {"(^a)", "character 2: ^ is only supported at the beginning"},
         {"a$b", "character 2: $ is only supported at the end"},
         {"(a$)", "character 3: $ is only supported at the end"},
         {"a$$", "character 2: $ is only supported at the end"},
         {R"((a)\1)", "character 4: backreferences such as \\1 are not supported"},
         {R"((?<n>a)\k<n>)", "character 8: backreferences such as \\k are not supported"},
         {"(?P=n)", "character 1: backreferences are not supported"},
         {"a(?=b)", "character 2: lookaheads are not supported"},
         {"a(?!b)", "character 2: lookaheads are not supported"},
         {"(?<=b)a", "character 1: lookbehinds are not supported"},
         {"(?<!b)a", "character 1: lookbehinds are not supported"},
         {"(?>a)", "atomic groups are not supported"},
         {"(?#a)", "comments are not supported"},
         {"(?(1)a)", "conditions are not supported"},
         {"(?i)a", "character 1: inline flags are not supported"},
         {"(?-s:a)", "inline flags are not supported"},
         {"(?", "found the end behind (?, wanted one of: : <name>"},
         {"(?<>a)", "character 1: the name of the group is not a word and >"},
         {"(?<a-b>a)", "the name of the group is not a word and >"},
         {R"(\ba\B)", "character 1: word boundaries such as \\b are not supported"},
         {R"(a\B)", "word boundaries such as \\B are not supported"},
         {R"(\p{L})", "properties of characters such as \\p are not supported"},
         {R"([\P{L}])", "properties of characters such as \\P are not supported"},
         {R"(\q)", "character 1: the escape \\q is unknown"},
         {R"(\A\Z)", "character 1: the escape \\A is unknown"},
         {R"(\012)", "octal escapes such as \\0 are not supported"},
         {R"([\1])", "octal escapes such as \\1 are not supported"},
         {R"(\x4)", "character 1: \\x wants 2 hexadecimal digits"},
         {R"(\u12)", "\\u wants 4 hexadecimal digits"},
         {R"(\u{})", "\\u{ wants hexadecimal digits and }"},
         {R"(\u{41)", "\\u{ wants hexadecimal digits and }"},
         {R"(\u{110000})", "\\u{110000} is not a Unicode character"},
         {R"(\u{FFFFFFFFFFFFFFFFF41})", "is not a Unicode character"},
         {R"(a\uD83D)", "character 2: \\uD83D is half a surrogate pair"},
         {R"(\uDE00\uD83D)", "\\uDE00 is half a surrogate pair"},
         {R"([^\d\D])", "no text fits it"}});
}
