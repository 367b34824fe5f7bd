// Names of the kinds of nodes, for people.
#pragma once

#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

inline const char* name_of_kind(const workload::Node& node) {
    using workload::CollectiveType;
    using workload::NodeKind;
    switch (node.kind) {
        case NodeKind::kInvalid:
            return "invalid";
        case NodeKind::kMemLoad:
            return "memory load";
        case NodeKind::kMemStore:
            return "memory store";
        case NodeKind::kCompute:
            return "compute";
        case NodeKind::kSend:
            return "send";
        case NodeKind::kReceive:
            return "receive";
        case NodeKind::kCollective:
            break;
    }
    switch (node.collective) {
        case CollectiveType::kAllGather:
            return "all-gather";
        case CollectiveType::kReduceScatter:
            return "reduce-scatter";
        case CollectiveType::kAllToAll:
            return "all-to-all";
        case CollectiveType::kBroadcast:
            return "broadcast";
        default:
            return "all-reduce";
    }
}

}  // namespace dse::simulator
