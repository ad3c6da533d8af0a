// vantage inspect: one forward pass over a text or an image, and all that can be seen of it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "generation_options.h"
#include "head_mask.h"
#include "head_pictures.h"
#include "head_survey.h"
#include "image_overlay.h"
#include "inspect_report.h"
#include "inspect_save.h"
#include "model_images.h"
#include "node_check.h"
#include "profile.h"
#include "progress.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/base/units.h"
#include "runtime/io/safetensors.h"
#include "runtime/io/shown_text.h"
#include "runtime/models/config.h"
#include "token_ids.h"
#include "translation.h"
#include "vectors.h"

namespace vantage::cli {

namespace {

struct InspectOptions {
    std::string prompt, ids, types, image, decoder_ids, save, pictures, precision = "f32", masked;
    std::int64_t greedy = 0;
    std::optional<std::int64_t> global_tokens;
    std::size_t image_index = 0;
    bool from_ids = false, json = false, check = false;
};

// ---- what is asked for, before anything runs -------------------------------------------------------------------------

std::vector<std::int32_t> types_of(const InspectOptions& o, const Model& model, std::size_t tokens) {
    if (o.types.empty()) return {};
    if (model.config().token_types == 0)
        throw Error(ErrorKind::usage, "inspect: --type-ids goes with encoders that tell types of tokens apart, but " +
                                          model.info().name + " is " + model.info().architecture);
    std::vector<std::int32_t> types = read_ids(o.types, "inspect: --type-ids");
    if (types.size() != tokens)
        throw Error(ErrorKind::usage,
                    format("inspect: --type-ids has %zu types, but there are %zu tokens", types.size(), tokens));
    return types;
}

/// The image to look at, for models that do; nothing for others.
std::optional<ModelImage> image_of(const InspectOptions& o, const Model& model) {
    if (model.config().sees() && o.image.empty())
        throw Error(ErrorKind::usage, "inspect: " + model.info().name + " looks at images; give --image FILE");
    if (o.image.empty()) return std::nullopt;
    std::vector<ModelImage> images = read_model_images(model, o.image);
    if (o.image_index >= images.size())
        throw Error(ErrorKind::usage, format("inspect: --image-index is %zu, but %s has images 0 to %zu", o.image_index,
                                             o.image.c_str(), images.size() - 1));
    return std::move(images[o.image_index]);
}

std::vector<std::int32_t> tokens_of(const InspectOptions& o, const Model& model) {
    if (model.config().sees()) return std::vector<std::int32_t>(static_cast<std::size_t>(model.info().context));
    const std::vector<std::int32_t> ids =
        o.from_ids ? read_ids(o.ids, "inspect: --ids")
                   : model.tokenizer().encode(o.prompt == "-" ? read_stdin() : o.prompt, true).ids;
    if (ids.empty()) throw Error(ErrorKind::usage, "inspect: there is nothing to look at: the prompt has no tokens");
    const ModelInfo& info = model.info();
    for (const std::int32_t id : ids)
        if (id < 0 || id >= info.vocab)
            throw Error(ErrorKind::usage, format("inspect: token id %d is outside of the vocabulary of %s: 0 to %lld",
                                                 id, info.name.c_str(), static_cast<long long>(info.vocab - 1)));
    const auto count = static_cast<std::int64_t>(ids.size());
    if (count > info.context)
        throw Error(ErrorKind::usage,
                    format("inspect: the prompt has %lld tokens, but %s allows %lld; shorten it",
                           static_cast<long long>(count), info.name.c_str(), static_cast<long long>(info.context)));
    if (model.config().kind != ModelKind::encoder_decoder && count + o.greedy > info.context)
        throw Error(
            ErrorKind::usage,
            format("inspect: %lld tokens and %lld more with --greedy are %lld, but %s allows %lld",
                   static_cast<long long>(count), static_cast<long long>(o.greedy),
                   static_cast<long long>(count + o.greedy), info.name.c_str(), static_cast<long long>(info.context)));
    return ids;
}

constexpr std::int64_t most_written = 32;  // tokens that an encoder–decoder writes by itself

/// What an encoder–decoder's decoder is given: --decoder-ids; with --greedy its start token; else what it writes by itself.
std::vector<std::int32_t> decoder_ids_of(const InspectOptions& o, const Model& model,
                                         const std::vector<std::int32_t>& source) {
    if (o.decoder_ids.empty() && o.greedy == 0)
        return written_about(model, source, most_written,
                             {.precision = precision_named(o.precision), .silenced = masked_heads(o.masked)});
    const std::vector<std::int32_t> ids = o.decoder_ids.empty()
                                              ? std::vector{static_cast<std::int32_t>(model.config().start_token)}
                                              : read_ids(o.decoder_ids, "inspect: --decoder-ids");
    if (std::ssize(ids) + o.greedy > model.info().context)
        throw Error(ErrorKind::usage,
                    format("inspect: the decoder would have %lld tokens with --greedy, but %s allows %lld",
                           static_cast<long long>(std::ssize(ids) + o.greedy), model.info().name.c_str(),
                           static_cast<long long>(model.info().context)));
    return ids;
}

struct Input {
    std::optional<ModelImage> image;
    std::vector<std::int32_t> source;  ///< what an encoder–decoder's encoder reads
    std::vector<std::int32_t> ids, types;
};

Input input_of(const InspectOptions& o, const Model& model) {
    const bool translates = model.config().kind == ModelKind::encoder_decoder;
    if (!translates && !o.decoder_ids.empty())
        throw Error(ErrorKind::usage, "inspect: --decoder-ids goes with encoder–decoders, but " + model.info().name +
                                          " is " + model.info().architecture);
    Input input{.image = image_of(o, model), .source = {}, .ids = tokens_of(o, model), .types = {}};
    input.types = types_of(o, model, input.ids.size());
    if (!translates) return input;
    input.source = std::move(input.ids);
    input.ids = decoder_ids_of(o, model, input.source);
    return input;
}

/// Bytes that the host has left, as far as the system says so.
std::uint64_t host_memory_available() {
    try {
        const std::string text = read_file("/proc/meminfo", 1 << 20);
        const std::size_t line = text.find("MemAvailable:");
        return line == std::string::npos ? UINT64_MAX : std::strtoull(text.c_str() + line + 13, nullptr, 10) * 1024;
    } catch (const Error&) {
        return UINT64_MAX;
    }
}

/// All rows' logits, the residual stream, and with --save the weights of every head are on the host at once: better an
/// error with numbers than a machine that swaps.
void check_memory(const InspectOptions& o, const ModelInfo& info, const Input& input) {
    const std::uint64_t n = input.ids.size(), source = input.source.size();
    const auto of = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
    const auto heads = [&](AttentionOf kind) { return of(info.layers_of(kind) * info.heads_of(kind)); };
    const std::uint64_t logits = 4 * n * of(info.vocab),
                        hidden = 4 * of(info.width) * (n * of(info.layers + 1) + source * of(info.encoder_layers + 1)),
                        attention = 4 * (heads(AttentionOf::self) * n * n + heads(AttentionOf::cross) * n * source +
                                         heads(AttentionOf::encoder) * source * source);
    std::uint64_t wanted = logits + 2 * hidden + (o.pictures.empty() ? 0 : 8 * n * n);
    if (!o.save.empty()) wanted = 2 * (logits + hidden + attention) + hidden;  // once more while the file is written
    const std::uint64_t available = host_memory_available();
    if (wanted <= available) return;
    throw Error(ErrorKind::out_of_memory,
                format("inspect: %llu tokens take %s of the host's memory (attention of all heads %s, logits %s), but "
                       "%s are available; shorten the prompt%s",
                       static_cast<unsigned long long>(n + source), bytes_text(wanted).c_str(),
                       bytes_text(attention).c_str(), bytes_text(logits).c_str(), bytes_text(available).c_str(),
                       o.save.empty() ? "" : ", or leave --save out"));
}

std::vector<std::string> draw(const InspectOptions& o, const HeadSurvey& survey,
                              const std::optional<ModelImage>& image) {
    std::vector<std::string> files = write_head_pictures(survey, o.pictures);
    if (image && image->seen.width > 0) {
        const std::vector<std::string> overlays = write_image_overlays(survey, image->seen, o.pictures);
        files.insert(files.end(), overlays.begin(), overlays.end());
    }
    return files;
}

/// Gives a session what is to be looked at.
void begin(Session& session, const Input& input) {
    if (input.image) return session.look(input.image->pixels);
    if (!input.source.empty()) {
        session.encode(input.source);
        session.rewind(0);
    }
    session.append(input.ids, input.types);
}

/// The N most probable tokens, one after the other, in a session of its own: one that inspects draws none.
std::vector<std::int32_t> continued(const InspectOptions& o, const Model& model, const Input& input) {
    if (o.greedy == 0) return {};
    if (model.config().kind == ModelKind::encoder)
        throw Error(ErrorKind::usage,
                    "inspect: --greedy continues a text, but " + model.info().name + " is an encoder");
    Session session(model, {.context = std::max(std::ssize(input.ids) + o.greedy, std::ssize(input.source)),
                            .precision = precision_named(o.precision),
                            .silenced = masked_heads(o.masked)});
    session.restart({.ignore_end = true});
    begin(session, input);
    Progress progress("continuing");
    std::int64_t done = 0;
    return session.generate(o.greedy, [&](std::int32_t) {
        progress.show(++done, o.greedy);
        return true;
    });
}

void run(const InspectOptions& o) {
    ProfileWriter profile(common().profile);
    const Device device = profile.timed("open device", [] { return open_device(); });
    const Model model = profile.timed("load model", [&] { return load_model(device); });
    const Input input = input_of(o, model);
    check_memory(o, model.info(), input);
    const Precision precision = precision_named(o.precision);
    Session session(model, {.context = std::max(std::ssize(input.ids), std::ssize(input.source)),
                            .precision = precision,
                            .watch = Watch::all(),
                            .inspect = true,
                            .profile = static_cast<bool>(profile),
                            .global_tokens = o.global_tokens,
                            .silenced = masked_heads(o.masked)});
    profile.device_begins();
    profile.timed("forward pass", [&] {
        begin(session, input);
        session.process();
    });
    const HeadSurvey survey = profile.timed("read heads", [&] { return HeadSurvey(session, input.ids.size()); });

    InspectReport report{.survey = survey, .precision = o.precision};
    report.greedy = profile.timed("continue", [&] { return continued(o, model, input); });
    if (!input.source.empty()) report.reads = source_reads(session);
    if (!o.save.empty())
        profile.timed("save", [&] { save_pass(o.save, survey, report.greedy, input.image, o.precision); });
    if (!o.pictures.empty()) report.files = profile.timed("draw", [&] { return draw(o, survey, input.image); });
    const SessionOptions checked{
        .precision = precision, .global_tokens = o.global_tokens, .silenced = masked_heads(o.masked)};
    if (o.check)
        report.check = profile.timed("check", [&] {
            return check_nodes(model, input.ids, checked, input.image ? input.image->pixels : std::vector<float>(),
                               input.source);
        });
    if (!o.save.empty()) report.files.insert(report.files.begin(), o.save);
    if (o.json)
        print_json(report);
    else
        print_summary(report);
    profile.write(device, session.take_timings());
    if (report.check && report.check->diverged) throw Error(ErrorKind::accuracy, report.check->text());
}

}  // namespace

void add_inspect(CLI::App& app) {
    auto o = std::make_shared<InspectOptions>();
    CLI::App* command =
        app.add_subcommand("inspect", "Run a text or an image once, and show what the model made of it");
    command->footer(
        "OUT holds input_ids [n], logits [n, vocab], hidden [layers + 1, n, width], attn [layers, heads, n, n], "
        "greedy.ids [N]; with experts router_logits [layers, n, experts]; of encoders last_hidden [n, width], "
        "mean_pooled and "
        "pooler_output [width], logits [n, vocab] or [labels]; of an image pixel_values [channels, height, width] in "
        "place of input_ids, and n = 1 "
        "+ patches; of encoder–decoders decoder_input_ids [m], logits [m, vocab], encoder_last_hidden [n, width], "
        "encoder_hidden, decoder_hidden, encoder_attn, decoder_attn and cross_attn [layers, heads, m, n].\n\n"
        "Examples:\n"
        "  vantage inspect -p \"The dog chased the birds. They\" --png heads\n"
        "  vantage inspect -m models/gpt2 --ids 464,3290 --save out.safetensors --greedy 20\n"
        "  vantage inspect -m models/vit --image cat.jpg --png heads");
    add_model_option(*command);
    CLI::Option* prompt =
        command->add_option("-p,--prompt", o->prompt, "Text to look at; - reads stdin")->type_name("TEXT");
    CLI::Option* ids =
        command->add_option("--ids", o->ids, "Token ids instead of a text: 1,2,3")->type_name("IDS")->excludes(prompt);
    command
        ->add_option("--type-ids", o->types,
                     "Types of an encoder's tokens, 0 for the first text and 1 for the second: 0,0,1")
        ->type_name("TYPES");
    command
        ->add_option("--global-tokens", o->global_tokens,
                     "How many of the first tokens see all and are seen by all (Longformer)")
        ->type_name("N");
    CLI::Option* image =
        command
            ->add_option("--image", o->image,
                         "An image: PNG or JPEG, by the folder's preprocessor_config.json; or pixel_values of a "
                         "safetensors file")
            ->type_name("FILE")
            ->excludes(prompt)
            ->excludes(ids);
    command->add_option("--image-index", o->image_index, "Which of several pixel_values, from 0 on")
        ->type_name("N")
        ->needs(image);
    command
        ->add_option("--decoder-ids", o->decoder_ids,
                     "What an encoder–decoder's decoder is given, its start token first; otherwise what it writes by "
                     "itself: 0,5,9")
        ->type_name("IDS");
    command->add_option("--save", o->save, "Write logits, hidden states and attention of the pass (safetensors)")
        ->type_name("OUT");
    command->add_option("--greedy", o->greedy, "Continue by the N most probable tokens, through end tokens, too")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
    command
        ->add_option(
            "--png", o->pictures,
            "Draw all heads (heads.png) and each of them (layer-L-head-H.png) into this folder; of an image also what "
            "its class reads of it (layer-L-cls.png)")
        ->type_name("DIR");
    add_precision_option(*command, o->precision);
    add_head_mask_option(*command, o->masked);
    command->add_flag(
        "--check", o->check,
        "Compare every node of the plans with its reference; the first that differs is named (exit code 7)");
    command->add_flag("--json", o->json, "One JSON object on stdout");
    command->callback([o, prompt, ids, image] {
        o->from_ids = ids->count() > 0;
        if (!o->from_ids && prompt->count() == 0 && image->count() == 0)
            throw Error(ErrorKind::usage,
                        "inspect: there is nothing to look at; give -p TEXT or --ids 1,2,3 (or --image FILE)");
        run(*o);
    });
}

}  // namespace vantage::cli
