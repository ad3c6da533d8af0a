// Training steps of whole models, in double by the references of their ops, against runs by PyTorch in float64 and f32.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "evaluate.h"
#include "runtime/graph/graph_data.h"
#include "runtime/train/recorded_run.h"

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

/// Runs the recorded steps by references.
void check_run(const std::string& folder, std::size_t parameters) {
    const RecordedRun run(runs + folder);
    TrainingStep step = build_training_step(run.config(), run.settings());
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

TEST_CASE("twenty steps of a small GPT-2 are those of PyTorch", "[gradient][train]") { check_run("train", 28); }
TEST_CASE("eight steps of a Llama are those of PyTorch", "[gradient][train]") { check_run("train_more/llama", 21); }
TEST_CASE("eight steps of a BERT are those of PyTorch", "[gradient][train]") { check_run("train_more/bert", 42); }
TEST_CASE("eight steps of a T5 are those of PyTorch", "[gradient][train]") { check_run("train_more/t5", 51); }
TEST_CASE("eight steps of a ViT are those of PyTorch", "[gradient][train]") { check_run("train_more/vit", 40); }
