// A machine as a run sees it: failures of its parts, and how it writes and reads a checkpoint.
#pragma once

#include <utility>

#include "prediction/inputs/cluster.hpp"
#include "prediction/inputs/model.hpp"
#include "prediction/runs/asked.hpp"
#include "prediction/runs/renewal.hpp"

namespace dse::prediction::runs {

/// A copy near the nodes: read in `load_s`, and left by failures of at most `survives_nodes` nodes.
struct NearCopy {
    double load_s = 0.0;
    std::int64_t survives_nodes = 0;
};

/// How a checkpoint blocks and is written, the seconds to read it from storage, and its near copy.
struct CheckpointTimes {
    Checkpoints checkpoints;
    double load_s = 0.0;
    std::optional<NearCopy> near;
};

/// Bytes of the weights in 16 bit, whose master copy in fp32 is part of the optimizer, and of the optimizer's
/// states of all parameters, each once.
double checkpoint_bytes(const Model& model, double optimizer_bytes);

/// How long a checkpoint blocks and is written, and how long it is read. Every NPU copies an equal share to
/// its host, at the bandwidth of the host; every node sends its share to its peer while the next nodes send
/// theirs. Throws InputError where a peer is asked for, and there is one node.
CheckpointTimes checkpoint_times(double bytes, const Cluster& cluster, const Store& store);

/// The failures of a job on all of a cluster; `factor` multiplies every rate. Throws InputError where a rate
/// is of a domain whose size is unknown.
std::vector<FailureClass> classes_of(const Reliability& reliability, const Cluster& cluster,
                                     const CheckpointTimes& times, double factor);

/// From what to what share of the sum of all rates the true one is. Counted rates of equal exposure are one
/// Poisson count; rates without counts have no interval.
std::pair<double, double> bounds_of(const Reliability& reliability, const Cluster& cluster);

}  // namespace dse::prediction::runs
