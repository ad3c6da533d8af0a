// The base: numbers by bits, shapes, errors, the environment, files replaced whole.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/base/finite.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/program.h"
#include "runtime/base/quantize.h"
#include "runtime/base/terminal.h"
#include "tests/host/child_process.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "vantage/error.h"
#include "vantage/tensor.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::test::status_of_child;
using vantage::test::TemporaryDirectory;

namespace {

/// The error's message, after checking its kind and that it is one line.
std::string message_of(ErrorKind kind, const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == kind);
        std::string message = error.what();
        CHECK(message.find('\n') == std::string::npos);
        return message;
    }
    FAIL("nothing was thrown");
    return "";
}

/// Sets a variable for the length of a test; nullptr unsets it.
class WithEnvironment {
public:
    WithEnvironment(const char* name, const char* value) : name_(name) {
        if (const auto before = environment(name)) before_ = *before;
        if (value != nullptr) {
            ::setenv(name, value, 1);
        } else {
            ::unsetenv(name);
        }
    }
    ~WithEnvironment() {
        if (before_.empty()) {
            ::unsetenv(name_);
        } else {
            ::setenv(name_, before_.c_str(), 1);
        }
    }
    WithEnvironment(const WithEnvironment&) = delete;
    WithEnvironment& operator=(const WithEnvironment&) = delete;

private:
    const char* name_;
    std::string before_;
};

}  // namespace

TEST_CASE("every half survives the way to float and back", "[base]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = half_to_float(half);
        const std::uint16_t back = float_to_half(value);
        if (std::isnan(value)) {
            wrong += std::isnan(half_to_float(back)) && (back & 0x8000u) == (half & 0x8000u) ? 0 : 1;
        } else {
            wrong += back == half ? 0 : 1;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("half_to_float gives the values of the standard's formula", "[base]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x7c00u; ++bits) {
        const auto exponent = static_cast<int>(bits >> 10), mantissa = static_cast<int>(bits & 1023u);
        const double expected = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
        wrong += static_cast<double>(half_to_float(static_cast<std::uint16_t>(bits))) == expected ? 0 : 1;
        wrong += static_cast<double>(half_to_float(static_cast<std::uint16_t>(bits | 0x8000u))) == -expected ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(std::isinf(half_to_float(0x7c00)));
    CHECK(half_to_float(0xfc00) == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(half_to_float(0x7e00)));
}

TEST_CASE("float_to_half rounds to nearest, ties to even", "[base]") {
    CHECK(float_to_half(0.0f) == 0x0000);
    CHECK(float_to_half(-0.0f) == 0x8000);
    CHECK(float_to_half(1.0f) == 0x3c00);
    CHECK(float_to_half(-2.0f) == 0xc000);
    CHECK(float_to_half(0.1f) == 0x2e66);
    CHECK(float_to_half(65504.0f) == 0x7bff);
    CHECK(float_to_half(65519.996f) == 0x7bff);  // the last that does not overflow
    CHECK(float_to_half(65520.0f) == 0x7c00);
    CHECK(float_to_half(-1e10f) == 0xfc00);
    CHECK(float_to_half(std::numeric_limits<float>::infinity()) == 0x7c00);
    CHECK(std::isnan(half_to_float(float_to_half(std::numeric_limits<float>::quiet_NaN()))));
    CHECK(float_to_half(1.0f + 0x1p-11f) == 0x3c00);             // a tie: down to even
    CHECK(float_to_half(1.0f + 0x1p-10f + 0x1p-11f) == 0x3c02);  // a tie: up to even
    CHECK(float_to_half(1.0f + 0x1p-11f + 0x1p-23f) == 0x3c01);
    CHECK(float_to_half(0x1p-24f) == 0x0001);  // the smallest subnormal
    CHECK(float_to_half(0x1p-25f) == 0x0000);  // half of it: a tie, to even
    CHECK(float_to_half(0x1p-25f * 1.0001f) == 0x0001);
    CHECK(float_to_half(0x1.8p-24f) == 0x0002);           // 1.5 of it: a tie, to even
    CHECK(float_to_half(0x1p-14f) == 0x0400);             // the smallest normal
    CHECK(float_to_half(0x1p-14f - 0x1p-26f) == 0x0400);  // a subnormal that rounds up to it
    CHECK(float_to_half(-0x1p-149f) == 0x8000);           // a subnormal float
    CHECK(float_to_half(0x1.ffcp-15f) == 0x0400);         // a tie between subnormal and normal
}

TEST_CASE("float_to_half picks the nearest half for every rounding interval", "[base]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {
        const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
        const float middle = (half_to_float(low) + half_to_float(high)) / 2;  // exact in float
        wrong += float_to_half(middle) == (bits % 2 == 0 ? low : high) ? 0 : 1;
        wrong += float_to_half(std::nextafter(middle, 0.0f)) == low ? 0 : 1;
        wrong += float_to_half(std::nextafter(middle, 1e9f)) == high ? 0 : 1;
    }
    CHECK(wrong == 0);
}

TEST_CASE("bfloat16 is the upper half of a float, rounded", "[base]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
        const auto bfloat = static_cast<std::uint16_t>(bits);
        const float value = bfloat_to_float(bfloat);
        const std::uint16_t back = float_to_bfloat(value);
        wrong += std::isnan(value) ? (std::isnan(bfloat_to_float(back)) ? 0 : 1) : (back == bfloat ? 0 : 1);
    }
    CHECK(wrong == 0);
    CHECK(float_to_bfloat(1.0f) == 0x3f80);
    CHECK(float_to_bfloat(1.0f + 0x1p-8f) == 0x3f80);            // a tie: down to even
    CHECK(float_to_bfloat(1.0f + 0x1p-7f + 0x1p-8f) == 0x3f82);  // a tie: up to even
    CHECK(float_to_bfloat(1.0f + 0x1p-8f + 0x1p-20f) == 0x3f81);
    CHECK(float_to_bfloat(std::numeric_limits<float>::max()) == 0x7f80);
    CHECK(std::isnan(bfloat_to_float(float_to_bfloat(std::bit_cast<float>(0x7f800001u)))));
}

TEST_CASE("the first value that is not finite is found among the largest finite ones", "[base]") {
    const auto word_of = [](DType type, float value) -> std::uint32_t {
        if (type == DType::f16) return float_to_half(value);
        return type == DType::bf16 ? float_to_bfloat(value) : std::bit_cast<std::uint32_t>(value);
    };
    constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
        const std::size_t size = info(type).bytes;
        const float largest = type == DType::f16 ? 65504.0f : 3.38e38f;
        for (const std::size_t count : {1u, 2u, 3u, 7u, 4096u, 65537u}) {
            std::vector<std::uint64_t> words((count * size + 7) / 8);
            const auto put = [&](std::size_t i, float value) {
                const std::uint32_t word = word_of(type, value);
                std::memcpy(reinterpret_cast<char*>(words.data()) + i * size, &word, size);
            };
            for (std::size_t i = 0; i < count; ++i) put(i, i % 2 != 0 ? largest : -largest);
            CHECK(first_not_finite(words, type) >= count);
            for (const float value : {nan, infinity, -infinity})
                for (const std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
                    put(place, value);
                    CHECK(first_not_finite(words, type) == place);
                    CHECK((first_not_finite(words, type, true) == place) == (value != -infinity));
                    put(place, largest);
                }
        }
    }
}

TEST_CASE("shapes count, compare and print", "[base]") {
    const Shape shape{2, 3, 768};
    CHECK(shape.rank() == 3);
    CHECK(shape.elements() == 4608);
    CHECK(shape.rows() == 6);
    CHECK(shape[0] == 2);
    CHECK(shape[-1] == 768);
    CHECK(shape.text() == "[2, 3, 768]");
    CHECK(shape == Shape{2, 3, 768});
    CHECK_FALSE(shape == Shape{2, 3});
    CHECK_FALSE(shape == Shape{2, 3, 767});
    CHECK(Shape{}.elements() == 1);
    CHECK(Shape{}.rows() == 1);
    CHECK(Shape{}.text() == "[]");
    CHECK(Shape{5}.rows() == 1);
    CHECK(Shape{4, 0}.elements() == 0);
    CHECK(Shape{4, 0}.rows() == 0);
}

TEST_CASE("impossible shapes are refused with their sizes", "[base]") {
    constexpr std::int64_t huge = std::int64_t{1} << 32;
    CHECK(test::contains(message_of(ErrorKind::usage, [] { Shape shape{3, -1}; }), "[3, -1]"));
    CHECK(test::contains(message_of(ErrorKind::usage, [] { Shape shape{huge, huge}; }), "[4294967296, 4294967296]"));
    CHECK(test::contains(message_of(ErrorKind::usage, [] { Shape shape{1, 1, 1, 1, 1, 1, 1}; }), "7 dimensions"));
    CHECK(Shape{huge, huge, 0}.elements() == 0);
    Shape shape{2, 2};
    shape[1] = -5;
    message_of(ErrorKind::usage, [&] { static_cast<void>(shape.elements()); });
}

TEST_CASE("tensor types know their bytes", "[base]") {
    CHECK(TensorType{{3, 768}, DType::f32}.bytes() == 9216);
    CHECK(TensorType{{3, 768}, DType::bf16}.bytes() == 4608);
    CHECK(TensorType{{}, DType::i32}.bytes() == 4);
    CHECK(TensorType{{3, 768}, DType::f16}.text() == "f16 [3, 768]");
    CHECK(TensorType{{3}, DType::f16} == TensorType{{3}, DType::f16});
    CHECK_FALSE(TensorType{{3}, DType::f16} == TensorType{{3}, DType::bf16});
    CHECK(std::string(name_of(DType::u32)) == "u32");
    constexpr std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
    message_of(ErrorKind::usage, [] { static_cast<void>(TensorType{{maximum}, DType::f32}.bytes()); });
    message_of(ErrorKind::usage, [] { static_cast<void>(info(static_cast<DType>(77))); });
}

TEST_CASE("exit codes are the documented ones", "[base]") {
    CHECK(exit_code(ErrorKind::failure) == 1);
    CHECK(exit_code(ErrorKind::usage) == 2);
    CHECK(exit_code(ErrorKind::no_device) == 3);
    CHECK(exit_code(ErrorKind::out_of_memory) == 4);
    CHECK(exit_code(ErrorKind::device_lost) == 5);
    CHECK(exit_code(ErrorKind::bad_file) == 6);
    CHECK(exit_code(ErrorKind::accuracy) == 7);
    CHECK(exit_code(ErrorKind::interrupted) == 130);
}

TEST_CASE("flags in the environment", "[base]") {
    for (const char* yes : {"1", "true", "yes", "on", "ON", "True"}) {
        const WithEnvironment set("VANTAGE_TEST_FLAG", yes);
        CHECK(environment_flag("VANTAGE_TEST_FLAG"));
    }
    for (const char* no : {"", "0", "false", "no", "off", "Off"}) {
        const WithEnvironment set("VANTAGE_TEST_FLAG", no);
        CHECK_FALSE(environment_flag("VANTAGE_TEST_FLAG"));
    }
    CHECK_FALSE(environment_flag("VANTAGE_TEST_FLAG"));
    const WithEnvironment set("VANTAGE_TEST_FLAG", "2");
    CHECK(test::contains(message_of(ErrorKind::usage, [] { environment_flag("VANTAGE_TEST_FLAG"); }),
                         "VANTAGE_TEST_FLAG=2"));
}

TEST_CASE("the cache directory follows the environment", "[base]") {
    const WithEnvironment home("HOME", "/home/someone");
    const WithEnvironment no_own("VANTAGE_CACHE_DIR", nullptr);
    {
        const WithEnvironment xdg("XDG_CACHE_HOME", "/xdg");
        CHECK(cache_directory() == "/xdg/vantage");
        const WithEnvironment own("VANTAGE_CACHE_DIR", "/own");
        CHECK(cache_directory() == "/own");
    }
    {
        const WithEnvironment relative("XDG_CACHE_HOME", "relative");
        CHECK(cache_directory() == "/home/someone/.cache/vantage");
    }
    const WithEnvironment no_xdg("XDG_CACHE_HOME", nullptr);
    {
        const WithEnvironment relative("HOME", "relative");
        CHECK(cache_directory().empty());
    }
    const WithEnvironment no_home("HOME", nullptr);
    CHECK(cache_directory().empty());
}

TEST_CASE("a pipe gets no colour and has 80 columns", "[base]") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    CHECK_FALSE(is_terminal(ends[1]));
    CHECK_FALSE(colour_wanted(ends[1]));
    CHECK(terminal_columns(ends[1]) == 80);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("a terminal gets colour unless NO_COLOR or TERM say no", "[base]") {
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(master >= 0);
    REQUIRE(::grantpt(master) == 0);
    REQUIRE(::unlockpt(master) == 0);
    const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    const WithEnvironment term("TERM", "xterm-256color");
    const WithEnvironment no_color("NO_COLOR", nullptr);
    CHECK(colour_wanted(terminal));
    {
        const WithEnvironment set("NO_COLOR", "1");
        CHECK_FALSE(colour_wanted(terminal));
    }
    {
        const WithEnvironment dumb("TERM", "dumb");
        CHECK_FALSE(colour_wanted(terminal));
    }
    ::close(terminal);
    ::close(master);
}

TEST_CASE("messages below the level are not shown", "[base]") {
    std::vector<std::string> seen;
    set_log([&](LogLevel, const std::string& message) { seen.push_back(message); });
    const LogLevel before = log_level();
    set_log_level(LogLevel::warning);
    log(LogLevel::info, "hidden");
    log(LogLevel::warning, "{} {}", "shown", 1);
    set_log_level(LogLevel::debug);
    log(LogLevel::debug, "shown {}", 2);
    set_log_level(before);
    set_log({});
    CHECK(seen == std::vector<std::string>{"shown 1", "shown 2"});
    CHECK(format("{}-{:04}", std::string(300, 'x'), 7) == std::string(300, 'x') + "-0007");
}

TEST_CASE("several threads log while the sink is replaced", "[base]") {
    constexpr int threads = 4, messages = 200;
    std::atomic<int> heard{0};
    set_log([&](LogLevel, const std::string&) { ++heard; });
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < threads; ++i)
            all.emplace_back([&] {
                for (int k = 0; k < messages; ++k) {
                    if (k % 20 == 0) set_log([&](LogLevel, const std::string& text) { heard += text == "said"; });
                    log(LogLevel::warning, "said");
                }
            });
    }
    set_log({});
    CHECK(heard == threads * messages);
}

TEST_CASE("files are written, read and mapped byte for byte", "[base]") {
    const TemporaryDirectory directory;
    std::string content = "one\ntwo\r\n";
    content.push_back('\0');
    for (int i = 0; i < 200000; ++i) content.push_back(static_cast<char>(i * 7));
    const std::string path = directory.path("file");
    write_file(path, content);
    CHECK(read_file(path) == content);
    CHECK(read_file(path, content.size()) == content);
    CHECK(test::contains(message_of(ErrorKind::bad_file, [&] { read_file(path, 100); }), path));
    const ByteSource source(path);
    REQUIRE(source.size() == content.size());
    const std::vector<std::byte> part = source.part(5000, 3000).all();
    CHECK(std::string(reinterpret_cast<const char*>(part.data()), part.size()) == content.substr(5000, 3000));
    write_file(directory.path("empty"), std::string());
    CHECK(ByteSource(directory.path("empty")).all().empty());
    CHECK(read_file(directory.path("empty")).empty());
    CHECK_FALSE(read_file("/proc/self/stat").empty());  // its size is said to be 0
    CHECK(directory.entries() == 2);
}

TEST_CASE("a file that becomes shorter while it is read is an error", "[base]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    write_file(path, std::string(10000, 'x'));
    const ByteSource source(path);
    std::filesystem::resize_file(path, 4096);
    CHECK(source.part(0, 4096).all().size() == 4096);
    expect_error(ErrorKind::bad_file, {path.c_str(), "shorter"}, [&] { source.all(); });
}

TEST_CASE("file errors name the path and the reason", "[base]") {
    const TemporaryDirectory directory;
    const std::string missing = directory.path("missing");
    for (const auto& message :
         {message_of(ErrorKind::bad_file, [&] { read_file(missing); }),
          message_of(ErrorKind::bad_file, [&] { ByteSource file(missing); }),
          message_of(ErrorKind::bad_file, [&] { write_file(missing + "/x", std::string("y")); })}) {
        CHECK(test::contains(message, missing));
        CHECK(test::contains(message, "No such file or directory"));
    }
    message_of(ErrorKind::bad_file, [&] { read_file(directory.path()); });
    message_of(ErrorKind::bad_file, [&] { ByteSource file(directory.path()); });
    message_of(ErrorKind::bad_file, [&] { write_file(directory.path(), std::string("y")); });
    message_of(ErrorKind::bad_file, [&] { ByteSource file("/dev/null"); });
    CHECK(test::contains(message_of(ErrorKind::bad_file, [&] { read_file(directory.path("two\nlines")); }),
                         "two\\x0alines"));
    CHECK(directory.entries() == 0);
}

TEST_CASE("a file is replaced whole or not at all", "[base]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("target");
    write_file(path, std::string("old"));
    const int status = status_of_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1000, 1000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            write_file(path, std::string(100000, 'x'));
        } catch (const Error& error) {
            return error.kind() == ErrorKind::bad_file ? 42 : 1;
        }
        return 0;
    });
    CHECK(status == 42);
    CHECK(read_file(path) == "old");
    CHECK(directory.entries() == 1);
}

TEST_CASE("readers see one of two contents, never a mixture", "[base]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("target"), a(50000, 'a'), b(50000, 'b');
    write_file(path, a);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (int i = 0; i < 50; ++i) write_file(path, i % 2 == 0 ? b : a);
        stop = true;
    });
    std::thread rival([&] {
        for (int i = 0; i < 50; ++i) write_file(path, a);
    });
    int mixtures = 0;
    while (!stop) {
        const std::string found = read_file(path);
        mixtures += found == a || found == b ? 0 : 1;
    }
    writer.join();
    rival.join();
    CHECK(mixtures == 0);
    CHECK(directory.entries() == 1);
}

TEST_CASE("replacing keeps the mode and follows symbolic links; devices are written in place", "[base]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("target"), link = directory.path("link");
    write_file(path, std::string("old"));
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    std::filesystem::create_symlink("target", link);
    write_file(link, std::string("new"));
    CHECK(read_file(path) == "new");
    CHECK(std::filesystem::is_symlink(link));
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0640);
    write_file("/dev/null", std::string("gone"));
    CHECK(std::filesystem::is_character_file("/dev/null"));
    std::filesystem::create_symlink("later", directory.path("ahead"));  // of a file that is not there yet
    write_file(directory.path("ahead"), std::string("new"));
    CHECK(std::filesystem::is_symlink(directory.path("ahead")));
    CHECK(read_file(directory.path("later")) == "new");
    std::filesystem::create_symlink("round", directory.path("round"));
    expect_error(ErrorKind::bad_file, {"round"}, [&] { write_file(directory.path("round"), std::string("new")); });
    REQUIRE(::chmod(path.c_str(), 0440) == 0);
    if (::geteuid() != 0)  // root may write to any file
        expect_error(ErrorKind::bad_file, {"target", "permissions"}, [&] { write_file(path, std::string("newer")); });
}

TEST_CASE("a file never gets the number of a closed standard stream", "[base]") {
    CHECK(status_of_child([] {
              for (int fd = 0; fd < 3; ++fd) ::close(fd);
              open_standard_streams();
              const bool fails = ::write(STDERR_FILENO, "x", 1) < 0 && ::write(STDOUT_FILENO, "x", 1) < 0;
              return fails && ::open("/dev/null", O_WRONLY) > 2 ? 42 : 1;
          }) == 42);
}

TEST_CASE("reading a pipe that nobody writes to finds it empty at once", "[base]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("pipe");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK(read_file(path).empty());
    expect_error(ErrorKind::bad_file, {"pipe"}, [&] { const ByteSource source(path); });
}

TEST_CASE("standard input has a limit, whatever it is", "[base]") {
    // 1 for a child whose stdin has `bytes` bytes, and which is refused more than 100.
    const auto refused = [](std::size_t bytes, const std::function<void()>& read) {
        return status_of_child([&] {
            int ends[2];
            if (::pipe(ends) != 0 || ::dup2(ends[0], STDIN_FILENO) != STDIN_FILENO) return 2;
            const std::string text(bytes, 'x');
            if (::write(ends[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 2;
            ::close(ends[1]);
            try {
                read();
            } catch (const Error& error) {
                return error.kind() == ErrorKind::bad_file ? 1 : 2;
            }
            return 0;
        });
    };
    const auto all = [] { static_cast<void>(read_stdin(100)); };
    const auto line = [] { static_cast<void>(read_line(100)); };
    CHECK(refused(100, all) == 0);
    CHECK(refused(101, all) == 1);
    CHECK(refused(100, line) == 0);
    CHECK(refused(101, line) == 1);
    CHECK(status_of_child([] {  // which has no end
              const int zeros = ::open("/dev/zero", O_RDONLY);
              if (::dup2(zeros, STDIN_FILENO) != STDIN_FILENO) return 2;
              try {
                  static_cast<void>(read_stdin(1 << 20));
              } catch (const Error& error) {
                  return error.kind() == ErrorKind::bad_file ? 1 : 2;
              }
              return 0;
          }) == 1);
}

TEST_CASE("a lock is held by one at a time", "[base]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("new/directory/lock");
    std::atomic<int> holders{0}, worst{0};
    const auto work = [&] {
        for (int i = 0; i < 200; ++i) {
            const FileLock lock(path, FileLock::Sweep::nothing);
            const int now = ++holders;
            if (now > worst) worst = now;
            --holders;
        }
    };
    std::thread first(work), second(work);
    first.join();
    second.join();
    CHECK(worst == 1);
    CHECK_FALSE(std::filesystem::exists(path));
    write_file(path, std::string("a user's"));
    { const FileLock lock(path, FileLock::Sweep::nothing); }
    CHECK(read_file(path) == "a user's");
}

TEST_CASE("the program knows where it is", "[base]") { CHECK(std::filesystem::is_regular_file(program_path())); }

TEST_CASE("a text is split at separators, and no empty part follows the last one", "[base]") {
    const auto parts = [](const char* text) { return internal::split(text, ':'); };
    CHECK(parts("").empty());
    CHECK(parts("a") == std::vector<std::string>{"a"});
    CHECK(parts("a:b:") == std::vector<std::string>{"a", "b"});
    CHECK(parts(":a::b") == std::vector<std::string>{"", "a", "", "b"});
}
