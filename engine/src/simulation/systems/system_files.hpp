// ASTRA-sim's configuration files (system.json, network.yml, remote_memory.json, the groups file): reading.
//
// The only readers: Python's are these. Strict where the reference is silent or undefined; the groups file
// has the rules and messages of dse/simulation/workloads/traces.py.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulation/simulators/config.hpp"
#include "simulation/systems/custom_files.hpp"
#include "simulation/workloads/trace_import.hpp"

namespace dse::config {

/// The content of system.json, as far as it has an effect.
struct SystemFile {
    simulator::SystemConfig config;  ///< without network and remote memory
    bool trace_enabled = false;      ///< the report includes the peak memory
    bool states_endpoint_delay = false;
    CustomFiles custom;  ///< not read yet: which ones depends on the workload
};

/// One dimension of network.yml, not built yet.
struct DimensionEntry {
    std::string topology;
    std::uint32_t npus = 0;
    double bandwidth_gbps = 0.0;  ///< 2^30 bytes per 10^9 ns
    double latency_ns = 0.0;
    std::vector<std::uint32_t> shape;
    std::string routing;
    std::string graph_file;   ///< of a Graph; relative to the folder of network.yml
    std::string routes_file;  ///< static routes of a Graph, or empty
};

/// Options of the command line that change a system.
struct SystemOptions {
    bool congestion_aware = false;
    std::uint32_t queues_per_dimension = 1;
    bool rendezvous = false;
    double injection_scale = 1.0;  ///< of an endpoint delay that system.json states
    const workload::Reference* reference = &workload::default_reference();
};

/// Each of these throws an InputError that names file and key, what was got and what is allowed.
SystemFile parse_system(std::string_view text, const std::string& path);
std::vector<DimensionEntry> parse_network(std::string_view text, const std::string& path);
simulator::RemoteMemory parse_remote_memory(std::string_view text, const std::string& path);
std::vector<workload::NamedGroup> parse_groups(std::string_view text, const std::string& path);

/// The lists of algorithms of system.json must not have more entries than there are network dimensions.
void check_algorithm_counts(const simulator::SystemConfig& config, std::size_t dimensions,
                            const std::string& path);

/// Reads all three files of a system, and the CSV files of graphs.
SystemFile read_system(const std::string& system_json, const std::string& network_yml,
                       const std::string& remote_memory_json, const SystemOptions& options);

std::vector<workload::NamedGroup> read_groups(const std::string& path);

}  // namespace dse::config
