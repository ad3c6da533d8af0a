#include "runtime/session/device_states.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/exec/plan_memory.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/transfer.h"
#include "runtime/models/architecture.h"
#include "runtime/session/model_access.h"

namespace vantage::internal {

DeviceStates::DeviceStates(const Model& model, std::span<const Graph> graphs, std::int64_t context, bool guard)
    : model_(model), device_(model.device().state()), context_(context) {
    *bindings_ = *weights_of(model);
    for (const Graph& graph : graphs)
        for (const Value& value : graph.values()) {
            if (value.kind != ValueKind::state && value.kind != ValueKind::constant) continue;
            if (!has(value.name)) bindings_->buffers[value.name] = allocate_value(device_, value, guard);
        }
    step_ = buffer(model_names::step);
    tokens_ = buffer(model_names::tokens);
    if (has(model_names::source_step)) source_step_ = buffer(model_names::source_step);
    held_ends_.resize(step_.bytes() / (STEP_WORDS * 4));
}

DeviceStates::~DeviceStates() { gpu::wait_idle(device_); }

SessionMemory DeviceStates::memory() const {
    SessionMemory m;
    for (const auto& [name, buffer] : bindings_->buffers) {
        if (weights_of(model_)->buffers.count(name) != 0) continue;
        (name.starts_with("cache.") ? m.cache : name.starts_with("watch.") ? m.recorded : m.states) += buffer.bytes();
    }
    return m;
}

std::uint32_t* DeviceStates::step(StepOf of, std::size_t slot) const {
    const gpu::Buffer& steps = of == StepOf::own ? step_ : source_step_;
    return reinterpret_cast<std::uint32_t*>(steps.mapped()) + slot * STEP_WORDS;
}

// The numbers of a slot in a state i32 [slots, context]; null where the model has no such state.
std::byte* DeviceStates::integers(const char* name, std::size_t slot) const {
    const auto found = bindings_->buffers.find(name);
    if (found == bindings_->buffers.end()) return nullptr;
    return found->second.mapped() + slot * static_cast<std::size_t>(context_) * sizeof(std::int32_t);
}

void DeviceStates::map_lanes(StepOf of, std::span<const std::size_t> slots) {
    for (std::size_t lane = 0; lane < slots.size(); ++lane)
        step(of, lane)[STEP_SHIFT] = static_cast<std::uint32_t>(slots[lane] - lane);
}

namespace {

void put_words(std::uint32_t* words, const void* step) {
    const std::uint32_t shift = words[STEP_SHIFT];  // the lane's, not the slot's
    std::memcpy(words, step, STEP_WORDS * 4);
    words[STEP_SHIFT] = shift;
}

void put_step(std::uint32_t* words, const Step& step) { put_words(words, step.words().data()); }

void copy_integers(std::byte* to, std::span<const std::int32_t> numbers) {
    if (to != nullptr && !numbers.empty()) std::memcpy(to, numbers.data(), numbers.size_bytes());
}

}  // namespace

void DeviceStates::write_step(std::size_t slot, const SequenceState& s, std::int64_t left, bool done) {
    Step next{.position = s.processed,
              .end = s.processed + left,
              .limit = context_,
              .done = done,
              .seed = s.sampling.seed,
              .sampling = {s.sampling.temperature, s.sampling.top_k, s.sampling.top_p, s.sampling.min_p},
              .repeat_penalty = s.sampling.repeat_penalty};
    const std::vector<std::int64_t>& ends = config_of(model_).end_tokens;
    if (!s.sampling.ignore_end) next.end_tokens.assign(ends.begin(), ends.end());
    next.biased = s.sampling.uses_bias();
    put_step(step(StepOf::own, slot), next);
}

void DeviceStates::write_tokens(std::size_t slot, const SequenceState& s) {
    copy_integers(integers(model_names::tokens, slot), s.tokens);
    copy_integers(integers(model_names::types, slot), s.types);
    if (std::byte* positions = integers(model_names::positions, slot); positions != nullptr)
        copy_integers(positions, token_positions(config_of(model_), s.tokens));
}

void DeviceStates::write_source(std::size_t slot, const SequenceState& s) {
    const bool image = config_of(model_).sees();
    put_step(step(StepOf::source, slot),
             {.end = std::ssize(s.source), .limit = image ? std::ssize(s.source) : context_});
    reinterpret_cast<std::int32_t*>(buffer(model_names::source_length).mapped())[slot] =
        static_cast<std::int32_t>(s.source.size());
    if (!image) copy_integers(integers(model_names::source_tokens, slot), s.source);
}

void DeviceStates::skip_source(std::size_t slot) { put_step(step(StepOf::source, slot), {.limit = context_}); }

DeviceStates::SavedStep DeviceStates::read_step(std::size_t slot) const {
    SavedStep saved;
    std::copy_n(step(StepOf::own, slot), STEP_WORDS, saved.begin());
    return saved;
}

void DeviceStates::restore_step(std::size_t slot, const SavedStep& saved) {
    put_words(step(StepOf::own, slot), saved.data());
}

void DeviceStates::hold(std::size_t slot) {
    std::uint32_t* words = step(StepOf::own, slot);
    held_ends_[slot] = std::exchange(words[STEP_END], words[STEP_POSITION] + words[STEP_VALID]);
}

void DeviceStates::release(std::size_t slot) { step(StepOf::own, slot)[STEP_END] = held_ends_[slot]; }

void DeviceStates::write_pixels(std::span<const float> pixels) {
    std::memcpy(buffer(model_names::pixels).mapped(), pixels.data(), pixels.size_bytes());
}

std::uint64_t DeviceStates::seen_bytes() const {
    return static_cast<std::uint64_t>((config_of(model_).vocab + 31) / 32) * 4;
}

void DeviceStates::write_seen(std::size_t slot, const SequenceState& s) {
    if (!has(model_names::seen)) return;
    std::vector<std::uint32_t> words(seen_bytes() / 4);
    for (const std::int32_t token : std::span(s.tokens).first(static_cast<std::size_t>(s.processed)))
        at(words, token / 32) |= 1u << (token % 32);
    gpu::upload(device_, buffer(model_names::seen), slot * seen_bytes(), std::as_bytes(std::span(words)));
}

namespace {

constexpr float never = -std::numeric_limits<float>::infinity();  // a bias

// What the grammar does not allow is never drawn; an end token only where the text is whole.
void apply_mask(const SequenceState& s, std::span<const std::int64_t> model_ends, std::span<float> row) {
    const std::vector<bool>& allowed = s.mask->allowed();
    std::vector<std::pair<std::int64_t, float>> ends;
    const auto add = [&](std::int64_t token) {
        if (token >= 0 && token < std::ssize(row)) ends.emplace_back(token, at(row, token));
    };
    if (s.mask->may_end()) {
        if (!s.sampling.ignore_end) std::ranges::for_each(model_ends, add);
        std::ranges::for_each(s.sampling.grammar_ends, add);
    }
    for (std::size_t token = 0; token < row.size(); ++token)
        if (!allowed[token]) row[token] = never;
    for (const auto& [token, bias] : ends) at(row, token) = bias;
}

}  // namespace

bool DeviceStates::write_bias(std::size_t slot, const SequenceState& s) {
    if (!has(model_names::token_bias) || !s.sampling.uses_bias()) return true;
    const auto vocab = static_cast<std::size_t>(config_of(model_).vocab);
    std::vector<float> row(vocab);  // mapped memory may be slow to read
    for (const auto& [token, bias] : s.sampling.logit_bias) at(row, token) += bias;
    std::vector<bool> drawn(vocab);
    for (const std::int32_t token : s.drawn()) {
        at(row, token) -= static_cast<float>(s.sampling.frequency_penalty);
        if (!drawn[static_cast<std::size_t>(token)]) at(row, token) -= static_cast<float>(s.sampling.presence_penalty);
        drawn[static_cast<std::size_t>(token)] = true;
    }
    if (s.mask) apply_mask(s, config_of(model_).end_tokens, row);
    std::memcpy(buffer(model_names::token_bias).mapped() + slot * vocab * sizeof(float), row.data(),
                vocab * sizeof(float));
    return std::ranges::any_of(row, [](float bias) { return bias > never; });
}

void DeviceStates::write_head_mask(std::span<const Graph> graphs, std::span<const HeadId> masked) {
    for (const AttentionKind kind : {AttentionKind::self, AttentionKind::encoder, AttentionKind::cross})
        for (const std::int64_t layer : model_.info().layers_of(kind)) {
            const std::string name = model_names::head_mask(layer, kind);
            const Graph& graph = graphs[kind == AttentionKind::encoder ? 1 : 0];
            const Value& value = *std::ranges::find(graph.values(), name, &Value::name);
            const std::int64_t features = value.type.shape[0], width = features / model_.info().heads_of(kind);
            auto* numbers = reinterpret_cast<float*>(buffer(name).mapped());
            std::fill_n(numbers, features, 1.0f);
            for (const HeadId& head : masked)
                if (head.layer == layer && head.kind == kind) std::fill_n(numbers + head.head * width, width, 0.0f);
        }
}

std::int64_t DeviceStates::head_features(const Graph& graph, const HeadId& head) const {
    const std::string name = model_names::head_shift(head.layer, head.kind);
    const Value& value = *std::ranges::find(graph.values(), name, &Value::name);
    return value.type.shape[1] / model_.info().heads_of(head.kind);
}

void DeviceStates::write_head_shift(const Graph& graph, const HeadShift& shift) {
    const auto zeros = [&](const std::string& name) -> std::byte* {
        const gpu::Buffer& all = buffer(name);
        const Value& value = *std::ranges::find(graph.values(), name, &Value::name);
        auto* bytes = static_cast<std::byte*>(all.mapped());
        std::fill_n(bytes, value.type.bytes(), std::byte());
        return bytes;
    };
    for (const AttentionKind kind : {AttentionKind::self, AttentionKind::cross})
        for (const std::int64_t layer : model_.info().layers_of(kind)) {
            auto* table = reinterpret_cast<float*>(zeros(model_names::head_shift(layer, kind)));
            if (shift.head.layer != layer || shift.head.kind != kind || shift.values.empty()) continue;
            const std::int64_t width = head_features(graph, shift.head);
            std::ranges::copy(shift.values, table + (model_.info().heads_of(kind) + shift.head.head) * width);
        }
    auto* rows = reinterpret_cast<std::int32_t*>(zeros(model_names::shifted_rows));
    const Value& value = *std::ranges::find(graph.values(), model_names::shifted_rows, &Value::name);
    for (std::int64_t sequence = 0; sequence < value.type.shape[0]; ++sequence)
        rows[sequence * context_ + shift.position] = 1;
}

std::uint32_t DeviceStates::known_tokens(std::size_t slot) const {
    return static_cast<const volatile std::uint32_t*>(step(StepOf::own, slot))[STEP_END];
}

std::int32_t DeviceStates::token(std::size_t slot, std::size_t position) const {
    const auto* tokens = reinterpret_cast<const volatile std::int32_t*>(tokens_.mapped());
    return tokens[slot * static_cast<std::size_t>(context_) + position];
}

std::int64_t DeviceStates::reached(std::size_t slot) const {
    const std::uint32_t* words = step(StepOf::own, slot);
    return std::int64_t{words[STEP_POSITION]} + words[STEP_VALID];
}

bool DeviceStates::no_answer(std::size_t slot) const {
    return static_cast<const volatile std::uint32_t*>(step(StepOf::own, slot))[STEP_DONE] == STEP_NO_ANSWER;
}

// The limit is the host's to write, so that nothing has to stop for it.
void DeviceStates::end(std::size_t slot) {
    static_cast<volatile std::uint32_t*>(step(StepOf::own, slot))[STEP_LIMIT] = 0;
}

}  // namespace vantage::internal
