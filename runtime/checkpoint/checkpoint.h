// The weights of a model in files: which tensor of the files each weight of the graph is.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// A checkpoint of one or several safetensors files. Tensors are found by the weight's name in the graph, with or
/// without the prefix that the architecture's files may have; those of adapters (ModelConfig::lora) are in a folder of
/// their own. Functions that look a tensor up throw bad_file where it is missing.
class Checkpoint {
public:
    /// `files`: of a folder, or of a GGUF file (gguf_model.h). `adapters`: their folder (adapter_files.h); empty: there
    /// is none.
    Checkpoint(WeightFiles files, ModelConfig config, const std::string& adapters = {});
    Checkpoint(const std::string& directory, ModelConfig config, const std::string& adapters = {})
        : Checkpoint(WeightFiles(directory), std::move(config), adapters) {}

    const WeightFiles& files() const { return files_; }
    bool has_adapters() const { return adapters_.has_value(); }
    /// Name in the files of the tensor for `weight`; where there is none, the name that it should have.
    std::string name_of(const std::string& weight) const;
    /// "model.safetensors: wte.weight", for messages.
    std::string place_of(const std::string& weight) const;
    const TensorEntry& entry(const std::string& weight) const;
    /// Optional weights of the architecture that the files do not have.
    std::vector<std::string> absent() const;
    /// Whether the files have a weight, or one of several layers ("*").
    bool has(const std::string& weight) const;
    DType dtype(const std::string& weight) const;
    /// A tensor of one number from -100 to 100.
    double number(const std::string& weight) const;

    /// Throws bad_file where shape or type in the files is not what the graph wants.
    void check_shape(const Value& value) const;
    /// Throws bad_file for a tensor that is not in `used` and that the architecture does not ignore.
    void check_surplus(const std::set<std::string>& used) const;

private:
    std::string adapter_name_of(const std::string& weight) const;
    const TensorEntry* find(const std::string& weight) const;

    WeightFiles files_;
    ModelConfig config_;
    std::optional<SafeTensors> adapters_;
};

/// Copies the files of a model folder beside its weights: JSON, text, tokenizer models and chat templates, but none
/// of the names in `except`.
void copy_beside_weights(const std::string& from, const FolderWriter& to, const std::set<std::string>& except = {});

}  // namespace vantage::internal
