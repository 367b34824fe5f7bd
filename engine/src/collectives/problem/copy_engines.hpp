// How many links a node drives at once: copy engines, on the side of its sends and on that of its receives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// The timetable of the engines of nodes with limits.
///
/// A send takes an engine of its sender while its bytes enter the link, and one of its receiver for as long,
/// until they have arrived.
class CopyEngines {
public:
    /// Keeps references to both. `backwards`: time runs from the end on, so that arrivals come first.
    CopyEngines(const EngineLimits& limits, const std::vector<Link>& links, bool backwards = false)
        : links_(links),
          of_first_(backwards ? limits.receives : limits.sends),
          of_last_(backwards ? limits.sends : limits.receives),
          first_(of_first_.size()),
          last_(of_last_.size()),
          backwards_(backwards) {}

    bool any() const { return !of_first_.empty() || !of_last_.empty(); }

    /// The earliest start over a link, not before `from`, at which both its ends have an engine.
    Picoseconds earliest(std::uint32_t link, Picoseconds from) const {
        const Use use = use_of(link);
        for (Picoseconds start = from;;) {
            Picoseconds at = start;
            if (use.most_first > 0) at = first_[use.first].earliest(at, use.held, use.most_first);
            if (use.most_last > 0)
                at = last_[use.last].earliest(at + use.lag, use.held, use.most_last) - use.lag;
            if (at == start) return start;
            start = at;
        }
    }

    void take(std::uint32_t link, Picoseconds start) {
        const Use use = use_of(link);
        if (use.most_first > 0) first_[use.first].take(start, use.held);
        if (use.most_last > 0) last_[use.last].take(start + use.lag, use.held);
    }

private:
    /// How many links a node drives, from each moment on.
    class Profile {
    public:
        Picoseconds earliest(Picoseconds from, Picoseconds length, std::uint32_t most) const {
            if (length == 0) return from;
            Picoseconds start = from;
            for (auto step = std::prev(driven_.upper_bound(from));
                 step != driven_.end() && step->first < start + length; ++step)
                if (step->second >= most) start = std::next(step)->first;
            return start;
        }

        void take(Picoseconds begin, Picoseconds length) {
            const auto end = step_at(begin + length);
            for (auto step = step_at(begin); step != end; ++step) ++step->second;
        }

    private:
        using Steps = std::map<Picoseconds, std::uint32_t>;

        Steps::iterator step_at(Picoseconds at) {
            return driven_.try_emplace(at, std::prev(driven_.upper_bound(at))->second).first;
        }

        Steps driven_{{std::numeric_limits<Picoseconds>::min(), 0}};
    };

    struct Use {
        std::uint32_t first, last;  ///< the nodes whose engine is taken first, and last
        std::uint32_t most_first, most_last;
        Picoseconds held;
        Picoseconds lag;  ///< between the two
    };

    static std::uint32_t most(const std::vector<std::uint32_t>& limits, std::uint32_t node) {
        return limits.empty() ? 0 : limits[node];
    }

    Use use_of(std::uint32_t number) const {
        const Link& link = links_[number];
        const std::uint32_t first = backwards_ ? link.to : link.from, last = backwards_ ? link.from : link.to;
        return {
            first, last, most(of_first_, first), most(of_last_, last), link.held, link.arrival - link.held};
    }

    const std::vector<Link>& links_;
    const std::vector<std::uint32_t>& of_first_;
    const std::vector<std::uint32_t>& of_last_;
    std::vector<Profile> first_, last_;
    bool backwards_;
};

}  // namespace dse::synthesis
