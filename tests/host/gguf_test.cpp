// GGUF files: what files of llama.cpp's writer hold, damaged ones, and the order of what is read.
#include "runtime/io/gguf.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "runtime/base/files.h"
#include "runtime/base/quantize.h"
#include "runtime/checkpoint/gguf_model.h"
#include "runtime/checkpoint/gguf_tokenizer.h"
#include "runtime/models/config.h"
#include "runtime/text/pre_tokenizer.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "tests/host/tokenizer_data.h"

using namespace vantage;
using vantage::test::expect_error, vantage::test::in_test_data;

namespace {

std::string path_of(const std::string& name) { return in_test_data("oracle/gguf/" + name + ".gguf"); }

/// Little-endian bytes, one value after the other.
struct Bytes {
    std::string text;
    template <class Number>
    Bytes& number(Number value) {
        text.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    Bytes& u32(std::uint32_t value) { return number(value); }
    Bytes& u64(std::uint64_t value) { return number(value); }
    Bytes& string(const std::string& value) {
        u64(value.size());
        text += value;
        return *this;
    }
    Bytes& join(const Bytes& other) {
        text += other.text;
        return *this;
    }
};

Bytes header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    return Bytes{"GGUF"}.u32(version).u64(tensors).u64(keys);
}
Bytes tensor(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
             std::uint64_t offset) {
    Bytes bytes;
    bytes.string(name).u32(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) bytes.u64(size);
    return bytes.u32(type).u64(offset);
}
/// With the data of the tensors behind it.
std::string with_data(Bytes bytes, std::size_t size) {
    bytes.text.resize((bytes.text.size() + 31) / 32 * 32 + size, '\x01');
    return bytes.text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
void expect_bad(const std::string& file, std::initializer_list<const char*> parts) {
    expect_error(ErrorKind::bad_file, {"bad.gguf"}, [&] { Gguf(bytes_of(file), "bad.gguf"); });
    expect_error(ErrorKind::bad_file, parts, [&] { Gguf(bytes_of(file), "bad.gguf"); });
}

std::vector<float> numbers(const TensorEntry& entry, const std::string& what) {
    const DType type = dtype_of(entry, what);
    std::vector<float> values(static_cast<std::size_t>(entry.elements()));
    const std::vector<std::byte> bytes = entry.data.all();
    if (is_quantized(type)) {
        internal::dequantize(type, bytes, values);
        return values;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, bytes.data() + i * info(type).bytes, info(type).bytes);
        values[i] = type == DType::f32   ? std::bit_cast<float>(word)
                    : type == DType::f16 ? internal::half_to_float(static_cast<std::uint16_t>(word))
                                         : internal::bfloat_to_float(static_cast<std::uint16_t>(word));
    }
    return values;
}

/// Each element within half a step of its block, or a step where it has the largest one's other sign.
void check_blocks(const std::vector<float>& got, const std::vector<float>& want, DType type) {
    double worst = 0;
    for (std::size_t block = 0; block < want.size(); block += 32) {
        double largest = 0;
        for (std::size_t i = block; i < block + 32; ++i) largest = std::max(largest, std::abs(double{want[i]}));
        for (std::size_t i = block; i < block + 32; ++i)
            worst = std::max(worst, std::abs(double{got[i]} - want[i]) / largest);
    }
    CHECK(worst <= (type == DType::q8_0 ? 1.0 / 254 : 1.0 / 8) + 0x1p-11);
    CHECK(worst > 1e-3);
}

}  // namespace

TEST_CASE("gguf: metadata and tensors of a file of llama.cpp's writer", "[gguf]") {
    const Gguf file(path_of("llama-f16"));
    CHECK(file.metadata()["general.architecture"] == "llama");
    CHECK(file.metadata()["llama.attention.head_count"] == 6);
    CHECK(file.metadata()["llama.attention.layer_norm_rms_epsilon"] == 1e-5f);
    CHECK(file.metadata()["tokenizer.ggml.tokens"].size() == 1000);
    CHECK(file.entries().size() == 21);
    CHECK(file.entries().at("blk.1.ffn_down.weight").text() == "F16 [48, 96]");
    CHECK(file.entries().at("output_norm.weight").text() == "F32 [48]");
}

TEST_CASE("gguf: tensors are those of the folder that the file was made from", "[gguf]") {
    for (const auto& [name, model, narrow] : {std::tuple{"llama-f16", "llama", DType::f16},
                                              {"qwen2-bf16", "qwen2", DType::bf16},
                                              {"qwen3-f32", "qwen3", DType::f32},
                                              {"qwen3-q8_0", "qwen3", DType::q8_0},
                                              {"qwen3-q4_0", "qwen3", DType::q4_0},
                                              {"bloom-f16", "bloom", DType::f16},
                                              {"falcon-f16", "falcon", DType::f16},
                                              {"falcon_multi_query-f16", "falcon_multi_query", DType::f16},
                                              {"gemma2-f16", "gemma2", DType::f16},
                                              {"gpt_neox-f16", "gpt_neox", DType::f16},
                                              {"llama_linear-f16-00001-of-00003", "llama_linear", DType::f16},
                                              {"llama_llama3-f16", "llama_llama3", DType::f16},
                                              {"mixtral-f16", "mixtral", DType::f16},
                                              {"phi-f16", "phi", DType::f16},
                                              {"phi3-f16", "phi3", DType::f16},
                                              {"phi3_longrope-f16", "phi3_longrope", DType::f16},
                                              {"granite-f16", "granite", DType::f16},
                                              {"olmo2-f16", "olmo2", DType::f16},
                                              {"qwen3_moe-f16", "qwen3_moe", DType::f16},
                                              {"smollm3-f16", "smollm3", DType::f16}}) {
        CAPTURE(name);
        const Gguf file(path_of(name));
        const WeightFiles read = gguf_weights(file), folder(in_test_data(std::string("oracle/models/") + model));
        CHECK(read.names().size() == folder.names().size());
        int as_stored = 0;
        for (const std::string& weight : folder.names()) {
            CAPTURE(weight);
            const TensorEntry& want = *folder.find(weight);
            const TensorEntry* const got = read.find(weight);
            REQUIRE(got != nullptr);
            CHECK(got->shape == want.shape);
            const DType type = dtype_of(*got, weight);
            as_stored += type == narrow ? 1 : 0;
            std::vector<float> rounded = numbers(want, weight);
            if (std::string_view(model) == "gemma2" && weight.ends_with("norm.weight"))
                for (float& value : rounded) value = (value + 1) - 1;  // the file has one more
            for (float& value : rounded) {
                if (type == DType::f16) value = internal::half_to_float(internal::float_to_half(value));
                if (type == DType::bf16) value = internal::bfloat_to_float(internal::float_to_bfloat(value));
            }
            if (!is_quantized(type)) {
                CHECK(numbers(*got, weight) == rounded);
                continue;
            }
            check_blocks(numbers(*got, weight), rounded, type);
            const std::vector<std::byte> bytes = got->data.all();
            if (type == DType::q8_0) {  // the very bytes that Vantage makes of the folder's numbers; 4 bits have ties
                std::vector<std::byte> made(bytes.size());
                internal::quantize(type, rounded, made);
                CHECK((bytes == made));
            }
            std::vector<std::byte> part(bytes.size() / 2);
            got->data.read(bytes.size() / 3, part);
            CHECK(std::equal(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 3)));
        }
        CHECK(as_stored > 5);
    }
}

TEST_CASE("gguf: damaged headers are errors that say where", "[gguf][bad_input]") {
    expect_bad("", {"the mark", "ends behind the file's 0 bytes"});
    expect_bad("GGML" + std::string(40, '\0'), {"it is no GGUF file"});
    expect_bad(header(0, 0, 1).text, {"the version is 1, wanted 2 or 3"});
    expect_bad(header(0, 0, 3 << 24).text, {"the other byte order"});
    expect_bad(header(std::uint64_t{1} << 60, 0).text, {"the number of tensors is 1152921504606846976, but"});
    expect_bad(header(0, 9).text, {"the number of keys is 9, but 0 bytes are left"});
    const auto key = [](const std::string& name) { return header(0, 1).string(name); };
    expect_bad(key(std::string(70000, 'k')).text + std::string(40, '\0'), {"key 0 is 70000 bytes long"});
    expect_bad(key("a").u32(13).u64(0).text, {"\"a\" has type 13, wanted one from 0 to 12"});
    expect_bad(key("a").u32(8).u64(std::uint64_t{1} << 40).text, {"\"a\" is 1099511627776 bytes long"});
    expect_bad(key("a").u32(8).u64(100).text + "short", {"\"a\" ends behind the file's"});
    expect_bad(key("a").u32(9).u32(9).u64(1).text + std::string(20, '\0'), {"an array of arrays"});
    expect_bad(key("a").u32(9).u32(40).u64(1).text + std::string(20, '\0'), {"elements of type 40"});
    expect_bad(key("a").u32(9).u32(10).u64(1000).text + std::string(20, '\0'), {"elements of \"a\" is 1000, but 20"});
    const Bytes flag = Bytes{}.string("a").u32(7).number<std::uint8_t>(1);
    expect_bad(header(0, 2).join(flag).join(flag).text, {"\"a\" occurs twice"});
    expect_bad(key("general.alignment").u32(4).u32(48).text, {"general.alignment is no power of two"});

    const auto one = [](const Bytes& what) { return with_data(header(1, 0).join(what), 4096); };
    expect_bad(one(tensor("", {4}, 0, 0)), {"has no name"});
    expect_bad(one(tensor(std::string(64, 'n'), {4}, 0, 0)), {"is 64 bytes long, wanted at most 63"});
    expect_bad(one(tensor("w", {1, 1, 1, 1, 1}, 0, 0)), {"has 5 dimensions, wanted at most 4"});
    expect_bad(one(tensor("w", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, 0)), {"more elements than"});
    expect_bad(one(tensor("w", {4, 0}, 0, 0)), {"or none"});
    expect_bad(one(tensor("w", {4}, 4, 0)), {"has type 4, which is none of ggml's"});
    expect_bad(one(tensor("w", {48, 2}, 8, 0)), {"is Q8_0 [2, 48], but its rows must be whole blocks of 32"});
    expect_bad(one(tensor("w", {4}, 0, 32)), {"begins at byte 32 of the data, wanted 0"});
    expect_bad(with_data(header(1, 0).join(tensor("w", {400}, 0, 0)), 1000), {"ends behind the file"});
    expect_bad(with_data(header(2, 0).join(tensor("w", {4}, 0, 0)).join(tensor("w", {4}, 0, 32)), 48),
               {"occurs twice"});
    expect_bad(with_data(header(2, 0).join(tensor("v", {4}, 0, 0)).join(tensor("w", {4}, 0, 16)), 48),
               {"begins at byte 16 of the data, wanted 32"});
    const Gguf good(bytes_of(with_data(header(2, 0).join(tensor("v", {4}, 0, 0)).join(tensor("w", {2, 2}, 1, 32)), 40)),
                    "good.gguf");
    CHECK(good.entries().at("w").text() == "F16 [2, 2]");
}

namespace {

Bytes text_key(const std::string& name, const std::string& value) { return Bytes{}.string(name).u32(8).string(value); }
Bytes number_key(const std::string& name, std::uint32_t value) { return Bytes{}.string(name).u32(4).u32(value); }
Bytes flag_key(const std::string& name, bool value) {
    return Bytes{}.string(name).u32(7).number<std::uint8_t>(value ? 1 : 0);
}
Bytes float_key(const std::string& name, float value) { return Bytes{}.string(name).u32(6).number(value); }
template <class Value, class Add>
Bytes list_key(const std::string& name, std::uint32_t of, const std::vector<Value>& values, Add add) {
    Bytes bytes = Bytes{}.string(name).u32(9).u32(of).u64(values.size());
    for (const Value& value : values) add(bytes, value);
    return bytes;
}
Bytes texts_key(const std::string& name, const std::vector<std::string>& values) {
    return list_key(name, 8, values, [](Bytes& bytes, const std::string& value) { bytes.string(value); });
}
Bytes floats_key(const std::string& name, const std::vector<float>& values) {
    return list_key(name, 6, values, [](Bytes& bytes, float value) { bytes.number(value); });
}

/// A model of one layer of 8 features with these keys and tensors, and no others but the embedding.
std::string model_file(const std::vector<Bytes>& more_keys, const std::vector<Bytes>& tensors = {}) {
    std::vector<Bytes> keys{text_key("general.architecture", "llama"),
                            number_key("llama.context_length", 16),
                            number_key("llama.embedding_length", 8),
                            number_key("llama.block_count", 1),
                            number_key("llama.feed_forward_length", 8),
                            number_key("llama.attention.head_count", 2),
                            float_key("llama.attention.layer_norm_rms_epsilon", 1e-5F)};
    keys.insert(keys.end(), more_keys.begin(), more_keys.end());
    Bytes all = header(1 + tensors.size(), keys.size());
    for (const Bytes& key : keys) all.join(key);
    all.join(tensor("token_embd.weight", {8, 4}, 0, 0));
    for (const Bytes& one : tensors) all.join(one);
    return with_data(all, 4096);
}
Gguf opened(const std::string& file) { return {bytes_of(file), "model.gguf"}; }
void read_all(const std::string& file) {
    const Gguf gguf = opened(file);
    static_cast<void>(gguf_config_json(gguf));
    static_cast<void>(gguf_tokenizer_json(gguf));
}

}  // namespace

TEST_CASE("gguf: what would give other numbers or tokens is refused by name", "[gguf][bad_input]") {
    const std::string plain = model_file({});
    read_all(plain);
    CHECK(gguf_tokenizer_json(opened(plain)).empty());
    using Refused = std::pair<Bytes, const char*>;
    for (const auto& [key, why] : {Refused{text_key("llama.rope.scaling.type", "su"), "llama.rope.scaling.type \"su\""},
                                   {float_key("llama.rope.scaling.factor", 4), "llama.rope.scaling.factor"},
                                   {float_key("llama.rope.scaling.attn_factor", 2), "llama.rope.scaling.attn_factor"},
                                   {float_key("llama.rope.scaling.yarn_log_multiplier", 1), "yarn_log_multiplier 1"},
                                   {float_key("llama.rope.scaling.yarn_ext_factor", 2), "yarn_ext_factor 2"},
                                   {number_key("llama.rope.dimension_count", 2), "2 of heads of 4 features"},
                                   {number_key("llama.attention.sliding_window", 4), "attention.sliding_window"},
                                   {flag_key("llama.attention.causal", false), "attention.causal false"},
                                   {number_key("general.quantization_version", 1), "general.quantization_version 1"},
                                   {text_key("tokenizer.ggml.model", "t5"), "\"t5\", which is not read yet"}}) {
        const std::string file = model_file({key});
        expect_error(ErrorKind::unsupported, {"model.gguf: ", why}, [&] { read_all(file); });
    }
    const std::string factors =
        model_file({text_key("llama.rope.scaling.type", "ya\x1brn")}, {tensor("rope_freqs.weight", {2}, 0, 128)});
    expect_error(ErrorKind::unsupported, {"a list of factors for \"ya\\u001brn\" positions"},
                 [&] { read_all(factors); });
    const std::string part = model_file({number_key("split.count", 3), number_key("split.no", 0)});
    expect_error(ErrorKind::unsupported, {"one of several parts, which are read from files only"},
                 [&] { opened(part); });
    const std::string divided =
        model_file({text_key("tokenizer.ggml.model", "gpt2"), text_key("tokenizer.ggml.pre", "my-words"),
                    texts_key("tokenizer.ggml.tokens", {"a"})});
    expect_error(ErrorKind::unsupported, {"\"my-words\", a division into words that is not known", "qwen2"},
                 [&] { read_all(divided); });
    for (const auto& [type, what] : {std::pair{10U, "Q2_K"}, {11U, "Q3_K"}}) {
        const std::string file = model_file({}, {tensor("blk.0.ffn_up.weight", {256, 2}, type, 128)});
        expect_error(ErrorKind::unsupported, {"\"blk.0.ffn_up.weight\" is", what}, [&] { gguf_weights(opened(file)); });
    }
}

TEST_CASE("gguf: parts of a model are read by the name of the first", "[gguf][bad_input]") {
    const auto part = [](std::uint32_t own, std::uint32_t parts, const std::string& weight) {
        const std::vector<Bytes> keys{text_key("general.architecture", "llama"), number_key("split.no", own),
                                      number_key("split.count", parts), number_key("split.tensors.count", 2)};
        Bytes all = header(1, keys.size());
        for (const Bytes& key : keys) all.join(key);
        return with_data(all.join(tensor(weight, {2, 2}, 0, 0)), 64);
    };
    const vantage::test::TemporaryDirectory folder;
    const std::string first = folder.path("m-00001-of-00002.gguf"), second = folder.path("m-00002-of-00002.gguf");
    const auto refused = [&](const std::string& path, std::initializer_list<const char*> parts) {
        expect_error(ErrorKind::bad_file, parts, [&] { Gguf{path}; });
    };
    internal::write_file(first, part(0, 2, "a.weight"));
    refused(first, {"m-00002-of-00002.gguf"});  // is not there
    internal::write_file(second, part(1, 2, "b.weight"));
    CHECK(Gguf(first).entries().size() == 2);
    refused(second, {"it is part 2 of 2 of a model; wanted the first one, whose name ends with -00001-of-00002.gguf"});
    internal::write_file(second, part(0, 2, "b.weight"));
    refused(first, {"m-00002-of-00002.gguf: it is no part 2 of 2"});
    internal::write_file(second, part(1, 2, "a.weight"));
    refused(first, {"tensor \"a.weight\" is in a part before this one, too"});
    internal::write_file(first, part(0, 1, "a.weight"));
    CHECK(Gguf(first).entries().size() == 1);
}

TEST_CASE("gguf: tokenizers and tensors that make no sense are errors", "[gguf][bad_input]") {
    const auto vocabulary = [](const std::vector<std::string>& tokens, const std::vector<float>& scores) {
        return model_file({text_key("tokenizer.ggml.model", "llama"), texts_key("tokenizer.ggml.tokens", tokens),
                           floats_key("tokenizer.ggml.scores", scores)});
    };
    const auto refused = [](const std::string& file, std::initializer_list<const char*> parts) {
        expect_error(ErrorKind::bad_file, parts, [&] { read_all(file); });
    };
    refused(vocabulary({"a", "b", "a"}, {0, 0, 0}), {"tokens 0 and 2 are both \"a\""});
    refused(vocabulary({"a", "b"}, {0}), {"tokenizer.ggml.scores", "2, one for each token"});
    refused(vocabulary({"a", "b"}, {0, NAN}), {"a list of finite numbers"});
    // tokens of which each is made of all that are shorter: half a million merges of two thousand
    std::vector<std::string> chains;
    for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f'})
        for (std::size_t size = 1; size <= 400; ++size) chains.emplace_back(size, letter);
    refused(vocabulary(chains, std::vector<float>(chains.size(), 0)), {"not made of so many others"});
    // bytes that are no UTF-8, wherever a text may be
    const std::string odd =
        model_file({text_key("tokenizer.chat_template", "\xff{{ 1 }}"), text_key("tokenizer.ggml.model", "llama"),
                    texts_key("tokenizer.ggml.tokens", {"\xfe", "b"}), floats_key("tokenizer.ggml.scores", {0, 0}),
                    number_key("tokenizer.ggml.bos_token_id", 0)});
    CHECK(gguf_tokenizer_config(opened(odd)).find("\xef\xbf\xbd{{ 1 }}") != std::string::npos);
    const auto weights = [](const std::vector<Bytes>& tensors, const char* why) {
        const std::string file = model_file({}, tensors);
        expect_error(ErrorKind::bad_file, {"model.gguf: tensor", why}, [&] { gguf_weights(opened(file)); });
    };
    weights({tensor("blk.0.attn_q.bias", {32}, 2, 128)}, "is Q4_0 [32], which has no rows");
    weights({tensor("blk.0.attn_q.weight", {8, 6}, 0, 128)}, "is F32 [6, 8], whose rows are no pairs");
    weights(
        {tensor("blk.0.attn_norm.weight", {8}, 0, 128), tensor("model.layers.0.input_layernorm.weight", {8}, 0, 160)},
        "is there under two names");
    // a scale that is an infinity, or a minimum: types by number, and where it is in the block
    for (const auto& [type, place] : {std::pair{8U, 0}, {7U, 2}, {12U, 2}, {13U, 0}, {14U, 208}}) {
        CAPTURE(type, place);
        std::string file = model_file({}, {tensor("blk.0.ffn_up.weight", {256, 1}, type, 128)});
        const auto data = file.end() - 4096 + 128;
        std::fill(data, file.end(), '\0');
        const auto up = [](const WeightFiles& read) {
            return read.find("model.layers.0.mlp.up_proj.weight")->data.all();
        };
        CHECK(std::ranges::count(up(gguf_weights(opened(file))), std::byte{0}) > 0);
        *(data + place + 1) = '\x7c';
        const WeightFiles read = gguf_weights(opened(file));
        expect_error(ErrorKind::bad_file, {"tensor \"blk.0.ffn_up.weight\": a scale is not finite"}, [&] { up(read); });
    }
}

TEST_CASE("gguf: groups of a tensor that ends within one are the same in parts", "[gguf][quantize]") {
    std::string file = model_file({}, {tensor("blk.0.ffn_up.weight", {256, 11}, 14, 128)});  // a group is 8 rows
    for (std::size_t i = 0; i < 11 * 210; ++i) {
        const bool exponent = i % 210 == 209;  // of the f16 scale
        file[file.size() - 4096 + 128 + i] = static_cast<char>(exponent ? 0x2c : i * 37 % 251);
    }
    const WeightFiles read = gguf_weights(opened(file));
    const ByteSource& groups = read.find("model.layers.0.mlp.up_proj.weight")->data;
    const std::vector<std::byte> whole = groups.all();
    CHECK(whole.size() == 2 * 1680);
    for (const std::size_t first : {std::size_t{0}, std::size_t{7}, std::size_t{1679}, std::size_t{1681}}) {
        std::vector<std::byte> part(whole.size() - first - 5);
        groups.read(first, part);
        CHECK(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
    }
}

TEST_CASE("gguf: end tokens, special tokens and the template of the file", "[gguf]") {
    const std::string file = model_file(
        {text_key("tokenizer.ggml.model", "llama"),
         texts_key("tokenizer.ggml.tokens", {"<s>", "</s>", "<end>", "a", "b", "ab"}),
         floats_key("tokenizer.ggml.scores", {0, 0, 0, -1, -2, -3}), number_key("tokenizer.ggml.bos_token_id", 0),
         number_key("tokenizer.ggml.eos_token_id", 1), number_key("tokenizer.ggml.eot_token_id", 2),
         Bytes{}.string("tokenizer.ggml.add_eos_token").u32(7).number<std::uint8_t>(1),
         Bytes{}.string("tokenizer.ggml.add_space_prefix").u32(7).number<std::uint8_t>(0),
         text_key("tokenizer.chat_template", "{{ bos_token }}")});
    const Gguf gguf = opened(file);
    CHECK(Json::parse(gguf_config_json(gguf))["eos_token_id"] == Json{1, 2});
    const Json config = Json::parse(gguf_tokenizer_config(gguf));
    CHECK(config["bos_token"] == "<s>");
    CHECK(config["chat_template"] == "{{ bos_token }}");
    const Tokenizer tokenizer = Tokenizer::parse(gguf_tokenizer_json(gguf), "model.gguf");
    CHECK(tokenizer.encode("aab").ids == std::vector<std::int32_t>{0, 3, 5, 1});
    const std::string whole = model_file({text_key("tokenizer.huggingface.json", "{\"model\": 1}")});
    CHECK(gguf_tokenizer_json(opened(whole)) == "{\"model\": 1}");
}

TEST_CASE("gguf: rotary positions of a file are those of its config", "[gguf]") {
    const auto config = [](const std::vector<Bytes>& keys, const std::vector<Bytes>& tensors = {}) {
        return Json::parse(gguf_config_json(opened(model_file(keys, tensors))));
    };
    CHECK(config({})["partial_rotary_factor"] == 1);  // other architectures turn a part by default
    CHECK_FALSE(config({}).contains("rope_scaling"));
    CHECK(config({text_key("llama.rope.scaling.type", "linear"),
                  float_key("llama.rope.scaling.factor", 4)})["rope_scaling"] ==
          Json{{"rope_type", "linear"}, {"factor", 4.0}});
    CHECK(config({text_key("llama.rope.scaling.type", "yarn"), float_key("llama.rope.scaling.factor", 8),
                  number_key("llama.rope.scaling.original_context_length", 4),
                  float_key("llama.rope.scaling.yarn_beta_fast", 16), float_key("llama.rope.scaling.yarn_beta_slow", 2),
                  float_key("llama.rope.scaling.yarn_attn_factor", 1.5F),
                  flag_key("llama.rope.scaling.yarn_truncate", false)})["rope_scaling"] ==
          Json{{"rope_type", "yarn"},
               {"factor", 8.0},
               {"original_max_position_embeddings", 4},
               {"beta_fast", 16.0},
               {"beta_slow", 2.0},
               {"attention_factor", 1.5},
               {"truncate", false}});
    const Json given = config({}, {tensor("rope_freqs.weight", {2}, 0, 128)})["rope_scaling"];
    CHECK(given["rope_type"] == "longrope");
    CHECK(given["short_factor"].size() == 2);
    CHECK(given["attention_factor"] == 1);
    const std::string half = model_file({}, {tensor("rope_factors_short.weight", {2}, 0, 128)});
    expect_error(ErrorKind::bad_file, {"there is no tensor \"rope_factors_long.weight\""}, [&] { read_all(half); });
    const std::string heads = model_file({number_key("llama.attention.head_count_kv", 1U << 31)});
    expect_error(ErrorKind::bad_file, {"llama.attention.head_count_kv", "1 to 16384"}, [&] { read_all(heads); });
}

TEST_CASE("gguf: the sampling that a file recommends is the default", "[gguf]") {
    CHECK(gguf_generation_json(opened(model_file({}))).empty());
    const std::string file =
        model_file({float_key("general.sampling.temp", 0.75F), number_key("general.sampling.top_k", 20),
                    float_key("general.sampling.top_p", 0.5F), float_key("general.sampling.penalty_repeat", 1.25F)});
    internal::ModelConfig config = internal::parse_model_config(gguf_config_json(opened(file)), "model.gguf");
    internal::apply_generation_config(config, gguf_generation_json(opened(file)), "model.gguf");
    CHECK(config.temperature == 0.75);
    CHECK(config.top_k == 20);
    CHECK(config.top_p == 0.5);
    CHECK(config.repetition_penalty == 1.25);
    const std::string hot = model_file({float_key("general.sampling.temp", -1)});
    expect_error(ErrorKind::bad_file, {"model.gguf", "temperature"},
                 [&] { internal::apply_generation_config(config, gguf_generation_json(opened(hot)), "model.gguf"); });
}

TEST_CASE("gguf: texts are divided into words as Llama 3's tokenizer divides them", "[gguf][tokenizer]") {
    const std::string folder = in_test_data("tokenizers/llama3/");
    const Json source = read_json(folder + "tokenizer.json"), expected = read_json(folder + "tokenizer_expected.json");
    std::vector<std::string> tokens(source["model"]["vocab"].size() + source["added_tokens"].size()), merges;
    std::vector<std::uint32_t> types;
    for (const auto& [text, id] : source["model"]["vocab"].items()) tokens.at(id) = text;
    for (const Json& one : source["added_tokens"]) tokens.at(one["id"]) = one["content"];
    while (tokens.back().empty()) tokens.pop_back();  // added ones may be in the vocabulary, too
    types.assign(tokens.size(), 1);
    for (const Json& one : source["added_tokens"]) types.at(one["id"]) = one["special"] ? 3 : 4;
    for (const Json& merge : source["model"]["merges"])
        merges.push_back(merge.is_string() ? merge.get<std::string>()
                                           : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    const std::string file = model_file(
        {text_key("tokenizer.ggml.model", "gpt2"), text_key("tokenizer.ggml.pre", "llama-bpe"),
         texts_key("tokenizer.ggml.tokens", tokens), texts_key("tokenizer.ggml.merges", merges),
         list_key("tokenizer.ggml.token_type", 4, types, [](Bytes& bytes, std::uint32_t type) { bytes.u32(type); }),
         number_key("tokenizer.ggml.bos_token_id", 0)});
    const Tokenizer tokenizer = Tokenizer::parse(gguf_tokenizer_json(opened(file)), "model.gguf");
    REQUIRE(expected["cases"].size() >= 20);
    for (const Json& test : expected["cases"]) {
        const auto text = test["text"].get<std::string>();
        CAPTURE(text);
        CHECK(tokenizer.encode(text, false).ids == test["ids"].get<std::vector<std::int32_t>>());
        CHECK(tokenizer.encode(text, true).ids == test["ids_with_special"].get<std::vector<std::int32_t>>());
    }
}

TEST_CASE("gguf: texts are divided into words as models' tokenizers divide them", "[gguf][tokenizer]") {
    const Json known = read_json(in_test_data("tokenizers/gguf_words.json"));
    for (const auto& [name, wanted] : known["words"].items()) {
        CAPTURE(name);
        const std::string file =
            model_file({text_key("tokenizer.ggml.model", "gpt2"), text_key("tokenizer.ggml.pre", name),
                        texts_key("tokenizer.ggml.tokens", {"a"}), texts_key("tokenizer.ggml.merges", {})});
        Json words = Json::parse(gguf_tokenizer_json(opened(file)))["pre_tokenizer"];
        words["pretokenizers"].erase(words["pretokenizers"].size() - 1);  // bytes as characters
        const text::PreTokenizer divide = text::make_pre_tokenizer(JsonFields(words, name));
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const auto text = known["texts"][i].get<std::string>();
            CAPTURE(text);
            text::Pieces pieces{text::AlignedText(text), {{0, text.size()}}};
            divide(pieces);
            std::vector<std::string> got;
            for (const text::Piece& piece : pieces.pieces) got.emplace_back(pieces.view(piece));
            CHECK(got == wanted[i].get<std::vector<std::string>>());
        }
    }
}

TEST_CASE("gguf: a file that ends anywhere is an error", "[gguf][bad_input]") {
    const std::string whole = read_file(path_of("qwen3-q4_0"));
    for (std::size_t size = 0; size < whole.size(); size += size < 2000 ? 7 : 501) {
        const std::string part = whole.substr(0, size);
        CAPTURE(size);
        expect_error(ErrorKind::bad_file, {"cut.gguf"}, [&] { Gguf(bytes_of(part), "cut.gguf"); });
    }
}
