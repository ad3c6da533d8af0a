// vantage explain: what a model is made of, what a token costs, where memory goes, and what runs for it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "explain_figures.h"
#include "generation_options.h"
#include "runtime/base/log.h"
#include "runtime/base/units.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/config.h"
#include "text_table.h"

namespace vantage::cli {

namespace {

using nlohmann::json;

struct ExplainOptions {
    std::int64_t tokens = 0;  // 0 = 64, or what the context holds
    std::string precision = "f16";
    SessionOptions session;
    bool json = false;
};

/// All that is known about a model, once.
struct Explanation {
    const Model& model;
    Session& session;
    std::int64_t tokens;
    Precision precision;
    std::vector<std::int64_t> plans;  // by rows: the prompt's first, then the generated token's
    Work prompt, token;
};

std::string count_text(double value) {
    const char* units[] = {"", " k", " M", " G", " T", " P"};
    int unit = 0;
    for (; value >= 1000 && unit < 5; ++unit) value /= 1000;
    return format(unit == 0 ? "%.0f%s" : value < 10 ? "%.2f%s" : value < 100 ? "%.1f%s" : "%.0f%s", value, units[unit]);
}
std::string memory_text(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }
std::string share_text(double part, double whole) { return whole > 0 ? format("%.1f %%", 100 * part / whole) : "-"; }

void print(const char* heading, const TextTable& table) { std::printf("\n%s\n%s", heading, table.text().c_str()); }

// ---- tables ----------------------------------------------------------------------------------------------------------

void print_parameters(const Explanation& e) {
    TextTable table("lrrr");
    const ModelInfo& info = e.model.info();
    table.row({"", "parameters", "share", "bytes"});
    for (const Component& c : components(e.model))
        table.row({c.name, count_text(static_cast<double>(c.parameters)),
                   share_text(static_cast<double>(c.parameters), static_cast<double>(info.parameters)),
                   bytes_text(c.bytes)});
    table.row({"total", count_text(static_cast<double>(info.parameters)), "", bytes_text(info.weight_bytes)});
    print("Parameters", table);
    if (e.model.config().tied) std::printf("  the output layer is the embedding, stored once\n");
}

void print_work(const std::string& heading, const Work& work, std::int64_t rows) {
    TextTable table("lrrrrrr");
    const Cost all = work.total();
    table.row({"", "calls", "FLOP", "share", "read", "written", "FLOP/byte"});
    const auto row = [&](const std::string& name, const std::string& calls, const Cost& c, const std::string& share) {
        const double bytes = c.bytes_read + c.bytes_written;
        table.row({name, calls, count_text(c.flops), share, memory_text(c.bytes_read), memory_text(c.bytes_written),
                   bytes > 0 ? format("%.2f", c.flops / bytes) : "-"});
    };
    for (const Work::Part& part : work.parts)
        row(part.op, std::to_string(part.calls), part.cost, share_text(part.cost.flops, all.flops));
    row("total", "", all, "");
    const auto n = static_cast<double>(rows);
    if (rows > 1) row("per token", "", {all.flops / n, all.bytes_read / n, all.bytes_written / n}, "");
    print(heading.c_str(), table);
}

void print_memory(const Explanation& e) {
    TextTable table("lrl");
    const auto row = [&](const std::string& part, std::uint64_t bytes, const std::string& note) {
        table.row({part, bytes_text(bytes), note});
    };
    for (const auto& [type, bytes] : weight_bytes(e.model)) row("weights " + type, bytes, "shared by all sessions");
    const Session::Memory m = e.session.memory();
    const auto context = static_cast<double>(e.session.context());
    row("keys and values " + std::string(e.precision == Precision::f32 ? "f32" : "f16"), m.cache,
        format("%lld tokens of context, %s each", static_cast<long long>(e.session.context()),
               memory_text(static_cast<double>(m.cache) / context).c_str()));
    row("other states", m.states, "tokens, step, tables");
    for (std::int64_t rows : e.plans) {
        const Schedule& s = e.session.plan(rows).schedule();
        row(format("intermediates, %lld row%s", static_cast<long long>(rows), rows == 1 ? "" : "s"), s.arena_bytes,
            "instead of " + bytes_text(s.naive_bytes) + " if none shared memory");
    }
    row("total", e.model.info().weight_bytes + m.cache + m.watched + m.states + m.intermediates, "");
    print("Memory on the device", table);
    const std::uint64_t watched = state_bytes(e.model, e.session.context(), e.precision, true)["watch"];
    std::printf("  and %s of watched rows while attention is looked at (inspect, demo)\n", bytes_text(watched).c_str());
}

// "matmul + residual (8), matmul + gelu_tanh (4)": without layers, which all do the same.
std::string fused_text(const Plan& plan) {
    std::map<std::string, int> counts;
    for (const std::string& name : plan.fused()) ++counts[name.substr(name.rfind('.', name.find(" + ")) + 1)];
    std::string text;
    for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + name + format(" (%d)", count);
    return text;
}

void print_plan(const Explanation& e, std::int64_t rows) {
    const Plan& plan = e.session.plan(rows);
    const std::vector<Dispatch>& dispatches = plan.schedule().dispatches;
    const auto barriers =
        std::count_if(dispatches.begin(), dispatches.end(), [](const Dispatch& d) { return d.barrier_before; });
    TextTable table("lllll");
    table.row({"", "operation", "kernel", "result", "workgroups"});
    for (const DispatchGroup& group : dispatch_groups(plan)) {
        if (!group.name.empty())
            table.line(group.times > 1 ? format("%s  (%d times)", group.name.c_str(), group.times) : group.name);
        const std::string margin = group.name.empty() ? "" : "  ";
        for (const DispatchLine& line : group.dispatches)
            table.row({line.barrier ? "•" : "", margin + line.what, line.kernel, line.result, line.grid});
    }
    print(format("Plan of %lld row%s: %zu dispatches, %td barriers (• waits for what came before)",
                 static_cast<long long>(rows), rows == 1 ? "" : "s", dispatches.size(), barriers)
              .c_str(),
          table);
    std::printf("  fused: %s\n", plan.fused().empty() ? "nothing" : fused_text(plan).c_str());
}

void print_text(const Explanation& e) {
    const ModelInfo& i = e.model.info();
    const auto n = [](std::int64_t value) { return static_cast<long long>(value); };
    std::printf(
        "%s: %s, %lld layers of width %lld, %lld heads of %lld (%lld for keys), inner width %lld, vocabulary %lld, "
        "context %lld\n",
        i.name.c_str(), i.architecture.c_str(), n(i.layers), n(i.width), n(i.heads), n(i.head_width), n(i.kv_heads),
        n(i.inner), n(i.vocab), n(i.context));
    print_parameters(e);
    print_work(format("Work for a prompt of %lld tokens, in one run", n(e.tokens)), e.prompt, e.tokens);
    print_work(format("Work for the token after it, at position %lld", n(e.tokens)), e.token, 1);
    print_memory(e);
    for (std::int64_t rows : e.plans) print_plan(e, rows);
}

// ---- JSON ------------------------------------------------------------------------------------------------------------

json to_json(const Cost& c) {
    return {{"flops", c.flops}, {"bytes_read", c.bytes_read}, {"bytes_written", c.bytes_written}};
}

json to_json(const Work& work) {
    json ops = json::array();
    for (const Work::Part& part : work.parts) {
        json entry = to_json(part.cost);
        entry["op"] = part.op, entry["calls"] = part.calls;
        ops.push_back(entry);
    }
    return {{"ops", ops}, {"total", to_json(work.total())}};
}

json plan_json(const Explanation& e, std::int64_t rows) {
    const Plan& plan = e.session.plan(rows);
    json groups = json::array();
    for (const DispatchGroup& group : dispatch_groups(plan)) {
        json dispatches = json::array();
        for (const DispatchLine& d : group.dispatches)
            dispatches.push_back({{"operation", d.what},
                                  {"kernel", d.kernel},
                                  {"result", d.result},
                                  {"workgroups", d.grid},
                                  {"barrier_before", d.barrier}});
        groups.push_back({{"name", group.name}, {"times", group.times}, {"dispatches", dispatches}});
    }
    return {{"rows", rows},
            {"dispatches", plan.schedule().dispatches.size()},
            {"groups", groups},
            {"fused", plan.fused()},
            {"arena_bytes", plan.schedule().arena_bytes},
            {"arena_bytes_without_sharing", plan.schedule().naive_bytes}};
}

void print_json(const Explanation& e) {
    const ModelInfo& i = e.model.info();
    json parameters = json::array(), plans = json::array();
    for (const Component& c : components(e.model))
        parameters.push_back({{"component", c.name}, {"parameters", c.parameters}, {"bytes", c.bytes}});
    for (std::int64_t rows : e.plans) plans.push_back(plan_json(e, rows));
    const Session::Memory m = e.session.memory();
    json prompt = to_json(e.prompt), token = to_json(e.token);
    prompt["tokens"] = e.tokens;
    token["position"] = e.tokens;
    const json memory = {{"weights", weight_bytes(e.model)},
                         {"cache", m.cache},
                         {"states", m.states},
                         {"intermediates", m.intermediates},
                         {"watched_if_asked", state_bytes(e.model, e.session.context(), e.precision, true)["watch"]},
                         {"context", e.session.context()}};
    const json all = {{"schema_version", 1},
                      {"model", i.name},
                      {"architecture", i.architecture},
                      {"device", e.model.device().caps().name},
                      {"parameters", parameters},
                      {"total_parameters", i.parameters},
                      {"prompt", prompt},
                      {"generated_token", token},
                      {"memory", memory},
                      {"plans", plans}};
    std::printf("%s\n", all.dump(2, ' ', false, json::error_handler_t::replace).c_str());
}

void run(ExplainOptions& o) {
    const Device device = open_device();
    const Model model = load_model(device);
    const Precision precision = precision_named(o.precision);
    o.session.precision = precision;
    Session session(model, o.session);
    const std::int64_t most = session.context() - 1;  // the token after the prompt has to fit, too
    if (o.tokens > most || most < 1)
        throw Error(ErrorKind::usage,
                    format("a prompt of %lld tokens and a token after it do not fit the context of %lld",
                           static_cast<long long>(std::max<std::int64_t>(o.tokens, 1)),
                           static_cast<long long>(session.context())));
    const std::int64_t tokens = o.tokens > 0 ? o.tokens : std::min<std::int64_t>(64, most);
    Explanation e{model,
                  session,
                  tokens,
                  precision,
                  {session.chunk(tokens)},
                  work(model, 0, tokens, precision),
                  work(model, tokens, 1, precision)};
    if (e.plans.front() != 1) e.plans.push_back(1);
    for (std::int64_t rows : e.plans) session.plan(rows);
    o.json ? print_json(e) : print_text(e);
}

}  // namespace

void add_explain(CLI::App& app) {
    auto o = std::make_shared<ExplainOptions>();
    CLI::App* command =
        app.add_subcommand("explain", "Show a model's parameters, costs, memory, and what runs for a token");
    command->footer(
        "Costs are those of the operations as fused; bytes are what each has to read and write at least.\nExample:\n  "
        "vantage explain --tokens 100 --ctx 512");
    add_model_option(*command);
    command->add_option("--tokens", o->tokens, "Length of the prompt; 0 = 64, or what the context holds")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        ->add_option("-c,--ctx", o->session.context,
                     "Context in tokens; 0 = what the model allows and the memory holds")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    add_precision_option(*command, o->precision);
    command->add_flag("--json", o->json, "One JSON object on stdout");
    command->callback([o] { run(*o); });
}

}  // namespace vantage::cli
