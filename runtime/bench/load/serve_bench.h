// Load for a server that speaks OpenAI's API, `vantage serve` or another, and the times of its answers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/bench/report.h"

namespace vantage::internal {

struct ServeLoad {
    std::string address, key, model;
    std::int64_t clients = 1;         ///< that ask at once, each one request after the other
    std::int64_t requests = 1;        ///< of all clients together
    std::optional<double> rate = {};  ///< requests come at random times, so many a second, of at most `clients` at once
    std::int64_t prefix = 0;          ///< tokens that all prompts begin with
    std::int64_t prompt = 64;         ///< tokens of each prompt behind them
    std::int64_t answer = 128;        ///< tokens
    std::int64_t vocab = 0;           ///< ids of prompts are drawn below it
    double temperature = 0.8;
    std::uint64_t seed = 0;
};

/// Of one request, in seconds.
struct RequestTimes {
    double waited = 0;              ///< before it was sent, because all clients were busy
    double first = 0;               ///< from sending it to the first piece of the answer
    std::vector<double> gaps = {};  ///< between pieces of the answer
    std::int64_t tokens = 0;
    std::string error = {};  ///< empty: it succeeded
};
struct ServeTimes {
    std::vector<RequestTimes> requests;
    std::vector<double> health;  ///< of GET /health, asked all the while
    double seconds = 0;
};

/// What a server says of itself.
struct ServedFacts {
    std::string model;
    std::int64_t vocab = 0;  ///< 0: it does not say
};

/// Throws failure where no server answers, bad_file for an answer that is not of the API.
ServedFacts ask_server(const std::string& address, const std::string& key);
/// Sends the requests and waits for all. Throws interrupted.
ServeTimes send_load(const ServeLoad& load, const std::function<void(std::int64_t done)>& progress);
/// Adds the row of a load. Percentages of requests that met MLPerf's limits: the first token within 2 s and 200 ms
/// between tokens, or interactive, 450 ms and 40 ms.
void add_row(Report& report, const ServeLoad& load, const ServeTimes& times);

}  // namespace vantage::internal
