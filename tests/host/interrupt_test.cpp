// Ctrl-C and other signals that end the program.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "tests/host/child_process.h"
#include "tests/host/temporary_directory.h"
#include "vantage/error.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::status_of_child;
using vantage::test::TemporaryDirectory;

TEST_CASE("the first Ctrl-C sets a flag, the second ends the process", "[base]") {
    CHECK_FALSE(interrupted());
    throw_if_interrupted();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
        CHECK(status_of_child([signal] {
                  ::signal(signal, SIG_DFL);  // the parent may ignore it, as under nohup
                  catch_interrupts();
                  ::raise(signal);
                  if (!interrupted()) return 1;
                  try {
                      throw_if_interrupted();
                  } catch (const Error& error) {
                      if (exit_code(error.kind()) == 130) return 42;
                  }
                  return 2;
              }) == 42);
        const auto twice = [signal](std::chrono::milliseconds between) {
            return status_of_child([=] {
                ::signal(signal, SIG_DFL);
                catch_interrupts();
                ::raise(signal);
                std::this_thread::sleep_for(between);
                ::raise(signal);
                return 1;
            });
        };
        CHECK(twice(std::chrono::milliseconds(200)) ==
              (signal == SIGPIPE ? 1 : 130));  // a pipe may be written to twice
    }
}

TEST_CASE("a thread ends work that ignores a signal, unless something would be left behind", "[base]") {
    using std::chrono::milliseconds;
    const TemporaryDirectory directory;
    // The exit status of a child that gets SIGINT and works on for so long; `before` is what it does first.
    const auto ending_of = [](bool ends, milliseconds length, const std::function<void()>& before) {
        return status_of_child([&] {
            std::signal(SIGINT, SIG_DFL);
            catch_interrupts(FolderWriter::remove_unfinished);
            let_interrupt_end(ends);
            ::raise(SIGINT);
            before();
            std::this_thread::sleep_for(length);
            return 42;
        });
    };
    const auto nothing = [] {};
    const auto checks = [] { static_cast<void>(interrupted()); };
    CHECK(ending_of(true, milliseconds(300), nothing) == 42);
    CHECK(ending_of(true, milliseconds(1000), nothing) == 130);
    CHECK(ending_of(false, milliseconds(1000), nothing) == 42);  // it may go on after Ctrl-C
    CHECK(ending_of(true, milliseconds(1000), checks) == 42);
    CHECK(ending_of(true, milliseconds(3000), checks) == 130);
    std::optional<EndDeferred> end;
    CHECK(ending_of(true, milliseconds(1000), [&] { end.emplace(); }) == 42);
    std::optional<FolderWriter> writer;
    CHECK(ending_of(true, milliseconds(1000), [&] {
              writer.emplace(directory.path("folder"));
              write_file(writer->file("part"), std::string("half"));
          }) == 130);
    CHECK(std::filesystem::is_empty(directory.path("")));
}

TEST_CASE("a second signal deletes what is not finished", "[base]") {
    const TemporaryDirectory directory;
    const int ending = status_of_child([&] {
        std::signal(SIGTERM, SIG_DFL);
        catch_interrupts(FolderWriter::remove_unfinished);
        let_interrupt_end(true);
        const FolderWriter writer(directory.path("folder"));
        write_file(writer.file("part"), std::string("half"));
        const EndDeferred end;  // so that the first signal alone does not
        ::raise(SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        ::raise(SIGTERM);
        return 42;
    });
    CHECK(ending == 130);
    CHECK(std::filesystem::is_empty(directory.path("")));
}

TEST_CASE("a SIGHUP that nohup ignores stays ignored", "[base]") {
    CHECK(status_of_child([] {
              std::signal(SIGHUP, SIG_IGN);
              catch_interrupts();
              ::raise(SIGHUP);
              return interrupted() ? 1 : 42;
          }) == 42);
}

TEST_CASE("a Ctrl-C can be taken back unless it ends the program, a SIGTERM never", "[base]") {
    CHECK_FALSE(take_interrupt());
    CHECK(status_of_child([] {
              catch_interrupts();
              ::raise(SIGINT);
              const bool taken = take_interrupt() && !interrupted();
              ::raise(SIGTERM);
              return taken && !take_interrupt() && interrupted() && ending() ? 42 : 1;
          }) == 42);
    CHECK(status_of_child([] {
              catch_interrupts();
              ::raise(SIGINT);
              const bool may_go_on = !ending();
              let_interrupt_end(true);
              return may_go_on && ending() && !take_interrupt() ? 42 : 1;
          }) == 42);
}
