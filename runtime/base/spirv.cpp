#include "runtime/base/spirv.h"

#include <deque>
#include <mutex>
#include <vector>

namespace vantage::internal {

namespace {

struct Added {
    std::string name;
    std::vector<std::uint32_t> code;
    SpirvModule module;
};
struct Table {
    std::mutex mutex;
    std::deque<Added> modules;  // a deque: pointers to modules stay valid
};
Table& table() {
    static Table all;
    return all;
}

}  // namespace

const SpirvModule& add_spirv(const std::string& name, std::span<const std::uint32_t> code) {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    Added& added = all.modules.emplace_back();
    added.name = "program/" + name + "#" + std::to_string(all.modules.size());
    added.code.assign(code.begin(), code.end());
    added.module = {added.name.c_str(), added.name.c_str(), added.code};
    return added.module;
}

const SpirvModule* find_added_spirv(std::string_view name) {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    for (const Added& added : all.modules)
        if (added.name == name) return &added.module;
    return nullptr;
}

}  // namespace vantage::internal
