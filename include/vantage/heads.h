// Attention heads: what kind of attention, which head, and which layers a session records. Parts of a model.
//
// Threads: values and pure functions: any thread.
// Errors: nothing here throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vantage {

/// Whose attention it is: a model's own; of encoder–decoders the decoder's own, the encoder's, or what the decoder pays
/// to the encoder's tokens.
enum class AttentionKind : std::uint8_t { self, encoder, cross };

/// Which model is loaded of a folder with two (CLIP): the one that reads texts, or the one that looks at images.
enum class Tower : std::uint8_t { text, image };

/// The layers whose Q and log-sum-exp rows a session keeps. For these, attention() is exact without a replay.
/// {} = none, RecordAttention::all(), or {.layers = {0, 5}}.
struct RecordAttention {
    bool every = false;
    std::vector<std::int64_t> layers = {};
    static RecordAttention all() { return {.every = true}; }
    bool includes(std::int64_t layer) const;
};

/// A head of a model, both numbers from 0; of an encoder–decoder also one of its encoder's or of its cross attention's.
struct HeadId {
    std::int64_t layer = 0, head = 0;
    AttentionKind kind = AttentionKind::self;
    bool operator==(const HeadId&) const = default;
};
/// "3.2"; "e3.2" of the encoder, "x3.2" of the cross attention.
std::string name_of(const HeadId& place);

}  // namespace vantage
