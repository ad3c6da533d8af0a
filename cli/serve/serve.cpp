// vantage serve: a model behind the HTTP endpoints that programs for OpenAI's API speak to.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/loaded_model.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#ifdef VANTAGE_SERVES
#include "runtime/serve/server.h"
#endif

namespace vantage::cli {

namespace {

#ifdef VANTAGE_SERVES

constexpr std::chrono::milliseconds between_looks_at_signals(20);

struct ServeOptions {
    serve::ServerOptions server;
    serve::SchedulerOptions scheduler;
    std::string name, chat_template, key_file, precision = "f16", masked, pooling;
    double drain = 30;
    bool no_key = false, recover = true;
};

/// One API key per line; empty lines and lines that begin with # are ignored.
std::vector<std::string> keys_of(const std::string& file) {
    std::vector<std::string> keys;
    std::istringstream lines(read_file(file, std::size_t{1} << 20));
    for (std::string line; std::getline(lines, line);) {
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (!line.empty() && line[0] != '#') keys.push_back(line);
    }
    if (keys.empty()) throw bad_file_error("{}: it has no keys, one a line", file);
    return keys;
}

bool is_reached_from_elsewhere(const std::string& host) {
    return !host.starts_with("unix:") && !serve::is_loopback(host);
}

Pooling pooling_of(const std::string& word) {
    return word == "cls" ? Pooling::first : word == "pooler" ? Pooling::pooler : Pooling::mean;
}

void run(ServeOptions& o) {
    if (!o.key_file.empty()) o.server.keys = keys_of(o.key_file);
    if (o.server.keys.empty() && !o.no_key && is_reached_from_elsewhere(o.server.http.host))
        throw usage_error(
            "serve: {} can be reached from other machines: give --api-key-file, or --no-key if all may ask",
            o.server.http.host);
    const EndDeferred until_drained;
    std::optional<LoadedModel> loaded_model;  // outlives the server, which may load it again
    serve::Server server(o.server);
    LoadedModel& model = loaded_model.emplace(o.recover);
    o.scheduler.before_reload = [&server] { server.forget_sessions(); };
    o.scheduler.session.precision = precision_named(o.precision);
    o.scheduler.session.masked_heads = masked_heads(o.masked);
    o.scheduler.reload = model.reloader();
    model->tokenizer();  // throws where there is none
    server.serve(model.make([&](const Model& loaded) {
        return std::make_unique<serve::ServedModel>(loaded, o.name, o.chat_template, pooling_of(o.pooling),
                                                    o.scheduler);
    }));
    while (server.is_loading() && !interrupted()) std::this_thread::sleep_for(between_looks_at_signals);
    if (!common().quiet)
        std::fprintf(stderr, "%s on %s: %s\n", model->info().name.c_str(), model->device().caps().name.c_str(),
                     server.address().c_str());
    while (!interrupted()) std::this_thread::sleep_for(between_looks_at_signals);
    log(LogLevel::info, "draining: at most {:.0f} s", o.drain);
    server.drain(o.drain);
    server.stop();
}

void add_edge_options(CLI::App& command, ServeOptions& o) {
    serve::HttpOptions& http = o.server.http;
    add_setting(command, "--host,--listen", http.host, "Address to listen at, or unix:PATH")->check(not_empty);
    add_setting(command, "--port", http.port, "Port; 0: a free one")->check(between(0, 65535));
    add_option(command, "--api-key-file", o.key_file, "Requests need one of these API keys, one a line", "FILE");
    command.add_flag("--no-key", o.no_key, "Needs no API key, even at an address that other machines reach");
    add_option(command, "--host-name", o.server.host_names,
               "Name of this server that requests may use; without it localhost only, at a local address", "NAME");
    add_option(command, "--cors-origin", o.server.cors_origins,
               "Origin of pages that may ask from a browser, as https://example.org", "ORIGIN");
    add_setting(command, "--body-limit", http.body_bytes, "Maximum size of a request, as 8M")
        ->transform(size_in_bytes());
    add_setting(command, "--connections", http.connections, "Maximum number of connections")->check(one_or_more);
    add_setting(command, "--connections-per-address", http.per_address, "The same of one address; 0: no limit")
        ->check(zero_or_more);
    add_setting(command, "--keep-alive", http.idle_seconds, "Seconds after which an idle connection is closed")
        ->check(one_or_more);
    add_setting(command, "--drain", o.drain, "After SIGTERM or Ctrl-C: seconds for what runs to end")
        ->check(zero_or_more);
    command.add_flag("--strict-model", o.server.strict_model,
                     "Answer 404 to requests that name another model; by default the name is not looked at");
}

void add_model_options(CLI::App& command, ServeOptions& o) {
    serve::SchedulerOptions& s = o.scheduler;
    add_option(command, "--name", o.name, "Name of the model in answers; default: the folder's or file's", "NAME")
        ->check(not_empty);
    add_option(command, "--template", o.chat_template,
               "Jinja file to use instead of the model's chat template, or chatml", "FILE|chatml");
    add_setting(command, "--slots,--parallel", s.slots, "Generations that run at once; each has a context of its own")
        ->check(between(1, 1024));
    add_setting(command, "--queue", s.queue, "Generations that wait for a slot; more are answered with 429")
        ->check(zero_or_more);
    add_setting(command, "-c,--ctx,--context", s.session.context,
                "Context length of a slot in tokens; 0: the model's maximum, or less if memory is short")
        ->check(zero_or_more);
    add_precision_option(command, o.precision);
    add_cache_option(command, s.session.cache);
    add_stable_option(command, s.session.stable);
    add_head_mask_option(command, o.masked);
    add_setting(command, "--pooling", o.pooling, "Embeddings: mean, cls (the first token) or pooler")
        ->check(CLI::IsMember({"mean", "cls", "pooler"}));
    add_recover_option(command, o.recover);
}

#endif

}  // namespace

void add_serve(CLI::App& app) {
    CLI::App& command = add_command(
        app, "serve", "Serve a model over HTTP, as OpenAI's API does",
        "Endpoints: /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/rerank, /v1/models, /tokenize,\n"
        "/detokenize, /apply-template, /health, /live, /metrics, /v1/requests (docs/serving.md). Requests run "
        "together:\n"
        "they come and go while others generate.\n"
        "Examples:\n"
        "  vantage serve -m models/Llama-3.2-1B-Instruct\n"
        "  vantage serve -m qwen3-0.6b.Q4_K_M.gguf --slots 16 --port 9000\n"
        "  curl http://127.0.0.1:8080/v1/completions -d '{\"prompt\": \"The dog\", \"max_tokens\": 20}'");
#ifdef VANTAGE_SERVES
    auto o = std::make_shared<ServeOptions>();
    o->pooling = "mean";
    add_model_option(command);
    add_lora_option(command);
    add_edge_options(command, *o);
    add_model_options(command, *o);
    command.callback([o] { run(*o); });
#else
    command.allow_extras();
    command.callback([] {
        throw unsupported_error(
            "serve: this build has no server, because libmicrohttpd was not found: apt install libmicrohttpd-dev, and "
            "build again");
    });
#endif
}

}  // namespace vantage::cli
