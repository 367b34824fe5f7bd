// Colours ranks by trace and wires, refines by the colours of peers, and checks every communicator.
#include "simulation/simulators/symmetry.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "simulation/algorithms/algorithm.hpp"

namespace dse::simulator {

namespace {

using network::Wire;
using workload::Communicator;
using workload::Node;
using workload::NodeKind;
using workload::Workload;

/// The groups and peers with which the nodes of a trace communicate.
struct TraceUse {
    std::set<std::uint32_t> slots;
    std::set<std::uint32_t> send_peers, receive_peers;  ///< before the lane is added
};

TraceUse use_of(const workload::Trace& trace, const Checkpoint& checkpoint) {
    TraceUse use;
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
        checkpoint.every(i);
        const Node& node = trace.nodes[i];
        if (node.kind == NodeKind::kCollective && node.collective != CollectiveType::kBroadcast) {
            use.slots.insert(node.slot);
        }
        if (node.kind == NodeKind::kSend) use.send_peers.insert(node.peer);
        if (node.kind == NodeKind::kReceive) use.receive_peers.insert(node.peer);
    }
    return use;
}

bool is_full(const Workload& workload, const Communicator& communicator) {
    return communicator.members.empty() || communicator.members.size() == workload.rank_count();
}

/// Members as first + i * stride: what a parallel axis gives.
struct Progression {
    std::uint32_t stride = 0;
    std::uint32_t count = 0;

    bool operator==(const Progression&) const = default;
};

Progression progression_of(const Communicator& communicator, const Checkpoint& checkpoint) {
    const std::vector<std::uint32_t>& members = communicator.members;
    const Progression result{members.size() > 1 ? members[1] - members[0] : 1,
                             static_cast<std::uint32_t>(members.size())};
    for (std::size_t i = 1; i < members.size(); ++i) {
        checkpoint();
        if (members[i] <= members[i - 1] || members[i] - members[i - 1] != result.stride) {
            throw NotSymmetric("group " + communicator.name + " is not an axis of the ranks");
        }
    }
    return result;
}

class Partitioner {
public:
    Partitioner(const Workload& workload, const SystemConfig& config,
                const network::CongestionUnaware& network, const Checkpoint& checkpoint)
        : workload_(workload), config_(config), network_(network), checkpoint_(checkpoint) {
        for (const workload::Trace& trace : *workload.traces) uses_.push_back(use_of(trace, checkpoint));
        slots_ = workload.rank_count() > 0 ? static_cast<std::uint32_t>(workload.slots_of(0).size()) : 0;
    }

    RankClasses find() {
        check_setting();
        check_axes();
        find_list_wires();
        color_by_wires();
        while (refine_by_peers()) {
        }
        check_communicators();
        return result();
    }

private:
    void check_setting() const {
        if (config_.queues_per_dimension != 1) throw NotSymmetric("several queues per dimension");
        if (config_.rendezvous) throw NotSymmetric("rendezvous protocol");
        if (!config_.custom.empty()) throw NotSymmetric("custom collectives");
        if (!config_.hardware_slots) throw NotSymmetric("ranks without hardware slots");
        if (config_.endpoint_delay_ns == 0) throw NotSymmetric("endpoint delay of 0");
        if (config_.remote_memory.kind == RemoteMemoryKind::kPool) throw NotSymmetric("shared remote memory");
        if (config_.congestion_aware) throw NotSymmetric("links couple ranks in a congestion-aware network");
        for (std::uint32_t d = 0; d < network_.address().dimensions(); ++d) {
            if (!network_.shape(d).is_uniform()) throw NotSymmetric("a network with unequal links");
        }
        if (workload_.traces->size() == workload_.rank_count())
            throw NotSymmetric("every rank has its own trace");
        for (std::uint32_t rank = 0; rank < workload_.rank_count(); ++rank) {
            checkpoint_();
            if (workload_.slots_of(rank).size() != slots_)
                throw NotSymmetric("ranks have different communicators");
        }
    }

    /// Groups of a slot are progressions with one stride and count, and those of different slots are nested:
    /// then two groups share at most one rank.
    void check_axes() const {
        std::map<std::uint32_t, Progression> axis_of_slot;
        std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
        bool any_full = false;
        for_each_use([&](std::uint32_t slot, std::uint32_t index) {
            if (!seen.insert({slot, index}).second) return;
            const Communicator& communicator = workload_.communicators[index];
            if (communicator.by_dimension) throw NotSymmetric("communicators by dimension");
            any_full = any_full || is_full(workload_, communicator);
            const Progression axis = communicator.members.empty() ? Progression{1, workload_.rank_count()}
                                                                  : progression_of(communicator, checkpoint_);
            const auto entry = axis_of_slot.emplace(slot, axis).first;
            if (entry->second != axis) throw NotSymmetric("groups of one axis differ in stride or size");
        });
        if (any_full && axis_of_slot.size() > 1) throw NotSymmetric("a group of all ranks besides others");
        std::vector<Progression> axes;
        for (const auto& [slot, axis] : axis_of_slot) axes.push_back(axis);
        std::sort(axes.begin(), axes.end(), [](auto a, auto b) { return a.stride < b.stride; });
        for (std::size_t i = 1; i < axes.size(); ++i) {
            if (axes[i].stride % (axes[i - 1].stride * axes[i - 1].count) != 0) {
                throw NotSymmetric("groups of different axes may share two ranks");
            }
        }
    }

    template <typename Visitor>
    void for_each_use(Visitor visit) const {
        for (std::uint32_t rank = 0; rank < workload_.rank_count(); ++rank) {
            checkpoint_();
            const auto slots = workload_.slots_of(rank);
            for (const std::uint32_t slot : uses_[workload_.trace_of_rank[rank]].slots) {
                checkpoint_();
                if (slots[slot] == workload::kNoSlot) throw NotSymmetric("a rank without its group");
                visit(slot, slots[slot]);
            }
        }
    }

    /// The wires of each list, which must be the same for all members.
    void find_list_wires() {
        const bool rings = groups_run_rings();
        for (const Communicator& communicator : workload_.communicators) {
            checkpoint_();
            network::ListWires wires;
            const auto size = static_cast<std::uint32_t>(communicator.members.size());
            if (!is_full(workload_, communicator) && size > 1) {
                for (std::uint32_t ahead = 1; ahead < (rings ? 2 : size); ++ahead)
                    wires.push_back(wire_of_all(communicator, ahead));
            }
            const auto next = static_cast<std::uint32_t>(list_wires_.size());
            wires_of_communicator_.push_back(list_wires_.emplace(std::move(wires), next).first->second);
        }
    }

    /// Whether only neighbours in a group send to each other, whatever it runs.
    bool groups_run_rings() const {
        if (!config_.reference->groups_run_the_listed_algorithm) return true;
        const auto is_no_ring = [](const std::vector<collectives::Choice>& listed) {
            return listed.size() == 1 && listed.front().algorithm->name() != "ring";
        };
        return !is_no_ring(config_.all_reduce) && !is_no_ring(config_.all_gather) &&
               !is_no_ring(config_.reduce_scatter) && !is_no_ring(config_.all_to_all);
    }

    Wire wire_of_all(const Communicator& communicator, std::uint32_t ahead) const {
        const std::vector<std::uint32_t>& members = communicator.members;
        const Wire first = network_.wire(members[0], members[ahead]);
        for (std::size_t i = 1; i < members.size(); ++i) {
            checkpoint_();
            if (network_.wire(members[i], members[(i + ahead) % members.size()]) != first) {
                throw NotSymmetric("the ring of group " + communicator.name + " has unequal wires");
            }
        }
        return first;
    }

    void color_by_wires() {
        std::map<std::vector<std::uint32_t>, std::uint32_t> colors;
        std::vector<std::uint32_t> key;
        for (std::uint32_t rank = 0; rank < workload_.rank_count(); ++rank) {
            checkpoint_();
            const std::uint32_t trace = workload_.trace_of_rank[rank];
            key.assign({trace, speed_number(rank)});
            for (const std::uint32_t slot : uses_[trace].slots) add(key, workload_.slots_of(rank)[slot]);
            for (const std::uint32_t peer : uses_[trace].send_peers)
                add(key, network_.wire(rank, peer_of(rank, peer)));
            color_.push_back(colors.emplace(key, static_cast<std::uint32_t>(colors.size())).first->second);
        }
        color_count_ = colors.size();
    }

    /// NPUs of one number run compute nodes alike.
    std::uint32_t speed_number(std::uint32_t rank) {
        if (config_.has_equal_npus()) return 0;
        const auto number = static_cast<std::uint32_t>(speed_numbers_.size());
        return speed_numbers_.emplace(config_.speed_of(rank), number).first->second;
    }

    /// The wires of a group, and the schedules that it has instead.
    void add(std::vector<std::uint32_t>& key, std::uint32_t communicator) {
        using collectives::ScopeKind;
        key.push_back(wires_of_communicator_[communicator]);
        for (const auto type : {CollectiveType::kAllReduce, CollectiveType::kAllGather,
                                CollectiveType::kReduceScatter, CollectiveType::kAllToAll}) {
            const auto* const use = config_.synthesized_for({type, ScopeKind::kCommunicator, communicator});
            const void* const schedules = use == nullptr ? nullptr : use->schedules.get();
            key.push_back(
                schedule_numbers_.emplace(schedules, static_cast<std::uint32_t>(schedule_numbers_.size()))
                    .first->second);
        }
    }

    static void add(std::vector<std::uint32_t>& key, Wire wire) {
        key.push_back(wire.dimension);
        key.push_back(wire.hops);
    }

    std::uint32_t peer_of(std::uint32_t rank, std::uint32_t peer) const {
        return peer + workload_.lane_of_rank[rank];
    }

    /// Splits colours whose ranks have peers of different colours; false if none was split.
    bool refine_by_peers() {
        std::map<std::vector<std::uint32_t>, std::uint32_t> colors;
        std::vector<std::uint32_t> refined;
        std::vector<std::uint32_t> key;
        for (std::uint32_t rank = 0; rank < workload_.rank_count(); ++rank) {
            checkpoint_();
            const TraceUse& use = uses_[workload_.trace_of_rank[rank]];
            key.assign(1, color_[rank]);
            for (const auto* peers : {&use.send_peers, &use.receive_peers}) {
                for (const std::uint32_t peer : *peers) key.push_back(color_[peer_of(rank, peer)]);
            }
            refined.push_back(colors.emplace(key, static_cast<std::uint32_t>(colors.size())).first->second);
        }
        const bool split = colors.size() > color_count_;
        color_ = std::move(refined);
        color_count_ = colors.size();
        return split;
    }

    void check_communicators() const {
        for_each_use([&](std::uint32_t, std::uint32_t index) {
            const Communicator& communicator = workload_.communicators[index];
            if (is_full(workload_, communicator) && color_count_ > 1) {
                throw NotSymmetric("a group of all ranks has several classes");
            }
        });
        for (const Communicator& communicator : workload_.communicators) {
            for (const std::uint32_t member : communicator.members) {
                checkpoint_();
                if (color_[member] != color_[communicator.members.front()]) {
                    throw NotSymmetric("group " + communicator.name + " has ranks of several classes");
                }
            }
        }
    }

    RankClasses result() const {
        RankClasses classes;
        classes.slots = slots_;
        classes.class_of_rank = color_;  // colours are numbered by their lowest rank
        for (std::uint32_t rank = 0; rank < color_.size(); ++rank) {
            if (color_[rank] == classes.representative.size()) classes.representative.push_back(rank);
        }
        classes.list_wires.resize(list_wires_.size() + 1);  // the last one: of a slot that is not used
        for (const auto& [wires, index] : list_wires_) classes.list_wires[index] = wires;
        const auto none = static_cast<std::uint32_t>(list_wires_.size());
        for (const std::uint32_t rank : classes.representative) {
            for (const std::uint32_t index : workload_.slots_of(rank)) {
                classes.wires_of_slot.push_back(index == workload::kNoSlot ? none
                                                                           : wires_of_communicator_[index]);
            }
        }
        return classes;
    }

    const Workload& workload_;
    const SystemConfig& config_;
    const network::CongestionUnaware& network_;
    const Checkpoint& checkpoint_;
    std::uint32_t slots_ = 0;
    std::vector<TraceUse> uses_;
    std::map<network::ListWires, std::uint32_t> list_wires_;  ///< numbered
    std::vector<std::uint32_t> wires_of_communicator_;
    std::vector<std::uint32_t> color_;
    std::map<const void*, std::uint32_t> schedule_numbers_;
    std::map<NpuSpeed, std::uint32_t> speed_numbers_;
    std::size_t color_count_ = 0;
};

}  // namespace

RankClasses find_rank_classes(const Workload& workload, const SystemConfig& config,
                              const network::CongestionUnaware& network, const Checkpoint& checkpoint) {
    return Partitioner(workload, config, network, checkpoint).find();
}

RankClasses assume_rank_classes(const Workload& workload, const network::CongestionUnaware& network) {
    RankClasses classes;
    classes.slots = static_cast<std::uint32_t>(workload.slots_of(0).size());
    classes.class_of_rank = workload.trace_of_rank;
    for (std::uint32_t trace = 0; trace < workload.traces->size(); ++trace) {
        const auto first = std::find(workload.trace_of_rank.begin(), workload.trace_of_rank.end(), trace);
        const auto rank = static_cast<std::uint32_t>(first - workload.trace_of_rank.begin());
        classes.representative.push_back(rank);
        for (const std::uint32_t index : workload.slots_of(rank)) {
            const bool ring = index != workload::kNoSlot && workload.communicators[index].members.size() > 1;
            const auto& members = ring ? workload.communicators[index].members : std::vector<std::uint32_t>{};
            classes.wires_of_slot.push_back(static_cast<std::uint32_t>(classes.list_wires.size()));
            classes.list_wires.push_back({ring ? network.wire(members[0], members[1]) : Wire{}});
        }
    }
    return classes;
}

}  // namespace dse::simulator
