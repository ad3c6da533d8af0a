// A calculation on the device for tests: inputs with their values, and results by name.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "test_device.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

namespace vantage::test {

using Values = std::vector<float>;

struct Sheet {
    Graph graph;
    std::map<std::string, Values> floats;
    std::map<std::string, std::vector<std::int32_t>> integers;

    Tensor input(const std::string& name, Shape shape, Values values, DType dtype = DType::f32) {
        floats[name] = std::move(values);
        return graph.input(name, shape, dtype);
    }
    Tensor input(const std::string& name, Shape shape, std::vector<std::int32_t> values) {
        integers[name] = std::move(values);
        return graph.input(name, shape, DType::i32);
    }
    std::map<std::string, Values> run(const std::string& kernel = {}) {
        const std::map<std::string, int> outputs = graph.outputs();
        Plan plan(std::move(graph), test_device(), {.guard = true, .kernel = kernel});
        for (const auto& [name, values] : floats) plan.write(name, values);
        for (const auto& [name, values] : integers) plan.write(name, values);
        plan.run();
        std::map<std::string, Values> results;
        for (const auto& [name, id] : outputs) results[name] = plan.read(name).vector();
        return results;
    }
};

inline Values normal(std::int64_t count, unsigned seed, float deviation = 1, float mean = 0) {
    std::mt19937 random(seed);
    std::normal_distribution<float> standard;  // its own deviation must be above 0
    Values values(static_cast<std::size_t>(count));
    for (float& value : values) value = mean + deviation * standard(random);
    return values;
}

}  // namespace vantage::test
