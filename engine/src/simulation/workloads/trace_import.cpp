// Attributes, their types and communicators of imported traces.
#include "simulation/workloads/trace_import.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/time.hpp"
#include "simulation/workloads/communicator_table.hpp"
#include "simulation/workloads/distinct_traces.hpp"
#include "simulation/workloads/imported_catalog.hpp"
#include "simulation/workloads/node_links.hpp"
#include "simulation/workloads/numbers.hpp"

namespace dse::workload {

namespace {

using chakra::Attribute;
using chakra::NodeType;
using chakra::TraceFile;
using chakra::ValueKind;

bool is_integer(ValueKind kind) {
    return kind == ValueKind::kInt32 || kind == ValueKind::kInt64 || kind == ValueKind::kUint32 ||
           kind == ValueKind::kUint64;
}

class FileImporter {
public:
    FileImporter(const TraceFile& file, const std::string& path, std::uint32_t rank, std::uint32_t rank_count,
                 const std::vector<NamedGroup>& groups, const Reference& reference,
                 const Checkpoint& checkpoint)
        : file_(file),
          path_(path),
          rank_(rank),
          rank_count_(rank_count),
          groups_(groups),
          reference_(reference),
          checkpoint_(checkpoint) {}

    Trace build() {
        order_ = order_by_id(file_);
        if (order_.empty()) throw InputError(path_ + ": the trace has no nodes");
        trace_.nodes.resize(order_.size());
        for (std::uint32_t i = 0; i < order_.size(); ++i) {
            checkpoint_();
            import_node(i);
        }
        link_nodes(file_, order_, path_, trace_, checkpoint_);
        trace_.tensor_count = static_cast<std::uint32_t>(tensors_.size());
        return std::move(trace_);
    }

    std::vector<std::uint64_t> ids() const {
        std::vector<std::uint64_t> ids;
        ids.reserve(order_.size());
        for (const std::uint32_t i : order_) ids.push_back(file_.nodes[i].id);
        return ids;
    }
    Texts names() const {
        Texts names;
        for (const std::uint32_t i : order_) names.add(file_.nodes[i].name);
        return names;
    }
    Texts tensor_names() const {
        Texts names;
        for (const std::string_view name : tensor_names_) names.add(name);
        return names;
    }
    const std::vector<CommunicatorKey>& slots() const { return slots_; }
    /// Whether some reference reads the communicator of a node otherwise.
    bool is_read_otherwise() const { return is_read_otherwise_; }

private:
    [[noreturn]] void fail(const chakra::Node& node, const std::string& what) const {
        refuse_node(file_, path_, node, what);
    }

    const Attribute* find(const chakra::Node& node, std::string_view name) const {
        return find_attribute(file_, node, name);
    }

    std::optional<std::int64_t> integer(const chakra::Node& node, std::string_view name) const {
        const Attribute* attribute = find(node, name);
        if (attribute == nullptr) return std::nullopt;
        if (!is_integer(attribute->kind)) {
            fail(node, "attribute '" + std::string(name) + "' is not an integer");
        }
        return attribute->integer;
    }

    std::int64_t required(const chakra::Node& node, std::string_view name) const {
        const auto value = integer(node, name);
        if (!value) fail(node, "attribute '" + std::string(name) + "' is missing");
        return *value;
    }

    std::uint64_t required_size(const chakra::Node& node, std::string_view name) const {
        const std::int64_t value = required(node, name);
        if (value < 0) {
            fail(node, "attribute '" + std::string(name) + "' is " + std::to_string(value) +
                           "; it must be at least 0");
        }
        return static_cast<std::uint64_t>(value);
    }

    void import_node(std::uint32_t index) {
        const chakra::Node& source = file_.nodes[order_[index]];
        Node& node = trace_.nodes[index];
        if (source.duration_micros >= kEndOfTime / 1000) {
            fail(source, "duration_micros is " + std::to_string(source.duration_micros) +
                             "; it must be below " + std::to_string(kEndOfTime / 1000) +
                             ", the end of simulated time");
        }
        node.duration_ns = source.duration_micros == 0 ? 1 : 1000 * source.duration_micros;
        const Attribute* cpu = find(source, "is_cpu_op");
        node.on_cpu = cpu != nullptr && cpu->integer != 0;
        switch (source.type) {
            case NodeType::kCompute:
                import_compute(source, node);
                break;
            case NodeType::kCommCollective:
                import_collective(source, node);
                break;
            case NodeType::kCommSend:
            case NodeType::kCommRecv:
                import_message(source, node);
                break;
            case NodeType::kMemLoad:
            case NodeType::kMemStore:
                node.kind = source.type == NodeType::kMemLoad ? NodeKind::kMemLoad : NodeKind::kMemStore;
                node.bytes = required_size(source, "tensor_size");
                break;
            case NodeType::kInvalid:
                node.kind = NodeKind::kInvalid;
                break;
            case NodeType::kMetadata:
                fail(source, "metadata nodes cannot be run (the reference stops on them); remove the node");
        }
        const bool communicates = node.kind == NodeKind::kCollective || node.kind == NodeKind::kSend ||
                                  node.kind == NodeKind::kReceive;
        if (communicates && node.on_cpu) fail(source, "is_cpu_op is set on a communication node");
        import_tensors(source, node);
        ++trace_.counts.nodes;
    }

    void import_compute(const chakra::Node& source, Node& node) {
        node.kind = NodeKind::kCompute;
        // Both are needed by the roofline only; a trace for replay has neither.
        const std::int64_t operations = integer(source, "num_ops").value_or(-1);
        const std::int64_t bytes = integer(source, "tensor_size").value_or(-1);
        if (!node.on_cpu && (operations < 0 || bytes < 0)) {
            if (trace_.no_roofline_reason.empty()) {
                trace_.no_roofline_reason = path_ + ": node " + std::to_string(source.id) + " (" +
                                            std::string(source.name) +
                                            "): num_ops and tensor_size must be present and at least 0";
            }
        }
        node.num_ops = static_cast<double>(operations);
        node.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
        ++trace_.counts.compute;
        trace_.counts.num_ops += static_cast<std::uint64_t>(std::max<std::int64_t>(operations, 0));
        trace_.counts.tensor_bytes += node.bytes;
    }

    void import_collective(const chakra::Node& source, Node& node) {
        node.kind = NodeKind::kCollective;
        const std::int64_t type = required(source, "comm_type");
        if (type != 0 && type != 2 && type != 5 && type != 6 && type != 7) {
            fail(source,
                 "comm_type is " + std::to_string(type) +
                     "; allowed are 0 all-reduce, 2 all-gather, 5 broadcast, 6 all-to-all, 7 reduce-scatter");
        }
        node.collective = static_cast<CollectiveType>(type);
        node.bytes = required_size(source, "comm_size");
        node.slot = slot_of(source);
        ++trace_.counts.collective;
        trace_.counts.comm_bytes += node.bytes;
    }

    std::uint32_t slot_of(const chakra::Node& source) {
        CommunicatorKey key;
        const Attribute* const group = find(source, "pg_name");
        const Attribute* const dims = find(source, reference_.dimensions_attribute);
        note_readings(source, group);
        if (dims == nullptr || reference_.group_counts_before_dimensions) key.first = group_of(source, group);
        if (dims != nullptr && key.first.empty()) key.second = mask_of(source, *dims);
        const auto found = std::find(slots_.begin(), slots_.end(), key);
        if (found != slots_.end()) return static_cast<std::uint32_t>(found - slots_.begin());
        if (!key.first.empty()) require_member(source, key.first);
        slots_.push_back(key);
        return static_cast<std::uint32_t>(slots_.size() - 1);
    }

    void note_readings(const chakra::Node& source, const Attribute* group) {
        for (const Reference* const each : references()) {
            const bool is_named = group != nullptr && !each->group_of_all_ranks.empty() &&
                                  group->text == each->group_of_all_ranks;
            if (is_named || find(source, each->dimensions_attribute) != nullptr) is_read_otherwise_ = true;
        }
    }

    /// The name of a group, empty for all ranks.
    std::string group_of(const chakra::Node& source, const Attribute* group) const {
        if (group == nullptr) return "";
        if (group->kind != ValueKind::kString) fail(source, "attribute 'pg_name' is not a string");
        return group->text == reference_.group_of_all_ranks ? "" : std::string(group->text);
    }

    std::uint64_t mask_of(const chakra::Node& source, const Attribute& dims) {
        const std::string name = "attribute '" + std::string(reference_.dimensions_attribute) + "'";
        if (dims.kind != ValueKind::kBoolList) fail(source, name + " is not a list of booleans");
        const std::uint32_t entries = dims.list_end - dims.list_begin;
        if (entries > 64) fail(source, name + " has more than 64 entries");
        std::uint64_t mask = 0;
        for (std::uint32_t i = 0; i < entries; ++i) {
            if (file_.bool_items[dims.list_begin + i] != 0) mask |= std::uint64_t{1} << i;
        }
        trace_.least_dimension_entries = std::min(trace_.least_dimension_entries, entries);
        return mask;
    }

    void require_member(const chakra::Node& source, const std::string& name) const {
        for (const NamedGroup& group : groups_) {
            if (group.name != name) continue;
            if (std::find(group.members.begin(), group.members.end(), rank_) != group.members.end()) return;
            fail(source,
                 "pg_name '" + name + "' is a group that rank " + std::to_string(rank_) + " is not in");
        }
        if (groups_.empty()) {
            fail(source, "pg_name '" + name + "' is a communicator group, but no groups are given");
        }
        fail(source, "pg_name '" + name + "' is not in the groups file (" + std::to_string(groups_.size()) +
                         " groups)");
    }

    void import_message(const chakra::Node& source, Node& node) {
        const bool send = source.type == NodeType::kCommSend;
        node.kind = send ? NodeKind::kSend : NodeKind::kReceive;
        node.bytes = required_size(source, "comm_size");
        if (node.bytes == 0) fail(source, "comm_size is 0; a message needs at least 1 byte");
        const std::int64_t peer = required(source, send ? "comm_dst" : "comm_src");
        const std::int64_t self = integer(source, send ? "comm_src" : "comm_dst").value_or(rank_);
        if (self != rank_) {
            fail(source, std::string(send ? "comm_src" : "comm_dst") + " is " + std::to_string(self) +
                             " in the trace of rank " + std::to_string(rank_));
        }
        if (peer < 0 || peer >= rank_count_ || peer == rank_) {
            fail(source, std::string(send ? "comm_dst" : "comm_src") + " is " + std::to_string(peer) +
                             "; it must be another rank below " + std::to_string(rank_count_));
        }
        node.peer = static_cast<std::uint32_t>(peer);
        const std::int64_t tag = required(source, "comm_tag");
        if (tag < 0) fail(source, "comm_tag is " + std::to_string(tag) + "; it must be at least 0");
        node.tag = static_cast<std::uint32_t>(tag % 500'000'000);
        ++(send ? trace_.counts.send : trace_.counts.receive);
        trace_.counts.comm_bytes += node.bytes;
    }

    void import_tensors(const chakra::Node& source, Node& node) {
        node.read_begin = static_cast<std::uint32_t>(trace_.mentions.size());
        import_tensor_list(source, "inputs");
        node.write_begin = static_cast<std::uint32_t>(trace_.mentions.size());
        import_tensor_list(source, "outputs");
        node.write_end = static_cast<std::uint32_t>(trace_.mentions.size());
    }

    void import_tensor_list(const chakra::Node& source, std::string_view name) {
        const Attribute* list = find(source, name);
        const auto cannot_track = [&](const std::string& why) {
            if (!trace_.untracked_reason.empty()) return;
            trace_.untracked_reason = path_ + ": node " + std::to_string(source.id) + " (" +
                                      std::string(source.name) + "): attribute '" + std::string(name) + "' " +
                                      why;
        };
        if (list == nullptr) return cannot_track("is missing");
        if (list->kind != ValueKind::kStringList) return;
        const std::uint32_t count = list->list_end - list->list_begin;
        if (count % 2 != 0)
            return cannot_track("has an odd number of entries; it must hold pairs of name and size");
        for (std::uint32_t i = list->list_begin; i < list->list_end; i += 2) {
            checkpoint_();
            const auto next = static_cast<std::uint32_t>(tensor_names_.size());
            const auto [entry, is_new] = tensors_.try_emplace(file_.list_items[i], next);
            if (is_new) tensor_names_.push_back(entry->first);
            trace_.mentions.push_back({entry->second, leading_integer(file_.list_items[i + 1])});
        }
    }

    const TraceFile& file_;
    const std::string& path_;
    std::uint32_t rank_;
    std::uint32_t rank_count_;
    const std::vector<NamedGroup>& groups_;
    const Reference& reference_;
    const Checkpoint& checkpoint_;
    bool is_read_otherwise_ = false;
    std::vector<std::uint32_t> order_;
    Trace trace_;
    std::unordered_map<std::string_view, std::uint32_t> tensors_;
    std::vector<std::string_view> tensor_names_;
    std::vector<CommunicatorKey> slots_;
};

}  // namespace

Workload import_traces(const ReadTrace& read, const std::vector<std::string>& paths,
                       const std::vector<NamedGroup>& groups, const Reference& reference,
                       const Checkpoint& checkpoint) {
    check_groups(groups, paths.size());
    Workload workload;
    for (const NamedGroup& group : groups) {
        if (workload.unnumbered_group.empty() && !group_number(group.name))
            workload.unnumbered_group = group.name;
    }
    workload.communicator_group_count = groups.size();
    auto catalog = std::make_shared<ImportedCatalog>();
    CommunicatorTable communicators(workload, groups);
    workload.slot_begin.push_back(0);
    DistinctTraces traces;
    const auto rank_count = static_cast<std::uint32_t>(paths.size());
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
        const TraceFile file = read(rank);  // its memory is free again for that of the next rank
        FileImporter importer(file, paths[rank], rank, rank_count, groups, reference, checkpoint);
        const DistinctTraces::Place place = traces.add(importer.build());
        workload.trace_of_rank.push_back(place.number);
        workload.lane_of_rank.push_back(place.lane);
        if (importer.is_read_otherwise()) workload.read_as = &reference;
        for (const CommunicatorKey& key : importer.slots()) {
            workload.communicator_of_slot.push_back(communicators.index(key));
        }
        workload.slot_begin.push_back(static_cast<std::uint32_t>(workload.communicator_of_slot.size()));
        catalog->add(importer.ids(), importer.names(), importer.tensor_names());
    }
    traces.release_to(workload);
    workload.catalog = std::move(catalog);
    return workload;
}

Trace import_custom(const TraceFile& file, const std::string& path, std::uint32_t place, std::uint32_t places,
                    const Checkpoint& checkpoint) {
    for (const chakra::Node& node : file.nodes) {
        const bool runs = node.type == NodeType::kCommSend || node.type == NodeType::kCommRecv ||
                          node.type == NodeType::kCompute;
        if (runs) continue;
        throw InputError(path + ": node " + std::to_string(node.id) + " (" + std::string(node.name) +
                         "): a custom collective has sends, receives and compute nodes only");
    }
    return FileImporter(file, path, place, places, {}, default_reference(), checkpoint).build();
}

}  // namespace dse::workload
