// Collectives whose sends are given as schedules: how long they take by size, and what each send waits for.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "collectives/schedules/replay.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::collectives {

/// The time of one way through a schedule: `base_ps` + `ps_per_byte` * bytes of a chunk.
struct CostLine {
    double base_ps = 0.0;
    double ps_per_byte = 0.0;
};

/// A schedule among members 0 … n-1 and other devices that relay. Its time is the longest of its ways: a
/// convex, piecewise linear function of the size of a chunk.
class TimedSchedule {
public:
    /// `from` and `to` are the ends of links; a member's share of the data is cut into chunks.
    TimedSchedule(std::shared_ptr<const synthesis::Replay> replay, std::vector<std::uint32_t> from,
                  std::vector<std::uint32_t> to, std::uint32_t members, std::uint32_t chunks_per_member,
                  std::vector<CostLine> lines);

    std::uint32_t members() const { return members_; }
    std::uint64_t chunk_bytes(std::uint64_t share) const {
        return share / chunks_per_member_ + (share % chunks_per_member_ != 0 ? 1 : 0);
    }
    /// If all members start together and nothing else is on the links.
    double time_ps(std::uint64_t share) const;

    // For those that send for real. A place is a step of the replay: a send or a join.
    const synthesis::Replay::Step& step(std::uint32_t place) const { return replay_->steps()[place]; }
    std::uint32_t from(std::uint32_t place) const { return from_[step(place).link]; }
    std::uint32_t to(std::uint32_t place) const { return to_[step(place).link]; }
    /// Per place how many of these it waits for: a step before, its link's send before, its member's start.
    const std::vector<std::uint32_t>& waits() const { return waits_; }
    /// Places that wait for a place, for the link's send before, and for the start of a member.
    std::span<const std::uint32_t> after(std::uint32_t place) const { return range(after_, place); }
    std::uint32_t next_on_link(std::uint32_t place) const { return next_on_link_[place]; }
    std::span<const std::uint32_t> sent_by(std::uint32_t member) const { return range(sent_by_, member); }
    /// How many sends leave or reach a member: it is done after all of them.
    const std::vector<std::uint32_t>& work() const { return work_; }

private:
    struct Lists {
        std::vector<std::uint32_t> begin, items;
    };
    static Lists lists_of(std::size_t count,
                          const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);
    static std::span<const std::uint32_t> range(const Lists& lists, std::uint32_t index) {
        return {lists.items.data() + lists.begin[index], lists.items.data() + lists.begin[index + 1]};
    }

    std::shared_ptr<const synthesis::Replay> replay_;
    std::vector<std::uint32_t> from_, to_;
    std::uint32_t members_;
    std::uint32_t chunks_per_member_;
    std::vector<CostLine> lines_;
    std::vector<std::uint32_t> waits_, next_on_link_, work_;
    Lists after_, sent_by_;
};

/// Schedules for one collective on one graph: each size takes the fastest.
struct Synthesized {
    std::vector<TimedSchedule> schedules;

    const TimedSchedule& best(std::uint64_t share) const;
    Time time_ns(std::uint64_t share) const { return whole_ns(best(share).time_ps(share) / 1000.0); }
};

/// Among whom: the NPUs along a dimension, all NPUs, or a communicator that is a list.
enum class ScopeKind : std::uint8_t { kDimension, kAllRanks, kCommunicator };

struct Scope {
    workload::CollectiveType type = workload::CollectiveType::kAllReduce;
    ScopeKind kind = ScopeKind::kDimension;
    std::uint32_t index = 0;  ///< of the dimension or communicator

    auto operator<=>(const Scope&) const = default;
};

struct SynthesizedUse {
    std::shared_ptr<const Synthesized> schedules;
    std::vector<std::uint32_t> devices;  ///< of the network, by node of the schedule; empty for dimensions
};

}  // namespace dse::collectives
