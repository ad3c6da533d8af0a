// The program: subcommands, the options that all of them share, and exit codes.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <set>
#include <string_view>
#include <system_error>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/report_error.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/program.h"
#include "runtime/base/terminal.h"
#include "runtime/base/trace_span.h"
#include "runtime/base/version.h"
#include "runtime/picture/shown_text.h"
#include "runtime/session/weight_types.h"

namespace vantage::cli {

namespace {

int chosen_exit_code = 0;

std::string version_text() {
    const BuildFacts& facts = build_facts();
    const std::string library = facts.glslang_library.empty() ? "none" : facts.glslang_library;
    return format("vantage {} ({})\ncompiler  {}\nglslang   {} (for custom kernels: {})\nkernels   {}{}", facts.version,
                  facts.commit, facts.compiler, facts.glslang, library, join(facts.families),
                  join(facts.left_out, "", [](const auto& one) { return format("\nleft out  {}", one); }));
}

/// What the command and its options, parsed or not, have been given: files to write, files and folders to read, folders
/// that are written into, and folders of training runs.
struct Given {
    std::vector<std::string> outputs, inputs, folders, runs;
    std::set<std::string> by_default;  ///< outputs that have their default name
};
// An array for NumPy has a second file, which describes it.
void add_files_of(const std::string& output, std::vector<std::string>& files) {
    files.push_back(output);
    if (output.ends_with(".npy")) files.push_back(output + ".json");
}
void add_given(const CLI::App& command, Given& given) {
    constexpr std::array outputs{"--save",      "--png",     "--apng",   "--svg",    "--chart",
                                 "--positions", "--profile", "--report", "--output", "--compare-picture",
                                 "--roofline"};
    constexpr std::array folders{"--frames", "--out", "--dump"};
    const bool is_top = command.get_parent() != nullptr && command.get_parent()->get_parent() == nullptr,
               trains = is_top && (command.check_name("train") || command.check_name("finetune")),
               views = is_top && command.check_name("view");
    std::error_code error;
    for (const CLI::Option* option : command.get_options()) {
        if (option->check_name("--profile") && !profiling()) continue;  // the environment's, for another command
        const auto named = [&](const auto& names) {
            return std::ranges::any_of(names, [&](const char* name) { return option->check_name(name); });
        };
        const std::string type = option->get_type_name();
        const bool is_run = trains && named(std::array{"--output", "--resume"}), is_output = named(outputs),
                   is_folder = named(folders) || (is_output && type.starts_with("DIR"));
        const bool is_path = type.starts_with("FILE") || type.starts_with("DIR") || option->get_positional();
        std::vector<std::string> values = option->results();  // or the default, which may be written to as well
        const auto given_too = [](const auto* one) { return one->count() > 0; };
        const bool by_default = std::ranges::all_of(option->get_needs(), given_too) &&
                                std::ranges::none_of(option->get_excludes(), given_too);
        if (values.empty() && by_default && !option->get_default_str().empty()) {
            values.push_back(option->get_default_str());
            given.by_default.insert(values.back());
        }
        for (const std::string& value : values) {
            if (is_output && value == "-" && !option->check_name("--profile"))
                throw usage_error("{}: expected the name of a file, got -", option->get_name());
            if (is_run)
                given.runs.push_back(value);
            else if (is_folder || (is_output && std::filesystem::is_directory(value, error)))
                given.folders.push_back(value);
            else if (is_output && value != "-")
                add_files_of(value, given.outputs);
            else if (is_path && !is_output) {
                given.inputs.push_back(value);
                if (type.starts_with("FILE") && value != "-" && !type.ends_with("|" + value) && is_given(*option) &&
                    !std::filesystem::exists(value, error))
                    throw bad_file_error("{}: no such file", value);
            } else if (constexpr std::string_view other = "model="; views && value.starts_with(other))  // of --compare
                given.inputs.push_back(value.substr(other.size()));
        }
    }
    for (const CLI::App* one : command.get_subcommands()) add_given(*one, given);
}

// Whether writing `path` would change a model or adapters. `input` is their folder, or a file in it. An existing file
// would be replaced. New weights could be loaded in place of the existing ones.
bool is_of_model(const std::filesystem::path& path, const std::filesystem::path& input) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path folder = fs::is_directory(input, error) ? input : input.parent_path();
    return (fs::exists(path, error) || path.extension() == ".safetensors") &&
           (fs::exists(folder / "config.json", error) || fs::exists(folder / "adapter_config.json", error)) &&
           fs::equivalent(path.parent_path(), folder, error);
}

// Outputs are different files, none that a command reads, and none that it writes into a folder. What else is read is
// known when it is written (remember_read_files).
void check_outputs(const CLI::App& app) {
    namespace fs = std::filesystem;
    Given given;
    add_given(app, given);
    const auto real_path = [](const std::string& path) {
        std::error_code error;
        const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error).lexically_normal();
        return real.has_filename() ? real : real.parent_path();  // without a slash behind it
    };
    std::error_code error;
    std::set<fs::path> seen;
    for (const std::string& folder : given.folders) {
        if (!seen.insert(real_path(folder)).second)
            throw usage_error("two outputs were given the same folder, {}", folder);
        for (const std::string& input : given.inputs)
            if (real_path(input).extension() == ".png" && real_path(input).parent_path() == real_path(folder))
                throw usage_error("{} is read by this command, which writes pictures to {}: write to another folder",
                                  input, folder);
    }
    for (const std::string& path : given.outputs) {
        const fs::path real = real_path(path);
        if (!fs::is_regular_file(real, error) && fs::exists(real, error)) continue;  // a device or a pipe
        if (!seen.insert(real).second) throw usage_error("two outputs were given the same file, {}", path);
        for (const std::string& input : given.inputs) {
            const bool is_in = given.by_default.count(path) == 0 && fs::exists(real, error) &&
                               fs::is_directory(input, error) && fs::equivalent(real.parent_path(), input, error);
            if (real_path(input) == real || (is_in && !is_of_model(real, input)))
                throw usage_error("{} is read by this command: write to another file", path);
            if (is_of_model(real, input)) throw usage_error("{} is a file of the model: write to another one", path);
        }
        for (const std::string& folder : given.folders)
            if (real.parent_path() == real_path(folder) && real.extension() == ".png")
                throw usage_error("{} is in {}, into which this command writes pictures: write to another folder", path,
                                  folder);
        for (const std::string& folder : given.runs)
            if (real.string().starts_with(real_path(folder).string() + "/"))
                throw usage_error("{} is in the folder of the run, {}: write to another place", path, folder);
    }
    // not after the work
    for (const std::string& folder : given.folders) require_writable_folder(folder);
    const auto is_made_now = [&](const std::string& path) {  // with one of these folders
        return std::ranges::any_of(given.folders, [&](const std::string& folder) {
            return real_path(path).string().starts_with(real_path(folder).string() + "/");
        });
    };
    for (const std::string& path : given.outputs)
        if (!is_made_now(path)) require_writable(path);
}

void apply_common(const CLI::App& app) {
    const Common& c = common();
    const auto runs = {"run", "chat", "inspect", "demo", "heads", "embed", "classify", "train", "finetune"};
    const CLI::App& bench = *app.get_subcommand("bench");
    const bool runs_model = std::ranges::any_of(runs, [&](const char* name) { return app.got_subcommand(name); }) ||
                            bench.got_subcommand("model") || bench.got_subcommand("train");
    refuse_unless(runs_model, app, "--profile",
                  "needs a command that runs a model: run, chat, inspect, demo, heads, embed, classify, train, "
                  "finetune, bench model or bench train");
    if (!runs_model) common().profile.clear();  // the environment's is for other commands
    set_strict(c.strict);
    if (c.quiet) set_log_level(LogLevel::error);
    if (c.verbose < 0) throw usage_error("--verbose={}: expected 0, 1 or 2", c.verbose);
    if (c.verbose == 1) set_log_level(LogLevel::info);
    if (c.verbose > 1) set_log_level(LogLevel::debug);
    check_outputs(app);
    remember_read_files();
    begin_profile();
}

void add_common(CLI::App& app) {
    Common& c = common();
    app.add_option("--device", c.device,
                   "Device: vulkan:INDEX, uuid:UUID, name:PART, cpu, or auto for the best. Default: VANTAGE_DEVICE, "
                   "else auto; list: `vantage devices`");
    app.add_flag("-v,--verbose", c.verbose, "Log progress to stderr; -vv: debug messages");
    app.add_flag("-q,--quiet", c.quiet, "Log errors only");
    app.add_flag("--strict", c.strict,
                 "Treat every fallback (slower kernel, unquantized matrix, missing tuning table) as an error");
    add_option(app, "--profile", c.profile,
               "Write a Chrome/Perfetto trace to FILE; -: print a table of times by op to stderr", "FILE");
    app.set_version_flag("--version", version_text(),
                         "Print version, commit, compiler, glslang version and kernel families");
}

using Arguments = std::span<char* const>;

/// Whether an option is on the command line: --name, --name=VALUE, or -n with or without its value, perhaps behind
/// flags.
bool is_typed(const CLI::Option& option, Arguments arguments) {
    constexpr std::string_view flags = "qvh";  // all short names of options without a value
    return std::ranges::any_of(arguments, [&](const std::string& word) {
        if (word.starts_with("--")) return option.check_lname(word.substr(2, word.find('=') - 2));
        if (word.size() < 2 || word[0] != '-') return false;
        for (std::size_t i = 1; i < word.size(); ++i) {  // flags may share a word: -qp
            if (option.check_sname(word.substr(i, 1))) return true;
            if (flags.find(word[i]) == std::string_view::npos) break;  // the rest is a value
        }
        return false;
    });
}

std::string variable_of(const CLI::Option& option) {
    std::string name = "VANTAGE_" + option.get_lnames().front();
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

/// Whether an option has a variable in this command.
bool has_variable(const CLI::App& app, const CLI::Option& option) {
    // These mean something else to other commands, and --force is only meant where it is given.
    constexpr std::array own_meanings{"compare", "force", "heads", "labels", "lora", "weights"};
    const bool trains = app.get_name() == "train" || app.get_name() == "finetune";
    const auto is_called = [&](const char* name) { return option.check_lname(name); };
    if (option.get_lnames().empty() || &option == app.get_help_ptr() || is_called("version")) return false;
    if (is_called("device")) return false;  // the runtime reads it
    // --steps means those of a run
    return trains ? std::ranges::none_of(own_meanings, is_called) : !is_called("steps");
}

/// Whether the variable of an option sets it. Not if the command line has an option that excludes it, or if neither the
/// command line nor the environment gives one that it needs: then the variable is for other commands. `depth`: options
/// may need each other.
bool sets(const CLI::App& app, const CLI::Option& option, Arguments arguments, int depth = 0) {
    constexpr int deepest = 4;
    if (!has_variable(app, option) || (depth > 0 && !environment(variable_of(option).c_str()))) return false;
    const auto typed = [&](const CLI::Option* other) { return is_typed(*other, arguments); };
    const auto given = [&](const CLI::Option* other) {
        return typed(other) || (depth < deepest ? sets(app, *other, arguments, depth + 1) : true);
    };
    return std::ranges::none_of(option.get_excludes(), typed) && std::ranges::all_of(option.get_needs(), given);
}

/// Lets the environment set the options of a command: VANTAGE_SOME_FLAG for --some-flag. The command line takes
/// precedence.
void add_environment_twins(CLI::App& app, Arguments arguments) {
    for (CLI::Option* option : app.get_options()) {
        if (!option->get_envname().empty() || !sets(app, *option, arguments)) continue;
        const std::string name = variable_of(*option);
        const std::optional<std::string> value = environment(name.c_str());
        constexpr std::size_t longest = 9;  // CLI11 counts flags in an int, and throws what is no CLI::Error beyond it
        if (option->get_expected_max() == 0 && value && value->size() > longest)
            throw usage_error("{}={} sets an option without a value: use 1 or 0", name, *value);
        option->envname(name);
    }
}

/// Does so for the command that runs, and not before: the commands share the variables.
void add_environment_twins_when_parsed(CLI::App& app, Arguments arguments) {
    for (CLI::App* command : app.get_subcommands({})) {
        command->preparse_callback([command, arguments](std::size_t) { add_environment_twins(*command, arguments); });
        add_environment_twins_when_parsed(*command, arguments);
    }
}

/// Refuses what CLI11 replaces by the nearest integer that it can hold.
template <class Integer>
CLI::Validator holds(const std::string& what) {
    return {[what](std::string& text) {
                Integer number{};
                const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
                const bool fits =
                    error != std::errc::result_out_of_range && (std::is_signed_v<Integer> || !text.starts_with('-'));
                return fits ? "" : "expected " + what + ", got " + text;
            },
            ""};
}

/// Adds the checks that all options of a kind share.
void check_values(CLI::App& app) {
    const CLI::Validator is_named(
        [](std::string& text) { return text.empty() ? "expected the name of a file or folder" : ""; }, "");
    for (CLI::Option* option : app.get_options()) {
        const std::string type = option->get_type_name();
        const bool number = type == "N" || type.starts_with("N,") || type.starts_with("N:") || type.starts_with("INT");
        if (type.starts_with("FILE") || type.starts_with("DIR")) option->check(is_named);
        if (type.starts_with("UINT")) option->check(holds<std::uint64_t>("an integer from 0 on, of 64 bits"));
        if (number) option->check(holds<std::int64_t>("an integer of 64 bits"));
    }
    for (CLI::App* command : app.get_subcommands({})) check_values(*command);
}

int run(int argc, char** argv) {
    CLI::App app{"Vantage runs transformers on any Vulkan device and shows their attention.", "vantage"};
    app.footer(
        "Start with:\n  vantage demo\n  vantage run -p \"The animal didn't cross the street because\"\n"
        "Exit codes: 0 ok, 1 failure, 2 usage, 3 no device, 4 out of memory, 5 device lost, 6 bad file, 7 accuracy, "
        "130 interrupted");
    app.require_subcommand(1);
    app.fallthrough();
    app.parse_complete_callback([&app] { apply_common(app); });
    add_common(app);
    for (const auto add : {add_demo,  add_view,    add_serve,    add_run,      add_chat,   add_inspect,  add_heads,
                           add_prune, add_embed,   add_classify, add_tokenize, add_train,  add_finetune, add_merge,
                           add_data,  add_explain, add_devices,  add_conform,  add_replay, add_tune,     add_bench})
        add(app);
    check_values(app);
    const Arguments arguments(argv, static_cast<std::size_t>(argc));
    add_environment_twins(app, arguments);
    add_environment_twins_when_parsed(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
        constexpr int max_columns = 300;                         // an unquoted prompt may be long
        const std::string first = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
        const auto is_first = [&](const CLI::App* command) { return command->check_name(first); };
        const bool is_command = first.empty() || std::ranges::any_of(app.get_subcommands({}), is_first);
        const std::string wrong = is_command ? error.what() : first + " is not a command";
        log(LogLevel::error, "{}; see `vantage --help`", shortened(without_controls(wrong), max_columns));
        return exit_code(ErrorKind::usage);
    }
    write_profile();
    return chosen_exit_code;
}

}  // namespace

Common& common() {
    static Common options;
    return options;
}

void add_model_option(CLI::App& command) {
    add_option(command, "-m,--model", common().model,
               "Model folder (config.json, *.safetensors, tokenizer.json) or .gguf file (docs/gguf.md). Default: the "
               "built-in model Mini-world",
               "DIR");
    add_weights_option(command);
}

void add_weights_option(CLI::App& command) {
    command
        .add_option(
            "--weights", common().weights,
            "Storage of the weight matrices on the device: f32, f16, bf16, or quantized as ggml does, to 8 bits "
            "(q8), 6 (q6_k), 5 (q5_k, q5_1, q5_0) or 4 (q4_k, q4_1, q4). Default: as in the file")
        ->check(CLI::IsMember(weight_types));
}

void add_lora_option(CLI::App& command) {
    add_option(command, "--lora", common().lora,
               "Adapters of the model (adapter_config.json, adapter_model.safetensors), as PEFT and `vantage finetune "
               "--lora` write them",
               "DIR");
}

Device open_device() {
    Device device = Device::open(common().device);
    log(LogLevel::info, "device: {} ({} {})", device.caps().name, device.caps().driver, device.caps().driver_version);
    return device;
}

LoadOptions load_options() {
    LoadOptions options{.lora = common().lora};
    if (!common().weights.empty()) options.weights = weight_types.at(common().weights);
    return options;
}

Model load_model(const Device& device, Tower tower) {
    LoadOptions options = load_options();
    options.tower = tower;
    Model model = timed("load model", [&] { return Model::load(device, model_folder(), options); });
    log(LogLevel::info, "model: {}, {:.2f} M parameters in {}", model.info().name,
        static_cast<double>(model.info().parameters) / 1e6, model.info().weight_types);
    return model;
}

void set_exit_code(int code) { chosen_exit_code = code; }

std::string built_in_model() {
    // find the file, because a folder of that name may exist without it
    if (const auto config = find_asset("models/mini-world/config.json"))
        return std::filesystem::path(*config).parent_path().string();
    throw bad_file_error(
        "the built-in model was found neither next to {} nor in an installation (folders that others may write to are "
        "not searched); give a model with -m DIR, or set "
        "VANTAGE_ASSETS",
        program_path());
}

std::string model_folder() { return common().model.empty() ? built_in_model() : common().model; }

}  // namespace vantage::cli

namespace {

// Fails if stdout could not be written, or with VANTAGE_VALIDATE if the validation layer reported errors.
int checked(int code) {
    using namespace vantage;
    if (code != 0) return code;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        throw_if_interrupted();  // by the end of the program that read it
        throw bad_file_error("cannot write to stdout: {}", std::strerror(errno));
    }
    if (const int errors = Device::validation_errors(); errors > 0)
        throw Error(ErrorKind::failure, format("the validation layer reported {} errors", errors));
    return code;
}

}  // namespace

namespace {

/// Libraries allocate in functions that let no exception out (JSON while it is freed, CLI11 while it looks for an
/// option, libstdc++ while it opens a folder). Without memory they end here: as elsewhere, with one line and the exit
/// code.
[[noreturn]] void end_program() {
    try {
        if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
        // An exception that libstdc++ 12 itself does not let out is not current. It comes of nothing but memory.
        if (std::uncaught_exceptions() > 0) throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
        vantage::internal::FolderWriter::remove_unfinished();
        constexpr std::string_view line = "vantage: error: out of host memory\n";
        static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
        ::_exit(vantage::exit_code(vantage::ErrorKind::out_of_memory));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "vantage: error: %s\n", error.what());
    } catch (...) {
    }
    std::abort();
}

}  // namespace

int main(int argc, char** argv) {
    using namespace vantage;
    std::set_terminate(end_program);
    try {
        open_standard_streams();
        catch_interrupts(vantage::internal::FolderWriter::remove_unfinished);
        let_interrupt_end(true);
        return checked(cli::run(argc, argv));
    } catch (const Error& error) {
        if (ending()) {  // the device may still work: nothing that it uses is freed
            std::fflush(stdout);
            ::_exit(exit_code(ErrorKind::interrupted));
        }
        return cli::report_error();
    } catch (const std::exception&) {
        return cli::report_error();
    }
}
