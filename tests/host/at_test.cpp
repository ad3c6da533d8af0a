#include "runtime/base/at.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#ifndef NDEBUG
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

using namespace vantage;

TEST_CASE("at takes an index of any integer or enumeration type", "[base]") {
    enum class Colour : std::uint8_t { red, green };
    std::vector<int> numbers{3, 1, 4};
    CHECK(at(numbers, 0) == 3);
    CHECK(at(numbers, std::int64_t{1}) == 1);
    CHECK(at(numbers, std::uint8_t{2}) == 4);
    CHECK(at(numbers, Colour::green) == 1);
    const std::array<double, 2> pair{0.5, 2};
    static_assert(std::is_same_v<decltype(at(pair, 1)), const double&>);
    CHECK(at(pair, 1) == 2);
    CHECK(at(std::string("abc"), 2) == 'c');
}

TEST_CASE("at gives a reference to the element", "[base]") {
    std::vector<int> numbers{3, 1, 4};
    at(numbers, 1L) = 7;
    at(std::span(numbers), 2) = 8;
    CHECK(numbers == std::vector<int>{3, 7, 8});
    std::vector<bool> bits(2);
    at(bits, 1) = true;
    CHECK(bits[1]);
}

#ifndef NDEBUG
TEST_CASE("at stops at an index outside the range in debug builds", "[base]") {
    const auto signal_of = [](std::int64_t index) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(STDERR_FILENO);
            std::signal(SIGABRT, SIG_DFL);  // not the test program's report
            const std::vector<int> numbers{3, 1, 4};
            ::_exit(at(numbers, index) == 0 ? 1 : 0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    };
    CHECK(signal_of(2) == 0);
    CHECK(signal_of(3) == SIGABRT);
    CHECK(signal_of(-1) == SIGABRT);
}
#endif
