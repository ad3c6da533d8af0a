#include "viewer/window/x11_errors.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "runtime/base/log.h"
#include "vantage/error.h"

namespace vantage::view {

namespace {

// Of Xlib, whose headers are not needed to build.
struct ErrorEvent {
    int type;
    void* display;
    unsigned long resource, serial;
    unsigned char code, request, minor;
};
using ErrorHandler = int (*)(void*, ErrorEvent*);
using ConnectionHandler = int (*)(void*);
constexpr unsigned char bad_window = 3, bad_drawable = 9;

std::function<int()> work_left;

// Not by exit(): nothing that has a window can be destroyed without the server.
[[noreturn]] void end(const std::string& what) {
    log(LogLevel::error, "{}", what);
    const int code = work_left ? work_left() : exit_code(ErrorKind::unsupported);
    std::fflush(stdout);
    std::_Exit(code);
}

int on_error(void*, ErrorEvent* event) {
    if (event->code == bad_window || event->code == bad_drawable) end("the window was destroyed by another program");
    end(format("X11 refuses a request (error {} of request {}.{})", static_cast<unsigned>(event->code),
               static_cast<unsigned>(event->request), static_cast<unsigned>(event->minor)));
}

int on_lost_connection(void*) { end("the X server ended, or closed the connection of this window"); }

template <class Handler>
void set_handler(void* library, const char* function, Handler handler) {
    using Set = Handler (*)(Handler);
    if (const auto set = reinterpret_cast<Set>(::dlsym(library, function))) set(handler);
}

}  // namespace

void finish_before_x11_ends(std::function<int()> work) { work_left = std::move(work); }

void end_plainly_at_x11_errors() {
    void* const library = ::dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);  // null where GLFW has not loaded it
    if (library == nullptr) return;
    set_handler<ErrorHandler>(library, "XSetErrorHandler", on_error);
    set_handler<ConnectionHandler>(library, "XSetIOErrorHandler", on_lost_connection);
}

}  // namespace vantage::view
