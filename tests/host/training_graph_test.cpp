// Training steps of whole models, in double by the references of their ops, against runs by PyTorch in float64 and f32.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_container_properties.hpp>
#include <cmath>
#include <map>
#include <random>

#include "evaluate.h"
#include "expect_error.h"
#include "known_configs.h"
#include "made_up_devices.h"
#include "runtime/base/interrupt.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/route.h"
#include "runtime/train/recorded_run.h"
#include "runtime/train/step_memory.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::evaluate;

namespace {

const std::string runs = std::string(VANTAGE_TEST_DATA) + "/data/oracle/";

HostTensor tensor_of(const Value& value, const std::vector<float>& numbers) {
    HostTensor tensor(value.type);
    tensor.data.assign(numbers.begin(), numbers.end());
    return tensor;
}

/// The newest version of a state.
Tensor newest(Graph& graph, const std::string& name) {
    int first = -1, last = -1;
    for (std::size_t i = 0; i < graph.values().size(); ++i) {
        const int id = static_cast<int>(i);
        if (graph.value(id).name == name) first = id;
        if (first >= 0 && graph.storage(id) == first) last = id;
    }
    return GraphAccess::tensor(graph, last);
}

}  // namespace

namespace {

/// The first step's norms of the gradients by block, against the gradients that PyTorch recorded.
void check_block_norms(const RecordedRun& run, const TrainingStep& step, const HostTensor& norms) {
    for (std::size_t block = 0; block < step.blocks.size(); ++block) {
        double squares = 0;
        for (const Value& parameter : step.parameters) {
            if (block_of(parameter.name) != step.blocks[block]) continue;
            const std::vector<float> gradient = run.gradient(parameter).value();
            for (const float x : gradient) squares += static_cast<double>(x) * x;
        }
        INFO("block " << step.blocks[block] << ": " << norms.data[block] << " against " << std::sqrt(squares));
        CHECK(squares > 0);
        CHECK(std::abs(norms.data[block] / std::sqrt(squares) - 1) < run.tolerance().norm);
    }
}

/// Runs the recorded steps by references.
void check_run(const std::string& folder, std::size_t parameters, std::int64_t head_rows = 0,
               std::int64_t recompute = 0) {
    const RecordedRun run(runs + folder);
    TrainingSettings settings = run.settings();
    settings.head_rows = head_rows, settings.recompute = recompute;
    TrainingStep step = build_training_step(run.config(), settings);
    CHECK((step.micro_batch.size() > 1) == (head_rows > 0 || recompute > 0));
    CHECK(step.parameters.size() == parameters);
    std::map<std::string, HostTensor> values;
    std::vector<std::string> states;
    for (const Value& value : step.graph.values()) {
        if (value.kind == ValueKind::state) states.push_back(value.name), values[value.name] = HostTensor(value.type);
        if (value.kind == ValueKind::weight || (value.kind == ValueKind::state && run.initial(value)))
            values[value.name] = tensor_of(value, run.initial(value).value());
    }
    values[train_names::train][TRAIN_SCALE] = 1;
    std::vector<Tensor> wanted{GraphAccess::tensor(step.graph, step.graph.outputs().at(train_names::loss))};
    for (const std::string& name : states) wanted.push_back(newest(step.graph, name));
    const TrainingTolerance allowed = run.tolerance();
    for (std::int64_t s = 0; s < run.steps(); ++s) {
        const MicroBatch batch = run.batch(s, 0);
        for (const Value& value : step.graph.values()) {
            if (value.kind != ValueKind::input) continue;
            HostTensor& input = values[value.name] = HostTensor(value.type);
            std::visit([&](const auto& numbers) { input.data.assign(numbers.begin(), numbers.end()); },
                       batch.at(value.name));
            REQUIRE(std::ssize(input.data) == value.type.shape.elements());
        }
        const std::vector<HostTensor> results = evaluate(step.graph, values, wanted);
        for (std::size_t i = 0; i < states.size(); ++i) values[states[i]] = results[i + 1];
        INFO(folder << ", step " << s << ": loss " << results[0][0] << ", norm "
                    << values[train_names::train][TRAIN_NORM]);
        CHECK(std::abs(results[0][0] - run.loss(s)) < (s < 3 ? allowed.loss : allowed.later_loss));
        CHECK(std::abs(values[train_names::train][TRAIN_NORM] / run.norm(s) - 1) < allowed.norm);
        if (s == 0) check_block_norms(run, step, values[train_names::norms]);
        for (const Value& parameter : step.parameters) {
            if (s != 0) break;
            INFO(parameter.name);
            REQUIRE(run.gradient(parameter));
            const std::vector<float> want = run.gradient(parameter).value();
            double largest = 0, worst = 0;
            for (std::size_t i = 0; i < want.size(); ++i) {
                largest = std::max(largest, static_cast<double>(std::abs(want[i])));
                worst = std::max(worst, std::abs(values[train_names::gradient(parameter.name)].data[i] - want[i]));
            }
            INFO(parameter.name << ": off by " << worst << " of " << largest);
            CHECK(worst <= allowed.gradients + allowed.gradients_relative * largest);
        }
    }
    for (const Value& parameter : step.parameters) {
        const std::vector<float> want = run.final(parameter).value();
        double worst = 0;
        for (std::size_t i = 0; i < want.size(); ++i)
            worst = std::max(worst, std::abs(values[parameter.name].data[i] - want[i]));
        INFO(folder << ", " << parameter.name << ": " << worst);
        CHECK(worst < allowed.parameters);
    }
}

}  // namespace

TEST_CASE("parameters belong to the block of their name's first number", "[train]") {
    CHECK(block_of("transformer.h.3.ln_1.weight") == "transformer.h.3");
    CHECK(block_of("decoder.block.10.layer.2.wo.weight") == "decoder.block.10");
    CHECK(block_of("layers.7") == "layers.7");
    for (const char* outside :
         {"transformer.ln_f.weight", "lm_head.weight", "ln_1.weight", "h.1a.weight", "a..b", "a."})
        CHECK(block_of(outside).empty());
    const RecordedRun run(runs + "train");
    CHECK(build_training_step(run.config(), run.settings()).blocks == std::vector<std::string>{"", "h.0", "h.1"});
}
TEST_CASE("twenty steps of a small GPT-2 are those of PyTorch", "[gradient][train]") { check_run("train", 28); }
TEST_CASE("eight steps of a Llama are those of PyTorch", "[gradient][train]") { check_run("train_more/llama", 21); }
TEST_CASE("eight steps of a BERT are those of PyTorch", "[gradient][train]") { check_run("train_more/bert", 42); }
TEST_CASE("eight steps of a T5 are those of PyTorch", "[gradient][train]") { check_run("train_more/t5", 51); }
TEST_CASE("steps whose logits are made some rows at a time are those of PyTorch", "[gradient][train]") {
    check_run("train", 28, 13);
    check_run("train_more/llama", 21, 20);  // a head of its own
    check_run("train_more/bert", 42, 7);    // with a bias
    check_run("train_more/t5", 51, 5);
}
TEST_CASE("steps whose activations are recomputed are those of PyTorch", "[gradient][train]") {
    check_run("train", 28, 0, 1);
    check_run("train", 28, 13, 2);
    check_run("train_more/llama", 21, 0, 3);
    check_run("train_more/bert", 42, 0, 3);
    check_run("train_more/t5", 51, 0, 1 << 20);
    check_run("train_more/vit", 40, 0, 2);
}
/// How many nodes of a step drop by the numbers of each site; `check` is called with the nodes that draw them.
std::map<std::int64_t, int> dropouts_by_site(const TrainingStep& step, const auto& check) {
    std::map<std::int64_t, int> nodes;
    for (const Node& node : step.graph.nodes()) {
        if (std::string(node.op->name) != "dropout") continue;
        const int words = node.inputs[1];
        const Node& draw = step.graph.nodes()[static_cast<std::size_t>(step.graph.value(words).node)];
        check(draw);
        ++nodes[draw.attrs.integer("site")];
    }
    return nodes;
}
TEST_CASE("recomputed activations take less memory, and draw the same dropout", "[train]") {
    ModelConfig config = RecordedRun(runs + "train").config();
    config.layers = 12, config.context = 512;
    const auto step_of = [&](std::int64_t recompute) {
        return build_training_step(config,
                                   {.sequences = 2, .rows = 512, .recompute = recompute, .dropout = 0.1, .rates = {1}});
    };
    const auto arena = [&](std::int64_t recompute) {
        return make_schedule(step_of(recompute).graph, Caps{}).arena_bytes;
    };
    CHECK(step_of(0).max_recompute == 13);
    CHECK(arena(1) < arena(0) * 3 / 4);
    CHECK(arena(7) < arena(1));
    CHECK(arena(13) < arena(0) / 3);
    // Each block draws two masks: in the forward pass, in the copy of it, and in the backward pass itself.
    const std::map<std::int64_t, int> nodes = dropouts_by_site(step_of(13), [](const Node&) {});
    CHECK(std::ssize(nodes) == 1 + 2 * 12);
    CHECK(std::ranges::count_if(nodes, [](const auto& site) { return site.second == 3; }) >= 12);
}
TEST_CASE("a step that does not fit is divided first, and recomputes more where its parts are small", "[train]") {
    ModelConfig config = RecordedRun(runs + "train").config();
    config.context = 512;
    const Caps caps;
    const auto bytes_of = [&](const ModelConfig& model, const TrainingSettings& settings) {
        const TrainingStep step = build_training_step(model, settings);
        Graph fused = step.graph.copy();
        fuse(fused);
        return memory_of(step, fused, make_schedule(fused, caps).arena_bytes).total();
    };
    const TrainingSettings whole{.sequences = 12, .rows = 512, .recompute = -1, .slots = 2, .rates = {1}};
    const auto bytes = [&](std::int64_t sequences) {  // with nothing recomputed
        TrainingSettings part = whole;
        part.sequences = sequences, part.recompute = 0, part.micro_batches = 12 / sequences;
        part.slots = 2 * part.micro_batches;
        return bytes_of(config, part);
    };
    using Parts = std::array<std::int64_t, 4>;  // sequences, micro-batches, slots, recompute
    const auto within = [&](std::uint64_t memory, TrainingSettings settings) {
        static_cast<void>(step_within(config, settings, caps, memory, {}, true));
        return Parts{settings.sequences, settings.micro_batches, settings.slots, settings.recompute};
    };
    CHECK(within(bytes(12), whole) == Parts{12, 1, 2, 0});
    CHECK(within(bytes(12) - 1, whole) == Parts{6, 2, 4, 0});
    CHECK(within(bytes(4), whole) == Parts{4, 3, 6, 0});
    CHECK(within(bytes(2), whole) == Parts{2, 6, 12, 0});
    const Parts small = within(bytes(2) - 1, whole);  // 1024 tokens
    CHECK((small[0] == 2 && small[3] > 0));
    TrainingSettings kept = whole;  // nothing may be recomputed
    kept.recompute = 0;
    CHECK(within(bytes(2) - 1, kept) == Parts{1, 12, 24, 0});
    CHECK_THROWS_AS(step_within(config, kept, caps, bytes(2)), Error);  // it was not asked to divide
    // a loss that depends on what is in a micro-batch
    const ModelConfig mixtral = test::config_of("mixtral");
    TrainingSettings experts{.sequences = 2, .rows = 8, .slots = 2, .load_balance = 0.5, .rates = {1}};
    CHECK_THROWS_AS(step_within(mixtral, experts, caps, bytes_of(mixtral, experts) - 1, {}, true), Error);
    experts.load_balance = 0;
    static_cast<void>(step_within(mixtral, experts, caps, bytes_of(mixtral, experts) - 1, {}, true));
    CHECK(experts.sequences == 1);
}

TEST_CASE("planning a step is interrupted", "[train]") {
    const ModelConfig config = RecordedRun(runs + "train").config();
    const std::atomic<bool> stop = true;
    const InterruptScope scope(stop);
    ModelConfig deep = config;
    deep.layers = 4096;
    test::expect_error(ErrorKind::interrupted, {"interrupted"},
                       [&] { build_training_step(deep, {.sequences = 1, .rows = 16, .slots = 1, .rates = {1}}); });
}

namespace {

std::map<StepPhase, double> flops_of(const ModelConfig& config, std::int64_t head_rows = 0,
                                     std::int64_t recompute = 0) {
    const TrainingStep step = build_training_step(
        config, {.sequences = 8, .rows = 16, .head_rows = head_rows, .recompute = recompute, .slots = 2, .rates = {1}});
    const std::vector<StepPhase> phases = phases_of(step.graph);
    std::map<StepPhase, double> sums;
    for (const int i : live_nodes(step.graph)) {
        const Node& node = step.graph.nodes()[static_cast<std::size_t>(i)];
        if (node.op->cost != nullptr)
            sums[phases[static_cast<std::size_t>(i)]] += node.op->cost(call_of(step.graph, node)).flops;
    }
    return sums;
}

}  // namespace

TEST_CASE("the backward pass has twice the arithmetic of the forward pass, and that of what is recomputed", "[train]") {
    const ModelConfig config = RecordedRun(runs + "train").config();
    const auto flops = [&](std::int64_t head_rows, std::int64_t recompute) {
        return flops_of(config, head_rows, recompute);
    };
    using enum StepPhase;
    std::map<StepPhase, double> whole = flops(0, 0), pieces = flops(50, 0), again = flops(0, 1 << 20);
    CHECK((whole[backward] > 1.8 * whole[forward] && whole[backward] < 2.4 * whole[forward]));
    CHECK((whole[update] > 0 && whole[update] < whole[forward]));
    CHECK(std::abs(pieces[forward] / whole[forward] - 1) < 0.01);
    CHECK(std::abs(pieces[backward] / whole[backward] - 1) < 0.02);
    CHECK(again[forward] == whole[forward]);
    CHECK((again[backward] > whole[backward] && again[backward] < whole[backward] + whole[forward]));
}

TEST_CASE("the gradients of frozen matrices, which cost as much as the forward pass, are not computed",
          "[train][lora]") {
    using enum StepPhase;
    for (const char* model : {"gpt2", "llama", "t5", "mixtral", "mamba"}) {
        const std::string path = std::string(VANTAGE_TEST_DATA) + "/data/oracle/models/" + model + "/config.json";
        ModelConfig config = parse_trained_config(read_file(path), path);
        std::map<StepPhase, double> all = flops_of(config);
        config.lora = LoraOptions{.rank = 1};
        std::map<StepPhase, double> adapters = flops_of(config);
        INFO(model << ": " << adapters[backward] / adapters[forward] << ", all " << all[backward] / all[forward]);
        CHECK(all[backward] - adapters[backward] > 0.85 * all[forward]);
    }
}

TEST_CASE("documents are not separated where one goes on in the next", "[train][bad]") {
    const auto refused = [](const ModelConfig& config, const char* why) {
        INFO(config.architecture);
        test::expect_error(ErrorKind::unsupported, {config.architecture.c_str(), why}, [&] {
            build_training_step(config, {.sequences = 2, .rows = 8, .documents = true, .rates = {1}});
        });
    };
    for (const char* name : {"mamba", "falcon_mamba", "jamba", "recurrent_lstm", "recurrent_gru_tied"})
        refused(test::config_of(name), "carries a state from token to token, so its documents cannot be separated");
    std::string text = read_file(test::folder_of("longformer") + "/config.json");
    const std::string masked = "ForMaskedLM";
    text.replace(text.find(masked), masked.size(), "ForSequenceClassification");
    refused(parse_model_config(text, "config.json"), "cannot be separated: its first tokens see all others");
    const TrainingStep apart = build_training_step(test::config_of("longformer"),
                                                   {.sequences = 2, .rows = 8, .documents = true, .rates = {1}});
    CHECK(std::ranges::any_of(apart.inputs, [](const Value& x) { return x.name == model_names::documents; }));
}
TEST_CASE("no training step has a hazard", "[graph][train]") {
    for (const char* name :
         {"bert", "falcon_mamba", "gpt2", "jamba", "mixtral", "recurrent_lstm", "seq2seq_bahdanau", "t5", "vit_gpt2"}) {
        const ModelConfig config = test::config_of(name);
        const bool reads = config.kind == ModelKind::encoder_decoder;
        const TrainingSettings settings{.sequences = 2,
                                        .rows = 8,
                                        .source_rows = !reads          ? 0
                                                       : config.sees() ? config.image.places()
                                                                       : 10,
                                        .load_balance = config.experts > 0 ? 0.1 : 0,
                                        .rates = {1}};
        const TrainingStep step = build_training_step(config, settings);
        for (const Caps& caps : {test::graphics_card(), test::smallest_device()}) {
            INFO(name << " on " << caps.name);
            CHECK_THAT(find_hazards(step.graph, make_schedule(step.graph, caps)), Catch::Matchers::IsEmpty());
        }
    }
}
TEST_CASE("the logits of all rows never exist together", "[train]") {
    ModelConfig config = RecordedRun(runs + "train").config();
    config.vocab = 50257;
    const auto arena = [&](std::int64_t rows, std::int64_t head_rows) {
        const TrainingSettings settings{.sequences = 1, .rows = rows, .head_rows = head_rows, .rates = {1}};
        return make_schedule(build_training_step(config, settings).graph, Caps{}).arena_bytes;
    };
    config.context = 2048;
    const std::uint64_t logits = std::uint64_t{2048} * 50257 * 4;
    CHECK(arena(2048, 2048) > 2 * logits);
    CHECK(arena(2048, 0) < logits / 2);                  // 333 rows, logits and their gradient
    CHECK(arena(2048, 256) < arena(1024, 256) * 5 / 4);  // more pieces take no more memory for logits
}
TEST_CASE("each sublayer and what goes into the first block is dropped out by numbers of its own", "[train]") {
    const auto sites = [](const std::string& folder, double dropout) {
        const RecordedRun run(runs + folder);
        TrainingSettings settings = run.settings();
        settings.dropout = dropout, settings.seed = 5;
        const TrainingStep step = build_training_step(run.config(), settings);
        const std::map<std::int64_t, int> nodes = dropouts_by_site(step, [&](const Node& draw) {
            CHECK((draw.attrs.integer("seed") == 5 && draw.attrs.number("probability") == dropout));
        });
        for (const auto& [site, count] : nodes) CHECK(count == 2);  // of the forward and of the backward pass
        return std::ssize(nodes);
    };
    CHECK(sites("train", 0) == 0);
    CHECK(sites("train", 0.1) == 1 + 2 * 2);  // two layers of two sublayers
    CHECK(sites("train_more/llama", 0.1) == 1 + 2 * 2);
    CHECK(sites("train_more/bert", 0.1) == 1 + 2 * 2);
    CHECK(sites("train_more/t5", 0.1) == 1 + 2 * 2 + 1 + 2 * 3);
    CHECK(sites("train_more/vit", 0.1) == 1 + 2 * 2);
}
TEST_CASE("eight steps of a ViT are those of PyTorch", "[gradient][train]") { check_run("train_more/vit", 40); }

namespace {

using NamedTensors = std::map<std::string, HostTensor>;

/// What a step reads: drawn parameters, tokens and targets.
NamedTensors drawn_values(const TrainingStep& step, const ModelConfig& config) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal(0, 0.3);
    std::uniform_int_distribution<std::int64_t> token(0, config.vocab - 1);
    NamedTensors values;
    for (const Value& value : step.graph.values())
        if (value.kind == ValueKind::input || value.kind == ValueKind::state || value.kind == ValueKind::weight)
            values[value.name] = HostTensor(value.type);
    for (const Value& parameter : step.parameters)
        for (double& x : values.at(parameter.name).data) x = normal(random);
    for (const Value& input : step.inputs)
        for (double& x : values.at(input.name).data)
            x = input.name == train_names::loss_weights ? 0.01 : static_cast<double>(token(random));
    values.at(train_names::train)[TRAIN_SCALE] = 1;
    return values;
}

double loss_of(TrainingStep& step, const NamedTensors& values) {
    const Tensor loss = GraphAccess::tensor(step.graph, step.graph.outputs().at(train_names::loss));
    return evaluate(step.graph, values, {{loss}})[0][0];
}

/// What all routers of a step say, [rows, experts] each.
std::vector<HostTensor> router_logits(TrainingStep& step, const NamedTensors& values) {
    std::vector<Tensor> logits;
    for (const Node& node : step.graph.nodes())
        if (node.op == &route_op) logits.push_back(GraphAccess::tensor(step.graph, node.inputs[ops::route::logits_]));
    return evaluate(step.graph, values, logits);
}

/// load_balancing_loss_func of transformers.
double balancing_loss(const std::vector<HostTensor>& routers, const ModelConfig& config) {
    const auto experts = static_cast<std::size_t>(config.experts);
    std::vector<double> chosen(experts), mass(experts);
    double rows = 0, sum = 0;
    for (const HostTensor& logits : routers)
        for (std::size_t begin = 0; begin < logits.data.size(); begin += experts, ++rows) {
            const std::span row(&logits.data[begin], experts);
            double total = 0;
            for (const double logit : row) total += std::exp(logit);
            for (std::size_t e = 0; e < experts; ++e) {
                const auto before = std::ranges::count_if(row, [&](double logit) { return logit > row[e]; });
                chosen[e] += before < config.experts_per_token ? 1 : 0;
                mass[e] += std::exp(row[e]) / total;
            }
        }
    for (std::size_t e = 0; e < experts; ++e) sum += chosen[e] / rows * mass[e] / rows;
    return static_cast<double>(config.experts) * sum;
}

}  // namespace

TEST_CASE("uneven routers add what transformers adds, of all layers at once", "[gradient][train]") {
    for (const char* name : {"gpt_oss", "jamba", "mixtral"})
        for (const std::int64_t head_rows : {16, 5}) {
            const ModelConfig config = test::config_of(name);
            TrainingSettings settings{
                .sequences = 2, .rows = 8, .micro_batches = 2, .head_rows = head_rows, .rates = {1}};
            TrainingStep plain = build_training_step(config, settings);
            settings.load_balance = 0.5, settings.recompute = head_rows == 5 ? 2 : 0;  // of the first block
            TrainingStep step = build_training_step(config, settings);
            NamedTensors values = drawn_values(step, config);
            const std::vector<HostTensor> routers = router_logits(plain, values);
            CHECK(routers.size() == (config.architecture == "jamba" ? 2 : static_cast<std::size_t>(config.layers)));
            const double added = loss_of(step, values) - loss_of(plain, values),
                         want = 0.5 / 2 * balancing_loss(routers, config);
            INFO(name << ": added " << added << ", not " << want);
            CHECK(std::abs(added - want) < 1e-9);
            // along a router's gradient the loss changes by its length
            const auto is_router = [](const Value& parameter) {
                return parameter.name.ends_with("gate.weight") || parameter.name.ends_with("router.weight");
            };
            const std::string router = std::ranges::find_if(step.parameters, is_router)->name;
            const Tensor sum = newest(step.graph, train_names::gradient(router));
            const std::vector<double> gradient = evaluate(step.graph, values, {{sum}})[0].data;
            double squares = 0;
            for (const double x : gradient) squares += x * x;
            constexpr double h = 1e-5;
            const auto moved = [&](double by) {
                NamedTensors there = values;
                for (std::size_t i = 0; i < gradient.size(); ++i)
                    there.at(router).data[i] += by * gradient[i] / std::sqrt(squares);
                return loss_of(step, there);
            };
            const double slope = (moved(h) - moved(-h)) / (2 * h);
            INFO(router << ": slope " << slope << ", gradient " << std::sqrt(squares));
            CHECK(squares > 0);
            CHECK(std::abs(slope / std::sqrt(squares) - 1) < 1e-5);
        }
}
