// A model that runs in a thread of its own, and what others may see of it meanwhile.
//
// Or a session that its program runs, which says when there is something new (`publish`).
//
// After each token, and each chunk of a prompt, it publishes a version: so many rows of queries, keys and log-sum-exps are now in
// their place on the device. They are not written again in that run, so whoever reads rows below version.rows reads them where
// they are. The model never waits for who looks, and nobody who looks waits for the model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/session/tap.h"
#include "vantage/session.h"

namespace vantage::view {

enum class Activity : std::uint8_t { idle, reading, writing, paused, ended, failed };
const char* name_of(Activity activity);

struct Version {
    std::uint64_t number = 0;        ///< counts up with everything that is published
    std::uint64_t run = 0;           ///< of a text; another run has other rows
    std::int64_t rows = 0;           ///< queries whose rows are there (of an encoder–decoder: of its decoder)
    std::int64_t source_rows = 0;    ///< tokens that an encoder–decoder's encoder has read
    std::int64_t tokens = 0;         ///< known so far: at least `rows`, the last one has not run yet
    std::int64_t prompt_tokens = 0;  ///< that the run began with; of an encoder–decoder those of its decoder
    bool as_asked =
        true;  ///< it was neither stopped nor told to go on: what it has at its end is what its start asked for
    bool past_end = false;  ///< it went on behind an end token
    Activity activity = Activity::idle;
    double tokens_per_second = 0;  ///< while writing
    std::int64_t rows_of(AttentionKind kind) const { return kind == AttentionKind::encoder ? source_rows : rows; }
    std::int64_t keys_of(AttentionKind kind) const { return kind == AttentionKind::self ? rows : source_rows; }
    /// Of its rows those that it did not write itself.
    std::int64_t given_of(AttentionKind kind) const {
        return kind == AttentionKind::encoder ? source_rows : prompt_tokens;
    }
};

/// The tokens of a run, of which later versions only add.
struct LiveTokens {
    std::uint64_t run = 0;
    std::vector<std::int32_t> ids;
    std::vector<std::string> texts;        ///< as pieces of text, whole characters where they end one
    std::vector<std::int32_t> source_ids;  ///< what an encoder–decoder's encoder has read
    std::vector<std::string> source_texts;
    std::shared_ptr<const Image>
        seen;  ///< what a model looks at; its tokens are the class's and those of the patches, row by row
};

struct LiveError {
    ErrorKind kind = ErrorKind::failure;
    std::string message;
};

struct LiveOptions {
    /// Tokens; 0: the context that a session of the model takes by default, at most `max_default_context`.
    std::int64_t context = 0;
    std::int64_t max_default_context = 32768;
    Precision precision = Precision::f16;
    std::int64_t largest_chunk = 128;  ///< tokens of a prompt between two versions
    /// Longest submission while others share the queue (4 ms: four a frame).
    double submission_seconds = 0.004;
    /// Called from the model's thread after each version, and after what `with_session` asked for: wakes a window. May be empty.
    std::function<void()> on_version = {};
    /// Called from the model's thread before each token and chunk: tests make a slow model of it. May be empty.
    std::function<void()> before_step = {};
};

/// What a run begins with: a text, or ids, or pixels as the model's preprocessor leaves them.
struct LivePrompt {
    std::string text;
    std::vector<std::int32_t> ids;
    std::vector<float> pixels;
    Image seen = {};  ///< the same as a picture; empty: it is made of the pixels
};

class LiveModel {
public:
    /// Allocates the session, with all layers watched. Throws as Session.
    explicit LiveModel(const Model& model, LiveOptions options = {});
    /// Follows a session that its program runs, in a thread of the program's: what has run is published by `publish`, and commands
    /// are not heard. The session lives longer. Throws usage unless it watches all its layers.
    explicit LiveModel(Session& session, std::function<void()> on_version = {});
    /// Ends the thread, within a token.
    ~LiveModel();
    /// Whether commands are heard.
    bool commanded() const;
    /// Of a session that is followed, between two of its calls, and in their thread.
    void publish();

    // ---- commands, from any thread; they return at once, and are heard before the next token or chunk
    /// Forgets everything and runs this prompt, then writes at most `max_tokens`.
    void start(LivePrompt prompt, const Sampling& sampling, std::int64_t max_tokens);
    void stop();
    void pause();
    void resume();
    /// Writes one more token and pauses; after the end of a run, too, as long as there is room.
    void step();
    /// Writes so many more tokens.
    void go_on(std::int64_t tokens);
    /// Reads these tokens behind all others, as if the text had gone on so.
    void read_on(std::vector<std::int32_t> ids);
    /// Runs `work` in the model's thread between two tokens, with the session at rest; where it is followed with `publish`.
    void with_session(std::function<void(Session&)> work);

    // ---- what there is now; never waits for the device
    Version version() const;
    /// Brings `mine` up to date: adds what is new, or begins anew with another run.
    void read_tokens(LiveTokens& mine) const;
    /// What went wrong, until the next start.
    std::optional<LiveError> error() const;
    SessionStats stats() const;

    const Model& model() const;
    std::int64_t context() const;
    Precision precision() const;
    /// Where the rows of a layer are on the device; the same for ever. Rows below version().rows may be read.
    const TapSource& source(std::int64_t layer, AttentionKind kind = AttentionKind::self) const;
    /// Heads of all kinds of attention, in order: the encoder's, the model's own, cross attention.
    const std::vector<HeadId>& heads() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::view
