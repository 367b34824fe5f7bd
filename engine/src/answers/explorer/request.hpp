// The request of a page: strategies of one model on one system, and how to evaluate them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answers/explorer/feasibility.hpp"
#include "answers/explorer/model.hpp"
#include "answers/explorer/system.hpp"
#include "simulation/simulators/simulator.hpp"

namespace dse::explorer {

struct Request {
    Model model;
    std::string model_text;  ///< the model as JSON: whether kept workloads are its own
    System system;
    Divisibility divisibility = Divisibility::kStage;
    std::vector<workload::StrategySpec> strategies;
    simulator::Method method = simulator::Method::kAuto;
};

/// Parses `{"model", "system", "divisibility", "strategies": [...], "method"}`. Throws InputError naming the
/// key, what was got and what is allowed.
Request request_of_json(std::string_view text);

}  // namespace dse::explorer
