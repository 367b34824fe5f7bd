// Ready heaps per slot: a pass takes the smallest ready node whose slot is free, as a scan by id would.
#include "simulation/simulators/graph_executor.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace dse::simulator {

using workload::Node;
using workload::NodeKind;

namespace {

/// Of all simulated ranks together, some 20 bytes each: more would take the memory of the machine.
constexpr std::uint64_t kMostNodes = std::uint64_t{1} << 28;

/// Of the sum of durations on a rank, so that its difference to a time is a signed number.
constexpr Time kMostBusy = Time{1} << 62;

void require_few_nodes(const workload::Workload& workload) {
    std::uint64_t nodes = 0;
    for (std::uint32_t rank = 0; rank < workload.rank_count(); ++rank) {
        nodes += workload.trace(rank).nodes.size();
    }
    if (nodes <= kMostNodes) return;
    throw SimulationError("the " + std::to_string(workload.rank_count()) + " ranks to simulate have " +
                          std::to_string(nodes) + " nodes; at most " + std::to_string(kMostNodes) +
                          " can be simulated: use fewer NPUs, layers or micro-batches");
}

}  // namespace

GraphExecutor::GraphExecutor(const workload::Workload& workload, const SystemConfig& config,
                             EventQueue& queue, RankTimers& timers, MessageService& messages)
    : workload_(workload),
      config_(config),
      queue_(queue),
      timers_(timers),
      messages_(messages),
      ranks_(workload.rank_count()),
      results_(workload.rank_count()) {
    require_few_nodes(workload);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        queue.checkpoint()();
        const workload::Trace& trace = workload.trace(r);
        Rank& rank = ranks_[r];
        rank.starts.resize(trace.nodes.size());
        rank.passes.resize(trace.nodes.size());
        rank.states.resize(trace.nodes.size());
        rank.waits.reserve(trace.nodes.size());
        for (const Node& node : trace.nodes) rank.waits.push_back(node.wait_count);
        rank.peak_flops = config.flops_per_second();
        rank.memory_bytes_per_second = config.memory_bytes_per_second();
        if (config.track_memory)
            rank.memory = MemoryTracker(trace.tensor_count, config.reference->skips_tensors_without_bytes);
    }
}

void GraphExecutor::run_at(std::uint32_t r, NpuSpeed speed) {
    ranks_[r].peak_flops = speed.flops_per_second;
    ranks_[r].memory_bytes_per_second = speed.memory_bytes_per_second;
}

void GraphExecutor::follow(const IssuePlan& plan) {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        const std::uint32_t trace = workload_.trace_of_rank[r];
        if (plan.sequence[trace].empty()) continue;
        ranks_[r].sequence = &plan.sequence[trace];
        ranks_[r].turn = &plan.turn[trace];
    }
}

bool GraphExecutor::awaits_its_turn(std::uint32_t r, std::uint32_t n) const {
    const Rank& rank = ranks_[r];
    if (rank.turn == nullptr || rank.states[n] != NodeState::kReady || rank.busy[kCommSlot]) return false;
    return takes_comm_slot(workload_.trace(r).nodes[n]) && (*rank.turn)[n] != rank.next_turn;
}

void GraphExecutor::keep_ends() {
    for (Rank& rank : ranks_) rank.ends.assign(rank.starts.size(), kStillOpen);
}

void GraphExecutor::start() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        queue_.checkpoint()();
        Rank& rank = ranks_[r];
        for (std::uint32_t node = 0; node < rank.waits.size(); ++node) {
            queue_.checkpoint().every(node);
            if (rank.waits[node] != 0) continue;
            rank.states[node] = NodeState::kReady;
            push_ready(rank, node, slot_of(workload_.trace(r).nodes[node]));
        }
        issue_pass(r);
        test_end(r);
    }
}

GraphExecutor::Slot GraphExecutor::slot_of(const Node& node) {
    if (node.on_cpu) return kCpuSlot;
    if (node.kind == NodeKind::kCompute) return kComputeSlot;
    return node.kind == NodeKind::kReceive ? kNoLimit : kCommSlot;
}

ActivityClass GraphExecutor::class_of(const Node& node) const {
    switch (node.kind) {
        case NodeKind::kCompute:
            return node.on_cpu ? ActivityClass::kCpu : ActivityClass::kGpu;
        case NodeKind::kMemLoad:
        case NodeKind::kMemStore:
            return ActivityClass::kRemoteMemory;
        case NodeKind::kInvalid:
            return ActivityClass::kInvalid;
        default:
            return ActivityClass::kComm;
    }
}

void GraphExecutor::push_ready(Rank& rank, std::uint32_t node, Slot slot) {
    std::vector<std::uint32_t>& heap = rank.ready[slot];
    heap.push_back(slot == kCommSlot && rank.turn != nullptr ? (*rank.turn)[node] : node);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

/// The node of a turn of a planned rank, kNil before it is due.
std::uint32_t GraphExecutor::in_turn(const Rank& rank, std::uint32_t turn) {
    return turn == rank.next_turn ? (*rank.sequence)[turn] : kNil;
}

/// The reference looks at what a skipped node made ready only after the next completion, if there is one; in
/// the safe order nothing may depend on when that is.
void GraphExecutor::issue_pass(std::uint32_t r) {
    while (issue_ready(r) && config_.issue_order == IssueOrder::kSafe) {
    }
}

/// Returns whether nodes became ready meanwhile.
bool GraphExecutor::issue_ready(std::uint32_t r) {
    Rank& rank = ranks_[r];
    const std::vector<Node>& nodes = workload_.trace(r).nodes;
    ++pass_;
    while (true) {
        std::size_t best = kSlotCount;
        std::uint32_t node = kNil;
        for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
            if (rank.busy[slot] || rank.ready[slot].empty()) continue;
            std::uint32_t next = rank.ready[slot].front();
            if (slot == kCommSlot && rank.sequence != nullptr) next = in_turn(rank, next);
            if (next >= node) continue;
            best = slot;
            node = next;
        }
        if (best == kSlotCount) break;
        std::vector<std::uint32_t>& heap = rank.ready[best];
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        heap.pop_back();
        if (best == kCommSlot) ++rank.next_turn;
        rank.busy[best] = best != kNoLimit && config_.hardware_slots;
        issue(r, node);
    }
    // Nodes that became ready during the pass are looked at in the next one.
    const bool any = !rank.fresh.empty();
    for (const std::uint32_t node : rank.fresh) push_ready(rank, node, slot_of(nodes[node]));
    rank.fresh.clear();
    return any;
}

void GraphExecutor::issue(std::uint32_t r, std::uint32_t n) {
    Rank& rank = ranks_[r];
    const Node& node = workload_.trace(r).nodes[n];
    rank.starts[n] = queue_.now();
    rank.passes[n] = pass_;
    rank.states[n] = NodeState::kIssued;
    ++rank.in_flight;
    if (config_.replay_only) {
        replay(r, n);
        return;
    }
    switch (node.kind) {
        case NodeKind::kCompute:
            issue_compute(r, n);
            break;
        case NodeKind::kMemLoad:
        case NodeKind::kMemStore:
            issue_remote_memory(r, n);
            break;
        case NodeKind::kInvalid:
            skip(r, n);
            break;
        default:
            issue_communication(r, n);
    }
}

void GraphExecutor::issue_compute(std::uint32_t r, std::uint32_t n) {
    const Node& node = workload_.trace(r).nodes[n];
    if (!config_.roofline || node.on_cpu) {
        replay(r, n);
        return;
    }
    if (node.bytes == 0) {
        skip(r, n);
        return;
    }
    const Rank& rank = ranks_[r];
    const Roofline model = roofline(node.num_ops, static_cast<double>(node.bytes), rank.peak_flops,
                                    rank.memory_bytes_per_second);
    if (model.duration_ns >= kEndOfTime) return;  // never ends; the deadlock report names the cause
    add_busy(ranks_[r], model.duration_ns);
    run_for(r, n, model.duration_ns);
}

void GraphExecutor::issue_communication(std::uint32_t r, std::uint32_t n) {
    const Node& node = workload_.trace(r).nodes[n];
    const std::uint32_t lane = workload_.lane_of_rank[r];
    const Callback done{CallbackKind::kNodeDone, r, n};
    if (node.kind == NodeKind::kSend) {
        messages_.send({node.tag + lane, r, node.peer + lane, node.bytes}, done);
    } else if (node.kind == NodeKind::kReceive) {
        messages_.receive({node.tag + lane, node.peer + lane, r, node.bytes}, done);
    } else if (node.collective == CollectiveType::kBroadcast) {
        run_for(r, n, node.duration_ns);  // on no link and no processor
    } else {
        collectives_->start(r, n);
    }
}

void GraphExecutor::replay(std::uint32_t r, std::uint32_t n) {
    const Node& node = workload_.trace(r).nodes[n];
    if (!node.on_cpu) add_busy(ranks_[r], node.duration_ns);
    run_for(r, n, node.duration_ns);
}

/// Receives that are replayed overlap without a limit, so that their sum may pass the clock.
void GraphExecutor::add_busy(Rank& rank, Time duration) {
    if (duration > kEndOfTime || rank.statistics.gpu_busy_ns > kMostBusy - duration) {
        throw EndOfTimeError("the durations on a rank are longer in all than " + std::to_string(kMostBusy) +
                             " ns; recorded durations are too large");
    }
    rank.statistics.gpu_busy_ns += duration;
}

void GraphExecutor::run_for(std::uint32_t r, std::uint32_t n, Time duration) {
    timers_.after(r, duration, {TimerKind::kNodeDone, n});
}

/// The node ends in its own issue; nothing is counted, and its children wait for another completion.
void GraphExecutor::skip(std::uint32_t r, std::uint32_t n) {
    Rank& rank = ranks_[r];
    const workload::Trace& trace = workload_.trace(r);
    const Node& node = trace.nodes[n];
    queue_.checkpoint()();  // an issue pass of such nodes registers no timer
    rank.busy[slot_of(node)] = false;
    --rank.in_flight;
    rank.states[n] = NodeState::kDone;
    rank.statistics.add(class_of(node), queue_.now(), queue_.now());
    if (!rank.ends.empty()) rank.ends[n] = queue_.now();
    track_memory(r, n);
    for (const std::uint32_t child : trace.children_of(node)) {
        if (--rank.waits[child] != 0) continue;
        rank.states[child] = NodeState::kReady;
        rank.fresh.push_back(child);
    }
}

void GraphExecutor::issue_remote_memory(std::uint32_t r, std::uint32_t n) {
    if (config_.remote_memory.kind == RemoteMemoryKind::kNone) {
        throw SimulationError("rank " + std::to_string(r) + ", node " +
                              std::to_string(workload_.catalog->id(r, n)) +
                              ": a memory node needs remote memory, but memory-type is NO_MEMORY_EXPANSION");
    }
    if (config_.remote_memory.kind == RemoteMemoryKind::kPerNpu) {
        start_access(r, n);
        return;
    }
    pool_accesses_.emplace_back(r, n);
    if (pool_accesses_.size() == 1) start_access(r, n);
}

void GraphExecutor::start_access(std::uint32_t r, std::uint32_t n) {
    const std::uint64_t bytes = workload_.trace(r).nodes[n].bytes;
    run_for(r, n, config_.remote_memory.latency_ns + bytes / config_.remote_memory.bytes_per_ns);
}

void GraphExecutor::duration_over(std::uint32_t r, std::uint32_t n) {
    const NodeKind kind = workload_.trace(r).nodes[n].kind;
    const bool memory = kind == NodeKind::kMemLoad || kind == NodeKind::kMemStore;
    complete(r, n);
    if (!memory || config_.replay_only || config_.remote_memory.kind != RemoteMemoryKind::kPool) return;
    pool_accesses_.pop_front();
    if (!pool_accesses_.empty()) start_access(pool_accesses_.front().first, pool_accesses_.front().second);
}

void GraphExecutor::complete(std::uint32_t r, std::uint32_t n) {
    Rank& rank = ranks_[r];
    const workload::Trace& trace = workload_.trace(r);
    const Node& node = trace.nodes[n];
    rank.busy[slot_of(node)] = false;
    --rank.in_flight;
    rank.states[n] = NodeState::kDone;
    account(r, n);
    track_memory(r, n);
    for (const std::uint32_t child : trace.children_of(node)) {
        if (--rank.waits[child] != 0) continue;
        rank.states[child] = NodeState::kReady;
        push_ready(rank, child, slot_of(trace.nodes[child]));
    }
    issue_pass(r);
    test_end(r);
}

void GraphExecutor::account(std::uint32_t r, std::uint32_t n) {
    Rank& rank = ranks_[r];
    const Node& node = workload_.trace(r).nodes[n];
    const Time duration = queue_.now() - rank.starts[n];
    rank.statistics.add(class_of(node), rank.starts[n], queue_.now());
    if (!rank.ends.empty()) rank.ends[n] = queue_.now();
    if (node.kind != NodeKind::kCompute) return;
    rank.statistics.compute_ns += duration;
    if (!config_.roofline || config_.replay_only || node.on_cpu) return;
    const double peak = rank.peak_flops;
    const double bandwidth = rank.memory_bytes_per_second;
    const Roofline model = roofline(node.num_ops, static_cast<double>(node.bytes), peak, bandwidth);
    rank.statistics.add_roofline(model, duration, peak, bandwidth);
}

Bound GraphExecutor::bound_of(std::uint32_t r, std::uint32_t n) const {
    const Node& node = workload_.trace(r).nodes[n];
    const bool timed = config_.roofline && !config_.replay_only && !node.on_cpu && node.bytes != 0;
    if (node.kind != NodeKind::kCompute || !timed) return Bound::kNone;
    const double peak = ranks_[r].peak_flops;
    const Roofline model =
        roofline(node.num_ops, static_cast<double>(node.bytes), peak, ranks_[r].memory_bytes_per_second);
    return model.flops_per_second >= peak ? Bound::kCompute : Bound::kMemory;
}

void GraphExecutor::track_memory(std::uint32_t r, std::uint32_t n) {
    if (!config_.track_memory) return;
    Rank& rank = ranks_[r];
    const workload::Trace& trace = workload_.trace(r);
    const Node& node = trace.nodes[n];
    const std::span<const workload::TensorMention> mentions(trace.mentions);
    rank.memory.read(mentions.subspan(node.read_begin, node.write_begin - node.read_begin), queue_.now());
    const auto writes = mentions.subspan(node.write_begin, node.write_end - node.write_begin);
    const std::uint32_t known = rank.memory.write(writes, rank.starts[n]);
    if (known == kNil) return;
    throw SimulationError(
        "rank " + std::to_string(r) + ", node " + std::to_string(workload_.catalog->id(r, n)) + " (" +
        workload_.catalog->name(r, n) + "): tensor '" + workload_.catalog->tensor_name(r, known) +
        "' was written or read before; the memory tracker needs a tensor to be written once, first");
}

void GraphExecutor::test_end(std::uint32_t r) {
    const Rank& rank = ranks_[r];
    if (results_[r].finished || rank.in_flight > 0) return;
    for (const std::vector<std::uint32_t>& heap : rank.ready) {
        if (!heap.empty()) return;
    }
    results_[r] = make_result(r);
}

RankResult GraphExecutor::make_result(std::uint32_t r) const {
    const Rank& rank = ranks_[r];
    const RankStatistics& statistics = rank.statistics;
    const auto time_of = [&](ActivityClass activity) {
        return statistics.activity[static_cast<std::size_t>(activity)].length();
    };
    RankResult result;
    result.finished = true;
    result.finish_ns = queue_.now();
    result.wall_time_ns = statistics.last_end;
    result.exposed_comm_ns = static_cast<std::int64_t>(queue_.now() - statistics.gpu_busy_ns);
    result.gpu_time_ns = time_of(ActivityClass::kGpu);
    result.cpu_time_ns = time_of(ActivityClass::kCpu);
    result.comm_time_ns = time_of(ActivityClass::kComm);
    result.remote_memory_time_ns = time_of(ActivityClass::kRemoteMemory);
    result.invalid_time_ns = time_of(ActivityClass::kInvalid);
    const auto compute = static_cast<double>(statistics.compute_ns);
    result.compute_bound_pct = 100.0 * static_cast<double>(statistics.compute_bound_ns) / compute;
    result.compute_utilization_pct = 100.0 * statistics.compute_utilization / compute;
    result.memory_utilization_pct = 100.0 * statistics.memory_utilization / compute;
    result.operation_intensity = statistics.operation_intensity / compute;
    if (config_.track_memory) result.peak_memory_bytes = rank.memory.peak_bytes(queue_.checkpoint());
    result.unrun_nodes = static_cast<std::uint32_t>(std::count_if(
        rank.states.begin(), rank.states.end(), [](NodeState s) { return s != NodeState::kDone; }));
    return result;
}

}  // namespace dse::simulator
