// Training data of encoders, encoder–decoders and models that see: masked tokens, labels, answers and images.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "expect_error.h"
#include "known_configs.h"
#include "runtime/base/files.h"
#include "runtime/train/label_counter.h"
#include "runtime/train/token_data.h"
#include "temporary_directory.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::expect_error;
using vantage::test::folder_of;
using vantage::test::TemporaryDirectory;

namespace {

using Numbers = std::vector<std::int32_t>;

// Ids 0 to 4 are [PAD], [UNK], [CLS], [SEP] and [MASK]; a text is [CLS] … [SEP], a pair has a [SEP] between.
const Tokenizer& words() {
    static const Tokenizer one = Tokenizer::load(folder_of("bert") + "/tokenizer.json");
    return one;
}
constexpr std::int32_t cls = 2, sep = 3, masked = 4;
std::int32_t word(const char* text) { return words().id_of(text).value(); }

struct Examples {
    TemporaryDirectory folder;
    DatasetOptions options{.context = 16, .validation_share = 0};

    std::shared_ptr<const TrainingData> read(const std::string& model, const std::string& lines) {
        write_file(folder.path("a.jsonl"), lines);
        options.model = folder_of(model) + "/config.json", options.folder = folder.path("tokens");
        return read_training_data({folder.path("a.jsonl")}, &words(), options);
    }
    void refuses(const std::string& model, const std::string& lines, std::initializer_list<const char*> parts) {
        INFO(lines);
        expect_error(ErrorKind::bad_file, parts, [&] { read(model, lines); });
    }
};

/// A sequence of data with so many rows.
struct Row {
    Numbers tokens, targets, types, length = {-7}, source, source_length = {-7}, backwards, ends;
    std::vector<float> pixels;
    explicit Row(std::int64_t rows, std::int64_t count = -1) {
        for (Numbers* some : {&tokens, &types, &source, &backwards}) some->assign(static_cast<std::size_t>(rows), -7);
        targets.assign(static_cast<std::size_t>(count < 0 ? rows : count), -7);
    }
    TrainingSequence sequence() {
        return {.tokens = tokens,
                .targets = targets,
                .types = types,
                .length = length,
                .source = source,
                .source_length = source_length,
                .ends = ends,
                .pixels = pixels,
                .source_backwards = backwards};
    }
};

}  // namespace

TEST_CASE("of a text 15 % of the tokens are targets, most of them masked", "[train]") {
    Examples examples;
    std::string text;
    for (int i = 0; i < 400; ++i) text += "the cat in the hat and the dog on the mat ";
    examples.options.context = 64;
    const auto data = examples.read("bert_relative_key", "{\"text\": \"" + text + "\"}\n");
    CHECK(data->task() == Task::masked_tokens);
    int targets = 0, shown = 0, random = 0, all = 0;
    for (std::int64_t i = 0; i < data->sequences(); ++i) {
        Row row(64), again(64), other(64);
        data->read(5, i, row.sequence()), data->read(5, i, again.sequence()), data->read(6, i, other.sequence());
        CHECK((row.tokens == again.tokens && row.targets == again.targets && row.length == Numbers{64}));
        CHECK((row.targets != other.targets || row.tokens != other.tokens));
        for (std::size_t j = 0; j < 64; ++j) {
            ++all;
            CHECK(row.targets[j] != cls);
            CHECK(row.targets[j] != sep);
            if (row.targets[j] < 0) continue;
            ++targets;
            if (row.tokens[j] == row.targets[j]) ++shown;
            if (row.tokens[j] != row.targets[j] && row.tokens[j] != masked) ++random;
        }
    }
    const auto near = [](int count, double of, double share) {  // five standard deviations
        return std::abs(count - of * share) < 5 * std::sqrt(of * share * (1 - share));
    };
    CHECK(near(targets, all, 0.15));
    CHECK(near(shown, targets, 0.1));
    CHECK(near(random, targets, 0.1));
}

TEST_CASE("texts have labels by number or by name", "[train]") {
    Examples examples;
    const auto data = examples.read("bert_classification",
                                    "{\"text\": \"the cat\", \"label\": 2}\n\n"
                                    "{\"text\": \"the\", \"pair\": \"in the cat\", \"label\": \"LABEL_1\"}\n");
    CHECK((data->task() == Task::labels && data->documents() == 2 && data->targets() == 2 && data->sequences() == 2));
    const Numbers short_text = words().encode("the cat").ids, pair = words().encode_pair("the", "in the cat").ids,
                  types = words().encode_pair("the", "in the cat").type_ids;
    CHECK(data->context() == std::ssize(pair));  // the longest
    bool first = false, second = false;
    for (std::int64_t i = 0; i < 2; ++i) {
        Row row(data->context(), 1);
        data->read(0, i, row.sequence());
        const Numbers& want = row.targets[0] == 2 ? short_text : pair;
        CHECK(row.length[0] == std::ssize(want));
        CHECK(std::ranges::equal(std::span(row.tokens).first(want.size()), want));
        CHECK(std::ranges::count(std::span(row.tokens).subspan(want.size()), 0) == data->context() - row.length[0]);
        CHECK(std::ranges::count(row.types, 1) == (row.targets[0] == 2 ? 0 : std::ranges::count(types, 1)));
        first = first || row.targets[0] == 2, second = second || row.targets[0] == 1;
    }
    CHECK((first && second));
    // equal data have equal keys
    const std::string lines = "{\"text\": \"the cat\", \"label\": 2}\n{\"text\": \"the\", \"label\": 1}\n";
    const std::string key = examples.read("bert_classification", lines)->key();
    CHECK(examples.read("bert_classification", "\n" + lines)->key() == key);
    CHECK(examples.read("bert_classification", "{\"text\": \"a cat\"" + lines.substr(18))->key() != key);
    CHECK(examples.read("bert_classification", lines.substr(0, lines.size() - 3) + "0}\n")->key() != key);
    // too long
    examples.options.context = 3;
    const auto cut = examples.read("bert_classification",
                                   "{\"text\": \"the the the the\", \"label\": 0}\n"
                                   "{\"text\": \"the the the the\", \"label\": 1}\n");
    Row row(3, 1);
    cut->read(0, 0, row.sequence());
    CHECK(row.tokens == Numbers{cls, word("the"), sep});
}

TEST_CASE("an answer is read one place behind where it is learned", "[train]") {
    Examples examples;
    for (const char* line :
         {R"({"source": "the cat", "target": "in the"})", R"({"prompt": "the cat", "completion": "in the"})"}) {
        const auto data = examples.read("transformer", line);
        const Numbers source = words().encode("the cat").ids;
        Numbers answer = words().encode("in the").ids;
        answer.push_back(2);  // eos_token_id
        CHECK((data->task() == Task::answers && data->context() == std::max(std::ssize(answer), std::ssize(source))));
        CHECK(data->targets() == std::ssize(answer));
        Row row(9);
        data->read(0, 0, row.sequence());
        CHECK(row.source_length[0] == std::ssize(source));
        CHECK(std::ranges::equal(std::span(row.source).first(source.size()), source));
        CHECK(row.tokens[0] == 1);  // decoder_start_token_id
        for (std::size_t i = 0; i < 9; ++i) {
            CHECK(row.targets[i] == (i < answer.size() ? answer[i] : -1));
            if (i + 1 < 9) CHECK(row.tokens[i + 1] == (i < answer.size() ? answer[i] : 0));
            CHECK(row.backwards[i] == static_cast<std::int32_t>(i < source.size() ? source.size() - 1 - i : i));
        }
        complete(test::config_of("transformer"), 2, row.sequence());
        CHECK(row.backwards[8] == 18 + 8);
    }
}

TEST_CASE("images have labels and answers, and are read when they are needed", "[train]") {
    Examples examples;
    std::vector<std::string> read;
    std::size_t pixels = 3 * 32 * 32;
    examples.options.read_image = [&](const std::string& path) {
        read.push_back(path);
        return std::vector<float>(pixels, 0.5f);
    };
    const auto labels = examples.read("vit", R"({"image": "x/a.png", "label": 6}
{"image": "x/a.png", "label": 5})");
    CHECK((labels->context() == 17 && labels->vocabulary() == words().vocab_size()));
    CHECK(read == std::vector<std::string>(2, examples.folder.path("x/a.png")));
    Row row(0, 1);
    row.pixels.resize(pixels);
    labels->read(0, 0, row.sequence());
    CHECK((row.targets[0] >= 5 && row.pixels[5] == 0.5f && read.size() == 3));
    examples.refuses("vit_gpt2", R"({"image": "a.png", "target": "the"})", {"a.jsonl:1", "3072 numbers", "1152"});
    pixels = 3 * 16 * 24;
    const auto answers = examples.read("vit_gpt2", R"({"image": "a.png", "target": "the cat"})");
    Row answer(answers->context());
    answer.pixels.resize(pixels);
    answers->read(0, 0, answer.sequence());
    CHECK(answer.source_length[0] == 13);
    CHECK(answer.targets[0] == cls);
}

TEST_CASE("examples that cannot be used are named", "[train][bad]") {
    Examples examples;
    const auto labels = [&](const std::string& line, std::initializer_list<const char*> parts) {
        examples.refuses("bert_classification", "{\"text\": \"the\", \"label\": 0}\n" + line, parts);
    };
    labels(R"({"text": "the", "label": 3})", {"a.jsonl:2", "\"label\" is 3", "0 to 2"});
    labels(R"({"text": "the", "label": "good"})", {"\"good\"", "LABEL_0, LABEL_1, LABEL_2"});
    labels(R"({"text": "the"})", {"\"label\" is missing"});
    labels(R"({"text": " ", "label": 1})", {"a.jsonl:2", "\"text\" is \" \"", "a word"});
    labels("{]", {"a.jsonl:2", "not JSON"});
    examples.refuses("transformer", R"({"source": "the"})", {"\"target\" is missing"});
    examples.refuses("transformer", R"({"source": "", "target": "the"})", {"\"source\" is \"\""});
    expect_error(ErrorKind::usage, {"0 examples"}, [&] { examples.read("transformer", "\n"); });
    expect_error(ErrorKind::usage, {"a.jsonl", "all examples", "LABEL_2"},
                 [&] { examples.read("bert_classification", R"({"text": "the", "label": 2})"); });
    expect_error(ErrorKind::usage, {"vit", "read_image"},
                 [&] { examples.read("vit", R"({"image": "a.png", "label": 6})"); });
    examples.options.read_image = [](const std::string& path) -> std::vector<float> {
        throw bad_file_error("{}: no such file", path);
    };
    examples.refuses("vit", R"({"image": "a.png", "label": 6})", {"a.jsonl:1", "a.png", "no such file"});
    examples.refuses("clip", R"({"image": "a.png", "text": "the"})", {"a.jsonl:1", "a.png", "no such file"});
    for (const char* model : {"bert_tokens", "bert_answers"})
        expect_error(ErrorKind::unsupported, {"training of", "ForMaskedLM"}, [&] { examples.read(model, "\n"); });
    write_file(examples.folder.path("a.txt"), "the cat");
    expect_error(ErrorKind::bad_file, {"a.txt", "no .jsonl", "bert"}, [&] {
        read_training_data({examples.folder.path("a.txt")}, &words(),
                           {.context = 4, .model = folder_of("bert_classification")});
    });
}

TEST_CASE("a pair is a text and an image, and its own target", "[train]") {
    Examples examples;
    examples.options.read_image = [](const std::string&) { return std::vector<float>(3 * 24 * 24, 0.5F); };
    examples.refuses("clip", R"({"image": "a.png", "target": "the"})", {"a.jsonl:1", "\"text\" is missing"});
    const auto data = examples.read("clip", R"({"image": "a.png", "text": "the cat"})");
    CHECK((data->task() == Task::pairs && data->targets() == 1));
    Row row(data->context(), 1);
    row.pixels.resize(3 * 24 * 24), row.ends = {-7};
    data->read(5, 0, row.sequence());
    CHECK(row.tokens == words().encode("the cat").ids);
    CHECK(row.pixels.back() == 0.5F);
    CHECK((row.ends[0] == 0 && row.targets[0] == 0));  // no token of these words ends CLIP's texts
    complete(parse_trained_config(read_file(folder_of("clip") + "/config.json"), "clip"), 3, row.sequence());
    CHECK((row.ends[0] == 3 * data->context() && row.targets[0] == 3));
}

TEST_CASE("a micro-batch has no pair twice", "[train]") {
    Examples examples;
    examples.options.read_image = [](const std::string&) { return std::vector<float>(3 * 24 * 24, 0.5F); };
    std::string lines;
    for (const char* text : {"the", "cat", "in", "hat", "dog"})
        lines += std::string(R"({"image": "a.png", "text": ")") + text + "\"}\n";
    const auto data = examples.read("clip", lines);
    for (std::int64_t first = 0; first < 40; first += 2) {
        Numbers tokens[2];
        for (std::int64_t i = 0; i < 2; ++i) {
            Row row(data->context(), 1);
            row.pixels.resize(3 * 24 * 24);
            data->read(5, place_of(*data, 2, first + i), row.sequence());
            tokens[i] = row.tokens;
        }
        CHECK(tokens[0] != tokens[1]);
    }
    examples.options.validation_files = {examples.folder.path("b.jsonl")};
    write_file(examples.folder.path("b.jsonl"), R"({"image": "a.png", "text": "the"})");
    expect_error(ErrorKind::usage, {"one pair for validation"}, [&] { examples.read("clip", lines); });
}

TEST_CASE("examples that measure are chosen by what is in them", "[train]") {
    Examples examples;
    std::string lines;
    for (int i = 0; i < 300; ++i)
        lines += "{\"text\": \"the " + std::to_string(i) + "\", \"label\": " + std::to_string(i % 3) + "}\n";
    examples.options.validation_share = 0.2;
    const auto data = examples.read("bert_classification", lines);
    CHECK(data->sequences() + data->validation_sequences() == 300);
    CHECK((data->validation_sequences() > 30 && data->validation_sequences() < 90));
    Row row(data->context(), 1);
    for (std::int64_t i = 0; i < data->validation_sequences(); ++i) data->read_validation(i, row.sequence());
    CHECK((row.targets[0] >= 0 && row.targets[0] < 3));
}

TEST_CASE("confidence is compared with what is right", "[train]") {
    LabelCounter sure, unsure;
    const std::vector<float> certain{50, 0}, even{0, 0};
    for (int i = 0; i < 4; ++i) sure.add(certain, i == 0 ? 1 : 0), unsure.add(even, i % 2);
    CHECK(std::abs(sure.quality().accuracy - 0.75) < 1e-12);
    CHECK(std::abs(sure.quality().calibration_error - 0.25) < 1e-12);
    CHECK(std::abs(unsure.quality().accuracy - 0.5) < 1e-12);
    CHECK(unsure.quality().calibration_error < 1e-12);
    CHECK(LabelCounter().quality().accuracy == 0);
}
