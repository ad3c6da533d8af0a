#include "runtime/text/normalizer.h"

#include <algorithm>

#include "runtime/text/character_map.h"
#include "runtime/text/pattern.h"

namespace vantage::text {
namespace {

Normalizer make_form_normalizer(NormalForm form) {
    return [form](AlignedText text) {
        const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
        if (std::ranges::all_of(text.bytes, is_ascii)) return text;  // normalized in every form
        return apply_changes(text, normalize(text.bytes, form));
    };
}

/// Replaces each character by the result of `change`.
AlignedText mapped(const AlignedText& text, std::u32string (*change)(char32_t)) {
    AlignedText out;
    out.bytes.reserve(text.bytes.size());
    out.origins.reserve(text.bytes.size());
    for (const auto [code, begin, end] : Characters{text.bytes})
        for (const char32_t changed : change(code)) out.append(changed, text.origins[begin]);
    return out;
}

Normalizer make_map_normalizer(std::u32string (*change)(char32_t)) {
    return [change](const AlignedText& text) { return mapped(text, change); };
}

AlignedText without(const AlignedText& text, bool (*unwanted)(char32_t)) {
    return replace_matches(text, find_characters(text.bytes, unwanted), "");
}

Normalizer make_prepend_normalizer(const JsonFields& fields) {
    return [prefix = fields.text("prepend")](AlignedText text) {
        prepend(text, prefix);
        return text;
    };
}

Normalizer make_replace_normalizer(const JsonFields& fields) {
    return [find = make_finder(fields), content = fields.text("content")](const AlignedText& text) {
        const std::vector<Match> matches = find(text.bytes);
        return matches.empty() ? text : replace_matches(text, matches, content);
    };
}

Normalizer make_strip_normalizer(const JsonFields& fields) {
    const bool left = fields.optional_flag("strip_left").value_or(true);
    const bool right = fields.optional_flag("strip_right").value_or(true);
    return [=](const AlignedText& text) {
        std::size_t from = text.bytes.size(), to = 0;  // the range without white space at its ends
        for (const auto [code, begin, end] : Characters{text.bytes})
            if (!is_white_space(code)) from = std::min(from, begin), to = end;
        AlignedText out;
        if (!left) from = 0;
        if (!right) to = text.bytes.size();
        if (from < to) out.append(text, from, to);
        return out;
    };
}

// ---- BERT, and Google's machine translation -------------------------------------------------------------------------

std::u32string without_controls(char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return U" ";
    if (c == 0 || c == 0xFFFD || is_control(c)) return {};
    return is_white_space(c) ? U" " : std::u32string(1, c);
}

/// Puts spaces around each ideograph. The blocks are BERT's, without later Unicode blocks.
std::u32string with_spaced_ideographs(char32_t c) {
    const bool ideograph = (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
                           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
                           (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
                           (c >= 0x2F800 && c <= 0x2FA1F);
    return ideograph ? std::u32string{U' ', c, U' '} : std::u32string(1, c);
}

Normalizer make_bert_normalizer(const JsonFields& fields) {
    const bool clean = fields.optional_flag("clean_text").value_or(true);
    const bool space_ideographs = fields.optional_flag("handle_chinese_chars").value_or(true);
    const bool lower = fields.optional_flag("lowercase").value_or(true);
    const bool strip = fields.optional_flag("strip_accents").value_or(lower);
    return [=, decompose = make_form_normalizer(NormalForm::nfd)](AlignedText text) {
        if (clean) text = mapped(text, without_controls);
        if (space_ideographs) text = mapped(text, with_spaced_ideographs);
        if (strip) text = without(decompose(std::move(text)), is_nonspacing_mark);
        if (lower) text = mapped(text, lower_case);
        return text;
    };
}

std::u32string nmt(char32_t c) {
    if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F)
        return {};
    const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                       c == 0xFFFD;
    return space ? U" " : std::u32string(1, c);
}

Normalizer make_sequence_normalizer(const JsonFields& fields) {
    std::vector<Normalizer> steps;
    for (std::size_t i = 0; i < fields.list("normalizers").size(); ++i)
        steps.push_back(make_normalizer(fields.element("normalizers", i)));
    return [steps](AlignedText text) {
        for (const Normalizer& step : steps) {
            text = step(std::move(text));
            check_growth(text, text.bytes.size());
        }
        return text;
    };
}

}  // namespace

Normalizer make_normalizer(const JsonFields& fields) {
    const std::string kind =
        fields.one_of("type", {"Sequence", "Prepend", "Replace", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip",
                               "StripAccents", "BertNormalizer", "Precompiled", "Nmt"});
    if (kind == "Sequence") return make_sequence_normalizer(fields);
    if (kind == "Prepend") return make_prepend_normalizer(fields);
    if (kind == "Replace") return make_replace_normalizer(fields);
    if (kind == "NFC") return make_form_normalizer(NormalForm::nfc);
    if (kind == "NFD") return make_form_normalizer(NormalForm::nfd);
    if (kind == "NFKC") return make_form_normalizer(NormalForm::nfkc);
    if (kind == "NFKD") return make_form_normalizer(NormalForm::nfkd);
    if (kind == "Lowercase") return make_map_normalizer(lower_case);
    if (kind == "StripAccents") return [](const AlignedText& text) { return without(text, is_combining_mark); };
    if (kind == "BertNormalizer") return make_bert_normalizer(fields);
    if (kind == "Precompiled") return make_precompiled_normalizer(fields);
    if (kind == "Nmt") return make_map_normalizer(nmt);
    return make_strip_normalizer(fields);
}

}  // namespace vantage::text
