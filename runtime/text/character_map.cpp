#include "runtime/text/character_map.h"

#include "runtime/base/errors.h"

namespace vantage::text {
namespace {

/// Nothing for invalid base64, including invalid padding.
std::optional<std::string> from_base64(std::string_view text) {
    static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (text.size() % 4 != 0) return std::nullopt;
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        bits = (bits << 6) | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>((bits >> count) & 0xFFu);
    }
    return bytes;
}

std::uint32_t little_endian(std::string_view four_bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = (value << 8) | static_cast<unsigned char>(four_bytes[i]);
    return value;
}

// A unit of Darts-clone's double array, https://github.com/s-yata/darts-clone
bool has_leaf(std::uint32_t unit) { return ((unit >> 8) & 1u) != 0; }
std::uint32_t label(std::uint32_t unit) { return unit & 0x8000'00FFu; }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200u) >> 6); }
std::uint32_t value(std::uint32_t unit) { return unit & 0x7FFF'FFFFu; }

/// The changes that turn `old_characters` into the new text. Characters are replaced one for one while both last. The
/// rest is inserted, or swallowed by the last new character.
void replace(std::vector<Change>& changes, int old_characters, std::string_view content) {
    int left = old_characters;
    for (const char32_t c : code_points(content)) changes.push_back({c, left-- > 0 ? 0 : 1});
    if (left > 0 && !changes.empty()) changes.back().change -= left;
}

class CharacterMap {
public:
    /// Reads the field "precompiled_charsmap", in base64: the size of a double-array trie in bytes, the trie, and the
    /// replacements, each NUL-terminated. Throws bad_file if it is malformed.
    explicit CharacterMap(const JsonFields& fields)
        : where_(fields.name() + ": " + in_quotes(fields.path_of("precompiled_charsmap"))) {
        const std::optional<std::string> bytes = from_base64(fields.text("precompiled_charsmap"));
        if (!bytes) fields.fail("precompiled_charsmap", "base64");
        const std::string_view all = *bytes;
        const std::size_t units = all.size() < 4 ? 0 : little_endian(all) / 4;
        if (units == 0 || units > all.size() / 4 - 1)
            fields.fail("precompiled_charsmap", "a trie of the size that it begins with");
        for (std::size_t i = 1; i <= units; ++i) trie_.push_back(little_endian(all.substr(i * 4, 4)));
        replacements_ = all.substr(4 + units * 4);
        if (!is_utf8(replacements_)) fields.fail("precompiled_charsmap", "replacements in UTF-8");
    }

    /// Replaces per grapheme cluster (a letter with its marks). Throws bad_file if the map is damaged.
    AlignedText apply(const AlignedText& text) const {
        // Longer strings are only replaced code point by code point.
        constexpr std::size_t longest = 5;
        std::vector<Change> changes;
        const auto try_replace = [&](std::string_view part, int characters) {
            const std::optional<std::string_view> content = replacement_of(part);
            if (!content) return false;
            check_growth(text, changes.size() + content->size());
            replace(changes, characters, *content);
            return true;
        };
        const std::string_view all = text.bytes;
        for (std::size_t at = 0; at < all.size();) {
            const std::string_view seen = all.substr(at, grapheme_bytes(all, at));
            at += seen.size();
            if (seen.size() <= longest && try_replace(seen, static_cast<int>(code_points(seen).size()))) continue;
            for (const auto [code, begin, end] : Characters{seen})
                if (!try_replace(seen.substr(begin, end - begin), 1)) changes.push_back({code, 0});
        }
        return apply_changes(text, changes);
    }

private:
    [[noreturn]] void fail() const { throw bad_file_error("{} points outside itself, is it damaged?", where_); }

    std::uint32_t unit(std::size_t at) const {
        if (at >= trie_.size()) fail();
        return trie_[at];
    }

    std::string_view replacement_at(std::size_t begin) const {
        const auto inside_character = [this](std::size_t at) {
            return at < replacements_.size() && is_continuation(replacements_[at]);
        };
        if (begin > replacements_.size() || inside_character(begin)) fail();
        const std::size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
        return std::string_view(replacements_).substr(begin, end - begin);
    }

    /// The replacement of the shortest entry that the text begins with. It replaces all of the text, as in the
    /// reference implementation.
    std::optional<std::string_view> replacement_of(std::string_view text) const {
        std::size_t at = offset(unit(0));
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte == 0) break;
            at ^= byte;
            const std::uint32_t step = unit(at);
            if (label(step) != byte) break;
            at ^= offset(step);
            if (has_leaf(step)) return replacement_at(value(unit(at)));
        }
        return std::nullopt;
    }

    std::string where_;  // file and field, for messages
    std::vector<std::uint32_t> trie_;
    std::string replacements_;
};

}  // namespace

Normalizer make_precompiled_normalizer(const JsonFields& fields) {
    return [map = std::make_shared<const CharacterMap>(fields)](const AlignedText& text) { return map->apply(text); };
}

}  // namespace vantage::text
