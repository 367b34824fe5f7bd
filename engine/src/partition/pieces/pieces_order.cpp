// An order of nodes in which few have neighbours to come.
#include <compare>
#include <numeric>
#include <set>
#include <utility>

#include "partition/pieces/pieces_sweep.hpp"

namespace dse::partition {

namespace {

/// A graph that leaves more nodes open has no narrow order.
constexpr std::size_t kMostOpen = 200;

/// Nodes next to those placed, the one first that leaves the fewest open; of these the one with the most ties
/// to those placed, then the one that was reached first. Edges are looked at a few times each, whatever the
/// degrees.
class NarrowOrder {
public:
    explicit NarrowOrder(const CostedGraph& graph)
        : graph_(graph),
          left_(graph.weight.size(), 0),
          is_placed_(left_.size(), false),
          merit_(left_.size()) {
        for (std::size_t v = 0; v < left_.size(); ++v)
            for (const CostedGraph::End& end : graph.ends[v]) left_[v] += counts(end);
        for (std::size_t v = 0; v < left_.size(); ++v) merit_[v].growth = left_[v] > 0 ? 1 : 0;
        starts_.resize(left_.size());
        std::iota(starts_.begin(), starts_.end(), 0U);
        std::stable_sort(starts_.begin(), starts_.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return left_[a] < left_[b]; });
    }

    std::vector<std::uint32_t> run(const std::function<bool()>& expired) {
        std::size_t start = 0;
        while (order_.size() < left_.size()) {
            if (open_ > kMostOpen || expired()) return {};
            while (is_placed_[starts_[start]]) ++start;
            place(near_.empty() ? starts_[start] : near_.begin()->second);
        }
        return std::move(order_);
    }

private:
    struct Merit {
        int growth = 0;    ///< of the nodes with neighbours to come
        double apart = 0;  ///< minus what ties it to those placed
        std::uint64_t reached = UINT64_MAX;
        auto operator<=>(const Merit&) const = default;
    };

    bool counts(const CostedGraph::End& end) const { return graph_.use[end.edge] != EdgeUse::kCounted; }

    template <typename Change>
    void change(std::uint32_t v, Change change) {
        near_.erase({merit_[v], v});
        change(merit_[v]);
        near_.emplace(merit_[v], v);
    }

    void place(std::uint32_t v) {
        near_.erase({merit_[v], v});
        is_placed_[v] = true;
        open_ += left_[v] > 0;
        order_.push_back(v);
        for (const CostedGraph::End& end : graph_.ends[v]) {
            if (!counts(end)) continue;
            const std::uint32_t other = end.node;
            --left_[other];
            if (!is_placed_[other]) {
                change(other, [&](Merit& merit) {
                    merit.growth -= left_[other] == 0;
                    merit.apart -= graph_.cost[end.edge];
                    merit.reached = std::min(merit.reached, reached_++);
                });
            } else if (left_[other] == 0) {
                --open_;
            } else if (left_[other] == 1) {
                favour_last(other);
            }
        }
        if (left_[v] == 1) favour_last(v);
    }

    /// The only neighbour to come of a node that is placed would close it.
    void favour_last(std::uint32_t v) {
        for (const CostedGraph::End& end : graph_.ends[v])
            if (counts(end) && !is_placed_[end.node]) change(end.node, [](Merit& merit) { --merit.growth; });
    }

    const CostedGraph& graph_;
    std::vector<std::uint32_t> left_;  ///< edges to nodes to come
    std::vector<std::uint32_t> starts_, order_;
    std::vector<bool> is_placed_;
    std::vector<Merit> merit_;
    std::set<std::pair<Merit, std::uint32_t>> near_;
    std::size_t open_ = 0;  ///< nodes placed with neighbours to come
    std::uint64_t reached_ = 0;
};

}  // namespace

std::vector<std::uint32_t> narrow_order(const CostedGraph& graph, const std::function<bool()>& expired) {
    return NarrowOrder(graph).run(expired);
}

}  // namespace dse::partition
