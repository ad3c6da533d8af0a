// What `inspect` and `heads` look at: a text, token ids or an image; of an encoder–decoder also what its decoder is given.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shared/model_images.h"
#include "vantage/session.h"

namespace CLI {
class App;
}

namespace vantage::cli {

struct InputOptions {
    std::string prompt, ids, types, image, decoder_ids;
    std::size_t image_index = 0;
    std::optional<std::int64_t> global_tokens = {};
    bool from_prompt = false, from_ids = false;
};
void add_input_options(CLI::App& command, InputOptions& options);
/// Throws usage where nothing was given.
void require_input(const std::string& command, const InputOptions& options);

struct ModelInput {
    std::optional<ModelImage> image = {};
    std::vector<std::int32_t> source = {};  ///< what an encoder–decoder's encoder reads
    std::vector<std::int32_t> ids = {};  ///< of an encoder–decoder the decoder's: empty where --decoder-ids gave none
    std::vector<std::int32_t> types = {};
    std::int64_t longest() const { return std::max(std::ssize(ids), std::ssize(source)); }
};
/// The image to look at, for models that do; nothing for others. Throws usage for what does not fit the model, bad_file.
std::optional<ModelImage> image_of(const std::string& command, const InputOptions& options, const Model& model);
/// All that was given, without a run. Throws usage for what does not fit the model, naming `command`; bad_file.
ModelInput read_input(const std::string& command, const InputOptions& options, const Model& model);
/// Gives a session what is to be looked at.
void begin(Session& session, const ModelInput& input);

inline constexpr std::int64_t max_written = 32;  ///< tokens that an encoder–decoder writes by itself

}  // namespace vantage::cli
