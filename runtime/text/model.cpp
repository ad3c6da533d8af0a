#include "runtime/text/model.h"

#include "runtime/base/errors.h"

namespace vantage::text {

std::int32_t Model::id_of_unknown(const std::string& token) const {
    if (const std::optional<std::int32_t> id = vocabulary_.id_of(token)) return *id;
    throw bad_file_error("{}: \"model.unk_token\" is {}, wanted a token of the vocabulary", name_, describe(token));
}

namespace {

/// The oldest files have no type; it follows from their fields.
std::string kind_of(const JsonFields& fields) {
    if (!fields.has("type")) {
        if (fields.has("merges")) return "BPE";
        if (fields.has("max_input_chars_per_word")) return "WordPiece";
        if (fields.has("vocab") && fields.json()["vocab"].is_array()) return "Unigram";
    }
    return fields.one_of("type", {"BPE", "WordPiece", "Unigram"});
}

}  // namespace

std::unique_ptr<const Model> make_model(const JsonFields& fields) {
    const std::string kind = kind_of(fields);
    if (kind == "BPE") return make_bpe(fields);
    if (kind == "WordPiece") return make_word_piece(fields);
    return make_unigram(fields);
}

}  // namespace vantage::text
