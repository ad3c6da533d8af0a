// The reader of config.json on arbitrary bytes: it accepts or names what is wrong, and never anything else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/models/config.h"
#include "vantage/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        static_cast<void>(vantage::parse_model_config({reinterpret_cast<const char*>(data), size}, "fuzz.json"));
    } catch (const vantage::Error& error) {
        // `unsupported` is for a valid file of a model that this build cannot run.
        if (error.kind() != vantage::ErrorKind::bad_file && error.kind() != vantage::ErrorKind::unsupported)
            std::abort();
    }
    return 0;
}
