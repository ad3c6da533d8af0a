// What sessions and batches share: a model, its sequences with their memory on the device, and their runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/session/run_scheduler.h"

namespace vantage::internal {

/// What the host knows of a core: enough to make it again on another device.
struct SessionRecord {
    bool alone;
    SessionOptions options;
    std::vector<SequenceState> sequences;
    std::vector<float> pixels;
    SessionStats stats;
};

class SessionCore : NotCopied {
public:
    /// `is_session`: of a Session, whose only sequence has the statistics for itself.
    SessionCore(const Model& model, const SessionOptions& options, std::int64_t sequences, bool is_session);
    /// The same again: what had run waits, to run as it did before.
    SessionCore(const Model& model, const SessionRecord& record);
    ~SessionCore();

    SessionRecord record() const;

    const bool alone;  ///< a Session, not a Batch of one
    const Model model;
    SessionOptions options;
    const ModelConfig& config;
    const std::int64_t context;  ///< of each sequence
    std::vector<SequenceState> sequences;
    const std::vector<Graph> graphs;  ///< of one row for all sequences; of an encoder–decoder the encoder's, too
    DeviceStates states;
    PlanCache plans;
    RunScheduler runs;
    /// The same tokens in a session that records the layer whose attention was asked for last.
    std::unique_ptr<Session> replay;

    bool is_encoder() const { return config.kind == ModelKind::encoder; }
    bool is_encoder_decoder() const { return config.kind == ModelKind::encoder_decoder; }
    const Graph& graph_of(AttentionKind kind) const { return graphs[kind == AttentionKind::encoder ? 1 : 0]; }

    void restart(std::size_t index, const Sampling& sampling);
    void set_sampling(std::size_t index, const Sampling& sampling);
    void append(std::size_t index, std::span<const std::int32_t> ids, std::span<const std::int32_t> types);
    void rewind(std::size_t index, std::int64_t count);
    void set_source(std::size_t index, std::span<const std::int32_t> ids);
    /// Of an encoder–decoder the source, which waits; of an encoder its tokens.
    void set_image(std::span<const float> pixels);
    void mask_heads(std::span<const HeadId> heads);
    void shift_head(const HeadShift& shift);
    void run();
    void run(std::size_t index);
    const std::vector<std::optional<std::int32_t>>& next();
    std::vector<float> next_logits(std::size_t index);
    SessionMemory memory() const;
    /// What had run before a recovery runs again.
    void run_lost();

private:
    void begin_answer_to(std::size_t index, std::vector<std::int32_t> source);
    std::int64_t checked_context(std::int64_t count) const;
    std::vector<Graph> all_graphs(std::int64_t count, std::int64_t tokens) const;
    std::uint64_t bytes_per_token(std::int64_t count) const;
    void check_options() const;
    void check_global_tokens() const;
    void check_global_positions() const;
    /// Throws usage for a sequence that ends before a global token.
    void require_global_tokens() const;
    /// Throws usage unless all of them are there, and writes the mask of SessionOptions::masked_heads.
    void write_head_mask();
    /// Throws usage unless it is there, and writes SessionOptions::head_shift.
    void write_head_shift();
    /// Writes which keys each query sees, of sessions whose global tokens are not the first ones.
    void write_visible_keys();
    /// The same by blocks, of sessions whose variant is BigBird's.
    void write_visible_blocks();
    void check_variant() const;
    /// `what`: "masked".
    void check_head(const HeadId& head, const char* what) const;
    void check_head_shift(const HeadShift& shift) const;
    void check_bias(const Sampling& sampling) const;
    /// Throws usage where the model's vocabulary has no token that begins a text of the grammar.
    std::shared_ptr<text::grammar::TokenMask> mask_of(const Sampling& sampling);
    void check_ids(std::span<const std::int32_t> ids) const;
    void check_room(std::size_t there, std::size_t more) const;
    void require_decoder() const;
    void require_source() const;

    std::shared_ptr<const text::grammar::VocabularyTree> vocabulary_;  // once a grammar needs it
};

/// The core of a session or a batch; only its record where the core could not be made again after a loss.
class SessionOwner : NotCopied {
public:
    explicit SessionOwner(std::unique_ptr<SessionCore> core) : core_(std::move(core)) {}
    /// Throws device_lost where there is only the record.
    SessionCore& core() const;
    /// Frees the core's memory, calls `reload` for the model on a device that works, and makes the core again.
    void recover(const std::function<Model()>& reload);

private:
    friend class SessionUse;
    std::unique_ptr<SessionCore> core_;
    std::optional<SessionRecord> record_;
    std::atomic<std::thread::id> user_ = {};  // the thread whose call runs
};

/// What never changes of a core may be read without a SessionUse. Throws usage for the empty pointer of an object that
/// was moved from.
const SessionCore& required(const std::shared_ptr<SessionOwner>& owner);

/// A call into a core: throws usage when another thread's call runs. Calls within calls of one thread are fine.
class SessionUse : NotCopied {
public:
    /// Throws device_lost where there is no core, unless `recovers`.
    explicit SessionUse(std::shared_ptr<SessionOwner> owner, bool recovers = false);
    ~SessionUse() { end(); }
    SessionCore* operator->() const { return owner_->core_.get(); }
    SessionCore& operator*() const { return *owner_->core_; }
    SessionOwner& owner() const { return *owner_; }

private:
    void end() {
        if (outermost_) owner_->user_.store({}, std::memory_order_release);
    }

    std::shared_ptr<SessionOwner> owner_;
    bool outermost_ = false;
};

}  // namespace vantage::internal
