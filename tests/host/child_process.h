// What ends a process is tested in a child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <functional>

namespace vantage::test {

/// Exit status of a child process that runs `action`; 128 + n when signal n ended it.
inline int status_of_child(const std::function<int()>& action) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(action());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace vantage::test
