// Makes calls of the program fail, for tests/faults/run.sh: allocations by `new` and system calls on files and threads.
// Loaded with LD_PRELOAD. Only calls that the program's own code makes count: the nearest caller outside the standard
// libraries is the executable, not a driver. A place is what leads to a call: a hash of all return addresses in the
// executable, from main on, so that it is the same in each run. Of an allocation its last 12 bits are those of the
// return address of `new`, so that most allocations elsewhere need no backtrace. Before main nothing is counted.
//
//   FAULTS_LIST=FILE         lists each place once, as lines "KIND PLACE": KIND is the function, with ":cache" when the
//                            file is below $VANTAGE_CACHE_DIR
//   FAULTS_AT=PLACE          the first call there fails; a file FAULTS_HIT says so when it did
//   FAULTS_BELOW=FROM-TO,…   instead of a place: the first call that these addresses of the executable lead to, as nm
//                            prints them (hexadecimal), of the function FAULTS_KIND
//   FAULTS_ERRNO=NUMBER      with that error (default: ENOMEM); `new` throws std::bad_alloc
//   FAULTS_KILL=NUMBER       the process is killed before this call, from 1, on files with FAULTS_KILL_BELOW in their
//                            path; the file FAULTS_HIT gets a line for each such call
//   FAULTS_EVERY=interrupt   each second call fails with EINTR; FAULTS_EVERY=short: transfers move one byte first
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

enum class Origin { program, standard, other };

/// Address ranges of the loaded code that matter. Libraries that are loaded later are "other".
struct Code {
    std::uintptr_t begin = 0, end = 0;
    Origin origin = Origin::other;
};
constexpr int max_codes = 16;
Code codes[max_codes];
int code_count = 0;
std::uintptr_t program_base = 0;  // an address in the executable's file is so much less

std::atomic<bool> in_main{false};
thread_local bool inside = false;  // in this library: its own calls do not count

const char* setting(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

struct Range {
    std::uintptr_t begin = 0, end = 0;
};
std::vector<Range> ranges_of(const char* text) {
    std::vector<Range> ranges;
    while (*text != '\0') {
        char* rest = nullptr;
        Range range;
        range.begin = std::strtoull(text, &rest, 16);
        if (*rest == '-') range.end = std::strtoull(rest + 1, &rest, 16);
        if (range.end <= range.begin) std::abort();  // a mistake of the script's
        ranges.push_back(range);
        text = *rest == ',' ? rest + 1 : rest;
    }
    return ranges;
}

struct Settings {
    std::string list = setting("FAULTS_LIST"), hit = setting("FAULTS_HIT"), every = setting("FAULTS_EVERY");
    std::string cache = setting("VANTAGE_CACHE_DIR"), kind = setting("FAULTS_KIND");
    std::string kill_below = setting("FAULTS_KILL_BELOW");
    long kill = std::atol(setting("FAULTS_KILL"));
    std::atomic<long> kill_calls{0};
    std::vector<Range> below = ranges_of(setting("FAULTS_BELOW"));
    std::uint64_t place = std::strtoull(setting("FAULTS_AT"), nullptr, 16);
    int error = *setting("FAULTS_ERRNO") == '\0' ? ENOMEM : std::atoi(setting("FAULTS_ERRNO"));
    std::mutex mutex;
    std::unordered_set<std::uint64_t> seen;
    std::atomic<bool> struck{false};
};
Settings& settings() {
    static auto* const all = new Settings;  // never destroyed: threads may still call
    return *all;
}

int note_code(dl_phdr_info* info, std::size_t, void*) {
    const std::string name = info->dlpi_name;
    const bool standard = name.find("/libc.so") != std::string::npos || name.find("/libstdc++") != std::string::npos ||
                          name.find("faults_preload") != std::string::npos;
    if ((!name.empty() && !standard) || code_count == max_codes) return 0;
    if (name.empty()) program_base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum && code_count < max_codes; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
        codes[code_count++] = {begin, begin + part.p_memsz, name.empty() ? Origin::program : Origin::standard};
    }
    return 0;
}

const Code* code_of(std::uintptr_t address) {
    for (int i = 0; i < code_count; ++i)
        if (address >= codes[i].begin && address < codes[i].end) return &codes[i];
    return nullptr;
}

struct Place {
    std::uint64_t hash = 0;  ///< 0 when the call is not the program's own
    bool below = false;      ///< FAULTS_BELOW led to it
};
/// The place of the present call.
Place place() {
    constexpr int max_frames = 128;
    void* frames[max_frames];
    const int count = backtrace(frames, max_frames);
    std::uint64_t hash = 0;
    bool below = false;
    for (int i = 1; i < count; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
        const Code* const code = code_of(address);
        if (hash == 0 && code != nullptr && code->origin == Origin::standard) continue;
        if (code == nullptr || code->origin != Origin::program) {
            if (hash == 0) return {};
            continue;
        }
        for (const Range& range : settings().below)
            below = below || (address - program_base >= range.begin && address - program_base < range.end);
        hash = (hash ^ (address - codes[0].begin)) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 29;
        if (hash == 0) hash = 1;
    }
    return {hash, below};
}

void append(const std::string& path, const char* text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return;
    static_cast<void>(!::write(fd, text, std::strlen(text)));
    ::close(fd);
}

void count_to_the_kill(const char* kind, const char* file) {
    Settings& s = settings();
    if (s.kill_below.empty() || std::strstr(file, s.kill_below.c_str()) == nullptr) return;
    inside = true;
    if (!s.hit.empty()) append(s.hit, (std::string(kind) + "\n").c_str());
    if (++s.kill_calls == s.kill) static_cast<void>(::kill(::getpid(), SIGKILL));
    inside = false;
}

/// Pages are mapped anywhere, but these bits of an address in one of them are the same in each run.
constexpr std::uint64_t page_bits = 0xfff;

/// Notes a call of the function `kind`. True when it must fail. `caller`: the return address of an allocation.
bool strikes(const char* kind, const char* file = "", const void* caller = nullptr) {
    if (!in_main || inside) return false;
    Settings& s = settings();
    const std::uint64_t within_page = reinterpret_cast<std::uintptr_t>(caller) & page_bits;
    if (caller != nullptr && s.place != 0 && (s.place & page_bits) != within_page) return false;
    count_to_the_kill(kind, file);
    inside = true;
    const int saved = errno;
    bool strike = false;
    if (!s.list.empty() || s.place != 0 || (!s.below.empty() && s.kind == kind)) {
        auto [here, below] = place();
        if (here != 0 && caller != nullptr) here = (here & ~page_bits) | within_page;
        if (here != 0 && !s.list.empty()) {
            const std::lock_guard lock(s.mutex);
            const bool cached = !s.cache.empty() && std::strncmp(file, s.cache.c_str(), s.cache.size()) == 0;
            char line[64];
            std::snprintf(line, sizeof line, "%s%s %016llx\n", kind, cached ? ":cache" : "",
                          static_cast<unsigned long long>(here));
            if (s.seen.insert(here).second) append(s.list, line);
        }
        strike = here != 0 && (below || here == s.place) && !s.struck.exchange(true);
        if (strike && !s.hit.empty()) append(s.hit, kind);
    }
    errno = saved;
    inside = false;
    return strike;
}

/// The file of a descriptor, for its path.
struct FileOf {
    char path[512] = "";
    explicit FileOf(int fd) {
        char link[32];
        std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t size = ::readlink(link, path, sizeof path - 1);
        path[size > 0 ? size : 0] = '\0';
    }
};

/// Each second call of the program's own is interrupted, with FAULTS_EVERY=interrupt.
bool interrupts() {
    static std::atomic<unsigned> calls{0};
    if (!in_main || inside || settings().every != "interrupt") return false;
    inside = true;
    const bool own = place().hash != 0;
    inside = false;
    return own && calls.fetch_add(1) % 2 == 0;
}
bool shortens() { return in_main && !inside && settings().every == "short"; }

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool fails(const char* kind, const char* file = "") {
    if (strikes(kind, file)) {
        errno = settings().error;
        return true;
    }
    return false;
}
bool fails_or_waits(const char* kind, const char* file = "") {
    if (fails(kind, file)) return true;
    if (!interrupts()) return false;
    errno = EINTR;
    return true;
}

// Inlined, so that the return address is that of the `operator new`.
[[gnu::always_inline]] inline void* allocate(std::size_t size, std::size_t alignment) {
    if (strikes("new", "", __builtin_return_address(0))) return nullptr;
    if (size == 0) size = 1;
    if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
[[gnu::always_inline]] inline void* allocate_or_throw(std::size_t size,
                                                      std::size_t alignment = alignof(std::max_align_t)) {
    if (void* const memory = allocate(size, alignment)) return memory;
    throw std::bad_alloc();
}

using Main = int (*)(int, char**, char**);
Main program_main;
int begun_main(int argc, char** argv, char** environment) {
    in_main = true;
    const int code = program_main(argc, argv, environment);
    in_main = false;
    return code;
}

__attribute__((constructor)) void prepare() {
    inside = true;
    static_cast<void>(settings());
    void* frame[1];
    backtrace(frame, 1);  // loads the unwinder
    dl_iterate_phdr(note_code, nullptr);
    inside = false;
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t to) { return allocate_or_throw(size, std::size_t(to)); }
void* operator new[](std::size_t size, std::align_val_t to) { return allocate_or_throw(size, std::size_t(to)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld)(), void* stack) {
    program_main = main;
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    return next<Start>("__libc_start_main")(begun_main, argc, argv, init, fini, rtld, stack);
}

int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (fails_or_waits("open", path)) return -1;
    return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
ssize_t read(int fd, void* data, std::size_t size) {
    if (fails_or_waits("read", FileOf(fd).path)) return -1;
    if (shortens() && size > 1) size = size > 4096 ? size / 2 : 1;
    return next<ssize_t (*)(int, void*, std::size_t)>("read")(fd, data, size);
}
ssize_t pread(int fd, void* data, std::size_t size, off_t offset) {
    if (fails_or_waits("pread", FileOf(fd).path)) return -1;
    if (shortens() && size > 1) size = size > 4096 ? size / 2 : 1;
    return next<ssize_t (*)(int, void*, std::size_t, off_t)>("pread")(fd, data, size, offset);
}
ssize_t write(int fd, const void* data, std::size_t size) {
    if (fails_or_waits("write", FileOf(fd).path)) return -1;
    if (shortens() && size > 1) size = size > 4096 ? size / 2 : 1;
    return next<ssize_t (*)(int, const void*, std::size_t)>("write")(fd, data, size);
}
int fsync(int fd) {
    if (fails_or_waits("fsync", FileOf(fd).path)) return -1;
    return next<int (*)(int)>("fsync")(fd);
}
int rename(const char* from, const char* to) noexcept {
    if (fails("rename", to)) return -1;
    return next<int (*)(const char*, const char*)>("rename")(from, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
    if (fails("linkat", to)) return -1;
    return next<int (*)(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}
int flock(int fd, int operation) noexcept {
    if (fails_or_waits("flock", FileOf(fd).path)) return -1;
    return next<int (*)(int, int)>("flock")(fd, operation);
}
int mkdir(const char* path, mode_t mode) noexcept {
    if (fails("mkdir", path)) return -1;
    return next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}
void* mmap(void* where, std::size_t size, int protection, int flags, int fd, off_t offset) noexcept {
    if (fails("mmap")) return MAP_FAILED;
    return next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap")(where, size, protection, flags, fd,
                                                                             offset);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*), void* data) noexcept {
    if (fails("pthread_create")) return EAGAIN;
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    return next<Create>("pthread_create")(thread, how, work, data);
}

}  // extern "C"
