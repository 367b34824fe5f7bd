// Local timers of the ranks, gathered in one bucket per rank and tick.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pool.hpp"
#include "simulation/simulators/event_queue.hpp"

namespace dse::simulator {

enum class TimerKind : std::uint8_t {
    kNodeDone,        ///< a compute, replay or remote-memory duration is over; object: node
    kPacketReady,     ///< a packet has passed the endpoint; object: stream
    kReducingPacket,  ///< the same for a packet that is then reduced; object: stream
    kPacketReduced,   ///< object: stream
    kStep,            ///< a step of an algorithm without packet pump; object: stream
    kCustomNode,      ///< a computation of a custom collective is over; object: its node
    kCollectiveDone,  ///< lockstep: a collective is over; object: node
};

struct Timer {
    TimerKind kind;
    std::uint32_t object;
    std::uint64_t detail = 0;  ///< kReducingPacket: reduction time; kStep: what
};

/// A bucket is one global event; timers join it in order of registration, also while it runs.
class RankTimers {
public:
    RankTimers(EventQueue& queue, std::uint32_t rank_count) : queue_(queue), pending_(rank_count) {}

    const Checkpoint& checkpoint() const { return queue_.checkpoint(); }

    void after(std::uint32_t rank, Time delay, Timer timer) {
        const Time time = queue_.now() + delay;
        const std::uint32_t index = bucket_at(rank, time);
        queue_.checkpoint()();
        const std::uint32_t entry = entries_.add({timer, kNil});
        Bucket& bucket = buckets_[index];
        if (bucket.tail == kNil) {
            bucket.head = entry;
        } else {
            entries_[bucket.tail].next = entry;
        }
        bucket.tail = entry;
    }

    /// Runs a bucket: calls `handle(rank, timer)` for each timer, those added meanwhile included.
    template <typename Handler>
    void run(std::uint32_t index, Handler handle) {
        const std::uint32_t rank = buckets_[index].rank;
        running_since_ = buckets_[index].created;
        while (buckets_[index].head != kNil) {
            const std::uint32_t entry = buckets_[index].head;
            const Timer timer = entries_[entry].timer;
            buckets_[index].head = entries_[entry].next;
            if (buckets_[index].head == kNil) buckets_[index].tail = kNil;
            entries_.remove(entry);
            handle(rank, timer);
        }
        std::vector<Pending>& pending = pending_[rank];
        for (std::size_t i = 0; i < pending.size(); ++i) {
            if (pending[i].bucket != index) continue;
            pending[i] = pending.back();
            pending.pop_back();
            break;
        }
        buckets_.remove(index);
    }

    /// Tick at which the bucket that runs now was made.
    Time running_since() const { return running_since_; }

private:
    struct Entry {
        Timer timer;
        std::uint32_t next;
    };
    struct Bucket {
        std::uint32_t rank;
        Time created;
        std::uint32_t head = kNil;
        std::uint32_t tail = kNil;
    };
    struct Pending {
        Time time;
        std::uint32_t bucket;
    };

    std::uint32_t bucket_at(std::uint32_t rank, Time time) {
        std::vector<Pending>& pending = pending_[rank];
        for (std::size_t i = pending.size(); i-- > 0;) {
            if (pending[i].time == time) return pending[i].bucket;
        }
        const std::uint32_t index = buckets_.add({rank, queue_.now()});
        queue_.schedule(time, {EventKind::kBucket, index});
        pending.push_back({time, index});
        return index;
    }

    EventQueue& queue_;
    Time running_since_ = 0;
    Pool<Entry> entries_;
    Pool<Bucket> buckets_;
    std::vector<std::vector<Pending>> pending_;
};

}  // namespace dse::simulator
