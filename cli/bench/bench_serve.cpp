// vantage bench serve: a server under load.
#include <algorithm>
#include <memory>
#include <random>

#include "cli/bench/bench.h"
#include "cli/shared/commands.h"
#include "cli/shared/progress.h"
#include "runtime/base/files.h"
#include "runtime/base/format.h"
#ifdef VANTAGE_SENDS_LOAD
#include "runtime/bench/load/serve_bench.h"
#endif

namespace vantage::cli {

#ifdef VANTAGE_SENDS_LOAD

namespace {

struct BenchServeOptions {
    BenchOutput output;
    ServeLoad load{.address = "http://127.0.0.1:8080"};
    std::vector<std::int64_t> clients{1, 4, 16, 64};
    std::int64_t requests = 0;
    double rate = 0;
    std::string key_file;
};

void run(BenchServeOptions& o) {
    o.output.check();
    if (!o.key_file.empty()) {
        o.load.key = read_file(o.key_file, std::size_t{1} << 20);
        o.load.key.erase(std::min(o.load.key.find_first_of("\r\n"), o.load.key.size()));
    }
    while (o.load.address.ends_with('/')) o.load.address.pop_back();
    const ServedFacts facts = ask_server(o.load.address, o.load.key);
    o.load.model = facts.model;
    if (o.load.vocab == 0) o.load.vocab = facts.vocab;
    if (o.load.vocab < 10)
        throw usage_error("bench serve: {} does not say how large the vocabulary is: give --vocab", o.load.address);
    if (o.rate > 0) o.load.rate = o.rate;
    Report report("serve",
                  {{"name", facts.model}, {"driver", "server"}, {"driver_version", o.load.address}, {"uuid", ""}});
    report.note(format("Prompts of {} tokens, answers of {}.", o.load.prefix + o.load.prompt, o.load.answer));
    o.load.seed = std::random_device()();  // a server may keep the prompts of the last run
    Progress progress;
    std::int64_t unanswered = 0;
    const auto measure = [&] {
        for (const std::int64_t clients : o.clients) {
            o.load.clients = clients;
            o.load.requests = o.requests > 0 ? o.requests : std::max<std::int64_t>(4, 3 * clients);
            o.load.seed += 1'000'000;  // no prompt comes twice
            const ServeTimes times = send_load(o.load, [&](std::int64_t done) {
                progress.show(format("{} clients: {} of {} requests", clients, done, o.load.requests));
            });
            add_row(report, o.load, times);
            if (std::ranges::none_of(times.requests, &std::string::empty, &RequestTimes::error)) ++unanswered;
        }
        progress.clear();
    };
    measure_and_write(report, measure, [&] { o.output.write(report); });
    if (unanswered > 0)
        throw Error(ErrorKind::failure,
                    format("bench serve: {} answered no request of {} rows", o.load.address, unanswered));
}

}  // namespace

void add_bench_serve(CLI::App& bench) {
    auto o = std::make_shared<BenchServeOptions>();
    CLI::App& command = add_command(
        bench, "serve", "Measure a server that speaks OpenAI's API under load",
        "Clients send prompts of random tokens, each one after the other, and read the streams. Columns: tokens "
        "generated (and with those of prompts) a second, time to the first token, time between pieces of an answer, "
        "requests within MLPerf's limits (2 s and 200 ms; interactive: 450 ms and 40 ms), and GET /health meanwhile.\n"
        "Example: vantage serve --port 8080 & vantage bench serve --clients 1,16");
    command.add_option("url", o->load.address, "Address of the server")->option_text("URL")->capture_default_str();
    command.add_option("--clients", o->clients, "Clients at once, a row each")
        ->option_text("N,N,…")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command.add_option("--requests", o->requests, "Requests of each row; default: 3 of each client")
        ->option_text("N")
        ->check(CLI::Range(1, 1'000'000));
    command.add_option("--rate", o->rate, "Requests come at random times (Poisson), N a second")
        ->option_text("N")
        ->check(CLI::Range(0.001, 1e6));
    command.add_option("--prompt", o->load.prompt, "Tokens of a prompt")
        ->option_text("N")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    command.add_option("--prefix", o->load.prefix, "Tokens before them that all prompts share")
        ->option_text("N")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
    command.add_option("-n", o->load.answer, "Tokens of an answer")
        ->option_text("N")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    command.add_option("--temp", o->load.temperature, "Temperature of the answers")
        ->option_text("T")
        ->check(CLI::Range(0.0, 1000.0))
        ->capture_default_str();
    command.add_option("--vocab", o->load.vocab, "Tokens of the vocabulary, where the server does not say")
        ->option_text("N");
    command.add_option("--api-key-file", o->key_file, "File whose first line is the API key")->option_text("FILE");
    add_bench_output(command, o->output);
    command.callback([o] { run(*o); });
}

#else

void add_bench_serve(CLI::App& bench) {
    CLI::App& command = add_command(bench, "serve", "Measure a server under load (not in this build)",
                                    "It needs libcurl: apt install libcurl4-openssl-dev, and build again.");
    command.allow_extras();
    command.callback([] {
        throw unsupported_error(
            "bench serve: this build has no HTTP client, because libcurl was not found: apt install "
            "libcurl4-openssl-dev, and build again");
    });
}

#endif

}  // namespace vantage::cli
