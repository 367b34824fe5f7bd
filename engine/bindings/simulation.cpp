// System configuration, simulation and its results in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"
#include "bindings/columns.hpp"
#include "simulation/algorithms/registry.hpp"
#include "simulation/simulators/simulator.hpp"
#include "simulation/simulators/steps.hpp"
#include "simulation/systems/custom_files.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse;
using simulator::BlockedNode;
using simulator::Method;
using simulator::RankRecording;
using simulator::RankResult;
using simulator::RecordedGroup;
using simulator::RecordedNode;
using simulator::RecordedTensor;
using simulator::Recording;
using simulator::SimulationResult;
using simulator::SystemConfig;

namespace {

std::vector<collectives::Choice> algorithms(const std::vector<std::string>& names) {
    std::vector<collectives::Choice> result;
    for (const std::string& name : names) result.push_back(collectives::algorithm_named(name));
    return result;
}

void set_algorithms(SystemConfig& config, const std::vector<std::string>& all_reduce,
                    const std::vector<std::string>& all_gather,
                    const std::vector<std::string>& reduce_scatter,
                    const std::vector<std::string>& all_to_all) {
    config.all_reduce = algorithms(all_reduce);
    config.all_gather = algorithms(all_gather);
    config.reduce_scatter = algorithms(reduce_scatter);
    config.all_to_all = algorithms(all_to_all);
}

void add_dimension(SystemConfig& config, const std::string& topology, std::uint32_t npus,
                   double bandwidth_gbps, double latency_ns, const std::vector<std::uint32_t>& sizes,
                   const std::string& routing) {
    const network::ShapeSpec spec{topology, npus, sizes, routing, {}, 0, {}};
    config.network.push_back({network::make_shape(spec), bandwidth_gbps, latency_ns});
}

/// An edge is source, destination, latency in ns, bandwidth in bytes per ns.
/// A route is source, destination, and the devices after the source.
using PythonRoute = std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint32_t>>;

using PythonEdge = std::tuple<std::uint32_t, std::uint32_t, double, double>;

void add_graph(SystemConfig& config, std::uint32_t npus, std::uint32_t devices,
               const std::vector<PythonEdge>& edges, const std::vector<PythonRoute>& routes,
               const Cancellation* cancellation) {
    network::ShapeSpec spec{"Graph", npus, {}, "", {}, devices, {}};
    for (const auto& [from, to, latency, bandwidth] : edges)
        spec.graph.push_back({from, to, latency, bandwidth});
    for (const auto& [from, to, via] : routes) spec.routes.push_back({from, to, via});
    const Checkpoint checkpoint = checkpoint_of(cancellation);
    const nb::gil_scoped_release release;
    config.network.push_back({network::make_shape(spec, checkpoint), 1.0, 0.0});
}

void add_fault(SystemConfig& config, std::uint32_t source, std::uint32_t destination, bool removed,
               double bandwidth_factor, double latency_factor, std::uint64_t at_ns) {
    config.faults.push_back({source, destination, removed, bandwidth_factor, latency_factor, at_ns});
}

constexpr std::pair<std::string_view, workload::CollectiveType> kSynthesized[] = {
    {"all_reduce", workload::CollectiveType::kAllReduce},
    {"all_gather", workload::CollectiveType::kAllGather},
    {"reduce_scatter", workload::CollectiveType::kReduceScatter},
    {"all_to_all", workload::CollectiveType::kAllToAll}};

/// Ends of links by number, chunks a member, lines of its cost: base in ps, ps per byte of a chunk.
using PythonSchedule =
    std::tuple<std::shared_ptr<synthesis::Replay>, std::vector<std::uint32_t>, std::vector<std::uint32_t>,
               std::uint32_t, std::vector<std::pair<double, double>>>;

std::shared_ptr<collectives::Synthesized> synthesized_of(std::uint32_t members,
                                                         const std::vector<PythonSchedule>& schedules) {
    auto result = std::make_shared<collectives::Synthesized>();
    for (const auto& [replay, from, to, chunks, lines] : schedules) {
        std::vector<collectives::CostLine> cost;
        for (const auto& [base, slope] : lines) cost.push_back({base, slope});
        result->schedules.emplace_back(replay, from, to, members, chunks, std::move(cost));
    }
    return result;
}

/// `scope` is dimension, all_ranks or communicator.
void add_synthesized(SystemConfig& config, const std::string& collective, const std::string& scope,
                     std::uint32_t index, const std::shared_ptr<collectives::Synthesized>& schedules,
                     const std::vector<std::uint32_t>& devices) {
    using collectives::ScopeKind;
    const ScopeKind kind = scope == "dimension"   ? ScopeKind::kDimension
                           : scope == "all_ranks" ? ScopeKind::kAllRanks
                                                  : ScopeKind::kCommunicator;
    for (const auto& [name, type] : kSynthesized) {
        if (collective == name) config.synthesized[{type, kind, index}] = {schedules, devices};
    }
}

/// Collectives of a workload: name and communicator, each once.
std::vector<std::pair<std::string, std::uint32_t>> collectives_of(const workload::Workload& workload) {
    std::set<std::tuple<std::uint32_t, workload::CollectiveType, std::uint32_t>> used;  // trace, type, slot
    for (std::uint32_t trace = 0; trace < workload.traces->size(); ++trace) {
        for (const workload::Node& node : (*workload.traces)[trace].nodes) {
            if (node.kind == workload::NodeKind::kCollective)
                used.insert({trace, node.collective, node.slot});
        }
    }
    std::set<std::pair<std::string, std::uint32_t>> found;
    for (std::uint32_t rank = 0; rank < workload.rank_count(); ++rank) {
        const std::uint32_t trace = workload.trace_of_rank[rank];
        for (auto at = used.lower_bound({trace, workload::CollectiveType::kAllReduce, 0});
             at != used.end() && std::get<0>(*at) == trace; ++at) {
            for (const auto& [name, type] : kSynthesized) {
                if (std::get<1>(*at) == type)
                    found.emplace(std::string(name), workload.slots_of(rank)[std::get<2>(*at)]);
            }
        }
    }
    return {found.begin(), found.end()};
}

/// `prefixes` by the names of collectives; `of_nodes` is the path of a YAML file, or empty.
void read_custom(SystemConfig& config, const workload::Workload& workload,
                 const std::map<std::string, std::string>& prefixes, const std::string& of_nodes,
                 const std::string& folder, const Cancellation* cancellation) {
    const Checkpoint checkpoint = checkpoint_of(cancellation);
    const nb::gil_scoped_release release;
    config::CustomFiles files;
    files.of_nodes = of_nodes;
    for (const auto& [name, type] : kSynthesized) {
        if (const auto found = prefixes.find(std::string(name)); found != prefixes.end())
            files.of_type[type] = found->second;
    }
    config.custom = config::read_custom(files, folder, *config.reference, workload, checkpoint);
}

std::vector<std::string> reference_names() {
    std::vector<std::string> names;
    for (const workload::Reference* const each : workload::references()) names.emplace_back(each->name);
    return names;
}

void set_optimization(SystemConfig& config, const std::string& name) {
    using collectives::Optimization;
    if (name == "baseline") {
        config.optimization = Optimization::kBaseline;
    } else if (name == "localBWAware") {
        config.optimization = Optimization::kLocalBandwidthAware;
    } else {
        throw InputError("collective_optimization is '" + name + "'; allowed are baseline, localBWAware");
    }
}

void set_issue_order(SystemConfig& config, const std::string& name) {
    using simulator::IssueOrder;
    if (name != "reference" && name != "safe") {
        throw InputError("issue_order is '" + name + "'; allowed are reference, safe");
    }
    config.issue_order = name == "safe" ? IssueOrder::kSafe : IssueOrder::kReference;
}

void set_remote_memory(SystemConfig& config, const std::string& type, std::uint64_t latency_ns,
                       std::uint64_t bytes_per_ns) {
    using simulator::RemoteMemoryKind;
    config.remote_memory = {RemoteMemoryKind::kNone, latency_ns, bytes_per_ns};
    if (type == "PER_NPU_MEMORY_EXPANSION") {
        config.remote_memory.kind = RemoteMemoryKind::kPerNpu;
    } else if (type == "MEMORY_POOL") {
        config.remote_memory.kind = RemoteMemoryKind::kPool;
    } else if (type != "NO_MEMORY_EXPANSION") {
        throw InputError("remote memory type is '" + type +
                         "'; allowed are NO_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION, MEMORY_POOL");
    }
}

using StepColumns = nb::typed<nb::dict, nb::str, nb::any>;

/// Whether each step ended, and its columns by name; rows are those of the first workloads.
std::tuple<nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>, StepColumns> simulate_steps(
    const std::vector<const workload::Workload*>& workloads, const SystemConfig& config, Method method,
    double most_s, const Cancellation* cancellation) {
    const Checkpoint checkpoint = checkpoint_of(cancellation);
    simulator::Steps steps =
        without_gil([&] { return simulator::simulate_steps(workloads, config, method, most_s, checkpoint); });
    StepColumns columns;
    columns["wall_time_ns"] = to_numpy(std::move(steps.wall_time_ns));
    columns["gpu_time_ns"] = to_numpy(std::move(steps.gpu_time_ns));
    columns["comm_time_ns"] = to_numpy(std::move(steps.comm_time_ns));
    columns["exposed_comm_ns"] = to_numpy(std::move(steps.exposed_comm_ns));
    columns["compute_bound_pct"] = to_numpy(std::move(steps.compute_bound_pct));
    columns["compute_utilization_pct"] = to_numpy(std::move(steps.compute_utilization_pct));
    columns["memory_utilization_pct"] = to_numpy(std::move(steps.memory_utilization_pct));
    columns["operation_intensity"] = to_numpy(std::move(steps.operation_intensity));
    columns["peak_memory_bytes"] = to_numpy(std::move(steps.peak_memory_bytes));
    columns["rank0_wall_time_ns"] = to_numpy(std::move(steps.rank0_wall_time_ns));
    columns["rank0_peak_memory_bytes"] = to_numpy(std::move(steps.rank0_peak_memory_bytes));
    columns["last_rank"] = to_numpy(std::move(steps.last_rank));
    columns["rank_classes"] = to_numpy(std::move(steps.rank_classes));
    return {to_numpy(std::move(steps.ended)), columns};
}

void bind_recording(nb::module_& m) {
    nb::class_<RecordedNode>(m, "RecordedNode")
        .def_ro("node", &RecordedNode::node)
        .def_ro("id", &RecordedNode::id)
        .def_ro("name", &RecordedNode::name)
        .def_ro("kind", &RecordedNode::kind)
        .def_ro("bound", &RecordedNode::bound)
        .def_ro("on_cpu", &RecordedNode::on_cpu)
        .def_ro("start_ns", &RecordedNode::start_ns)
        .def_ro("end_ns", &RecordedNode::end_ns)
        .def_ro("bytes", &RecordedNode::bytes)
        .def_ro("num_ops", &RecordedNode::num_ops)
        .def_ro("group", &RecordedNode::group)
        .def_ro("peer", &RecordedNode::peer)
        .def_ro("peer_node", &RecordedNode::peer_node)
        .def_ro("message_ns", &RecordedNode::message_ns)
        .def_ro("parents", &RecordedNode::parents);
    nb::class_<RecordedTensor>(m, "RecordedTensor")
        .def_ro("name", &RecordedTensor::name)
        .def_ro("bytes", &RecordedTensor::bytes)
        .def_ro("birth_ns", &RecordedTensor::birth_ns)
        .def_ro("death_ns", &RecordedTensor::death_ns)
        .def_ro("external", &RecordedTensor::external);
    nb::class_<RankRecording>(m, "RankRecording")
        .def_ro("rank", &RankRecording::rank)
        .def_ro("nodes", &RankRecording::nodes)
        .def_ro("tensors", &RankRecording::tensors);
    nb::class_<RecordedGroup>(m, "RecordedGroup")
        .def_ro("name", &RecordedGroup::name)
        .def_ro("members", &RecordedGroup::members)
        .def_ro("by_dimension", &RecordedGroup::by_dimension)
        .def_ro("dimension_mask", &RecordedGroup::dimension_mask);
    nb::class_<Recording>(m, "Recording")
        .def_ro("result", &Recording::result)
        .def_ro("ranks", &Recording::ranks)
        .def_ro("groups", &Recording::groups);
    m.def(
        "record",
        [](const workload::Workload& workload, const SystemConfig& config, Method method,
           const std::vector<std::uint32_t>& ranks, bool decisive_only, const Cancellation* cancellation) {
            const Checkpoint checkpoint = checkpoint_of(cancellation);
            const nb::gil_scoped_release release;
            return simulator::record(workload, config, method, {ranks, decisive_only}, checkpoint);
        },
        "workload"_a, "config"_a, "method"_a = Method::kAuto, "ranks"_a = std::vector<std::uint32_t>{},
        "decisive_only"_a = false, "cancellation"_a.none() = nb::none());
}

}  // namespace

void bind_simulation(nb::module_& m) {
    nb::class_<collectives::Synthesized>(m, "SynthesizedCollective")
        .def(nb::new_(&synthesized_of), "members"_a, "schedules"_a)
        .def("time_ns", &collectives::Synthesized::time_ns, "share_bytes"_a);
    m.def("collectives_of", &collectives_of, "workload"_a);
    m.def("reference_names", &reference_names);
    m.def(
        "communicator_members",
        [](const workload::Workload& workload, std::uint32_t communicator) {
            return workload.communicators[communicator].members;
        },
        "workload"_a, "communicator"_a);
    nb::class_<SystemConfig>(m, "SystemConfig")
        .def(nb::init<>())
        .def("add_dimension", &add_dimension, "topology"_a, "npus"_a, "bandwidth_gbps"_a, "latency_ns"_a,
             "sizes"_a = std::vector<std::uint32_t>{}, "routing"_a = "")
        .def("add_graph", &add_graph, "npus"_a, "devices"_a, "edges"_a,
             "routes"_a = std::vector<PythonRoute>{}, "cancellation"_a.none() = nb::none())
        .def("add_fault", &add_fault, "source"_a, "destination"_a, "removed"_a, "bandwidth_factor"_a,
             "latency_factor"_a, "at_ns"_a)
        .def(
            "add_derating",
            [](SystemConfig& c, std::uint32_t npu, double compute_factor, double memory_factor) {
                c.deratings.push_back({npu, compute_factor, memory_factor});
            },
            "npu"_a, "compute_factor"_a, "memory_factor"_a)
        .def(
            "add_npu_type",
            [](SystemConfig& c, std::uint32_t npus, double peak_tflops, double memory_bandwidth_gbps) {
                c.npu_types.push_back({npus, peak_tflops, memory_bandwidth_gbps});
            },
            "npus"_a, "peak_tflops"_a, "memory_bandwidth_gbps"_a)
        .def_rw("congestion_aware", &SystemConfig::congestion_aware)
        .def_rw("cut_through", &SystemConfig::cut_through)
        .def("set_algorithms", &set_algorithms, "all_reduce"_a, "all_gather"_a, "reduce_scatter"_a,
             "all_to_all"_a)
        .def("add_synthesized", &add_synthesized, "collective"_a, "scope"_a, "index"_a, "schedules"_a,
             "devices"_a = std::vector<std::uint32_t>{})
        .def(
            "set_reference",
            [](SystemConfig& c, const std::string& name) { c.reference = &workload::reference_named(name); },
            "name"_a)
        .def("read_custom", &read_custom, "workload"_a, "prefixes"_a, "of_nodes"_a, "folder"_a,
             "cancellation"_a.none() = nb::none())
        .def("set_optimization", &set_optimization, "name"_a)
        .def("set_issue_order", &set_issue_order, "name"_a)
        .def("set_remote_memory", &set_remote_memory, "memory_type"_a, "latency_ns"_a, "bytes_per_ns"_a)
        .def_rw("peak_tflops", &SystemConfig::peak_tflops)
        .def_rw("memory_bandwidth_gbps", &SystemConfig::memory_bandwidth_gbps)
        .def_rw("endpoint_delay_ns", &SystemConfig::endpoint_delay_ns)
        .def_rw("active_chunks_per_dimension", &SystemConfig::active_chunks_per_dimension)
        .def_rw("preferred_dataset_splits", &SystemConfig::preferred_dataset_splits)
        .def_rw("roofline", &SystemConfig::roofline)
        .def_rw("replay_only", &SystemConfig::replay_only)
        .def_rw("track_memory", &SystemConfig::track_memory)
        .def_rw("rendezvous", &SystemConfig::rendezvous)
        .def_rw("hardware_slots", &SystemConfig::hardware_slots)
        .def_rw("queues_per_dimension", &SystemConfig::queues_per_dimension);

    nb::class_<RankResult>(m, "RankResult")
        .def_ro("finished", &RankResult::finished)
        .def_ro("finish_ns", &RankResult::finish_ns)
        .def_ro("wall_time_ns", &RankResult::wall_time_ns)
        .def_ro("exposed_comm_ns", &RankResult::exposed_comm_ns)
        .def_ro("gpu_time_ns", &RankResult::gpu_time_ns)
        .def_ro("cpu_time_ns", &RankResult::cpu_time_ns)
        .def_ro("comm_time_ns", &RankResult::comm_time_ns)
        .def_ro("remote_memory_time_ns", &RankResult::remote_memory_time_ns)
        .def_ro("invalid_time_ns", &RankResult::invalid_time_ns)
        .def_ro("compute_bound_pct", &RankResult::compute_bound_pct)
        .def_ro("compute_utilization_pct", &RankResult::compute_utilization_pct)
        .def_ro("memory_utilization_pct", &RankResult::memory_utilization_pct)
        .def_ro("operation_intensity", &RankResult::operation_intensity)
        .def_ro("peak_memory_bytes", &RankResult::peak_memory_bytes)
        .def_ro("unrun_nodes", &RankResult::unrun_nodes);
    nb::class_<BlockedNode>(m, "BlockedNode")
        .def_ro("rank", &BlockedNode::rank)
        .def_ro("node_id", &BlockedNode::node_id)
        .def_ro("name", &BlockedNode::name)
        .def_ro("kind", &BlockedNode::kind)
        .def_ro("communicator", &BlockedNode::communicator)
        .def_ro("peers", &BlockedNode::peers)
        .def_ro("cause", &BlockedNode::cause);
    nb::class_<SimulationResult>(m, "SimulationResult")
        .def_ro("deadlock", &SimulationResult::deadlock)
        .def_ro("classes", &SimulationResult::classes)
        .def_ro("class_of_rank", &SimulationResult::class_of_rank)
        .def_ro("blocked", &SimulationResult::blocked)
        .def_ro("events", &SimulationResult::events)
        .def_ro("by_classes", &SimulationResult::by_classes)
        .def_ro("obstacle", &SimulationResult::obstacle);
    nb::enum_<Method>(m, "Method")
        .value("AUTO", Method::kAuto)
        .value("GENERAL", Method::kGeneral)
        .value("ASSUME_SYMMETRY", Method::kAssumeSymmetry);
    bind_recording(m);
    m.def(
        "simulate",
        [](const workload::Workload& workload, const SystemConfig& config, Method method,
           const Cancellation* cancellation) {
            const Checkpoint checkpoint = checkpoint_of(cancellation);
            const nb::gil_scoped_release release;
            return simulator::simulate(workload, config, method, checkpoint);
        },
        "workload"_a, "config"_a, "method"_a = Method::kAuto, "cancellation"_a.none() = nb::none());
    m.def("simulate_steps", &simulate_steps, "workloads"_a, "config"_a, "method"_a, "most_s"_a,
          "cancellation"_a.none() = nb::none());
}
