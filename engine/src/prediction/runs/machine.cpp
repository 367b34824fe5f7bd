// Units of a cluster that fail, and the bandwidths that checkpoints meet.
#include "prediction/runs/machine.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "prediction/memory/weights.hpp"

namespace dse::prediction::runs {

namespace {

constexpr double kWeightBytes = 2.0;

/// How many units of a rate a cluster has, and the nodes that each takes with it.
struct Units {
    std::int64_t count = 1, nodes = 1;
};

Units units_of(const Component& component, const Reliability& reliability, const Cluster& cluster) {
    const std::int64_t npus = cluster.npus(), each = cluster.npus_per_node();
    switch (component.unit) {
        case Unit::kNpu:
            return {npus, 1};
        case Unit::kNode:
            return {cluster.nodes(), 1};
        case Unit::kNic:
            return {cluster.nics ? npus / cluster.nics->npus_each : npus, 1};
        case Unit::kJob:
            return {1, 1};
        default:
            break;
    }
    const auto place =
        static_cast<std::size_t>(component.unit) - static_cast<std::size_t>(Unit::kNvlinkDomain);
    std::optional<std::int64_t> size = reliability.domains.at(place);
    if (!size && component.unit == Unit::kNvlinkDomain) size = each;
    if (!size) {
        const std::string& unit = component.unit_name;
        throw InputError("reliability.components." + component.name + ".rate is of a " + unit +
                         ", and its number of NPUs is unknown: write domains=" + unit + "=64, or domains: {" +
                         unit + ": 64} in the file");
    }
    const std::int64_t nodes = component.unit == Unit::kRail ? *size : (*size + each - 1) / each;
    return {(npus + *size - 1) / *size, std::min(nodes, cluster.nodes())};
}

}  // namespace

double checkpoint_bytes(const Model& model, double optimizer_bytes) {
    const Plan plan;
    Layout whole;
    whole.types = {chunk_of(model, 0, model.num_layers, true, true)};
    const Weights held = stage_weights(Sizes(model, plan, Framework()), whole, {0}).front();
    return kWeightBytes * held.total() + optimizer_bytes * held.trained().total();
}

CheckpointTimes checkpoint_times(double bytes, const Cluster& cluster, const Store& store) {
    const auto nodes = static_cast<double>(cluster.nodes());
    const double moved_s = bytes / (std::min(store.total_gbps, nodes * store.node_gbps) * 1e9);
    const double copied_s =
        bytes / static_cast<double>(cluster.npus()) / (cluster.accelerator.host_bandwidth_gbps * 1e9);
    if (store.place == Place::kStorage) {
        if (store.is_sync) return {{moved_s, 0.0, {}, 1}, moved_s, {}};
        return {{copied_s, moved_s, {}, 1}, moved_s, {}};
    }
    std::optional<double> near_gbps = store.near_gbps;
    if (store.place == Place::kPeer) {
        if (cluster.nodes() < 2)
            throw InputError("checkpoint_at is peer, but " + cluster.name +
                             " has one node: write local or storage");
        if (!near_gbps)
            near_gbps = cluster.tiers.back().bandwidth_gbps * static_cast<double>(cluster.npus_per_node());
    }
    const double near_s = near_gbps ? bytes / nodes / (*near_gbps * 1e9) : 0.0;
    const NearCopy near{near_s != 0 ? near_s : copied_s, store.place == Place::kPeer ? 1 : 0};
    if (store.is_sync) return {{copied_s + near_s, 0.0, moved_s, store.every}, moved_s, near};
    return {{copied_s, near_s, moved_s, store.every}, moved_s, near};
}

std::vector<FailureClass> classes_of(const Reliability& reliability, const Cluster& cluster,
                                     const CheckpointTimes& times, double factor) {
    std::vector<FailureClass> found;
    for (const Component& one : reliability.components) {
        const Units units = units_of(one, reliability, cluster);
        const std::int64_t lost = one.takes_node ? units.nodes : 0;
        FailureClass made{factor * one.per_second * static_cast<double>(units.count),
                          one.recovery_s + times.load_s,
                          lost,
                          {}};
        if (times.near && lost <= times.near->survives_nodes)
            made.near_recovery_s = one.recovery_s + times.near->load_s;
        found.push_back(made);
    }
    return found;
}

std::pair<double, double> bounds_of(const Reliability& reliability, const Cluster& cluster) {
    double total = 0.0, counted = 0.0;
    for (const Component& one : reliability.components) {
        const double rate = one.per_second * static_cast<double>(units_of(one, reliability, cluster).count);
        total += rate;
        if (one.is_counted) counted += rate;
    }
    if (total <= 0) return {1.0, 1.0};
    const double share = counted / total;
    return {1 + share * (reliability.low - 1), 1 + share * (reliability.high - 1)};
}

}  // namespace dse::prediction::runs
