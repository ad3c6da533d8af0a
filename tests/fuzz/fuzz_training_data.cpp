// Files of training data: the documents in them, and the sequences that training reads; labels and answers of texts and
// images, and pairs of both. Ids are below the vocabulary, and documents and sequences inside the file, or reading
// throws.
//
// The first byte is the format (`formats`, or its value modulo their number); the file follows. The tokenizer has all
// bytes and a few merges, so that a token can reach across the border of what is a target.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/unicode.h"
#include "runtime/train/example_data.h"
#include "runtime/train/token_data.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/heap_meter.h"
#include "vantage/log.h"

namespace {

using namespace vantage;
using namespace vantage::internal;

struct DataFormat {
    char letter;
    const char* file;
    bool blank_lines = false, strict = false;
    bool text = false;  ///< it is tokenised
};
constexpr std::array formats{DataFormat{'t', "data.txt", false, false, true},
                             DataFormat{'b', "data.txt", true, false, true},
                             DataFormat{'j', "data.jsonl", false, false, true},
                             DataFormat{'J', "data.jsonl", false, true, true},
                             DataFormat{'i', "data.bin"},
                             DataFormat{'s', "data.safetensors"},
                             DataFormat{'k', "kept.tokens"},                      // what data sets keep in the cache
                             DataFormat{'l', "data.jsonl", false, false, true},   // labels of texts
                             DataFormat{'L', "data.jsonl", false, false, true},   // labels of images
                             DataFormat{'a', "data.jsonl", false, false, true},   // answers to texts
                             DataFormat{'A', "data.jsonl", false, false, true},   // answers about images
                             DataFormat{'p', "data.jsonl", false, false, true}};  // pairs of a text and an image
constexpr std::string_view of_examples = "lLaAp";

constexpr std::int64_t context = 4;

const Tokenizer& tokenizer() {
    static const Tokenizer made = [] {
        Json vocabulary = {{"<|endoftext|>", 0}};
        std::size_t next = 1;
        for (int byte = 0; byte < 256; ++byte) {
            const char32_t letter = text::letter_of(static_cast<std::uint8_t>(byte));
            vocabulary[encode_utf8({&letter, 1})] = next++;
        }
        for (const char* merged : {"th", "the", "Ġthe", "nĠ"}) vocabulary[merged] = next++;
        const Json file = {
            {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"t h", "th e", "Ġ the", "n Ġ"}}}},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
            {"decoder", {{"type", "ByteLevel"}}},
            {"added_tokens", {{{"id", 0}, {"content", "<|endoftext|>"}, {"special", true}}}}};
        return Tokenizer::parse(file.dump(), "tokenizer.json");
    }();
    return made;
}

/// A role that it refuses, and one whose messages it writes differently later.
constexpr const char* chat_template =
    "{% for m in messages %}{% if m.role == 'refused' %}{{ raise_exception('no such\nrole') }}{% endif %}"
    "<{{ m.role }}>{% if m.role != 'hidden' or loop.last %}{{ m.content }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

void check_documents(const std::string& path, const DataFormat& format) {
    DocumentOptions options{.tokenizer = &tokenizer(),
                            .end_token = 0,
                            .vocabulary = tokenizer().vocab_size(),
                            .blank_lines = format.blank_lines,
                            .strict = format.strict};
    options.chat = text::ChatFormat{text::ChatTemplate::parse(chat_template, "chat_template.jinja"),
                                    text::jinja::OrderedJson::object()};
    std::int64_t documents = 0;
    bool open = false;
    const DocumentCounts counts = read_documents(
        path, options,
        [&](std::span<const std::int32_t> ids, bool ends) {
            for (const std::int32_t id : ids) require(id_of(id) < options.vocabulary);
            require(open || !ids.empty());
            open = !ends;
            documents += ends ? 1 : 0;
            if (ends && !ids.empty()) require(id_of(ids.back()) == 0);
        },
        [](double done) { require(done >= 0 && done <= 1); });
    require(!open && documents == counts.documents && (!format.strict || counts.skipped == 0));
    if (counts.skipped > 0) require_message(Error(ErrorKind::bad_file, counts.first_skipped));
}

void check_sequences(const TokenData& data) {
    const TokenFile& file = data.token_file();
    require(file.documents() <= file.tokens() && file.targets() <= file.tokens() && data.sequences() > 0);
    std::array<std::int32_t, context> tokens{}, targets{};
    const auto check = [&] {
        for (const std::int32_t id : tokens) require(id >= 0 && id < data.vocabulary());
        for (const std::int32_t id : targets) require(id >= -1 && id < data.vocabulary());
    };
    for (std::int64_t i = 0; i < std::min<std::int64_t>(2 * data.sequences(), 1000); ++i)
        data.read(1, i, {tokens, targets}), check();
    for (std::int64_t i = 0; i < std::min<std::int64_t>(data.validation_sequences(), 1000); ++i)
        data.read_validation(i, {tokens, targets}), check();
}

TokenData data_of(const std::string& path, const DataFormat& format, const std::string& kept) {
    return TokenData({path}, &tokenizer(),
                     {.context = context,
                      .validation_share = 0.3,
                      .blank_lines = format.blank_lines,
                      .strict = format.strict,
                      .folder = kept});
}

/// The names of a data set's token files depend on path, size and time of its file: each input has a folder of its own.
void check_data_set(const Folder& folder, const DataFormat& format, std::string_view bytes) {
    const Folder kept;
    if (format.letter != 'k') {
        check_sequences(data_of(folder.path(format.file), format, kept.path()));
        return;
    }
    folder.write("data.txt", "the first document, of which the tokens are replaced");
    static_cast<void>(data_of(folder.path("data.txt"), format, kept.path()));
    for (const auto& entry : std::filesystem::directory_iterator(kept.path()))
        if (entry.path().string().find(".validation.") == std::string::npos)
            kept.write(entry.path().filename().string(), bytes);
    check_sequences(data_of(folder.path("data.txt"), format, kept.path()));
}

// A model that learns what the format has. Images have 2 × 2 pixels.
ModelConfig model_of(const DataFormat& format) {
    ModelConfig config;
    config.architecture = "Fuzzed";
    config.vocab = tokenizer().vocab_size();
    const bool labels = format.letter == 'l' || format.letter == 'L';
    config.kind = labels ? ModelKind::encoder : ModelKind::encoder_decoder;
    if (labels) config.head = Head::classification, config.labels = {"no", "yes"};
    if (format.letter == 'l') config.token_types = 2;
    const ImageInput image{.channels = 1, .height = 2, .width = 2, .patch_height = 1, .patch_width = 2};
    if (format.letter == 'L' || format.letter == 'A') config.image = image;
    if (format.letter == 'p') {
        config.kind = ModelKind::encoder;
        config.towers = {config, config};
        config.towers.back().image = image;
    }
    return config;
}

void check_examples(const std::string& path, const DataFormat& format) {
    const ModelConfig model = model_of(format);
    DatasetOptions options{.context = context, .validation_share = 0.3};
    options.read_image = [](const std::string& image) {
        if (image.ends_with("broken")) throw Error(ErrorKind::bad_file, "no image");
        return std::vector<float>(image.ends_with("large") ? 9 : 4);
    };
    const ExampleData data({path}, &tokenizer(), options, model);
    require(data.sequences() > 0 && data.context() >= 1 && data.targets() >= data.sequences());
    require(model.is_vision() || data.context() <= context);
    const std::int64_t rows = data.context();
    const std::vector<std::int32_t> none(static_cast<std::size_t>(rows));
    std::vector<std::int32_t> tokens = none, types = none, source = none, targets = none, source_backwards = none;
    std::array<std::int32_t, 1> length{}, source_length{}, ends{};
    std::array<float, 4> pixels{};
    const bool labels = data.task() == Task::labels, pairs = data.task() == Task::pairs;
    require(pairs == (format.letter == 'p'));
    if (labels || pairs) targets.resize(1);
    const auto check = [&] {
        for (const auto* ids : {&tokens, &source})
            for (const std::int32_t id : *ids) require(id >= 0 && id < data.vocabulary());
        for (const std::int32_t type : types) require(type >= 0 && type < 2);
        for (const std::int32_t row : source_backwards) require(row >= 0 && row < rows);
        for (const std::int32_t id : targets)
            require(labels ? id == 0 || id == 1 : pairs ? id == 0 : id >= -1 && id < data.vocabulary());
        require(ends[0] >= 0 && ends[0] < rows);
        require(length[0] >= 0 && length[0] <= rows && source_length[0] >= 0);
        require(model.sees() || source_length[0] <= rows);
    };
    TrainingSequence to{.tokens = tokens, .targets = targets};
    if (model.sees() || pairs) to.pixels = pixels;
    if (pairs) to.ends = ends;
    if (format.letter == 'l') to.types = types, to.length = length;
    if (!labels && !pairs) to.source_length = source_length, to.source_backwards = source_backwards;
    if (format.letter == 'a') to.source = source;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(2 * data.sequences(), 1000); ++i) data.read(1, i, to), check();
    for (std::int64_t i = 0; i < std::min<std::int64_t>(data.validation_sequences(), 1000); ++i)
        data.read_validation(i, to), check();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    static const int quiet = (set_log([](LogLevel, const std::string&) {}), 0);
    static_cast<void>(quiet), static_cast<void>(tokenizer());
    if (size == 0) return 0;
    const auto named = std::ranges::find(formats, static_cast<char>(*data), &DataFormat::letter);
    const DataFormat& format = named != formats.end() ? *named : formats[*data % formats.size()];
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    folder.write(format.file, bytes);
    const HeapMeter meter;
    if (of_examples.find(format.letter) != std::string_view::npos) {
        allowed({ErrorKind::bad_file, ErrorKind::usage}, [&] { check_examples(folder.path(format.file), format); });
        meter.require_at_most(memory_for(size, 40));
        return 0;
    }
    if (format.letter != 'k')
        allowed({ErrorKind::bad_file}, [&] { check_documents(folder.path(format.file), format); });
    // too little data, or none to learn from, is usage
    allowed({ErrorKind::bad_file, ErrorKind::usage}, [&] { check_data_set(folder, format, bytes); });
    meter.require_at_most(memory_for(size, format.text ? 40 : 10));
    return 0;
}
