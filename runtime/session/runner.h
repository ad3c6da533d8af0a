// What sessions and batches are made of: a model's plans, and states on the device for some sequences that run together.
// Each sequence has a step of its own (shaders/params/step.h), a row of every state, and as many rows of every run as the
// others; where it has nothing to run they are padding. A session is the case of one sequence.
#pragma once

#include <map>

#include "runtime/exec/bindings.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/models/model_builder.h"
#include "vantage/session.h"

namespace vantage {

/// A sequence as the caller knows it, and what was kept of its rows.
struct Sequence {
    Sampling sampling;
    std::vector<std::int32_t> tokens, types;
    std::int64_t processed = 0;   ///< tokens whose keys are in the cache
    std::uint64_t forgotten = 0;  ///< Session::forgotten
    bool ended = false;
    std::vector<float> logits, pooled, relation, last_hidden;
    std::vector<std::vector<float>> hidden, router;
    std::vector<std::int32_t> source;  ///< what the encoder of an encoder–decoder reads
    bool source_waits = false;         ///< … when it runs next
    std::vector<std::vector<float>> source_hidden;

    std::int64_t size() const { return std::ssize(tokens); }
    /// An encoder's last hidden state, behind its final norm where it has one.
    const std::vector<float>& end_of_stream() const { return last_hidden.empty() ? hidden.back() : last_hidden; }
};

/// Parts by layer, one behind the other.
inline std::vector<float> joined(const std::vector<std::vector<float>>& parts) {
    std::vector<float> all;
    for (const std::vector<float>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

struct Runner {
    /// One of the model's graphs with its plans: the only one, or an encoder–decoder's encoder beside the decoder.
    struct GraphPlans {
        bool encoder = false;
        Graph graph = Graph();                                // of one row: what the states are, and how layers attend
        std::map<std::int64_t, std::unique_ptr<Plan>> plans;  // by rows
        gpu::Buffer step, tokens;
    };

    Model model;
    SessionOptions options;
    gpu::DeviceState& device;
    std::vector<Sequence> sequences;
    std::int64_t context = 0;  // of each sequence
    GraphPlans own, source{.encoder = true};
    std::shared_ptr<Bindings> bindings = std::make_shared<Bindings>();
    std::vector<std::uint64_t> in_flight;  // the first is the oldest
    bool step_current = false;             // the device's steps continue where all `tokens` end
    SessionStats stats;
    std::vector<float> pixels;  // of the image that is looked at
    std::vector<DispatchTiming> timings;

    Runner(const Model& model, const SessionOptions& options, std::int64_t count);
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    bool is_vision() const { return model.config().is_vision(); }
    bool is_encoder() const { return model.config().kind == ModelKind::encoder; }
    bool is_encoder_decoder() const { return model.config().kind == ModelKind::encoder_decoder; }
    std::int64_t max_layers() const { return std::max(model.config().layers, model.config().encoder.layers); }
    /// Whether the sequence has something to continue, and may be continued.
    bool can_continue(const Sequence& s) const { return !s.tokens.empty() && !s.ended && s.size() < context; }

    /// Forgets a sequence and sets how its tokens are drawn.
    void restart(std::size_t index, const Sampling& sampling);
    void append(std::size_t index, std::span<const std::int32_t> ids, std::span<const std::int32_t> types);
    /// Forgets a sequence's tokens from position `count` on.
    void rewind(std::size_t index, std::int64_t count);
    /// Takes the text that an encoder–decoder is to read; run_sources reads it.
    void set_source(std::size_t index, std::span<const std::int32_t> ids);
    void run_sources();
    /// Runs what waits.
    void run();
    /// Draws the next token of every sequence that lives; valid until the next call.
    const std::vector<std::optional<std::int32_t>>& next();
    /// The sequence draws no more; what runs already may, and is not read.
    void end(std::size_t index);

    BuildOptions build_options(std::int64_t rows, bool encoder = false) const;
    Plan& plan(GraphPlans& side, std::int64_t rows);
    std::int64_t encoder_plan_rows(std::int64_t waiting) const;
    std::int64_t chunk_for(std::int64_t waiting) const;
    void settle() const;
    void finish_flight();
    void mark_seen(std::size_t index);
    void forget_results(Sequence& s) const;
    void check_masked_head(const HeadId& place) const;
    void set_head_mask();
    const Graph& graph_of(AttentionKind kind) const {
        return kind == AttentionKind::encoder ? source.graph : own.graph;
    }
    void check_ids(std::span<const std::int32_t> ids) const;
    void check_room(std::size_t there, std::size_t more) const;
    void require_source() const;
    Session::Memory memory() const;

private:
    DType cache_type() const { return options.precision == Precision::f32 ? DType::f32 : DType::f16; }
    void check_options() const;
    std::uint64_t bytes_per_token() const;
    std::int64_t chosen_context() const;
    void make_states();
    double filled(std::int64_t more) const;
    std::uint64_t seen_bytes() const { return static_cast<std::uint64_t>((model.config().vocab + 31) / 32) * 4; }
    std::int64_t waiting(const Sequence& s, bool draw) const;
    std::uint32_t* step_of(std::size_t index) const;
    void write_step(std::size_t index, bool draw, bool hold_back);
    void sync_device(bool draw, bool hold_back);
    void make_plans(std::int64_t left, bool draw);
    void run_prompt(bool draw);
    void run_chunk(std::int64_t size, bool draw, bool hold_back, bool with_head);
    void note_timings(const Plan& plan);
    void collect(const Plan& plan, std::size_t index, std::int64_t first, std::int64_t rows);
    void begin_draws();
    void draw_all();
    void submit_draw();
    std::optional<std::int32_t> read_draw(std::size_t index);

    std::vector<std::optional<std::int32_t>> drawn_;  // a member, so that drawing allocates nothing
};

}  // namespace vantage
