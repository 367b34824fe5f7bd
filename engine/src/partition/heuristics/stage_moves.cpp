#include "partition/heuristics/stage_moves.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace dse::partition {

namespace {

double high_power(double x) {
    const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    return x8 * x8;
}

}  // namespace

StageMoves::StageMoves(const Problem& problem, const Incidence& edges, Labels labels,
                       std::vector<std::uint32_t> position)
    : problem_(problem),
      edges_(edges),
      labels_(std::move(labels)),
      position_(std::move(position)),
      device_at_(problem.devices),
      busy_(problem.devices, 0.0),
      memory_(problem.devices, 0.0),
      on_(problem.tensors) {
    for (std::uint32_t d = 0; d < problem.devices; ++d) device_at_[position_[d]] = d;
    count();
}

void StageMoves::count() {
    std::fill(busy_.begin(), busy_.end(), 0.0);
    std::fill(memory_.begin(), memory_.end(), 0.0);
    for (auto& consumers : on_) consumers.clear();
    for (std::size_t v = 0; v < problem_.nodes; ++v) {
        const auto d = static_cast<std::size_t>(labels_[v]);
        busy_[d] += problem_.weight[v] / problem_.speed[d];
        memory_[d] += problem_.memory[v];
    }
    for (const Edge& edge : problem_.edges) {
        const auto a = static_cast<std::uint32_t>(labels_[edge.from]);
        const auto b = static_cast<std::uint32_t>(labels_[edge.to]);
        if (consumers(edge.tensor, b)++ == 0) busy_[b] += problem_.transfer(a, b, edge.bytes);
    }
}

double StageMoves::bottleneck() const { return *std::max_element(busy_.begin(), busy_.end()); }

bool StageMoves::within_memory() const {
    for (std::size_t d = 0; d < problem_.devices; ++d)
        if (!fits(memory_[d], problem_.capacity[d])) return false;
    return true;
}

std::uint32_t& StageMoves::consumers(std::uint32_t tensor, std::uint32_t device) {
    for (auto& [d, count] : on_[tensor])
        if (d == device) return count;
    on_[tensor].emplace_back(device, 0);
    return on_[tensor].back().second;
}

std::uint32_t StageMoves::consumers_on(std::uint32_t tensor, std::uint32_t device) const {
    for (const auto& [d, count] : on_[tensor])
        if (d == device) return count;
    return 0;
}

void StageMoves::change(std::uint32_t device, double time) {
    for (auto& [d, sum] : changes_)
        if (d == device) {
            sum += time;
            return;
        }
    changes_.emplace_back(device, time);
}

void StageMoves::weigh(std::uint32_t node, std::uint32_t b) {
    const auto a = static_cast<std::uint32_t>(labels_[node]);
    changes_.clear();
    change(a, -problem_.weight[node] / problem_.speed[a]);
    change(b, problem_.weight[node] / problem_.speed[b]);
    for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
        const Edge& edge = problem_.edges[edges_.in[k]];
        std::uint32_t same = 0;  // edges of the tensor to this node: counted with the first of them
        bool is_first = true;
        for (std::uint32_t j = edges_.in_start[node]; j < edges_.in_start[node + 1]; ++j) {
            if (problem_.edges[edges_.in[j]].tensor != edge.tensor) continue;
            ++same;
            if (j < k) is_first = false;
        }
        if (!is_first) continue;
        const auto from = static_cast<std::uint32_t>(labels_[edge.from]);
        if (consumers_on(edge.tensor, a) == same) change(a, -problem_.transfer(from, a, edge.bytes));
        if (consumers_on(edge.tensor, b) == 0) change(b, problem_.transfer(from, b, edge.bytes));
    }
    std::uint32_t last = UINT32_MAX;
    for (std::uint32_t k = edges_.out_start[node]; k < edges_.out_start[node + 1]; ++k) {
        const Edge& edge = problem_.edges[edges_.out[k]];
        bool seen = edge.tensor == last;
        for (std::uint32_t j = edges_.out_start[node]; j < k && !seen; ++j)
            seen = problem_.edges[edges_.out[j]].tensor == edge.tensor;
        last = edge.tensor;
        if (seen) continue;
        for (const auto& [d, count] : on_[edge.tensor])
            if (count > 0)
                change(d, problem_.transfer(b, d, edge.bytes) - problem_.transfer(a, d, edge.bytes));
    }
}

double StageMoves::potential_change() const {
    double total = 0;
    for (const auto& [d, time] : changes_)
        total += high_power((busy_[d] + time) * scale_) - high_power(busy_[d] * scale_);
    return total;
}

void StageMoves::apply(std::uint32_t node, std::uint32_t b) {
    const auto a = static_cast<std::uint32_t>(labels_[node]);
    for (const auto& [d, time] : changes_) busy_[d] += time;
    for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
        const std::uint32_t tensor = problem_.edges[edges_.in[k]].tensor;
        --consumers(tensor, a);
        ++consumers(tensor, b);
    }
    memory_[a] -= problem_.memory[node];
    memory_[b] += problem_.memory[node];
    labels_[node] = static_cast<std::int32_t>(b);
}

bool StageMoves::try_move(std::uint32_t node, std::uint32_t b) {
    const auto a = static_cast<std::uint32_t>(labels_[node]);
    const bool relieves = !fits(memory_[a], problem_.capacity[a]);
    if (!fits(memory_[b] + problem_.memory[node], problem_.capacity[b])) return false;
    weigh(node, b);
    if (!relieves && potential_change() >= -1e-12) return false;
    apply(node, b);
    return true;
}

bool StageMoves::pass(std::mt19937_64& random) {
    std::vector<std::uint32_t> nodes(problem_.nodes);
    std::iota(nodes.begin(), nodes.end(), 0U);
    std::shuffle(nodes.begin(), nodes.end(), random);
    scale_ = 1 / std::max(bottleneck(), 1e-300);
    bool moved = false;
    for (const std::uint32_t v : nodes) {
        if (problem_.pinned[v] >= 0) continue;
        std::uint32_t low = 0, high = static_cast<std::uint32_t>(problem_.devices) - 1;
        for (std::uint32_t k = edges_.in_start[v]; k < edges_.in_start[v + 1]; ++k)
            low = std::max(low,
                           position_[static_cast<std::size_t>(labels_[problem_.edges[edges_.in[k]].from])]);
        for (std::uint32_t k = edges_.out_start[v]; k < edges_.out_start[v + 1]; ++k)
            high = std::min(high,
                            position_[static_cast<std::size_t>(labels_[problem_.edges[edges_.out[k]].to])]);
        const std::uint32_t here = position_[static_cast<std::size_t>(labels_[v])];
        // Most gains are near: the next stages on both sides, and the ends of what is allowed.
        std::uint32_t targets[] = {here > low ? here - 1 : here, here < high ? here + 1 : here, low, high};
        for (const std::uint32_t target : targets)
            if (target >= low && target <= high &&
                device_at_[target] != static_cast<std::uint32_t>(labels_[v]))
                moved = try_move(v, device_at_[target]) || moved;
    }
    if (moved) count();
    return moved;
}

}  // namespace dse::partition
