// The inputs of a training step in memory that host and device share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/models/model_builder.h"
#include "runtime/train/training_data.h"
#include "runtime/train/training_graph.h"

namespace vantage::internal {

/// The inputs of some sequences, by name.
class HostInputs {
public:
    HostInputs() = default;
    explicit HostInputs(std::int64_t sequences) : sequences_(static_cast<std::size_t>(sequences)) {}
    void add(const std::string& name, std::span<std::byte> bytes) { parts_[name] = bytes; }
    /// The part of an input that belongs to these sequences; empty if there is no such input.
    template <class T>
    std::span<T> part(const char* name, std::int64_t first, std::int64_t count = 1) const {
        const auto found = parts_.find(name);
        if (found == parts_.end()) return {};
        const std::size_t each = found->second.size() / sizeof(T) / sequences_;
        return {reinterpret_cast<T*>(found->second.data()) + static_cast<std::size_t>(first) * each,
                static_cast<std::size_t>(count) * each};
    }
    TrainingSequence at(std::int64_t sequence) const {
        const auto integers = [&](const char* name) { return part<std::int32_t>(name, sequence); };
        return {.tokens = integers(model_names::tokens),
                .targets = integers(train_names::targets),
                .types = integers(model_names::types),
                .length = integers(model_names::length),
                .source = integers(model_names::source_tokens),
                .source_length = integers(model_names::source_length),
                .ends = integers(model_names::ends),
                .pixels = part<float>(model_names::pixels, sequence),
                .source_backwards = integers(model_names::source_backwards),
                .positions = integers(model_names::positions),
                .documents = integers(model_names::documents),
                .document_rows = document_rows(sequence)};
    }

private:
    std::vector<std::pair<std::int32_t, std::span<std::int32_t>>> document_rows(std::int64_t sequence) const {
        const std::string begin = model_names::document_rows;
        std::vector<std::pair<std::int32_t, std::span<std::int32_t>>> all;
        for (const auto& [name, bytes] : parts_)
            if (name.starts_with(begin))
                all.emplace_back(std::stoi(name.substr(begin.size())), part<std::int32_t>(name.c_str(), sequence));
        return all;
    }

    std::size_t sequences_ = 1;
    std::map<std::string, std::span<std::byte>> parts_;
};

}  // namespace vantage::internal
