// Sends along trees: a link that has much to come, and nothing there, is fed first.
#include "collectives/trees/tree_schedule.hpp"

#include "collectives/routes/hop_schedule.hpp"

namespace dse::synthesis {

namespace {

constexpr std::size_t kMostLookedAt = 64;

class TreeScheduler : public HopSchedule<TreeScheduler> {
public:
    TreeScheduler(const Problem& problem, const Routes& routes, const Turns* turns)
        : HopSchedule(problem, routes), turns_(turns), to_come_(problem.links.size(), 0) {
        for (const Hop& hop : routes) to_come_[hop.link] += problem.links[hop.link].held;
    }

    void join(std::uint32_t hop, Picoseconds /*now*/) {
        const std::uint32_t link = routes_[hop].link;
        to_come_[link] -= problem_.links[link].held;
        std::vector<Waiting>& queue = queues_[link];
        queue.emplace_back(turns_ == nullptr ? 0 : left_[hop] - (*turns_)[routes_[hop].chunk], hop);
        if (turns_ != nullptr) std::push_heap(queue.begin(), queue.end());
    }

    std::uint32_t take(std::vector<Waiting>& queue) const {
        if (turns_ != nullptr) {
            std::pop_heap(queue.begin(), queue.end());
        } else {
            // Urgency changes with what comes to other links.
            std::size_t best = 0;
            Picoseconds most = -1;
            for (std::size_t i = 0; i < std::min(queue.size(), kMostLookedAt); ++i) {
                const Picoseconds urgency = urgency_of(queue[i].second);
                if (urgency <= most) continue;
                most = urgency;
                best = i;
            }
            std::swap(queue[best], queue.back());
        }
        const std::uint32_t hop = queue.back().second;
        queue.pop_back();
        return hop;
    }

    static bool wakes(const std::vector<Waiting>& /*queue*/) { return true; }

private:
    Picoseconds urgency_of(std::uint32_t hop) const {
        Picoseconds most = left_[hop];
        for (std::uint32_t i = child_begin_[hop]; i < child_begin_[hop + 1]; ++i)
            most = std::max(most, left_[children_[i]] + to_come_[routes_[children_[i]].link]);
        return most;
    }

    const Turns* turns_;
    std::vector<Picoseconds> to_come_;  ///< per link: for how long what is not there yet will hold it
};

}  // namespace

Sends schedule_trees(const Problem& problem, const Routes& routes, const Turns* turns, Picoseconds limit,
                     const Checkpoint& checkpoint) {
    return TreeScheduler(problem, routes, turns).run(limit, checkpoint);
}

}  // namespace dse::synthesis
