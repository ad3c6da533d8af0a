// vantage chat: a conversation on the terminal, or with lines from stdin.
#include <CLI/CLI.hpp>

#include "cli/generate/conversation.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/loaded_model.h"
#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/base/terminal.h"
#include "runtime/session/chat_format.h"

namespace vantage::cli {

namespace {

constexpr int stdin_fd = 0;

struct ChatOptions {
    std::string system, chat_template;
    GenerationOptions generation;
    bool json = false;
};

/// True if the line was a command.
bool run_command(const std::string& line, Conversation& conversation, bool& ends) {
    if (line.empty() || line[0] != '/') return false;
    if (line == "/quit")
        ends = true;
    else if (line == "/reset")
        conversation.reset();
    else if (line == "/help")
        std::fputs(
            "/reset  clear the conversation\n/quit   quit, like Ctrl-D\n/help   print this help\n"
            "Ctrl-C stops a reply. At the prompt it quits.\n",
            stderr);
    else
        log(LogLevel::warning,
            "{} is not a command; commands are /reset, /quit and /help. To send a text that begins with /, type a "
            "space before it",
            line);
    return true;
}

void take_turn(Conversation& conversation, const std::string& line, bool json, std::int64_t number) {
    const Conversation::Turn turn = conversation.say(line, [&](const std::string& text) {
        if (!json) write_out(text);
    });
    const text::jinja::OrderedJson record = {{"schema_version", 1},
                                             {"turn", number},
                                             {"text", line},
                                             {"reply", turn.reply},
                                             {"ending", turn.ending},
                                             {"prompt_tokens", turn.prompt_tokens},
                                             {"kept_tokens", turn.kept_tokens},
                                             {"generated_tokens", turn.generated_tokens}};
    write_out((json ? json_text(record, -1) : "") + "\n");
    if (turn.ending == name_of(Ending::context_full))
        log(LogLevel::warning, "the context of {} tokens is full, so the reply ended; start again with /reset",
            conversation.context());
}

/// On a terminal, an error in one turn is logged and the conversation continues. Without a terminal it ends the
/// program.
void converse(Conversation& conversation, const ChatOptions& o, bool terminal) {
    bool ends = false;
    for (std::int64_t number = 1; !ends;) {
        if (terminal) std::fputs("> ", stderr);
        const std::optional<std::string> line = read_line();
        if (!line) break;
        if (line->find_first_not_of(" \t\r") == std::string::npos || run_command(*line, conversation, ends)) continue;
        try {
            take_turn(conversation, *line, o.json, number++);
        } catch (const Error& error) {
            const ErrorKind kind = error.kind();
            if (!terminal || (kind != ErrorKind::usage && kind != ErrorKind::unsupported)) throw;
            log(LogLevel::error, "{}", error.what());
        }
    }
    if (terminal && !ends) std::fputs("\n", stderr);  // ends the line of the prompt
}

void chat(const CLI::App& command, ChatOptions& o) {
    LoadedModel model(o.generation.recover);
    o.generation.generator.session.profile = profiling();
    if (o.generation.recover) {
        o.generation.generator.reload = [&model] {
            let_interrupt_end(true);  // there is no session to go on with before the model is loaded again
            Model again = model.reload();
            let_interrupt_end(false);
            return again;
        };
    }
    const text::ChatFormat format = chat_format_of(*model, o.chat_template);
    end_with_turn(format, model->tokenizer(), o.generation.generator);
    Conversation conversation(model.make([&](const Model& m) { return make_generator(command, m, o.generation); }),
                              format, o.system);
    const bool terminal = is_terminal(stdin_fd);
    if (terminal && !common().quiet)
        std::fprintf(stderr, "%s on %s; /help lists commands\n", model->info().name.c_str(),
                     model->device().caps().name.c_str());
    let_interrupt_end(false);  // it ends a reply
    converse(conversation, o, terminal);
    note_dispatches(model->device(), conversation.take_timings());
}

}  // namespace

void add_chat(CLI::App& app) {
    auto o = std::make_shared<ChatOptions>();
    o->generation.generator.max_tokens = 1024;
    o->generation.recover = true;
    CLI::App& command =
        add_command(app, "chat", "Chat with a model, using its chat template",
                    "Each line of stdin is one turn. Commands: /reset, /quit, /help. Ctrl-C stops a reply.\n"
                    "Example:\n  vantage chat -m models/Llama-3.2-1B-Instruct --system \"Answer in one sentence.\"");
    add_model_option(command);
    add_lora_option(command);
    add_option(command, "--system", o->system, "System message", "TEXT")->check(not_empty);
    add_option(command, "--template", o->chat_template,
               "Jinja file to use instead of the model's chat template, or chatml", "FILE|chatml");
    add_generation_options(command, o->generation);
    command.add_flag("--json", o->json, "Print one JSON object per line for each turn");
    command.callback([o, &command] { chat(command, *o); });
}

}  // namespace vantage::cli
