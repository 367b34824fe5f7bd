// Systems and generated workloads whose every combination is a point of the tests of simulations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/algorithms/registry.hpp"
#include "simulation/simulators/simulator.hpp"
#include "simulation/workloads/transformer.hpp"

namespace dse::tests {

using namespace dse::simulator;
using namespace dse::workload;
using dse::network::Dimension;
using dse::network::make_shape;

inline Dimension dimension(const std::string& topology, std::uint32_t npus, double bandwidth,
                           double latency) {
    return {make_shape({topology, npus, {}, {}, {}, 0}), bandwidth, latency};
}

/// Slow enough that the smallest computation takes time.
inline SystemConfig system_of(std::vector<Dimension> network, const std::string& algorithm) {
    SystemConfig config;
    const std::vector<dse::collectives::Choice> algorithms(network.size(),
                                                           dse::collectives::algorithm_named(algorithm));
    config.network = std::move(network);
    config.all_reduce = config.all_gather = config.reduce_scatter = algorithms;
    config.all_to_all = std::vector<dse::collectives::Choice>(config.network.size(),
                                                              dse::collectives::algorithm_named("ring"));
    config.peak_tflops = 0.01;
    config.memory_bandwidth_gbps = 1;
    config.preferred_dataset_splits = 4;
    config.active_chunks_per_dimension = 2;
    return config;
}

/// Systems of 16 NPUs; the second to fifth allow classes.
inline std::vector<SystemConfig> systems() {
    std::vector<SystemConfig> result;
    result.push_back(system_of({dimension("Switch", 16, 100, 50)}, "doubleBinaryTree"));
    result.push_back(system_of({dimension("Ring", 16, 50, 500)}, "ring"));
    result.push_back(system_of({dimension("Switch", 16, 100, 50)}, "halvingDoubling"));
    result.push_back(system_of({dimension("Ring", 4, 100, 50), dimension("Ring", 4, 100, 50)}, "ring"));
    result.push_back(system_of({dimension("FullyConnected", 4, 100, 10), dimension("Switch", 2, 10, 500),
                                dimension("Ring", 2, 1, 1)},
                               "direct"));
    result.push_back(result.back());
    result.back().queues_per_dimension = 2;
    result.push_back(result.front());
    result.back().rendezvous = true;
    result.push_back(result[3]);
    result.back().congestion_aware = true;
    result.push_back(result[2]);
    result.back().deratings = {{3, 0.5, 0.75}};
    for (const char* const algorithm : {"direct", "halvingDoubling"}) {  // in groups too
        result.push_back(system_of({dimension("FullyConnected", 16, 100, 50)}, algorithm));
        result.back().reference = &reference_named("astra-sim-2026-03");
    }
    return result;
}

using TransformerPointer = std::shared_ptr<const Transformer>;

inline std::vector<TransformerPointer> transformers() {
    const ModelSpec model{64, 64, 32, 64, 4, 16, 8, 2};
    const std::vector<StrategySpec> strategies = {
        {16, 1, 1, 1, false, false}, {1, 16, 1, 1, false, true}, {4, 4, 1, 1, false, false},
        {2, 2, 2, 2, true, true},    {1, 2, 2, 4, false, true},  {2, 2, 1, 4, true, false},
    };
    std::vector<TransformerPointer> result;
    for (const StrategySpec& strategy : strategies) {
        result.push_back(std::make_shared<const Transformer>(model, strategy));
    }
    // Shards of less than one element have no operations, and a node without operations never ends.
    const ModelSpec narrow{8, 8, 1, 8, 2, 8, 8, 2};
    result.push_back(std::make_shared<const Transformer>(narrow, StrategySpec{2, 2, 2, 2, false, false}));
    return result;
}

inline bool same(const SimulationResult& a, const SimulationResult& b) {
    return a.deadlock == b.deadlock && a.class_of_rank == b.class_of_rank && a.classes == b.classes;
}

}  // namespace dse::tests
