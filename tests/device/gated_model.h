// A model that makes a step when a test allows it. Tests of what happens while a model works then do not depend on the
// speed of either.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "viewer/data/live_model.h"

namespace vantage::test {

/// Steps that a test has allowed.
class Gate {
public:
    /// Waits until a step is allowed. After five minutes without one it stays open, so that a test whose thread waits
    /// for the model fails instead of hanging.
    void pass() {
        std::unique_lock lock(mutex_);
        holds_ = true;
        if (!changed_.wait_for(lock, std::chrono::minutes(5), [&] { return open_ || allowed_ > 0; }))
            open_ = forced_ = true;
        holds_ = false;
        if (!open_) --allowed_;
        ++passed_;
    }
    void allow(int steps = 1) {
        const std::lock_guard lock(mutex_);
        allowed_ += steps;
        changed_.notify_all();
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    /// Whether the model waits here, and goes on only by a call of `allow` or `open`.
    bool holds() const {
        const std::lock_guard lock(mutex_);
        return holds_ && !open_ && allowed_ == 0;
    }
    int passed() const {
        const std::lock_guard lock(mutex_);
        return passed_;
    }
    /// Whether the model had to go on without being allowed.
    bool forced() const {
        const std::lock_guard lock(mutex_);
        return forced_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    int allowed_ = 0, passed_ = 0;
    bool holds_ = false, open_ = false, forced_ = false;
};

/// `with_session` has no answer while the gate holds the model.
struct GatedModel {
    Gate gate;
    view::LiveModel live;

    explicit GatedModel(const Model& model, view::LiveOptions options = {}) : live(model, gated(std::move(options))) {}
    ~GatedModel() { gate.open(); }
    GatedModel(const GatedModel&) = delete;
    GatedModel& operator=(const GatedModel&) = delete;

    /// Allows one step for each version: the model is at most one step ahead of who looks at it.
    void looked_at(const view::Version& version) {
        if (std::exchange(seen_, version.number) != version.number) gate.allow();
    }

private:
    view::LiveOptions gated(view::LiveOptions options) {
        options.before_step = [this, before = std::move(options.before_step)] {
            gate.pass();
            if (before) before();
        };
        return options;
    }
    std::uint64_t seen_ = 0;
};

}  // namespace vantage::test
