// A folder for the files of one input, deleted at the end. TMPDIR=/dev/shm makes it fast.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/files.h"
#include "tests/fuzz/require.h"

class Folder {
public:
    const std::string& path() const { return folder_.path(); }
    std::string path(const std::string& name) const { return (std::filesystem::path(path()) / name).string(); }
    /// Not atomic: vantage::write_file waits for the disk, which is slow and not needed here.
    void write(const std::string& name, std::string_view bytes) const {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path(name).c_str(), "wb"), std::fclose);
        require(file && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size());
    }

private:
    vantage::internal::TemporaryFolder folder_;
};
