// HTTP/1.1, without knowledge of what is served, but for the JSON of its own errors. All of libmicrohttpd is in
// http_server.cpp.
//
// One thread has the connections. It calls the handler when a request is complete, and never waits: a handler that
// needs time keeps the Reply, and another thread answers later.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/internal.h"

namespace vantage::serve {

struct HttpOptions {
    std::string host = "127.0.0.1";  ///< an address of this machine, or "unix:PATH"
    int port = 8080;                 ///< 0: a free one
    std::size_t body_bytes = std::size_t{8} << 20, header_bytes = std::size_t{16} << 10;
    std::size_t all_bodies = std::size_t{256} << 20;  ///< bytes of bodies that are being read, of all connections
    unsigned connections = 1024, per_address = 128, idle_seconds = 60;
    double body_seconds = 60;  ///< for a body to arrive
};

struct HttpRequest {
    std::string method, path, body;
    const char* label = "other";  ///< what metrics call the path: they do not keep what anybody asks for
    std::map<std::string, std::string> headers = {};  ///< names in lower case
    std::string header(const std::string& name) const;
};

/// The answer to a request, from any thread: `send` once, or `begin_stream` and then `write` until `finish`. After the
/// client has gone, calls do nothing.
class Reply : internal::NotCopied {
public:
    using Headers = std::map<std::string, std::string>;
    virtual ~Reply() = default;
    virtual void send(int status, const std::string& type, std::string body, const Headers& headers = {}) = 0;
    virtual void begin_stream(const std::string& type, const Headers& headers = {}) = 0;
    /// Throws nothing, waits for nothing: what the client has not taken is kept.
    virtual void write(std::string_view text) = 0;
    virtual void finish() = 0;
    /// Bytes that were written and that the client has not taken.
    virtual std::size_t untaken() const = 0;
    /// Seconds since the client last took something of a stream that has bytes for it; 0 while there are none.
    virtual double stalled() const = 0;
    virtual bool is_closed() const = 0;
    /// What to do when the client goes before the answer is complete: called once, in the thread of the connections; at
    /// once if that has happened. It must not wait.
    virtual void when_closed(std::function<void()> action) = 0;
};

/// Whether a host is this machine itself: localhost, 127.x.y.z or ::1, also in brackets; whether it is an address in
/// numbers.
bool is_loopback(std::string host);
bool is_numeric_address(std::string host);

using HttpHandler = std::function<void(HttpRequest&& request, const std::shared_ptr<Reply>& reply)>;

/// Looks at a request before its body is read. If it does not return true it has answered.
using HttpCheck = std::function<bool(HttpRequest& request, const std::shared_ptr<Reply>& reply)>;

class HttpServer : internal::NotCopied {
public:
    /// Listens from now on. Throws usage for an address that is not this machine's or that is taken.
    HttpServer(const HttpOptions& options, HttpCheck check, HttpHandler handler);
    ~HttpServer();
    /// Where it listens, "http://127.0.0.1:8080".
    const std::string& address() const;
    int port() const;
    /// Takes no new connections; those that are there go on.
    void stop_listening();
    /// Connections whose request is not answered yet.
    std::size_t unanswered() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::serve
