// The server: which path does what, who may ask, and what is answered before and after there is a model.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/serve/attention_answers.h"
#include "runtime/serve/encoder_answers.h"
#include "runtime/serve/http_server.h"
#include "runtime/serve/metrics.h"
#include "runtime/serve/served_model.h"
#include "runtime/serve/text_answer.h"
#include "runtime/serve/worker_pool.h"

namespace vantage::serve {

struct ServerOptions {
    HttpOptions http;
    std::vector<std::string> keys;          ///< one of them has to come with a request; empty: none is needed
    std::vector<std::string> host_names;    ///< that a request may name besides this machine's own
    std::vector<std::string> cors_origins;  ///< pages that may ask from a browser
    bool strict_model = false;              ///< another name of a model is an error
};

class Server : internal::NotCopied {
public:
    /// Listens from now on; requests that need the model are answered with 503 until `serve`. Throws as HttpServer.
    explicit Server(const ServerOptions& options);
    ~Server();
    void serve(std::unique_ptr<ServedModel> model);
    /// Until plans are compiled after `serve`. Throws what keeps them from being compiled.
    bool is_loading() const;
    const std::string& address() const { return http_->address(); }
    /// Takes no new connections, and lets what runs go on for so many seconds; what is left then ends with an error.
    void drain(double seconds);
    /// Ends the use of the device.
    void stop();
    /// Before a device that was lost is opened again (SchedulerOptions::before_reload).
    void forget_sessions();

private:
    using Handler = void (Server::*)(const HttpRequest&, const std::shared_ptr<Reply>&);
    struct Route {
        const char* method;
        const char* path;
        Handler handler;
        bool waits;  ///< for the model or for long work: not in the thread of the connections
    };
    static const std::vector<Route>& routes();

    static const Route* route_of(const HttpRequest& request);
    static std::string method_of(const HttpRequest& request);
    bool check(HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void handle(HttpRequest&& request, const std::shared_ptr<Reply>& reply);
    void run_route(const Route& route, const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void require_host(const HttpRequest& request) const;
    void require_origin(const HttpRequest& request) const;
    void require_key(const HttpRequest& request) const;
    bool may_ask_from(const std::string& origin) const;
    Reply::Headers cors_headers(const HttpRequest& request) const;
    ServedModel& ready() const;
    void check_model(const ServedModel& model, const Json& body) const;
    void answer(const HttpRequest& request, const std::shared_ptr<Reply>& reply, const Json& json, int status = 200,
                const std::vector<std::string>& ignored = {});
    void refuse(const HttpRequest& request, const std::shared_ptr<Reply>& reply, const ApiError& error,
                Reply::Headers headers = {});
    void refuse_overload(const HttpRequest& request, const std::shared_ptr<Reply>& reply, const ServedModel& model);

    void health(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void live(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void version(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void metrics_page(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void models(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void requests(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void completions(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void chat(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void answer_text(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
                     TextRequest text);
    void score(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
               const std::shared_ptr<TextAnswer>& told, std::size_t prompt);
    void generate(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
                  const std::shared_ptr<TextAnswer>& told);
    void post(const HttpRequest& request, const std::shared_ptr<Reply>& reply, ServedModel& model,
              const std::function<void(const Model&)>& work);
    void embeddings(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void rerank(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void attention(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void page(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void tokenize(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void detokenize(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void apply_template(const HttpRequest& request, const std::shared_ptr<Reply>& reply);
    void tokenizer_info(const HttpRequest& request, const std::shared_ptr<Reply>& reply);

    ServerOptions options_;
    Metrics metrics_;
    std::optional<AttentionAnswers> attention_;  // for the scheduler's thread, as encoder_
    std::optional<EncoderSession> encoder_;
    std::unique_ptr<ServedModel> model_;
    std::atomic<ServedModel*> served_ = nullptr;  // model_, once it is there
    std::optional<WorkerPool> workers_;
    std::optional<HttpServer> http_;
};

}  // namespace vantage::serve
