// Dinic's algorithm without recursion, as ways may be as long as a graph.
#include "collectives/bounds/max_flow.hpp"

#include <algorithm>

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNoLevel = ~std::uint32_t{0};

}  // namespace

std::uint32_t FlowNetwork::add_node() {
    leaving_.emplace_back();
    return nodes() - 1;
}

std::uint32_t FlowNetwork::add_arc(std::uint32_t from, std::uint32_t to, Amount capacity) {
    const auto half = static_cast<std::uint32_t>(head_.size());
    head_.push_back(to);
    head_.push_back(from);
    capacity_.push_back(capacity);
    capacity_.push_back(0);
    leaving_[from].push_back(half);
    leaving_[to].push_back(half + 1);
    return half / 2;
}

void FlowNetwork::remove_last_arc() {
    const std::size_t half = head_.size() - 2;
    leaving_[head_[half + 1]].pop_back();
    leaving_[head_[half]].pop_back();
    head_.resize(half);
    capacity_.resize(half);
}

bool FlowNetwork::find_levels(std::uint32_t source, std::uint32_t sink) {
    level_.assign(leaving_.size(), kNoLevel);
    level_[source] = 0;
    queue_.assign(1, source);
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const std::uint32_t node = queue_[i];
        for (const std::uint32_t half : leaving_[node]) {
            const std::uint32_t to = head_[half];
            if (left_[half] <= 0 || level_[to] != kNoLevel) continue;
            level_[to] = level_[node] + 1;
            if (to == sink) return true;
            queue_.push_back(to);
        }
    }
    return false;
}

Amount FlowNetwork::push_path(std::uint32_t source, std::uint32_t sink, Amount most) {
    path_.clear();
    std::uint32_t node = source;
    while (node != sink) {
        std::uint32_t& at = next_[node];
        while (at < leaving_[node].size()) {
            const std::uint32_t half = leaving_[node][at];
            if (left_[half] > 0 && level_[head_[half]] == level_[node] + 1) break;
            ++at;
        }
        if (at < leaving_[node].size()) {
            path_.push_back(leaving_[node][at]);
            node = head_[path_.back()];
        } else {
            if (path_.empty()) return 0;
            node = head_[path_.back() ^ 1U];  // back, and not this way again
            path_.pop_back();
            ++next_[node];
        }
    }
    Amount pushed = most;
    for (const std::uint32_t half : path_) pushed = std::min(pushed, left_[half]);
    for (const std::uint32_t half : path_) {
        left_[half] -= pushed;
        left_[half ^ 1U] += pushed;
    }
    return pushed;
}

Amount FlowNetwork::flow(std::uint32_t source, std::uint32_t sink, Amount enough) {
    left_ = capacity_;
    Amount total = 0;
    while (total < enough && find_levels(source, sink)) {
        next_.assign(leaving_.size(), 0);
        while (total < enough) {
            const Amount pushed = push_path(source, sink, enough - total);
            if (pushed == 0) break;
            total += pushed;
        }
    }
    return total;
}

std::vector<std::uint8_t> FlowNetwork::sink_side(std::uint32_t sink) const {
    std::vector<std::uint8_t> inside(leaving_.size(), 0);
    inside[sink] = 1;
    std::vector<std::uint32_t> queue{sink};
    while (!queue.empty()) {
        const std::uint32_t node = queue.back();
        queue.pop_back();
        for (const std::uint32_t half : leaving_[node]) {
            const std::uint32_t from = head_[half];
            if (inside[from] || left_[half ^ 1U] <= 0) continue;
            inside[from] = 1;
            queue.push_back(from);
        }
    }
    return inside;
}

}  // namespace dse::synthesis
