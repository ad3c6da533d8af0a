// HTTP and JSON of `vantage serve`, without a model.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <thread>

#include "expect_error.h"
#include "runtime/serve/http_server.h"
#include "runtime/serve/logprobs.h"
#include "runtime/serve/metrics.h"
#include "runtime/serve/request_fields.h"
#include "runtime/serve/text_request.h"
#include "runtime/serve/tools.h"
#include "temporary_directory.h"

using namespace vantage;
using namespace vantage::test;
using serve::ApiError;
using serve::chat_messages;
using serve::choice_seed;
using serve::Histogram;
using serve::HttpOptions;
using serve::HttpRequest;
using serve::HttpServer;
using serve::Logprobs;
using serve::Metrics;
using serve::parse_object;
using serve::Reply;
using serve::RequestFields;
using serve::token_ids;
using serve::TokenLogprob;

namespace {

/// A client that says exactly these bytes.
class Client {
public:
    explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    explicit Client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::ranges::copy(path, std::begin(address.sun_path));
        connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    ~Client() { close(); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    bool is_connected() const { return connected_; }
    Client& say(const std::string& text) {
        ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        return *this;
    }
    Client& ask(const std::string& path, const std::string& body = {}) {
        const std::string length = std::to_string(body.size());
        return say((body.empty() ? "GET " : "POST ") + path +
                   " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + "\r\n\r\n" + body);
    }
    /// What comes until `end` is in it, or the connection ends.
    std::string hear(const std::string& end) {
        timeval limit{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        char some[4096];
        while (heard_.find(end) == std::string::npos) {
            const ssize_t count = ::recv(socket_, some, sizeof some, 0);
            if (count <= 0) break;
            heard_.append(some, static_cast<std::size_t>(count));
        }
        return heard_;
    }
    void close() {
        if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    }

private:
    int socket_;
    bool connected_ = false;
    std::string heard_;
};

void wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(holds());
}

bool all_may(HttpRequest&, const std::shared_ptr<Reply>&) { return true; }
HttpOptions any_port() { return {.port = 0, .body_bytes = 1000}; }

/// An ApiError 400 about this field.
template <class Action>
void expect_refusal(const std::string& param, Action action) {
    try {
        action();
    } catch (const ApiError& error) {
        CHECK(error.status == 400);
        CHECK(error.param == param);
        CHECK(error.json()["error"]["type"] == "invalid_request_error");
        return;
    }
    FAIL("nothing was thrown");
}

}  // namespace

TEST_CASE("a server answers from other threads, at once or in a stream", "[serve]") {
    std::vector<std::jthread> threads;
    HttpServer server(any_port(), all_may, [&](HttpRequest&& request, const std::shared_ptr<Reply>& reply) {
        if (request.path == "/now") return reply->send(200, "text/plain", request.method + " " + request.body);
        threads.emplace_back([reply, path = request.path] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (path == "/later") return reply->send(404, "text/plain", "late", {{"X-A", "b"}});
            reply->begin_stream("text/event-stream");
            for (int i = 0; i < 3; ++i) {
                reply->write("data: " + std::to_string(i) + "\n\n");
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
            reply->finish();
        });
    });
    Client client(server.port());
    CHECK(contains(client.ask("/now", "body").hear("body"), "POST body"));
    const std::string late = client.ask("/later").hear("late");  // on the same connection
    CHECK(contains(late, "HTTP/1.1 404"));
    CHECK(contains(late, "X-A: b"));
    const std::string stream = Client(server.port()).ask("/stream").hear("\r\n0\r\n\r\n");
    CHECK(contains(stream, "text/event-stream"));
    for (const char* event : {"data: 0\n\n", "data: 1\n\n", "data: 2\n\n"}) CHECK(contains(stream, event));
    wait_until([&] { return server.unanswered() == 0; });
}

TEST_CASE("a client that goes is noticed before its answer and amid it", "[serve]") {
    std::atomic<int> gone = 0, closed = 0;
    std::vector<std::shared_ptr<Reply>> replies;
    std::mutex mutex;
    HttpServer server(any_port(), all_may, [&](HttpRequest&& request, const std::shared_ptr<Reply>& reply) {
        reply->when_closed([&] { ++gone; });
        if (request.path == "/stream") {
            reply->begin_stream("text/event-stream");
            reply->write("data: first\n\n");
        }
        const std::lock_guard lock(mutex);
        replies.push_back(reply);
    });
    {
        Client waits(server.port()), reads(server.port());
        waits.ask("/never");
        CHECK(contains(reads.ask("/stream").hear("first"), "data: first"));
        wait_until([&] { return server.unanswered() == 2; });
        CHECK(gone == 0);
    }
    wait_until([&] { return gone == 2; });
    wait_until([&] { return server.unanswered() == 0; });
    const std::lock_guard lock(mutex);
    for (const auto& reply : replies) {
        CHECK(reply->is_closed());
        reply->write("more");  // to nobody
        reply->send(200, "text/plain", "more");
        reply->finish();
        reply->when_closed([&] { ++closed; });  // at once
    }
    CHECK(closed == 2);
}

TEST_CASE("what a slow client has not taken is known", "[serve]") {
    std::shared_ptr<Reply> stream;
    std::atomic<bool> begun = false;
    HttpServer server(any_port(), all_may, [&](HttpRequest&&, const std::shared_ptr<Reply>& reply) {
        stream = reply;
        stream->begin_stream("text/event-stream");
        begun = true;
    });
    Client client(server.port());
    client.ask("/stream");
    wait_until([&] { return begun.load(); });
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 16; ++i) stream->write(block);  // more than the system keeps for a socket
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(stream->untaken() > block.size());
    CHECK(stream->stalled() > 0.05);
    stream->write("end");
    stream->finish();
    CHECK(contains(client.hear("end"), "end"));
    CHECK(stream->untaken() == 0);
}

TEST_CASE("bodies and headers beyond their limits are refused, broken ones too", "[serve]") {
    std::atomic<int> handled = 0;
    HttpServer server(any_port(), all_may, [&](HttpRequest&&, const std::shared_ptr<Reply>& reply) {
        ++handled;
        reply->send(200, "text/plain", "done");
    });
    CHECK(contains(Client(server.port()).ask("/", std::string(1001, 'x')).hear("larger than"), "HTTP/1.1 413"));
    CHECK(contains(Client(server.port()).ask("/", std::string(1000, 'x')).hear("done"), "HTTP/1.1 200"));
    CHECK(handled == 1);
    const std::string header = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'y') + "\r\n\r\n";
    const std::string refusal = Client(server.port()).say(header).hear("\r\n\r\n");
    CHECK((contains(refusal, " 431 ") || contains(refusal, " 413 ")));
    CHECK(!contains(Client(server.port()).say("nonsense\r\n\r\n").hear("\r\n\r\n"), " 200 "));
    CHECK(handled == 1);
}

TEST_CASE("an address that is taken is a usage error, a path of a socket is freed", "[serve]") {
    const auto answer = [](HttpRequest&& request, const std::shared_ptr<Reply>& reply) {
        reply->send(200, "text/plain", "host " + request.header("host"));
    };
    HttpServer first(any_port(), all_may, answer);
    HttpOptions taken = any_port();
    taken.port = first.port();
    expect_error(ErrorKind::usage, {"cannot listen at 127.0.0.1:", "--port"},
                 [&] { HttpServer second(taken, all_may, answer); });
    HttpOptions nowhere = any_port();
    nowhere.host = "203.0.113.1";
    expect_error(ErrorKind::usage, {"cannot listen at 203.0.113.1"},
                 [&] { HttpServer second(nowhere, all_may, answer); });
    const TemporaryDirectory folder;
    const std::string path = folder.path() + "/socket";
    HttpOptions local;
    local.host = "unix:" + path;
    for (int i = 0; i < 2; ++i) {
        HttpServer server(local, all_may, answer);
        CHECK(contains(Client(path).ask("/").hear("host"), "host localhost"));
    }
    CHECK(!Client(path).is_connected());
    first.stop_listening();
    CHECK(!Client(first.port()).is_connected());
}

TEST_CASE("fields of a request say what is wrong about them", "[serve]") {
    const serve::Json object = parse_object(
        R"({"n": 3, "big": 99, "text": "a", "half": 0.5, "yes": true, "list": ["a", "b"], "none": null, "more": 1})");
    RequestFields fields(object);
    CHECK(fields.integer("n", 1, 16) == 3);
    CHECK(fields.integer("none", 1, 16) == std::nullopt);
    CHECK(fields.integer("absent", 1, 16) == std::nullopt);
    CHECK(fields.number("half", 0, 1) == 0.5);
    CHECK(fields.number("n", 0, 5) == 3);
    CHECK(fields.boolean("yes") == true);
    CHECK(fields.text("text") == "a");
    CHECK(fields.texts("text", 4) == std::vector<std::string>{"a"});
    CHECK(fields.texts("list", 2).size() == 2);
    expect_refusal("big", [&] { fields.integer("big", 1, 16); });
    expect_refusal("half", [&] { fields.integer("half", 0, 1); });
    expect_refusal("text", [&] { fields.number("text", 0, 1); });
    expect_refusal("n", [&] { fields.boolean("n"); });
    expect_refusal("n", [&] { fields.text("n"); });
    expect_refusal("list", [&] { fields.texts("list", 1); });
    expect_refusal("n", [&] { fields.refuse("n", {0, 0.0}, "is not supported"); });
    fields.refuse("n", {3}, "is not supported");
    fields.refuse("absent", {}, "is not supported");
    CHECK(fields.unknown() == std::vector<std::string>{"more"});
    for (const char* broken : {"", "{", "[]", "3", "{\"a\": 1} x", "\"text\""})
        expect_refusal("", [&] { parse_object(broken); });
    expect_refusal("", [&] { parse_object(std::string(300, '[') + std::string(300, ']')); });
    CHECK(token_ids(serve::Json{1, 2}, "prompt") == std::vector<std::int32_t>{1, 2});
    for (const serve::Json& wrong : {serve::Json(-1), serve::Json(1.5), serve::Json("a"), serve::Json(4294967296)})
        expect_refusal("prompt", [&] { token_ids(serve::Json::array({wrong}), "prompt"); });
    const serve::Json seeds = parse_object(R"({"a": -5, "b": 18446744073709551615})");
    CHECK(RequestFields(seeds).integer("a", INT64_MIN, INT64_MAX) == -5);
    expect_refusal("b", [&] { RequestFields(seeds).integer("b", INT64_MIN, INT64_MAX); });
}

TEST_CASE("messages reach the template with known roles and content as text", "[serve]") {
    const serve::Json messages = chat_messages(serve::Json::parse(R"([
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "name": "x"},
        {"role": "assistant", "content": null}])"));
    CHECK(messages[0] == serve::Json{{"role", "system"}, {"content", "be brief"}});
    CHECK(messages[1]["content"] == "ab");
    CHECK(messages[1]["name"] == "x");
    CHECK(messages[2]["content"] == "");
    expect_refusal("messages", [] { chat_messages(serve::Json::array()); });
    expect_refusal("messages", [] { chat_messages(serve::Json("hi")); });
    expect_refusal("messages[0]", [] { chat_messages(serve::Json::array({3})); });
    expect_refusal("messages[0].role",
                   [] { chat_messages(serve::Json::parse(R"([{"role": "king", "content": "a"}])")); });
    expect_refusal("messages[0].content", [] {
        chat_messages(serve::Json::parse(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])"));
    });
    CHECK(choice_seed(7, 0) == 7);
    CHECK(choice_seed(7, 1) != choice_seed(7, 2));
}

TEST_CASE("logarithms of probabilities are those of the softmax, also far from 0", "[serve]") {
    const std::vector<float> logits = {1, 3, 2, 1000, 999};
    const Logprobs all(logits);
    const double sum = std::exp(-999.0) + std::exp(-997.0) + std::exp(-998.0) + 1 + std::exp(-1.0);
    CHECK(all.of(3) == Catch::Approx(-std::log(sum)));
    CHECK(all.of(4) == Catch::Approx(-1 - std::log(sum)));
    CHECK(all.of(0) == Catch::Approx(-999 - std::log(sum)));
    const std::vector<TokenLogprob> top = all.largest(2, 0);
    REQUIRE(top.size() == 3);
    CHECK((top[0].id == 3 && top[1].id == 4 && top[2].id == 0));
    CHECK(all.largest(2, 4).size() == 2);
    CHECK(all.largest(0, 4).empty());
    CHECK(all.largest(9, 4).size() == 5);
}

TEST_CASE("metrics count as Prometheus reads them", "[serve]") {
    Histogram histogram({1, 2});
    for (const double x : {0.5, 1.0, 1.5, 7.0}) histogram.add(x);
    CHECK(histogram.text("gap_seconds", "A gap.") ==
          "# HELP vantage_gap_seconds A gap.\n# TYPE vantage_gap_seconds histogram\n"
          "vantage_gap_seconds_bucket{le=\"1\"} 2\nvantage_gap_seconds_bucket{le=\"2\"} 3\n"
          "vantage_gap_seconds_bucket{le=\"+Inf\"} 4\nvantage_gap_seconds_sum 10\nvantage_gap_seconds_count 4\n");
    Metrics metrics;
    metrics.note_request("/v1/completions", 200);
    metrics.note_request("/v1/completions", 200);
    metrics.note_request("/a\"b", 404);
    const std::string page = metrics.text(nullptr);
    CHECK(contains(page, "vantage_requests_total{path=\"/v1/completions\",code=\"200\"} 2\n"));
    CHECK(contains(page, "vantage_requests_total{path=\"/a\\\"b\",code=\"404\"} 1\n"));
}

TEST_CASE("functions are read with the schemas of their arguments, within limits", "[serve]") {
    const auto tools_of = [](const std::string& parameters, const std::string& more = "") {
        const serve::Json body = serve::Json::parse(R"({"tools": [{"type": "function", "function": {"name": "f", )" +
                                                    more + R"("parameters": )" + parameters + "}}]}");
        RequestFields fields(body);
        return serve::parse_tools(fields);
    };
    CHECK(tools_of("{}").left_out.empty());
    CHECK(tools_of(R"({"type": ["object", "null"], "properties": {"a": {"type": "any", "x-y": 1}}})").left_out.size() ==
          2);
    CHECK(tools_of(R"({"properties": {"a": {"type": "string", "maxLength": 20000}}})").left_out.size() == 1);
    CHECK(tools_of(R"({"properties": {"a": {"$ref": "https://example.com/a"}}})").left_out.size() == 1);
    const std::string place = "tools[0].function.parameters";
    for (const char* wrong :
         {R"({"enum": ["a"]})", R"({"const": 1})", R"({"type": "string"})", R"({"anyOf": [{"type": "null"}]})"})
        expect_refusal(place, [&] { tools_of(wrong); });
    expect_refusal(place, [&] {
        tools_of(R"({"properties": {"a": {"type": "number", "multipleOf": 2}}})", R"("strict": true, )");
    });
    std::string many, large;
    for (int i = 0; i < 500; ++i) many += (i > 0 ? ", " : "") + std::string("\"x") + std::to_string(i) + "\": 1";
    expect_refusal(place, [&] { tools_of("{" + many + "}"); });
    for (int i = 0; i < 16; ++i)
        large += (i > 0 ? ", " : "") + std::string("\"p") + std::to_string(i) +
                 R"(": {"type": "string", "maxLength": 9990})";
    CHECK_THROWS_AS(tools_of(R"({"properties": {)" + large + "}}"), ApiError);
}
