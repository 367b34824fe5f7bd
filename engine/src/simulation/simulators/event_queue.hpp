// The event queue: ordered by time, then by insertion.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "base/flat_map.hpp"
#include "base/pool.hpp"
#include "base/time.hpp"

namespace dse::simulator {

enum class EventKind : std::uint8_t {
    kBucket,
    kArrival,
    kLateReceive,
    kCollectiveTail,
    kHop,
    kLinkFree,
    kFault,
    kScheduledArrival
};

struct Event {
    EventKind kind;
    std::uint32_t object;  ///< what it concerns; the kind tells of which table it is an index
};

/// One list per tick. Ranks act in step, so few ticks hold many events: a heap of ticks stays small.
class EventQueue {
public:
    explicit EventQueue(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

    /// The checkpoint of the call. Code that does much between two events passes it too.
    const Checkpoint& checkpoint() const { return checkpoint_; }

    Time now() const { return now_; }
    std::uint64_t executed() const { return executed_; }

    /// Throws SimulationError for a time that the clock does not have.
    void schedule(Time time, Event event) {
        if (time - 1 >= kEndOfTime - 1) refuse(time, event.kind);
        Tick& tick = ticks_[tick_at(time)];
        const std::uint32_t entry = entries_.add({event, kNil});
        if (tick.tail == kNil) {
            tick.head = entry;
        } else {
            entries_[tick.tail].next = entry;
        }
        tick.tail = entry;
    }

    /// Takes the next event and advances the clock; false if none is left.
    bool pop(Event& event) {
        checkpoint_();
        while (true) {
            if (current_ == kNil) {
                if (heap_.empty()) return false;
                current_ = heap_.top().second;
                now_ = heap_.top().first;
                heap_.pop();
            }
            Tick& tick = ticks_[current_];
            if (tick.head != kNil) {
                const std::uint32_t entry = tick.head;
                event = entries_[entry].event;
                tick.head = entries_[entry].next;
                if (tick.head == kNil) tick.tail = kNil;
                entries_.remove(entry);
                ++executed_;
                return true;
            }
            index_.erase({now_});
            ticks_.remove(current_);
            current_ = kNil;
        }
    }

private:
    struct Entry {
        Event event;
        std::uint32_t next;
    };
    struct Tick {
        std::uint32_t head = kNil;
        std::uint32_t tail = kNil;
    };
    struct TimeKey {
        Time time = 0;
        std::uint64_t hash() const { return mix_bits(time); }
        bool operator==(const TimeKey&) const = default;
    };
    struct TickIndex {
        std::uint32_t tick = kNil;
    };

    [[noreturn]] static void refuse(Time time, EventKind kind) {
        if (time == 0) {
            throw SimulationError(
                "an event falls on time 0, where the reference stops: a delay at the start is zero "
                "(endpoint-delay 0, a compute node of less than 1 ns, or a message without latency)");
        }
        const std::string end =
            " after the end of simulated time, " + std::to_string(kEndOfTime) + " ns (104 days): ";
        if (kind == EventKind::kBucket) {
            throw EndOfTimeError("a computation, an access to memory or a delay ends" + end +
                                 "peak_tflops or a memory bandwidth is too small, or a delay or a recorded "
                                 "duration too large");
        }
        if (kind == EventKind::kFault)
            throw EndOfTimeError("a fault begins" + end + "its at_ns is too large");
        throw EndOfTimeError("a message arrives" + end +
                             "bandwidth_gbps of the network is too small, or latency_ns too large");
    }

    std::uint32_t tick_at(Time time) {
        TickIndex& index = index_[{time}];
        if (index.tick == kNil) {
            index.tick = ticks_.add({});
            heap_.emplace(time, index.tick);
        }
        return index.tick;
    }

    using HeapItem = std::pair<Time, std::uint32_t>;

    const Checkpoint& checkpoint_;
    Time now_ = 0;
    std::uint32_t current_ = kNil;
    std::uint64_t executed_ = 0;
    Pool<Entry> entries_;
    Pool<Tick> ticks_;
    FlatMap<TimeKey, TickIndex> index_;
    std::priority_queue<HeapItem, std::vector<HeapItem>, std::greater<>> heap_;
};

}  // namespace dse::simulator
