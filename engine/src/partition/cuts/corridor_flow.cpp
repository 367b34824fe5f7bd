#include "partition/cuts/corridor_flow.hpp"

#include <algorithm>

namespace dse::partition {

namespace {

constexpr double kRounding = 1e-11;   ///< of the largest capacity: less is no capacity
constexpr int kSingly = 4;            ///< times that a side grows by one node; then by several
constexpr double kPartOfDeficit = 8;  ///< of the weight that a side lacks, which it then gets at once

}  // namespace

void CorridorFlow::reset(std::size_t nodes, double source_weight, double sink_weight, double limit) {
    edges_.clear();
    weight_.assign(nodes, 0.0);
    source_left_.assign(nodes, 0.0);
    sink_left_.assign(nodes, 0.0);
    depth_.assign(nodes, 0);
    end_.assign(nodes, End::kNone);
    source_weight_ = source_weight;
    sink_weight_ = sink_weight;
    total_ = source_weight + sink_weight;
    limit_ = limit;
    flow_ = least_ = 0;
    pierced_ = 0;
}

void CorridorFlow::set_node(std::uint32_t node, double weight, double from_source, double to_sink,
                            std::int32_t depth) {
    weight_[node] = weight;
    total_ += weight;
    const double both = std::min(from_source, to_sink);
    flow_ += both;
    source_left_[node] = from_source - both;
    sink_left_[node] = to_sink - both;
    least_ = std::max({least_, kRounding * from_source, kRounding * to_sink});
    depth_[node] = depth;
}

void CorridorFlow::add_edge(std::uint32_t u, std::uint32_t v, double forward, double backward) {
    edges_.push_back({u, v, forward, backward});
    least_ = std::max({least_, kRounding * forward, kRounding * backward});
}

void CorridorFlow::build_rows() {
    start_.assign(weight_.size() + 1, 0);
    for (const Edge& edge : edges_) {
        ++start_[edge.u + 1];
        ++start_[edge.v + 1];
    }
    for (std::size_t v = 0; v < weight_.size(); ++v) start_[v + 1] += start_[v];
    next_.assign(start_.begin(), start_.end() - 1);
    arcs_.resize(2 * edges_.size());
    for (const Edge& edge : edges_) {
        const std::uint32_t here = next_[edge.u]++, there = next_[edge.v]++;
        arcs_[here] = {edge.v, there, edge.forward};
        arcs_[there] = {edge.u, here, edge.backward};
    }
}

/// Distances from the source along arcs that are not full; whether the sink is reached.
bool CorridorFlow::find_levels() {
    level_.assign(weight_.size(), -1);
    queue_.clear();
    for (std::uint32_t v = 0; v < weight_.size(); ++v)
        if (has_source(v)) {
            level_[v] = 0;
            queue_.push_back(v);
        }
    std::int32_t last = INT32_MAX;
    for (std::size_t k = 0; k < queue_.size(); ++k) {
        const std::uint32_t v = queue_[k];
        if (level_[v] > last) break;
        if (has_sink(v)) {
            last = level_[v];
            continue;
        }
        for (std::uint32_t e = start_[v]; e < start_[v + 1]; ++e) {
            const Arc& arc = arcs_[e];
            if (arc.left <= least_ || level_[arc.to] >= 0) continue;
            level_[arc.to] = level_[v] + 1;
            queue_.push_back(arc.to);
        }
    }
    return last < INT32_MAX;
}

/// One path from the root along the levels; what it carries, 0 if there is none.
double CorridorFlow::push_from(std::uint32_t root) {
    path_.clear();
    std::uint32_t v = root;
    while (!has_sink(v)) {
        bool moved = false;
        for (; next_[v] < start_[v + 1]; ++next_[v]) {
            const Arc& arc = arcs_[next_[v]];
            if (arc.left <= least_ || level_[arc.to] != level_[v] + 1) continue;
            path_.push_back(next_[v]);
            v = arc.to;
            moved = true;
            break;
        }
        if (moved) continue;
        level_[v] = -1;
        if (path_.empty()) return 0;
        v = arcs_[arcs_[path_.back()].back].to;
        path_.pop_back();
        ++next_[v];
    }
    double most = kInfinite;
    if (end_[root] != End::kSource) most = source_left_[root];
    if (end_[v] != End::kSink) most = std::min(most, sink_left_[v]);
    for (const std::uint32_t e : path_) most = std::min(most, arcs_[e].left);
    if (end_[root] != End::kSource) source_left_[root] -= most;
    if (end_[v] != End::kSink) sink_left_[v] -= most;
    for (const std::uint32_t e : path_) {
        arcs_[e].left -= most;
        arcs_[arcs_[e].back].left += most;
    }
    return most;
}

/// Dinitz's maximum flow, from the flow there is; stops above `most`.
void CorridorFlow::augment(double most) {
    std::vector<std::uint32_t> roots;
    while (flow_ <= most && find_levels()) {
        next_.assign(start_.begin(), start_.end() - 1);
        roots.clear();
        for (const std::uint32_t v : queue_) {
            if (level_[v] != 0) break;
            roots.push_back(v);
        }
        for (const std::uint32_t root : roots)
            while (flow_ <= most && level_[root] == 0 && has_source(root)) {
                const double sent = push_from(root);
                if (sent <= 0) break;
                flow_ += sent;
            }
    }
}

void CorridorFlow::find_sink_side() {
    sink_level_.assign(weight_.size(), -1);
    queue_.clear();
    for (std::uint32_t v = 0; v < weight_.size(); ++v)
        if (has_sink(v)) {
            sink_level_[v] = 0;
            queue_.push_back(v);
        }
    for (std::size_t k = 0; k < queue_.size(); ++k) {
        const std::uint32_t v = queue_[k];
        for (std::uint32_t e = start_[v]; e < start_[v + 1]; ++e) {
            const Arc& arc = arcs_[e];
            if (arcs_[arc.back].left <= least_ || sink_level_[arc.to] >= 0) continue;
            sink_level_[arc.to] = 0;
            queue_.push_back(arc.to);
        }
    }
}

double CorridorFlow::weight_of(const std::vector<std::int32_t>& reached) const {
    double sum = 0;
    for (std::size_t v = 0; v < weight_.size(); ++v)
        if (reached[v] >= 0) sum += weight_[v];
    return sum;
}

/// Makes what one end reaches a part of it, and adds nodes beyond its cut: those first that need no more
/// flow, then those furthest on its side of the present cut.
bool CorridorFlow::grow(bool source) {
    const End own = source ? End::kSource : End::kSink;
    const End other = source ? End::kSink : End::kSource;
    const std::vector<std::int32_t>& reached = source ? level_ : sink_level_;
    const std::vector<std::int32_t>& opposite = source ? sink_level_ : level_;
    std::vector<std::uint32_t> beyond;
    double weight = source ? source_weight_ : sink_weight_;
    for (std::uint32_t v = 0; v < weight_.size(); ++v) {
        if (reached[v] < 0) continue;
        end_[v] = own;
        weight += weight_[v];
        for (std::uint32_t e = start_[v]; e < start_[v + 1]; ++e) {
            const std::uint32_t u = arcs_[e].to;
            if (reached[u] < 0 && end_[u] != other) beyond.push_back(u);
        }
    }
    if (beyond.empty()) {
        for (std::uint32_t v = 0; v < weight_.size(); ++v)
            if (reached[v] < 0 && end_[v] == End::kNone) beyond.push_back(v);
        if (beyond.empty()) return false;
    }
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        const bool a_free = opposite[a] < 0, b_free = opposite[b] < 0;
        if (a_free != b_free) return a_free;
        if (depth_[a] != depth_[b]) return source ? depth_[a] > depth_[b] : depth_[a] < depth_[b];
        return a < b;
    };
    std::sort(beyond.begin(), beyond.end(), before);
    beyond.erase(std::unique(beyond.begin(), beyond.end()), beyond.end());
    const double deficit = total_ - limit_ - weight;
    double added = 0;
    const bool free_first = opposite[beyond.front()] < 0;
    for (const std::uint32_t v : beyond) {
        // Nodes that need no flow never come together with those that do.
        if (added > 0 && (opposite[v] < 0) != free_first) break;
        end_[v] = own;
        added += std::max(weight_[v], 1e-300);
        if (pierced_ < kSingly || added >= deficit / kPartOfDeficit) break;
    }
    ++pierced_;
    return true;
}

CorridorFlow::Sides CorridorFlow::least_cut(double most) {
    build_rows();
    while (true) {
        augment(most);
        if (flow_ > most) return {};
        find_sink_side();
        const double source = source_weight_ + weight_of(level_);
        const double sink = sink_weight_ + weight_of(sink_level_);
        const auto kept = [&](double one) { return fits(one, limit_) && fits(total_ - one, limit_); };
        if (kept(source) || kept(sink)) {
            const bool by_source = kept(source) && (!kept(sink) || std::max(source, total_ - source) <=
                                                                       std::max(sink, total_ - sink));
            Sides sides{std::vector<char>(weight_.size()), flow_};
            for (std::size_t v = 0; v < weight_.size(); ++v)
                sides.is_sink[v] = (by_source ? level_[v] < 0 : sink_level_[v] >= 0) ? 1 : 0;
            return sides;
        }
        // A side beyond the limit cannot shrink any more.
        if (!fits(source, limit_) || !fits(sink, limit_)) return {};
        if (!grow(source <= sink)) return {};
    }
}

}  // namespace dse::partition
