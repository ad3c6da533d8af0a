#include "runtime/serve/server.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/models/config.h"
#include "runtime/serve/chat_page.h"
#include "runtime/serve/encoder_answers.h"
#include "runtime/serve/prompt_scores.h"
#include "runtime/serve/request_fields.h"
#include "runtime/serve/text_answer.h"
#include "runtime/serve/tools.h"
#include "runtime/session/model_access.h"

namespace vantage::serve {

using namespace internal;

namespace {

constexpr std::size_t worker_threads = 2, max_waiting_work = 1024;
constexpr double longest_retry = 20;  // seconds, beyond which a client had better not ask again by itself
constexpr std::chrono::milliseconds drain_look(20);

/// Compares all of both texts, whatever they are: the time tells nothing but their lengths.
bool are_equal(std::string_view a, std::string_view b) {
    unsigned differences = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size(); ++i)
        differences |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^
                                             static_cast<unsigned char>(b.empty() ? '\0' : b[i % b.size()]));
    return differences == 0;
}

std::string ignored_header(const std::vector<std::string>& fields) {
    std::string text;
    for (const std::string& field : fields) {
        const auto is_plain = [](char c) { return c > ' ' && c < 127 && c != ','; };
        constexpr std::size_t longest = 100, most = 1000;
        if (text.size() > most) break;
        if (field.size() <= longest && std::ranges::all_of(field, is_plain)) text += (text.empty() ? "" : ", ") + field;
    }
    return text;
}

// The name in "name:8080", "[::1]:8080" or "name".
std::string host_of(const std::string& header) {
    if (header.starts_with('[')) return header.substr(0, header.find(']') + 1);
    return header.substr(0, header.find(':'));
}

std::string bearer(const HttpRequest& request) {
    constexpr std::string_view scheme = "bearer ";
    const std::string header = request.header("authorization");
    const bool is_bearer = header.size() >= scheme.size() &&
                           std::ranges::equal(header.substr(0, scheme.size()), scheme, {},
                                              [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return is_bearer ? header.substr(scheme.size()) : request.header("x-api-key");
}

Json model_json(const ServedModel& served) {
    const ModelInfo& info = served.info;
    return {{"id", served.name},
            {"object", "model"},
            {"created", served.created},
            {"owned_by", "vantage"},
            {"meta",
             {{"architecture", info.architecture},
              {"context", served.scheduler.context()},
              {"context_trained", info.context},
              {"parameters", info.parameters},
              {"bytes", info.weight_bytes},
              {"weights", info.weight_types},
              {"vocabulary", info.vocab},
              {"width", info.width},
              {"layers", info.layers},
              {"heads", info.heads},
              {"attending_layers", served.is_encoder() ? Json::array() : Json(info.layers_of(AttentionKind::self))},
              {"chat", served.chat.has_value()},
              {"slots", served.scheduler.slots()}}}};
}

}  // namespace

Server::Server(const ServerOptions& options) : options_(options) {
    workers_.emplace(worker_threads, max_waiting_work);
    http_.emplace(
        options_.http,
        [this](HttpRequest& request, const std::shared_ptr<Reply>& reply) { return check(request, reply); },
        [this](HttpRequest&& request, const std::shared_ptr<Reply>& reply) { handle(std::move(request), reply); });
}

// What calls the next one ends first.
Server::~Server() {
    http_.reset();
    workers_.reset();
    stop();
}

void Server::stop() {
    if (model_) model_->scheduler.stop();
}

void Server::forget_sessions() {
    attention_->forget();
    encoder_->forget();
}

void Server::serve(std::unique_ptr<ServedModel> model) {
    attention_.emplace(model->session_options);
    encoder_.emplace(model->session_options);
    model_ = std::move(model);
    served_ = model_.get();
}

bool Server::is_loading() const {
    const ServedModel* model = served_;
    if (model == nullptr) return true;
    model->scheduler.rethrow_failure();
    return model->scheduler.readiness() == Readiness::loading;
}

void Server::drain(double seconds) {
    http_->stop_listening();
    ServedModel* model = served_;
    if (model == nullptr) return;
    model->scheduler.drain();
    const auto wait = [&](double most) {
        const double end = seconds_now() + most;
        while ((!model->scheduler.is_idle() || http_->unanswered() > 0) && seconds_now() < end)
            std::this_thread::sleep_for(drain_look);
    };
    wait(seconds);
    model->scheduler.abandon();
    constexpr double last_words = 2;
    wait(last_words);
}

const std::vector<Server::Route>& Server::routes() {
    static const std::vector<Route> all = {
        {"GET", "/health", &Server::health, false},
        {"GET", "/live", &Server::live, false},
        {"GET", "/version", &Server::version, false},
        {"GET", "/metrics", &Server::metrics_page, false},
        {"GET", "/v1/models", &Server::models, false},
        {"GET", "/v1/requests", &Server::requests, false},
        {"POST", "/v1/completions", &Server::completions, true},
        {"POST", "/v1/chat/completions", &Server::chat, true},
        {"POST", "/v1/embeddings", &Server::embeddings, true},
        {"POST", "/v1/rerank", &Server::rerank, true},
        {"POST", "/rerank", &Server::rerank, true},
        {"POST", "/v1/attention", &Server::attention, true},
        {"GET", "/", &Server::page, false},
        {"GET", "/page.css", &Server::page, false},
        {"GET", "/page.js", &Server::page, false},
        {"GET", "/icon.svg", &Server::page, false},
        {"POST", "/tokenize", &Server::tokenize, true},
        {"POST", "/detokenize", &Server::detokenize, true},
        {"POST", "/apply-template", &Server::apply_template, true},
        {"GET", "/tokenizer_info", &Server::tokenizer_info, false},
    };
    return all;
}

// ---- the edge -------------------------------------------------------------------------------------------------------

// Who may ask for what, before a body is read.
bool Server::check(HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    try {
        request.label = "other";
        const Route* found = route_of(request);
        if (found != nullptr) request.label = found->path;
        require_host(request);
        require_origin(request);
        if (request.method == "OPTIONS") {
            Reply::Headers headers = cors_headers(request);
            headers["Access-Control-Allow-Methods"] = "GET, POST";
            if (const std::string wanted = request.header("access-control-request-headers"); !wanted.empty())
                headers["Access-Control-Allow-Headers"] = wanted;
            headers["Access-Control-Max-Age"] = "600";
            reply->send(204, "text/plain", "", headers);
            return false;
        }
        if (found == nullptr) throw ApiError(404, format("there is no {}", cut_short(request.path, 100)));
        if (method_of(request) != found->method) {
            refuse(request, reply, ApiError(405, format("{} takes {}", found->path, found->method)),
                   {{"Allow", found->method}});
            return false;
        }
        const std::string path = found->path;
        if (path != "/health" && path != "/live" && page_file(path) == nullptr) require_key(request);
        return true;
    } catch (const ApiError& error) {
        refuse(request, reply, error);
        return false;
    }
}

std::string Server::method_of(const HttpRequest& request) { return request.method == "HEAD" ? "GET" : request.method; }

// The one of this path, of several that of this method.
const Server::Route* Server::route_of(const HttpRequest& request) {
    const std::string models_prefix = "/v1/models/";
    const std::string path = request.path.starts_with(models_prefix) ? "/v1/models" : request.path;
    const Route* found = nullptr;
    for (const Route& route : routes())
        if (path == route.path && (found == nullptr || method_of(request) == route.method)) found = &route;
    return found;
}

void Server::handle(HttpRequest&& request, const std::shared_ptr<Reply>& reply) {
    const Route* found = route_of(request);
    if (!found->waits) return run_route(*found, request, reply);
    const auto shared = std::make_shared<HttpRequest>(std::move(request));
    if (!workers_->post([this, found, shared, reply] { run_route(*found, *shared, reply); }))
        refuse(*shared, reply, ApiError(503, "too many requests are being read"), {{"Retry-After", "1"}});
}

void Server::run_route(const Route& route, const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    try {
        (this->*route.handler)(request, reply);
    } catch (const ApiError& error) {
        refuse(request, reply, error);
    } catch (const Error& error) {
        refuse(request, reply, ApiError(error));
    } catch (const std::bad_alloc&) {
        refuse(request, reply, ApiError(503, "there is no memory for this request"));
    } catch (const std::exception& error) {
        log(LogLevel::error, "serve: {}: {}", request.path, error.what());
        refuse(request, reply, ApiError(500, error.what()));
    }
}

// A page that a browser shows cannot reach a server of this machine by another name that leads to it.
void Server::require_host(const HttpRequest& request) const {
    const std::string host = host_of(request.header("host"));
    const bool here = options_.http.host.starts_with("unix:") || is_loopback(options_.http.host);
    if (std::ranges::count(options_.host_names, host) > 0 || is_loopback(host)) return;
    if (!here && is_numeric_address(host)) return;
    throw ApiError(403, format("the host \"{}\" is not this server's; start it with --host-name {}",
                               cut_short(host, 100), cut_short(host, 100)));
}

bool Server::may_ask_from(const std::string& origin) const {
    return std::ranges::count(options_.cors_origins, origin) > 0;
}

void Server::require_origin(const HttpRequest& request) const {
    const std::string origin = request.header("origin");
    if (origin.empty() || may_ask_from(origin)) return;
    if (origin == "http://" + request.header("host") || origin == "https://" + request.header("host")) return;
    throw ApiError(403, format("pages of {} may not ask this server; start it with --cors-origin {}",
                               cut_short(origin, 100), cut_short(origin, 100)));
}

Reply::Headers Server::cors_headers(const HttpRequest& request) const {
    const std::string origin = request.header("origin");
    if (origin.empty() || !may_ask_from(origin)) return {{"Vary", "Origin"}};
    return {{"Access-Control-Allow-Origin", origin},
            {"Access-Control-Expose-Headers", "vantage-ignored, retry-after, x-should-retry"},
            {"Vary", "Origin"}};
}

void Server::require_key(const HttpRequest& request) const {
    if (options_.keys.empty()) return;
    const std::string given = bearer(request);
    bool known = false;
    for (const std::string& key : options_.keys) known = are_equal(given, key) || known;
    if (!known)
        throw ApiError(401, given.empty() ? "an API key is needed: Authorization: Bearer KEY" : "unknown API key");
}

ServedModel& Server::ready() const {
    ServedModel* model = served_;
    if (model == nullptr) throw ApiError(503, "the model is being loaded");
    switch (model->scheduler.readiness()) {
        case Readiness::loading: throw ApiError(503, "the model is being loaded");
        case Readiness::lost: throw ApiError(503, "the device was lost");
        case Readiness::draining: throw ApiError(503, "the server is shutting down");
        case Readiness::recovering:
        case Readiness::ready: break;
    }
    return *model;
}

void Server::check_model(const ServedModel& model, const Json& body) const {
    if (!options_.strict_model) return;
    const std::string wanted = RequestFields(body).text("model").value_or("");
    if (wanted != model.name)
        throw ApiError(404, format("there is no model \"{}\"; there is {}", cut_short(wanted, 100), model.name),
                       "model");
}

void Server::answer(const HttpRequest& request, const std::shared_ptr<Reply>& reply, const Json& json, int status,
                    const std::vector<std::string>& ignored) {
    Reply::Headers headers = cors_headers(request);
    if (!ignored.empty()) headers["vantage-ignored"] = ignored_header(ignored);
    metrics_.note_request(request.label, status);
    reply->send(status, "application/json", json.dump(-1, ' ', false, Json::error_handler_t::replace), headers);
}

void Server::refuse(const HttpRequest& request, const std::shared_ptr<Reply>& reply, const ApiError& error,
                    Reply::Headers headers) {
    headers.merge(cors_headers(request));
    if (error.status == 401) headers["WWW-Authenticate"] = "Bearer";
    metrics_.note_request(request.label, error.status);
    reply->send(error.status, "application/json", error.text(), headers);
}

void Server::refuse_overload(const HttpRequest& request, const std::shared_ptr<Reply>& reply,
                             const ServedModel& model) {
    const double wait = std::ceil(std::clamp(model.scheduler.expected_wait(), 1.0, 3600.0));
    Reply::Headers headers = {{"Retry-After", format("{:.0f}", wait)}};
    if (wait > longest_retry) headers["x-should-retry"] = "false";
    refuse(request, reply, ApiError(429, format("all slots and the queue are full; try again in {:.0f} s", wait)),
           headers);
}

// ---- what the server is ---------------------------------------------------------------------------------------------

void Server::health(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    if (ready().scheduler.readiness() == Readiness::recovering)
        throw ApiError(503, "the device was lost and is opened again");
    answer(request, reply, {{"status", "ok"}});
}

void Server::live(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    answer(request, reply, {{"status", "ok"}});
}

void Server::version(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    answer(request, reply, {{"version", build_facts().version}, {"commit", build_facts().commit}});
}

void Server::metrics_page(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    reply->send(200, "text/plain; version=0.0.4; charset=utf-8", metrics_.text(served_), cors_headers(request));
}

void Server::models(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    const ServedModel* model = served_;
    const std::string prefix = "/v1/models/";
    if (request.path.starts_with(prefix)) {
        const std::string wanted = request.path.substr(prefix.size());
        if (model == nullptr || wanted != model->name)
            throw ApiError(404, format("there is no model \"{}\"", cut_short(wanted, 100)), "model");
        return answer(request, reply, model_json(*model));
    }
    Json data = Json::array();
    if (model != nullptr) data.push_back(model_json(*model));
    answer(request, reply, {{"object", "list"}, {"data", std::move(data)}});
}

void Server::requests(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    Json data = Json::array();
    if (const ServedModel* model = served_; model != nullptr)
        for (const GenerationState& one : model->scheduler.states())
            data.push_back({{"id", one.number},
                            {"state", one.runs ? "running" : "waiting"},
                            {"prompt_tokens", one.prompt},
                            {"prompt_tokens_run", one.processed},
                            {"generated_tokens", one.generated},
                            {"seconds", one.seconds}});
    answer(request, reply, {{"object", "list"}, {"data", std::move(data)}});
}

// ---- text -----------------------------------------------------------------------------------------------------------

void Server::completions(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const Json body = parse_object(request.body);
    check_model(model, body);
    answer_text(request, reply, model, parse_completion(body, model));
}

void Server::chat(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const Json body = parse_object(request.body);
    check_model(model, body);
    answer_text(request, reply, model, parse_chat(body, model));
}

void Server::answer_text(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
                         TextRequest text) {
    Reply::Headers headers = cors_headers(request);
    if (!text.ignored.empty()) headers["vantage-ignored"] = ignored_header(text.ignored);
    const bool scores = text.echo && text.logprobs;
    const auto told = std::make_shared<TextAnswer>(model, std::move(text), reply, headers, metrics_, request.label);
    scores ? score(request, reply, model, told, 0) : generate(request, reply, model, told);
}

// One prompt after the other, each a piece of work of its own.
void Server::score(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
                   const std::shared_ptr<TextAnswer>& told, std::size_t prompt) {
    if (prompt == told->request().prompts.size()) return generate(request, reply, model, told);
    post(request, reply, model, [=, this, &model](const Model& loaded) {
        const TextRequest& wanted = told->request();
        told->note_prompt(
            prompt, prompt_scores(loaded, model.session_options, wanted.prompts[prompt], wanted.logprobs.value_or(0)));
        score(request, reply, model, told, prompt + 1);
    });
}

void Server::generate(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
                      const std::shared_ptr<TextAnswer>& told) {
    const auto generations = told->generations(bearer(request));
    told->begin();
    if (told->request().text.max_tokens == 0) {
        told->open();
        return told->finish_without_tokens();
    }
    bool submitted = false;
    try {
        submitted = model.scheduler.submit(generations);
    } catch (const Error&) {
        told->forget();
        throw;
    }
    if (!submitted) {
        told->forget();
        return refuse_overload(request, reply, model);
    }
    reply->when_closed([&model, generations] { model.scheduler.cancel(generations); });
    told->open();
}

// ---- encoders -------------------------------------------------------------------------------------------------------

void Server::post(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
                  const std::function<void(const Model&)>& work) {
    const auto refused = [this, request, reply](const ApiError& error) { refuse(request, reply, error); };
    PostedWork posted{.run =
                          [work, refused](const Model& loaded) {
                              try {
                                  work(loaded);
                              } catch (const ApiError& error) {
                                  refused(error);
                              }
                          },
                      .refuse = [refused](const Error& error) { refused(ApiError(error)); },
                      .is_wanted = [reply] { return !reply->is_closed(); }};
    if (!model.scheduler.post(std::move(posted))) refuse_overload(request, reply, model);
}

void Server::embeddings(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const Json body = parse_object(request.body);
    check_model(model, body);
    post(request, reply, model,
         [this, request, reply, &model, wanted = parse_embedding(body, model)](const Model& loaded) {
             answer(request, reply, embedding_answer(wanted, encoder_->on(loaded), model.name, model.pooling), 200,
                    wanted.ignored);
         });
}

void Server::rerank(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const Json body = parse_object(request.body);
    check_model(model, body);
    post(request, reply, model,
         [this, request, reply, &model, wanted = parse_rerank(body, model)](const Model& loaded) {
             answer(request, reply, rerank_answer(wanted, encoder_->on(loaded), model.name), 200, wanted.ignored);
         });
}

// ---- attention ------------------------------------------------------------------------------------------------------

void Server::attention(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const AttentionRequest wanted = parse_attention(parse_object(request.body), model);
    const std::optional<KeptText> text = model.kept.find(wanted.id, bearer(request), wanted.choice);
    if (!text) throw ApiError(410, format("the answer {} is not kept any more", cut_short(wanted.id, 100)), "id");
    post(request, reply, model, [this, request, reply, wanted, text](const Model& loaded) {
        try {
            answer(request, reply, attention_->answer(wanted, *text, loaded), 200, wanted.ignored);
        } catch (...) {
            attention_->forget();
            throw;
        }
    });
}

void Server::page(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    const PageFile& file = *page_file(request.path);
    reply->send(200, std::string(file.type), std::string(file.text),
                {{"Content-Security-Policy", "default-src 'self'"},
                 {"X-Content-Type-Options", "nosniff"},
                 {"Referrer-Policy", "no-referrer"}});
}

// ---- tokens ---------------------------------------------------------------------------------------------------------

// "content" is llama.cpp's spelling, "prompt" vLLM's; they differ in what they add by default.
void Server::tokenize(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const Json body = parse_object(request.body);
    RequestFields fields(body);
    const std::optional<std::string> content = fields.text("content"), prompt = fields.text("prompt");
    if (!content && !prompt) throw ApiError(400, "\"content\" or \"prompt\" is missing", "content");
    const bool add_special =
        fields.boolean("add_special").value_or(fields.boolean("add_special_tokens").value_or(!content));
    const std::vector<std::int32_t> ids = model.encoded(content ? *content : *prompt, add_special);
    Json tokens = Json(ids);
    if (fields.boolean("with_pieces").value_or(false)) {
        tokens = Json::array();
        for (const std::int32_t id : ids) tokens.push_back({{"id", id}, {"piece", model.tokenizer.token_bytes(id)}});
    }
    answer(request, reply,
           {{"tokens", std::move(tokens)}, {"count", ids.size()}, {"max_model_len", model.scheduler.context()}});
}

void Server::detokenize(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const Json body = parse_object(request.body);
    const Json& tokens = RequestFields(body).at("tokens");
    if (!tokens.is_array()) RequestFields::wrong("tokens", tokens, "a list of token ids");
    const std::string text = model.tokenizer.decode(token_ids(tokens, "tokens"), false);
    answer(request, reply, {{"content", text}, {"prompt", text}});
}

void Server::apply_template(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    const Json body = parse_object(request.body);
    RequestFields fields(body);
    const Json messages = chat_messages(fields.at("messages"));
    const bool reply_follows = fields.boolean("add_generation_prompt").value_or(true);
    const Json tools = parse_tools(fields).told, more = template_variables(fields);
    answer(request, reply, {{"prompt", render_chat(model.chat_style(), messages, tools, more, reply_follows)}});
}

void Server::tokenizer_info(const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    ServedModel& model = ready();
    Json info = model.chat ? model.chat->format.tokens : Json::object();
    info["vocab_size"] = model.tokenizer.vocab_size();
    info["model_max_length"] = model.scheduler.context();
    Json ends = Json::array();
    for (const std::int64_t id : model.config.end_tokens) ends.push_back(id);
    info["eos_token_ids"] = std::move(ends);
    answer(request, reply, info);
}

}  // namespace vantage::serve
