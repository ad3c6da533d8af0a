// README.md and docs/: every op, shader and architecture is described, and every file and function that a page names
// exists.
// tests/build/documents.sh checks the commands and compiles the code blocks.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/architecture.h"

using namespace vantage;

namespace {

const std::string root = VANTAGE_ROOT;

bool exists(const std::string& path) { return std::filesystem::exists(root + "/" + path); }

// The words between backquotes.
std::vector<std::string> code_words(const std::string& text) {
    static const std::regex word("`([^`\n]+)`");
    std::vector<std::string> words;
    for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) words.push_back((*at)[1]);
    return words;
}

// Rows of the tables, by the words of their first cell.
std::multimap<std::string, std::string> rows_by_op(const std::string& page) {
    std::multimap<std::string, std::string> rows;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| `")) continue;
        for (const std::string& word : code_words(line.substr(0, line.find('|', 2)))) rows.emplace(word, line);
    }
    return rows;
}

std::string without_comments(const std::string& code) {
    static const std::regex comment("//[^\n]*|/\\*[^]*?\\*/");
    return std::regex_replace(code, comment, "");
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
    std::set<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.insert((*at)[1]);
    return found;
}

std::set<std::string> names_in(const std::string& code) {
    static const std::regex name("([A-Za-z_][A-Za-z0-9_]*)");
    return matches(without_comments(code), name);
}

// Every name in the code of the tree, without comments.
std::set<std::string> names_in_the_code() {
    std::set<std::string> names;
    for (const char* folder : {"runtime", "include", "shaders", "cli", "viewer"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/" + folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp" && extension != ".glsl" && extension != ".comp") continue;
            names.merge(names_in(read_file(entry.path().string())));
        }
    }
    return names;
}

// Words of a page that are names of code: they have an underscore, `::` or a capital letter. Not the environment
// variables of options, VANTAGE_…, which the code does not spell out.
std::set<std::string> code_names(const std::string& page) {
    static const std::regex word("[A-Za-z][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*");
    std::set<std::string> names;
    for (const std::string& each : code_words(page)) {
        const bool code = each.find('_') != each.npos || each.find("::") != each.npos || std::isupper(each[0]) != 0;
        if (code && std::regex_match(each, word) && !each.starts_with("VANTAGE_") && each != "DIR" &&
            each != "vantage::view")
            names.merge(names_in(each));
    }
    return names;
}

// Lines of a page; what is indented goes on with the line before it.
std::vector<std::string> whole_lines(const std::string& page) {
    std::vector<std::string> all;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);)
        line.starts_with("  ") ? void(all.back() += line.substr(line.find_first_not_of(' ') - 1)) : all.push_back(line);
    return all;
}

// A line of a list of tests, `NUMBER. FILE: NAME`, or FILE alone for a script: both exist. Adds the number to `listed`.
void check_test_item(const std::string& line, std::set<std::string>& listed) {
    static const std::regex item("([0-9]+)\\. `([^`]+)`(?::\\s+(.*))?");
    std::smatch found;
    if (!std::regex_match(line, found, item)) return;
    CHECK(listed.insert(found[1]).second);
    const std::string file = found[2], name = found[3];
    REQUIRE(exists(file));
    if (file.ends_with("_test.cpp"))
        CHECK(read_file(root + "/" + file).find("TEST_CASE(\"" + name + "\"") != std::string::npos);
    else
        CHECK(name.empty());
}

}  // namespace

TEST_CASE("docs/ops.md has every op, with its source file and its shaders", "[documents]") {
    const std::string page = read_file(root + "/docs/ops.md");
    const auto rows = rows_by_op(page);
    for (const OpDef* op : all_ops()) {
        INFO(op->name);
        REQUIRE(rows.count(op->name) == 1);
        bool source = false, shader = false;
        for (const std::string& word : code_words(rows.find(op->name)->second)) {
            if (word.ends_with(".cpp")) {
                INFO(word);
                REQUIRE(exists("runtime/ops/" + word));
                source = source || read_file(root + "/runtime/ops/" + word).find("\"" + std::string(op->name) + "\"") !=
                                       std::string::npos;
            }
            if (word.ends_with(".comp")) {
                INFO(word);
                CHECK(exists("shaders/" + word));
                shader = true;
            }
        }
        CHECK(source);
        CHECK(shader);
    }
}

TEST_CASE("docs/ops.md has every shader", "[documents]") {
    const std::vector<std::string> words = code_words(read_file(root + "/docs/ops.md"));
    const std::set<std::string> named(words.begin(), words.end());
    const std::filesystem::path shaders = root + "/shaders";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shaders)) {
        const std::string name = std::filesystem::relative(entry.path(), shaders).generic_string();
        if (!name.ends_with(".comp") || name.starts_with("features/")) continue;
        INFO(name);
        CHECK(named.count(name) == 1);
    }
}

TEST_CASE("docs/models.md has every architecture, and README.md their number", "[documents]") {
    const std::string page = read_file(root + "/docs/models.md");
    const std::size_t begin = page.find("\n## Architectures\n");
    REQUIRE(begin != std::string::npos);
    std::set<std::string> listed, supported;
    for (const auto& [name, row] : rows_by_op(page.substr(begin, page.find("\n## ", begin + 1) - begin))) {
        INFO(row);
        CHECK(listed.insert(name).second);
    }
    CHECK(listed.erase("model_type") == 1);  // the head of the table
    for (const Architecture* one : all_architectures()) supported.insert(one->name);
    CHECK(listed == supported);
    static const std::regex number("supports ([0-9]+)\\s+architectures");
    CHECK(matches(read_file(root + "/README.md"), number) == std::set{std::to_string(supported.size())});
}

TEST_CASE("the pages name files that exist", "[documents]") {
    static const std::regex path(
        "(runtime|shaders|tests|cli|docs|include|assets|bench|viewer|examples|cmake)/[A-Za-z0-9_./-]*");
    static const std::regex link("\\]\\(([^)#: ]+)[^): ]*\\)");
    for (const std::string page :
         {"README.md", "CONTRIBUTING.md", "docs/ops.md", "docs/references.md", "docs/tour.md", "docs/decisions.md"}) {
        const std::string text = read_file(root + "/" + page);
        std::size_t paths = 0;
        for (const std::string& word : code_words(text)) {
            if (!std::regex_match(word, path) || word.find("NAME") != word.npos) continue;
            INFO(page << ": " << word);
            CHECK(exists(word));
            ++paths;
        }
        CHECK(paths > 0);
        const std::string folder = page.starts_with("docs/") ? "docs/" : "";
        for (const std::string& target : matches(text, link)) {
            INFO(page << ": " << target);
            CHECK(exists(folder + target));
        }
    }
}

TEST_CASE("every row of docs/guarantees.md and SECURITY.md names tests, and all of them exist", "[documents]") {
    const auto [page, least_rows] = GENERATE(std::pair("/docs/guarantees.md", 51), std::pair("/SECURITY.md", 7));
    static const std::regex row("\\| .* \\| ([0-9]+(?:, [0-9]+)*) \\|");
    static const std::regex number("([0-9]+)");
    std::set<std::string> named, listed;  // numbers of a section
    int rows = 0;
    const auto end_section = [&](const std::string& before) {
        INFO("the section before: " << before);
        CHECK(named == listed);
        named.clear(), listed.clear();
    };
    for (const std::string& line : whole_lines(read_file(root + page))) {
        INFO(line);
        std::smatch found;
        if (line.starts_with("## ")) end_section(line);
        if (line.starts_with("| ") && !line.ends_with("| tests |")) {
            REQUIRE(std::regex_match(line, found, row));
            named.merge(matches(found[1].str(), number));
            ++rows;
        }
        check_test_item(line, listed);
    }
    end_section("the end");
    CHECK(rows >= least_rows);
}

TEST_CASE("every row of docs/references.md names files and tests that exist, or says that there are none",
          "[documents]") {
    static const std::regex row("- \\*\\*(.+?)\\*\\*: (.+)"), none("\\*\\*(later|not supported|explanation)\\*\\*.*"),
        shown(".+ — `[^`]+`(?:, `[^`]+`)*; tests? ([0-9]+(?:, [0-9]+)*)"), number("([0-9]+)");
    std::map<std::string, std::set<std::string>> titles;  // by text
    std::set<std::string> named, listed;
    std::string text;
    for (const std::string& line : whole_lines(read_file(root + "/docs/references.md"))) {
        INFO(line);
        std::smatch found, tests;
        if (line.starts_with("## ")) text = line;
        if (!text.empty() && line.starts_with("- ")) {
            REQUIRE(std::regex_match(line, found, row));
            CHECK(titles[text].insert(found[1]).second);
            const std::string what = found[2];
            if (std::regex_match(what, none)) continue;
            REQUIRE(std::regex_match(what, tests, shown));
            named.merge(matches(tests[1].str(), number));
            for (const std::string& file : code_words(what.substr(what.rfind(" — ")))) CHECK(exists(file));
        }
        check_test_item(line, listed);
    }
    CHECK(named == listed);
    REQUIRE(titles.size() == 5);
    for (const auto& [name, rows] : titles) {
        INFO(name);
        CHECK(rows.size() > 15);
    }
}

TEST_CASE("the pages name classes and functions that exist", "[documents]") {
    const std::set<std::string> known = names_in_the_code();
    CHECK_FALSE(known.contains("make_shedule"));
    for (const char* page : {"README.md", "docs/tour.md", "docs/decisions.md"}) {
        const std::set<std::string> names = code_names(read_file(root + "/" + page));
        CHECK_FALSE(names.empty());
        for (const std::string& name : names) {
            INFO(page << ": " << name);
            CHECK(known.contains(name));
        }
    }
}

TEST_CASE("the table at the beginning of the tour names a function of each file", "[documents]") {
    static const std::regex row("([a-z]+/[a-z_/]+\\.[a-z]+) +(?:OpDef )?([A-Za-z_]+)(?:\\([a-z, ]*\\))? {2}.*");
    std::istringstream lines(read_file(root + "/docs/tour.md"));
    std::size_t rows = 0;
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (!std::regex_match(line, found, row)) continue;
        INFO(line);
        REQUIRE(exists(found[1]));
        const std::string code = without_comments(read_file(root + "/" + found[1].str()));
        CHECK(std::regex_search(code, std::regex("\\b" + found[2].str() + "\\b")));
        ++rows;
    }
    CHECK(rows == 5);
}

TEST_CASE("lines of headers, build files and pages have at most 120 characters", "[documents]") {
    const auto is_long = [](const std::string& line) {
        return std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }) > 120;  // not bytes: UTF-8
    };
    CHECK(is_long(std::string(121, 'x')));
    std::string greek;
    for (int i = 0; i < 120; ++i) greek += "λ";
    CHECK_FALSE(is_long(greek));
    std::vector<std::string> files{root + "/CMakeLists.txt"};
    for (const char* folder : {"include", "runtime", "cmake"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/" + folder))
            if (const auto extension = entry.path().extension(); extension == ".h" || extension == ".cmake")
                files.push_back(entry.path().string());
    CHECK(files.size() > 100);
    for (const char* page : {"README.md", "CONTRIBUTING.md"}) files.push_back(root + "/" + page);
    for (const auto& entry : std::filesystem::directory_iterator(root + "/docs"))
        if (entry.path().extension() == ".md") files.push_back(entry.path().string());
    for (const std::string& file : files) {
        std::istringstream lines(read_file(file));
        std::string line;
        for (int number = 1; std::getline(lines, line); ++number)
            if (is_long(line) && !line.starts_with('|')) FAIL_CHECK(file << ":" << number << ": " << line);
    }
}

TEST_CASE("loops of windows wait when the session has ended", "[documents]") {
    for (const char* file :
         {"README.md", "docs/viewer.md", "include/vantage/view.h", "examples/attention_window.cpp"}) {
        const std::string text = read_file(root + "/" + file);
        INFO(file);
        CHECK(text.find("turn(session.ended() ? 1 : 0)") != text.npos);
        CHECK(text.find(".turn())") == text.npos);
    }
}

TEST_CASE("docs/references.md names ops and functions that exist", "[documents]") {
    const std::set<std::string> declared = names_in(read_file(root + "/include/vantage/ops.h"));
    CHECK(declared.contains("layer_norm"));
    CHECK(names_in("Tensor f(Tensor x);  // as g does\n/// h\n/* i\n */") == std::set<std::string>{"Tensor", "f", "x"});
    static const std::regex name("[a-z][a-z0-9]*(_[a-z0-9]+)+");
    for (const std::string& word : code_words(read_file(root + "/docs/references.md"))) {
        if (!std::regex_match(word, name)) continue;
        INFO(word);
        CHECK((find_op(word) != nullptr || declared.contains(word)));
    }
}
