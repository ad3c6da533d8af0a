// vantage classify: labels of a text, of its tokens or of images (also labels that the user names), answers to a
// question, or predictions of masked tokens, by an encoder.
#include <CLI/CLI.hpp>
#include <numeric>

#include "cli/encode/token_answers.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/head_survey.h"
#include "cli/shared/model_images.h"
#include "cli/shared/probabilities.h"
#include "cli/shared/profile.h"
#include "cli/shared/terminal_page.h"
#include "runtime/base/softmax.h"
#include "runtime/base/terminal.h"
#include "runtime/models/config.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"
#include "vantage/batch.h"

namespace vantage::cli {

namespace {

struct ClassifyOptions {
    std::string prompt, pair, precision = "f16", masked;
    std::vector<std::string> images, labels;
    AttentionVariant variant = {};
    std::size_t top = 5, max_answer = 15;
    bool json = false;
};

/// A label and its probability; of a regression the output and its value.
struct Guess {
    std::string name;
    double number;
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

/// A regression has no best answer: all its outputs, in the order of the model.
Question label_of(const std::string& what, const Session& session, std::size_t top) {
    const ModelConfig& config = config_of(session.model());
    if (is_regression(config)) {
        Question all{what, {}};
        const std::vector<double> values = label_values(config, session.logits());
        for (std::size_t i = 0; i < values.size(); ++i) all.guesses.push_back({config.labels[i], values[i]});
        return all;
    }
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
        const char* number = is_regression(config_of(model)) ? "value" : "probability";
        const auto guess_json = [&](const Guess& guess) { return Json{{"text", guess.name}, {number, guess.number}}; };
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
            print_line("  {:.3f}  {}", guess.number, without_controls(guess.name));
    }
}

/// Calls `answer(name)` for each image, which the session has seen.
std::vector<Question> about_images(const ClassifyOptions& o, Session& session, const auto& answer) {
    std::vector<Question> all;
    for (const std::string& file : o.images)
        for (const ModelImage& image : read_model_images(session.model(), file)) {
            session.set_image(image.pixels);
            session.run();
            all.push_back(answer(image.name));
        }
    return all;
}

/// Zero-shot classification (Radford et al. 2021): of each image the softmax over the labels of scale · cosine, where a
/// model of texts and one of images make the vectors.
void about_labels(const ClassifyOptions& o) {
    const Device device = open_device();
    const Model seeing = load_model(device, Tower::image);
    const double scale = seeing.info().pair_scale;
    if (scale == 0)
        throw usage_error("classify: --labels compares images with texts, but {} is {}; use a model of both (clip)",
                          seeing.info().name, seeing.info().architecture);
    if (o.labels.size() < 2) throw usage_error("classify: --labels needs two texts or more, to compare them");
    const Model reading = load_model(device, Tower::text);
    EmbedOptions options{
        .pooling = Pooling::pooler,
        .normalise = true,
        .session = {.precision = precision_named(o.precision), .profile = profiling(), .variant = o.variant},
        .on_timings = [&](const auto& timings) { note_dispatches(device, timings); }};
    const Array labels = embed(reading, o.labels, options);
    options.session.masked_heads = masked_heads(o.masked);
    check_images(seeing, o.images);
    Session session(seeing, options.session);
    print(about_images(o, session,
                       [&](const std::string& name) {
                           const Array vector = embedding(session, options);
                           std::vector<double> logits;  // a float does not hold the exponential of every logit_scale
                           for (std::int64_t i = 0; i < std::ssize(o.labels); ++i)
                               logits.push_back(scale * std::inner_product(vector.begin(), vector.end(),
                                                                           labels.row(i).begin(), 0.0));
                           return Question{name, best(softmax_of(std::move(logits)), o.top,
                                                      [&](std::size_t i) { return o.labels[i]; })};
                       }),
          seeing, o.json);
    note_dispatches(device, session.take_timings());
}

Tokenizer::Encoding text_of(ClassifyOptions& o, const Model& model) {
    if (o.prompt == "-" && o.pair == "-") throw usage_error("classify: - (stdin) was given more than once");
    for (std::string* text : {&o.prompt, &o.pair})
        if (*text == "-") *text = read_stdin();
    const std::int64_t context = model.info().context;
    Tokenizer::Encoding text = o.pair.empty() ? encode_for(context, model.tokenizer(), o.prompt)
                                              : encode_pair_for(context, model.tokenizer(), o.prompt, o.pair);
    if (text.ids.empty()) throw usage_error("classify: the text has no tokens");
    return text;
}

void about_text(const ClassifyOptions& o, const Tokenizer::Encoding& text, Session& session) {
    const ModelConfig& config = config_of(session.model());
    session.append(text.ids, config.token_types > 1 ? text.type_ids : std::vector<std::int32_t>());
    session.run();
    if (config.head == Head::token_classification)
        print_entities(session, text, o.prompt, o.json);
    else if (config.head == Head::question_answering)
        print_answers(session, text, o.pair, {.top = o.top, .max_tokens = o.max_answer, .json = o.json});
    else
        print(questions(session, o.top), session.model(), o.json);
}

void check_options(const ClassifyOptions& o, const CLI::App& command, const Model& model) {
    const Head head = config_of(model).head;
    refuse_unless(head == Head::question_answering, command, "--max-answer",
                  "is for models that answer questions, and " + model.info().name + " does not");
    refuse_unless(head != Head::token_classification, command, "--top",
                  "has no effect: " + model.info().name + " gives each token one label");
    refuse_unless(!is_regression(config_of(model)), command, "--top",
                  "has no effect: " + model.info().name + " gives each output a value");
    if (head == Head::question_answering && o.pair.empty())
        throw usage_error("classify: {} answers questions about a text; give -p QUESTION and --pair TEXT",
                          model.info().name);
    if (head == Head::token_classification && !o.pair.empty())
        throw usage_error("classify: {} labels the tokens of one text; leave out --pair", model.info().name);
}

void run(ClassifyOptions& o, const CLI::App& command) {
    if (!o.labels.empty()) return about_labels(o);
    const Model model = load_model(open_device(), tower_for(!o.images.empty()));
    const ModelConfig& config = config_of(model);
    if (config.own.has(pair_scale))
        throw usage_error("classify: {} compares images with texts; give --image FILE and --labels TEXT TEXT …",
                          model.info().name);
    if (config.kind != ModelKind::encoder || config.head == Head::none)
        throw usage_error(
            "classify: {} ({}) has no classification head; use a model for sequence, token or image classification, "
            "question answering or masked tokens",
            model.info().name, model.info().architecture);
    require_image("classify", model, !o.images.empty());
    check_images(model, o.images);
    check_options(o, command, model);
    SessionOptions options{.precision = precision_named(o.precision),
                           .profile = profiling(),
                           .variant = o.variant,
                           .masked_heads = masked_heads(o.masked)};
    const Tokenizer::Encoding text = o.images.empty() ? text_of(o, model) : Tokenizer::Encoding();
    // as transformers does: the question's tokens, with the first special one, see all
    if (config.head == Head::question_answering && config.own.has("global_tokens"))
        options.global_tokens = std::ssize(model.tokenizer().encode(o.prompt, true).ids) - 1;
    Session session(model, options);
    if (o.images.empty())
        about_text(o, text, session);
    else
        print(about_images(o, session, [&](const std::string& name) { return label_of(name, session, o.top); }), model,
              o.json);
    note_dispatches(model.device(), session.take_timings());
}

}  // namespace

void add_classify(CLI::App& app) {
    auto o = std::make_shared<ClassifyOptions>();
    CLI::App& command = add_command(
        app, "classify", "Label texts, tokens or images, answer questions, or predict masked tokens",
        "An encoder's output layer decides what it does: sequence classification labels a text or a pair, "
        "token classification finds entities, question answering finds the parts of --pair that answer -p "
        "(or that none does), a masked language model fills gaps, and an image classifier labels images. With "
        "--labels, "
        "a model of texts and images (CLIP) tells which of these texts fits an image.\n\n"
        "Examples:\n"
        "  vantage classify -m models/distilbert-sst2 -p \"What a fine day.\"\n"
        "  vantage classify -m models/bert -p \"The dog chased the [MASK].\"\n"
        "  vantage classify -m models/bert-ner -p \"Ada Lovelace lived in London.\"\n"
        "  vantage classify -m models/bert-squad -p \"Where did Ada live?\" --pair \"Ada lived in London.\"\n"
        "  vantage classify -m models/vit --image cat.jpg dog.png --top 3\n"
        "  vantage classify -m models/clip --image cat.jpg --labels \"a photo of a cat\" \"a photo of a dog\"");
    add_model_option(command);
    add_lora_option(command);
    CLI::Option* prompt = add_option(command, "-p,--prompt", o->prompt, "Input text; - reads stdin", "TEXT");
    CLI::Option* images = add_images_option(command, o->images)->excludes(prompt);
    add_option(command, "--labels", o->labels,
               "Models of texts and images (CLIP): the texts to choose from for each image; two or more", "TEXT")
        ->check(not_empty)
        ->needs(images);
    CLI::Option* labels = command.get_option("--labels");
    add_option(command, "--pair", o->pair,
               "Second text, for models that take pairs: the one with the answer; - reads stdin", "TEXT")
        ->check(not_empty)
        ->excludes(labels)
        ->excludes(images);
    add_setting(command, "--top", o->top, "Number of labels, tokens or answers to print")->check(above_zero);
    add_setting(command, "--max-answer", o->max_answer, "Question answering: maximum number of tokens of an answer")
        ->check(above_zero)
        ->excludes(labels);
    add_precision_option(command, o->precision);
    add_variant_option(command, o->variant);
    add_head_mask_option(command, o->masked);
    command.add_flag("--json", o->json, "Print one JSON object");
    command.callback([o, prompt, images, &command] {
        if (prompt->count() + images->count() == 0)
            throw usage_error("classify: no input; give -p TEXT or --image FILE");
        run(*o, command);
    });
}

}  // namespace vantage::cli
