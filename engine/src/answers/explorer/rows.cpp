// One strategy after the other: feasible or not, its workload, its simulation, its figures.
#include "answers/explorer/rows.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "answers/explorer/throughput.hpp"
#include "base/error.hpp"
#include "simulation/simulators/understated.hpp"
#include "simulation/workloads/transformer.hpp"

namespace dse::explorer {

namespace {

using simulator::BlockedNode;
using simulator::RankResult;
using simulator::SimulationResult;
using workload::StrategySpec;
using workload::Workload;

/// The generator says that there is no workload.
class Infeasible : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

Row row_of(Status status, std::string reason) {
    Row row{{}, std::move(reason)};
    row.figures.fill(std::numeric_limits<double>::quiet_NaN());
    row.figures[kStatus] = static_cast<double>(status);
    row.figures[kFractional] = 0.0;
    return row;
}

std::string described(const BlockedNode& node) {
    std::string text = "rank " + std::to_string(node.rank) + ": " + node.kind + " node " +
                       std::to_string(node.node_id) + " " + node.name;
    if (!node.communicator.empty()) text += " on group " + node.communicator;
    for (std::size_t i = 0; i < node.peers.size(); ++i) {
        text += i == 0 ? " (waits for rank " : ", ";
        text += std::to_string(node.peers[i]);
    }
    return text + (node.peers.empty() ? ": " : "): ") + node.cause;
}

Row deadlock(const SimulationResult& result) {
    std::size_t unfinished = 0;
    for (const std::uint32_t rank_class : result.class_of_rank)
        unfinished += result.classes[rank_class].finished ? 0 : 1;
    std::string reason = std::to_string(unfinished) + " of " + std::to_string(result.class_of_rank.size()) +
                         " ranks never finish";
    if (!result.blocked.empty()) reason += "; " + described(result.blocked.front());
    return row_of(Status::kDeadlock, std::move(reason));
}

/// Wall time and peak memory are maxima; the rest is the last rank's, the lowest id on ties.
Row finished(const SimulationResult& result, bool has_memory) {
    const std::vector<RankResult>& classes = result.classes;
    const auto last =
        std::max_element(classes.begin(), classes.end(),
                         [](const RankResult& a, const RankResult& b) { return a.finish_ns < b.finish_ns; });
    const auto last_class = static_cast<std::uint32_t>(last - classes.begin());
    const RankResult& rank0 = classes[result.class_of_rank.front()];
    std::uint64_t wall_time_ns = 0, peak_bytes = 0;
    for (const RankResult& each : classes) {
        wall_time_ns = std::max(wall_time_ns, each.wall_time_ns);
        peak_bytes = std::max(peak_bytes, each.peak_memory_bytes);
    }
    Row row = row_of(Status::kOk, "");
    const auto set = [&](Figure figure, auto value) { row.figures[figure] = static_cast<double>(value); };
    set(kWallTime, wall_time_ns);
    set(kGpuTime, last->gpu_time_ns);
    set(kCommTime, last->comm_time_ns);
    set(kExposedComm, last->exposed_comm_ns);
    set(kComputeBound, last->compute_bound_pct);
    set(kComputeUtilization, last->compute_utilization_pct);
    set(kMemoryUtilization, last->memory_utilization_pct);
    set(kOperationIntensity, last->operation_intensity);
    if (has_memory) {
        set(kPeakMemory, peak_bytes);
        set(kRank0PeakMemory, rank0.peak_memory_bytes);
    }
    set(kRank0WallTime, rank0.wall_time_ns);
    set(kLastRank, std::find(result.class_of_rank.begin(), result.class_of_rank.end(), last_class) -
                       result.class_of_rank.begin());
    set(kRankClasses, classes.size());
    return row;
}

/// Empty if no link is slower than the one that is charged.
std::string understated(const Request& request, const StrategySpec& strategy) {
    const simulator::SystemConfig& config = request.system.config;
    if (config.congestion_aware || config.replay_only || config.network.size() == 1) return "";
    std::vector<simulator::SlowestLinks> links;
    for (const network::Dimension& each : config.network)
        links.push_back({each.npus(), each.bytes_per_ns(), each.latency_ns});
    simulator::Senders senders;
    std::uint64_t stride = 1;
    for (const auto& [name, member] : StrategySpec::kDegrees) {
        const auto degree = static_cast<std::uint64_t>(strategy.*member);
        if (member == &StrategySpec::pp) continue;
        senders.axes.push_back({name, degree, stride, true});
        stride *= degree;
    }
    const workload::ModelSpec& model = request.model.spec;
    senders.pp = static_cast<std::uint64_t>(strategy.pp);
    senders.stages_go_round = !model.fidelity.contiguous_stages && model.num_layers + 2 > strategy.pp;
    for (const auto* const choices :
         {&config.all_reduce, &config.all_gather, &config.reduce_scatter, &config.all_to_all}) {
        for (const collectives::Choice& choice : *choices)
            senders.has_logical_ring = senders.has_logical_ring || choice.over_all_ranks;
    }
    return simulator::understated_communication(links, senders);
}

}  // namespace

void WorkloadCache::keep_only(const std::string& model_text) {
    if (model_text == model_text_) return;
    entries_.clear();
    bytes_ = 0;
    model_text_ = model_text;
}

std::shared_ptr<const Workload> WorkloadCache::find(const std::string& key) const {
    for (const Entry& entry : entries_) {
        if (entry.key == key) return entry.workload;
    }
    return nullptr;
}

void WorkloadCache::add(std::string key, std::shared_ptr<const Workload> workload) {
    const std::size_t bytes = workload->memory_bytes();
    if (bytes > most_bytes_) return;
    while (bytes_ + bytes > most_bytes_) {
        bytes_ -= entries_.front().bytes;
        entries_.pop_front();
    }
    bytes_ += bytes;
    entries_.push_back({std::move(key), std::move(workload), bytes});
}

Explorer::Explorer(std::string_view request, WorkloadCache* cache)
    : request_(request_of_json(request)), cache_(cache) {
    if (cache_ != nullptr) cache_->keep_only(request_.model_text);
}

std::shared_ptr<const Workload> Explorer::workload_of(const StrategySpec& strategy,
                                                      const Checkpoint& checkpoint) const {
    const std::string key = label_of(strategy);
    if (cache_ != nullptr) {
        if (std::shared_ptr<const Workload> kept = cache_->find(key)) return kept;
    }
    std::shared_ptr<const workload::Transformer> transformer;
    try {
        transformer = std::make_shared<const workload::Transformer>(request_.model.under(strategy), strategy,
                                                                    checkpoint);
    } catch (const InputError& error) {
        throw Infeasible(error.what());
    }
    auto made = std::make_shared<const Workload>(workload::generate(std::move(transformer), checkpoint));
    if (cache_ != nullptr) cache_->add(key, made);
    return made;
}

template <typename Simulate>
Row Explorer::evaluated(std::size_t index, const Checkpoint& checkpoint, Simulate simulate) const {
    const StrategySpec& strategy = request_.strategies.at(index);
    std::string reason = infeasible_reason(request_.model, request_.system, strategy, request_.divisibility);
    if (!reason.empty()) return row_of(Status::kInfeasible, std::move(reason));
    try {
        const std::shared_ptr<const Workload> workload = workload_of(strategy, checkpoint);
        const SimulationResult result = simulate(*workload);
        Row row = result.deadlock ? deadlock(result) : finished(result, request_.system.config.track_memory);
        row.figures[kFractional] = is_fractional(request_.model, strategy) ? 1.0 : 0.0;
        row.understated_comm = understated(request_, strategy);
        row.impossible_split = impossible_split(request_.model, strategy);
        if (!result.deadlock) set_throughput(row);
        return row;
    } catch (const Infeasible& error) {
        return row_of(Status::kInfeasible, error.what());
    } catch (const SimulationError& error) {
        return row_of(Status::kFailed, error.what());
    } catch (const std::bad_alloc&) {
        return row_of(Status::kFailed, kNoMemory);
    } catch (const std::length_error&) {
        return row_of(Status::kFailed, kNoMemory);
    }
}

void Explorer::set_throughput(Row& row) const {
    if (!hundred_operations_) hundred_operations_ = hundred_model_operations(request_.model);
    const Throughput worth =
        throughput(request_.model, *hundred_operations_, request_.system,
                   static_cast<std::uint64_t>(row.figures[kWallTime]), row.figures[kFractional] != 0.0);
    row.figures[kMfu] = worth.mfu_pct;
    row.figures[kTokens] = worth.tokens_per_s;
}

Row Explorer::row(std::size_t index, const Checkpoint& checkpoint) const {
    return evaluated(index, checkpoint, [&](const Workload& workload) {
        return simulator::simulate(workload, request_.system.config, request_.method, checkpoint);
    });
}

Row Explorer::record(std::size_t index, std::string& json, const Checkpoint& checkpoint) const {
    json = R"({"ranks":[],"groups":[]})";
    return evaluated(index, checkpoint, [&](const Workload& workload) {
        simulator::Recording recording =
            simulator::record(workload, request_.system.config, request_.method, {{}, true}, checkpoint);
        json = recording_json(recording, request_.strategies[index]);
        return std::move(recording.result);
    });
}

}  // namespace dse::explorer
