#include "runtime/text/vocabulary.h"

#include <algorithm>
#include <charconv>

namespace vantage::text {

void Vocabulary::reserve(std::size_t count) {
    ids_.reserve(count);
    texts_.reserve(count);
}

void Vocabulary::add(const std::string& token, std::int32_t id) {
    const std::string& key = ids_.insert_or_assign(token, id).first->first;
    texts_.emplace(id, &key);
    largest_id_ = std::max(largest_id_, id);
}

std::optional<std::int32_t> Vocabulary::id_of(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* Vocabulary::text_of(std::int32_t id) const {
    const auto found = texts_.find(id);
    return found == texts_.end() ? nullptr : found->second;
}

Vocabulary read_vocabulary(const JsonFields& model) {
    const JsonFields fields = model.object("vocab");
    Vocabulary vocabulary;
    vocabulary.reserve(fields.json().size());
    for (const auto& [token, value] : fields.json().items()) {
        const std::optional<std::int64_t> id = JsonFields::integer_of(value);
        if (!id || *id < 0 || *id > largest_token_id)
            fields.fail(token, "an id from 0 to " + std::to_string(largest_token_id));
        vocabulary.add(token, static_cast<std::int32_t>(*id));
    }
    return vocabulary;
}

std::optional<std::uint8_t> byte_of_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    std::uint8_t byte = 0;
    const char* begin = token.data() + 3;
    const auto [end, error] = std::from_chars(begin, begin + 2, byte, 16);
    return error == std::errc() && end == begin + 2 ? std::optional(byte) : std::nullopt;
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
    for (unsigned byte = 0; byte < 256; ++byte) ids_[byte] = vocabulary.id_of(format("<0x{:02X}>", byte)).value_or(-1);
}

bool ByteTokens::cover(std::string_view text) const {
    return std::all_of(text.begin(), text.end(), [this](char byte) { return id_of(byte) >= 0; });
}

}  // namespace vantage::text
