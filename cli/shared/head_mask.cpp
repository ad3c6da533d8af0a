#include "cli/shared/head_mask.h"

#include "cli/shared/command_options.h"
#include "runtime/base/errors.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>

namespace vantage::cli {

namespace {

/// Removes the prefix and returns the attention kind that it means.
AttentionKind take_kind(std::string_view& text) {
    const char letter = text.empty() ? '\0' : text.front();
    if (letter == 'e' || letter == 'd' || letter == 'x') text.remove_prefix(1);
    return letter == 'e' ? AttentionKind::encoder : letter == 'x' ? AttentionKind::cross : AttentionKind::self;
}

HeadId head_named(std::string_view name) {
    std::string_view text = name;
    HeadId place{.kind = take_kind(text)};
    const char *begin = text.data(), *end = begin + text.size();
    const auto layer = std::from_chars(begin, end, place.layer);
    if (layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.') {
        const auto head = std::from_chars(layer.ptr + 1, end, place.head);
        if (head.ec == std::errc() && head.ptr == end && place.layer >= 0 && place.head >= 0) return place;
    }
    throw usage_error(
        "--mask-heads: \"{}\" is not a head; give layer.head, both from 0: 3.2,5.0 (encoder–decoders: also e0.2, d1.0 "
        "and x1.3)",
        name);
}

}  // namespace

void add_head_mask_option(CLI::App& command, std::string& heads) {
    add_option(command, "--mask-heads", heads,
               "Set the output of these heads to 0; layer.head, both from 0: 3.2,5.0. Encoder–decoders: e0.2 "
               "encoder, d1.0 or 1.0 decoder self-attention, x1.3 cross-attention",
               "HEADS");
}

std::optional<std::vector<HeadId>> masked_heads(const std::string& heads) {
    if (heads.empty()) return std::nullopt;
    std::vector<HeadId> places;
    for (std::size_t begin = 0; begin <= heads.size();) {
        const std::size_t end = std::min(heads.find(',', begin), heads.size());
        places.push_back(head_named(std::string_view(heads).substr(begin, end - begin)));
        begin = end + 1;
    }
    return places;
}

}  // namespace vantage::cli
