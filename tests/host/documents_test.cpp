// docs/ops.md and docs/references.md name what there is: every op, every shader, and no file that is gone.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/os.h"
#include "vantage/op.h"

using namespace vantage;

namespace {

const std::string root = VANTAGE_ROOT;

bool exists(const std::string& path) { return std::filesystem::exists(root + "/" + path); }

// What stands between backquotes.
std::vector<std::string> code_words(const std::string& text) {
    static const std::regex word("`([^`\n]+)`");
    std::vector<std::string> words;
    for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) words.push_back((*at)[1]);
    return words;
}

// The tables' rows, by the words of their first cell.
std::multimap<std::string, std::string> rows_by_op(const std::string& page) {
    std::multimap<std::string, std::string> rows;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| `")) continue;
        for (const std::string& word : code_words(line.substr(0, line.find('|', 2)))) rows.emplace(word, line);
    }
    return rows;
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

TEST_CASE("the pages on operations and references name files that exist", "[documents]") {
    static const std::regex path("(runtime|shaders|tests|cli|docs|include|assets|bench)/[A-Za-z0-9_./-]*");
    for (const char* page : {"docs/ops.md", "docs/references.md"}) {
        std::size_t paths = 0;
        for (const std::string& word : code_words(read_file(root + "/" + page))) {
            if (!std::regex_match(word, path)) continue;
            INFO(page << ": " << word);
            CHECK(exists(word));
            ++paths;
        }
        CHECK(paths > 0);
    }
}

TEST_CASE("docs/references.md names ops and functions that exist", "[documents]") {
    // `op`s of the page: words of small letters without a dot, which ops.h or the list of ops has
    const std::string api = read_file(root + "/include/vantage/ops.h");
    static const std::regex name("[a-z][a-z0-9]*(_[a-z0-9]+)+");
    for (const std::string& word : code_words(read_file(root + "/docs/references.md"))) {
        if (!std::regex_match(word, name)) continue;
        INFO(word);
        CHECK((find_op(word) != nullptr || api.find(word) != std::string::npos));
    }
}
