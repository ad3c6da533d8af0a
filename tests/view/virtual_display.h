// A display in memory (Xvfb) for tests that open windows.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

/// DISPLAY names it while this lives; `there` is false where Xvfb is not installed or does not start.
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
                     "-noreset", static_cast<char*>(nullptr));  // not between two windows, when nobody could open one
            ::_exit(127);
        }
        ::close(ends[1]);
        std::string display;
        char c = 0;
        while (::read(ends[0], &c, 1) == 1 && c != '\n') display += c;
        ::close(ends[0]);
        there = !display.empty();
        if (there) ::setenv("DISPLAY", (":" + display).c_str(), 1);
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
    pid_t child_ = -1;
};
