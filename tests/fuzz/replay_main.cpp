// Runs a fuzz target once on every file in the given files and folders: the corpus as an ordinary test.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    try {
        std::vector<std::filesystem::path> files;
        for (int i = 1; i < argc; ++i) {
            if (std::filesystem::is_directory(argv[i])) {
                for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
                    if (entry.is_regular_file()) files.push_back(entry.path());
            } else {
                files.emplace_back(argv[i]);
            }
        }
        std::sort(files.begin(), files.end());
        for (const auto& path : files) {
            std::ifstream file(path, std::ios::binary);
            if (!file) {
                std::fprintf(stderr, "replay: cannot read %s\n", path.c_str());
                return 1;
            }
            const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        }
        std::printf("%zu inputs replayed\n", files.size());
        return files.empty() ? 1 : 0;  // an empty corpus must not pass
    } catch (const std::exception& error) {
        std::fprintf(stderr, "replay: %s\n", error.what());
        return 1;
    }
}
