#include "runtime/base/utf8.h"

#include <algorithm>
#include <cstdint>

#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"

namespace vantage::internal {

namespace {

unsigned byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

/// Length of a sequence by its first byte, and the range of its second byte, which excludes overlong forms, surrogates
/// and codes above U+10FFFF. Length 0: no sequence starts with this byte.
struct Lead {
    unsigned length, low, high;
};
Lead lead_of(unsigned byte) {
    if (byte < 0x80) return {1, 0, 0};
    if (byte < 0xC2) return {0, 0, 0};
    if (byte < 0xE0) return {2, 0x80, 0xBF};
    if (byte < 0xF0) return {3, byte == 0xE0 ? 0xA0u : 0x80u, byte == 0xED ? 0x9Fu : 0xBFu};
    if (byte < 0xF5) return {4, byte == 0xF0 ? 0x90u : 0x80u, byte == 0xF4 ? 0x8Fu : 0xBFu};
    return {0, 0, 0};
}

constexpr std::size_t bytes_between_looks = 1 << 20;  // for Ctrl-C

}  // namespace

Utf8Step utf8_step(std::string_view bytes, std::size_t at) {
    using Kind = Utf8Step::Kind;
    const Lead lead = lead_of(byte_at(bytes, at));
    if (lead.length == 0) return {Kind::broken, 1};
    for (unsigned i = 1; i < lead.length; ++i) {
        if (at + i == bytes.size()) return {Kind::cut_off, i};
        const unsigned byte = byte_at(bytes, at + i);
        if (byte < (i == 1 ? lead.low : 0x80u) || byte > (i == 1 ? lead.high : 0xBFu)) return {Kind::broken, i};
    }
    return {Kind::character, lead.length};
}

std::string repair_utf8(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    std::size_t next = bytes_between_looks;
    for (std::size_t at = 0; at < bytes.size();) {
        if (at >= next) throw_if_interrupted(), next += bytes_between_looks;
        const Utf8Step step = utf8_step(bytes, at);
        if (step.kind == Utf8Step::Kind::character)
            out.append(bytes, at, step.bytes);
        else
            out += replacement_character;
        at += step.bytes;
    }
    return out;
}

namespace {

/// What moves a terminal's cursor or turns the direction of text.
bool is_control(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string escape_controls_in_json(std::string_view json) {
    std::string out;
    for (std::size_t at = 0; at < json.size();) {
        const std::string_view bytes = json.substr(at, utf8_step(json, at).bytes);
        at += bytes.size();
        const char32_t code = bytes.size() > 1 || bytes[0] == '\x7f' ? character_at(bytes, 0).code : U' ';
        out += is_control(code) ? format("\\u{:04x}", static_cast<std::uint32_t>(code)) : std::string(bytes);
    }
    return out;
}

std::string escape_controls(std::string_view text, std::string_view kept) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Step step = utf8_step(text, at);
        const std::string_view bytes = text.substr(at, step.bytes);
        at += step.bytes;
        if (step.kind != Utf8Step::Kind::character)
            for (const char byte : bytes) out += format("\\x{:02x}", static_cast<unsigned char>(byte));
        else if (const char32_t code = character_at(bytes, 0).code; is_control(code) && kept.find(bytes) == kept.npos)
            out += format("\\x{:02x}", static_cast<std::uint32_t>(code));
        else
            out += bytes;
    }
    return out;
}

bool is_utf8(std::string_view bytes) {
    std::size_t next = bytes_between_looks;
    for (std::size_t at = 0; at < bytes.size();) {
        if (at >= next) throw_if_interrupted(), next += bytes_between_looks;
        const Utf8Step step = utf8_step(bytes, at);
        if (step.kind != Utf8Step::Kind::character) return false;
        at += step.bytes;
    }
    return true;
}

Character character_at(std::string_view valid, std::size_t at) {
    const unsigned first = byte_at(valid, at);
    if (first < 0x80) return {first, 1};
    const unsigned length = lead_of(first).length;
    char32_t code = first & (0x7Fu >> length);
    for (unsigned i = 1; i < length; ++i) code = (code << 6) | (byte_at(valid, at + i) & 0x3Fu);
    return {code, length};
}

void append_utf8(std::string& out, char32_t code) {
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes behind the first
    constexpr char32_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    for (int i = more; i >= 0; --i) {
        const char32_t byte = i == more ? lead[more] | code >> (6 * i) : 0x80 | (code >> (6 * i) & 0x3F);
        out += static_cast<char>(static_cast<unsigned char>(byte));
    }
}

std::u32string code_points(std::string_view valid) {
    std::u32string codes;
    for (std::size_t at = 0; at < valid.size();) {
        const Character c = character_at(valid, at);
        codes += c.code;
        at += c.bytes;
    }
    return codes;
}

std::u32string decode_utf8(std::string_view bytes) { return code_points(repair_utf8(bytes)); }

std::string encode_utf8(std::u32string_view text) {
    std::string bytes;
    for (const char32_t character : text) append_utf8(bytes, character);
    return bytes;
}

std::string longest_fitting(std::string_view text, const std::function<bool(std::string_view)>& fits) {
    if (fits(text)) return std::string(text);
    const std::u32string characters = decode_utf8(text);
    const auto beginning = [&](std::size_t count) {
        return encode_utf8(std::u32string_view(characters).substr(0, count)) + "…";
    };
    std::size_t fitting = 0, too_many = 1;  // twice as many until they do not fit, then between the two
    if (!fits(beginning(0))) return "";
    while (too_many < characters.size() && fits(beginning(too_many))) fitting = too_many, too_many *= 2;
    too_many = std::min(too_many, characters.size());
    while (fitting + 1 < too_many) {
        const std::size_t middle = (fitting + too_many) / 2;
        (fits(beginning(middle)) ? fitting : too_many) = middle;
    }
    return beginning(fitting);
}

}  // namespace vantage::internal
