#include "runtime/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/checkpoint/adapter_files.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"

namespace vantage::internal {

namespace {

// BERT's first checkpoints call a norm's gain and bias gamma and beta.
std::string older_spelling(const std::string& weight) {
    for (const auto& [now, then] :
         {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
        if (weight.ends_with(now)) return weight.substr(0, weight.size() - std::string(now).size()) + then;
    return weight;
}

}  // namespace

Checkpoint::Checkpoint(WeightFiles files, ModelConfig config, const std::string& adapters)
    : files_(std::move(files)), config_(std::move(config)) {
    if (!adapters.empty()) adapters_.emplace(adapter_files::tensors(adapters));
}

std::string Checkpoint::adapter_name_of(const std::string& weight) const {
    const auto prefixed = [&](const std::string& prefix) { return adapter_files::tensor_prefix + prefix + weight; };
    const std::vector<std::string> prefixes = checkpoint_prefixes(config_, weight);
    for (const std::string& prefix : prefixes)
        if (adapters_ && adapters_->find(prefixed(prefix)) != nullptr) return prefixed(prefix);
    return prefixed(prefixes.front());
}

std::string Checkpoint::name_of(const std::string& weight) const {
    if (is_adapter(weight)) return adapter_name_of(weight);
    for (const std::string& spelling : {weight, older_spelling(weight)})
        for (const std::string& prefix : checkpoint_prefixes(config_, weight))
            if (files_.find(prefix + spelling) != nullptr) return prefix + spelling;
    return checkpoint_prefixes(config_, weight).front() + weight;
}

const TensorEntry* Checkpoint::find(const std::string& weight) const {
    if (is_adapter(weight)) return adapters_ ? adapters_->find(name_of(weight)) : nullptr;
    return files_.find(name_of(weight));
}

std::string Checkpoint::place_of(const std::string& weight) const {
    const std::string name = name_of(weight);
    return (is_adapter(weight) && adapters_ ? adapters_->name() : files_.file_of(name)) + ": " + name;
}

const TensorEntry& Checkpoint::entry(const std::string& weight) const {
    if (const TensorEntry* found = find(weight)) return *found;
    if (is_adapter(weight))
        throw bad_file_error("{} is missing, wanted by {}", place_of(weight), adapter_files::config);
    const bool bare = is_of_output_layer(config_, weight);
    throw bad_file_error(
        files_.file_of(weight) + ": tensor " + name_of(weight) + " is missing, wanted by " + config_.architecture +
        (bare ? " for its output layer: was the model saved without one (LlamaModel in place of LlamaForCausalLM)?"
              : ""));
}

std::vector<std::string> Checkpoint::absent() const {
    std::vector<std::string> missing;
    for (const char* weight : optional_weights(config_))
        if (!has(weight)) missing.emplace_back(weight);
    return missing;
}

bool Checkpoint::has(const std::string& weight) const {
    const std::size_t star = weight.find('*');
    if (star == std::string::npos) return files_.find(name_of(weight)) != nullptr;
    for (std::int64_t layer = 0; layer < config_.layers; ++layer)
        if (has(weight.substr(0, star) + std::to_string(layer) + weight.substr(star + 1))) return true;
    return false;
}

DType Checkpoint::dtype(const std::string& weight) const { return dtype_of(entry(weight), place_of(weight)); }

double Checkpoint::number(const std::string& weight) const {
    const TensorEntry& found = entry(weight);
    constexpr double most = 100;
    if (std::ranges::all_of(found.shape, [](std::int64_t size) { return size == 1; }))
        if (const double value = widen({Shape{1}, dtype(weight)}, found.data.all())[0]; value >= -most && value <= most)
            return value;
    throw bad_file_error("{} is {}, wanted one number from -{:g} to {:g}", place_of(weight), found.text(), most, most);
}

void Checkpoint::check_shape(const Value& value) const {
    Shape wanted = value.type.shape;
    if (value.transposed) std::swap(wanted[-2], wanted[-1]);
    for (const std::string& part : tensors_of(value)) {
        const std::vector<std::int64_t> sizes = sizes_in_files(value, wanted);
        const TensorEntry& found = entry(part);
        const bool one_number = sizes.empty() && found.elements() == 1;
        if (!one_number &&
            !std::ranges::equal(found.shape, sizes))  // not as a Shape: a file may have more dimensions than that
            throw bad_file_error("{} is {}, but {} wants {}", place_of(part), found.text(),
                                 is_adapter(part) ? adapter_files::config : "config.json", Shape(sizes).text());
        if (const DType first = dtype(tensors_of(value).front()); dtype(part) != first)
            throw bad_file_error("{} is {}, but the others of its kind are {}", place_of(part), found.text(),
                                 vantage::name_of(first));
    }
}

void Checkpoint::check_surplus(const std::set<std::string>& used) const {
    for (const std::string& name : files_.names())
        if (used.count(name) == 0 && !is_ignored_tensor(config_, name))
            throw bad_file_error(files_.file_of(name) + ": tensor " + in_quotes(name) + " is not part of " +
                                 config_.architecture + " with this config.json");
    if (!adapters_) return;
    for (const auto& [name, entry] : adapters_->entries())
        if (used.count(name) == 0)
            throw bad_file_error("{}: tensor {} is no part of an adapter that {} supports with this {}",
                                 adapters_->name(), in_quotes(name), config_.architecture, adapter_files::config);
}

void copy_beside_weights(const std::string& from, const FolderWriter& to, const std::set<std::string>& except) {
    namespace fs = std::filesystem;
    static const std::set<std::string> copied{".json", ".txt", ".model", ".jinja", ".md"};
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
        const std::string name = entry.path().filename().string();
        if (entry.is_regular_file() && !except.contains(name) && copied.contains(entry.path().extension().string()))
            write_file(to.file(name), read_file(entry.path().string()));
    }
}

}  // namespace vantage::internal
