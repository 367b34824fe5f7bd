// Issues the nodes of every rank as dependencies and hardware slots allow.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "simulation/simulators/collective_engine.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/simulators/memory_tracker.hpp"
#include "simulation/simulators/rank_timers.hpp"
#include "simulation/simulators/result.hpp"
#include "simulation/simulators/statistics.hpp"
#include "simulation/simulators/transport.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// How far a node has come on a rank.
enum class NodeState : std::uint8_t { kWaiting, kReady, kIssued, kDone };

/// The limit of a compute node on the roofline; none where its duration does not come from the roofline.
enum class Bound : std::uint8_t { kNone, kCompute, kMemory };

/// The end of a node that has not ended.
inline constexpr Time kStillOpen = UINT64_MAX;

/// Per trace, the order of the nodes that take the communication slot; empty for traces that need none.
struct IssuePlan {
    std::vector<std::vector<std::uint32_t>> sequence;  ///< nodes in their order
    std::vector<std::vector<std::uint32_t>> turn;      ///< per node: its place in the sequence
};

class GraphExecutor {
public:
    GraphExecutor(const workload::Workload& workload, const SystemConfig& config, EventQueue& queue,
                  RankTimers& timers, MessageService& messages);

    /// The engine that runs collectives; set once, before `start`.
    void use(CollectiveService& collectives) { collectives_ = &collectives; }

    /// Sets what compute nodes of one rank run at; before `start`.
    void run_at(std::uint32_t rank, NpuSpeed speed);

    /// Makes ranks issue communication in the order of a plan, which must outlive this; before `start`.
    void follow(const IssuePlan& plan);

    static bool takes_comm_slot(const workload::Node& node) { return slot_of(node) == kCommSlot; }

    /// Whether a ready node is kept back by the plan alone.
    bool awaits_its_turn(std::uint32_t rank, std::uint32_t node) const;

    /// Keeps the ends of nodes; before `start`.
    void keep_ends();

    /// The first issue pass of every rank, at time 0.
    void start();

    /// A node has ended now: release, record, wake children, issue, test for the end of the rank.
    void complete(std::uint32_t rank, std::uint32_t node);

    /// A duration is over; a remote-memory access also lets the next one start.
    void duration_over(std::uint32_t rank, std::uint32_t node);

    const std::vector<RankResult>& results() const { return results_; }
    NodeState state(std::uint32_t rank, std::uint32_t node) const { return ranks_[rank].states[node]; }

    /// Tick at which a node was issued, and the issue pass that did it; passes count from 1 over all ranks.
    Time issued_at(std::uint32_t rank, std::uint32_t node) const { return ranks_[rank].starts[node]; }
    std::uint32_t issued_in(std::uint32_t rank, std::uint32_t node) const {
        return ranks_[rank].passes[node];
    }
    /// Tick at which a node ended, if ends are kept.
    Time ended_at(std::uint32_t rank, std::uint32_t node) const { return ranks_[rank].ends[node]; }
    Bound bound_of(std::uint32_t rank, std::uint32_t node) const;
    const MemoryTracker& memory(std::uint32_t rank) const { return ranks_[rank].memory; }
    std::uint32_t current_pass() const { return pass_; }

private:
    enum Slot : std::uint8_t { kCpuSlot, kComputeSlot, kCommSlot, kNoLimit, kSlotCount };

    struct Rank {
        /// Heaps, smallest node first; of planned ranks the heap of communication holds turns.
        std::array<std::vector<std::uint32_t>, kSlotCount> ready;
        std::array<bool, kSlotCount> busy{};
        std::vector<std::uint32_t> fresh;  ///< became ready during the issue pass
        std::vector<std::uint32_t> waits;  ///< nodes still waited for, per node
        std::vector<Time> starts;
        std::vector<Time> ends;             ///< empty unless kept
        std::vector<std::uint32_t> passes;  ///< in which a node was issued
        std::vector<NodeState> states;
        std::uint32_t in_flight = 0;
        const std::vector<std::uint32_t>* sequence = nullptr;  ///< of a plan, if the rank follows one
        const std::vector<std::uint32_t>* turn = nullptr;
        std::uint32_t next_turn = 0;
        double peak_flops = 0.0;
        double memory_bytes_per_second = 0.0;
        RankStatistics statistics;
        MemoryTracker memory{0, false};
    };

    static Slot slot_of(const workload::Node& node);
    ActivityClass class_of(const workload::Node& node) const;
    static void push_ready(Rank& rank, std::uint32_t node, Slot slot);
    static std::uint32_t in_turn(const Rank& rank, std::uint32_t turn);
    void issue_pass(std::uint32_t rank);
    bool issue_ready(std::uint32_t rank);
    void issue(std::uint32_t rank, std::uint32_t node);
    void issue_compute(std::uint32_t rank, std::uint32_t node);
    void issue_communication(std::uint32_t rank, std::uint32_t node);
    void issue_remote_memory(std::uint32_t rank, std::uint32_t node);
    void replay(std::uint32_t rank, std::uint32_t node);
    void skip(std::uint32_t rank, std::uint32_t node);
    static void add_busy(Rank& rank, Time duration);
    void run_for(std::uint32_t rank, std::uint32_t node, Time duration);
    void start_access(std::uint32_t rank, std::uint32_t node);
    void account(std::uint32_t rank, std::uint32_t node);
    void track_memory(std::uint32_t rank, std::uint32_t node);
    void test_end(std::uint32_t rank);
    RankResult make_result(std::uint32_t rank) const;

    const workload::Workload& workload_;
    const SystemConfig& config_;
    EventQueue& queue_;
    RankTimers& timers_;
    MessageService& messages_;
    CollectiveService* collectives_ = nullptr;
    std::vector<Rank> ranks_;
    std::vector<RankResult> results_;
    std::uint32_t pass_ = 0;
    std::deque<std::pair<std::uint32_t, std::uint32_t>> pool_accesses_;  ///< front: the one in service
};

}  // namespace dse::simulator
