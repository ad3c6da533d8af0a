// What a session is made of; its member functions are in session*.cpp.
#pragma once

#include <algorithm>
#include <deque>
#include <map>

#include "runtime/exec/bindings.h"
#include "runtime/exec/tap.h"
#include "runtime/gpu/device.h"
#include "runtime/models/model_builder.h"
#include "vantage/session.h"

namespace vantage {

struct Session::State {
    /// One of the model's graphs with its plans: the only one, or an encoder–decoder's encoder beside the decoder.
    struct Side {
        bool encoder = false;
        Graph graph = Graph();                                // of one row: what the states are, and how layers attend
        std::map<std::int64_t, std::unique_ptr<Plan>> plans;  // by rows
        gpu::Buffer step, tokens;
    };

    Model model;
    SessionOptions options;
    gpu::DeviceState& device;
    std::int64_t context = 0;
    Side own, source{.encoder = true};
    Sampling sampling;
    std::shared_ptr<Bindings> bindings = std::make_shared<Bindings>();
    Tap tap;

    std::vector<std::int32_t> tokens, types;  // the sequence as the caller knows it
    std::int64_t processed = 0;               // tokens whose keys are in the cache
    std::deque<std::uint64_t> in_flight;
    bool step_current = false;  // the device's step continues where `tokens` ends
    bool ended = false;
    SessionStats stats;
    std::vector<float> pixels;  // of the image that is looked at
    std::vector<float> logits, pooled, relation, last_hidden;
    std::vector<std::vector<float>> hidden, router;
    std::vector<std::int32_t> source_tokens;  // what the encoder of an encoder–decoder has read
    std::vector<std::vector<float>> source_hidden;
    std::vector<DispatchTiming> timings;
    std::unique_ptr<Session> replay;  // the same tokens, with the layer watched that was asked for last

    State(const Model& m, const SessionOptions& o)
        : model(m), options(o), device(m.device().state()), tap(m.device().state()) {
        for (std::int64_t layer : options.watch.layers)
            if (layer < 0 || layer >= most_layers())
                throw Error(ErrorKind::usage, format("layer %lld cannot be watched: %s has layers 0 … %lld",
                                                     static_cast<long long>(layer), model.info().name.c_str(),
                                                     static_cast<long long>(most_layers() - 1)));
        check_global_tokens();
        context = chosen_context();
        own.graph = model.graph(build_options(1));
        if (translates()) source.graph = model.graph(build_options(1, true));
        hidden.resize(static_cast<std::size_t>(model.config().layers + 1));
        source_hidden.resize(translates() ? static_cast<std::size_t>(model.config().encoder.layers + 1) : 0);
        router.resize(model.config().experts > 0 ? hidden.size() - 1 : 0);
        make_states();
        set_head_mask();
    }
    ~State() { gpu::wait_idle(device); }

    bool sees() const { return model.config().sees(); }
    bool encodes() const { return model.config().kind == ModelKind::encoder; }
    bool translates() const { return model.config().kind == ModelKind::encoder_decoder; }
    std::int64_t most_layers() const { return std::max(model.config().layers, model.config().encoder.layers); }
    DType cache_type() const { return options.precision == Precision::f32 ? DType::f32 : DType::f16; }
    std::vector<bool> watched() const {
        std::vector<bool> by_layer;
        for (std::int64_t layer = 0; layer < most_layers(); ++layer) by_layer.push_back(options.watch.includes(layer));
        return by_layer;
    }
    BuildOptions build_options(std::int64_t rows, bool encoder = false) const {
        return {.rows = rows,
                .context = context,
                .encoder = encoder,
                .cache = cache_type(),
                .watch = watched(),
                .all_logits = options.inspect,
                .hidden = options.inspect,
                .head_mask = options.silenced.has_value(),
                .rope_context = options.rope_context,
                .global_tokens = options.global_tokens};
    }

    std::uint64_t bytes_per_token() const;
    std::int64_t chosen_context() const;
    void make_states();
    void set_head_mask();
    Plan& plan(Side& side, std::int64_t rows);
    std::int64_t one_piece(std::int64_t waiting) const;
    std::int64_t chunk_for(std::int64_t waiting) const;
    double filled(std::int64_t count) const { return static_cast<double>(count) / static_cast<double>(context); }
    void finish_flight();
    void settle() const;
    void mark_seen();
    void sync_device();
    void forget_results();
    void make_plans(std::int64_t left, bool draw);
    void run_prompt(bool draw);
    void run_chunk(std::int64_t size, std::int64_t rows, bool draw);
    void collect(Plan& plan, std::int64_t rows);
    void submit_draw();
    std::optional<std::int32_t> read_draw();
    void check_global_tokens() const;
    void check_ids(std::span<const std::int32_t> ids) const;
    void check_room(std::size_t there, std::size_t more) const;
    void require_source() const;
    void run_source(std::span<const std::int32_t> ids);
    const Graph& graph_of(AttentionOf of) const { return of == AttentionOf::encoder ? source.graph : own.graph; }
    /// Tokens that attend this way, and that are attended to.
    std::int64_t queries_of(AttentionOf of) const {
        return of == AttentionOf::encoder ? std::ssize(source_tokens) : processed;
    }
    std::int64_t keys_of(AttentionOf of) const {
        return of == AttentionOf::self ? processed : std::ssize(source_tokens);
    }
    TapSource tap_source(std::int64_t layer, AttentionOf of, const std::string& keys);
    std::int64_t global_rows(std::int64_t layer) const;
    std::vector<std::int32_t> marked_tokens(TapSource& tapped, std::span<const std::int32_t> marks,
                                            AttentionOf of) const;
    std::vector<float> output_projection(std::int64_t layer, std::int64_t width, AttentionOf of) const;
    Session& replay_watching(std::int64_t layer);
    void check_head(std::int64_t layer, std::int64_t head, AttentionOf of) const;
    void check_positions(std::int64_t first, std::int64_t count, std::int64_t there, const char* what) const;
    void check_silenced(const HeadPlace& place) const;
};

}  // namespace vantage
