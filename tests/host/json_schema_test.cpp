// JSON schemas as grammars: which texts each keyword allows, bounds of numbers against all small ones, and errors.
#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "runtime/base/format.h"
#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/matcher.h"
#include "tests/host/expect_error.h"
#include "tests/host/repeated.h"

using namespace vantage;
using namespace vantage::text::grammar;
using vantage::test::expect_error;
using vantage::test::repeated;
using vantage::text::jinja::OrderedJson;

namespace {

class SchemaTexts {
public:
    explicit SchemaTexts(Network network) : matcher_(std::make_shared<const Network>(std::move(network))) {}
    explicit SchemaTexts(const std::string& schema) : SchemaTexts(json_schema_network(OrderedJson::parse(schema))) {}
    bool operator()(std::string_view text) {
        Matcher::State state = matcher_.start();
        for (std::size_t i = 0; i < text.size(); ++i) {
            matcher_.begin_search();
            state = matcher_.step(state, text.substr(i, 1));
        }
        return matcher_.may_end(state);
    }

private:
    Matcher matcher_;
};

void check_schema(const std::string& schema, std::initializer_list<const char*> accepted,
                  std::initializer_list<const char*> rejected) {
    CAPTURE(schema);
    SchemaTexts texts(schema);
    for (const char* text : accepted) {
        CAPTURE(text);
        CHECK(texts(text));
    }
    for (const char* text : rejected) {
        CAPTURE(text);
        CHECK_FALSE(texts(text));
    }
}

void expect_refusal(std::initializer_list<const char*> parts, const std::string& schema) {
    CAPTURE(schema.substr(0, 200));
    expect_error(ErrorKind::usage, parts, [&] { json_schema_network(OrderedJson::parse(schema)); });
}

// A number in hundredths, with 0 to 2 decimals.
std::vector<std::string> texts_of_hundredths(int hundredths) {
    const int size = std::abs(hundredths);
    const std::string sign = hundredths < 0 ? "-" : "", whole = sign + std::to_string(size / 100);
    std::vector<std::string> texts{whole + "." + std::to_string(size / 10 % 10) + std::to_string(size % 10)};
    if (size % 10 == 0) texts.push_back(whole + "." + std::to_string(size / 10 % 10));
    if (size % 100 == 0) texts.push_back(whole);
    return texts;
}

}  // namespace

TEST_CASE("a schema without demands allows any JSON with at most one space after commas and colons") {
    for (const char* schema : {"true", "{}", R"({"title": "x", "description": "y", "$defs": {"z": 3}})"}) {
        check_schema(schema,
                     {"null", "true", "false", "0", "-0", "12", "-1.50", "1e5", "1.25E-10", "9999999999999999", "\"\"",
                      R"("a\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00é😀")", "[]", "[1]", "[1,2, [3]]", "{}", R"({"a":1})",
                      R"({"a": {"b":[]}, "c":null,"":0})"},
                     {"",
                      " 1",
                      "1 ",
                      "01",
                      "1.",
                      ".5",
                      "+1",
                      "1e1234",
                      "10000000000000000",
                      "1.12345678901234567",
                      "\"",
                      "\"\n\"",
                      R"("\x")",
                      R"("\u12")",
                      R"("\ud83d")",
                      R"("\ude00\ud83d")",
                      R"("\ud83dx")",
                      "\"\xff\"",
                      "\"\xc0\x80\"",
                      "[ 1]",
                      "[1 ,2]",
                      "[1,  2]",
                      "[1,]",
                      "{ }",
                      R"({"a" :1})",
                      R"({"a":  1})",
                      R"({"a":1,})",
                      "{a:1}",
                      "nul",
                      "nulll",
                      "1 2"});
    }
    CHECK_FALSE(SchemaTexts("true")("{\"a\":\n1}"));
}

TEST_CASE("JSON may be nested as deeply as models write it") {
    SchemaTexts texts("true");
    CHECK(texts(repeated(100, "[") + repeated(100, "]")));
    CHECK(texts(repeated(100, "{\"a\":") + "1" + repeated(100, "}")));
    CHECK_FALSE(texts(repeated(100, "[") + repeated(99, "]")));
    std::string list = "[0";
    for (int i = 0; i < 2000; ++i) list += ",{\"a\": [1]}";
    CHECK(texts(list + "]"));
}

TEST_CASE("any JSON object") {
    SchemaTexts texts(json_object_network());
    for (const char* text : {"{}", R"({"a":[1, {"b":"c"}]})"}) CHECK(texts(text));
    for (const char* text : {"[]", "1", "", "{", R"("a")"}) CHECK_FALSE(texts(text));
}

TEST_CASE("characters within JSON strings are escaped where they have to be") {
    const auto of = [](const CharRanges& ranges) {
        RuleBuilder rules;
        const Rule root = rules.declare("root");
        rules.define(root, json_char(rules, ranges));
        return SchemaTexts(rules.build(root));
    };
    SchemaTexts some = of({{'a', 'c'}, {U'é', U'é'}});
    for (const char* text : {"a", "b", "c", "é"}) CHECK(some(text));
    for (const char* text : {"", "d", "ab", "\\u0061", "\\n"}) CHECK_FALSE(some(text));
    SchemaTexts every = of({{0, 0x10FFFF}});
    for (const char* text : {"a", "/", "\\\"", "\\\\", "\\n", "\\t", "\\b", "\\f", "\\r", "\\u0000", "\\u001f",
                             "\\u001F", "\\u0001", "\\u000b", "\\u000B", "😀", "\x7f"})
        CHECK(every(text));
    for (const char* text : {"\"", "\\", "\n", "\\u000a", "\\u0020", "\\/", "\\u000g", "\\U0000"})
        CHECK_FALSE(every(text));
    SchemaTexts quote = of({{'"', '"'}});
    CHECK(quote("\\\""));
    CHECK_FALSE(quote("\""));
    SchemaTexts control = of({{0x0A, 0x0B}});
    for (const char* text : {"\\n", "\\u000b", "\\u000B"}) CHECK(control(text));
    for (const char* text : {"\\u000a", "\\u000c", "\\u001b", "\\t"}) CHECK_FALSE(control(text));
}

TEST_CASE("types") {
    check_schema(R"({"type":"null"})", {"null"}, {"0", "true"});
    check_schema(R"({"type":"boolean"})", {"true", "false"}, {"null", "True", "\"true\""});
    check_schema(R"({"type":"integer"})", {"0", "-0", "7", "-12", "9999999999999999"},
                 {"1.0", "1e2", "01", "10000000000000000"});
    check_schema(R"({"type":"number"})", {"0", "-1.5", "2E+3"}, {"\"1\"", "1.", "-"});
    check_schema(R"({"type":"string"})", {R"("")", R"("é\n")"}, {"a", "'a'"});
    check_schema(R"({"type":"array"})", {"[]", R"([1,"a", {}])"}, {"{}", "[,]"});
    check_schema(R"({"type":"object"})", {"{}", R"({"a\n":[1]})"}, {"[]"});
    check_schema(R"({"type":["string","null"]})", {R"("a")", "null"}, {"1", "true"});
    check_schema(R"({"type":["integer","number","integer"]})", {"1", "1.5"}, {"null"});
}

TEST_CASE("without a type the keywords say what it is") {
    check_schema(R"({"properties":{"a":true}})", {"{}", R"({"a":1})"}, {"1", R"({"b":1})"});
    check_schema(R"({"required":["a"]})", {R"({"a":1})"}, {"{}", "[]"});
    check_schema(R"({"items":{"type":"null"}})", {"[]", "[null]"}, {"{}", "[1]"});
    check_schema(R"({"maxItems":1})", {"[]", "[1]"}, {"[1,2]", "1"});
    check_schema(R"({"minLength":1})", {R"("a")"}, {R"("")", "1"});
    check_schema(R"({"minimum":1})", {"1", "1.5"}, {"0", R"("a")"});
    check_schema(R"({"minimum":1,"maxLength":1})", {"1", R"("a")"}, {"0", R"("aa")", "null"});
}

TEST_CASE("keywords about other types are ignored") {
    check_schema(R"({"type":"integer","minLength":3,"format":"int32","uniqueItems":true,"minProperties":1})", {"1"},
                 {R"("abc")"});
    check_schema(R"({"type":"string","multipleOf":3,"minimum":5,"properties":{"a":{"unknown":1}}})", {R"("a")"}, {"6"});
    check_schema(R"({"type":"array","uniqueItems":false})", {"[1,1]"}, {});
}

TEST_CASE("properties in their order") {
    check_schema(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"null"}},
              "required":["b"]})",
                 {R"({"b":"x"})", R"({"a":1,"b":"x"})", R"({"a": 1, "b": "x", "c": null})", R"({"b":"x","c":null})"},
                 {"{}", R"({"a":1})", R"({"a":1,"c":null})", R"({"b":"x","a":1})", R"({"b":1})", R"({"b":"x",})",
                  R"({,"b":"x"})", R"({"b":"x","d":1})", R"({"b":"x","b":"x"})", R"({"b":"x" })"});
    check_schema(R"({"properties":{"a":true,"b":true}})", {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
                 {R"({"b":1,"a":2})", R"({"a":1 ,"b":2})"});
    check_schema(R"({"properties":{"a\"é\n":true},"required":["a\"é\n"]})", {R"({"a\"é\n":1})"}, {"{}", R"({"a":1})"});
    check_schema(R"({"properties":{}})", {"{}"}, {R"({"a":1})"});
}

TEST_CASE("members that no value fits") {
    check_schema(R"({"properties":{"a":false,"b":true}})", {"{}", R"({"b":1})"}, {R"({"a":1})"});
    check_schema(R"({"anyOf":[{"properties":{"a":false},"required":["a"]},{"type":"null"}]})", {"null"},
                 {"{}", R"({"a":1})"});
    expect_refusal({"no text fits"}, R"({"properties":{"a":{"enum":[]}},"required":["a"]})");
}

TEST_CASE("additional properties") {
    check_schema(R"({"additionalProperties":{"type":"integer"}})", {"{}", R"({"a":1})", R"({"a":1, "": 2,"é😀":3})"},
                 {R"({"a":null})", R"({"a\n":1})", R"({"a":1,})"});
    check_schema(R"({"properties":{"ab":{"type":"null"},"abc":{"type":"null"},"é":true,"q\"":true},"required":["ab"],
              "additionalProperties":{"type":"integer"}})",
                 {R"({"ab":null})", R"({"ab":null,"a":1})", R"({"ab":null,"abc":null,"é":1,"x":1,"y":2})",
                  R"({"ab":null,"":1,"b":1,"abcd":1,"abd":1,"ac":1,"è":1,"q":1,"éé":1})"},
                 {"{}", R"({"a":1})", R"({"ab":null,"ab":1})", R"({"ab":null,"abc":1})", R"({"ab":null,"x":1,"é":1})",
                  R"({"ab":null,"x":null})", R"({"ab":null,"q\"":1,"q\"":1})"});
    check_schema(R"({"properties":{"a":{"type":"integer"}},"additionalProperties":true})",
                 {R"({"a":1,"b":[]})", R"({"b":null})"}, {R"({"a":"x"})", R"({"b":1,"a":"x"})"});
    check_schema(R"({"properties":{"a":{"type":"integer"}},"additionalProperties":false})", {"{}", R"({"a":1})"},
                 {R"({"b":1})"});
    check_schema(R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"b":1})"});
    check_schema(R"({"type":"object","additionalProperties":true})", {"{}", R"({"b\n":1})"}, {});
}

TEST_CASE("required names that are not described") {
    check_schema(R"({"type":"object","required":["b","a","b"]})", {R"({"b":1,"a":2})", R"({"b":1,"a":2,"c":3})"},
                 {"{}", R"({"a":2,"b":1})", R"({"b":1})"});
    check_schema(R"({"properties":{"a":{"type":"null"}},"required":["b"]})", {R"({"b":1})", R"({"a":null,"b":[]})"},
                 {"{}", R"({"b":1,"c":1})"});
    check_schema(R"({"required":["b"],"additionalProperties":{"type":"null"}})", {R"({"b":null,"c":null})"},
                 {R"({"b":1})"});
    expect_refusal({"no text fits"}, R"({"type":"object","required":["b"],"additionalProperties":false})");
}

TEST_CASE("many optional members") {
    std::string schema = R"({"properties":{)", all = "{";
    for (int i = 0; i < 300; ++i) {
        const std::string name = "\"p" + std::to_string(i) + "\"";
        schema += (i > 0 ? "," : "") + name + R"(:{"type":"integer"})";
        all += (i > 0 ? "," : "") + name + ":" + std::to_string(i);
    }
    SchemaTexts texts(schema + "}}");
    CHECK(texts(all + "}"));
    CHECK(texts(R"({"p299":0})"));
    CHECK(texts("{}"));
    CHECK(texts(R"({"p0":1, "p150":2, "p299":3})"));
    CHECK_FALSE(texts(R"({"p1":1,"p0":2})"));
    for (int i = 300; i <= 1000; ++i) schema += ",\"p" + std::to_string(i) + "\":{}";
    expect_refusal({"1001 optional properties, wanted at most 1000"}, schema + "}}");
}

TEST_CASE("items") {
    check_schema(R"({"items":{"type":"integer"}})", {"[]", "[1]", "[1,2, 3]"}, {"[null]", "[1,null]", "[1 ]", "[,1]"});
    check_schema(R"({"type":"array","items":true})", {"[1,null]"}, {});
    check_schema(R"({"type":"array","items":false})", {"[]"}, {"[1]"});
    check_schema(R"({"items":{"type":"integer"},"minItems":2})", {"[1,2]", "[1,2,3]"}, {"[]", "[1]"});
    check_schema(R"({"items":{"type":"integer"},"maxItems":2})", {"[]", "[1]", "[1,2]"}, {"[1,2,3]"});
    check_schema(R"({"items":{"type":"integer"},"minItems":1,"maxItems":1})", {"[1]"}, {"[]", "[1,2]"});
    check_schema(R"({"items":{"type":"integer"},"minItems":2.0,"maxItems":3})", {"[1,2]", "[1,2,3]"},
                 {"[1]", "[1,2,3,4]"});
    check_schema(R"({"type":"array","minItems":1})", {"[[]]", "[1,{}]"}, {"[]"});
    check_schema(R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"});
    check_schema(R"({"anyOf":[{"minItems":2,"maxItems":1},{"type":"null"}]})", {"null"}, {"[]", "[1]", "[1,1]"});
}

TEST_CASE("items of lists of schemas") {
    for (const char* items :
         {R"("prefixItems":[{"type":"null"},{"type":"integer"}])", R"("items":[{"type":"null"},{"type":"integer"}])"}) {
        const std::string pair = std::string("{") + items;
        check_schema(pair + "}", {"[]", "[null]", "[null,1]", "[null, 1]"}, {"[1]", "[null,null]", "[null,1,1]"});
        check_schema(pair + R"(,"minItems":1})", {"[null]", "[null,1]"}, {"[]"});
        check_schema(pair + R"(,"minItems":2,"maxItems":2})", {"[null,1]"}, {"[]", "[null]", "[null,1,1]"});
        check_schema(pair + R"(,"maxItems":1})", {"[]", "[null]"}, {"[null,1]"});
        check_schema(pair + R"(,"maxItems":0})", {"[]"}, {"[null]"});
        check_schema(pair + R"(,"maxItems":5})", {"[null,1]"}, {"[null,1,1]"});
    }
    const std::string prefix = R"({"prefixItems":[{"type":"null"},{"type":"integer"}],"items":{"type":"string"})";
    check_schema(prefix + "}", {"[]", "[null]", "[null,1]", R"([null,1,"a", "b"])"},
                 {R"(["a"])", R"([null,"a"])", "[null,1,1]"});
    check_schema(prefix + R"(,"minItems":3})", {R"([null,1,"a"])", R"([null,1,"a","b"])"}, {"[null,1]", "[]"});
    check_schema(prefix + R"(,"maxItems":3})", {"[]", R"([null,1,"a"])"}, {R"([null,1,"a","b"])"});
    check_schema(prefix + R"(,"minItems":4,"maxItems":4})", {R"([null,1,"a","b"])"},
                 {R"([null,1,"a"])", R"([null,1,"a","b","c"])"});
    check_schema(R"({"items":[{"type":"null"}],"additionalItems":{"type":"integer"}})", {"[]", "[null]", "[null,1,2]"},
                 {"[1]"});
    check_schema(R"({"items":[{"type":"null"}],"additionalItems":false})", {"[]", "[null]"}, {"[null,1]"});
    check_schema(R"({"prefixItems":[{"type":"null"}],"items":false})", {"[]", "[null]"}, {"[null,1]"});
}

TEST_CASE("given values") {
    check_schema(R"({"enum":["a","ab","b",1,-1.5,null,true,"é\n"]})",
                 {R"("a")", R"("ab")", R"("b")", "1", "-1.5", "null", "true", R"("é\n")"},
                 {R"("")", R"("abc")", "a", "11", "-1", "false", R"("é)"});
    check_schema(R"({"enum":[{"a":[1,2],"b":{}},[],["x"]]})",
                 {R"({"a":[1,2],"b":{}})", R"({"a": [1, 2], "b":{}})", "[]", R"(["x"])"},
                 {R"({"b":{},"a":[1,2]})", "[1]", R"({ "a":[1,2]})"});
    check_schema(R"({"const":{"a":1}})", {R"({"a":1})", R"({"a": 1})"}, {"{}"});
    check_schema(R"({"const":"x","title":"y"})", {R"("x")"}, {"x"});
    check_schema(R"({"type":"string","enum":["a",1,null]})", {R"("a")"}, {"1", "null"});
    check_schema(R"({"type":["integer","null"],"enum":["a",1,1.5,2.0,null]})", {"1", "2.0", "null"}, {R"("a")", "1.5"});
    check_schema(R"({"enum":["a","a"]})", {R"("a")"}, {});
    std::string many = R"({"enum":[)";
    for (int i = 0; i < 10000; ++i) many += (i > 0 ? "," : "") + std::string("\"n") + std::to_string(i) + "\"";
    SchemaTexts texts(many + "]}");
    CHECK(texts("\"n9999\""));
    CHECK(texts("\"n1\""));
    CHECK_FALSE(texts("\"n10000\""));
    CHECK_FALSE(texts("\"n\""));
}

TEST_CASE("choices of schemas") {
    for (const std::string keyword : {"anyOf", "oneOf"}) {
        check_schema("{\"" + keyword + R"(":[{"type":"integer"},{"type":"null"},false],"default":null})", {"1", "null"},
                     {"true"});
        expect_refusal({"JSON schema: ", "beside"}, "{\"" + keyword + R"(":[{}],"type":"integer"})");
        expect_refusal({"\"", "wanted a list"}, "{\"" + keyword + R"(":{}})");
    }
    expect_refusal({"no text fits"}, R"({"anyOf":[]})");
}

TEST_CASE("all of some schemas") {
    check_schema(R"({"allOf":[{"type":"integer","minimum":3}],"description":"x"})", {"3"}, {"2"});
    check_schema(R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"$ref":"#/$defs/b"}],
              "properties":{"c":{"type":"null"}},"type":"object",
              "$defs":{"b":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}}})",
                 {R"({"a":1,"b":"x"})", R"({"a":1,"b":"x","c":null})"},
                 {R"({"a":1})", R"({"b":"x"})", R"({"a":1,"b":"x","d":1})"});
    check_schema(R"({"allOf":[{"required":["a"]},{"type":"object"},true]})", {R"({"a":1})", R"({"a":1,"b":1})"},
                 {"{}"});
    check_schema(R"({"allOf":[{"allOf":[{"properties":{"a":true}},{"required":["a"]}]},{"$ref":"#"}]})", {R"({"a":1})"},
                 {"{}"});
    expect_refusal({"/allOf/0: ", "\"minLength\" is not supported in an \"allOf\""},
                   R"({"allOf":[{"minLength":1},{"maxLength":2}]})");
    expect_refusal({"\"type\" other than"}, R"({"allOf":[{"type":"string"},{"properties":{}}]})");
    expect_refusal({"two schemas of the property \"a\""},
                   R"({"allOf":[{"properties":{"a":true}},{"properties":{"a":{}}}]})");
    expect_refusal({"\"additionalProperties\" is not supported in"},
                   R"({"allOf":[{"properties":{"a":true},"additionalProperties":false},{"properties":{"b":true}}]})");
    expect_refusal({"of objects"}, R"({"allOf":[{},{}]})");
}

TEST_CASE("references") {
    check_schema(R"({"$ref":"#/$defs/a","title":"t","$defs":{"a":{"type":"integer"}}})", {"1"}, {"null"});
    check_schema(R"({"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"type":"null"}}})",
                 {"null"}, {"1"});
    check_schema(R"({"properties":{"a":{"type":"null"},"b":{"$ref":"#/properties/a"}}})", {R"({"a":null,"b":null})"},
                 {R"({"b":1})"});
    check_schema(R"({"prefixItems":[{"type":"null"},{"$ref":"#/prefixItems/0"}]})", {"[null,null]"}, {"[null,1]"});
    check_schema(R"({"$ref":"#/$defs/a~1b~0c%20d%25","$defs":{"a/b~c d%":{"type":"null"}}})", {"null"}, {"1"});
    check_schema(R"({"$ref":"#/$defs/","$defs":{"":{"type":"null"}}})", {"null"}, {"1"});
}

TEST_CASE("recursive schemas") {
    const char* const list =
        R"({"properties":{"value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},
                                 "required":["value","next"]})";
    check_schema(
        list, {R"({"value":1,"next":null})", R"({"value":1,"next":{"value":2,"next":null}})"},
        {R"({"value":1})", R"({"value":1,"next":{"value":2}})", R"({"value":1,"next":{"value":2,"next":null})"});
    SchemaTexts texts{std::string(list)};
    CHECK(texts(repeated(100, R"({"value":1, "next": )") + "null" + repeated(100, "}")));
    const char* const tree = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object",
        "properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},
        "required":["name"]}}})";
    check_schema(tree,
                 {R"({"name":"a"})", R"({"name":"a","children":[]})",
                  R"({"name":"a","children":[{"name":"b"}, {"name":"c","children":[{"name":"d"}]}]})"},
                 {R"({"name":"a","children":[{}]})", R"({"children":[]})"});
    for (
        const char* circle :
        {R"({"$ref":"#"})", R"({"anyOf":[{"type":"null"},{"$ref":"#"}]})", R"({"allOf":[{"$ref":"#"}]})",
         R"({"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})"})
        expect_refusal({"it refers to itself and never reaches a type"}, circle);
    expect_refusal({"no text fits"}, R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})");
}

TEST_CASE("lengths of strings") {
    check_schema(R"({"type":"string","minLength":2})", {R"("ab")", R"("é\n")", R"("\ud83d\ude00😀")", R"("abc")"},
                 {R"("")", R"("a")", R"("😀")", R"("\n")", R"("\ud83d\ude00")"});
    check_schema(R"({"type":"string","maxLength":2})", {R"("")", R"("ab")", R"("\u00e9😀")"}, {R"("abc")"});
    check_schema(R"({"minLength":1,"maxLength":3})", {R"("a")", R"("abc")"}, {R"("")", R"("abcd")"});
    check_schema(R"({"maxLength":0})", {R"("")"}, {R"("a")"});
    SchemaTexts long_texts(R"({"minLength":10000,"maxLength":10000})");
    CHECK(long_texts("\"" + repeated(10000, "é") + "\""));
    CHECK_FALSE(long_texts("\"" + repeated(9999, "a") + "\""));
    expect_refusal({"no text fits"}, R"({"minLength":2,"maxLength":1})");
    expect_refusal({"\"maxLength\" is 10001, wanted an integer from 0 to 10000"}, R"({"maxLength":10001})");
}

TEST_CASE("patterns of strings") {
    check_schema(R"({"type":"string","pattern":"^[a-c]+$"})", {R"("abc")"}, {R"("")", R"("abd")", R"("\u0061")"});
    check_schema(R"({"pattern":"b"})", {R"("b")", R"("abc")", R"("é\nb\"")"}, {R"("ac")", R"("")"});
    check_schema(R"({"pattern":"^a.b$"})", {R"("axb")", R"("a\"b")", R"("a\\b")", R"("aéb")"},
                 {R"("a"b")", R"("a\b")", R"("ab")"});
    check_schema(R"({"pattern":"^\\n?$"})", {R"("\n")", R"("")"}, {R"("n")"});
    expect_refusal({"/properties/a: \"pattern\": "}, R"({"properties":{"a":{"pattern":"("}}})");
    for (const char* other : {"minLength", "maxLength"})
        expect_refusal({"beside \"pattern\" is not supported"}, R"({"pattern":"a",")" + std::string(other) + "\":1}");
    expect_refusal({"\"format\" beside \"pattern\""}, R"({"pattern":"a","format":"date"})");
    expect_refusal({"\"minLength\" beside \"format\""}, R"({"format":"date","minLength":1})");
}

TEST_CASE("formats of strings") {
    check_schema(
        R"({"format":"date"})", {R"("2024-02-29")", R"("1999-12-31")", R"("0001-04-30")"},
        {R"("2024-13-01")", R"("2024-00-01")", R"("2024-04-31")", R"("2024-02-30")", R"("2024-1-1")", R"("")"});
    check_schema(R"({"format":"time"})", {R"("00:00:00Z")", R"("23:59:59.123+01:00")", R"("12:00:00-23:59")"},
                 {R"("24:00:00Z")", R"("12:60:00Z")", R"("12:00:00")", R"("12:00Z")", R"("12:00:00.Z")"});
    check_schema(R"({"type":"string","format":"date-time"})", {R"("2024-02-29T12:00:00Z")"},
                 {R"("2024-02-29")", R"("2024-02-29 12:00:00Z")"});
    check_schema(R"({"format":"uuid"})", {R"("123e4567-e89b-12d3-A456-426614174000")"},
                 {R"("123e4567e89b12d3a456426614174000")", R"("g23e4567-e89b-12d3-a456-426614174000")"});
    check_schema(R"({"format":"ipv4"})", {R"("0.0.0.0")", R"("255.199.10.9")"},
                 {R"("256.0.0.0")", R"("01.0.0.0")", R"("1.2.3")", R"("1.2.3.4.5")"});
    check_schema(R"({"format":"ipv6"})",
                 {R"("::")", R"("::1")", R"("1::")", R"("1:2:3:4:5:6:7:8")", R"("fe80::1:2")", R"("1:2:3:4:5:6:7::")",
                  R"("::2:3:4:5:6:7:8")"},
                 {R"("1:2:3:4:5:6:7")", R"("1::2::3")", R"("12345::")", R"(":")", R"("1:2:3:4:5:6:7:8:9")",
                  R"("1:2:3:4::5:6:7:8")", R"("1:")"});
    check_schema(R"({"format":"email"})", {R"("a@b")", R"("a.b+c@d-e.org")"},
                 {R"("a")", R"("@b")", R"("a.@b")", R"("a@-b")", R"("a@b.")", R"("a b@c")"});
    check_schema(R"({"format":"hostname"})", {R"("a")", R"("a-b.c1")"},
                 {R"("")", R"("-a")", R"("a-")", R"("a..b")", R"("a_b")"});
    check_schema(
        R"({"format":"uri"})",
        {R"("https://a.b:80/c/d?e=f/g#h")", R"("mailto:a@b")", R"("urn:x:y")", R"("file:///a%20b")", R"("a:")"},
        {R"("a")", R"("/a/b")", R"("1a:b")", R"("https://a b")", R"("a:%2")", R"("a:b#c#d")"});
    SchemaTexts label(R"({"format":"hostname"})");
    CHECK(label("\"" + repeated(63, "a") + "\""));
    CHECK_FALSE(label("\"" + repeated(64, "a") + "\""));
    expect_refusal({"the format \"iri\" is not supported", "date-time, uuid"}, R"({"format":"iri"})");
}

TEST_CASE("integers between bounds") {
    struct Bounds {
        const char* keywords;
        double least, most;
    };
    const Bounds all[] = {{R"("minimum":0)", 0, 1e9},
                          {R"("minimum":7)", 7, 1e9},
                          {R"("minimum":-13)", -13, 1e9},
                          {R"("maximum":0)", -1e9, 0},
                          {R"("maximum":99)", -1e9, 99},
                          {R"("maximum":-1)", -1e9, -1},
                          {R"("maximum":-100)", -1e9, -100},
                          {R"("minimum":-12,"maximum":105)", -12, 105},
                          {R"("minimum":23,"maximum":87)", 23, 87},
                          {R"("minimum":5,"maximum":5)", 5, 5},
                          {R"("minimum":-87,"maximum":-23)", -87, -23},
                          {R"("minimum":10,"maximum":99)", 10, 99},
                          {R"("minimum":19,"maximum":21)", 19, 21},
                          {R"("exclusiveMinimum":0)", 1, 1e9},
                          {R"("exclusiveMinimum":-1,"exclusiveMaximum":1)", 0, 0},
                          {R"("exclusiveMinimum":9,"exclusiveMaximum":100)", 10, 99},
                          {R"("minimum":2.5,"maximum":7.5)", 3, 7},
                          {R"("exclusiveMinimum":-2.5,"exclusiveMaximum":2.5)", -2, 2},
                          {R"("minimum":3,"exclusiveMinimum":3,"maximum":110)", 4, 110},
                          {R"("minimum":4,"exclusiveMinimum":3,"maximum":9,"exclusiveMaximum":9)", 4, 8},
                          {R"("minimum":3,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false)", 4, 9},
                          {R"("minimum":-1e1,"maximum":2e1)", -10, 20}};
    for (const Bounds& bounds : all) {
        CAPTURE(bounds.keywords);
        SchemaTexts texts(std::string(R"({"type":"integer",)") + bounds.keywords + "}");
        for (int number = -1200; number <= 1200; ++number) {
            CAPTURE(number);
            REQUIRE(texts(std::to_string(number)) == (number >= bounds.least && number <= bounds.most));
        }
        for (const char* text : {"-", "", "00", "01", "5.0", "-0", "1e1"}) CHECK_FALSE(texts(text));
    }
}

TEST_CASE("large bounds of integers") {
    check_schema(R"({"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991})",
                 {"9007199254740991", "-9007199254740991", "0", "8999999999999999"},
                 {"9007199254740992", "-9007199254740992"});
    check_schema(R"({"type":"integer","minimum":-9223372036854775808,"maximum":18446744073709551615})",
                 {"0", "9999999999999999", "-9999999999999999"}, {"10000000000000000"});
    check_schema(R"({"type":"integer","minimum":9007199254740993})", {"9007199254740993"}, {"9007199254740992"});
    check_schema(R"({"type":"integer","minimum":-1e300,"maximum":1e300})", {"0", "-9999999999999999"}, {});
    expect_refusal({"no text fits"}, R"({"type":"integer","minimum":1e17})");
    expect_refusal({"no text fits"}, R"({"type":"integer","minimum":2,"maximum":1})");
    expect_refusal({"no text fits"}, R"({"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2})");
}

TEST_CASE("numbers between bounds") {
    struct Bounds {
        const char* keywords;
        int least, most;  // hundredths
    };
    constexpr int none = 1'000'000;
    const Bounds all[] = {{R"("minimum":0)", 0, none},
                          {R"("exclusiveMinimum":0)", 1, none},
                          {R"("maximum":0)", -none, 0},
                          {R"("exclusiveMaximum":0)", -none, -1},
                          {R"("minimum":0,"maximum":1)", 0, 100},
                          {R"("exclusiveMinimum":0,"exclusiveMaximum":1)", 1, 99},
                          {R"("minimum":-1,"maximum":1)", -100, 100},
                          {R"("minimum":0.25,"maximum":0.75)", 25, 75},
                          {R"("exclusiveMinimum":0.25,"exclusiveMaximum":0.75)", 26, 74},
                          {R"("minimum":0.29,"maximum":0.3)", 29, 30},
                          {R"("minimum":0.3,"exclusiveMaximum":0.31)", 30, 30},
                          {R"("minimum":-1.5,"maximum":2.25)", -150, 225},
                          {R"("exclusiveMinimum":-1.5,"exclusiveMaximum":-0.05)", -149, -6},
                          {R"("minimum":1.1,"maximum":1.1)", 110, 110},
                          {R"("minimum":9.95,"maximum":10.05)", 995, 1005},
                          {R"("minimum":0.005,"maximum":0.015)", 1, 1},
                          {R"("minimum":-0.015)", -1, none},
                          {R"("exclusiveMinimum":0.1)", 11, none},
                          {R"("maximum":7.07)", -none, 707},
                          {R"("minimum":2,"exclusiveMinimum":2.5,"maximum":3,"exclusiveMaximum":3)", 251, 299},
                          {R"("exclusiveMinimum":1e-20,"maximum":1e20)", 1, none},
                          {R"("minimum":-1e-20)", 0, none}};
    for (const Bounds& bounds : all) {
        CAPTURE(bounds.keywords);
        SchemaTexts texts(std::string(R"({"type":"number",)") + bounds.keywords + "}");
        for (int number = -1300; number <= 1300; ++number) {
            for (const std::string& text : texts_of_hundredths(number)) {
                CAPTURE(text);
                REQUIRE(texts(text) == (number >= bounds.least && number <= bounds.most));
            }
        }
        for (const char* text : {"-", "", "00.5", "1.", ".5", "-0", "-0.0", "1e0", "1.12345678901234567"})
            CHECK_FALSE(texts(text));
    }
}

TEST_CASE("bounds of numbers with many digits") {
    check_schema(R"({"type":"number","minimum":0.1,"exclusiveMaximum":0.2})",
                 {"0.1", "0.1000000000000000", "0.1999999999999999", "0.15"},
                 {"0.0999999999999999", "0.2", "0.2000000000000000", "0.10000000000000000"});
    check_schema(R"({"type":"number","minimum":0.30000000000000004})", {"0.3000000000000001", "0.4", "1"},
                 {"0.3", "0.3000000000000000"});
    check_schema(R"({"type":"number","maximum":0.30000000000000004})",
                 {"0.3", "0.3000000000000000", "-9999999999999999.5"}, {"0.3000000000000001", "1"});
    check_schema(R"({"type":"number","minimum":9007199254740993,"maximum":9007199254740994.0})",
                 {"9007199254740993", "9007199254740993.5", "9007199254740994.000"},
                 {"9007199254740992.9", "9007199254740994.0001"});
    expect_refusal({"no text fits"}, R"({"type":"number","exclusiveMinimum":1,"maximum":1})");
    expect_refusal({"no text fits"}, R"({"type":"number","minimum":1.5,"maximum":1.25})");
}

TEST_CASE("what a schema must not have") {
    expect_refusal({"JSON schema: /properties/age: \"multipleOf\" is not supported"},
                   R"({"properties":{"age":{"type":"integer","multipleOf":2}}})");
    expect_refusal({"JSON schema: \"colour\" is not supported"}, R"({"colour":1})");
    for (const char* keyword : {"not", "if", "nullable", "$dynamicRef", "contentEncoding", "a\\nb"})
        expect_refusal({"is not supported"}, "{\"" + std::string(keyword) + "\":{}}");
    for (const char* keyword : {"uniqueItems", "contains", "minProperties", "maxProperties", "patternProperties",
                                "propertyNames", "dependentRequired", "unevaluatedProperties"})
        expect_refusal({keyword, "is not supported"}, "{\"" + std::string(keyword) + "\":true}");
    expect_refusal({"\"minLength\" beside \"enum\""}, R"({"enum":["a"],"minLength":1})");
    expect_refusal({"/properties/a~1b~0: ", "\"type\" beside \"$ref\""},
                   R"({"properties":{"a/b~":{"type":"null","$ref":"#"}}})");
    expect_refusal({"no text fits"}, "false");
}

TEST_CASE("values of keywords that make no sense") {
    for (const char* schema :
         {"3", "null", "\"string\"", "[]", R"({"items":3})", R"({"properties":{"a":null}})", R"({"anyOf":[[]]})"})
        expect_refusal({"JSON schema: ", "wanted a schema"}, schema);
    expect_refusal({"the type \"text\" is unknown, wanted one of: null, boolean"}, R"({"type":"text"})");
    expect_refusal({"\"type\" is 3, wanted a list"}, R"({"type":3})");
    expect_refusal({"\"type\"", "wanted a list of texts"}, R"({"type":[3]})");
    expect_refusal({"\"properties\" is a list of 0, wanted an object"}, R"({"properties":[]})");
    expect_refusal({"\"required\" is true, wanted a list"}, R"({"required":true})");
    expect_refusal({"\"enum\" is an object, wanted a list"}, R"({"enum":{}})");
    expect_refusal({"\"minItems\" is -1, wanted"}, R"({"minItems":-1})");
    expect_refusal({"\"minItems\" is 1.5, wanted"}, R"({"minItems":1.5})");
    expect_refusal({"\"minimum\" is \"1\", wanted a number"}, R"({"minimum":"1"})");
    expect_refusal({"\"exclusiveMaximum\" is \"1\", wanted a number"}, R"({"exclusiveMaximum":"1"})");
    expect_refusal({"\"pattern\" is 1, wanted a text"}, R"({"pattern":1})");
    expect_refusal({"\"prefixItems\""}, R"({"prefixItems":[],"items":[]})");
    for (const char* reference : {"other.json", "#name", "https://a.b/c#/d", "#/%2", "#/%gg", ""})
        expect_refusal({"\"$ref\" is ", "wanted a place in this schema"},
                       R"({"$ref":")" + std::string(reference) + "\"}");
    for (const char* reference :
         {"#/$defs/b", "#/$defs/a/0", "#/x", "#/$defs/~2", "#/$defs/~", "#/$defs/c/1", "#/$defs/c/x"})
        expect_refusal({"\"$ref\" is ", "which is not in this schema"},
                       R"({"$ref":")" + std::string(reference) + R"(","$defs":{"a":{},"c":[true]}})");
    expect_refusal({"\"$ref\" is 3, wanted a text"}, R"({"$ref":3})");
    expect_refusal({"/$defs/c: it is a list of 1, wanted a schema"}, R"({"$ref":"#/$defs/c","$defs":{"c":[true]}})");
}

TEST_CASE("hostile schemas") {
    expect_refusal({"nested deeper than 64 levels"}, repeated(65, R"({"not":)") + "1" + repeated(65, "}"));
    SchemaTexts deep(repeated(32, R"({"type":"array","items":)") + "true" + repeated(32, "}"));
    CHECK(deep(repeated(33, "[") + repeated(33, "]")));

    std::string many = R"({"anyOf":[)", chain = R"({"$ref":"#/$defs/0","$defs":{)",
                merged = R"({"allOf":[{},{"$ref":"#/$defs/0"}],"$defs":{)";
    for (int i = 0; i < 20001; ++i) many += i > 0 ? ",{}" : "{}";
    expect_refusal({"more than 20000 schemas"}, many + "]}");

    constexpr int length = 2000;
    for (int i = 0; i < length; ++i) {
        const std::string name = "\"" + std::to_string(i) + "\":",
                          next = "{\"$ref\":\"#/$defs/" + std::to_string(i + 1) + "\"}";
        chain += name + next + ",";
        merged += name + "{\"allOf\":[" + next + "," + next + "]},";
    }
    const std::string end = "\"" + std::to_string(length) + "\":{\"type\":\"object\"}}}";
    CHECK(SchemaTexts(chain + end)("{}"));
    expect_refusal({"nested deeper than 64 levels"}, merged + end);

    std::string repeats = R"({"minItems":10000,"items":)";
    for (int i = 0; i < 3; ++i) repeats += R"({"minItems":10000,"items":)";
    CHECK_FALSE(SchemaTexts(repeats + "true}}}}")("[]"));
    expect_refusal({"JSON schema: /", "…"}, R"({"properties":{")" + repeated(1000, "é") + R"(":{"x":1}}})");
}
