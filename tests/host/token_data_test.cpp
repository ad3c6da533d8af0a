// Training data: token files, documents of all formats, and the order in which sequences are read.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "expect_error.h"
#include "runtime/base/files.h"
#include "runtime/io/safetensors.h"
#include "runtime/train/documents.h"
#include "runtime/train/token_data.h"
#include "runtime/train/token_file.h"
#include "temporary_directory.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

using Ids = std::vector<std::int32_t>;

/// A tokenizer of bytes: a to z are 1 to 26, a space 27, a line end 28; 0 ends a text.
const Tokenizer& letters() {
    static const Tokenizer made = [] {
        std::string vocabulary = R"("<|endoftext|>":0)";
        for (char c = 'a'; c <= 'z'; ++c) vocabulary += std::string(",\"") + c + "\":" + std::to_string(c - 'a' + 1);
        vocabulary += R"(,"Ġ":27,"Ċ":28)";
        return Tokenizer::parse(R"({"model": {"type": "BPE", "vocab": {)" + vocabulary + R"(}, "merges": []},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
            "decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 0, "content": "<|endoftext|>", "special": true}]})",
                                "letters.json");
    }();
    return made;
}

Ids ids_of(const std::string& text) { return letters().encode(text, false).ids; }

/// The documents of a file with this content.
std::vector<Ids> documents_in(const std::string& name, const std::string& content, DocumentOptions options = {}) {
    const TemporaryDirectory folder;
    write_file(folder.path(name), content);
    options.tokenizer = &letters();
    if (options.vocabulary == 0) options.vocabulary = letters().vocab_size();
    std::vector<Ids> documents(1);
    const DocumentCounts counts =
        read_documents(folder.path(name), options, [&](std::span<const std::int32_t> ids, bool ends) {
            documents.back().insert(documents.back().end(), ids.begin(), ids.end());
            if (ends) documents.emplace_back();
        });
    REQUIRE(documents.back().empty());
    documents.pop_back();
    CHECK(counts.documents == std::ssize(documents));
    return documents;
}

/// As documents_in marks them: what does not count, in capital letters.
std::string shown(const Ids& ids) {
    std::string text;
    for (const std::int32_t id : ids) {
        const std::string one = letters().decode(Ids{id_of(id)}, false);
        text += is_target(id) ? one
                : one == " "  ? "_"
                : one == "\n" ? "/"
                              : std::string(1, static_cast<char>(one[0] - 32));
    }
    return text;
}

TokenData data_of(const std::vector<std::string>& files, const TemporaryDirectory& folder, std::int64_t context,
                  double share = 0) {
    return TokenData(files, &letters(),
                     {.context = context, .validation_share = share, .blank_lines = true, .folder = folder.path()});
}

}  // namespace

TEST_CASE("a token file is read as it was written", "[train]") {
    const TemporaryDirectory folder;
    for (const std::int64_t vocabulary : {32768, 32769}) {
        const Ids first{1, 2 | not_a_target, 32767}, second{5 | not_a_target};
        TokenWriter writer(folder.path("t"), vocabulary);
        writer.add(first);
        writer.end_document();
        writer.end_document();  // nothing
        writer.add(second);
        writer.finish();
        const TokenFile file(folder.path("t"), 1 << 20);
        CHECK((file.tokens() == 4 && file.documents() == 2 && file.targets() == 2));
        CHECK(std::ranges::equal(file.starts(), std::vector<std::uint64_t>{0, 3, 4}));
        Ids all(4);
        file.read(0, all);
        CHECK(all == Ids{1, 2 | not_a_target, 32767, 5 | not_a_target});
        const auto bytes = std::filesystem::file_size(folder.path("t"));
        CHECK(bytes == (vocabulary == 32768 ? 8U : 16U) + 24 + 48);
        const std::string whole = read_file(folder.path("t"));
        for (const std::size_t size : {0UL, 10UL, whole.size() - 1}) {
            write_file(folder.path("cut"), whole.substr(0, size));
            expect_error(ErrorKind::bad_file, {"cut"}, [&] { TokenFile(folder.path("cut"), vocabulary); });
        }
        // starts, footer and ids; not the padding behind the ids, nor the number of targets, which is for people
        for (std::size_t i = 0; i < whole.size() - 8; i += 2) {
            if (i >= whole.size() - 48 && i % 4 != 0) continue;
            std::string spoiled = whole;
            spoiled[i] ^= 0x40;
            write_file(folder.path("spoiled"), spoiled);
            INFO(i);
            expect_error(ErrorKind::bad_file, {"spoiled"}, [&] { TokenFile(folder.path("spoiled"), vocabulary); });
        }
        expect_error(ErrorKind::bad_file, {"not in the vocabulary"}, [&] { TokenFile(folder.path("t"), 32767); });
    }
}

TEST_CASE("documents of texts are separated by end tokens, blank lines, or are files", "[train]") {
    CHECK(documents_in("a.txt", "ab\n<|endoftext|>\ncd<|endoftext|>") == std::vector<Ids>{ids_of("ab"), ids_of("cd")});
    CHECK(documents_in("a.txt", "ab\ncd\n\nef\n") == std::vector<Ids>{ids_of("ab\ncd\n\nef")});
    CHECK(documents_in("a.txt", "ab\ncd\n\n\nef\n", {.blank_lines = true}) ==
          std::vector<Ids>{ids_of("ab\ncd"), ids_of("ef")});
    CHECK(documents_in("a.txt", "ab\r\n\r\ncd\r\n", {.blank_lines = true}) ==
          std::vector<Ids>{ids_of("ab"), ids_of("cd")});
    CHECK(documents_in("a.txt", "ab", {.end_token = 0}) == std::vector<Ids>{{1, 2, 0}});
    CHECK(documents_in("a.txt", "").empty());
    expect_error(ErrorKind::bad_file, {"a.gz", "compressed"}, [] { documents_in("a.gz", "x"); });
}

TEST_CASE("documents of texts that are read in several parts are separated likewise", "[train][slow]") {
    // longer than what is tokenised at once, and than what is read at once
    std::string large;
    for (int i = 0; i < 700'000; ++i) large += "abcdefg\n";
    const std::vector<Ids> one = documents_in("a.txt", large);
    REQUIRE(one.size() == 1);
    CHECK(std::ssize(one[0]) == 700'000 * 8 - 1);
    // a separator across the end of what is read at once, in a text without line ends
    std::string words;
    while (words.size() < (std::size_t{4} << 20) - 1) words += "abcdefg ";
    words.resize((std::size_t{4} << 20) - 1);
    const std::vector<Ids> two = documents_in("a.txt", words + "\n\nab", {.blank_lines = true});
    REQUIRE(two.size() == 2);
    CHECK((two[0].size() == words.size() && two[1] == ids_of("ab")));
    // \r\n across it, and bytes that are no UTF-8 and have no place to cut
    for (int i = 0; i < 4; ++i) {
        words.resize(words.size() - 1);
        const std::vector<Ids> three = documents_in("a.txt", words + "\r\n\r\nab", {.blank_lines = true});
        REQUIRE(three.size() == 2);
        CHECK((three[0].size() == words.size() && three[1] == ids_of("ab")));
    }
    std::string lines;
    while (lines.size() < (std::size_t{4} << 20) - 1)
        lines += R"({"text": "abcdefgh"})"
                 "\r\n";
    CHECK(documents_in("a.jsonl", lines, {.strict = true}).size() == lines.size() / 22);
    CHECK(documents_in("a.txt", std::string(3 << 20, '\x80')).empty());  // no letters; took minutes
}

TEST_CASE("of prompts and conversations only what the model is to say counts", "[train]") {
    const auto read = [](const std::string& lines) {
        std::vector<std::string> all;
        DocumentOptions options;
        options.chat = text::ChatFormat{
            text::ChatTemplate::parse("{% for m in messages %}{{ m.role[0] }} {{ m.content }}\n{% endfor %}"
                                      "{% if add_generation_prompt %}a {% endif %}",
                                      "t"),
            text::jinja::OrderedJson::object()};
        for (const Ids& ids : documents_in("a.jsonl", lines, options)) all.push_back(shown(ids));
        return all;
    };
    CHECK(read(R"({"text": "ab cd"})"
               "\n\n"
               R"({"prompt": "ab ", "completion": "cd"})") == std::vector<std::string>{"ab cd", "AB_cd"});
    CHECK(read(R"({"instruction": "ab", "input": "cd", "output": "ef"})") == std::vector<std::string>{"AB/CD/ef"});
    CHECK(read(R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}, )"
               R"({"role": "user", "content": "so"}, {"role": "assistant", "content": "no"}]})") ==
          std::vector<std::string>{"U_HI/A_yo\nU_SO/A_no\n"});
    expect_error(ErrorKind::bad_file, {"a.jsonl:1", "role", "3"}, [&] { read(R"({"messages": [{"role": 3}]})"); });
}

TEST_CASE("the end of a conversation is learned where its last message is a reply", "[train]") {
    const auto read = [](const std::string& chat_template, const std::string& messages) {
        DocumentOptions options{.end_token = 0};
        options.chat =
            text::ChatFormat{text::ChatTemplate::parse(chat_template, "t"), text::jinja::OrderedJson::object()};
        const std::vector<Ids> documents = documents_in("a.jsonl", "{\"messages\": [" + messages + "]}", options);
        REQUIRE(documents.size() == 1);
        return documents[0];
    };
    const auto silent = [](Ids ids) {
        for (std::int32_t& id : ids) id |= not_a_target;
        return ids;
    };
    const auto joined = [](Ids one, const Ids& other) {
        one.insert(one.end(), other.begin(), other.end());
        return one;
    };
    const std::string without = "{% for m in messages %}{{ m.content }}{% endfor %}",
                      with = "{% for m in messages %}{{ m.content }}<|endoftext|>{% endfor %}",
                      user = R"({"role": "user", "content": "hi"})",
                      reply = R"({"role": "assistant", "content": "yo"})";
    // one that the template does not write is there once, behind all messages
    CHECK(read(without, user + "," + reply) == joined(silent(ids_of("hi")), joined(ids_of("yo"), {0})));
    CHECK(read(without, user + "," + reply + "," + user) ==
          joined(joined(silent(ids_of("hi")), ids_of("yo")), silent(joined(ids_of("hi"), {0}))));
    CHECK(read(without, reply) == joined(ids_of("yo"), {0}));
    // one that it writes belongs to its message, and there is no other
    CHECK(read(with, user + "," + reply) == joined(silent(joined(ids_of("hi"), {0})), joined(ids_of("yo"), {0})));
}

TEST_CASE("a conversation that the chat template refuses is a line that cannot be read", "[train][bad]") {
    DocumentOptions options;
    options.chat = text::ChatFormat{text::ChatTemplate::parse("{{ raise_exception('roles must alternate') }}", "t"),
                                    text::jinja::OrderedJson::object()};
    const std::string refused = R"({"messages": [{"role": "user", "content": "a"}]})";
    CHECK(documents_in("a.jsonl", "{\"text\": \"ab\"}\n" + refused, options).size() == 1);
    options.strict = true;
    expect_error(ErrorKind::bad_file, {"a.jsonl:1", "roles must alternate"},
                 [&] { documents_in("a.jsonl", refused, options); });
}

TEST_CASE("lines that cannot be read are named, or left out where they are few", "[train][bad]") {
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += "{\"text\": \"ab\"}\n";
    const std::string broken = lines + "{\"text\": 3}\n";
    CHECK(documents_in("a.jsonl", broken).size() == 100);
    expect_error(ErrorKind::bad_file, {"a.jsonl:101", "\"text\" is 3"},
                 [&] { documents_in("a.jsonl", broken, {.strict = true}); });
    std::string many = lines;
    for (int i = 0; i < 20; ++i) many += "{]\n";
    expect_error(ErrorKind::bad_file, {"11 lines cannot be read", "a.jsonl:101"},
                 [&] { documents_in("a.jsonl", many); });
    expect_error(ErrorKind::bad_file, {"a.jsonl:1", "no field"}, [] { documents_in("a.jsonl", "{\"words\": 3}\n"); });
    expect_error(ErrorKind::bad_file, {"a.jsonl:1", "no model with a chat template"},
                 [] { documents_in("a.jsonl", R"({"messages": [{"role": "user", "content": "a"}]})"); });
}

TEST_CASE("token ids of llm.c, of nanoGPT and of safetensors are read", "[train]") {
    const std::vector<std::uint16_t> ids{0, 3, 4, 0, 5};
    const auto raw = [](const auto& values) {
        const auto bytes = std::as_bytes(std::span(values));
        return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    const std::vector<Ids> want{{0}, {3, 4, 0}, {5, 0}};
    CHECK(documents_in("a.bin", raw(ids), {.end_token = 0}) == want);
    std::vector<std::int32_t> header(256);
    header[0] = 20240520, header[1] = 1, header[2] = 5;
    CHECK(documents_in("a.bin", raw(header) + raw(ids), {.end_token = 0}) == want);
    header[2] = 6;
    expect_error(ErrorKind::bad_file, {"a.bin"}, [&] { documents_in("a.bin", raw(header) + raw(ids)); });
    expect_error(ErrorKind::bad_file, {"a.bin", "token 1 is id 999", "29"}, [&] {
        documents_in("a.bin", raw(std::vector<std::uint16_t>{1, 999}));
    });
    std::vector<std::int32_t> wide(256);  // ids of 32 bits
    wide[0] = 20240801, wide[1] = 7, wide[2] = 5;
    CHECK(documents_in("a.bin", raw(wide) + raw(Ids{0, 3, 4, 0, 5}), {.end_token = 0}) == want);
    CHECK(documents_in("a.bin", raw(wide) + raw(Ids{65535, 65536, 1 << 24, 0, 70000}),
                       {.end_token = 0, .vocabulary = (1 << 24) + 1}) ==
          std::vector<Ids>{{65535, 65536, 1 << 24, 0}, {70000, 0}});
    expect_error(ErrorKind::bad_file, {"a.bin", "token 1 is id 65539", "29"}, [&] {
        documents_in("a.bin", raw(wide) + raw(Ids{3, 65539, 4, 0, 5}));  // 3 in its lower half
    });
    expect_error(ErrorKind::bad_file, {"a.bin"}, [&] { documents_in("a.bin", raw(wide) + raw(ids)); });
    const TemporaryDirectory folder;
    const Ids tokens{1, 2, 3, 4};
    const std::vector<std::uint8_t> mask{1, 0, 1, 1};
    const std::vector<std::int64_t> starts{0, 3};
    write_safetensors(folder.path("t.safetensors"), {{"tokens", "I32", {4}, std::as_bytes(std::span(tokens))},
                                                     {"mask", "U8", {4}, std::as_bytes(std::span(mask))},
                                                     {"documents", "I64", {2}, std::as_bytes(std::span(starts))}});
    CHECK(documents_in("a.safetensors", read_file(folder.path("t.safetensors"))) ==
          std::vector<Ids>{{1, 2 | not_a_target, 3}, {4}});
    const auto refused = [&](const std::vector<TensorToWrite>& more, std::initializer_list<const char*> parts) {
        std::vector<TensorToWrite> tensors{{"tokens", "I32", {4}, std::as_bytes(std::span(tokens))}};
        tensors.insert(tensors.end(), more.begin(), more.end());
        write_safetensors(folder.path("t.safetensors"), tensors);
        expect_error(ErrorKind::bad_file, parts,
                     [&] { documents_in("a.safetensors", read_file(folder.path("t.safetensors"))); });
    };
    refused({{"mask", "U8", {0}}}, {"a.safetensors", "4 tokens, but 0 in the mask"});
    refused({{"documents", "I64", {1}, std::as_bytes(std::span(starts)).subspan(8)}}, {"document 0 begins at 3"});
}

TEST_CASE("data without a target are refused with their numbers", "[train][bad]") {
    const TemporaryDirectory folder;
    const Ids tokens{1, 2, 0, 4, 5, 6, 0};
    const std::vector<std::int64_t> starts{0, 3};
    std::vector<std::uint8_t> mask(7);
    const auto data = [&] {
        write_safetensors(folder.path("t.safetensors"), {{"tokens", "I32", {7}, std::as_bytes(std::span(tokens))},
                                                         {"mask", "U8", {7}, std::as_bytes(std::span(mask))},
                                                         {"documents", "I64", {2}, std::as_bytes(std::span(starts))}});
        const TemporaryDirectory cache;
        return data_of({folder.path("t.safetensors")}, cache, 4).targets();
    };
    expect_error(ErrorKind::usage, {"t.safetensors", "none of the 7 tokens in 2 documents"},
                 [&] { static_cast<void>(data()); });
    mask[5] = 1;
    CHECK(data() == 1);
}

TEST_CASE("texts are read again where their kept tokens are damaged", "[train][bad]") {
    const TemporaryDirectory folder;
    write_file(folder.path("a.txt"), "abcdefgh");
    const auto first_sequence = [&] {
        const TokenData data = data_of({folder.path("a.txt")}, folder, 4);
        Ids tokens(4), targets(4);
        data.read(0, 0, {tokens, targets});
        return tokens;
    };
    const Ids whole = first_sequence();
    int changed = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        const std::string path = entry.path().string();
        if (!path.ends_with(".tokens") || path.ends_with(".validation.tokens")) continue;
        std::string bytes = read_file(path);
        for (const char damage : {'\x7f', '\1'}) {  // an id beyond the vocabulary, and another id
            bytes[5] = damage;
            write_file(path, bytes);
            CHECK(first_sequence() == whole);
            CHECK(read_file(path) != bytes);
            ++changed;
        }
    }
    CHECK(changed == 2);
}

TEST_CASE("a permutation has each number once, and another key gives another order", "[train]") {
    for (const std::uint64_t count : {1U, 2U, 3U, 7U, 64U, 1000U}) {
        std::set<std::uint64_t> seen;
        std::uint64_t moved = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t to = permuted(i, count, 5);
            CHECK(to < count);
            seen.insert(to);
            moved += to != permuted(i, count, 6) ? 1U : 0U;
        }
        CHECK(seen.size() == count);
        if (count == 1000) CHECK(moved > 980);
    }
}

TEST_CASE("sequences begin at documents and run on, and an epoch reads other ones", "[train]") {
    const TemporaryDirectory folder;
    std::string text;
    for (int i = 0; i < 60; ++i) text += "abcdefg\n\n";
    write_file(folder.path("a.txt"), text);
    const TokenData data = data_of({folder.path("a.txt")}, folder, 4);
    CHECK(data.documents() == 60);
    CHECK(data.tokens() == 480);
    CHECK(data.sequences() == 119);  // the last two would run beyond the end
    const std::set<Ids> allowed{{1, 2, 3, 4}, {0, 1, 2, 3}, {5, 6, 7, 0}, {4, 5, 6, 7}};
    std::set<Ids> met;
    for (std::int64_t i = 0; i < data.sequences(); ++i) {
        Ids tokens(4), targets(4), again(4);
        data.read(3, i, {tokens, targets});
        CHECK(allowed.contains(tokens));
        met.insert(tokens);
        for (std::size_t j = 0; j + 1 < 4; ++j) CHECK(targets[j] == tokens[j + 1]);
        data.read(3, i, {again, targets});
        CHECK(again == tokens);
    }
    CHECK(met == allowed);
}

TEST_CASE("an epoch passes over the tokens once", "[train]") {
    const TemporaryDirectory folder;
    // documents shorter than the context, and longer ones; each token is its number
    for (const int length : {7, 500}) {
        std::vector<std::int32_t> ids(20000);
        std::vector<std::int64_t> starts;
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
        for (int i = 0; i < 20000; i += length) starts.push_back(i);
        const std::string file = folder.path(std::to_string(length) + ".safetensors");
        write_safetensors(file, {{"tokens", "I32", {std::ssize(ids)}, std::as_bytes(std::span(ids))},
                                 {"documents", "I64", {std::ssize(starts)}, std::as_bytes(std::span(starts))}});
        const TokenData data({file}, nullptr,
                             {.context = 64, .validation_share = 0, .vocabulary = 20000, .folder = folder.path()});
        for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
            std::vector<int> times(ids.size());
            for (std::int64_t i = 0; i < data.sequences(); ++i) {
                Ids tokens(64), targets(64);
                data.read(1, epoch * data.sequences() + i, {tokens, targets});
                for (const std::int32_t id : tokens) ++times[static_cast<std::size_t>(id)];
            }
            CHECK(std::ranges::count(times, 0) < 1400);
            CHECK(std::ranges::count_if(times, [](int n) { return n > 2; }) < 200);
        }
    }
}

TEST_CASE("sequences of small data are read equally often", "[train]") {
    const TemporaryDirectory folder;
    for (const std::size_t length : {191U, 122U, 640U}) {  // of one document; the context is 64
        std::vector<std::int32_t> ids(length);
        std::iota(ids.begin(), ids.end(), 0);
        const std::string file = folder.path(std::to_string(length) + ".safetensors");
        write_safetensors(file, {{"tokens", "I32", {std::ssize(ids)}, std::as_bytes(std::span(ids))}});
        const TokenData data({file}, nullptr,
                             {.context = 64, .validation_share = 0, .vocabulary = 640, .folder = folder.path()});
        std::map<std::int32_t, int> begins;
        const std::int64_t epochs = 200;
        for (std::int64_t i = 0; i < epochs * data.sequences(); ++i) {
            Ids tokens(64), targets(64);
            data.read(1, i, {tokens, targets});
            ++begins[(tokens[0] + 32) / 64];  // some begin a token before
        }
        CHECK(std::ssize(begins) == data.sequences());
        for (const auto& [begin, times] : begins) CHECK(std::abs(times - epochs) <= 20);
    }
}

TEST_CASE("separate documents have bounds that no target crosses", "[train]") {
    const TemporaryDirectory folder;
    write_file(folder.path("a.txt"), "ab\n\ncdefg\n\nh\n\nijklmnopqrstuvwx\n\nyz\n\nabc\n\nde\n");
    const TokenData data({folder.path("a.txt")}, &letters(),
                         {.context = 8,
                          .validation_share = 0,
                          .blank_lines = true,
                          .separate_documents = true,
                          .folder = folder.path()});
    CHECK(data.separates_documents());
    bool bounds = false;
    for (std::int64_t index = 0; index < 20; ++index) {
        Ids tokens(8), targets(8), documents(8), places(8);
        const TrainingSequence sequence{
            .tokens = tokens, .targets = targets, .documents = documents, .document_rows = {{2, places}}};
        data.read(1, index, sequence);
        complete({}, 0, sequence);
        CHECK((documents[0] == 0 && places[0] == 2));
        for (std::size_t i = 0; i + 1 < 8; ++i) {
            const bool same = documents[i] == documents[i + 1];
            bounds = bounds || !same;
            CHECK((same || documents[i] + 1 == documents[i + 1]));
            CHECK(targets[i] == (same ? tokens[i + 1] : -1));
            CHECK(places[i + 1] == (same ? places[i] + 1 : 2));
        }
    }
    CHECK(bounds);
}

TEST_CASE("documents that measure are chosen by what is in them", "[train]") {
    const TemporaryDirectory folder;
    const auto text_of = [](int first, int end) {
        std::string text;
        for (int i = first; i < end; ++i) {
            std::string document;
            for (int n = i + 1; n > 0; n /= 26) document += static_cast<char>('a' + n % 26);
            text += document + " abcdefgh\n\n";
        }
        return text;
    };
    write_file(folder.path("a.txt"), text_of(0, 400));
    write_file(folder.path("b.txt"), text_of(400, 500) + text_of(0, 400));
    const TokenData a = data_of({folder.path("a.txt")}, folder, 4, 0.1),
                    b = data_of({folder.path("b.txt")}, folder, 4, 0.1);
    write_file(folder.path("long.txt"), std::string(60'000, 'a'));
    const TokenData parts = data_of({folder.path("long.txt")}, folder, 4, 0.5);
    CHECK((parts.validation_tokens() > 0 && parts.tokens() > 0));
    const auto documents = [](const TokenData& data) { return data.validation_tokens() / 12; };
    CHECK((documents(a) > 20 && documents(a) < 65));
    CHECK((documents(b) >= documents(a) && documents(b) < documents(a) + 30));
    const auto sequences = [](const TokenData& data) {
        std::set<Ids> all;
        for (std::int64_t i = 0; i < data.validation_sequences(); ++i) {
            Ids tokens(4), targets(4);
            data.read_validation(i, {tokens, targets});
            all.insert(tokens);
        }
        return all;
    };
    const std::set<Ids> of_a = sequences(a), of_b = sequences(b);  // documents in front of others change no choice
    const auto stayed = std::ranges::count_if(of_a, [&](const Ids& one) { return of_b.contains(one); });
    CHECK(10 * stayed > 9 * std::ssize(of_a));
    CHECK(a.key() != b.key());
    write_file(folder.path("copy.txt"), text_of(0, 400));
    CHECK(data_of({folder.path("copy.txt")}, folder, 4, 0.1).key() == a.key());
    expect_error(ErrorKind::usage, {"a sequence takes 100001"},
                 [&] { data_of({folder.path("a.txt")}, folder, 100'000); });
    expect_error(ErrorKind::bad_file, {"missing.txt"}, [&] { data_of({folder.path("missing.txt")}, folder, 4); });
}
