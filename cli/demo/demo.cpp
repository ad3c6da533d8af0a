// vantage demo: attention worked by hand, text from a small trained model, and its most salient head.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/demo/steps_page.h"
#include "cli/demo/worked_example_page.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/head_pictures.h"
#include "cli/shared/head_survey.h"
#include "cli/shared/profile.h"
#include "runtime/base/errors.h"
#include "runtime/base/terminal.h"
#include "runtime/base/trace_span.h"
#include "runtime/base/utf8.h"
#include "runtime/models/config.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

constexpr const char* default_prompt = "The animal didn't cross the street because it was too tired.";
constexpr std::size_t min_prompt = 6;  // tokens; with shorter prompts the map includes generated tokens
constexpr std::size_t max_drawn = 24;  // tokens in that case
constexpr int max_page = 100;          // columns

struct DemoOptions {
    std::string prompt = default_prompt, folder = "vantage-demo", masked;
    std::int64_t tokens = 40;
    double temperature = 0.7;
    std::uint64_t seed = 10;
    bool json = false, steps = false;
    StepsOptions of_steps;
};

/// Prints text piece by piece with word wrap.
class Typewriter {
public:
    explicit Typewriter(int columns) : columns_(columns) {}
    template <class Style>
    void type(const std::string& text, const Style& style) {
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end =
                std::min(text.find(' ', begin + 1), text.size());  // a space belongs to the next word
            std::string word = text.substr(begin, end - begin);
            if (column_ > 0 && word.front() == ' ' && column_ + column_width(word) > columns_) {
                std::printf("\n");
                column_ = 0;
                word.erase(0, 1);
            }
            const std::string shown = terminal_ ? escape_controls(word, "\n\t") : word;
            std::printf("%s", style(shown).c_str());
            const std::size_t line = word.rfind('\n');
            column_ = line == std::string::npos ? column_ + column_width(word) : column_width(word.substr(line + 1));
            begin = end;
        }
        std::fflush(stdout);
    }

private:
    int columns_, column_ = 0;
    bool terminal_ = is_terminal(Page::stdout_fd);
};

/// The text, broken between words into indented lines.
std::string wrapped(const std::string& text, int columns, int indent) {
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    std::string all, line = margin;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        if (line != margin && column_width(line) + 1 + column_width(word) > columns) {
            all += line + "\n";
            line = margin;
        }
        line += (line == margin ? "" : " ") + word;
        begin = end + 1;
    }
    return all + line;
}

int page_columns() { return std::min(terminal_columns(Page::stdout_fd), max_page); }

std::string write_on(const DemoOptions& o, const Page& page, Generator& generator) {
    const auto accent = [&](const std::string& text) { return page.accent(text); };
    Typewriter typewriter(page_columns());
    if (!o.json) {
        print_line("\n{} {}", page.bold(generator.session().model().info().name + " continues"),
                   page.dim(o.temperature == 0 ? "(the most probable tokens)"
                                               : format("(temperature {:g}, seed {})", o.temperature, o.seed)));
        typewriter.type(o.prompt, std::identity());
    }
    std::string text;
    const Ending ending = generator.generate(o.prompt, [&](const Token& token) {
        text += token.text;
        if (!o.json) typewriter.type(token.text, accent);
        return true;
    });
    if (o.json) return text;
    if (ending == Ending::length || ending == Ending::context_full) typewriter.type(" …", accent);
    print_line("");
    return text;
}

/// Number of tokens in the map: the prompt, or if it is very short, also the first generated tokens. For an
/// encoder–decoder the generated tokens.
std::size_t tokens_to_draw(const DemoOptions& o, Session& session) {
    session.run();  // the last sampled token has not run yet
    if (!session.source_tokens().empty()) return std::min(session.tokens().size(), max_drawn);
    const std::size_t prompt = session.model().tokenizer().encode(o.prompt, true).ids.size();
    return prompt >= min_prompt ? prompt : std::min(session.tokens().size(), max_drawn);
}

/// Explains the map in two sentences.
std::string explanation_of(const HeadSurvey& survey, const SalientHead& salient) {
    const bool induction = salient.reason == SalientHead::induction;
    const std::string link =
        survey.quoted(salient.read.query) +
        format(" gives {:.0f}\u00a0% of its attention to ", 100 * static_cast<double>(salient.read.weight)) +
        survey.quoted(salient.read.key);
    return "A bright cell is a token (row) that attends to an earlier one (column): " + link +
           (induction ? ", the token that followed it before. " : ". ") +
           format("This head was chosen by a rule: of all {} heads, it ", survey.numbers().size()) +
           (induction
                ? "is the one that attends most to what followed the same token before (induction), which is how a "
                  "transformer copies."
                : "has the link that stands out most from the rest of its attention.");
}

void print_head(const Page& page, const HeadSurvey& survey) {
    const auto print = [](const std::string& text) {
        Typewriter(page_columns()).type(text, std::identity());
        print_line("");
    };
    print_line("");
    const auto salient = survey.salient();
    if (!salient) return print("No head is salient: in so short a text, heads attend to neighbours only.");
    const std::vector<float> weights = survey.weights(salient->layer, salient->head);
    HeatmapPicture picture = head_picture(survey, salient->layer, salient->head, weights);
    picture.title = "Its most salient head: " + picture.title;
    print_line("{}", terminal_heatmap(picture, page_columns(), page.colours()));
    print(explanation_of(survey, *salient));
}

void print_what_next(const Page& page, const std::vector<std::string>& files) {
    const std::string on_one_line = join(files, "  ");
    const bool fits = column_width("Pictures  " + on_one_line) <= page_columns();
    print_line("\n{}{}\n{}", page.bold("Pictures"), fits ? "  " + on_one_line : "\n  " + join(files, "\n  "),
               page.bold("Try next"));
    const auto suggest = [&](const std::string& command, const std::string& what) {
        print_line("  {}\n{}", page.accent(command), page.dim(wrapped(what, page_columns(), 6)));
    };
    suggest("vantage demo -p \"The dog chased the birds. They\"",
            "then replace They by It: the same head attends to another word");
    suggest("vantage demo -p \"The red cup is small. Mia said: The red\"", "an induction head, which copies");
    suggest("vantage inspect -p \"The keys to the cabinet\" --png heads", "all heads, with their statistics");
}

std::vector<std::string> draw(const WorkedExamplePage& example, const HeadSurvey& survey, const std::string& folder) {
    make_folder(folder);
    std::vector<std::string> files{example.write_heads(folder), write_head_grid(survey, folder)};
    if (const auto salient = survey.salient())
        files.push_back(write_head(survey, salient->layer, salient->head, folder));
    return files;
}

void print_json(const DemoOptions& o, const Device& device, const WorkedExamplePage& example, const std::string& text,
                const HeadSurvey& survey, const std::vector<std::string>& files) {
    Json all = {{"schema_version", 2},
                {"device", device.caps().name},
                {"model", survey.session().model().info().name},
                {"worked_example", example.matrices()},
                {"prompt", o.prompt},
                {"text", text},
                {"files", files},
                {"most_telling", nullptr}};
    if (const auto salient = survey.salient())
        all["most_telling"] = {{"layer", salient->layer},
                               {"head", salient->head},
                               {"score", salient->score},
                               {"pattern", pattern_of(survey.of(salient->layer, salient->head)).id()},
                               {"sentence", explanation_of(survey, *salient)}};
    write_json(all);
}

void run_steps(DemoOptions& o) {
    o.of_steps.prompt = o.prompt, o.of_steps.masked = o.masked, o.of_steps.json = o.json;
    show_steps(load_model(open_device()), o.of_steps);
}

void run(const DemoOptions& o) {
    const Device device = open_device();
    const Page page;
    const Model model = load_model(device);
    require_attention(model.info(), "demo");
    if (config_of(model).sees())
        throw usage_error("demo: {} reads images, and the demo needs a model that reads text", model.info().name);
    Generator generator(model, {.temperature = o.temperature, .seed = o.seed},
                        {.max_tokens = o.tokens,
                         .session = {.record_attention = RecordAttention::all(),
                                     .profile = profiling(),
                                     .masked_heads = masked_heads(o.masked)}});
    const std::int64_t context = model.info().context;
    const auto tokens = std::ssize(encode_at("demo", ErrorKind::usage, context, model.tokenizer(), o.prompt).ids);
    if (tokens > context)
        throw usage_error("demo: the text has {} tokens, but {} supports at most {}", tokens, model.info().name,
                          context);
    if (!o.json) print_line("{}{}\n", page.bold("Vantage"), page.dim(" on " + device.caps().name));
    const WorkedExamplePage example = timed("worked example", [&] { return WorkedExamplePage(device); });
    if (!o.json) example.print(page);
    const std::string text = timed("write", [&] { return write_on(o, page, generator); });
    const HeadSurvey survey = timed("read heads", [&] {
        return HeadSurvey(generator.session(), tokens_to_draw(o, generator.session()), main_attention(model));
    });
    if (!o.json) print_head(page, survey);
    const std::vector<std::string> files = timed("draw", [&] { return draw(example, survey, o.folder); });
    o.json ? print_json(o, device, example, text, survey, files) : print_what_next(page, files);
    note_dispatches(device, generator.session().take_timings());
}

void add_steps_options(CLI::App& command, DemoOptions& o) {
    CLI::Option* steps = command.add_flag(
        "--steps", o.steps,
        format(
            "Show one head on the text with all its matrices instead: tokens, x, Q, K, V, scores, weights and output "
            "(at most {} tokens)",
            max_steps_tokens));
    CLI::Option *layer = add_option(command, "--layer", o.of_steps.layer,
                                    "With --steps and --head: the layer, from 0. Default: the most salient head", "N"),
                *head = add_option(command, "--head", o.of_steps.head, "With --layer: the head, from 0", "N");
    for (const char* other : {"--out", "--n-predict", "--temp", "--seed"}) steps->excludes(command.get_option(other));
    layer->check(zero_or_more)->needs(steps)->needs(head);
    head->check(zero_or_more)->needs(layer);
    add_option(command, "--part", o.of_steps.part,
               "With --steps and an encoder–decoder: whose attention. Default: encoder", "PART")
        ->check(CLI::IsMember({"encoder", "decoder", "cross"}))
        ->needs(steps);
}

}  // namespace

void add_demo(CLI::App& app) {
    auto o = std::make_shared<DemoOptions>();
    CLI::App& command =
        add_command(app, "demo", "Attention worked by hand, text from a small trained model, and its most salient head",
                    "Examples:\n  vantage demo -p \"The dog chased the birds. They\"\n"
                    "  vantage demo --steps -p \"The dog chased the birds. They\"");
    add_model_option(command);
    add_option(command, "-p,--prompt", o->prompt, "Text to continue; its attention is drawn; - reads stdin", "TEXT")
        ->capture_default_str();
    add_option(command, "--out", o->folder, "Folder for the pictures; created if missing", "DIR")
        ->capture_default_str();
    add_option(command, "-n,--n-predict", o->tokens, "Maximum number of tokens to generate", "N")
        ->check(above_zero)
        ->capture_default_str();
    add_setting(command, "--temp", o->temperature,
                "Sampling temperature; 0: greedy, which makes so small a model repeat itself");
    add_setting(command, "-s,--seed", o->seed, "Random seed; the same seed gives the same text");
    add_head_mask_option(command, o->masked);
    add_steps_options(command, *o);
    command.add_flag("--json", o->json, "Print one JSON object");
    command.callback([o] {
        if (o->prompt == "-") o->prompt = read_stdin();
        o->steps ? run_steps(*o) : run(*o);
    });
}

}  // namespace vantage::cli
