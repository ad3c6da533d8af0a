// Views as files: each form read back.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "expect_error.h"
#include "runtime/base/files.h"
#include "runtime/picture/apng.h"
#include "runtime/picture/drawing.h"
#include "temporary_directory.h"
#include "viewer/export/view_export.h"

using namespace vantage;
using namespace vantage::view;

namespace {

/// Three queries and keys of a causal head; the middle token would end a script, or a word of a shell.
ViewSubject small_subject() {
    ViewSubject s;
    s.model.name = "tiny", s.model.architecture = "gpt2";
    s.head = {2, 5};
    s.state.head = s.head;
    s.state.prompt = "a \"b\" </script>";
    s.command = "vantage view " + as_command_line(s.state);
    s.tokens.texts = {"a", " \"b\"", " </script>"};
    s.rows = s.columns = 3;
    s.causal = true;
    s.cells = {.rows = 3, .columns = 3, .mass = {1, 0, 0, 0.25f, 0.75f, 0, 0.1f, 0.2f, 0.7f}, .peak = {}};
    s.cells.peak = s.cells.mass;
    return s;
}

std::string without_base64(const std::string& text) {
    std::string rest;
    for (std::size_t i = 0, run = 0; i < text.size(); ++i) {
        run = std::isalnum(static_cast<unsigned char>(text[i])) ? run + 1 : 0;
        if (run < 200) rest += text[i];
    }
    return rest;
}

}  // namespace

TEST_CASE("any text is XML in an SVG", "[view]") {
    CHECK(svg_text("a < \"b\" & c\x01\n\xEF\xBF\xBE\xFF") == "a &lt; &quot;b&quot; &amp; c  \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("every file of a view says what it is of", "[view]") {
    const ViewSubject s = small_subject();
    for (const std::string& text : {as_svg(s), as_html(s), as_csv(s), as_json(s)}) {
        CHECK(text.find("tiny (gpt2)") != std::string::npos);
        for (const char* key : {"Vantage-Layer", "Vantage-Head", "Vantage-Scale", "Vantage-Pooling", "Vantage-Seed"})
            CHECK(text.find(key) != std::string::npos);
    }
    CHECK(caption_of(s) == "tiny · layer 2 · head 5 · √ scale to 1 · sum · seed 7");
    ViewSubject cut = s;
    cut.state.range = {0.2, 0.8}, cut.state.scale = AttentionScale::linear;
    CHECK(caption_of(cut) == "tiny · layer 2 · head 5 · linear scale from 0.2 to 0.8 · sum · seed 7");
    CHECK(cut.position(0.5f) == 0.5f);
    CHECK(cut.position(0.2f) == 0);
    CHECK(as_csv(cut).find("# Vantage-Scale: linear, 0.2 to 0.8\n") != std::string::npos);
    for (const char* end : {"\"max\":0.8", "\"min\":0.2"}) CHECK(as_html(cut).find(end) != std::string::npos);
    CHECK(as_svg(cut).find(">≤ 0.2<") != std::string::npos);
    ViewSubject followed = s;  // a program's run, of whose prompt and seed nothing is known
    followed.command.clear();
    CHECK(caption_of(followed) == "tiny · layer 2 · head 5 · √ scale to 1 · sum");
    for (const char* key : {"Vantage-Seed", "Vantage-Prompt", "Vantage-Command", "\"seed\""})
        CHECK(as_json(followed).find(key) == std::string::npos);
    CHECK(facts_of(s).back().second == "vantage view -p 'a \"b\" </script>' --layer 2 --head 5");
}

TEST_CASE("the tables of a view hold its cells", "[view]") {
    const ViewSubject s = small_subject();
    std::istringstream lines(as_csv(s));
    std::string line, last;
    while (std::getline(lines, line)) {
        if (line.starts_with("#")) continue;
        if (line.starts_with("query")) CHECK(line == R"(query,token,"0 a","1 ·""b""","2 ·</script>")");
        last = line;
    }
    CHECK(last == R"(2,"·</script>",0.100000001,0.200000003,0.699999988)");  // the shortest that read back
    const nlohmann::json json = nlohmann::json::parse(as_json(s));
    CHECK(json["mass"][1][1] == 0.75);
    CHECK(json["mass"][0][2].is_null());  // what a query does not see is no weight
    CHECK(json["facts"]["Vantage-Layer"] == "2");
    const std::string npy = as_npy(s);
    const std::size_t header = 10 + static_cast<unsigned char>(npy[8]);
    CHECK(npy.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
    CHECK(header % 64 == 0);
    CHECK(npy.find("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }") == 10);
    REQUIRE(npy.size() == header + 9 * 4);
    float value = 0;
    std::memcpy(&value, npy.data() + header + 4 * 4, 4);
    CHECK(value == 0.75f);
}

/// The same with a second run that has another second token, and one more.
ViewSubject two_runs(ShownRuns shown) {
    ViewSubject s = small_subject();
    SecondSubject second{.name_a = "A · f16", .name_b = "B · q4_0"};
    second.tokens.texts = {"a", " c", " d"};
    second.rows = align({std::vector<std::int64_t>{1, 2, 3}}, {std::vector<std::int64_t>{1, 2, 3}});
    second.rows.a.before = {0, 1, 2, 3, 3}, second.rows.b.before = {0, 1, 2, 2, 3};
    second.keys = second.rows;
    s.rows = s.columns = 4;
    s.cells = {
        .rows = 4, .columns = 4, .mass = {1, 0, 0, 0, 0.25f, 0.75f, 0, 0, 0.1f, 0.2f, 0.7f, 0, 0, 0, 0, 0}, .peak = {}};
    s.cells.peak = s.cells.mass;
    second.cells = {
        .rows = 4, .columns = 4, .mass = {1, 0, 0, 0, 0.5f, 0.5f, 0, 0, 0, 0, 0, 0, 0.3f, 0.3f, 0, 0.4f}, .peak = {}};
    second.cells.peak = second.cells.mass;
    second.distance = 0.25;
    s.second = second;
    s.state.compared = Compared{.weights = DType::q4_0};
    s.state.shown = shown, s.state.difference_max = 0.5;
    s.command = "vantage view " + as_command_line(s.state);
    return s;
}

TEST_CASE("files of two runs hold both, or the difference, and say which", "[view]") {
    const ViewSubject difference = two_runs(ShownRuns::difference), both = two_runs(ShownRuns::both);
    CHECK(difference.at(1, 0) == 0.25f);
    CHECK_FALSE(difference.hidden(1, 0));
    CHECK(difference.hidden(2, 0));  // a token of A alone
    CHECK(difference.hidden(3, 2));
    CHECK(difference.row_label(1) == "·\"b\" | ·c");
    CHECK(caption_of(difference) ==
          "tiny · layer 2 · head 5 · B − A of A · f16; B · q4_0 · √ scale to ±0.5 · sum · seed 7");
    const std::string csv = as_csv(both);
    CHECK(csv.find("\"A\",1,\"·\"\"b\"\"\",0.25,0.75,,\n") != std::string::npos);
    CHECK(csv.find("\"B\",3,\"·d\",0.300000012,0.300000012,,0.400000006\n") != std::string::npos);
    CHECK(as_csv(difference).find("\"B − A\",1,\"·\"\"b\"\" | ·c\",0.25,-0.25,,\n") != std::string::npos);
    const nlohmann::json json = nlohmann::json::parse(as_json(both));
    CHECK(json["b"]["mass"][3][0] == 0.3f);
    CHECK(json["difference"]["mass"][1][1] == -0.25);
    CHECK(json["difference"]["mass"][3][0].is_null());
    CHECK(json["facts"]["Vantage-Compared"] == "weights q4");
    CHECK(json["facts"]["Vantage-Shown"] == "A · f16; B · q4_0");
    CHECK(json["facts"]["Vantage-Command"].get<std::string>().find("--compare weights=q4") != std::string::npos);
    CHECK(as_npy(both).find("'shape': (2, 4, 4)") != std::string::npos);
    CHECK(as_npy(difference).find("'shape': (4, 4)") != std::string::npos);
    const std::string svg = as_svg(both), html = as_html(difference);
    const std::string map = "shape-rendering";
    CHECK(svg.find(map, svg.find(map) + 1) != std::string::npos);
    CHECK(html.find("\"name\":\"B − A\"") != std::string::npos);
    CHECK(html.find("\"first\":2") != std::string::npos);
}

TEST_CASE("pages and drawings of a view stand alone", "[view]") {
    const ViewSubject s = small_subject();
    const std::string html = as_html(s), svg = as_svg(s);
    CHECK(html.find("://") == std::string::npos);  // no network
    CHECK(without_base64(svg).find("://") == svg.find("http://www.w3.org/2000/svg") + 4);
    CHECK(svg.find("://", svg.find("2000/svg")) == std::string::npos);
    const std::size_t script = html.find("<script>");
    CHECK(html.find("</script>", script) == html.rfind("</script>"));  // the prompt ends no script
    ViewSubject about_html = s;  // after these two in a script, a browser takes "</script>" for a part of it
    about_html.state.prompt = about_html.tokens.texts[1] = "<!-- <script>";
    const std::string page = as_html(about_html);
    CHECK(page.find("<!--") == std::string::npos);
    CHECK(page.find("<script", page.find("<script>") + 1) == std::string::npos);
    CHECK(page.find("\\u003c!-- \\u003cscript>") != std::string::npos);
    CHECK(svg.find("&lt;/script&gt;") != std::string::npos);
    CHECK(base64("Man") == "TWFu");
    CHECK(base64("Ma") == "TWE=");
    CHECK(base64("M") == "TQ==");
}

/// A causal map of so many tokens, "t0", "t1" …
ViewSubject long_subject(std::int64_t tokens) {
    ViewSubject s = small_subject();
    s.tokens.texts.clear();
    for (std::int64_t i = 0; i < tokens; ++i) s.tokens.texts.push_back(" t" + std::to_string(i));
    s.rows = s.columns = tokens;
    const auto count = static_cast<std::size_t>(tokens * tokens);
    s.cells = {.rows = tokens, .columns = tokens, .mass = std::vector<float>(count), .peak = {}};
    for (std::size_t i = 0; i < count; ++i) s.cells.mass[i] = static_cast<float>(i % 97) / 97;
    s.cells.peak = s.cells.mass;
    return s;
}

TEST_CASE("a drawing of a view has rectangles, titles and a white page", "[view]") {
    const std::string small = as_svg(small_subject()), large = as_svg(long_subject(129));
    CHECK(small.find("<image") == std::string::npos);  // which some programs draw blurred
    CHECK(small.find("<rect x=\"1\" y=\"1\" width=\"1\" height=\"1\"") != std::string::npos);
    CHECK(large.find("<image") != std::string::npos);
    for (const char* title : {query_title, key_title, "weight, √ scale"})
        CHECK(small.find(std::string(">") + title + "<") != std::string::npos);
    CHECK(small.find("width=\"100%\" height=\"100%\" fill=\"#ffffff\"") != std::string::npos);
    CHECK(small_subject().state.theme == Theme::dark);
    // as in the window: positions where labels are missing in between, and no sign for spaces that say nothing
    CHECK(as_svg(long_subject(100)).find(">t98") == std::string::npos);
    CHECK(as_svg(long_subject(100)).find(">t3·3<") != std::string::npos);
    CHECK(as_svg(long_subject(20)).find(">t3<") != std::string::npos);
    ViewSubject pooled = long_subject(100);  // cells of two tokens have the position of the first
    pooled.rows = pooled.columns = 200;
    pooled.cells.level = 1, pooled.cells.first_row = 2;
    for (int i = 100; i < 200; ++i) pooled.tokens.texts.push_back(" t" + std::to_string(i));
    CHECK(as_svg(pooled).find(">t8 … t9·8<") != std::string::npos);
}

TEST_CASE("a page of a view has the ticks of its scale, and titles", "[view]") {
    const std::string html = as_html(small_subject());
    CHECK(html.find("[0.5,\"0.25\"]") != std::string::npos);  // √: a quarter in the middle
    CHECK(html.find(std::string("\"row_title\":\"") + query_title) != std::string::npos);
    CHECK(html.find(std::string("\"column_title\":\"") + key_title) != std::string::npos);
    CHECK(html.find("\"bar_title\":\"weight, √ scale\"") != std::string::npos);
    CHECK(as_html(two_runs(ShownRuns::difference)).find("[0.5,\"0\"]") != std::string::npos);
}

TEST_CASE("a page of a view says which head it has, and how a page of another is made", "[view]") {
    ViewSubject s = small_subject();
    s.model.heads = 8;
    s.model.attending[static_cast<std::size_t>(AttentionKind::self)] = {0, 1, 2, 5};
    const std::string html = as_html(s);
    CHECK(html.find("\"heads\":\" · one of 32 heads (4 layers × 8)\"") != std::string::npos);
    const std::string command = nlohmann::json(s.command + " --headless --save page.html").dump();
    REQUIRE(command.find("--layer 2 --head 5") != std::string::npos);
    CHECK(html.find("\"command\":" + command.substr(0, command.find("</"))) != std::string::npos);
    s.command.clear();  // a program's run, which no command makes again
    CHECK(as_html(s).find("\"command\":\"\"") != std::string::npos);
}

TEST_CASE("a view is written in the form of its name", "[view]") {
    const test::TemporaryDirectory directory;
    write_view(directory.path("a.npy"), small_subject());
    CHECK(nlohmann::json::parse(read_file(directory.path("a.npy.json")))["Vantage-Head"] == "5");
    test::expect_error(ErrorKind::usage, {"a.jpg", ".svg, .html, .csv, .json or .npy"},
                       [&] { write_view(directory.path("a.jpg"), small_subject()); });
}

TEST_CASE("an animated PNG shows its first picture to those that know no animation", "[view]") {
    const Image red(5, 3, {255, 0, 0}), blue(5, 3, {0, 0, 255});
    const test::TemporaryDirectory directory;
    const std::string path = directory.path("a.png");
    {
        ApngWriter animation(path, 3, 0.25);
        animation.add(red, {{"Title", "two"}});
        animation.add(blue);
        animation.add(red);
        CHECK_FALSE(std::filesystem::exists(path));  // before it is whole
        animation.finish();
    }
    const std::string file = read_file(path);
    const PngContent still = decode_png(file, "a.png");
    CHECK(still.image.rgb == red.rgb);
    CHECK(still.texts == PngTexts{{"Title", "two"}});
    std::string types;
    std::uint32_t sequence = 0;
    for (std::size_t at = 8; at < file.size();) {
        const auto word = [&](std::size_t from) {
            std::uint32_t value = 0;
            for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(file[from + i]);
            return value;
        };
        const std::string type = file.substr(at + 4, 4);
        if (type == "acTL") CHECK(word(at + 8) == 3);
        if (type == "fcTL" || type == "fdAT") CHECK(word(at + 8) == sequence++);
        if (type != "tEXt" && type != "sRGB") types += type + " ";
        at += word(at) + 12;
    }
    CHECK(types == "IHDR acTL fcTL IDAT fcTL fdAT fcTL fdAT IEND ");
    const auto files = [&] {
        return std::distance(std::filesystem::directory_iterator(directory.path()),
                             std::filesystem::directory_iterator());
    };
    CHECK(files() == 1);
    test::expect_error(ErrorKind::usage, {"picture 1 is 4 × 3, but the first is 5 × 3"}, [&] {
        ApngWriter animation(directory.path("b.png"), 2, 1);
        animation.add(red);
        animation.add(Image(4, 3, {}));
    });
    test::expect_error(ErrorKind::usage, {"expected 2 pictures, got 1"}, [&] {
        ApngWriter animation(directory.path("b.png"), 2, 1);
        animation.add(red);
        animation.finish();
    });
    test::expect_error(ErrorKind::bad_file, {"nowhere"}, [&] { ApngWriter(directory.path("nowhere/b.png"), 2, 1); });
    CHECK(files() == 1);  // what could not be finished is gone
}

TEST_CASE("distances of attention that sees later keys have both signs in files", "[view]") {
    ViewSubject s = small_subject();
    s.causal = false;
    s.state.axis = KeyAxis::relative;
    s.columns = 5;  // of keys two behind the query to two before it
    s.cells = {.rows = 3, .columns = 5, .mass = std::vector<float>(15, 0.5f), .peak = std::vector<float>(15, 0.5f)};
    CHECK(s.column_label(0) == "-2");
    CHECK(s.column_label(2) == "0");
    CHECK(s.column_label(4) == "2");
    for (std::int64_t row = 0; row < 3; ++row)
        for (std::int64_t column = 0; column < 5; ++column) {
            CAPTURE(row, column);
            const std::int64_t key = row + 2 - column;
            CHECK(s.hidden(row, column) == (key < 0 || key > 2));
        }
}
