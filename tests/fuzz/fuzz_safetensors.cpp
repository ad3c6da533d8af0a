// The safetensors reader on arbitrary bytes. In accepted files all data must be inside the file, have the size of its
// shape, and not overlap.
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/io/safetensors.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/require.h"

namespace {

void check(const vantage::SafeTensors& file, std::span<const std::byte> bytes) {
    std::size_t total = 0;
    for (const auto& [name, entry] : file.entries()) {
        const auto bits = static_cast<std::uint64_t>(vantage::bits_of_dtype(entry.dtype));
        require(static_cast<std::uint64_t>(entry.elements()) * bits == std::uint64_t{8} * entry.data.size());
        require(entry.data.size() <= bytes.size());
        require(entry.data.all().size() == entry.data.size());  // the sanitizer sees what is read
        require(file.find(name) == &entry && &file.at(name) == &entry && !entry.text().empty());
        total += entry.data.size();
    }
    require(total + 8 <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const HeapMeter meter;
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    try {
        const vantage::SafeTensors file(bytes, "fuzz.safetensors");
        check(file, bytes);
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file);
        require_message(error);
    }
    meter.require_at_most(memory_for(size));
    return 0;
}
