// The pipeline cache on disk: written, read, ignored when damaged, shared by two processes.
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/base/program.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/pipeline_cache.h"
#include "runtime/gpu/pipelines.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;

namespace {

/// Sets VANTAGE_CACHE_DIR while it exists, also for processes that are started in that time.
class CacheDirectory {
public:
    explicit CacheDirectory(const std::string& path) {
        if (const char* old = std::getenv("VANTAGE_CACHE_DIR")) old_ = old;
        ::setenv("VANTAGE_CACHE_DIR", path.c_str(), 1);
    }
    ~CacheDirectory() {
        if (old_.empty())
            ::unsetenv("VANTAGE_CACHE_DIR");
        else
            ::setenv("VANTAGE_CACHE_DIR", old_.c_str(), 1);
    }
    CacheDirectory(const CacheDirectory&) = delete;
    CacheDirectory& operator=(const CacheDirectory&) = delete;

private:
    std::string old_;
};

/// Opens the device, makes a pipeline and closes the device. Returns the path of the cache.
std::string make_pipelines() {
    const Device device = Device::open();
    static_cast<void>(gpu::pipeline(device.state(), {"selftest", {64}}));
    return gpu::pipeline_cache_path(device.state().parts.physical);
}

bool whole(const std::string& path) {
    const std::string file = read_file(path);
    return !gpu::unpack_cache(std::as_bytes(std::span(file))).empty();
}

}  // namespace

TEST_CASE("a packed cache is unpacked, a damaged one is rejected") {
    const std::string text = "the driver's data";
    const std::vector<std::byte> good = gpu::pack_cache(std::as_bytes(std::span(text)));
    const auto data = gpu::unpack_cache(good);
    CHECK(std::string(reinterpret_cast<const char*>(data.data()), data.size()) == text);
    for (std::size_t i = 0; i < good.size(); ++i) {
        if (i >= 12 && i < 16) continue;  // reserved
        std::vector<std::byte> bad = good;
        bad[i] ^= std::byte{0x10};
        INFO("byte " << i);
        CHECK(gpu::unpack_cache(bad).empty());
    }
    for (std::size_t size = 0; size < good.size(); ++size)
        CHECK(gpu::unpack_cache(std::span(good).first(size)).empty());
}

TEST_CASE("the pipeline cache is written when a device closes") {
    const test::TemporaryDirectory directory;
    const CacheDirectory cache(directory.path() + "/not/yet/there");
    const std::string path = make_pipelines();
    REQUIRE(std::filesystem::exists(path));
    CHECK(whole(path));
    SECTION("a second run reads it") {
        CHECK(make_pipelines() == path);
        CHECK(whole(path));
    }
    SECTION("a damaged one is replaced") {
        for (const std::string& damage :
             {std::string(), std::string("x"), std::string(5000, '\0'), read_file(path).substr(0, 40) + "zzzz"}) {
            write_file(path, damage);
            CHECK(make_pipelines() == path);
            CHECK(whole(path));
        }
    }
    SECTION("data that the driver rejects does no harm") {
        const std::string nonsense(1000, 'n');
        write_file(path, gpu::pack_cache(std::as_bytes(std::span(nonsense))));
        CHECK(make_pipelines() == path);
        CHECK(whole(path));
    }
    SECTION("what another process wrote meanwhile is merged") {
        const Device device = Device::open();
        static_cast<void>(gpu::pipeline(device.state(), {"selftest", {32}}));
        const std::string before = read_file(path);
        const auto data = gpu::unpack_cache(std::as_bytes(std::span(before)));
        std::vector<std::byte> more(data.begin(), data.end());
        more.resize(more.size() + 64);
        write_file(path, gpu::pack_cache(more));
        device.state().pipelines->save();
        CHECK(whole(path));
    }
}

TEST_CASE("a cache directory that cannot be written is not an error") {
    const test::TemporaryDirectory directory;
    const std::string file = directory.path("file");
    write_file(file, std::string("not a folder, whoever asks"));
    const CacheDirectory cache(file + "/cache");
    CHECK_FALSE(make_pipelines().empty());
}

TEST_CASE("a cache that another process has locked is done without") {
    const test::TemporaryDirectory directory;
    const CacheDirectory cache(directory.path());
    const std::string path = make_pipelines();
    std::filesystem::remove(path);
    {
        const FileLock other(path + ".lock", FileLock::Sweep::nothing);
        CHECK(make_pipelines() == path);
    }
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(make_pipelines() == path);
    CHECK(whole(path));
}

TEST_CASE("writes pipelines for the test of two processes", "[.pipeline_writer]") {
    for (int i = 0; i < 5; ++i) CHECK_FALSE(make_pipelines().empty());
}

TEST_CASE("two processes write the cache at once") {
    const test::TemporaryDirectory directory;
    const CacheDirectory cache(directory.path());
    const std::string self = "'" + program_path() + "' '[.pipeline_writer]' > /dev/null 2>&1";
    const std::string both = self + " & one=$!; " + self + " & two=$!; wait $one && wait $two";
    CHECK(std::system(both.c_str()) == 0);
    CHECK(whole(make_pipelines()));
}
