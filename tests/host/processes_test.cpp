// Other processes: programs that are started, and locks that exclude them.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <filesystem>
#include <string>

#include "runtime/base/files.h"
#include "runtime/base/program.h"
#include "vantage/error.h"

using namespace vantage;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("A program that cannot be started throws bad_file with its path", "[base]") {
    const TemporaryFolder folder;
    const std::string missing = folder.path() + "/nowhere/program";
    try {
        static_cast<void>(run_program({missing}, {}));
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::bad_file);
        CHECK_THAT(error.what(), ContainsSubstring("cannot run '" + missing + "'"));
    }
}

TEST_CASE("A file lock excludes other processes until it is released", "[base]") {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/lock";
    // The child ends with 0 when it gets the lock, with 1 when it is refused as documented.
    const auto child_gets_it = [&] {
        const pid_t child = ::fork();
        if (child == 0) {
            int code = 2;
            try {
                const FileLock lock(path, FileLock::Sweep::nothing);
                code = 0;
            } catch (const Error& error) {
                code = error.kind() == ErrorKind::bad_file ? 1 : 2;
            }
            ::_exit(code);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    };
    {
        const FileLock lock(path, FileLock::Sweep::nothing);
        CHECK(child_gets_it() == 1);
    }
    CHECK(child_gets_it() == 0);
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("A process that ends while it writes leaves nothing, and locks delete what older ones left", "[base]") {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/file";
    const pid_t child = ::fork();
    if (child == 0) {
        FileWriter writer(path);
        writer.write("half");
        ::_exit(0);
    }
    REQUIRE(child > 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    const int unnamed = ::open(folder.path().c_str(), O_WRONLY | O_TMPFILE, 0600);
    if (unnamed >= 0)
        CHECK(std::filesystem::is_empty(folder.path()));  // not every file system has files without a name
    ::close(unnamed);

    const std::string dead = ".tmp-" + std::to_string(child), gone = path + dead + "-0", ours = path + ".tmp-1-0",
                      other = folder.path() + "/other" + dead + "-0", user = folder.path() + "/notes" + dead + "-0.txt",
                      dated = path + ".tmp-2024-05-01";
    for (const std::string& left : {gone, ours, other, user, dated}) {
        write_file(left, std::string("half"));
        std::filesystem::last_write_time(left, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
    }
    { const FileLock lock(path + ".lock", FileLock::Sweep::nothing); }
    CHECK(std::filesystem::exists(gone));
    { const FileLock lock(path + ".lock", FileLock::Sweep::file); }
    CHECK_FALSE(std::filesystem::exists(gone));
    CHECK(std::filesystem::exists(other));
    { const FileLock lock(path + ".lock", FileLock::Sweep::folder); }
    CHECK_FALSE(std::filesystem::exists(other));
    for (const std::string& left : {user, dated}) CHECK(std::filesystem::exists(left));  // not made by Vantage
    CHECK(std::filesystem::exists(ours));                                                // process 1 is there
}
