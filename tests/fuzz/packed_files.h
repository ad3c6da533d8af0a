// A folder of files as one input of a fuzz target, and changes of it that keep most files valid.
//
// The input is a byte with the number of files, and for each of them a byte with its name (the index in the target's
// names, modulo their number), its length in 4 bytes (little-endian), and its content. The last file of a name counts.
// What is cut off is missing.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "tests/fuzz/folder.h"

/// libFuzzer's own mutation. Weak, because programs that only replay inputs do not have it.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t max_size);

namespace packed_files {

using vantage::internal::Json;
using Names = std::span<const char* const>;
using Random = std::minstd_rand;

struct File {
    std::size_t index = 0;  ///< of its name
    std::string name, bytes;
    bool is(std::string_view end) const { return name.ends_with(end); }
};

inline std::vector<File> unpack(Names names, const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    const auto take = [&](std::size_t count) {
        const std::string_view taken = rest.substr(0, count);
        rest.remove_prefix(taken.size());
        return taken;
    };
    const auto number = [&](std::size_t bytes) {
        std::size_t value = 0, shift = 0;
        for (const char byte : take(bytes)) {
            value |= std::size_t{static_cast<std::uint8_t>(byte)} << shift;
            shift += 8;
        }
        return value;
    };
    std::vector<File> files(std::min<std::size_t>(number(1), 32));
    for (File& file : files) {
        file.index = number(1) % names.size();
        file.name = names[file.index];
        file.bytes = take(number(4));
    }
    return files;
}

inline std::string pack(const std::vector<File>& files) {
    std::string packed(1, static_cast<char>(files.size()));
    for (const File& file : files) {
        packed += static_cast<char>(file.index);
        for (int shift = 0; shift < 32; shift += 8) packed += static_cast<char>(file.bytes.size() >> shift);
        packed += file.bytes;
    }
    return packed;
}

inline std::size_t below(Random& random, std::size_t end) { return random() % end; }

inline Json extreme(Random& random, const Json& old) {
    const double value = old.is_number() ? old.get<double>() : 0;
    const std::array<Json, 22> values{0,         1,     2,   3,         -1,        7,        8,          63,
                                      64,        65,    127, 255,       65536,     1 << 28,  2147483647, 4294967296,
                                      INT64_MAX, 1e308, 0.1, value + 1, value / 2, value * 2};
    const Json chosen = values[below(random, values.size())];
    const bool whole = old.is_number_integer() && chosen.is_number_float() && std::abs(chosen.get<double>()) < 1e15;
    return whole ? Json(chosen.get<std::int64_t>()) : chosen;
}

inline void collect(Json& node, std::vector<Json*>& all) {
    all.push_back(&node);
    if (!node.is_structured()) return;
    for (Json& child : node) collect(child, all);
}

inline void mutate_member(Json& node, const Json& other, Random& random) {
    if (!node.is_structured() || node.empty()) {
        node = other;
        return;
    }
    auto at = node.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(random, node.size())));
    switch (below(random, 4)) {
        case 0: node.erase(at); break;
        case 1: *at = other; break;
        case 2: {
            const Json copy = *at;
            if (node.is_array()) {
                node.push_back(copy);
            } else {
                node[at.key() + "2"] = copy;
            }
            break;
        }
        default: std::swap(*at, *node.begin()); break;
    }
}

/// The text of a tree with one change. Empty if the text is not JSON.
inline std::string mutated_json(const std::string& text, Random& random) {
    Json tree;
    try {
        tree = vantage::internal::parse_json(text, "input");
    } catch (const vantage::Error&) {
        return "";
    }
    std::vector<Json*> nodes, numbers;
    collect(tree, nodes);
    std::ranges::copy_if(nodes, std::back_inserter(numbers), [](const Json* node) { return node->is_number(); });
    Json& node = *nodes[below(random, nodes.size())];
    const Json other = *nodes[below(random, nodes.size())];
    constexpr std::array<std::size_t, 4> depths{1, 2, 90, 300};
    std::size_t depth = 0;
    switch (below(random, 8)) {
        case 0:
        case 1:
        case 2:
            if (!numbers.empty()) {
                Json& number = *numbers[below(random, numbers.size())];
                number = extreme(random, number);
                break;
            }
            [[fallthrough]];
        case 3: node = extreme(random, node); break;
        case 4: node = other; break;
        case 5: depth = depths[below(random, depths.size())]; break;
        default: mutate_member(node, other, random); break;
    }
    if (depth != 0) node = "\x01";
    std::string changed = tree.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (depth != 0) changed.replace(changed.find("\"\\u0001\""), 8, std::string(depth, '[') + std::string(depth, ']'));
    if (changed.starts_with('{') && !tree.empty() && below(random, 16) == 0)  // a key twice
        changed.insert(1, Json(tree.begin().key()).dump() + ":" + other.dump() + ",");
    return changed;
}

inline void mutate_bytes(std::string& bytes, std::size_t most) {
    const std::size_t size = bytes.size();
    bytes.resize(std::max(most, size));
    bytes.resize(::LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
}

/// A .safetensors file: 8 bytes with the size of the header, the header, the data.
inline void mutate_tensors(std::string& bytes, std::size_t most, Random& random) {
    std::uint64_t size = 0;
    if (bytes.size() >= 8) std::memcpy(&size, bytes.data(), 8);
    if (bytes.size() < 8 || size > bytes.size() - 8) return mutate_bytes(bytes, most);
    std::string header = bytes.substr(8, size), data = bytes.substr(8 + size);
    switch (below(random, 8)) {
        case 0: return mutate_bytes(bytes, most);
        case 1: mutate_bytes(header, header.size() + 64); break;
        case 2: data.resize(below(random, 2 * data.size() + 2)); break;
        default:
            if (std::string changed = mutated_json(header, random); !changed.empty()) header = std::move(changed);
    }
    size = below(random, 16) == 0 ? size + below(random, 17) - 8 : header.size();
    bytes = std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

inline void mutate_file(File& file, std::size_t most, Random& random) {
    if (file.is(".safetensors")) return mutate_tensors(file.bytes, most, random);
    std::string changed = file.is(".json") && below(random, 4) != 0 ? mutated_json(file.bytes, random) : "";
    if (changed.empty())
        mutate_bytes(file.bytes, most);
    else
        file.bytes = std::move(changed);
}

inline std::size_t store(const std::vector<File>& files, std::uint8_t* data, std::size_t size, std::size_t max_size) {
    const std::string packed = pack(files);
    if (packed.size() > max_size) return ::LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, packed.data(), packed.size());
    return packed.size();
}

/// What LLVMFuzzerCustomMutator does: one file is changed, renamed or left out.
inline std::size_t mutate(Names names, std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
    Random random(seed);
    std::vector<File> files = unpack(names, data, size);
    if (files.empty()) return ::LLVMFuzzerMutate(data, size, max_size);
    File& chosen = files[below(random, files.size())];
    if (below(random, 32) == 0)
        chosen.index = below(random, names.size());
    else if (below(random, 64) == 0)
        std::swap(chosen, files.back()), files.pop_back();
    else
        mutate_file(chosen, max_size - std::min(max_size, size) + chosen.bytes.size(), random);
    return store(files, data, size, max_size);
}

/// What LLVMFuzzerCustomCrossOver does: the first folder with one file of the second.
inline std::size_t cross(Names names, std::span<const std::uint8_t> first, std::span<const std::uint8_t> second,
                         std::uint8_t* out, std::size_t max_size, unsigned seed) {
    Random random(seed);
    std::vector<File> files = unpack(names, first.data(), first.size());
    const std::vector<File> others = unpack(names, second.data(), second.size());
    if (!others.empty()) {
        const File& other = others[below(random, others.size())];
        std::erase_if(files, [&](const File& file) { return file.index == other.index; });
        files.push_back(other);
    }
    const std::string packed = pack(files);
    if (packed.size() > max_size) return 0;
    std::memcpy(out, packed.data(), packed.size());
    return packed.size();
}

/// Files of earlier inputs are deleted.
inline void fill(const Folder& folder, Names names, const std::vector<File>& files) {
    for (const char* name : names) std::remove(folder.path(name).c_str());
    for (const File& file : files) folder.write(file.name, file.bytes);
}

}  // namespace packed_files
