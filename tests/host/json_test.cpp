// JSON from files: limits of the parser, and fields that name what is wrong with them.
#include <catch2/catch_test_macros.hpp>

#include "runtime/base/json.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using vantage::test::expect_error;

namespace {

/// The error message of `JsonFields` about the object.
template <class Action>
std::string message_of(const char* json, Action action) {
    const Json tree = parse_json(json, "config.json");
    try {
        action(JsonFields(tree, "config.json"));
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::bad_file);
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("json: invalid JSON is rejected with the position", "[json]") {
    expect_error(ErrorKind::bad_file, {"x.json: not JSON", "line 2, column 3"},
                 [] { parse_json("{\n  bad}", "x.json"); });
    expect_error(ErrorKind::bad_file, {"x.json: not JSON"}, [] { parse_json("", "x.json"); });
    expect_error(ErrorKind::bad_file, {"x.json: not JSON"}, [] { parse_json("{} {}", "x.json"); });
    expect_error(ErrorKind::bad_file, {"x.json: not JSON"}, [] { parse_json("\"\xFF\"", "x.json"); });
    expect_error(ErrorKind::bad_file, {"x.json: not JSON"}, [] { parse_json("[1e999]", "x.json"); });
    expect_error(ErrorKind::bad_file, {"x.json: not JSON"},
                 [] { parse_json("\"" + std::string(5000, 'y'), "x.json"); });
    expect_error(ErrorKind::bad_file, {"no/such.json"}, [] { read_json("no/such.json"); });
}

TEST_CASE("json: nesting is limited, brackets in strings do not count", "[json]") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(parse_json(nested(100), "x.json").is_array());
    expect_error(ErrorKind::bad_file, {"x.json", "nested deeper than 100 levels at byte 100"},
                 [&] { parse_json(nested(101), "x.json"); });
    expect_error(ErrorKind::bad_file, {"nested deeper"}, [&] { parse_json(std::string(5'000'000, '['), "x.json"); });
    const std::string text = "\"" + std::string(500, '[') + "\\\"" + std::string(500, '{') + "\"";
    CHECK(parse_json(text, "x.json").get<std::string>().size() == 1001);
}

TEST_CASE("json: a tree that is far larger than its text is refused before it is built", "[json]") {
    const auto list = [](const std::string& one, std::size_t count) {
        std::string text = "[" + one;
        for (std::size_t i = 1; i < count; ++i) text += "," + one;
        return text + "]";
    };
    CHECK(parse_json(list("[]", 200'000), "x.json").size() == 200'000);
    CHECK(parse_json(list("\"a text\"", 200'000), "x.json").size() == 200'000);
    CHECK(parse_json("\"" + std::string(2'000'000, ',') + "\"", "x.json").is_string());
    for (const char* one : {"[]", "1", "{}", "\"\"", "{\"a\":1}"})
        expect_error(ErrorKind::bad_file, {"x.json: its lists and fields would take", "MB of memory, wanted at most"},
                     [&] { parse_json(list(one, 2'000'000), "x.json"); });
    CHECK(parse_json(list("\"a\"", 2'000'000), "x.json", 32).size() == 2'000'000);
}

TEST_CASE("json: of a repeated key the last value counts; a byte order mark is ignored", "[json]") {
    const Json tree = parse_json("\xEF\xBB\xBF{\"a\": 1, \"a\": 2}", "x.json");
    CHECK(JsonFields(tree, "x.json").integer("a") == 2);
}

TEST_CASE("json: fields of the right kind", "[json]") {
    const Json tree =
        parse_json(R"({"i": 12, "f": 12.0, "x": 0.5, "t": "text", "yes": true, "null": null, "list": [1, 2],
                                     "o": {"p": {"q": -1}}, "big": 9223372036854775807})",
                   "config.json");
    const JsonFields fields(tree, "config.json");
    CHECK(fields.integer("i", 1, 12) == 12);
    CHECK(fields.integer("f") == 12);
    CHECK(fields.integer("big") == std::numeric_limits<std::int64_t>::max());
    CHECK(fields.number("x") == 0.5);
    CHECK(fields.number("i", 0, 100) == 12);
    CHECK(fields.text("t") == "text");
    CHECK(fields.one_of("t", {"other", "text"}) == "text");
    CHECK(fields.flag("yes"));
    CHECK(fields.integers("list", 0, 9) == std::vector<std::int64_t>{1, 2});
    CHECK(fields.integers("i", 0, 99) == std::vector<std::int64_t>{12});
    CHECK(fields.integers("null", 0, 99).empty());
    CHECK(fields.object("o").object("p").integer("q") == -1);
    CHECK(fields.has("i"));
    CHECK_FALSE(fields.has("null"));
    CHECK_FALSE(fields.has("absent"));
    CHECK_FALSE(fields.optional_integer("null").has_value());
    CHECK_FALSE(fields.optional_number("absent").has_value());
    CHECK_FALSE(fields.optional_text("absent").has_value());
    CHECK_FALSE(fields.optional_flag("null").has_value());
    CHECK_FALSE(fields.optional_object("null").has_value());
    CHECK(fields.optional_text("t").value_or("") == "text");
}

TEST_CASE("json: errors name file, field, the value found and what is expected", "[json]") {
    CHECK(message_of(R"({"n_head": -3})", [](const JsonFields& f) { f.integer("n_head", 1, 1024); }) ==
          "config.json: \"n_head\" is -3, wanted an integer from 1 to 1024");
    CHECK(message_of("{}", [](const JsonFields& f) { f.integer("n_head", 1, 1024); }) ==
          "config.json: \"n_head\" is missing, wanted an integer from 1 to 1024");
    CHECK(message_of(R"({"n_head": null})", [](const JsonFields& f) { f.integer("n_head", 1); }) ==
          "config.json: \"n_head\" is null, wanted an integer of at least 1");
    CHECK(message_of(R"({"n": 1.5})", [](const JsonFields& f) { f.integer("n"); }) ==
          "config.json: \"n\" is 1.5, wanted an integer");
    CHECK(message_of(R"({"n": 18446744073709551615})", [](const JsonFields& f) { f.integer("n"); }) ==
          "config.json: \"n\" is 18446744073709551615, wanted an integer");
    CHECK(message_of(R"({"n": 1e30})", [](const JsonFields& f) { f.integer("n"); }) ==
          "config.json: \"n\" is 1e+30, wanted an integer");
    CHECK(message_of(R"({"n": "12"})", [](const JsonFields& f) { f.optional_integer("n", 0, 9); }) ==
          "config.json: \"n\" is \"12\", wanted an integer from 0 to 9");
    CHECK(message_of(R"({"eps": -1})", [](const JsonFields& f) { f.number("eps", 0, 1); }) ==
          "config.json: \"eps\" is -1, wanted a number from 0 to 1");
    CHECK(message_of(R"({"eps": []})", [](const JsonFields& f) { f.number("eps"); }) ==
          "config.json: \"eps\" is a list of 0, wanted a number");
    CHECK(message_of(R"({"t": 1})", [](const JsonFields& f) { f.text("t"); }) ==
          "config.json: \"t\" is 1, wanted a text");
    CHECK(message_of(R"({"b": 1})", [](const JsonFields& f) { f.flag("b"); }) ==
          "config.json: \"b\" is 1, wanted true or false");
    CHECK(message_of(R"({"k": "c"})", [](const JsonFields& f) {
              f.one_of("k", {"a", "b"});
          }) == "config.json: \"k\" is \"c\", wanted one of: a, b");
    CHECK(message_of(R"({"o": {"p": {}}})", [](const JsonFields& f) { f.object("o").object("p").text("q"); }) ==
          "config.json: \"o.p.q\" is missing, wanted a text");
    CHECK(message_of(R"({"l": [1, "x"]})", [](const JsonFields& f) { f.integers("l", 0, 9); }) ==
          "config.json: \"l[1]\" is \"x\", wanted an integer from 0 to 9");
    CHECK(message_of(R"({"l": [1]})", [](const JsonFields& f) { f.element("l", 0); }) ==
          "config.json: \"l[0]\" is 1, wanted an object");
    CHECK(message_of(R"({"l": 1})", [](const JsonFields& f) { f.list("l"); }) ==
          "config.json: \"l\" is 1, wanted a list");
    CHECK(message_of(R"({"o": 1})", [](const JsonFields& f) { f.optional_object("o"); }) ==
          "config.json: \"o\" is 1, wanted an object");
    expect_error(ErrorKind::bad_file, {"config.json: the file is 3, wanted an object"}, [] {
        const Json tree = 3;
        JsonFields(tree, "config.json");
    });
}

TEST_CASE("json: values are shown in one short line", "[json]") {
    CHECK(describe(Json("a\nbé")) == "\"a\\nbé\"");
    CHECK(describe(Json::array({1, 2})) == "a list of 2");
    CHECK(describe(Json::object()) == "an object");
    CHECK(describe(Json(nullptr)) == "null");
    CHECK(describe(Json(std::string(1000, 'x'))).size() < 110);
    std::string letters = "x";
    for (int i = 0; i < 200; ++i) letters += "é";
    CHECK(describe(Json(letters)).ends_with("é…"));
    CHECK(message_of(R"({"o": {"a\nb": 1}})", [](const JsonFields& f) { f.object("o").text("a\nb"); }) ==
          "config.json: \"o.a\\nb\" is 1, wanted a text");
}
