// Sends along trees: a link that has much to come, and nothing there, is fed first.
#include "collectives/trees/tree_schedule.hpp"

#include <algorithm>
#include <utility>

#include "collectives/problem/calendar.hpp"

namespace dse::synthesis {

namespace {

constexpr std::size_t kMostLookedAt = 64;

class TreeScheduler {
public:
    TreeScheduler(const Problem& problem, const Routes& routes, const Turns* turns)
        : problem_(problem),
          routes_(routes),
          turns_(turns),
          waiting_(problem.links.size()),
          to_come_(problem.links.size(), 0) {
        free_at_ = problem.free_from;
        free_at_.resize(problem.links.size(), 0);
        for (const Hop& hop : routes) to_come_[hop.link] += problem.links[hop.link].held;
        measure_ways();
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
            for (const std::uint32_t item : items_) {
                if (item % 2 == 1) join(item / 2);
                links_.push_back(item % 2 == 0 ? item / 2 : routes_[item / 2].link);
            }
            for (const std::uint32_t l : links_) {
                if (waiting_[l].empty() || free_at_[l] > now) continue;
                const std::uint32_t h = take_first(waiting_[l]);
                const Link& link = problem_.links[l];
                result.sends.push_back({l, routes_[h].chunk, now});
                result.time = std::max(result.time, now + link.arrival);
                if (result.time >= limit) return {{}, kNever};
                free_at_[l] = now + link.held;
                calendar_.add(free_at_[l], 2 * l);
                for (std::uint32_t i = child_begin_[h]; i < child_begin_[h + 1]; ++i)
                    calendar_.add(now + link.arrival, 2 * children_[i] + 1);
            }
            checkpoint();
        }
        return result;
    }

private:
    using Waiting = std::pair<Picoseconds, std::uint32_t>;  // urgency by turns, hop

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

    /// A hop whose chunk is there.
    void join(std::uint32_t hop) {
        const std::uint32_t link = routes_[hop].link;
        to_come_[link] -= problem_.links[link].held;
        std::vector<Waiting>& waiting = waiting_[link];
        waiting.emplace_back(turns_ == nullptr ? 0 : left_[hop] - (*turns_)[routes_[hop].chunk], hop);
        if (turns_ != nullptr) std::push_heap(waiting.begin(), waiting.end());
    }

    Picoseconds urgency_of(std::uint32_t hop) const {
        Picoseconds most = left_[hop];
        for (std::uint32_t i = child_begin_[hop]; i < child_begin_[hop + 1]; ++i)
            most = std::max(most, left_[children_[i]] + to_come_[routes_[children_[i]].link]);
        return most;
    }

    std::uint32_t take_first(std::vector<Waiting>& waiting) const {
        if (turns_ != nullptr) {
            std::pop_heap(waiting.begin(), waiting.end());
        } else {
            // Urgency changes with what comes to other links.
            std::size_t best = 0;
            Picoseconds most = -1;
            for (std::size_t i = 0; i < std::min(waiting.size(), kMostLookedAt); ++i) {
                const Picoseconds urgency = urgency_of(waiting[i].second);
                if (urgency <= most) continue;
                most = urgency;
                best = i;
            }
            std::swap(waiting[best], waiting.back());
        }
        const std::uint32_t hop = waiting.back().second;
        waiting.pop_back();
        return hop;
    }

    const Problem& problem_;
    const Routes& routes_;
    const Turns* turns_;
    std::vector<std::vector<Waiting>> waiting_;  ///< per link
    std::vector<Picoseconds> to_come_;  ///< per link: for how long what is not there yet will hold it
    std::vector<Picoseconds> left_, free_at_;
    std::vector<std::uint32_t> child_begin_, children_;
    Calendar calendar_;
    std::vector<std::uint32_t> items_, links_;
};

}  // namespace

Sends schedule_trees(const Problem& problem, const Routes& routes, const Turns* turns, Picoseconds limit,
                     const Checkpoint& checkpoint) {
    return TreeScheduler(problem, routes, turns).run(limit, checkpoint);
}

}  // namespace dse::synthesis
