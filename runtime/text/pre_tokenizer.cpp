#include "runtime/text/pre_tokenizer.h"

#include "runtime/text/byte_level.h"
#include "runtime/text/pattern.h"

namespace vantage::text {
namespace {

/// Maps each byte of a piece to a visible letter, with the origin of its character.
AlignedText to_letters(const AlignedText& text) {
    AlignedText out;
    out.bytes.reserve(text.bytes.size() * 3 / 2);
    out.origins.reserve(text.bytes.size() * 3 / 2);
    for (std::size_t i = 0; i < text.bytes.size(); ++i)
        out.append(letter_of(static_cast<std::uint8_t>(text.bytes[i])), text.origins[i]);
    return out;
}

PreTokenizer make_byte_level_pre_tokenizer(const JsonFields& fields) {
    const bool prefix = fields.optional_flag("add_prefix_space").value_or(true);
    Finder words;
    if (fields.optional_flag("use_regex").value_or(true)) words = gpt2_words();
    return [prefix, words](Pieces& pieces) {
        if (prefix)
            pieces.rewrite([](AlignedText text) {
                if (!text.bytes.starts_with(' ')) prepend(text, " ");
                return text;
            });
        if (words) split(pieces, words, SplitBehavior::isolated);
        pieces.rewrite(to_letters);
    };
}

SplitBehavior read_behavior(const JsonFields& fields) {
    const std::string word =
        fields.one_of("behavior", {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"});
    if (word == "Removed") return SplitBehavior::removed;
    if (word == "Isolated") return SplitBehavior::isolated;
    if (word == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
    if (word == "MergedWithNext") return SplitBehavior::merged_with_next;
    return SplitBehavior::contiguous;
}

PreTokenizer make_split_pre_tokenizer(const Finder& find, SplitBehavior behavior, bool invert = false) {
    return [=](Pieces& pieces) { split(pieces, find, behavior, invert); };
}

PreTokenizer make_character_split_pre_tokenizer(bool (*wanted)(char32_t), SplitBehavior behavior) {
    return make_split_pre_tokenizer([wanted](std::string_view text) { return find_characters(text, wanted); },
                                    behavior);
}

/// Words and runs of punctuation, by Rust's definition, in which the two joiners are word characters.
constexpr const char* words = R"([\w\x{200c}\x{200d}]+|[^\w\s\x{200c}\x{200d}]+)";

PreTokenizer make_bert_pre_tokenizer() {
    return [](Pieces& pieces) {
        make_character_split_pre_tokenizer(is_white_space, SplitBehavior::removed)(pieces);
        make_character_split_pre_tokenizer(is_punctuation, SplitBehavior::isolated)(pieces);
    };
}

PreTokenizer make_metaspace_pre_tokenizer(const JsonFields& fields) {
    const Metaspace options = read_metaspace(fields);
    return [options](Pieces& pieces) {
        const std::string& sign = options.replacement;
        pieces.rewrite([&](AlignedText text) {
            text = replace_matches(text, find_string(text.bytes, " "), sign);
            const bool at_start = !text.origins.empty() && text.origins.front().begin == 0;
            const bool wanted = options.prepend == Metaspace::Prepend::always ||
                                (options.prepend == Metaspace::Prepend::first && at_start);
            if (wanted && !text.bytes.starts_with(sign)) prepend(text, sign);
            return text;
        });
        if (!options.split) return;
        split(
            pieces, [&](std::string_view text) { return find_string(text, sign); }, SplitBehavior::merged_with_next);
    };
}

PreTokenizer make_sequence_pre_tokenizer(const JsonFields& fields) {
    std::vector<PreTokenizer> steps;
    for (std::size_t i = 0; i < fields.list("pretokenizers").size(); ++i)
        steps.push_back(make_pre_tokenizer(fields.element("pretokenizers", i)));
    return [steps](Pieces& pieces) {
        for (const PreTokenizer& step : steps) step(pieces);
    };
}

}  // namespace

Finder gpt2_words() {
    constexpr const char* pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
    return Regex(pattern, "GPT-2's words").finder();
}

Metaspace read_metaspace(const JsonFields& fields) {
    Metaspace options{one_character(fields, "replacement"), Metaspace::Prepend::always,
                      fields.optional_flag("split").value_or(true)};
    if (fields.has("prepend_scheme")) {
        const std::string scheme = fields.one_of("prepend_scheme", {"always", "first", "never"});
        if (scheme == "first") options.prepend = Metaspace::Prepend::first;
        if (scheme == "never") options.prepend = Metaspace::Prepend::never;
    } else if (!fields.optional_flag("add_prefix_space").value_or(true)) {  // the older spelling
        options.prepend = Metaspace::Prepend::never;
    }
    return options;
}

PreTokenizer make_pre_tokenizer(const JsonFields& fields) {
    const std::string kind =
        fields.one_of("type", {"Sequence", "ByteLevel", "Split", "Metaspace", "Digits", "Whitespace", "WhitespaceSplit",
                               "Punctuation", "BertPreTokenizer"});
    if (kind == "Sequence") return make_sequence_pre_tokenizer(fields);
    if (kind == "ByteLevel") return make_byte_level_pre_tokenizer(fields);
    if (kind == "Split")
        return make_split_pre_tokenizer(make_finder(fields), read_behavior(fields),
                                        fields.optional_flag("invert").value_or(false));
    if (kind == "Metaspace") return make_metaspace_pre_tokenizer(fields);
    if (kind == "Digits") {
        const bool single = fields.optional_flag("individual_digits").value_or(false);
        return make_character_split_pre_tokenizer(is_numeric,
                                                  single ? SplitBehavior::isolated : SplitBehavior::contiguous);
    }
    if (kind == "Whitespace")
        return make_split_pre_tokenizer(Regex(words, "words").finder(), SplitBehavior::removed, true);
    if (kind == "BertPreTokenizer") return make_bert_pre_tokenizer();
    if (kind == "WhitespaceSplit") return make_character_split_pre_tokenizer(is_white_space, SplitBehavior::removed);
    return make_character_split_pre_tokenizer(is_punctuation,
                                              fields.has("behavior") ? read_behavior(fields) : SplitBehavior::isolated);
}

}  // namespace vantage::text
