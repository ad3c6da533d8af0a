#include "runtime/serve/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/serve/api_error.h"

namespace vantage::serve {

using namespace internal;

std::string HttpRequest::header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
}

namespace {

void strip_brackets(std::string& host) {
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
}

}  // namespace

bool is_numeric_address(std::string host) {
    strip_brackets(host);
    in6_addr address{};
    return ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool is_loopback(std::string host) {
    strip_brackets(host);
    in_addr four{};
    in6_addr six{};
    if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
    if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
    return host == "localhost";
}

namespace {

constexpr std::size_t stream_block = std::size_t{16} << 10;  // bytes that a stream hands over at once
constexpr double ping_seconds = 15;                          // of silence, after which a stream gets a comment
constexpr std::chrono::milliseconds between_looks(50);       // at connections whose client may have gone

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// A request and its answer. The connection is suspended while it has nothing to do; then the watcher looks whether the
/// client is there. `mutex_` guards what the thread of the connections and the others share.
class Exchange final : public Reply {
public:
    Exchange(MHD_Connection* connection, int socket, const std::atomic<bool>& stops)
        : connection_(connection), socket_(socket), stops_(stops) {}
    ~Exchange() override {
        if (response_ != nullptr) MHD_destroy_response(response_);
    }

    HttpRequest request;
    std::atomic<bool> complete = false;
    bool too_large = false;
    int socket() const { return socket_; }
    const double begun = seconds_now();

    // ---- any thread
    void send(int status, const std::string& type, std::string body, const Headers& headers) override {
        const std::lock_guard lock(mutex_);
        if (closed_ || response_ != nullptr) return;
        status_ = static_cast<unsigned>(status);
        response_ = MHD_create_response_from_buffer(body.size(), body.data(), MHD_RESPMEM_MUST_COPY);
        describe(type, headers);
        done_ = true;
        wake();
    }
    void begin_stream(const std::string& type, const Headers& headers) override {
        const std::lock_guard lock(mutex_);
        if (closed_ || response_ != nullptr) return;
        status_ = MHD_HTTP_OK;
        response_ = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, stream_block, &Exchange::read, this, nullptr);
        describe(type, headers);
        streams_ = true;
        last_written_ = last_taken_ = seconds_now();
        wake();
    }
    void write(std::string_view text) override {
        const std::lock_guard lock(mutex_);
        if (closed_ || done_) return;
        if (buffer_.empty()) last_taken_ = seconds_now();
        buffer_ += text;
        last_written_ = seconds_now();
        wake();
    }
    void finish() override {
        const std::lock_guard lock(mutex_);
        done_ = true;
        wake();
    }
    std::size_t untaken() const override {
        const std::lock_guard lock(mutex_);
        return buffer_.size() - taken_;
    }
    double stalled() const override {
        const std::lock_guard lock(mutex_);
        return buffer_.empty() ? 0 : seconds_now() - last_taken_;
    }
    bool is_closed() const override {
        const std::lock_guard lock(mutex_);
        return closed_;
    }
    void when_closed(std::function<void()> action) override {
        {
            const std::lock_guard lock(mutex_);
            if (!closed_) {
                on_closed_ = std::move(action);
                return;
            }
        }
        action();
    }

    // ---- the thread of the connections
    /// Queues the answer, or suspends the connection until there is one.
    MHD_Result answer() {
        const std::lock_guard lock(mutex_);
        if (response_ == nullptr && !stops_) {
            suspend();
            return MHD_YES;
        }
        if (closed_ || response_ == nullptr) return MHD_NO;
        return MHD_queue_response(connection_, status_, response_);
    }
    /// The connection ends, or its next request begins.
    void close(bool whole) {
        std::function<void()> action;
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            suspended_ = false;
            action = std::exchange(on_closed_, nullptr);
        }
        if (!whole && action) action();
    }

    // ---- the watcher
    /// The socket, if the watcher should look at it; else -1.
    int watched() {
        const std::lock_guard lock(mutex_);
        if (streams_ && !done_ && buffer_.empty() && seconds_now() - last_written_ > ping_seconds) {
            buffer_ = ": ping\n\n";
            last_written_ = last_taken_ = seconds_now();
            wake();
        }
        return suspended_ ? socket_ : -1;
    }
    void client_has_gone() {
        std::function<void()> action;
        {
            const std::lock_guard lock(mutex_);
            if (!suspended_) return;
            closed_ = true;
            action = std::exchange(on_closed_, nullptr);
            if (response_ == nullptr) {  // for nobody, but a connection needs one to end
                status_ = MHD_HTTP_SERVICE_UNAVAILABLE;
                response_ = MHD_create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT);
            }
            wake();
        }
        if (action) action();
    }

private:
    void describe(const std::string& type, const Headers& headers) {
        MHD_add_response_header(response_, MHD_HTTP_HEADER_CONTENT_TYPE, type.c_str());
        for (const auto& [name, value] : headers) MHD_add_response_header(response_, name.c_str(), value.c_str());
    }
    void suspend() {
        if (suspended_) return;
        suspended_ = true;
        MHD_suspend_connection(connection_);
    }
    void wake() {
        if (std::exchange(suspended_, false)) MHD_resume_connection(connection_);
    }
    static ssize_t read(void* self, std::uint64_t, char* to, std::size_t most) {
        return static_cast<Exchange*>(self)->take(to, most);
    }
    ssize_t take(char* to, std::size_t most) {
        const std::lock_guard lock(mutex_);
        if (closed_) return MHD_CONTENT_READER_END_WITH_ERROR;
        if (buffer_.empty()) {
            if (done_) return MHD_CONTENT_READER_END_OF_STREAM;
            if (stops_) return MHD_CONTENT_READER_END_WITH_ERROR;
            suspend();
            return 0;
        }
        const std::size_t count = std::min(most, buffer_.size() - taken_);
        std::memcpy(to, buffer_.data() + taken_, count);
        taken_ += count;
        if (taken_ == buffer_.size()) {
            buffer_.clear();
            taken_ = 0;
        }
        last_taken_ = seconds_now();
        return static_cast<ssize_t>(count);
    }

    mutable std::mutex mutex_;
    MHD_Connection* connection_;
    int socket_;
    const std::atomic<bool>& stops_;  // the server ends: nothing is suspended any more
    MHD_Response* response_ = nullptr;
    unsigned status_ = 0;
    std::string buffer_;
    std::size_t taken_ = 0;  // of the buffer
    double last_written_ = 0, last_taken_ = 0;
    bool streams_ = false, done_ = false, closed_ = false, suspended_ = false;
    std::function<void()> on_closed_;
};

class Socket : NotCopied {
public:
    explicit Socket(int fd) : fd_(fd) {}
    ~Socket() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

[[noreturn]] void cannot_listen(const std::string& where, int error) {
    throw usage_error("cannot listen at {}: {}{}", where, std::strerror(error),
                      error == EADDRINUSE ? "; give another --port" : "");
}

int listen_at(int family, const sockaddr* address, socklen_t bytes, const std::string& where) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (socket.get() < 0) cannot_listen(where, errno);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket.get(), address, bytes) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
        cannot_listen(where, errno);
    return socket.release();
}

int listen_at_path(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        throw usage_error("unix:{}: the path of a socket has 1 to {} bytes", path, sizeof address.sun_path - 1);
    std::ranges::copy(path, std::begin(address.sun_path));
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    struct stat there {};
    if (::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) {  // one that nobody listens at is replaced
        Socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (::connect(probe.get(), any, sizeof address) != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
    }
    return listen_at(AF_UNIX, any, sizeof address, "unix:" + path);
}

int listen_at_port(const std::string& host, int port) {
    const std::string where = format("{}:{}", host, port);
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0)
        throw usage_error("cannot listen at {}: {}", where, ::gai_strerror(code));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> freed(found, &::freeaddrinfo);
    return listen_at(found->ai_family, found->ai_addr, found->ai_addrlen, where);
}

int port_of(int socket) {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return 0;
    if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
    return 0;
}

MHD_Result note_header(void* to, MHD_ValueKind, const char* name, const char* value) {
    (*static_cast<std::map<std::string, std::string>*>(to))[lower(name)] = value == nullptr ? "" : value;
    return MHD_YES;
}

__attribute__((format(printf, 2, 0))) void log_line(void*, const char* text, va_list arguments) {
    std::array<char, 400> line{};
    std::vsnprintf(line.data(), line.size(), text, arguments);
    std::string message = line.data();
    message.erase(message.find_last_not_of('\n') + 1);
    log(LogLevel::debug, "http: {}", message);
}

}  // namespace

struct HttpServer::State {
    HttpOptions options;
    HttpCheck check;
    HttpHandler handler;
    std::atomic<bool> stops = false;
    std::atomic<std::size_t> body_bytes = 0;  // of all bodies that are being read
    std::string address, unix_path;
    int port = 0, socket = -1;
    MHD_Daemon* daemon = nullptr;
    bool listens = true;
    mutable std::mutex mutex;  // of `exchanges`
    std::set<std::shared_ptr<Exchange>> exchanges;
    std::jthread watcher;

    static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                                 const char*, const char* data, std::size_t* bytes, void** slot) {
        try {
            return static_cast<State*>(self)->on_data(connection, url, method, data, bytes, slot);
        } catch (const std::exception& error) {  // out of memory: this connection ends
            log(LogLevel::error, "serve: {}", error.what());
            return MHD_NO;
        }
    }
    static void on_end(void* self, MHD_Connection*, void** slot, MHD_RequestTerminationCode code) {
        static_cast<State*>(self)->end(slot, code);
    }

    /// What libmicrohttpd keeps for a request.
    struct Slot {
        std::shared_ptr<Exchange> exchange;
    };

    MHD_Result on_data(MHD_Connection* connection, const char* url, const char* method, const char* data,
                       std::size_t* bytes, void** slot) {
        if (*slot == nullptr) return begin(connection, url, method, slot);
        const std::shared_ptr<Exchange> exchange = static_cast<Slot*>(*slot)->exchange;
        if (*bytes > 0) {
            std::string& body = exchange->request.body;
            if (exchange->too_large) return MHD_NO;  // of unknown length: there is no end to wait for
            if (body.size() + *bytes > options.body_bytes || body_bytes + *bytes > options.all_bodies) {
                exchange->too_large = true;
                release(body);
            } else {
                body.append(data, *bytes);
                body_bytes += *bytes;
            }
            *bytes = 0;
            return MHD_YES;
        }
        if (!exchange->complete.exchange(true)) {
            body_bytes -= exchange->request.body.size();
            if (exchange->too_large)
                refuse_large(*exchange);
            else
                handler(std::move(exchange->request), exchange);
        }
        return exchange->answer();
    }

    void release(std::string& body) {
        body_bytes -= body.size();
        body = {};
    }
    void refuse_large(Exchange& exchange) const {
        const ApiError error(MHD_HTTP_CONTENT_TOO_LARGE,
                             format("the request's body is larger than {} bytes", options.body_bytes));
        exchange.send(error.status, "application/json", error.text(), {});
    }

    // A request that is refused by its first lines is answered before its body is read.
    MHD_Result begin(MHD_Connection* connection, const char* url, const char* method, void** slot) {
        const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        const auto exchange = std::make_shared<Exchange>(connection, info->connect_fd, stops);
        exchange->request.method = method;
        exchange->request.path = url;
        MHD_get_connection_values(connection, MHD_HEADER_KIND, note_header, &exchange->request.headers);
        if (options.host.starts_with("unix:")) exchange->request.headers["host"] = "localhost";
        *slot = new Slot{exchange};
        {
            const std::lock_guard lock(mutex);
            exchanges.insert(exchange);
        }
        const std::string length = exchange->request.header("content-length");
        std::uint64_t bytes = 0;
        std::from_chars(length.data(), length.data() + length.size(), bytes);
        if (bytes > options.body_bytes)
            refuse_large(*exchange);
        else if (check(exchange->request, exchange))
            return MHD_YES;
        exchange->complete = true;
        return exchange->answer();
    }

    void end(void** slot, MHD_RequestTerminationCode code) {
        const std::unique_ptr<Slot> ended(static_cast<Slot*>(std::exchange(*slot, nullptr)));
        if (!ended) return;
        if (!ended->exchange->complete) release(ended->exchange->request.body);
        ended->exchange->close(code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
        const std::lock_guard lock(mutex);
        exchanges.erase(ended->exchange);
    }

    // While an exchange is in the set, its socket is its own.
    void end_slow_bodies() {
        const std::lock_guard lock(mutex);
        for (const std::shared_ptr<Exchange>& exchange : exchanges)
            if (!exchange->complete && seconds_now() - exchange->begun > options.body_seconds)
                ::shutdown(exchange->socket(), SHUT_RDWR);
    }

    // libmicrohttpd doesn't look at suspended connections.
    void watch(const std::stop_token& stop) {
        std::vector<std::shared_ptr<Exchange>> some;
        std::vector<pollfd> sockets;
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(between_looks);
            some.clear(), sockets.clear();
            {
                const std::lock_guard lock(mutex);
                some.assign(exchanges.begin(), exchanges.end());
            }
            end_slow_bodies();
            for (const std::shared_ptr<Exchange>& exchange : some)
                sockets.push_back({.fd = exchange->watched(), .events = POLLRDHUP, .revents = 0});
            if (sockets.empty() || ::poll(sockets.data(), sockets.size(), 0) <= 0) continue;
            for (std::size_t i = 0; i < some.size(); ++i)
                if ((sockets[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) some[i]->client_has_gone();
        }
    }
};

HttpServer::HttpServer(const HttpOptions& options, HttpCheck check, HttpHandler handler)
    : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.options = options;
    s.check = std::move(check);
    s.handler = std::move(handler);
    constexpr std::string_view unix = "unix:";
    if (options.host.starts_with(unix)) {
        s.unix_path = options.host.substr(unix.size());
        s.socket = listen_at_path(s.unix_path);
        s.address = options.host;
    } else {
        s.socket = listen_at_port(options.host, options.port);
        s.port = port_of(s.socket);
        const bool six = options.host.find(':') != std::string::npos;
        s.address = format("http://{}{}{}:{}", six ? "[" : "", options.host, six ? "]" : "", s.port);
    }
    s.daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
                                nullptr, nullptr, &State::on_request, &s, MHD_OPTION_EXTERNAL_LOGGER, &log_line,
                                nullptr, MHD_OPTION_LISTEN_SOCKET, s.socket, MHD_OPTION_NOTIFY_COMPLETED,
                                &State::on_end, &s, MHD_OPTION_CONNECTION_LIMIT, options.connections,
                                MHD_OPTION_PER_IP_CONNECTION_LIMIT, s.unix_path.empty() ? options.per_address : 0u,
                                MHD_OPTION_CONNECTION_TIMEOUT, options.idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                options.header_bytes + stream_block + 4096, MHD_OPTION_END);
    if (s.daemon == nullptr) {
        ::close(s.socket);
        throw Error(ErrorKind::failure, "libmicrohttpd does not start");
    }
    s.watcher = std::jthread([&s](const std::stop_token& stop) { s.watch(stop); });
}

// libmicrohttpd asks for it that no connection is suspended when it stops.
HttpServer::~HttpServer() {
    State& s = *state_;
    stop_listening();
    s.watcher.request_stop();
    s.watcher.join();
    s.stops = true;
    std::vector<std::shared_ptr<Exchange>> left;
    {
        const std::lock_guard lock(s.mutex);
        left.assign(s.exchanges.begin(), s.exchanges.end());
    }
    for (const std::shared_ptr<Exchange>& exchange : left) exchange->client_has_gone();
    MHD_stop_daemon(s.daemon);
    if (!s.unix_path.empty()) ::unlink(s.unix_path.c_str());
}

const std::string& HttpServer::address() const { return state_->address; }
int HttpServer::port() const { return state_->port; }

void HttpServer::stop_listening() {
    if (!std::exchange(state_->listens, false)) return;
    const int socket = MHD_quiesce_daemon(state_->daemon);
    if (socket >= 0) ::close(socket);
}

std::size_t HttpServer::unanswered() const {
    const std::lock_guard lock(state_->mutex);
    return state_->exchanges.size();
}

}  // namespace vantage::serve
