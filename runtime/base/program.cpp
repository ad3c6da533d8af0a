#include "runtime/base/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "runtime/base/clock.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/options.h"
#include "runtime/base/posix.h"

namespace vantage::internal {
namespace {

/// Our environment with the values of `changed`.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed) {
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        if (changed.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
    }
    for (const auto& [name, value] : changed) all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// What `child` writes. A signal that interrupts this process ends the child, too.
void read_to_end(int fd, pid_t child, double begin, Finished& finished) {
    std::array<char, 4096> piece;
    while (true) {
        const ssize_t count = ::read(fd, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) {
            if (interrupted()) ::kill(child, SIGKILL);
            continue;
        }
        if (count <= 0) return;
        if (finished.out.empty()) finished.first_output_seconds = seconds_now() - begin;
        finished.out.append(piece.data(), static_cast<std::size_t>(count));
    }
}

}  // namespace

std::string program_path() {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string() : path.string();
}

namespace {

bool others_may_write(const std::filesystem::path& path) {
    using std::filesystem::perms;
    std::error_code ignored;
    return (std::filesystem::status(path, ignored).permissions() & perms::others_write) != perms::none;
}

}  // namespace

std::optional<std::string> find_asset(const std::string& name) {
    namespace fs = std::filesystem;
    std::vector<fs::path> places;
    if (const auto assets = environment("VANTAGE_ASSETS")) places.emplace_back(*assets);
    constexpr int max_levels = 3;  // build/release/vantage of a checkout
    std::error_code ignored;
    fs::path folder = fs::path(program_path()).parent_path();
    for (int level = 0; level < max_levels && !folder.empty() && folder != folder.root_path(); ++level) {
        const fs::path share = folder / "share";
        if (!others_may_write(folder)) {
            // an installation has PREFIX/bin/vantage, a checkout assets
            if (!others_may_write(share) && !others_may_write(share / "vantage")) places.push_back(share / "vantage");
            if (!others_may_write(folder / "assets")) places.push_back(folder / "assets");
        }
        folder = folder.parent_path();
    }
    for (const fs::path& place : places)
        if (fs::exists(place / name, ignored)) return (place / name).string();
    return std::nullopt;
}

Finished run_program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
    std::vector<std::string> arguments = command, variables = environment_with(environment);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        posix::throw_file_error("cannot create a pipe for", command.front(), errno);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    Finished finished;
    pid_t child = 0;
    const double begin = seconds_now();
    const int error = ::posix_spawn(&child, command.front().c_str(), &files, nullptr, pointers_to(arguments).data(),
                                    pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (error == 0) read_to_end(ends[0], child, begin, finished);
    ::close(ends[0]);
    if (error != 0) posix::throw_file_error("cannot run", command.front(), error);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (interrupted()) ::kill(child, SIGKILL);
    throw_if_interrupted();
    finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return finished;
}

}  // namespace vantage::internal
