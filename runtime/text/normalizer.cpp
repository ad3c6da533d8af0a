#include "runtime/text/normalizer.h"

#include <map>

#include "runtime/text/pattern.h"

namespace vantage::text {
namespace {

bool is_ascii(std::string_view text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) >= 0x80) return false;
    return true;
}

Normalizer make_form(NormalForm form) {
    return [form](AlignedText text) {
        if (is_ascii(text.bytes)) return text;  // in every form already
        return apply_changes(text, normalize(text.bytes, form));
    };
}

AlignedText lower_cased(const AlignedText& text) {
    std::vector<Change> changes;
    for (std::size_t at = 0; at < text.bytes.size();) {
        const Character c = character_at(text.bytes, at);
        at += c.bytes;
        int change = 0;
        for (const char32_t lower : lower_case(c.code)) changes.push_back({lower, change++ == 0 ? 0 : 1});
    }
    return apply_changes(text, changes);
}

AlignedText without_marks(const AlignedText& text) {
    return replace_matches(text, find_characters(text.bytes, is_combining_mark), "");
}

/// Removes white space at the ends.
AlignedText stripped(const AlignedText& text, bool left, bool right) {
    std::size_t begin = text.bytes.size(), end = 0;  // of what is no white space
    for (std::size_t at = 0; at < text.bytes.size();) {
        const Character c = character_at(text.bytes, at);
        if (!is_white_space(c.code)) {
            begin = std::min(begin, at);
            end = at + c.bytes;
        }
        at += c.bytes;
    }
    AlignedText out;
    const std::size_t from = left ? begin : 0, to = right ? std::max(end, from) : text.bytes.size();
    if (from < to) out.append(text, from, to);
    return out;
}

Normalizer make_prepend(const JsonFields& fields) {
    return [prefix = fields.text("prepend")](AlignedText text) {
        prepend(text, prefix);
        return text;
    };
}

Normalizer make_replace(const JsonFields& fields) {
    return [find = make_finder(fields), content = fields.text("content")](const AlignedText& text) {
        const std::vector<Match> matches = find(text.bytes);
        return matches.empty() ? text : replace_matches(text, matches, content);
    };
}

Normalizer make_strip(const JsonFields& fields) {
    return [left = fields.optional_flag("strip_left").value_or(true),
            right = fields.optional_flag("strip_right").value_or(true)](const AlignedText& text) {
        return stripped(text, left, right);
    };
}

Normalizer make_sequence(const JsonFields& fields) {
    std::vector<Normalizer> steps;
    for (std::size_t i = 0; i < fields.list("normalizers").size(); ++i)
        steps.push_back(make_normalizer(fields.element("normalizers", i)));
    return [steps](AlignedText text) {
        for (const Normalizer& step : steps) text = step(std::move(text));
        return text;
    };
}

}  // namespace

Normalizer make_normalizer(const JsonFields& fields) {
    const std::string kind = fields.one_of(
        "type", {"Sequence", "Prepend", "Replace", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents"});
    if (kind == "Sequence") return make_sequence(fields);
    if (kind == "Prepend") return make_prepend(fields);
    if (kind == "Replace") return make_replace(fields);
    if (kind == "NFC") return make_form(NormalForm::nfc);
    if (kind == "NFD") return make_form(NormalForm::nfd);
    if (kind == "NFKC") return make_form(NormalForm::nfkc);
    if (kind == "NFKD") return make_form(NormalForm::nfkd);
    if (kind == "Lowercase") return lower_cased;
    if (kind == "StripAccents") return without_marks;
    return make_strip(fields);
}

}  // namespace vantage::text
