// Finds the files that groups need, and reads their traces.
#include "simulation/systems/custom_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "inputs/files/text.hpp"
#include "inputs/files/yaml.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/trace_import.hpp"

namespace dse::config {

namespace {

using workload::CollectiveType;

std::string path_below(const std::string& folder, const std::string& path) {
    return folder.empty() ? path : (std::filesystem::path(folder) / path).string();
}

/// Prefixes by the ids of nodes.
std::map<std::uint64_t, std::string> read_node_map(const std::string& path) {
    std::map<std::uint64_t, std::string> prefixes;
    for (const auto& [key, value] : parse_yaml(read_text_file(path), path)) {
        std::uint64_t id = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
        if (error != std::errc() || end != key.data() + key.size()) {
            throw InputError(path + ": key '" + key + "' is no id of a node; keys are integers from 0");
        }
        if (value.is_list || value.text.empty()) {
            throw InputError(path + ": " + key + " is " + to_text(value) + "; it must be a path prefix");
        }
        prefixes[id] = value.text;
    }
    return prefixes;
}

/// The places of a prefix that some group has, and the sizes of these groups.
struct Uses {
    std::set<std::uint32_t> places;
    std::uint32_t least_size = UINT32_MAX;
};

std::map<std::string, Uses> uses_of(const workload::Workload& workload,
                                    const simulator::CustomCollectives& custom,
                                    const Checkpoint& checkpoint) {
    std::map<std::string, Uses> uses;
    for (std::uint32_t rank = 0; rank < workload.rank_count(); ++rank) {
        const std::vector<workload::Node>& nodes = workload.trace(rank).nodes;
        for (std::uint32_t n = 0; n < nodes.size(); ++n) {
            checkpoint();
            if (nodes[n].kind != workload::NodeKind::kCollective) continue;
            if (nodes[n].collective == CollectiveType::kBroadcast) continue;
            const std::string* const prefix =
                custom.prefix_of(workload.catalog->id(rank, n), nodes[n].collective);
            if (prefix == nullptr) continue;
            const workload::Communicator& group =
                workload.communicators[workload.slots_of(rank)[nodes[n].slot]];
            const std::vector<std::uint32_t>& members = group.members;
            if (!std::is_sorted(members.begin(), members.end())) {
                throw InputError("group '" + group.name + "' runs the custom collective " + *prefix +
                                 ", which needs its ranks in ascending order");
            }
            const auto self = std::find(members.begin(), members.end(), rank);
            const std::size_t size = members.empty() ? workload.rank_count() : members.size();
            Uses& of_prefix = uses[*prefix];
            of_prefix.places.insert(members.empty() ? rank
                                                    : static_cast<std::uint32_t>(self - members.begin()));
            of_prefix.least_size = std::min(of_prefix.least_size, static_cast<std::uint32_t>(size));
        }
    }
    return uses;
}

}  // namespace

simulator::CustomCollectives read_custom(const CustomFiles& files, const std::string& folder,
                                         const workload::Reference& reference,
                                         const workload::Workload& workload, const Checkpoint& checkpoint) {
    simulator::CustomCollectives custom;
    if (files.empty()) return custom;
    if (!reference.has_custom_collectives) {
        throw InputError("system.json has custom collectives, which " + std::string(reference.name) +
                         " ignores: write simulator.reference=astra-sim-2026-03 (dse validate: reference=, "
                         "stand-alone: --reference=), or remove their keys");
    }
    custom.of_type = files.of_type;
    if (!files.of_nodes.empty()) custom.of_node = read_node_map(path_below(folder, files.of_nodes));
    for (const auto& [prefix, uses] : uses_of(workload, custom, checkpoint)) {
        auto& places = custom.places[prefix];
        places.resize(*uses.places.rbegin() + std::size_t{1});
        for (const std::uint32_t place : uses.places) {
            const std::string path = path_below(folder, prefix) + "." + std::to_string(place) + ".et";
            const chakra::TraceFile file = chakra::read_trace_file(path, checkpoint);
            places[place] = std::make_shared<const workload::Trace>(
                workload::import_custom(file, path, place, uses.least_size, checkpoint));
        }
    }
    return custom;
}

}  // namespace dse::config
