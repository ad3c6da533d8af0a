// Attention heads: what kind of attention, how keys are weighed, which head, and which layers a session records.
//
// Threads: values and pure functions: any thread.
// Errors: attention_variant_named throws usage; nothing else throws.
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

/// How a model's self-attention weighs keys, in place of the softmax of its config (SessionOptions::variant).
///   linear: φ(q)·φ(k) over their sum, φ(x) = elu(x) + 1 (Katharopoulos et al. 2020)
///   performer: the same with N random features (Choromanski et al. 2020)
///   hard: the key with the largest score alone (Xu et al. 2015)
///   window: N keys up to the query's own; in an encoder also N - 1 after it (Beltagy et al. 2020)
///   dilated: every N-th key from the query's own on (Yu & Koltun 2016; Beltagy et al. 2020)
///   strided: the keys of window and of dilated, each once (Child et al. 2019)
///   bigbird: blocks of N tokens: 2 that all see, 3 around the query's, 3 random ones (Zaheer et al. 2020)
/// Three have weights of their own:
///   additive: softmax of w·tanh(W_q q + W_k k + b) (Bahdanau et al. 2014)
///   multiplicative: softmax of (W q)·k (Luong et al. 2015)
///   linformer: softmax over N projected keys E k, with values F v (Wang et al. 2020)
enum class AttentionForm : std::uint8_t {
    own,
    linear,
    performer,
    hard,
    window,
    dilated,
    strided,
    bigbird,
    additive,
    multiplicative,
    linformer
};
struct AttentionVariant {
    AttentionForm form = AttentionForm::own;
    std::int64_t number = 0;  ///< N; 0 where the form has none
    bool operator==(const AttentionVariant&) const = default;
};
/// "own", "linear", "performer:256", "hard", "window:N", "dilated:N", "strided:N", "bigbird:64", "additive",
/// "multiplicative" or "linformer:N"; the numbers of "performer" and "bigbird" may be left out. Throws usage for other
/// names and numbers.
AttentionVariant attention_variant_named(const std::string& name);
std::string name_of(const AttentionVariant& variant);

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
