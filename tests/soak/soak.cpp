// Generates tokens of the built-in model for hours, with restarts, batches, new sessions and windows, and checks that
// memory, descriptors and the cost of a token stay the same. tests/soak/run.sh builds and starts it.
//
//     vantage_soak [TOKENS [SECONDS]]
//
// Ends after TOKENS tokens (default 10 million) or SECONDS seconds (default: no limit), whichever comes first. Prints
// one line of figures a minute. Exit code 0 if they stay the same, else 1.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "vantage/vantage.h"
#include "vantage/view.h"

namespace {

using namespace vantage;
using Clock = std::chrono::steady_clock;

constexpr double warm_up_share = 0.1;      // of the lines, which are not compared: pools and caches fill
constexpr double memory_growth = 4 << 20;  // bytes that the allocator may differ by between the first and last lines
constexpr double most_slower = 1.1;        // the last lines' time per token over that of the first

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// Of this process, with its drivers' threads. Unlike wall time it hardly depends on what else the machine does.
double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double resident_bytes() {
    long pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return double(pages) * double(::sysconf(_SC_PAGESIZE));
}

int open_descriptors() {
    int count = 0;
    if (DIR* folder = ::opendir("/proc/self/fd")) {
        while (::readdir(folder)) ++count;
        ::closedir(folder);
    }
    return count - 3;  // ".", ".." and the folder itself
}

/// A few words of the built-in model's world: another text each time.
std::string prompt(std::uint64_t number) {
    static constexpr const char* words[] = {"Mia", "the", "cup", "red", "box", "Tom", "garden", "key"};
    std::string text = "The dog";
    for (int i = 0; i < 6; ++i, number /= 8) text += std::string(" ") + words[number % 8];
    return text;
}

struct Soak {
    Device device = open_for_windows();
    Model model = Model::built_in(device);
    const Sampling sampling{.temperature = 0.9, .seed = 1, .ignore_end = true};
    const SessionOptions watched{.record_attention = RecordAttention::all(), .sampling = sampling};
    Batch batch{model, 64, {.context = 128, .sampling = sampling}};
    std::optional<Session> session;  // these are made anew from time to time
    std::optional<AttentionFeed> feed;
    std::optional<ViewWindow> window;
    std::uint64_t round = 0;
    double tokens = 0, sessions = 0, windows = 0, restarts = 0;
    double batch_tokens = 0, batch_cpu = 0;  // since the last line

    void run_batch() {
        const double before = cpu_seconds();
        double drawn = 0;
        batch.restart({.temperature = 0.9, .seed = round, .ignore_end = true});
        for (std::int64_t i = 0; i < batch.size(); ++i) batch[i].append(prompt(round * 64 + std::uint64_t(i)));
        batch.generate(96, [&](std::int64_t, std::int32_t) { return ++drawn, true; });
        tokens += drawn, batch_tokens += drawn, restarts += 1;
        batch_cpu += cpu_seconds() - before;
    }

    /// One session with a window that draws every token; both live for 20 texts.
    void run_watched() {
        if (round % 20 == 0) {
            window.reset();
            feed.reset();
            session.emplace(model, watched);
            feed.emplace(*session);
            window.emplace(*feed, ViewWindowOptions{.width = 640, .height = 480});
            sessions += 1, windows += 1;
        } else {
            session->restart({.temperature = 0.9, .seed = round, .ignore_end = true});
            restarts += 1;
        }
        session->append(prompt(round));
        for (int i = 0; i < 48 && session->next(); ++i) {
            feed->publish();
            window->turn();
            tokens += 1;
        }
    }

    void run_short_session() {
        Session one(model, {.sampling = sampling});
        one.append(prompt(round));
        tokens += double(one.generate(32).size());
        sessions += 1;
    }

    void run_round() {
        run_batch();
        if (round % 4 == 0) run_watched();
        if (round % 8 == 0) run_short_session();
        ++round;
    }
};

struct Line {
    double memory, cost;
    int descriptors;
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Compares the first and the last fifth of the lines after the warm-up.
bool is_flat(std::vector<Line> lines) {
    lines.erase(lines.begin(), lines.begin() + std::ptrdiff_t(warm_up_share * double(lines.size())));
    const std::size_t part = lines.size() / 5;
    if (part == 0) return std::printf("too short to compare\n"), false;
    const auto of = [&](std::size_t first, auto value) {
        std::vector<double> values;
        for (std::size_t i = first; i < first + part; ++i) values.push_back(value(lines[i]));
        return median(values);
    };
    bool flat = true;
    const auto compare = [&](const char* what, auto value, double allowed, double unit) {
        const double before = of(0, value), after = of(lines.size() - part, value);
        const bool holds = after <= allowed * before || (unit == 1 << 20 && after - before <= memory_growth);
        flat = flat && holds;
        std::printf("%-32s %10.2f -> %10.2f  %s\n", what, before / unit, after / unit, holds ? "flat" : "GROWS");
    };
    compare(
        "memory, MiB", [](const Line& line) { return line.memory; }, 1, 1 << 20);
    compare(
        "open descriptors", [](const Line& line) { return double(line.descriptors); }, 1, 1);
    compare(
        "CPU time per token of a batch, us", [](const Line& line) { return line.cost; }, most_slower, 1e-6);
    return flat;
}

int soak(double most_tokens, double most_seconds) {
    Soak soak;
    std::vector<Line> lines;
    const auto begun = Clock::now();
    auto last = begun;
    std::printf("%8s %12s %9s %9s %9s %12s %12s %12s\n", "minutes", "tokens", "restarts", "sessions", "windows",
                "memory, MiB", "descriptors", "us per token");
    while (soak.tokens < most_tokens && seconds_since(begun) < most_seconds) {
        soak.run_round();
        if (seconds_since(last) < 60) continue;
        last = Clock::now();
        lines.push_back({resident_bytes(), soak.batch_cpu / soak.batch_tokens, open_descriptors()});
        soak.batch_cpu = soak.batch_tokens = 0;
        const Line& now = lines.back();
        std::printf("%8.0f %12.0f %9.0f %9.0f %9.0f %12.2f %12d %12.1f\n", seconds_since(begun) / 60, soak.tokens,
                    soak.restarts, soak.sessions, soak.windows, now.memory / (1 << 20), now.descriptors,
                    1e6 * now.cost);
        std::fflush(stdout);
    }
    std::printf("%.0f tokens in %.0f s\n", soak.tokens, seconds_since(begun));
    return is_flat(lines) ? 0 : 1;
}

}  // namespace

int main(int count, char** words) try {
    const double tokens = count > 1 ? std::atof(words[1]) : 1e7, seconds = count > 2 ? std::atof(words[2]) : 1e12;
    return soak(tokens, seconds);
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "soak: %s\n", error.what());
    return vantage::exit_code(error.kind());
}
