// Collectives whose sends are given: one delay, or the sends themselves on the links.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/pool.hpp"
#include "simulation/algorithms/phase.hpp"
#include "simulation/simulators/link_network.hpp"
#include "simulation/simulators/rank_timers.hpp"

namespace dse::simulator {

/// Brings the members of a phase together. Without links they all end one delay after the last has come; with
/// links a member's sends leave when it has come, and it ends when its sends and those to it have arrived.
class ScheduledCollectives {
public:
    /// One phase of a stream among its members; `first` is the rank of member 0.
    struct Key {
        std::uint32_t communicator, tag, phase, first;

        auto operator<=>(const Key&) const = default;
    };
    struct Comer {
        std::uint32_t stream, rank, member;
    };

    ScheduledCollectives(RankTimers& timers, LinkNetwork* links) : timers_(timers), links_(links) {}

    /// A member has come. At its end a kStep timer runs for its stream.
    void start(const Key& key, const collectives::Phase& phase, Comer comer);

    /// A send has reached the end of its link.
    void arrived(std::uint32_t flight);

    /// Members that have not come: `visit(stream that waits, member)`.
    template <typename Visitor>
    void for_each_missing(Visitor visit) const {
        for (const auto& [key, run] : runs_) {
            for (const Comer& comer : run->comers) {
                for (std::uint32_t m = 0; m < run->comer_of.size(); ++m)
                    if (run->comer_of[m] == kNil) visit(comer.stream, m);
            }
        }
    }

private:
    struct Run {
        Key key{};
        const collectives::SynthesizedUse* use = nullptr;
        const collectives::TimedSchedule* schedule = nullptr;
        std::uint64_t chunk_bytes = 0;
        std::uint32_t dimension = 0;
        std::vector<Comer> comers;
        std::vector<std::uint32_t> comer_of;     ///< per member its index in `comers`
        std::vector<std::uint32_t> waits, work;  ///< with links: what is left, by place and by member
        std::uint32_t members_left = 0;
    };
    struct Flight {
        Run* run;
        std::uint32_t place;
    };

    Run& run_of(const Key& key, const collectives::Phase& phase);
    std::uint32_t device_of(const Run& run, std::uint32_t node) const;
    void release(Run& run, std::vector<std::uint32_t> places);
    void work_done(Run& run, std::uint32_t node);
    void end(const Comer& comer, Time delay_ns) {
        timers_.after(comer.rank, delay_ns, {TimerKind::kStep, comer.stream, 0});
    }

    RankTimers& timers_;
    LinkNetwork* links_;
    std::map<Key, std::unique_ptr<Run>> runs_;
    Pool<Flight> flights_;
};

}  // namespace dse::simulator
