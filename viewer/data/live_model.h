// A model that runs in its own thread and publishes its progress, or a session that a program runs (`publish`).
//
// A version is published after each token and each chunk of a prompt: the number of rows of queries, keys and
// log-sum-exps that are complete on the device. A run does not write them again, so viewers read the rows below
// version.rows in place. Neither the model nor a viewer waits for the other.
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

/// `learning`: the model is being trained.
enum class Activity : std::uint8_t { idle, reading, writing, paused, ended, failed, learning };

struct Version {
    std::uint64_t number = 0;        ///< increases with every version
    std::uint64_t run = 0;           ///< number of the text; each run has its own rows
    std::int64_t rows = 0;           ///< complete rows of queries (encoder–decoder: of the decoder)
    std::int64_t source_rows = 0;    ///< tokens that the encoder of an encoder–decoder has read
    std::int64_t tokens = 0;         ///< known so far: at least `rows`; the last one has not run yet
    std::int64_t prompt_tokens = 0;  ///< of an encoder–decoder: of the decoder
    /// No command has changed the run: at its end it has the tokens that `start` asked for.
    bool as_asked = true;
    bool past_end = false;  ///< it continued after an end token
    bool stopping = false;  ///< a command will end the run, as soon as the device returns
    bool stopped = false;   ///< `stop` ended the run
    Activity activity = Activity::idle;
    double tokens_per_second = 0;  ///< while writing
    std::int64_t rows_of(AttentionKind kind) const { return kind == AttentionKind::encoder ? source_rows : rows; }
    std::int64_t keys_of(AttentionKind kind) const { return kind == AttentionKind::self ? rows : source_rows; }
    /// Rows that the model did not generate: of the prompt, or of the source.
    std::int64_t given_of(AttentionKind kind) const {
        return kind == AttentionKind::encoder ? source_rows : prompt_tokens;
    }
};

/// Whether there is something to stop.
bool is_busy(Activity activity);
/// "reading", "finished", "stopping …" or "stopped".
const char* status_of(const Version& version);

/// The tokens of a run. Later versions only add tokens.
struct LiveTokens {
    std::uint64_t run = 0;
    std::vector<std::int32_t> ids;
    std::vector<std::string> texts;        ///< pieces of text; a character belongs to the token that completes it
    std::vector<std::int32_t> source_ids;  ///< read by the encoder of an encoder–decoder
    std::vector<std::string> source_texts;
    /// The image of an image model. Its tokens are [CLS] and then the patches, row by row; of an encoder–decoder these
    /// are the source's.
    std::shared_ptr<const Image> seen;
    bool patches_in_rows(AttentionKind kind) const {
        return seen && (source_ids.empty() || kind == AttentionKind::encoder);
    }
    bool patches_in_keys(AttentionKind kind) const {
        return seen && (source_ids.empty() || kind != AttentionKind::self);
    }
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
    bool stable = false;               ///< SessionOptions::stable
    AttentionVariant variant = {};     ///< SessionOptions::variant
    std::int64_t largest_chunk = 128;  ///< of a prompt, in tokens, between two versions
    /// Longest submission in seconds, so that frames get their turn on the queue (4 ms: four per frame).
    double submission_seconds = 0.004;
    /// Called in the model's thread after each version and after the work of `with_session`, to wake a window. May be
    /// empty.
    std::function<void()> on_version = {};
    /// Called in the model's thread before each token and chunk. Tests use it to slow a model down. May be empty.
    std::function<void()> before_step = {};
};

/// A prompt: text, ids, or preprocessed pixels.
struct LivePrompt {
    std::string text;
    std::vector<std::int32_t> ids;
    std::vector<float> pixels;
    Image seen = {};  ///< the pixels as an image; empty: made from them
};

class LiveModel {
public:
    /// Creates a session that records the attention of all layers. Throws as Session.
    explicit LiveModel(const Model& model, LiveOptions options = {});
    /// Follows a session that a program runs in its own thread. Call `publish` for each version; commands have no
    /// effect. The session lives longer. Throws usage unless it records all its layers.
    explicit LiveModel(Session& session, std::function<void()> on_version = {});
    ~LiveModel();
    /// After error() of kind device_lost: goes on as Session::recover says, with the text and what it was asked for.
    /// Waits for it. Nothing may use what was on the device, such as a `source`. Throws usage for a followed session.
    void recover(const std::function<Model()>& reload);
    /// Whether commands have an effect: false for a followed session.
    bool commanded() const;
    /// For a followed session: call it between two calls of the session, on the same thread.
    void publish();

    // ---- copies of a followed session's rows, which viewers read instead (TrainingSnapshots)
    /// Viewers read what `copy` returns for each layer. Call it after the first `publish` and before there is a viewer.
    void show_copies(const std::function<TapSource(const TapSource&)>& copy);
    bool shows_copies() const;
    /// Publishes new contents of the copies, as another run of the same text. Any thread.
    void publish_copies(Activity activity);
    /// Runs the work of `with_session`. On the session's thread.
    void serve();

    // ---- commands, from any thread; they return at once and take effect before the next token or chunk. `start`,
    // `stop` and the end of this object do not wait for a chunk: they interrupt it between two submissions.
    /// Restarts with this prompt and generates at most `max_tokens`. Throws usage, and changes nothing, for a prompt
    /// that the context does not hold; also as Model::tokenizer.
    void start(LivePrompt prompt, const Sampling& sampling, std::int64_t max_tokens);
    void stop();
    /// Tokens per second at most, from 0.01; 0: no limit. Chunks of a prompt count as one.
    void set_speed(double tokens_per_second);
    void pause();
    void resume();
    /// Generates one more token and pauses; also after the end of a run, while the context has room.
    void step();
    /// Appends these tokens to the text.
    void read_on(std::vector<std::int32_t> ids);
    /// Runs `work` in the model's thread between two tokens; for a followed session in `publish`.
    void with_session(std::function<void(Session&)> work);

    // ---- progress; does not wait for the device
    Version version() const;
    /// Adds new tokens to `mine`, or replaces it if the run is another one.
    void read_tokens(LiveTokens& mine) const;
    /// The error that ended the run; cleared by the next start.
    std::optional<LiveError> error() const;

    const Model& model() const;
    std::int64_t context() const;
    double speed() const;
    Precision precision() const;
    AttentionVariant variant() const;
    /// Where the rows of a layer are on the device. It changes with `recover` only. Rows below version().rows may be
    /// read.
    const TapSource& source(std::int64_t layer, AttentionKind kind = AttentionKind::self) const;
    /// Heads of all kinds, in this order: encoder, self, cross.
    const std::vector<HeadId>& heads() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::view
