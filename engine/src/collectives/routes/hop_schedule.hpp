// Sends along routes over time, whatever decides which of the hops that wait for a link goes first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/problem/calendar.hpp"
#include "collectives/routes/routes.hpp"

namespace dse::synthesis {

using Waiting = std::pair<Picoseconds, std::uint32_t>;  // urgency, hop

/// A `Rule` derives from this class. It has `join(hop, now)` for a hop whose chunk is there, `take(queue)`
/// for the hop that goes first, and `wakes(queue)`: whether a link looks at its queue again once it is free.
template <class Rule>
class HopSchedule {
public:
    Sends run(Picoseconds limit, const Checkpoint& checkpoint) {
        Rule& rule = static_cast<Rule&>(*this);
        Sends result;
        result.sends.reserve(routes_.size());
        for (std::uint32_t h = 0; h < routes_.size(); ++h)
            if (routes_[h].before == kHeld) calendar_.add(routes_[h].from, 2 * h + 1);
        while (!calendar_.empty()) {
            const Picoseconds now = calendar_.take(items_);
            links_.clear();
            for (const std::uint32_t item : items_) {
                if (item % 2 == 1) rule.join(item / 2, now);
                links_.push_back(item % 2 == 0 ? item / 2 : routes_[item / 2].link);
            }
            for (const std::uint32_t l : links_) {
                std::vector<Waiting>& queue = queues_[l];
                if (queue.empty() || free_at_[l] > now) continue;
                const std::uint32_t h = rule.take(queue);
                const Link& link = problem_.links[l];
                result.sends.push_back({l, routes_[h].chunk, now});
                result.time = std::max(result.time, now + link.arrival);
                if (result.time >= limit) return {{}, kNever};
                free_at_[l] = now + link.held;
                if (rule.wakes(queue)) calendar_.add(free_at_[l], 2 * l);
                for (std::uint32_t i = child_begin_[h]; i < child_begin_[h + 1]; ++i)
                    calendar_.add(now + link.arrival, 2 * children_[i] + 1);
            }
            checkpoint();
        }
        return result;
    }

protected:
    HopSchedule(const Problem& problem, const Routes& routes)
        : problem_(problem), routes_(routes), queues_(problem.links.size()), free_at_(problem.free_from) {
        free_at_.resize(problem.links.size(), 0);
        measure_ways();
        index_children();
    }

    const Problem& problem_;
    const Routes& routes_;
    std::vector<std::vector<Waiting>> queues_;  ///< per link: what is there
    std::vector<Picoseconds> left_;             ///< per hop: how long the way is from it on, at least
    std::vector<Picoseconds> free_at_;          ///< per link
    std::vector<std::uint32_t> child_begin_, children_;
    Calendar calendar_;  ///< links (2 l) that are free again, and hops (2 h + 1) whose chunk is there

private:
    void measure_ways() {
        left_.assign(routes_.size(), 0);
        for (std::size_t h = routes_.size(); h-- > 0;) {
            left_[h] += problem_.links[routes_[h].link].arrival;
            if (routes_[h].before != kHeld)
                left_[routes_[h].before] = std::max(left_[routes_[h].before], left_[h]);
        }
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

    std::vector<std::uint32_t> items_, links_;
};

}  // namespace dse::synthesis
