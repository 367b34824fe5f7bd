// system.json, remote_memory.json and the groups file: types, defaults and rules of every key.
#include "simulation/systems/system_files.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "inputs/files/json.hpp"
#include "inputs/files/rules.hpp"
#include "inputs/files/text.hpp"
#include "simulation/algorithms/registry.hpp"
#include "simulation/systems/algorithm_rules.hpp"

namespace dse::config {

namespace {

using simulator::RemoteMemoryKind;
using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 4> kImplementations = {
    "all-reduce-implementation", "all-gather-implementation", "reduce-scatter-implementation",
    "all-to-all-implementation"};
constexpr std::array<std::string_view, 4> kCustomImplementations = {
    "all-reduce-implementation-custom", "all-gather-implementation-custom",
    "reduce-scatter-implementation-custom", "all-to-all-implementation-custom"};
constexpr std::string_view kCustomOfNodes = "per-node-custom-implementation";
// Keys without effect; the last five serve only the bus model, which is not supported.
constexpr std::array<std::string_view, 8> kInertKeys = {"boost-mode",
                                                        "intra-dimension-scheduling",
                                                        "inter-dimension-scheduling",
                                                        "local-reduction-delay",
                                                        "L",
                                                        "o",
                                                        "g",
                                                        "G"};
constexpr std::array<std::string_view, 30> kSystemKeys = {"scheduling-policy",
                                                          "endpoint-delay",
                                                          "active-chunks-per-dimension",
                                                          "preferred-dataset-splits",
                                                          "collective-optimization",
                                                          kImplementations[0],
                                                          kImplementations[1],
                                                          kImplementations[2],
                                                          kImplementations[3],
                                                          kCustomImplementations[0],
                                                          kCustomImplementations[1],
                                                          kCustomImplementations[2],
                                                          kCustomImplementations[3],
                                                          kCustomOfNodes,
                                                          "peak-perf",
                                                          "local-mem-bw",
                                                          "roofline-enabled",
                                                          "track-local-mem",
                                                          "replay-only",
                                                          "trace-enabled",
                                                          "local-mem-trace-filename",
                                                          "model-shared-bus",
                                                          kInertKeys[0],
                                                          kInertKeys[1],
                                                          kInertKeys[2],
                                                          kInertKeys[3],
                                                          kInertKeys[4],
                                                          kInertKeys[5],
                                                          kInertKeys[6],
                                                          kInertKeys[7]};
constexpr std::array<std::string_view, 5> kRemoteMemoryKeys = {
    "memory-type", "remote-mem-latency", "remote-mem-bw", "num-nodes", "num-npus-per-node"};

/// Typed look-up of the keys of one JSON object.
class JsonFields {
public:
    JsonFields(std::string_view text, const std::string& path, Words known)
        : path_(path), object_(parse_json_object(text, path)) {
        for (const auto& [key, value] : object_.members) {
            refuse_old_custom(key);
            require_known_key(path_, key, known);
        }
    }

    bool has(std::string_view key) const { return object_.find(key) != nullptr; }
    const JsonValue* find(std::string_view key) const { return object_.find(key); }
    Place place(std::string_view key) const { return {path_, std::string(key)}; }

    std::string text(std::string_view key, const char* default_text) const {
        const JsonValue* const value = object_.find(key);
        if (value == nullptr && default_text == nullptr) place(key).fail("is missing; it is required");
        if (value == nullptr) return default_text;
        if (value->kind != JsonKind::kString) wrong_type(key, *value, "a string");
        return value->text;
    }

    std::string choice(std::string_view key, Words allowed) const {
        std::string value = text(key, nullptr);
        require_choice(place(key), value, allowed);
        return value;
    }

    std::uint32_t required_integer(std::string_view key, std::int64_t least, std::int64_t most) const {
        if (!has(key)) place(key).fail("is missing; it is required");
        return integer(key, least, 0, most);
    }

    std::uint32_t integer(std::string_view key, std::int64_t least, std::uint32_t absent,
                          std::int64_t most = kMaxInteger) const {
        const JsonValue* const value = object_.find(key);
        if (value == nullptr) return absent;
        if (value->kind != JsonKind::kInteger) wrong_type(key, *value, "an integer");
        return integer_in_range(place(key), value->number, value->text, least, most);
    }

    /// A number without its fraction, which must then be an integer from 0.
    std::uint32_t truncated(std::string_view key, std::uint32_t absent) const {
        const JsonValue* const value = object_.find(key);
        if (value == nullptr) return absent;
        if (!value->is_number()) wrong_type(key, *value, "a number");
        return integer_in_range(place(key), std::trunc(value->number), value->text, 0);
    }

    double speed(std::string_view key) const {
        const JsonValue* const value = object_.find(key);
        if (value == nullptr) return 0.0;
        if (!value->is_number()) wrong_type(key, *value, "a number");
        return number_in_range(place(key), value->number, value->text, true, true);
    }

    bool is_on(std::string_view key) const {
        const JsonValue* const value = object_.find(key);
        if (value == nullptr) return false;
        if (!value->is_number()) {
            wrong_type(key, *value, "0 (off) or 1 (on); ASTRA-sim takes even the boolean false as on");
        }
        return value->number != 0;
    }

    /// A list of one path prefix; empty if there is no such key.
    std::string prefix(std::string_view key) const {
        const JsonValue* const value = object_.find(key);
        if (value == nullptr) return "";
        const bool is_one = value->kind == JsonKind::kArray && value->items.size() == 1 &&
                            value->items.front().kind == JsonKind::kString;
        if (!is_one || value->items.front().text.empty())
            wrong_type(key, *value, "a list of one path prefix, such as [\"traces/all_reduce\"]");
        return value->items.front().text;
    }

    std::vector<collectives::Choice> algorithms(std::string_view key) const {
        const JsonValue* const value = object_.find(key);
        if (value == nullptr) return {};
        const auto is_text = [](const JsonValue& item) { return item.kind == JsonKind::kString; };
        if (value->kind != JsonKind::kArray ||
            !std::all_of(value->items.begin(), value->items.end(), is_text))
            wrong_type(key, *value, "a list of strings, such as [\"ring\", \"ring\"]");
        std::vector<collectives::Choice> list;
        for (std::size_t i = 0; i < value->items.size(); ++i) {
            const std::string& name = value->items[i].text;
            const std::string problem = algorithm_problem(name);
            if (!problem.empty()) place(std::string(key) + "." + std::to_string(i)).fail(problem);
            list.push_back(collectives::algorithm_named(name));
        }
        return list;
    }

private:
    [[noreturn]] void wrong_type(std::string_view key, const JsonValue& value,
                                 const std::string& expected) const {
        place(key).fail("is " + to_text(value) + "; it must be " + expected);
    }

    /// The keys of April 2025 for collectives from files, with which it reads beyond an empty set.
    void refuse_old_custom(std::string_view key) const {
        constexpr std::string_view kSuffix = "-chakra";
        if (!key.ends_with("-implementation" + std::string(kSuffix))) return;
        const std::string list(key.substr(0, key.size() - kSuffix.size()));
        place(key).fail(
            "is not supported: astra-sim-2025-04 cannot run it; name an algorithm such as ring in " + list +
            ", or write " + list + "-custom, which astra-sim-2026-03 has");
    }

    const std::string& path_;
    JsonValue object_;
};

CustomFiles custom_files(const JsonFields& fields) {
    using workload::CollectiveType;
    constexpr std::array kTypes = {CollectiveType::kAllReduce, CollectiveType::kAllGather,
                                   CollectiveType::kReduceScatter, CollectiveType::kAllToAll};
    CustomFiles files;
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
        const std::string prefix = fields.prefix(kCustomImplementations[i]);
        if (!prefix.empty()) files.of_type[kTypes[i]] = prefix;
    }
    files.of_nodes = fields.text(kCustomOfNodes, "");
    if (files.of_nodes.empty() && fields.has(kCustomOfNodes))
        fields.place(kCustomOfNodes).fail("is empty; it must be the path of a YAML file");
    return files;
}

void check_roofline(const JsonFields& fields, std::string_view key, double value, bool roofline) {
    if (value != 0 || !roofline) return;
    fields.place(key).fail(std::string(fields.has(key) ? "is 0" : "is missing, so 0") +
                           "; it must be greater than 0 unless the roofline model is off");
}

void check_inert(const JsonFields& fields) {
    for (const std::string_view key : kInertKeys) {
        const JsonValue* const value = fields.find(key);
        const bool scalar = value == nullptr || value->is_number() || value->kind == JsonKind::kString ||
                            value->kind == JsonKind::kBool;
        if (!scalar) fields.place(key).fail("is " + to_text(*value) + "; it must be a string or a number");
    }
}

}  // namespace

SystemFile parse_system(std::string_view text, const std::string& path) {
    constexpr std::array<std::string_view, 3> kPolicies = {"LIFO", "FIFO", "EXPLICIT"};
    constexpr std::array<std::string_view, 2> kOptimizations = {"baseline", "localBWAware"};
    const JsonFields fields(text, path, kSystemKeys);
    SystemFile file;
    simulator::SystemConfig& config = file.config;
    fields.choice("scheduling-policy", kPolicies);
    config.endpoint_delay_ns = fields.truncated("endpoint-delay", 10);
    file.states_endpoint_delay = fields.has("endpoint-delay");
    config.active_chunks_per_dimension = fields.integer("active-chunks-per-dimension", 1, 1);
    config.preferred_dataset_splits = fields.required_integer("preferred-dataset-splits", 1, kMaxChunks);
    const bool baseline = fields.choice("collective-optimization", kOptimizations) == "baseline";
    config.optimization =
        baseline ? collectives::Optimization::kBaseline : collectives::Optimization::kLocalBandwidthAware;
    config.all_reduce = fields.algorithms(kImplementations[0]);
    config.all_gather = fields.algorithms(kImplementations[1]);
    config.reduce_scatter = fields.algorithms(kImplementations[2]);
    config.all_to_all = fields.algorithms(kImplementations[3]);
    file.custom = custom_files(fields);
    config.peak_tflops = fields.speed("peak-perf");
    config.memory_bandwidth_gbps = fields.speed("local-mem-bw");
    config.roofline = fields.is_on("roofline-enabled");
    config.track_memory = fields.is_on("track-local-mem");
    config.replay_only = fields.is_on("replay-only");
    file.trace_enabled = fields.is_on("trace-enabled");
    check_roofline(fields, "peak-perf", config.peak_tflops, config.roofline);
    check_roofline(fields, "local-mem-bw", config.memory_bandwidth_gbps, config.roofline);
    if (fields.text("local-mem-trace-filename", "local_mem_trace").empty()) {
        fields.place("local-mem-trace-filename").fail("is empty; it must be a file name");
    }
    if (fields.is_on("model-shared-bus")) {
        fields.place("model-shared-bus").fail("is on; the bus model is not supported, set it to 0");
    }
    check_inert(fields);
    return file;
}

simulator::RemoteMemory parse_remote_memory(std::string_view text, const std::string& path) {
    constexpr std::array<std::string_view, 3> kTypes = {"NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION",
                                                        "MEMORY_POOL"};
    const JsonFields fields(text, path, kRemoteMemoryKeys);
    simulator::RemoteMemory memory;
    const std::string type = fields.text("memory-type", nullptr);
    if (type == "PER_NODE_MEMORY_EXPANSION") {
        fields.place("memory-type")
            .fail(
                "is PER_NODE_MEMORY_EXPANSION, which is not supported: the reference reads freed memory with "
                "it; allowed are " +
                join(kTypes));
    }
    require_choice(fields.place("memory-type"), type, kTypes);
    if (type == kTypes[1]) memory.kind = RemoteMemoryKind::kPerNpu;
    if (type == kTypes[2]) memory.kind = RemoteMemoryKind::kPool;
    const bool used = memory.kind != RemoteMemoryKind::kNone;
    memory.latency_ns = fields.integer("remote-mem-latency", 0, 0);
    memory.bytes_per_ns = fields.integer("remote-mem-bw", used ? 1 : 0, 0);
    if (used && !fields.has("remote-mem-bw")) {
        fields.place("remote-mem-bw").fail("is 0; it must be an integer from 1 to 2147483647");
    }
    fields.integer("num-nodes", 1, 0);
    fields.integer("num-npus-per-node", 1, 0);
    return memory;
}

std::vector<workload::NamedGroup> parse_groups(std::string_view text, const std::string& path) {
    const JsonValue object = parse_json_object(text, path);
    std::vector<workload::NamedGroup> groups;
    for (const auto& [name, value] : object.members) {
        const Place place{path, "group '" + name + "'"};
        if (value.kind != JsonKind::kArray || value.items.empty()) {
            place.fail("is " + to_text(value) + "; it must be a list of at least one rank");
        }
        workload::NamedGroup& group = groups.emplace_back();
        group.name = name;
        std::set<std::uint32_t> members;
        for (const JsonValue& item : value.items) {
            if (item.kind != JsonKind::kInteger || !(item.number >= 0 && item.number <= UINT32_MAX)) {
                place.fail("has the member " + to_text(item) + "; members are ranks from 0");
            }
            group.members.push_back(static_cast<std::uint32_t>(item.number));
        }
        for (const std::uint32_t rank : group.members) {
            if (!members.insert(rank).second) {
                place.fail("names rank " + std::to_string(rank) + " twice; a rank is a member once");
            }
        }
    }
    return groups;
}

std::vector<workload::NamedGroup> read_groups(const std::string& path) {
    return parse_groups(read_text_file(path), path);
}

}  // namespace dse::config
