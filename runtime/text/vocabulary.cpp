#include "runtime/text/vocabulary.h"

#include <algorithm>

namespace vantage::text {

void Vocabulary::reserve(std::size_t count) {
    ids_.reserve(count);
    texts_.reserve(count);
}

const std::string& Vocabulary::add(const std::string& token, std::int32_t id) {
    const std::string& key = ids_.insert_or_assign(token, id).first->first;
    texts_.emplace(id, &key);
    largest_id_ = std::max(largest_id_, id);
    return key;
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

}  // namespace vantage::text
