#include "runtime/bench/load/serve_bench.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"

namespace vantage::internal {

namespace {

constexpr long connect_seconds = 10, request_seconds = 3600;

void require(CURLcode code, const std::string& address) {
    if (code != CURLE_OK) throw Error(ErrorKind::failure, format("{}: {}", address, curl_easy_strerror(code)));
}

/// A connection that is kept between requests. One thread at a time.
class Connection {
public:
    Connection(std::string address, const std::string& key) : address_(std::move(address)), handle_(curl_easy_init()) {
        if (!handle_) throw Error(ErrorKind::out_of_memory, "no memory for an HTTP client");
        curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
        headers = curl_slist_append(headers, "Expect:");  // bodies are sent at once
        if (!key.empty()) headers = curl_slist_append(headers, ("Authorization: Bearer " + key).c_str());
        headers_.reset(headers);
        set(CURLOPT_HTTPHEADER, headers_.get());
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_PROXY, "");  // a proxy of the environment would be measured, too
        set(CURLOPT_CONNECTTIMEOUT, connect_seconds);
        set(CURLOPT_TIMEOUT, request_seconds);
        set(CURLOPT_WRITEFUNCTION, &Connection::take);
        set(CURLOPT_WRITEDATA, this);
        set(CURLOPT_NOPROGRESS, 0L);
        set(CURLOPT_XFERINFOFUNCTION, &Connection::look_at_signals);
    }

    /// The status; `on_data` is called with each piece of the answer. An empty body: GET. Throws failure, interrupted.
    long ask(const std::string& path, const std::string& body, std::function<void(std::string_view)> on_data) {
        on_data_ = std::move(on_data);
        set(CURLOPT_URL, (address_ + path).c_str());
        if (body.empty()) {
            set(CURLOPT_HTTPGET, 1L);
        } else {
            set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
            set(CURLOPT_POSTFIELDS, body.c_str());
        }
        CURLcode code = curl_easy_perform(handle_.get());
        throw_if_interrupted();
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
        if (code == CURLE_SEND_ERROR) code = curl_easy_perform(handle_.get());  // the server had closed the connection
        require(code, address_ + path);
        long status = 0;
        curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
        return status;
    }

private:
    template <class Value>
    void set(CURLoption option, Value value) {
        require(curl_easy_setopt(handle_.get(), option, value), address_);
    }
    // Nothing may be thrown through libcurl.
    static std::size_t take(char* data, std::size_t size, std::size_t count, void* self) {
        auto& own = *static_cast<Connection*>(self);
        try {
            own.on_data_({data, size * count});
            return size * count;
        } catch (...) {
            own.thrown_ = std::current_exception();
            return 0;
        }
    }
    static int look_at_signals(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return interrupted() ? 1 : 0; }

    struct Free {
        void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
        void operator()(curl_slist* list) const { curl_slist_free_all(list); }
    };
    std::string address_;
    std::unique_ptr<CURL, Free> handle_;
    std::unique_ptr<curl_slist, Free> headers_;
    std::function<void(std::string_view)> on_data_;
    std::exception_ptr thrown_;
};

/// The JSON of an answer. Throws failure for another status than 200.
Json answer_of(Connection& connection, const std::string& name, const std::string& path) {
    std::string text;
    const long status = connection.ask(path, "", [&](std::string_view more) { text += more; });
    if (status != 200) throw Error(ErrorKind::failure, format("{}{} answers with {}", name, path, status));
    return parse_json(text, name + path);
}

/// Events of a stream as they come: the lines that begin with "data:".
class EventTimes {
public:
    EventTimes(RequestTimes& times, double sent) : times_(times), sent_(sent), last_(sent) {}

    void take(std::string_view piece) {
        text_ += piece;
        for (std::size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1))
            take_line(std::string_view(text_).substr(0, end));
    }
    /// What came is no stream, but an error.
    const std::string& rest() const { return text_; }

private:
    void take_line(std::string_view line) {
        constexpr std::string_view mark = "data:";
        if (!line.starts_with(mark)) return;
        const Json event = Json::parse(line.substr(mark.size()), nullptr, false);
        if (!event.is_object()) return;
        if (event.contains("error")) times_.error = event["error"].dump();
        const Json usage = event.value("usage", Json()), choices = event.value("choices", Json());
        if (usage.is_object() && usage.value("completion_tokens", Json()).is_number_integer())
            times_.tokens = usage["completion_tokens"];
        if (!choices.is_array() || choices.empty() || !choices[0].is_object()) return;
        const Json text = choices[0].value("text", Json());
        if (!text.is_string() || text.get_ref<const std::string&>().empty()) return;
        const double now = seconds_now();
        if (times_.first == 0)
            times_.first = now - sent_;
        else
            times_.gaps.push_back(now - last_);
        last_ = now;
    }

    RequestTimes& times_;
    double sent_, last_;
    std::string text_;
};

std::string body_of(const ServeLoad& load, std::int64_t number) {
    std::mt19937_64 shared(load.seed), own(load.seed + 1 + static_cast<std::uint64_t>(number));
    const std::int64_t least = load.vocab / 10;  // below there are special tokens
    const auto draw = [&](std::mt19937_64& random) {
        return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(load.vocab - 2 * least));
    };
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < load.prefix; ++i) ids.push_back(draw(shared));
    for (std::int64_t i = 0; i < load.prompt; ++i) ids.push_back(draw(own));
    return Json{{"model", load.model},
                {"prompt", ids},
                {"max_tokens", load.answer},
                {"ignore_eos", true},
                {"temperature", load.temperature},
                {"seed", number},
                {"stream", true},
                {"stream_options", {{"include_usage", true}}}}
        .dump();
}

RequestTimes times_of(Connection& connection, const std::string& body) {
    RequestTimes times;
    EventTimes events(times, seconds_now());
    try {
        const long status = connection.ask("/v1/completions", body, [&](std::string_view more) { events.take(more); });
        if (status != 200) times.error = format("status {}: {}", status, events.rest());
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        times.error = error.what();
    }
    if (times.error.empty() && times.tokens == 0) times.error = "the answer has no tokens";
    return times;
}

// When requests come, in seconds from the start: at once, or with exponentially distributed times between them.
std::vector<double> arrivals(const ServeLoad& load) {
    std::vector<double> all(static_cast<std::size_t>(load.requests));
    if (!load.rate) return all;
    std::mt19937_64 random(load.seed);
    std::exponential_distribution<double> between(*load.rate);
    double now = 0;
    for (double& time : all) time = now += between(random);
    return all;
}

double quantile(std::vector<double> values, double share) {
    if (values.empty()) return std::nan("");
    const auto at = std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())));
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
    return values[at];
}

}  // namespace

ServedFacts ask_server(const std::string& address, const std::string& key) {
    Connection connection(address, key);
    const Json models = answer_of(connection, address, "/v1/models");
    const Json list = models.is_object() ? models.value("data", Json()) : Json();
    if (!list.is_array() || list.empty() || !list[0].is_object())
        throw bad_file_error("{}/v1/models: it names no model", address);
    const Json meta = list[0].value("meta", Json::object());
    ServedFacts facts{.model = list[0].value("id", std::string())};
    for (const char* name : {"vocabulary", "n_vocab"})  // ours, llama.cpp's
        if (meta.is_object() && meta.value(name, Json()).is_number_integer()) facts.vocab = meta[name];
    return facts;
}

ServeTimes send_load(const ServeLoad& load, const std::function<void(std::int64_t done)>& progress) {
    const std::vector<double> times = arrivals(load);
    ServeTimes all{.requests = std::vector<RequestTimes>(times.size()), .health = {}};
    std::atomic<std::size_t> next = 0, done = 0;
    std::atomic<double> last_answer = 0;
    const double start = seconds_now();
    const auto now = [start] { return seconds_now() - start; };
    const auto client = [&] {
        std::optional<Connection> connection;
        for (std::size_t i; (i = next++) < times.size() && !interrupted(); ++done) {
            const std::string body = body_of(load, static_cast<std::int64_t>(i));
            while (now() < times[i] && !interrupted())
                std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.02, times[i] - now())));
            const double waited = load.rate ? now() - times[i] : 0;
            try {
                if (!connection) connection.emplace(load.address, load.key);
                all.requests[i] = times_of(*connection, body);
            } catch (const std::exception& error) {
                all.requests[i].error = error.what();
            }
            all.requests[i].waited = waited;
            last_answer = now();
        }
    };
    {
        std::vector<std::jthread> clients;
        for (std::int64_t i = 0; i < load.clients; ++i) clients.emplace_back(client);
        Connection connection(load.address, load.key);
        while (done < times.size() && !interrupted()) {
            constexpr std::chrono::milliseconds between(20);
            std::this_thread::sleep_for(between);
            progress(static_cast<std::int64_t>(done));
            const double asked = seconds_now();
            try {
                connection.ask("/health", "", [](std::string_view) {});
                all.health.push_back(seconds_now() - asked);
            } catch (const Error&) {  // also Ctrl-C, which is seen below
                all.health.push_back(std::numeric_limits<double>::infinity());
            }
        }
    }
    throw_if_interrupted();
    all.seconds = last_answer;
    return all;
}

void add_row(Report& report, const ServeLoad& load, const ServeTimes& times) {
    std::vector<double> first, gaps;
    std::int64_t failed = 0, generated = 0, good = 0, interactive = 0;
    for (const RequestTimes& one : times.requests) {
        if (!one.error.empty()) {
            if (failed++ == 0) report.note("! A request failed: " + cut_short(escape_controls(one.error), 300));
            continue;
        }
        const double until_first = one.waited + one.first;
        const double between = std::accumulate(one.gaps.begin(), one.gaps.end(), 0.0),
                     gap = one.tokens < 2 ? 0 : between / static_cast<double>(one.tokens - 1);
        first.push_back(until_first);
        gaps.insert(gaps.end(), one.gaps.begin(), one.gaps.end());
        generated += one.tokens;
        good += until_first <= 2 && gap <= 0.2 ? 1 : 0;
        interactive += until_first <= 0.45 && gap <= 0.04 ? 1 : 0;
    }
    const std::int64_t count = std::ssize(times.requests), read = (count - failed) * (load.prefix + load.prompt);
    const auto share = [&](std::int64_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(count); };
    ReportRow& row = report.row();
    row.set("clients", load.clients);
    if (load.rate) row.set("rate_per_s", *load.rate);
    row.set("requests", count).set("failed", failed);
    row.set("t_per_s", static_cast<double>(generated) / times.seconds);
    row.set("total_t_per_s", static_cast<double>(generated + read) / times.seconds);
    for (const auto& [name, values] : {std::pair{"first", &first}, {"gap", &gaps}})
        for (const auto& [suffix, at] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}})
            row.set(format("{}_{}_ms", name, suffix), 1e3 * quantile(*values, at));
    row.set("good_percent", share(good)).set("interactive_percent", share(interactive));
    row.set("health_p99_ms", 1e3 * quantile(times.health, 0.99));
}

}  // namespace vantage::internal
