// vantage merge: writes a model with its adapters in its weights.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "cli/shared/terminal_page.h"
#include "vantage/train.h"

namespace vantage::cli {

namespace {

struct MergeOptions {
    std::string output;
    bool json = false;
};

void merge(const MergeOptions& o) {
    const std::int64_t changed = merge_lora(common().model, common().lora, o.output);
    if (o.json)
        return write_json({{"schema_version", 1},
                           {"model", common().model},
                           {"lora", common().lora},
                           {"matrices", changed},
                           {"output", o.output}});
    const Page page;
    print_line("{} {} matrices with adapters, to {}", page.bold("merged"), changed, escape_controls(o.output));
}

}  // namespace

void add_merge(CLI::App& app) {
    auto o = std::make_shared<MergeOptions>();
    CLI::App& command = add_command(app, "merge", "Write a model with its adapters in its weights",
                                    "The new model gives what `vantage run --lora` gives, up to rounding.\n\n"
                                    "Example:\n  vantage merge -m models/llama --lora out/latest -o merged");
    add_option(command, "-m,--model", common().model, "Model folder", "DIR")->required();
    add_lora_option(command);
    command.get_option("--lora")->required();
    add_option(command, "-o,--output", o->output, "New folder for the model", "DIR")->required();
    command.add_flag("--json", o->json, "Print the result as one JSON object");
    command.callback([o] { merge(*o); });
}

}  // namespace vantage::cli
