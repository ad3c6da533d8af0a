#include "viewer/data/live_model.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/base/at.h"
#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/models/config.h"
#include "runtime/models/image_processor.h"

namespace vantage::view {

bool is_busy(Activity activity) {
    return activity == Activity::reading || activity == Activity::writing || activity == Activity::paused;
}

const char* status_of(const Version& version) {
    constexpr std::array names{"idle", "reading", "writing", "paused", "finished", "failed", "learning"};
    if (version.stopping) return "stopping …";
    return version.stopped && version.activity == Activity::ended ? "stopped" : at(names, version.activity);
}

namespace {

SessionOptions session_options(const Model& model, const LiveOptions& o) {
    require_attention(model.info(), "view");
    return {.context = o.context,
            .max_context = o.max_default_context,
            .precision = o.precision,
            .stable = o.stable,
            .record_attention = RecordAttention::all(),
            .largest_chunk = o.largest_chunk,
            .submission_seconds = o.submission_seconds,
            .variant = o.variant};
}

std::vector<HeadId> heads_of(const ModelInfo& info) {
    std::vector<HeadId> heads;
    for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::self, AttentionKind::cross})
        for (const std::int64_t layer : info.layers_of(kind))
            for (std::int64_t head = 0; head < info.heads_of(kind); ++head) heads.push_back({layer, head, kind});
    return heads;
}

/// Token ids with their texts.
struct Text {
    std::vector<std::int32_t> ids;
    std::vector<std::string> texts;
    std::optional<StreamDecoder> decoder;

    /// `places`: the tokens of an image.
    void add(const Model& model, std::span<const std::int32_t> more, bool places) {
        if (places) return add_places(config_of(model).image, more);
        if (!decoder && model.has_tokenizer()) decoder.emplace(model.tokenizer(), false);
        for (const std::int32_t id : more) {
            ids.push_back(id);
            texts.push_back(decoder ? decoder->push(id) : "#" + std::to_string(id));
        }
    }
    void add_places(const ImageInput& image, std::span<const std::int32_t> more) {
        if (more.empty()) return;
        ids.assign(more.begin(), more.end());  // an image is complete
        texts = place_names(image);
    }
};

template <class T>
void add_missing(std::vector<T>& mine, const std::vector<T>& all) {
    mine.insert(mine.end(), all.begin() + std::ssize(mine), all.end());
}

}  // namespace

struct LiveModel::State {
    LiveOptions options;
    std::unique_ptr<Session> own;  // null for a followed session
    Session& session;
    std::vector<HeadId> heads;
    std::map<std::pair<AttentionKind, std::int64_t>, TapSource> sources;
    AttentionVariant variant;
    bool copied = false;  ///< sources are copies of the session's rows

    // ---- between the threads
    mutable std::mutex mutex;
    std::condition_variable heard;
    std::deque<std::function<void()>> commands;
    bool quit = false;
    /// A command that ends the run waits: a chunk of the prompt is interrupted. Changes with the mutex.
    std::atomic<bool> ending = false;
    std::atomic<double> speed = 0;  ///< tokens per second at most; 0: no limit
    Version version;
    Text text, source_text;
    std::shared_ptr<const Image> seen;
    std::optional<LiveError> error;

    // ---- used by the model's thread only
    std::vector<std::int32_t> unread;  // the rest of the prompt, from `next_unread` on
    std::size_t next_unread = 0;
    std::int64_t to_write = 0;
    std::int64_t steps = 0;  // tokens to generate while paused
    bool paused = false;
    bool lost = false;   // the device; nothing runs until `recover`
    bool rerun = false;  // the session has tokens that did not run
    double seconds_per_token = 0;
    double last_step_at = 0;
    std::uint64_t forgotten = 0;  // Session::forgotten() at the last `publish`
    std::thread thread;

    State(const Model& m, LiveOptions o, Session* followed)
        : options(std::move(o)),
          own(followed == nullptr ? std::make_unique<Session>(m, session_options(m, options)) : nullptr),
          session(own ? *own : *followed),
          heads(heads_of(m.info())) {
        find_sources();
    }
    void find_sources() {
        variant = SessionAccess::variant_of(session);
        for (const HeadId& head : heads)
            if (head.head == 0)
                sources[{head.kind, head.layer}] = SessionAccess::tap_source(session, head.layer, head.kind);
    }
    const Model& model() const { return session.model(); }
    const ModelConfig& config() const { return config_of(model()); }

    /// Commands have no effect on a followed session.
    void command(std::function<void()> what) {
        if (own) ask(std::move(what), false);
    }
    /// A command that ends the run: it does not wait for a chunk of the prompt.
    void command_to_end(std::function<void()> what) {
        if (own) ask(std::move(what), true);
    }
    void ask(std::function<void()> what, bool ends) {
        {
            const std::lock_guard lock(mutex);
            commands.push_back(std::move(what));
            if (ends) ending = true;
            if (ends && is_busy(version.activity)) version.stopping = true, ++version.number;
        }
        heard.notify_one();
    }

    bool is_encoder() const { return config().kind == ModelKind::encoder; }
    bool is_encoder_decoder() const { return config().kind == ModelKind::encoder_decoder; }
    /// Tokens that every text of an encoder–decoder begins with: the start token, and the forced first token if there
    /// is one.
    std::int64_t decoder_begins_with() const { return config().forced_first_token >= 0 ? 2 : 1; }
    bool reads() const { return next_unread < unread.size(); }
    bool works() const { return !lost && (rerun || ((!paused || steps > 0) && (reads() || to_write > 0))); }

    void run();
    std::function<void()> first_command();
    void guarded(const std::function<void()>& what);
    void recover(const std::function<Model()>& reload);
    std::vector<std::int32_t> ids_of(const LivePrompt& prompt) const;
    void begin(const LivePrompt& prompt, const Sampling& sampling, std::int64_t tokens);
    void set_image(const LivePrompt& prompt);
    void step();
    void run_text();
    std::int64_t run_chunk();
    void read_chunk(std::int64_t size);
    std::int64_t write_token();
    /// Until `speed` allows the next step.
    double seconds_to_step() const { return speed > 0 ? last_step_at + 1 / speed - seconds_now() : 0; }
    /// The run is no longer what `start` asked for.
    void note_command() {
        const std::lock_guard lock(mutex);
        version.as_asked = false;
    }
    void publish(Activity activity, std::optional<std::int64_t> rows = {});
    void follow();
    Activity activity() const;
};

// Rows of Q, K and log-sum-exp are complete for all tokens that ran: all but the last while tokens are generated. Rows
// and tokens change under one lock, so that every row has its token.
void LiveModel::State::publish(Activity now, std::optional<std::int64_t> rows) {
    const std::vector<std::int32_t>& tokens = session.tokens();
    {
        const std::lock_guard lock(mutex);
        text.add(model(), std::span(tokens).subspan(text.ids.size()), config().is_vision());
        ++version.number;
        version.stopping = ending && is_busy(now);
        version.rows = rows.value_or(version.rows);
        version.tokens = std::ssize(tokens);
        version.source_rows = std::ssize(session.source_tokens());
        version.activity = now;
        version.tokens_per_second = seconds_per_token > 0 ? 1 / seconds_per_token : 0;
        if (speed > 0) version.tokens_per_second = std::min<double>(version.tokens_per_second, speed);
    }
    if (options.on_version) options.on_version();
}

// Takes over the progress of a program's session. Rows that it has dropped begin another run.
void LiveModel::State::follow() {
    {
        const std::lock_guard lock(mutex);
        if (version.run == 0 || session.forgotten() != forgotten) {
            forgotten = session.forgotten();
            text = {}, source_text = {};
            ++version.run;
            version.rows = 0;
        }
        source_text.add(model(), std::span(session.source_tokens()).subspan(source_text.ids.size()), config().sees());
        const SessionStats& now = session.stats();
        version.prompt_tokens = is_encoder_decoder() ? decoder_begins_with() : now.prompt_tokens;
        seconds_per_token =
            now.generated_tokens > 0 ? now.generate_seconds / static_cast<double>(now.generated_tokens) : 0;
    }
    publish(session.ended() ? Activity::ended : Activity::writing, session.processed());
}

Activity LiveModel::State::activity() const {
    if (!reads() && to_write == 0) return Activity::ended;
    return paused && steps == 0 ? Activity::paused : reads() ? Activity::reading : Activity::writing;
}

std::vector<std::int32_t> LiveModel::State::ids_of(const LivePrompt& prompt) const {
    if (config().sees() || !prompt.ids.empty() || prompt.text.empty()) return prompt.ids;
    return encode_for(model().info().context, model().tokenizer(), prompt.text).ids;
}

// A version without rows is published first, so that no viewer takes rows of the previous text for rows of this one.
void LiveModel::State::begin(const LivePrompt& prompt, const Sampling& sampling, std::int64_t tokens) {
    unread = prompt.ids;
    next_unread = 0, to_write = is_encoder() ? 0 : tokens, steps = 0, paused = false, seconds_per_token = 0;
    {
        const std::lock_guard lock(mutex);
        text = {}, source_text = {}, seen.reset(), error.reset();
        version.run += 1, version.rows = version.source_rows = 0;
        version.activity = Activity::reading;  // with the number: "ended" was said of the run before
        version.prompt_tokens = is_encoder_decoder() ? decoder_begins_with() : std::ssize(unread);
        version.as_asked = true, version.past_end = version.stopped = false;
    }
    session.restart(sampling);
    if (config().is_vision()) set_image(prompt);
    publish(Activity::reading);
    if (!is_encoder_decoder()) return;
    if (config().sees())
        set_image(prompt);
    else
        session.set_source(unread);
    {
        const std::lock_guard lock(mutex);
        source_text.add(model(), session.source_tokens(), config().sees());
    }
    if (const auto first = static_cast<std::int32_t>(config().forced_first_token); first >= 0)
        session.append(std::span(&first, 1));
    unread.clear();
    publish(activity());
}

void LiveModel::State::set_image(const LivePrompt& prompt) {
    session.set_image(prompt.pixels);
    if (is_encoder()) unread = session.tokens();
    const std::lock_guard lock(mutex);
    if (is_encoder()) version.prompt_tokens = std::ssize(unread);
    seen =
        std::make_shared<const Image>(prompt.seen.width > 0 ? prompt.seen : picture_of(prompt.pixels, config().image));
}

void LiveModel::State::read_chunk(std::int64_t size) {
    if (!config().is_vision()) session.append(std::span(unread).subspan(next_unread, static_cast<std::size_t>(size)));
    next_unread += static_cast<std::size_t>(size);
}

// Returns the number of complete rows.
std::int64_t LiveModel::State::write_token() {
    const double begin = seconds_now();
    const bool first = version.rows < version.prompt_tokens;
    if (session.ended() && !session.context_full()) {
        session.rewind(std::ssize(session.tokens()));
        const std::lock_guard lock(mutex);
        version.past_end = true;
    }
    const bool drawn = session.next().has_value();
    to_write = drawn && !session.ended() ? to_write - 1 : 0;
    steps = std::max<std::int64_t>(steps - 1, 0);
    const double seconds = seconds_now() - begin;
    if (!first) seconds_per_token = seconds_per_token > 0 ? 0.8 * seconds_per_token + 0.2 * seconds : seconds;
    return std::ssize(session.tokens()) - (drawn ? 1 : 0);
}

// Runs what waits. What no token follows must leave logits that are finite, too.
void LiveModel::State::run_text() {
    if (is_encoder() || reads() || session.tokens().empty())
        session.run();
    else
        static_cast<void>(session.next_logits());
}

// Runs a chunk of the prompt, or a token. The last chunk runs with the first token. An encoder reads all of it at once.
// Returns the number of complete rows.
std::int64_t LiveModel::State::run_chunk() {
    const auto left = std::ssize(unread) - static_cast<std::int64_t>(next_unread);
    const std::int64_t size = is_encoder() || left == 0 ? left : std::min(session.chunk(left), left);
    if (size > 0) read_chunk(size);
    const bool writes = !reads() && to_write > 0;
    rerun = rerun || !writes;  // unless it runs
    if (!writes) run_text();
    const std::int64_t rows = writes ? write_token() : std::ssize(session.tokens());
    rerun = false;
    return rows;
}

// A chunk is interrupted by a command that ends the run; a token is not.
void LiveModel::State::step() {
    if (options.before_step) options.before_step();
    last_step_at = seconds_now();
    const bool chunk = reads();
    try {
        std::optional<InterruptScope> scope;
        if (chunk) scope.emplace(ending);
        const std::int64_t rows = run_chunk();
        publish(activity(), rows);
    } catch (const Error& e) {
        if (e.kind() != ErrorKind::interrupted || !chunk || !ending) throw;
        if (!is_encoder() && !is_encoder_decoder()) session.rewind(version.rows);  // forgets the chunk
        rerun = false;
    }
}

void LiveModel::State::guarded(const std::function<void()>& what) {
    const auto fail = [&](ErrorKind kind, const char* message) {
        lost = kind == ErrorKind::device_lost;
        if (!lost) {
            unread.clear();
            next_unread = 0, to_write = 0, steps = 0, rerun = false;
        }
        {
            const std::lock_guard lock(mutex);
            error = {kind, message};
        }
        publish(Activity::failed);
    };
    try {
        what();
    } catch (const Error& e) {
        fail(e.kind(), e.what());
    } catch (const std::bad_alloc&) {
        fail(ErrorKind::out_of_memory, "out of host memory");
    } catch (const std::exception& e) {
        fail(ErrorKind::failure, e.what());
    }
}

void LiveModel::State::recover(const std::function<Model()>& reload) {
    sources.clear();
    session.recover(reload);
    find_sources();
    lost = false;
    rerun = rerun || (is_encoder() && !session.tokens().empty() && !reads());
    {
        const std::lock_guard lock(mutex);
        error.reset();
    }
    publish(activity(), session.processed());
}

// Empty if there is none. The mutex is held.
std::function<void()> LiveModel::State::first_command() {
    if (commands.empty()) return {};
    std::function<void()> command = std::move(commands.front());
    commands.pop_front();
    if (commands.empty()) ending = false;
    return command;
}

// A command, or a step where there is none. Waits while there is neither.
void LiveModel::State::run() {
    while (true) {
        std::function<void()> command;
        {
            std::unique_lock lock(mutex);
            heard.wait(lock, [&] { return quit || !commands.empty() || works(); });
            if (quit) return;
            command = first_command();
            if (const double left = seconds_to_step(); !command && left > 0) {
                heard.wait_for(lock, std::chrono::duration<double>(left));
                continue;
            }
        }
        guarded(command ? command : [this] { step(); });
    }
}

LiveModel::LiveModel(const Model& model, LiveOptions options)
    : state_(std::make_unique<State>(model, std::move(options), nullptr)) {
    state_->thread = std::thread([this] { state_->run(); });
}

LiveModel::LiveModel(Session& session, std::function<void()> on_version)
    : state_(std::make_unique<State>(session.model(), LiveOptions{.on_version = std::move(on_version)}, &session)) {}

LiveModel::~LiveModel() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->quit = state_->ending = true;
    }
    state_->heard.notify_one();
    if (state_->thread.joinable()) state_->thread.join();
}

void LiveModel::recover(const std::function<Model()>& reload) {
    if (!commanded()) throw usage_error("a program runs this model: it recovers its session");
    std::promise<void> done;
    state_->ask(
        [&] {
            try {
                state_->recover(reload);
                done.set_value();
            } catch (...) {
                done.set_exception(std::current_exception());
            }
        },
        false);
    done.get_future().get();
}

bool LiveModel::commanded() const { return state_->own != nullptr; }

void LiveModel::publish() {
    serve();
    state_->follow();
}

void LiveModel::serve() {
    State& s = *state_;
    while (true) {
        std::unique_lock lock(s.mutex);
        const std::function<void()> asked = s.first_command();
        if (!asked) return;
        lock.unlock();
        asked();
    }
}

void LiveModel::show_copies(const std::function<TapSource(const TapSource&)>& copy) {
    state_->copied = true;
    for (auto& [place, source] : state_->sources) source = copy(source);
}

bool LiveModel::shows_copies() const { return state_->copied; }

void LiveModel::publish_copies(Activity activity) {
    {
        const std::lock_guard lock(state_->mutex);
        Version& version = state_->version;
        ++version.run, ++version.number;
        version.activity = activity;
    }
    if (state_->options.on_version) state_->options.on_version();
}

void LiveModel::start(LivePrompt prompt, const Sampling& sampling, std::int64_t max_tokens) {
    if (!commanded()) return;
    prompt.ids = state_->ids_of(prompt);
    if (std::ssize(prompt.ids) > context())
        throw usage_error("The prompt has {} tokens; {} holds {}{}", prompt.ids.size(), model().info().name, context(),
                          context() < model().info().context ? ". Shorten it, or make the context larger" : "");
    state_->command_to_end([s = state_.get(), prompt = std::move(prompt), sampling, max_tokens] {
        s->begin(prompt, sampling, max_tokens);
    });
}

void LiveModel::set_speed(double tokens_per_second) {
    {
        const std::lock_guard lock(state_->mutex);
        constexpr double slowest = 0.01;
        state_->speed = tokens_per_second > 0 ? std::max(tokens_per_second, slowest) : 0;
    }
    state_->heard.notify_one();
}

void LiveModel::stop() {
    state_->command_to_end([s = state_.get()] {
        if (s->reads() || s->to_write > 0) {
            s->note_command();
            const std::lock_guard lock(s->mutex);
            s->version.stopped = true;
        }
        s->unread.clear();
        s->next_unread = 0, s->to_write = 0, s->steps = 0;
        s->publish(s->activity());
    });
}

void LiveModel::pause() {
    state_->command([s = state_.get()] {
        s->paused = true;
        s->publish(s->activity());
    });
}

void LiveModel::resume() {
    state_->command([s = state_.get()] {
        s->paused = false, s->steps = 0;
        s->publish(s->activity());
    });
}

void LiveModel::step() {
    state_->command([s = state_.get()] {
        s->paused = true, ++s->steps;
        if (s->is_encoder()) return;  // it only reads
        {
            const std::lock_guard lock(s->mutex);
            s->version.stopped = false;
        }
        if (!s->reads() && s->to_write == 0) s->note_command();
        s->to_write = std::max<std::int64_t>(s->to_write, 1);
    });
}

void LiveModel::read_on(std::vector<std::int32_t> ids) {
    state_->command([s = state_.get(), ids = std::move(ids)] {
        s->note_command();
        s->unread.insert(s->unread.end(), ids.begin(), ids.end());
    });
}

void LiveModel::with_session(std::function<void(Session&)> work) {
    state_->ask(
        [s = state_.get(), work = std::move(work)] {
            work(s->session);
            if (s->options.on_version) s->options.on_version();
        },
        false);
}

Version LiveModel::version() const {
    const std::lock_guard lock(state_->mutex);
    return state_->version;
}

void LiveModel::read_tokens(LiveTokens& mine) const {
    const std::lock_guard lock(state_->mutex);
    if (mine.run != state_->version.run) mine = {.run = state_->version.run};
    add_missing(mine.ids, state_->text.ids);
    add_missing(mine.texts, state_->text.texts);
    add_missing(mine.source_ids, state_->source_text.ids);
    add_missing(mine.source_texts, state_->source_text.texts);
    mine.seen = state_->seen;
}

std::optional<LiveError> LiveModel::error() const {
    const std::lock_guard lock(state_->mutex);
    return state_->error;
}

const Model& LiveModel::model() const { return state_->model(); }
std::int64_t LiveModel::context() const { return state_->session.context(); }
double LiveModel::speed() const { return state_->speed; }

AttentionVariant LiveModel::variant() const { return state_->variant; }

Precision LiveModel::precision() const {
    const State& s = *state_;
    if (s.own || s.sources.empty()) return s.options.precision;
    // A followed session says it by the type of its keys.
    const std::optional<TensorType>& keys = s.sources.begin()->second.k.type;
    return keys && keys->dtype == DType::f32 ? Precision::f32 : Precision::f16;
}

const std::vector<HeadId>& LiveModel::heads() const { return state_->heads; }

const TapSource& LiveModel::source(std::int64_t layer, AttentionKind kind) const {
    const auto found = state_->sources.find({kind, layer});
    if (found == state_->sources.end())
        throw usage_error("{} has no layer {} of this attention", model().info().name, layer);
    return found->second;
}

}  // namespace vantage::view
