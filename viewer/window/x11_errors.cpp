#include "viewer/window/x11_errors.h"

#include <dlfcn.h>

#include <cstdlib>

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

// Not by exit(): nothing that has a window can be destroyed without the server.
[[noreturn]] void end(const char* what) {
    log(LogLevel::error, "{}", what);
    std::_Exit(exit_code(ErrorKind::unsupported));
}

int on_error(void*, ErrorEvent* event) {
    if (event->code == bad_window || event->code == bad_drawable) end("the window was destroyed by another program");
    log(LogLevel::error, "X11 refuses a request (error {} of request {}.{})", static_cast<unsigned>(event->code),
        static_cast<unsigned>(event->request), static_cast<unsigned>(event->minor));
    std::_Exit(exit_code(ErrorKind::unsupported));
}

int on_lost_connection(void*) { end("the X server ended, or closed the connection of this window"); }

template <class Handler>
void set_handler(void* library, const char* function, Handler handler) {
    using Set = Handler (*)(Handler);
    if (const auto set = reinterpret_cast<Set>(::dlsym(library, function))) set(handler);
}

}  // namespace

void end_plainly_at_x11_errors() {
    void* const library = ::dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);  // null where GLFW has not loaded it
    if (library == nullptr) return;
    set_handler<ErrorHandler>(library, "XSetErrorHandler", on_error);
    set_handler<ConnectionHandler>(library, "XSetIOErrorHandler", on_lost_connection);
}

}  // namespace vantage::view
