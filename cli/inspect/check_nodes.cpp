#include "cli/inspect/check_nodes.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "cli/shared/progress.h"
#include "runtime/base/at.h"
#include "runtime/base/json.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/schedule.h"

namespace vantage::cli {

namespace {

/// A node's name, and which of the nodes with this name.
struct ChosenNode {
    std::string name;
    std::size_t number = 0;
    explicit ChosenNode(const std::string& text) : name(text.substr(0, text.find(':'))) {
        if (name.size() == text.size()) return;
        const char *begin = text.data() + name.size() + 1, *end = text.data() + text.size();
        if (const auto read = std::from_chars(begin, end, number); read.ec != std::errc() || read.ptr != end)
            throw usage_error("--dump-node: {} is no node; give NAME or NAME:NUMBER, from 0", in_quotes(text));
    }
};

}  // namespace

std::string NodeCheck::text() const {
    if (!diverged) return format("{} nodes agree with their references", nodes);
    return format("{} (kernel {}, plan of {} rows) is the first node that differs from its reference: {}",
                  diverged->node, diverged->kernel, rows, diverged->message);
}

NodeCheck check_nodes(const Model& model, const ModelInput& input, SessionOptions options) {
    options.record_attention = RecordAttention::all();
    NodeCheck result;
    Progress progress("checking");
    const std::int64_t tokens = std::ssize(input.ids);
    std::int64_t done = 0;
    replay(model, options, replay_input(input), [&](Plan& plan, std::int64_t rows) {
        progress.show(std::min(done, tokens), tokens + 1);
        done += rows;
        result.rows = rows;
        result.nodes += live_nodes(plan.graph()).size();
        const std::vector<Divergence> found = plan.check();
        if (!found.empty()) result.diverged = found.front();
        return found.empty();
    });
    return result;
}

NodeDump run_chosen_node(const Model& model, const ModelInput& input, SessionOptions options, const std::string& name) {
    options.record_attention = RecordAttention::all();
    const ChosenNode wanted(name);
    std::optional<NodeDump> found;
    std::map<std::string, std::size_t> known;  // how many nodes of each name, over all plans
    replay(model, options, replay_input(input), [&](Plan& plan, std::int64_t) {
        const Graph& graph = plan.graph();
        std::size_t number = 0;
        for (const int node : live_nodes(graph)) {
            const std::string own = name_of(graph, at(graph.nodes(), node));
            ++known[own];
            if (own != wanted.name || number++ != wanted.number) continue;
            found = PlanAccess::run_up_to(plan, node);
            return false;
        }
        plan.run();
        return true;
    });
    if (found) return *std::move(found);
    throw usage_error("--dump-node: no plan has a node {}; they have {}", in_quotes(name),
                      join(known, ", ", [](const auto& one) { return one.first; }));
}

}  // namespace vantage::cli
