#include "runtime/checkpoint/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "runtime/base/at.h"
#include "runtime/base/interrupt.h"

namespace vantage::internal {

namespace {

/// What a token is ("tokenizer.ggml.token_type").
enum TokenType : std::int64_t { normal = 1, unknown = 2, control = 3, user_defined = 4 };
constexpr const char* space = "▁";

/// The keys "tokenizer.ggml.…".
class Vocabulary {
public:
    explicit Vocabulary(const Gguf& file) : fields_(file.metadata(), file.name()) {
        tokens.reserve(list("tokens").size());  // `ids` are views of them
        for (const Json& token : list("tokens")) {
            if (!token.is_string()) fields_.fail("tokenizer.ggml.tokens", "a list of texts");
            tokens.push_back(token.get<std::string>());
            const auto [first, is_new] = ids.emplace(tokens.back(), tokens.size() - 1);
            if (!is_new)
                throw bad_file_error("{}: tokens {} and {} are both {}", file.name(), first->second, tokens.size() - 1,
                                     in_quotes(tokens.back()));
        }
        if (fields_.has("tokenizer.ggml.token_type")) {
            list("token_type");  // throws for a bare number
            types = fields_.integers("tokenizer.ggml.token_type", 0, 255);
        }
    }

    const JsonFields& fields() const { return fields_; }
    std::optional<std::int64_t> id(const char* role) const {
        const std::string key = format("tokenizer.ggml.{}_token_id", role);
        return fields_.optional_integer(key, 0, std::ssize(tokens) - 1);
    }
    std::optional<bool> flag(const char* key) const {
        return fields_.optional_flag(std::string("tokenizer.ggml.") + key);
    }
    const Json& list(const char* key) const { return fields_.list(std::string("tokenizer.ggml.") + key); }
    std::int64_t type_of(std::size_t id) const { return id < types.size() ? types[id] : std::int64_t{normal}; }
    std::vector<double> scores() const {
        std::vector<double> all;
        for (const Json& one : list("scores")) {
            if (!one.is_number() || !std::isfinite(one.get<double>()))
                fields_.fail("tokenizer.ggml.scores", "a list of finite numbers");
            all.push_back(one.get<double>());
        }
        if (all.size() != tokens.size())
            fields_.fail("tokenizer.ggml.scores", format("{}, one for each token", tokens.size()));
        return all;
    }

    std::vector<std::string> tokens;
    std::unordered_map<std::string_view, std::size_t> ids;
    std::vector<std::int64_t> types;

private:
    JsonFields fields_;
};

Json vocabulary_json(const Vocabulary& v) {
    Json vocab = Json::object();
    for (std::size_t id = 0; id < v.tokens.size(); ++id) vocab.emplace(v.tokens[id], id);
    return vocab;
}

/// `text_of` makes the text of a token. `strips` says of a text whether white space behind it belongs to it.
template <class TextOf, class Strips>
Json added_tokens_json(const Vocabulary& v, TextOf text_of, Strips strips) {
    Json added = Json::array();
    for (std::size_t id = 0; id < v.tokens.size(); ++id)
        if (const std::int64_t type = v.type_of(id); type == control || type == user_defined || type == unknown)
            added.push_back({{"id", id},
                             {"content", text_of(id)},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", strips(v.tokens[id])},
                             {"normalized", false},
                             {"special", type != user_defined}});
    return added;
}

Json added_tokens_json(const Vocabulary& v) {
    return added_tokens_json(
        v, [&](std::size_t id) { return v.tokens[id]; }, [](const std::string&) { return false; });
}

/// Puts bos before a text and eos behind it, where the file says so.
Json template_json(const Vocabulary& v, bool add_bos_by_default) {
    const bool bos = v.flag("add_bos_token").value_or(add_bos_by_default),
               eos = v.flag("add_eos_token").value_or(false);
    if (!bos && !eos) return nullptr;
    Json special = Json::object();
    const auto text_with_ends = [&](const char* text, int type) {
        Json list = Json::array();
        const auto add = [&](const char* role) {
            const std::optional<std::int64_t> id = v.id(role);
            if (!id) return;
            const std::string& token = at(v.tokens, *id);
            list.push_back({{"SpecialToken", {{"id", token}, {"type_id", type}}}});
            special[token] = {{"id", token}, {"ids", {*id}}, {"tokens", {token}}};
        };
        if (bos) add("bos");
        list.push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
        if (eos) add("eos");
        return list;
    };
    const Json single = text_with_ends("A", 0), second = text_with_ends("B", 1);
    Json pair = single;
    pair.insert(pair.end(), second.begin(), second.end());
    return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

// ---- byte-level BPE -------------------------------------------------------------------------------------------------

constexpr const char* gpt_2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* llama_3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen_2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* gpt_4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* tekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                               R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                               R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* bloom_words = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr const char *falcon_punctuation = R"([\p{P}\$\+<=>\^~\|`]+)", *three_digits = "[0-9][0-9][0-9]";

/// How a text is divided into words, by the name that llama.cpp gives it. The patterns are those of the models' own
/// tokenizers; each divides what those before it left.
struct Division {
    const char* name;
    std::array<const char*, 3> patterns = {};  ///< none: GPT-2's, by the byte level itself
    bool digits_alone = false, nfc = false;
    bool ignore_merges = false;  ///< a word that is a token is not divided
    bool bos = false;            ///< before a text, unless the file says otherwise
};
constexpr std::array divisions{
    Division{.name = "gpt-2"},
    Division{.name = "phi-2"},
    Division{.name = "mpt", .nfc = true},
    Division{.name = "olmo", .nfc = true},
    Division{.name = "smollm", .digits_alone = true},
    Division{.name = "starcoder", .digits_alone = true},
    Division{.name = "refact", .digits_alone = true},
    Division{.name = "llama-bpe", .patterns = {llama_3}, .ignore_merges = true, .bos = true},
    Division{.name = "llama3", .patterns = {llama_3}, .ignore_merges = true, .bos = true},
    Division{.name = "smaug-bpe", .patterns = {llama_3}, .ignore_merges = true},
    Division{.name = "dbrx", .patterns = {llama_3}},
    Division{.name = "qwen2", .patterns = {qwen_2}, .nfc = true},
    Division{.name = "deepseek-r1-qwen", .patterns = {qwen_2}},
    Division{.name = "gpt-4o", .patterns = {gpt_4o}},
    Division{.name = "tekken", .patterns = {tekken}, .ignore_merges = true, .bos = true},
    Division{.name = "bloom", .patterns = {bloom_words}},
    Division{.name = "falcon", .patterns = {falcon_punctuation, gpt_2, three_digits}},
};

Json byte_level(bool with_pattern) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", with_pattern}};
}

Json byte_level_json(const Vocabulary& v) {
    const std::string name = v.fields().text("tokenizer.ggml.pre");
    const auto found = std::ranges::find(divisions, name, &Division::name);
    if (found == divisions.end())
        throw unsupported_error(
            "{}: \"tokenizer.ggml.pre\" is {}, a division into words that is not known; known are {}",
            v.fields().name(), in_quotes(name),
            join(divisions, ", ", [](const Division& one) { return std::string(one.name); }));
    Json words = Json::array();
    if (found->digits_alone) words.push_back({{"type", "Digits"}, {"individual_digits", true}});
    for (const char* pattern : found->patterns)
        if (pattern != nullptr)
            words.push_back(
                {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
    words.push_back(byte_level(found->patterns[0] == nullptr));
    for (const Json& merge : v.list("merges"))
        if (!merge.is_string()) v.fields().fail("tokenizer.ggml.merges", "a list of texts");
    return {{"version", "1.0"},
            {"added_tokens", added_tokens_json(v)},
            {"normalizer", found->nfc ? Json{{"type", "NFC"}} : Json(nullptr)},
            {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", words}}},
            {"post_processor", template_json(v, found->bos)},
            {"decoder", byte_level(true)},
            {"model",
             {{"type", "BPE"},
              {"ignore_merges", found->ignore_merges},
              {"vocab", vocabulary_json(v)},
              {"merges", v.list("merges")}}}};
}

// ---- SentencePiece's BPE --------------------------------------------------------------------------------------------

/// Two tokens that make a third one: merged before those with a lower score.
struct Merge {
    std::string_view left, right;
    double score;
    std::size_t left_length, right_length;  // in characters
};

/// The merges that scores stand for, as transformers makes them (generate_merges): a pair may be merged where its text is
/// a token, the best score first; of equal ones the longer left part, then the longer right one.
Json merges_json(const Vocabulary& v) {
    constexpr std::size_t max_token = 512, free_merges = 1 << 16, max_merges_each = 32;  // known ones have 1 to 3 each
    const std::vector<double> scores = v.scores();
    const auto& ids = v.ids;
    std::vector<Merge> merges;
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
        throw_if_interrupted();
        const std::string_view token = v.tokens[id];
        if (token.size() > max_token) continue;  // no pair of a vocabulary makes it
        if (merges.size() > free_merges + max_merges_each * v.tokens.size())
            v.fields().fail("tokenizer.ggml.tokens", "a vocabulary whose tokens are not made of so many others");
        std::vector<std::size_t> begins;
        for (std::size_t i = 0; i < token.size(); ++i)
            if ((static_cast<unsigned char>(token[i]) & 0xC0U) != 0x80U) begins.push_back(i);
        std::vector<std::pair<std::pair<std::size_t, std::size_t>, Merge>> own;
        for (std::size_t cut = 1; cut < begins.size(); ++cut) {
            const auto left = ids.find(token.substr(0, begins[cut])), right = ids.find(token.substr(begins[cut]));
            if (left != ids.end() && right != ids.end())
                own.push_back(
                    {{left->second, right->second}, {left->first, right->first, scores[id], cut, begins.size() - cut}});
        }
        std::ranges::sort(own, {}, [](const auto& one) { return one.first; });
        for (const auto& one : own) merges.push_back(one.second);
    }
    std::ranges::stable_sort(merges, [](const Merge& a, const Merge& b) {
        return std::tuple(a.score, a.left_length, a.right_length) > std::tuple(b.score, b.left_length, b.right_length);
    });
    Json list = Json::array();
    for (const Merge& merge : merges) list.push_back({merge.left, merge.right});
    return list;
}

Json sentence_piece_json(const Vocabulary& v) {
    const bool prefix = v.flag("add_space_prefix").value_or(true);
    if (v.flag("remove_extra_whitespaces").value_or(false))
        throw unsupported_error("{}: \"tokenizer.ggml.remove_extra_whitespaces\" is not supported", v.fields().name());
    Json before = Json::array(), behind = Json::array();
    if (prefix) before.push_back({{"type", "Prepend"}, {"prepend", space}});
    before.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space}});
    behind.push_back({{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}});
    behind.push_back({{"type", "ByteFallback"}});
    behind.push_back({{"type", "Fuse"}});
    if (prefix) behind.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    const std::optional<std::int64_t> unknown_id = v.id("unknown");
    // Not in the file: the tokens of Phi 3's chats take the white space behind them.
    const bool of_phi3 = v.fields().text("general.architecture") == "phi3";
    const auto strips = [&](const std::string& token) {
        return of_phi3 && token != "<unk>" && token != "<s>" && token != "<|endoftext|>";
    };
    return {{"version", "1.0"},
            {"added_tokens", added_tokens_json(
                                 v, [&](std::size_t id) { return v.tokens[id]; }, strips)},
            {"normalizer", {{"type", "Sequence"}, {"normalizers", before}}},
            {"pre_tokenizer", nullptr},
            {"post_processor", template_json(v, true)},
            {"decoder", {{"type", "Sequence"}, {"decoders", behind}}},
            {"model",
             {{"type", "BPE"},
              {"unk_token", unknown_id ? Json(at(v.tokens, *unknown_id)) : Json(nullptr)},
              {"fuse_unk", true},
              {"byte_fallback", true},
              {"vocab", vocabulary_json(v)},
              {"merges", merges_json(v)}}}};
}

// ---- WordPiece ------------------------------------------------------------------------------------------------------

/// The file has "▁" in front of tokens that begin a word, and no "##" in front of the others.
std::string word_piece(const Vocabulary& v, std::size_t id) {
    const std::string& token = v.tokens[id];
    if (v.type_of(id) == control) return token;
    return token.starts_with(space) ? token.substr(std::string_view(space).size()) : "##" + token;
}

/// [CLS] or [SEP]: by its key, or by its text.
std::int64_t end_of_text(const Vocabulary& v, std::initializer_list<const char*> roles, const char* text) {
    for (const char* role : roles)
        if (const auto id = v.id(role)) return *id;
    const auto found = v.ids.find(text);
    if (found == v.ids.end()) v.fields().fail("tokenizer.ggml.tokens", format("a vocabulary with {}", text));
    return static_cast<std::int64_t>(found->second);
}

Json special_token(const std::string& token, int type) {
    return {{"SpecialToken", {{"id", token}, {"type_id", type}}}};
}
Json text_part(const char* id, int type) { return {{"Sequence", {{"id", id}, {"type_id", type}}}}; }

/// [CLS] A [SEP], and behind a second text [SEP], too.
Json between_ends(const Vocabulary& v) {
    const std::int64_t first = end_of_text(v, {"cls", "bos"}, "[CLS]"),
                       last = end_of_text(v, {"seperator", "eos"}, "[SEP]");  // the format's own spelling
    const std::string cls = at(v.tokens, first), sep = at(v.tokens, last);
    Json single = Json::array({special_token(cls, 0), text_part("A", 0), special_token(sep, 0)}), pair = single;
    pair.push_back(text_part("B", 1)), pair.push_back(special_token(sep, 1));
    Json special = Json::object();
    special[cls] = {{"id", cls}, {"ids", {first}}, {"tokens", {cls}}};
    special[sep] = {{"id", sep}, {"ids", {last}}, {"tokens", {sep}}};
    return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

Json word_piece_json(const Vocabulary& v) {
    Json vocab = Json::object();
    bool cased = false;  // where the file does not say it: an uncased vocabulary has no capital letters
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
        const std::string token = word_piece(v, id);
        if (!vocab.emplace(token, id).second)
            v.fields().fail("tokenizer.ggml.tokens", format("tokens that differ; {} is there twice", in_quotes(token)));
        cased = cased || (v.type_of(id) == normal && token[0] >= 'A' && token[0] <= 'Z');
    }
    const std::optional<std::int64_t> unknown_id = v.id("unknown");
    const std::optional<bool> accents = v.flag("normalizer.strip_accents");
    const auto text_of = [&](std::size_t id) { return word_piece(v, id); };
    return {{"version", "1.0"},
            {"added_tokens", added_tokens_json(v, text_of, [](const std::string&) { return false; })},
            {"normalizer",
             {{"type", "BertNormalizer"},
              {"clean_text", true},
              {"handle_chinese_chars", true},
              {"strip_accents", accents ? Json(*accents) : Json(nullptr)},
              {"lowercase", v.flag("normalizer.lowercase").value_or(!cased)}}},
            {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
            {"post_processor", between_ends(v)},
            {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
            {"model",
             {{"type", "WordPiece"},
              {"unk_token", unknown_id ? word_piece(v, static_cast<std::size_t>(*unknown_id)) : std::string("[UNK]")},
              {"continuing_subword_prefix", "##"},
              {"max_input_chars_per_word", 100},
              {"vocab", vocab}}}};
}

}  // namespace

std::string gguf_tokenizer_json(const Gguf& file) {
    const JsonFields fields(file.metadata(), file.name());
    if (const auto whole = fields.optional_text("tokenizer.huggingface.json")) return *whole;
    const std::string kind = fields.optional_text("tokenizer.ggml.model").value_or("none");
    if (kind == "none") return {};
    if (kind == "gpt2") return byte_level_json(Vocabulary(file)).dump();
    if (kind == "llama") return sentence_piece_json(Vocabulary(file)).dump();
    if (kind == "bert") return word_piece_json(Vocabulary(file)).dump();
    throw unsupported_error("{}: \"tokenizer.ggml.model\" is {}, which is not read yet; wanted gpt2, llama or bert",
                            file.name(), in_quotes(kind));
}

std::string gguf_tokenizer_config(const Gguf& file) {
    const JsonFields fields(file.metadata(), file.name());
    Json config = Json::object();
    if (fields.has("tokenizer.ggml.tokens")) {
        const Json& tokens = fields.list("tokenizer.ggml.tokens");
        for (const auto& [ours, theirs] :
             {std::pair{"bos_token", "bos"}, {"eos_token", "eos"}, {"unk_token", "unknown"}, {"pad_token", "padding"}})
            if (const auto id =
                    fields.optional_integer(format("tokenizer.ggml.{}_token_id", theirs), 0, std::ssize(tokens) - 1))
                config[ours] = tokens[static_cast<std::size_t>(*id)];
    }
    if (const auto chat = fields.optional_text("tokenizer.chat_template")) config["chat_template"] = *chat;
    return config.dump();
}

}  // namespace vantage::internal
