// Sends along routes: per link a queue, the longest way left first.
#include <algorithm>
#include <utility>

#include "collectives/problem/calendar.hpp"
#include "collectives/routes/routes.hpp"

namespace dse::synthesis {

namespace {

class RouteScheduler {
public:
    RouteScheduler(const Problem& problem, const Routes& routes, double noise, Random& random)
        : problem_(problem), routes_(routes), queues_(problem.links.size()) {
        free_at_ = problem.free_from;
        free_at_.resize(problem.links.size(), 0);
        rank_hops(noise, random);
        index_children();
    }

    Sends run(Picoseconds limit, const Checkpoint& checkpoint) {
        Sends result;
        result.sends.reserve(routes_.size());
        for (std::uint32_t h = 0; h < routes_.size(); ++h)
            if (routes_[h].before == kHeld) calendar_.add(routes_[h].from, 2 * h + 1);
        while (!calendar_.empty()) {
            const Picoseconds now = calendar_.take(items_);
            links_.clear();
            for (const std::uint32_t item : items_) links_.push_back(link_of(item, now));
            for (const std::uint32_t l : links_) {
                std::vector<Waiting>& queue = queues_[l];
                if (queue.empty() || free_at_[l] > now) continue;
                std::pop_heap(queue.begin(), queue.end());
                const std::uint32_t h = queue.back().second;
                queue.pop_back();
                const Link& link = problem_.links[l];
                result.sends.push_back({l, routes_[h].chunk, now});
                result.time = std::max(result.time, now + link.arrival);
                if (result.time >= limit) return {{}, kNever};
                free_at_[l] = now + link.held;
                if (!queue.empty()) calendar_.add(free_at_[l], 2 * l);
                for (std::uint32_t i = child_begin_[h]; i < child_begin_[h + 1]; ++i)
                    calendar_.add(now + link.arrival, 2 * children_[i] + 1);
            }
            checkpoint();
        }
        return result;
    }

private:
    using Waiting = std::pair<Picoseconds, std::uint32_t>;  // way left, hop

    /// How long the way is from each hop on, at least.
    void rank_hops(double noise, Random& random) {
        left_.assign(routes_.size(), 0);
        for (std::size_t h = routes_.size(); h-- > 0;) {
            left_[h] += problem_.links[routes_[h].link].arrival;
            if (routes_[h].before != kHeld)
                left_[routes_[h].before] = std::max(left_[routes_[h].before], left_[h]);
        }
        if (noise <= 0) return;
        for (Picoseconds& left : left_)
            left += static_cast<Picoseconds>(noise * random.unit() * static_cast<double>(left));
    }

    void index_children() {
        child_begin_.assign(routes_.size() + 1, 0);
        for (const Hop& hop : routes_)
            if (hop.before != kHeld) ++child_begin_[hop.before + 1];
        for (std::size_t h = 0; h < routes_.size(); ++h) child_begin_[h + 1] += child_begin_[h];
        children_.resize(child_begin_.back());
        std::vector<std::uint32_t> next(child_begin_.begin(), child_begin_.end() - 1);
        for (std::uint32_t h = 0; h < routes_.size(); ++h)
            if (routes_[h].before != kHeld) children_[next[routes_[h].before]++] = h;
    }

    /// The link that an item of the calendar concerns; a hop that is ready joins its queue.
    std::uint32_t link_of(std::uint32_t item, Picoseconds now) {
        if (item % 2 == 0) return item / 2;
        const std::uint32_t link = routes_[item / 2].link;
        queues_[link].emplace_back(left_[item / 2], item / 2);
        std::push_heap(queues_[link].begin(), queues_[link].end());
        if (free_at_[link] > now && queues_[link].size() == 1) calendar_.add(free_at_[link], 2 * link);
        return link;
    }

    const Problem& problem_;
    const Routes& routes_;
    std::vector<Picoseconds> left_, free_at_;
    std::vector<std::uint32_t> child_begin_, children_;
    std::vector<std::vector<Waiting>> queues_;  ///< per link: what is there
    Calendar calendar_;
    std::vector<std::uint32_t> items_, links_;
};

}  // namespace

Sends schedule_routes(const Problem& problem, const Routes& routes, double noise, Random& random,
                      Picoseconds limit, const Checkpoint& checkpoint) {
    return RouteScheduler(problem, routes, noise, random).run(limit, checkpoint);
}

}  // namespace dse::synthesis
