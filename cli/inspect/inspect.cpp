// vantage inspect: one forward pass over a text or an image: predictions, attention, hidden states.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/inspect/check_nodes.h"
#include "cli/inspect/inspect_report.h"
#include "cli/inspect/inspect_save.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/head_pictures.h"
#include "cli/shared/image_overlay.h"
#include "cli/shared/profile.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/format.h"
#include "runtime/base/trace_span.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

struct InspectOptions {
    InputOptions input;
    std::string save, pictures, dump_node;
    std::int64_t greedy = 0;
    bool json = false, check = false;
};

// ---- input checks, before anything runs -----------------------------------------------------------------------------

/// The input. Without --decoder-ids, the decoder of an encoder–decoder gets its first tokens if --greedy continues, else
/// the text that the model generates.
ModelInput input_of(const InspectOptions& o, const Model& model, const SessionOptions& options) {
    if (o.greedy > 0 && config_of(model).kind == ModelKind::encoder)
        throw usage_error("inspect: --greedy continues a text, but {} is an encoder", model.info().name);
    ModelInput input = read_input("inspect", o.input, model);
    if (!input.source.empty() && input.ids.empty()) {
        if (o.greedy > 0)
            input.ids = first_tokens(config_of(model));
        else
            input.ids = generated_for(model, input, max_written, options);
    }
    const std::int64_t count = std::ssize(input.ids), context = model.info().context;
    if (count + o.greedy > context)
        throw usage_error("inspect: {} tokens and {} more with --greedy are {}, but {} supports at most {}", count,
                          o.greedy, count + o.greedy, model.info().name, context);
    return input;
}

/// Available host memory in bytes; UINT64_MAX if the system does not say.
std::uint64_t host_memory_available() {
    try {
        const std::string text = read_file("/proc/meminfo", 1 << 20);
        const std::size_t line = text.find("MemAvailable:");
        return line == std::string::npos ? UINT64_MAX : std::strtoull(text.c_str() + line + 13, nullptr, 10) * 1024;
    } catch (const Error&) {
        return UINT64_MAX;
    }
}

/// Logits of all rows, the residual stream and (with --save) the weights of all heads are on the host at the same time.
/// Throws out_of_memory with the sizes before the machine would swap.
void check_memory(const InspectOptions& o, const ModelInfo& info, const ModelInput& input) {
    const std::uint64_t n = input.ids.size(), source = input.source.size();
    const auto of = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
    const auto heads = [&](AttentionKind kind) { return of(std::ssize(info.layers_of(kind)) * info.heads_of(kind)); };
    const std::uint64_t logits = 4 * n * of(info.vocab),
                        hidden = 4 * of(info.width) * (n * of(info.layers + 1) + source * of(info.encoder_layers + 1)),
                        attention = 4 * (heads(AttentionKind::self) * n * n + heads(AttentionKind::cross) * n * source +
                                         heads(AttentionKind::encoder) * source * source);
    std::uint64_t wanted = logits + 2 * hidden + (o.pictures.empty() ? 0 : 8 * n * n);
    if (!o.save.empty())
        wanted = 2 * (logits + hidden + attention) + hidden;  // a second copy while the file is written
    const std::uint64_t available = host_memory_available();
    if (wanted <= available) return;
    throw Error(ErrorKind::out_of_memory,
                format("inspect: {} tokens need {} of the host's memory (attention of all heads {}, logits {}), but "
                       "{} are available; shorten the prompt{}",
                       n + source, bytes_text(wanted), bytes_text(attention), bytes_text(logits), bytes_text(available),
                       o.save.empty() ? "" : " or omit --save"));
}

/// Writes the node that --dump-node names, else the first that --check found to differ. Returns the folder, if any.
std::vector<std::string> dump(const InspectOptions& o, const std::optional<NodeDump>& chosen,
                              const std::optional<NodeCheck>& check) {
    if (chosen)
        write_dump(*chosen, o.input.dump);
    else if (check && check->diverged)
        check->diverged->dump(o.input.dump);
    else
        return {};
    return {o.input.dump};
}

std::vector<std::string> draw(const InspectOptions& o, const HeadSurvey& survey,
                              const std::optional<ModelImage>& image) {
    std::vector<std::string> files = write_head_pictures(survey, o.pictures);
    if (image && image->seen.width > 0) {
        const bool writes = config_of(survey.session().model()).kind == ModelKind::encoder_decoder;
        const std::vector<std::string> overlays =
            (writes ? write_word_overlays : write_image_overlays)(survey, image->seen, o.pictures);
        files.insert(files.end(), overlays.begin(), overlays.end());
    }
    return files;
}

/// Greedy continuation, in a separate session: a session that inspects does not sample.
std::vector<std::int32_t> continued(const InspectOptions& o, const Model& model, const ModelInput& input,
                                    SessionOptions options) {
    if (o.greedy == 0) return {};
    options.context = std::max(std::ssize(input.ids) + o.greedy, input.longest());
    Session session(model, options);
    session.restart({.ignore_end = true});
    begin(session, input);
    const std::vector<std::int32_t> ids = generate(session, o.greedy);
    note_dispatches(model.device(), session.take_timings());
    return ids;
}

void run(const InspectOptions& o) {
    const Model model = load_model(open_device(), tower_for(!o.input.image.empty()));
    if (!o.pictures.empty()) require_attention(model.info(), "inspect: --png");
    const SessionOptions plain = session_options(o.input);
    const ModelInput input = input_of(o, model, plain);
    check_memory(o, model.info(), input);
    std::optional<NodeDump> chosen;  // first, because it may not be there
    if (!o.dump_node.empty()) chosen = run_chosen_node(model, input, plain, o.dump_node);
    SessionOptions options = plain;
    options.context = input.longest(), options.profile = profiling();
    options.record_attention = RecordAttention::all(), options.inspect = true;
    Session session(model, options);
    timed("forward pass", [&] {
        begin(session, input);
        session.run();
    });
    const HeadSurvey survey =
        timed("read heads", [&] { return HeadSurvey(session, input.ids.size(), main_attention(model)); });

    InspectReport report{
        .survey = survey, .precision = name_of(plain.precision), .stable = plain.is_stable(), .variant = plain.variant};
    note_dispatches(model.device(), session.take_timings());
    SessionOptions more = plain;
    more.profile = profiling();
    report.greedy = timed("continue", [&] { return continued(o, model, input, more); });
    if (!input.source.empty()) report.reads = source_reads(session);
    if (!o.save.empty()) timed("save", [&] { save_pass(o.save, report, input.image); });
    if (!o.pictures.empty()) report.files = timed("draw", [&] { return draw(o, survey, input.image); });
    if (o.check) report.check = timed("check", [&] { return check_nodes(model, input, plain); });
    if (!o.save.empty()) report.files.insert(report.files.begin(), o.save);
    if (!o.input.dump.empty())
        for (const std::string& folder : dump(o, chosen, report.check)) report.files.push_back(folder);
    if (o.json)
        print_json(report);
    else
        print_summary(report);
    if (report.check && report.check->diverged) throw Error(ErrorKind::accuracy, report.check->text());
}

}  // namespace

void add_inspect(CLI::App& app) {
    auto o = std::make_shared<InspectOptions>();
    CLI::App& command = add_command(
        app, "inspect", "Run a text or an image once; show predictions, attention and hidden states",
        "Tensors in FILE: input_ids [n], logits [n, vocab], hidden [layers + 1, n, width], attn [layers, heads, n, n] "
        "and with --greedy greedy.ids [N]. Mixture of experts: router_logits [layers, n, experts]. Encoders: "
        "last_hidden [n, width], mean_pooled and pooler_output [width], logits [n, vocab] or [labels]. Images: "
        "pixel_values [channels, height, width] instead of input_ids, and n = 1 + patches. Encoder–decoders: "
        "decoder_input_ids [m], logits [m, vocab], encoder_last_hidden [n, width], encoder_hidden, decoder_hidden, "
        "encoder_attn, decoder_attn and cross_attn [layers, heads, m, n].\n\n"
        "Examples:\n"
        "  vantage inspect -p \"The dog chased the birds. They\" --png heads\n"
        "  vantage inspect -m models/gpt2 --ids 464,3290 --save out.safetensors --greedy 20\n"
        "  vantage inspect -m models/vit --image cat.jpg --png heads");
    add_model_option(command);
    add_input_options(command, o->input);
    add_option(command, "--save", o->save, "Write logits, hidden states and attention to this file (safetensors)",
               "FILE");
    add_option(command, "--greedy", o->greedy, "Generate N tokens greedily, also after end tokens", "N")
        ->check(zero_or_more);
    add_option(
        command, "--png", o->pictures,
        "Write pictures to this folder: all heads (heads.png), each head (layer-L-head-H.png), and for images the "
        "attention of [CLS] over the image (layer-L-cls.png)",
        "DIR");
    add_recording_options(command, o->input);
    command.add_flag(
        "--check", o->check,
        "Compare every node of the plans with its reference; exit code 7 and the node's name if one differs");
    add_dump_option(command, o->input.dump,
                    "Write the first node that --check finds to differ, or whose result is not finite,");
    add_option(command, "--dump-node", o->dump_node,
               "With --dump: write this node in any case, by its name in messages (h.1.attention); NAME:2 is the third "
               "of the name",
               "NAME")
        ->check(not_empty);
    command.add_flag("--json", o->json, "Print one JSON object");
    command.callback([o] {
        require_input("inspect", o->input);
        if (!o->dump_node.empty() && o->input.dump.empty())
            throw usage_error("inspect: --dump-node needs --dump DIR, the folder that gets the node");
        run(*o);
    });
}

}  // namespace vantage::cli
