// vantage classify: labels of a text or of images, or predictions of masked tokens, by an encoder.
#include <CLI/CLI.hpp>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/head_survey.h"
#include "cli/shared/model_images.h"
#include "cli/shared/probabilities.h"
#include "cli/shared/profile.h"
#include "cli/shared/terminal_page.h"
#include "runtime/base/terminal.h"
#include "runtime/models/config.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

struct ClassifyOptions {
    std::string prompt, pair, precision = "f16", masked;
    std::vector<std::string> images;
    std::size_t top = 5;
    bool json = false;
};

struct Guess {
    std::string name;
    double probability;
};

/// One prediction: the label of a text or an image, or one masked token.
struct Question {
    std::string name;
    std::vector<Guess> guesses;
};

/// The mask token: [MASK] in BERT's tokenizers, <mask> in RoBERTa's.
std::int32_t mask_token(const Model& model) {
    for (const char* text : {"[MASK]", "<mask>"}) {
        const std::vector<std::int32_t> ids = model.tokenizer().encode(text, false).ids;
        if (ids.size() == 1 && model.tokenizer().is_special(ids[0])) return ids[0];
    }
    throw bad_file_error("{}: the tokenizer has neither [MASK] nor <mask>", model.info().name);
}

std::vector<Guess> best(const std::vector<double>& p, std::size_t count, const auto& name) {
    std::vector<Guess> guesses;
    for (const std::size_t i : largest(p, count)) guesses.push_back({name(i), p[i]});
    return guesses;
}

Question label_of(const std::string& what, const Session& session, std::size_t top) {
    const ModelConfig& config = config_of(session.model());
    return {what, best(label_values(config, session.logits()), top, [&](std::size_t i) { return config.labels[i]; })};
}

std::vector<Question> questions(const Session& session, std::size_t top) {
    const Model& model = session.model();
    const ModelConfig& config = config_of(model);
    if (config.head == Head::classification) return {label_of("label", session, top)};
    const std::int32_t mask = mask_token(model);
    const auto vocab = static_cast<std::size_t>(config.vocab);
    const Array logits = session.logits();
    std::vector<Question> all;
    for (std::size_t i = 0; i < session.tokens().size(); ++i) {
        if (session.tokens()[i] != mask) continue;
        all.push_back({format("gap {}", all.size() + 1),
                       best(probabilities(logits.values().subspan(i * vocab, vocab)), top,
                            [&](std::size_t id) { return token_text(model, static_cast<std::int32_t>(id)); })});
    }
    if (all.empty())
        throw usage_error(
            "classify: {} predicts masked tokens, but the text has none; write {} where a token is missing",
            model.info().name, token_text(model, mask));
    return all;
}

void print(const std::vector<Question>& all, const Model& model, bool json) {
    if (json) {
        const auto guess_json = [](const Guess& guess) {
            return Json{{"text", guess.name}, {"probability", guess.probability}};
        };
        const auto question_json = [&](const Question& question) {
            return Json{{"name", question.name}, {"answers", json_list(question.guesses, guess_json)}};
        };
        return write_json(
            {{"schema_version", 1}, {"model", model.info().name}, {"questions", json_list(all, question_json)}});
    }
    const Page page;
    for (const Question& question : all) {
        if (all.size() > 1) print_line("{}", page.bold(question.name));
        for (const Guess& guess : question.guesses)
            print_line("  {:.3f}  {}", guess.probability, without_controls(guess.name));
    }
}

std::vector<Question> about_images(const ClassifyOptions& o, Session& session) {
    std::vector<Question> all;
    for (const std::string& file : o.images)
        for (const ModelImage& image : read_model_images(session.model(), file)) {
            session.set_image(image.pixels);
            session.run();
            all.push_back(label_of(image.name, session, o.top));
        }
    return all;
}

std::vector<Question> about_text(ClassifyOptions& o, Session& session) {
    const Model& model = session.model();
    if (o.prompt == "-") o.prompt = read_stdin();
    const Tokenizer::Encoding text = o.pair.empty() ? encode_for(session.context(), model, o.prompt)
                                                    : encode_pair_for(session.context(), model, o.prompt, o.pair);
    if (text.ids.empty()) throw usage_error("classify: the text has no tokens");
    session.append(text.ids, config_of(model).token_types > 1 ? text.type_ids : std::vector<std::int32_t>());
    session.run();
    return questions(session, o.top);
}

void run(ClassifyOptions& o) {
    const Model model = load_model(open_device());
    const ModelConfig& config = config_of(model);
    if (config.kind != ModelKind::encoder || config.head == Head::none)
        throw usage_error(
            "classify: {} ({}) has no classification head; use a model for sequence classification, image "
            "classification or masked tokens",
            model.info().name, model.info().architecture);
    require_image("classify", model, !o.images.empty());
    Session session(
        model,
        {.precision = precision_named(o.precision), .profile = profiling(), .masked_heads = masked_heads(o.masked)});
    print(o.images.empty() ? about_text(o, session) : about_images(o, session), model, o.json);
    note_dispatches(model.device(), session.take_timings());
}

}  // namespace

void add_classify(CLI::App& app) {
    auto o = std::make_shared<ClassifyOptions>();
    CLI::App& command =
        add_command(app, "classify", "Label a text or images, or predict masked tokens, with an encoder",
                    "Examples:\n"
                    "  vantage classify -m models/distilbert-sst2 -p \"What a fine day.\"\n"
                    "  vantage classify -m models/bert -p \"The dog chased the [MASK].\"\n"
                    "  vantage classify -m models/vit --image cat.jpg dog.png --top 3");
    add_model_option(command);
    CLI::Option* prompt = add_option(command, "-p,--prompt", o->prompt, "Input text; - reads stdin", "TEXT");
    CLI::Option* images = add_images_option(command, o->images)->excludes(prompt);
    add_option(command, "--pair", o->pair, "Second text, for models that take pairs", "TEXT");
    add_setting(command, "--top", o->top, "Number of labels or tokens to print")->check(above_zero);
    add_precision_option(command, o->precision);
    add_head_mask_option(command, o->masked);
    command.add_flag("--json", o->json, "Print one JSON object");
    command.callback([o, prompt, images] {
        if (prompt->count() + images->count() == 0)
            throw usage_error("classify: no input; give -p TEXT or --image FILE");
        run(*o);
    });
}

}  // namespace vantage::cli
