// The rules of dse/inputs/systems/validation.py, in its order.
#include <array>
#include <vector>

#include "answers/explorer/fields.hpp"
#include "answers/explorer/system.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "inputs/files/dimension_rules.hpp"
#include "inputs/files/rules.hpp"
#include "simulation/algorithms/registry.hpp"
#include "simulation/systems/algorithm_rules.hpp"

namespace dse::explorer {

namespace {

using config::JsonValue;
using simulator::SystemConfig;

constexpr std::array<std::string_view, 31> kSystemKeys = {"name",
                                                          "network",
                                                          "collectives",
                                                          "peak_tflops",
                                                          "memory_bandwidth_gbps",
                                                          "network_model",
                                                          "scheduling_policy",
                                                          "endpoint_delay_ns",
                                                          "active_chunks_per_dimension",
                                                          "preferred_dataset_splits",
                                                          "collective_optimization",
                                                          "roofline_enabled",
                                                          "track_local_memory",
                                                          "replay_only",
                                                          "trace_enabled",
                                                          "local_memory_trace_filename",
                                                          "model_shared_bus",
                                                          "queues_per_dimension",
                                                          "rendezvous_protocol",
                                                          "injection_scale",
                                                          "remote_memory",
                                                          "faults",
                                                          "deratings",
                                                          "issue_order",
                                                          "inert",
                                                          "omitted_keys",
                                                          "npu_types",
                                                          "accelerator",
                                                          "nodes",
                                                          "npus_per_node",
                                                          "tiers"};
constexpr std::array<std::string_view, 10> kDimensionKeys = {
    "topology", "npus", "bandwidth_gbps", "latency_ns",  "shape",
    "routing",  "file", "routes",         "file_sha256", "routes_sha256"};
constexpr std::array<std::string_view, 4> kCollectives = {"all_reduce", "all_gather", "reduce_scatter",
                                                          "all_to_all"};
constexpr std::array<std::string_view, 5> kMemoryKeys = {
    "memory_type", "latency_ns", "bandwidth_bytes_per_ns", "num_nodes", "num_npus_per_node"};
constexpr std::array<std::string_view, 6> kFaultKeys = {"source",           "destination",    "removed",
                                                        "bandwidth_factor", "latency_factor", "at_ns"};
constexpr std::array<std::string_view, 3> kDeratingKeys = {"npu", "compute_factor", "memory_factor"};

constexpr std::array<std::string_view, 2> kNetworkModels = {"congestion_unaware", "congestion_aware"};
constexpr std::array<std::string_view, 3> kPolicies = {"LIFO", "FIFO", "EXPLICIT"};
constexpr std::array<std::string_view, 2> kOptimizations = {"baseline", "localBWAware"};
constexpr std::array<std::string_view, 2> kOrders = {"reference", "safe"};
constexpr std::array<std::string_view, 3> kMemoryTypes = {"NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION",
                                                          "MEMORY_POOL"};

constexpr std::int64_t kLastNs = static_cast<std::int64_t>(kEndOfTime) - 1;
constexpr Range kFactor = {};
constexpr Range kZeroOrMore = {.zero_allowed = true};
constexpr Range kSpeed = {.zero_allowed = false, .most = config::kMaxSpeed};
constexpr Range kSpeedOrZero = {.zero_allowed = true, .most = config::kMaxSpeed};

std::string at(std::string_view list, std::size_t index) {
    return "system." + std::string(list) + "." + std::to_string(index);
}

std::vector<std::uint32_t> sizes_of(const Fields& fields) {
    std::vector<std::uint32_t> sizes;
    for (const JsonValue& item : fields.list("shape")) {
        const std::int64_t size = integer_of(item).value_or(0);
        sizes.push_back(size > 0 && size <= UINT32_MAX ? static_cast<std::uint32_t>(size) : 0);
    }
    return sizes;
}

std::string list_text(std::span<const JsonValue> items) {
    std::string text;
    for (const JsonValue& item : items) {
        text += text.empty() ? "[" : ", ";
        text += shown(item);
    }
    return text.empty() ? "[]" : text + "]";
}

network::Dimension dimension_of(const JsonValue& object, std::size_t index) {
    const Fields fields(object, at("network", index), kDimensionKeys);
    const std::string topology = fields.choice_or("topology", "", config::topology_names());
    if (fields.has("file")) {
        fields.fail("file",
                    "is set, but a page has no files; python -m dse sweep reads the links of a Graph from a "
                    "file");
    }
    const auto npus = static_cast<std::uint32_t>(fields.integer("npus", 2, config::kMaxNpus));
    const double bandwidth_gbps = fields.number("bandwidth_gbps", kSpeed);
    const double latency_ns = fields.number("latency_ns", kZeroOrMore);
    if (latency_ns >= static_cast<double>(kEndOfTime)) {
        fields.fail("latency_ns", "is " + shown(*fields.find("latency_ns")) + "; it must be below " +
                                      std::to_string(kEndOfTime) +
                                      " ns, the end of simulated time (104 days)");
    }
    const std::vector<std::uint32_t> sizes = sizes_of(fields);
    const std::string routing = fields.has("routing") ? fields.text("routing") : "";
    const auto problem = config::problem_of(
        {topology, npus, sizes, list_text(fields.list("shape")), routing, false, fields.has("routes")});
    if (problem) fields.fail(problem->field, problem->problem);
    return {network::make_shape({topology, npus, sizes, routing, {}, 0, {}}), bandwidth_gbps, latency_ns};
}

void read_network(System& system, const Fields& fields) {
    const std::span<const JsonValue> dimensions = fields.list("network");
    if (dimensions.empty()) fields.fail("network", "is empty; it must list at least one dimension");
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        system.config.network.push_back(dimension_of(dimensions[i], i));
        system.npus *= system.config.network.back().npus();
        if (system.npus > static_cast<std::uint64_t>(config::kMaxNpus)) {
            fields.fail("network", "has " + std::to_string(system.npus) + " NPUs or more; at most " +
                                       std::to_string(config::kMaxNpus) + " are allowed");
        }
    }
}

std::vector<collectives::Choice> algorithms_of(const Fields& fields, std::string_view collective,
                                               std::size_t dimensions) {
    const std::span<const JsonValue> names = fields.list(collective);
    std::vector<collectives::Choice> choices;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string key = std::string(collective) + "." + std::to_string(i);
        const std::string& name = names[i].text;
        if (name == "synthesized" || name == "oneSynthesized") {
            fields.fail(
                key, "is '" + name + "'; schedules are not made in a page: python -m dse sweep makes them");
        }
        const std::string problem = config::algorithm_problem(name);
        if (!problem.empty()) fields.fail(key, problem);
        choices.push_back(collectives::algorithm_named(name));
    }
    if (names.size() > dimensions) {
        fields.fail(collective, "lists " + std::to_string(names.size()) + " algorithms for " +
                                    std::to_string(dimensions) +
                                    " network dimensions; at most one for each dimension is allowed");
    }
    return choices;
}

void read_collectives(SystemConfig& config, const Fields& fields) {
    const JsonValue* const object = fields.find("collectives");
    if (object == nullptr) fields.fail("collectives", "has no value; it must be a group");
    const Fields lists(*object, "system.collectives", kCollectives);
    const std::size_t dimensions = config.network.size();
    config.all_reduce = algorithms_of(lists, kCollectives[0], dimensions);
    config.all_gather = algorithms_of(lists, kCollectives[1], dimensions);
    config.reduce_scatter = algorithms_of(lists, kCollectives[2], dimensions);
    config.all_to_all = algorithms_of(lists, kCollectives[3], dimensions);
}

/// `endpoint_delay_ns` x `injection_scale`, truncated.
std::uint64_t endpoint_delay_of(const Fields& fields) {
    const std::int64_t delay_ns = fields.integer_or("endpoint_delay_ns", 10, 0);
    const double scale = fields.number_or("injection_scale", 1.0, kZeroOrMore);
    const double scaled = static_cast<double>(delay_ns) * scale;
    if (scaled > static_cast<double>(kMostOfInt32)) {
        fields.fail("injection_scale", shown(*fields.find("injection_scale")) + " times endpoint_delay_ns " +
                                           std::to_string(delay_ns) + " must be at most " +
                                           std::to_string(kMostOfInt32) + " ns");
    }
    return static_cast<std::uint64_t>(scaled);
}

void read_compute(SystemConfig& config, const Fields& fields) {
    config.roofline = fields.flag_or("roofline_enabled", true);
    const auto speed = [&](std::string_view key) {
        const double value = fields.number(key, kSpeedOrZero);
        if (value == 0.0 && config.roofline) {
            fields.fail(key, "is 0; it must be greater than 0 unless the roofline model is off");
        }
        return value;
    };
    config.peak_tflops = speed("peak_tflops");
    config.memory_bandwidth_gbps = speed("memory_bandwidth_gbps");
}

void read_remote_memory(SystemConfig& config, const Fields& fields) {
    const JsonValue* const object = fields.find("remote_memory");
    if (object == nullptr) return;
    const Fields memory(*object, "system.remote_memory", kMemoryKeys);
    const std::string type = memory.choice_or("memory_type", kMemoryTypes[0], kMemoryTypes);
    using simulator::RemoteMemoryKind;
    config.remote_memory.kind = type == kMemoryTypes[1]   ? RemoteMemoryKind::kPerNpu
                                : type == kMemoryTypes[2] ? RemoteMemoryKind::kPool
                                                          : RemoteMemoryKind::kNone;
    const bool is_used = config.remote_memory.kind != RemoteMemoryKind::kNone;
    config.remote_memory.latency_ns = static_cast<std::uint64_t>(memory.integer_or("latency_ns", 0, 0));
    config.remote_memory.bytes_per_ns =
        static_cast<std::uint64_t>(memory.integer_or("bandwidth_bytes_per_ns", 0, is_used ? 1 : 0));
}

void read_degradations(System& system, const Fields& fields) {
    SystemConfig& config = system.config;
    const std::span<const JsonValue> faults = fields.list("faults");
    for (std::size_t i = 0; i < faults.size(); ++i) {
        const Fields fault(faults[i], at("faults", i), kFaultKeys);
        const auto device = [&](std::string_view key) {
            return static_cast<std::uint32_t>(fault.integer(key, 0));
        };
        config.faults.push_back({device("source"), device("destination"), fault.flag_or("removed", false),
                                 fault.number_or("bandwidth_factor", 1.0, kFactor),
                                 fault.number_or("latency_factor", 1.0, kZeroOrMore),
                                 static_cast<std::uint64_t>(fault.integer_or("at_ns", 0, 0, kLastNs))});
        if (config.congestion_aware) continue;
        throw InputError(at("faults", i) +
                         " needs network_model congestion_aware; congestion_unaware has no links");
    }
    const std::span<const JsonValue> deratings = fields.list("deratings");
    for (std::size_t i = 0; i < deratings.size(); ++i) {
        const Fields derating(deratings[i], at("deratings", i), kDeratingKeys);
        const std::int64_t npu = derating.integer("npu", 0);
        if (static_cast<std::uint64_t>(npu) >= system.npus) {
            derating.fail("npu", "is " + std::to_string(npu) + ", but the network has " +
                                     std::to_string(system.npus) + " NPUs");
        }
        config.deratings.push_back({static_cast<std::uint32_t>(npu),
                                    derating.number_or("compute_factor", 1.0, kFactor),
                                    derating.number_or("memory_factor", 1.0, kFactor)});
    }
}

}  // namespace

System system_of_json(const JsonValue& object) {
    const Fields fields(object, "system", kSystemKeys);
    System system;
    SystemConfig& config = system.config;
    system.name = fields.text("name");
    if (system.name.empty()) {
        throw InputError("system.name is empty; it must name the system, for example system1");
    }
    read_network(system, fields);
    read_collectives(config, fields);
    config.congestion_aware =
        fields.choice_or("network_model", kNetworkModels[0], kNetworkModels) == kNetworkModels[1];
    fields.choice_or("scheduling_policy", "LIFO", kPolicies);
    config.optimization =
        fields.choice_or("collective_optimization", kOptimizations[1], kOptimizations) == kOptimizations[0]
            ? collectives::Optimization::kBaseline
            : collectives::Optimization::kLocalBandwidthAware;
    config.endpoint_delay_ns = endpoint_delay_of(fields);
    const auto count = [&](std::string_view key, std::int64_t fallback, std::int64_t most) {
        return static_cast<std::uint32_t>(fields.integer_or(key, fallback, 1, most));
    };
    config.active_chunks_per_dimension = count("active_chunks_per_dimension", 4, kMostOfInt32);
    config.preferred_dataset_splits = count("preferred_dataset_splits", 10, config::kMaxChunks);
    config.queues_per_dimension = count("queues_per_dimension", 1, std::int64_t{1} << 16);
    read_compute(config, fields);
    if (fields.flag_or("model_shared_bus", false)) {
        fields.fail("model_shared_bus", "is on; the bus model is not supported, set it to 0");
    }
    read_remote_memory(config, fields);
    if (!fields.list("npu_types").empty()) {
        fields.fail("npu_types",
                    "is not empty; NPUs of several types are not simulated in a page: python -m dse sweep "
                    "does it");
    }
    read_degradations(system, fields);
    system.leaves_order_open = !fields.has("issue_order");
    if (!system.leaves_order_open && fields.choice_or("issue_order", "", kOrders) == kOrders[1])
        config.issue_order = simulator::IssueOrder::kSafe;
    config.replay_only = fields.flag_or("replay_only", false);
    config.track_memory = fields.flag_or("track_local_memory", true);
    config.rendezvous = fields.flag_or("rendezvous_protocol", false);
    system.is_cluster = fields.has("accelerator");
    return system;
}

}  // namespace dse::explorer
