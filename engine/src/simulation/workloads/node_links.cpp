// Dependencies become children in compressed rows; ids are looked up in a table where they are dense.
#include "simulation/workloads/node_links.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace dse::workload {

using chakra::TraceFile;

namespace {

/// Places of nodes by their ids: a table where ids are dense, else a search in their order.
class NodeIndex {
public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    NodeIndex(const TraceFile& file, const std::vector<std::uint32_t>& order) : file_(file), order_(order) {
        first_ = id_at(0);
        const std::uint64_t span = id_at(order.size() - 1) - first_;
        if (span / kMostIdsPerNode >= order.size()) return;
        table_.assign(static_cast<std::size_t>(span) + 1, kNone);
        for (std::uint32_t i = 0; i < order.size(); ++i) table_[id_at(i) - first_] = i;
    }

    std::uint32_t of(std::uint64_t id) const {
        if (!table_.empty()) return id - first_ < table_.size() ? table_[id - first_] : kNone;
        const auto is_below = [&](std::uint32_t place, std::uint64_t value) {
            return file_.nodes[place].id < value;
        };
        const auto found = std::lower_bound(order_.begin(), order_.end(), id, is_below);
        if (found == order_.end() || file_.nodes[*found].id != id) return kNone;
        return static_cast<std::uint32_t>(found - order_.begin());
    }

private:
    static constexpr std::uint64_t kMostIdsPerNode = 8;

    std::uint64_t id_at(std::size_t i) const { return file_.nodes[order_[i]].id; }

    const TraceFile& file_;
    const std::vector<std::uint32_t>& order_;
    std::uint64_t first_ = 0;
    std::vector<std::uint32_t> table_;
};

}  // namespace

std::vector<std::uint32_t> order_by_id(const TraceFile& file) {
    std::vector<std::uint32_t> order(file.nodes.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto id = [&](std::uint32_t i) { return file.nodes[i].id; };
    const auto is_after = [](const chakra::Node& a, const chakra::Node& b) { return a.id >= b.id; };
    if (std::adjacent_find(file.nodes.begin(), file.nodes.end(), is_after) == file.nodes.end()) return order;
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return id(a) < id(b); });
    std::vector<std::uint32_t> unique;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool repeated = i + 1 < order.size() && id(order[i]) == id(order[i + 1]);
        if (!repeated) unique.push_back(order[i]);
    }
    return unique;
}

const chakra::Attribute* find_attribute(const TraceFile& file, const chakra::Node& node,
                                        std::string_view name) {
    for (const chakra::Attribute& attribute : file.attributes_of(node)) {
        if (attribute.name == name) return &attribute;
    }
    return nullptr;
}

void refuse_node(const TraceFile& file, const std::string& path, const chakra::Node& node,
                 const std::string& what) {
    const std::string name = "node " + std::to_string(node.id) + " (" + std::string(node.name) + ")";
    if (find_attribute(file, node, "rf_id") != nullptr) {
        throw InputError(path +
                         " is a trace of PyTorch (its nodes have an rf_id), which dse simulate plays " +
                         "again; the first node that cannot be run is " + name);
    }
    throw InputError(path + ": " + name + ": " + what);
}

void link_nodes(const TraceFile& file, const std::vector<std::uint32_t>& order, const std::string& path,
                Trace& trace, const Checkpoint& checkpoint) {
    const NodeIndex index(file, order);
    std::vector<std::uint32_t> parents;  // of all nodes, one after the other
    parents.reserve(file.data_deps.size() + file.control_deps.size());
    std::vector<std::uint32_t> next(order.size() + 1, 0);
    bool any_free = false;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        checkpoint();
        const chakra::Node& node = file.nodes[order[i]];
        const auto begin = static_cast<std::ptrdiff_t>(parents.size());
        for (const auto deps : {file.data_deps_of(node), file.control_deps_of(node)}) {
            for (const std::uint64_t id : deps) {
                checkpoint();
                const std::uint32_t found = index.of(id);
                if (found == NodeIndex::kNone) {
                    refuse_node(file, path, node,
                                "waits for node " + std::to_string(id) + ", which is not in the file");
                }
                parents.push_back(found);
            }
        }
        trace.counts.data_deps += file.data_deps_of(node).size();
        trace.counts.control_deps += file.control_deps_of(node).size();
        std::sort(parents.begin() + begin, parents.end());
        parents.erase(std::unique(parents.begin() + begin, parents.end()), parents.end());
        const std::size_t waits = parents.size() - static_cast<std::size_t>(begin);
        trace.nodes[i].wait_count = static_cast<std::uint32_t>(waits);
        any_free = any_free || waits == 0;
    }
    if (!any_free) throw InputError(path + ": every node waits for another one; no node can start");
    for (const std::uint32_t parent : parents) ++next[parent + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    trace.children.resize(next.back());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        trace.nodes[i].child_begin = next[i];
        trace.nodes[i].child_end = next[i + 1];
    }
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        checkpoint();
        for (std::uint32_t k = 0; k < trace.nodes[i].wait_count; ++k) {
            trace.children[next[parents[at++]]++] = i;
        }
    }
}

}  // namespace dse::workload
