// A display in memory (Xvfb) for tests that open windows.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

/// DISPLAY names it for the life of the object. `there` is false if Xvfb is not installed. Throws if it does not start.
class VirtualDisplay {
public:
    VirtualDisplay() {
        int ends[2];
        if (::pipe(ends) != 0) return;
        const std::string number = std::to_string(ends[1]);
        child_ = ::fork();
        if (child_ == 0) {
            ::close(ends[0]);
            ::dup2(::open("/dev/null", O_RDWR), STDERR_FILENO);
            ::execlp("Xvfb", "Xvfb", "-displayfd", number.c_str(), "-screen", "0", "1600x1200x24", "-nolisten", "tcp",
                     "-noreset",
                     static_cast<char*>(nullptr));  // -noreset: else a test between two windows could open none
            ::_exit(errno == ENOENT ? not_installed : 1);
        }
        ::close(ends[1]);
        std::string display;
        char c = 0;
        while (::read(ends[0], &c, 1) == 1 && c != '\n') display += c;
        ::close(ends[0]);
        there = !display.empty();
        if (there)
            ::setenv("DISPLAY", (":" + display).c_str(), 1);
        else
            check_exit();
        // With these GLFW could open windows on the user's desktop.
        ::unsetenv("WAYLAND_DISPLAY");
        ::unsetenv("XDG_SESSION_TYPE");
    }
    ~VirtualDisplay() {
        if (child_ <= 0) return;
        ::kill(child_, SIGTERM);
        ::waitpid(child_, nullptr, 0);
        ::unsetenv("DISPLAY");
    }
    VirtualDisplay(const VirtualDisplay&) = delete;
    VirtualDisplay& operator=(const VirtualDisplay&) = delete;
    bool there = false;

private:
    static constexpr int not_installed = 127;

    /// The display is not there: why did it end?
    void check_exit() {
        int status = 0;
        ::waitpid(std::exchange(child_, -1), &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != not_installed)
            throw std::runtime_error("Xvfb is installed, but ended with status " + std::to_string(status) +
                                     " before it had a display");
    }

    pid_t child_ = -1;
};
