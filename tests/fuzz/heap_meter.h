// How much memory a part of the program takes from the heap. Measures with the address sanitizer only; otherwise 0.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define VANTAGE_HEAP_METER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VANTAGE_HEAP_METER 1
#endif
#endif

#ifdef VANTAGE_HEAP_METER
#include <sanitizer/allocator_interface.h>
#endif

namespace heap_meter {

inline std::atomic<std::ptrdiff_t> held{0}, highest{0};  ///< since the first HeapMeter

#ifdef VANTAGE_HEAP_METER
inline void on_malloc(const volatile void*, std::size_t bytes) {
    const std::ptrdiff_t now = held += static_cast<std::ptrdiff_t>(bytes);
    std::ptrdiff_t old = highest;
    while (old < now && !highest.compare_exchange_weak(old, now)) {
    }
}
inline void on_free(const volatile void* memory) {
    if (memory != nullptr) held -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(memory));
}
#endif

}  // namespace heap_meter

/// What a reader may take for a file of `bytes`; for tokenizer.json, `times` is 40.
inline std::size_t memory_for(std::size_t bytes, std::size_t times = 10) {
    return times * bytes + (std::size_t{64} << 20);
}

/// Measures from its construction on. One at a time.
class HeapMeter {
public:
    HeapMeter() {
#ifdef VANTAGE_HEAP_METER
        static const int installed =
            __sanitizer_install_malloc_and_free_hooks(heap_meter::on_malloc, heap_meter::on_free);
        static_cast<void>(installed);
#endif
        start_ = heap_meter::held;
        heap_meter::highest = start_;
    }
    /// The largest number of bytes that were held in addition to those at the start.
    std::size_t peak() const { return static_cast<std::size_t>(heap_meter::highest - start_); }
    /// Ends the process if more was held.
    void require_at_most(std::size_t bytes) const {
        if (peak() <= bytes) return;
        std::fprintf(stderr, "%zu bytes of memory, allowed are %zu\n", peak(), bytes);
        std::abort();
    }

private:
    std::ptrdiff_t start_ = 0;
};
