#include "cli/shared/model_input.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/shared/command_options.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/token_ids.h"
#include "runtime/base/errors.h"
#include "runtime/base/terminal.h"
#include "runtime/models/config.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

std::vector<std::int64_t> positions_in(const std::string& text) {
    std::vector<std::int64_t> positions;
    for (const std::int32_t position : read_ids(text, "--global-at", "position")) {
        if (position < 0) throw usage_error("--global-at: position {} is negative; positions count from 0", position);
        positions.push_back(position);
    }
    if (positions.empty()) throw usage_error("--global-at: expected positions such as 0,7,40, got none");
    return positions;
}

}  // namespace

void add_input_options(CLI::App& command, InputOptions& o) {
    CLI::Option* prompt = add_option(command, "-p,--prompt", o.prompt, "Input text; - reads stdin", "TEXT");
    CLI::Option* ids = add_option(command, "--ids", o.ids, "Token ids instead of text: 1,2,3", "IDS")->excludes(prompt);
    prompt->each([&o](const std::string&) { o.from_prompt = true; });
    ids->each([&o](const std::string&) { o.from_ids = true; });
    add_option(command, "--type-ids", o.types,
               "Token types for an encoder: 0 for the first text, 1 for the second: 0,0,1. Default: all 0", "TYPES")
        ->check(not_empty);
    CLI::Option* count = add_option(command, "--global-tokens", o.global_tokens,
                                    "Longformer: the first N tokens are global (see all tokens and are seen by all); "
                                    "0: none. Default: the model's",
                                    "N")
                             ->check(zero_or_more);
    command
        .add_option_function<std::string>(
            "--global-at", [&o](const std::string& text) { o.global_positions = positions_in(text); },
            "Longformer: the tokens at these positions, from 0, are global: 0,7,40")
        ->type_name("POSITIONS")
        ->excludes(count);
    CLI::Option* image =
        add_option(command, "--image", o.image,
                   "Input image: PNG or JPEG, preprocessed as the model's preprocessor_config.json says, "
                   "or a safetensors file with pixel_values",
                   "FILE")
            ->excludes(prompt)
            ->excludes(ids);
    add_option(command, "--image-index", o.image_index, "Index of the image in pixel_values, from 0", "N")
        ->check(zero_or_more)
        ->needs(image);
    add_option(command, "--decoder-ids", o.decoder_ids,
               "Token ids for the decoder of an encoder–decoder, beginning with its start token: 0,5,9. Default: the "
               "text that the model generates",
               "IDS")
        ->check(not_empty);
}

void add_recording_options(CLI::App& command, InputOptions& o) {
    add_recording_precision_option(command, o.precision);
    add_stable_option(command, o.stable);
    add_variant_option(command, o.variant);
    add_head_mask_option(command, o.masked);
}

SessionOptions session_options(const InputOptions& o) {
    return {.precision = recording_precision(o.precision),
            .stable = o.stable,
            .global_tokens = o.global_tokens,
            .global_positions = o.global_positions,
            .variant = o.variant,
            .masked_heads = masked_heads(o.masked),
            .dump = o.dump};
}

void require_input(const std::string& command, const InputOptions& o) {
    if (!o.from_ids && !o.from_prompt && o.image.empty())
        throw usage_error("{}: no input; give -p TEXT, --ids 1,2,3 or --image FILE", command);
}

std::optional<ModelImage> image_of(const std::string& command, const InputOptions& o, const Model& model) {
    require_image(command, model, !o.image.empty());
    if (o.image.empty()) return std::nullopt;
    std::vector<ModelImage> images = read_model_images(model, o.image);
    if (o.image_index >= images.size())
        throw usage_error("{}: --image-index is {}, but {} has images 0 to {}", command, o.image_index, o.image,
                          images.size() - 1);
    return std::move(images[o.image_index]);
}

namespace {

std::vector<std::int32_t> types_of(const std::string& command, const InputOptions& o, const Model& model,
                                   std::size_t tokens) {
    if (o.types.empty()) return {};
    if (config_of(model).token_types == 0)
        throw usage_error("{}: --type-ids needs an encoder with token types, but {} ({}) has none", command,
                          model.info().name, model.info().architecture);
    std::vector<std::int32_t> types = read_ids(o.types, command + ": --type-ids", "token type");
    if (types.size() != tokens)
        throw usage_error("{}: --type-ids has {} types, but the input has {} tokens", command, types.size(), tokens);
    return types;
}

void check_tokens(const std::string& command, const std::vector<std::int32_t>& ids, const ModelInfo& info) {
    for (const std::int32_t id : ids)
        if (id < 0 || id >= info.vocab)
            throw usage_error("{}: token id {} is outside the vocabulary of {} (0 to {})", command, id, info.name,
                              info.vocab - 1);
    if (std::ssize(ids) > info.context)
        throw usage_error("{}: the input has {} tokens, but {} supports at most {}; shorten it", command, ids.size(),
                          info.name, info.context);
}

std::vector<std::int32_t> text_of(const std::string& command, const InputOptions& o, const Model& model) {
    std::vector<std::int32_t> ids = o.from_ids ? read_ids(o.ids, command + ": --ids")
                                               : encode_at(command, ErrorKind::usage, model.info().context,
                                                           model.tokenizer(), o.prompt == "-" ? read_stdin() : o.prompt)
                                                     .ids;
    if (ids.empty()) throw usage_error("{}: the prompt has no tokens", command);
    check_tokens(command, ids, model.info());
    return ids;
}

}  // namespace

ModelInput read_input(const std::string& command, const InputOptions& o, const Model& model) {
    const bool is_encoder_decoder = config_of(model).kind == ModelKind::encoder_decoder;
    if (!is_encoder_decoder && !o.decoder_ids.empty())
        throw usage_error("{}: --decoder-ids needs an encoder–decoder, but {} is {}", command, model.info().name,
                          model.info().architecture);
    ModelInput input{.image = image_of(command, o, model)};
    const std::int64_t places = config_of(model).image.places();
    input.ids = input.image ? std::vector<std::int32_t>(static_cast<std::size_t>(places)) : text_of(command, o, model);
    input.types = types_of(command, o, model, input.ids.size());
    if (!is_encoder_decoder) return input;
    input.source = std::exchange(input.ids, {});
    if (o.decoder_ids.empty()) return input;
    input.ids = read_ids(o.decoder_ids, command + ": --decoder-ids");
    if (input.ids.empty()) throw usage_error("{}: --decoder-ids is empty", command);
    check_tokens(command, input.ids, model.info());
    return input;
}

ReplayInput replay_input(const ModelInput& input) {
    ReplayInput given{.ids = input.ids, .types = input.types, .source = input.source};
    if (input.image) given.pixels = input.image->pixels;
    return given;
}

void begin(Session& session, const ModelInput& input) {
    if (input.image) session.set_image(input.image->pixels);
    if (input.image && input.source.empty()) return;
    if (!input.source.empty()) {
        if (!input.image) session.set_source(input.source);
        session.rewind(0);
    }
    session.append(input.ids, input.types);
}

}  // namespace vantage::cli
