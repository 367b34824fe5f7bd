// The question of a training run, but for its model, its plan and its machine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dse::prediction::runs {

/// Parts that fail as one; from kNvlinkDomain on, several NPUs, whose number is one of
/// `Reliability::domains`.
enum class Unit : std::uint8_t { kNpu, kNode, kNic, kJob, kNvlinkDomain, kRack, kRail };

/// One kind of failure: its rate of a unit, the seconds from it until processes compute again but for reading
/// the checkpoint, and whether it takes the nodes of its unit. Rates of counted events have an interval.
struct Component {
    std::string name, unit_name;
    Unit unit = Unit::kJob;
    double per_second = 0.0, recovery_s = 0.0;
    bool takes_node = false, is_counted = false;
};

/// `low` and `high` are the ends of the sum of counted rates over that sum.
struct Reliability {
    std::vector<Component> components;
    std::array<std::optional<std::int64_t>, 3> domains;
    double restart_s = 0.0, repair_s = 0.0, low = 1.0, high = 1.0;
};

enum class Place : std::uint8_t { kStorage, kPeer, kLocal };

/// Where checkpoints go, in 10^9 bytes per second; see dse/prediction/runs/checkpoints.py.
struct Store {
    double total_gbps = 0.0, node_gbps = 0.0;
    bool is_sync = false;
    Place place = Place::kStorage;
    std::optional<double> near_gbps;
    std::int64_t every = 1;
};

enum class Elastic : std::uint8_t { kWait, kShrink, kBest };

/// `host_w` is the power of a host for each of its NPUs; with `at_limit` boards take their limit all the
/// time.
struct Facility {
    double host_w = 0.0, pue = 1.0;
    bool at_limit = false;
};

/// Without `spares` a failed node is replaced at once; `spares_share` of the nodes stand by besides. Planned
/// stops take `stop_share` of the running time. Without `interval_s` it is the best.
struct Asked {
    Reliability reliability;
    Store store;
    std::optional<double> interval_s, reconfigure_s;
    std::optional<std::int64_t> spares;
    double spares_share = 0.0, stop_share = 0.0;
    Elastic elastic = Elastic::kWait;
    Facility facility;
};

/// Reads the record that dse/prediction/runs/native.py writes.
Asked asked_of_json(std::string_view text);

}  // namespace dse::prediction::runs
