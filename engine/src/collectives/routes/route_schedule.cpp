// Sends along routes: per link a queue, the longest way left first.
#include "collectives/routes/hop_schedule.hpp"

namespace dse::synthesis {

namespace {

class RouteScheduler : public HopSchedule<RouteScheduler> {
public:
    RouteScheduler(const Problem& problem, const Routes& routes, double noise, Random& random)
        : HopSchedule(problem, routes) {
        if (noise <= 0) return;
        for (Picoseconds& left : left_)
            left += static_cast<Picoseconds>(noise * random.unit() * static_cast<double>(left));
    }

    void join(std::uint32_t hop, Picoseconds now) {
        const std::uint32_t link = routes_[hop].link;
        std::vector<Waiting>& queue = queues_[link];
        queue.emplace_back(left_[hop], hop);
        std::push_heap(queue.begin(), queue.end());
        if (free_at_[link] > now && queue.size() == 1) calendar_.add(free_at_[link], 2 * link);
    }

    static std::uint32_t take(std::vector<Waiting>& queue) {
        std::pop_heap(queue.begin(), queue.end());
        const std::uint32_t hop = queue.back().second;
        queue.pop_back();
        return hop;
    }

    static bool wakes(const std::vector<Waiting>& queue) { return !queue.empty(); }
};

}  // namespace

Sends schedule_routes(const Problem& problem, const Routes& routes, double noise, Random& random,
                      Picoseconds limit, const Checkpoint& checkpoint) {
    return RouteScheduler(problem, routes, noise, random).run(limit, checkpoint);
}

}  // namespace dse::synthesis
