#include "runtime/text/post_processor.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/unicode.h"
#include "runtime/text/vocabulary.h"

namespace vantage::text {
namespace {

using Encoding = Tokenizer::Encoding;

// ---- ByteLevel: offsets without white space -------------------------------------------------------------------------

bool is_space_sign(char32_t c) { return c == letter_of(' ') || is_white_space(c); }

/// Trims white space from both ends of each offset range. With `prefix_added` a single space before the first word is
/// kept: it may be the inserted one, which has no place in the text.
void trim_offsets(Encoding& encoding, bool prefix_added) {
    for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
        const std::u32string token = code_points(encoding.tokens[i]);
        auto& [begin, end] = encoding.offsets[i];
        auto leading =
            static_cast<std::size_t>(std::find_if_not(token.begin(), token.end(), is_space_sign) - token.begin());
        const auto trailing =
            static_cast<std::size_t>(std::find_if_not(token.rbegin(), token.rend(), is_space_sign) - token.rbegin());
        if ((i == 0 || begin == 0) && prefix_added && leading == 1) leading = 0;
        begin = std::min(begin + leading, end);
        if (end >= trailing) end = std::max(end - trailing, begin);
    }
}

PostProcessor make_byte_level_processor(const JsonFields& fields) {
    const bool trim = fields.optional_flag("trim_offsets").value_or(true);
    const bool prefix_added = fields.optional_flag("add_prefix_space").value_or(true);
    return [=](std::vector<Encoding> parts, bool) {
        if (trim)
            for (Encoding& part : parts) trim_offsets(part, prefix_added);
        return parts;
    };
}

// ---- TemplateProcessing: <s> $A </s> $B -----------------------------------------------------------------------------

/// One element of a template: a text (0 or 1), or special tokens.
struct TemplatePiece {
    int text = -1;
    std::int32_t type_id = 0;
    Encoding added;
};

/// The tokens of a name such as "<s>".
Encoding read_special(const JsonFields& fields, std::string_view place, const std::string& name, std::int32_t type_id) {
    const std::optional<JsonFields> table = fields.optional_object("special_tokens");
    if (!table || !table->has(name))
        fields.fail(place, "special tokens that \"special_tokens\" lists; it has no " + describe(name));
    const JsonFields special = table->object(name);
    Encoding added;
    for (const std::int64_t id : special.integers("ids", 0, largest_token_id))
        added.ids.push_back(static_cast<std::int32_t>(id));
    for (const Json& token : special.list("tokens"))
        added.tokens.push_back(token.is_string() ? token.get<std::string>() : "");
    if (added.ids.size() != added.tokens.size())
        special.fail("tokens", "as many as \"ids\", " + std::to_string(added.ids.size()));
    added.type_ids.assign(added.ids.size(), type_id);
    added.offsets.assign(added.ids.size(), {0, 0});
    return added;
}

std::vector<TemplatePiece> read_template(const JsonFields& fields, std::string_view key, int texts) {
    // Known templates add 1 to 3 tokens. Without a limit a small file costs pieces x ids, in memory and in each text.
    constexpr std::size_t max_pieces = 64, max_added = 64;
    constexpr int max_texts = 4;  // known ones have each text once
    if (fields.list(key).size() > max_pieces) fields.fail(key, format("a list of at most {} elements", max_pieces));
    std::size_t added = 0;
    int repeated = 0;
    std::vector<TemplatePiece> pieces;
    for (std::size_t i = 0; i < fields.list(key).size(); ++i) {
        const JsonFields element = fields.element(key, i);
        const bool is_text = element.has("Sequence");
        if (!is_text && !element.has("SpecialToken")) fields.fail(key, "a list of Sequence and SpecialToken");
        const JsonFields piece = element.object(is_text ? "Sequence" : "SpecialToken");
        TemplatePiece result;
        result.type_id = static_cast<std::int32_t>(piece.optional_integer("type_id", 0, largest_token_id).value_or(0));
        if (is_text) {
            result.text = piece.one_of("id", {"A", "B"}) == "B" ? 1 : 0;
            if (result.text >= texts) piece.fail("id", "A: the template for one text has no other");
            if (++repeated > max_texts) fields.fail(key, format("a template with at most {} texts", max_texts));
        } else {
            result.added = read_special(fields, key, piece.text("id"), result.type_id);
            added += result.added.ids.size();
            if (added > max_added) fields.fail(key, format("a template that adds at most {} tokens", max_added));
        }
        pieces.push_back(std::move(result));
    }
    return pieces;
}

PostProcessor make_template_processor(const JsonFields& fields) {
    const std::vector<TemplatePiece> single = read_template(fields, "single", 1),
                                     pair = read_template(fields, "pair", 2);
    return [single, pair, name = fields.name()](const std::vector<Encoding>& texts, bool add_special) {
        if (texts.empty() || texts.size() > 2)
            throw bad_file_error("{}: \"post_processor\" applies one template to the result of another", name);
        std::vector<Encoding> parts;
        for (const TemplatePiece& piece : texts.size() == 1 ? single : pair) {
            if (piece.text >= 0) {
                parts.push_back(at(texts, piece.text));
                std::fill(parts.back().type_ids.begin(), parts.back().type_ids.end(), piece.type_id);
            } else if (add_special) {
                parts.push_back(piece.added);
            }
        }
        return parts;
    };
}

// ---- BertProcessing, RobertaProcessing: [CLS] A [SEP] B [SEP], <s> A </s> </s> B </s> -------------------------------

/// A field such as ["[SEP]", 102].
Encoding read_token(const JsonFields& fields, std::string_view key) {
    const Json& pair = fields.list(key);
    const bool well_formed = pair.size() == 2 && pair[0].is_string();
    const std::int64_t id = (well_formed ? JsonFields::integer_of(pair[1]) : std::nullopt).value_or(-1);
    if (id < 0 || id > largest_token_id) fields.fail(key, "a list of a token and its id");
    return {{static_cast<std::int32_t>(id)}, {0}, {pair[0].get<std::string>()}, {{0, 0}}};
}

PostProcessor make_bert_processor(const JsonFields& fields) {
    const Encoding begin = read_token(fields, "cls"), end = read_token(fields, "sep");
    Encoding end_of_second = end;
    end_of_second.type_ids = {1};
    return [=](std::vector<Encoding> parts, bool add_special) {
        if (!add_special) return parts;
        for (std::size_t i = 0; i < parts.size(); ++i)
            parts[i] = i == 0 ? concatenated({begin, parts[i], end}) : concatenated({parts[i], end_of_second});
        return parts;
    };
}

PostProcessor make_roberta_processor(const JsonFields& fields) {
    const Encoding begin = read_token(fields, "cls"), end = read_token(fields, "sep");
    return [=, trim = make_byte_level_processor(fields)](std::vector<Encoding> parts, bool add_special) {
        parts = trim(std::move(parts), add_special);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            std::fill(parts[i].type_ids.begin(), parts[i].type_ids.end(), 0);  // RoBERTa has no token types
            if (add_special) parts[i] = concatenated({i == 0 ? begin : end, parts[i], end});
        }
        return parts;
    };
}

// ---- Sequence -------------------------------------------------------------------------------------------------------

PostProcessor make_sequence_processor(const JsonFields& fields) {
    std::vector<PostProcessor> steps;
    for (std::size_t i = 0; i < fields.list("processors").size(); ++i)
        steps.push_back(make_post_processor(fields.element("processors", i)));
    return [steps](std::vector<Encoding> parts, bool add_special) {
        for (const PostProcessor& step : steps) parts = step(std::move(parts), add_special);
        return parts;
    };
}

template <class T>
void append(std::vector<T>& list, const std::vector<T>& more) {
    list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

PostProcessor make_post_processor(const JsonFields& fields) {
    const std::string kind =
        fields.one_of("type", {"Sequence", "ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing"});
    if (kind == "Sequence") return make_sequence_processor(fields);
    if (kind == "ByteLevel") return make_byte_level_processor(fields);
    if (kind == "BertProcessing") return make_bert_processor(fields);
    if (kind == "RobertaProcessing") return make_roberta_processor(fields);
    return make_template_processor(fields);
}

Encoding concatenated(const std::vector<Encoding>& parts) {
    if (parts.size() == 1) return parts.front();
    Encoding all;
    for (const Encoding& part : parts) {
        append(all.ids, part.ids);
        append(all.type_ids, part.type_ids);
        append(all.tokens, part.tokens);
        append(all.offsets, part.offsets);
    }
    return all;
}

}  // namespace vantage::text
