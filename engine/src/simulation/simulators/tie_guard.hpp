// Notices events of one tick whose order the ranks of a class might not share.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/simulators/event_queue.hpp"
#include "simulation/simulators/symmetry.hpp"

namespace dse::simulator {

/// How an event came into the queue: ties are broken by insertion, so this decides the order in a tick.
struct EventOrigin {
    bool in_bucket = false;
    Time inserted = 0;           ///< tick at which the event, or its bucket, was inserted
    Time registered = 0;         ///< bucket: tick at which the timer joined it
    bool by_pass = false;        ///< bucket: the timer was registered by an issue pass of the class
    std::uint32_t inserter = 0;  ///< class whose issue pass inserted the event
};

/// A class is simulated once, so everything that other ranks insert at the same tick has no known order. An
/// order is known if the insertions are of different ticks, or were made by the passes of one class. While a
/// collective is in flight, its packets may have made a bucket earlier than known here.
class TieGuard {
public:
    explicit TieGuard(std::size_t classes) : ticks_(classes) {}

    void collective(std::uint32_t rank_class, Time start, Time end) {
        Tick& tick = ticks_[rank_class];
        tick.previous = tick.current;
        tick.current = {start, end};
    }

    /// Throws NotSymmetric if the order of this event and another one of the same tick is not known.
    void note(std::uint32_t rank_class, Time now, const EventOrigin& event) {
        Tick& tick = ticks_[rank_class];
        if (tick.time != now || tick.events.empty()) {
            tick.time = now;
            tick.events.clear();
        }
        for (const EventOrigin& other : tick.events) {
            if (!is_ordered(rank_class, tick, other, event)) {
                throw NotSymmetric("two events of one tick whose order may differ between ranks");
            }
        }
        tick.events.push_back(event);
    }

private:
    struct Flight {
        Time start = 0, end = 0;
        bool covers(Time time) const { return start < time && time <= end; }
    };
    struct Tick {
        Time time = 0;
        std::vector<EventOrigin> events;
        Flight current, previous;
    };

    static bool is_ordered(std::uint32_t rank_class, const Tick& tick, const EventOrigin& a,
                           const EventOrigin& b) {
        if (a.in_bucket && b.in_bucket) return a.registered != b.registered || (a.by_pass && b.by_pass);
        if (!a.in_bucket && !b.in_bucket) return a.inserted != b.inserted || a.inserter == b.inserter;
        const EventOrigin& bucket = a.in_bucket ? a : b;
        const EventOrigin& single = a.in_bucket ? b : a;
        if (bucket.inserted < single.inserted) return true;
        if (tick.current.covers(tick.time) || tick.previous.covers(tick.time)) return false;
        return bucket.inserted > single.inserted || single.inserter == rank_class;
    }

    std::vector<Tick> ticks_;
};

}  // namespace dse::simulator
