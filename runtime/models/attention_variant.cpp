#include "runtime/models/attention_variant.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/json.h"

namespace vantage {

std::string name_of(const HeadId& place) {
    const char* whose = place.kind == AttentionKind::self ? "" : place.kind == AttentionKind::encoder ? "e" : "x";
    return format("{}{}.{}", whose, place.layer, place.head);
}

namespace internal {
namespace {

/// A form by its name, and the numbers that it may have: from `least` to `most`, 0 where it has none.
struct NamedForm {
    const char* name;
    AttentionForm form;
    std::int64_t least = 0, most = 0;
    std::int64_t default_number = 0;  ///< 0: a number must be given
};
constexpr std::array forms = {NamedForm{"own", AttentionForm::own},
                              NamedForm{"linear", AttentionForm::linear},
                              NamedForm{"performer", AttentionForm::performer, 1, 1024, 256},
                              NamedForm{"hard", AttentionForm::hard},
                              NamedForm{"window", AttentionForm::window, 1, 1 << 20},
                              NamedForm{"dilated", AttentionForm::dilated, 2, 1 << 20},
                              NamedForm{"strided", AttentionForm::strided, 2, 1 << 20},
                              NamedForm{"bigbird", AttentionForm::bigbird, 1, 1 << 20, 64},
                              NamedForm{"additive", AttentionForm::additive},
                              NamedForm{"multiplicative", AttentionForm::multiplicative},
                              NamedForm{"linformer", AttentionForm::linformer, 1, 1 << 14}};

std::string known_names() {
    std::string all;
    for (const NamedForm& one : forms) {
        if (one.form == AttentionForm::own) continue;
        all += (all.empty() ? "" : ", ") + std::string(one.name);
        if (one.most > 0) all += one.default_number > 0 ? "[:N]" : ":N";
    }
    return all;
}

// Why a model with a layer like this cannot have the form; nullptr where it can.
const char* obstacle(AttentionForm form, const ModelConfig& config, const AttentionOptions& how) {
    const bool sums = form == AttentionForm::linear || form == AttentionForm::performer,
               biased = how.alibi_slopes || how.distance_bias || how.key_bias || how.relative_keys;
    const bool windowed = how.window_left || how.window_right;
    if (config.own.has("global_tokens") || config.own.has("block_size") || how.block_mask)
        return "has a pattern of its own of windows, blocks and global tokens";
    if (form == AttentionForm::linformer && (config.kind != ModelKind::encoder || how.causal))
        return "has causal layers; linformer mixes all tokens and needs an encoder that sees all";
    if (biased && (sums || form == AttentionForm::additive || form == AttentionForm::linformer))
        return "biases its scores q·k by position, and this kind has no such scores";
    if (how.relative_keys && form == AttentionForm::multiplicative)
        return "biases its scores q·k by position, and this kind has no such scores";
    if (windowed && form == AttentionForm::strided) return "has layers with a window, and strided sees keys beyond it";
    if (how.softcap > 0 && sums) return "caps its scores, and this kind has none";
    if (how.sinks && (sums || form == AttentionForm::hard || form == AttentionForm::linformer))
        return "has sinks, which are a part of its softmax";
    if (windowed && (sums || form == AttentionForm::linformer))
        return "has layers with a window, and sums over all keys cannot leave some out";
    return nullptr;
}

}  // namespace

bool has_weights(AttentionForm form) {
    return form == AttentionForm::additive || form == AttentionForm::multiplicative || form == AttentionForm::linformer;
}

void require_number(const AttentionVariant& variant) {
    const NamedForm& form = *std::ranges::find(forms, variant.form, &NamedForm::form);
    if (variant.number >= form.least && variant.number <= form.most) return;
    throw usage_error("attention kind {}: its number is {}, but must be from {} to {}", form.name, variant.number,
                      form.least, form.most);
}

void require_allowed(const AttentionVariant& variant, const ModelConfig& config, const AttentionOptions& how) {
    if (variant.form == AttentionForm::own) return;
    if (const char* why = obstacle(variant.form, config, how))
        throw usage_error("attention kind {}: {} {}", name_of(variant), config.architecture, why);
    if (!has_weights(variant.form) || std::ranges::count(config.variants, variant) > 0) return;
    throw usage_error(
        "attention kind {}: it has weights of its own, and \"attention_kinds\" in the model's config.json does not "
        "name {}",
        name_of(variant), name_of(variant));
}

std::vector<std::int32_t> bigbird_table(std::int64_t context, std::int64_t size, bool causal) {
    const std::int64_t blocks = blocks_of(context, size);
    std::vector<std::int32_t> table = bigbird_block_mask(blocks, {.causal = true});
    for (std::int64_t i = 0; i < blocks && !causal; ++i)
        for (std::int64_t j = 0; j < i; ++j) at(table, j * blocks + i) = at(table, i * blocks + j);
    return table;
}

}  // namespace internal

AttentionVariant attention_variant_named(const std::string& name) {
    using namespace internal;
    const std::size_t colon = std::min(name.find(':'), name.size());
    const auto* found = std::ranges::find(forms, name.substr(0, colon), &NamedForm::name);
    if (found == forms.end()) throw usage_error("attention kind {}: expected {}", in_quotes(name), known_names());
    AttentionVariant variant{.form = found->form, .number = found->default_number};
    if (found->most == 0) {
        if (colon < name.size()) throw usage_error("attention kind {}: {} has no number", in_quotes(name), found->name);
        return variant;
    }
    const char *begin = name.data() + colon + 1, *end = name.data() + name.size();
    bool valid = found->default_number > 0;
    if (colon < name.size()) {
        const auto [rest, error] = std::from_chars(begin, end, variant.number);
        valid = error == std::errc() && rest == end && variant.number >= found->least && variant.number <= found->most;
    }
    if (!valid)
        throw usage_error("attention kind {}: expected {}:N with a number from {} to {}", in_quotes(name), found->name,
                          found->least, found->most);
    return variant;
}

std::string name_of(const AttentionVariant& variant) {
    const auto* found = std::ranges::find(internal::forms, variant.form, &internal::NamedForm::form);
    return std::string(found->name) + (found->most > 0 ? ":" + std::to_string(variant.number) : "");
}

}  // namespace vantage
