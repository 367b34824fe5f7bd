// Events in their order: items by time, those of one time together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Items (small integers) with times. Many items of few times cost O(1) each, others a heap's logarithm.
class Calendar {
public:
    void add(Picoseconds time, std::uint32_t item) {
        Recent& recent = recent_[slot_of(time)];
        if (recent.time != time) recent = {time, open(time)};
        buckets_[recent.bucket].push_back(item);
    }

    /// As if it were new, but for the memory that it has.
    void clear() {
        heap_.clear();
        unused_.clear();
        for (std::uint32_t bucket = 0; bucket < opened_; ++bucket) buckets_[bucket].clear();
        opened_ = 0;
        recent_.fill({});
    }

    bool empty() const { return heap_.empty(); }
    Picoseconds next_time() const { return heap_.front().first; }

    /// Moves the items of the least time into `items`, in the order in which they were added.
    Picoseconds take(std::vector<std::uint32_t>& items) {
        const Picoseconds time = next_time();
        items.clear();
        while (!heap_.empty() && heap_.front().first == time) {
            std::vector<std::uint32_t>& bucket = buckets_[heap_.front().second];
            items.insert(items.end(), bucket.begin(), bucket.end());
            bucket.clear();
            unused_.push_back(heap_.front().second);
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
        }
        Recent& recent = recent_[slot_of(time)];
        if (recent.time == time) recent.time = -1;
        return time;
    }

private:
    /// Where items of a time seen lately go; forgetting one only opens a second bucket for its time.
    struct Recent {
        Picoseconds time = -1;
        std::uint32_t bucket = 0;
    };

    static constexpr std::size_t kSlots = 256;

    static std::size_t slot_of(Picoseconds time) {
        return (static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15ULL) >> 56;
    }

    std::uint32_t open(Picoseconds time) {
        std::uint32_t bucket;
        if (unused_.empty()) {
            bucket = opened_++;
            if (bucket == buckets_.size()) buckets_.emplace_back();
        } else {
            bucket = unused_.back();
            unused_.pop_back();
        }
        heap_.emplace_back(time, bucket);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        return bucket;
    }

    std::vector<std::pair<Picoseconds, std::uint32_t>> heap_;
    std::vector<std::vector<std::uint32_t>> buckets_;
    std::vector<std::uint32_t> unused_;
    std::uint32_t opened_ = 0;  ///< buckets, of which some are unused again
    std::array<Recent, kSlots> recent_{};
};

}  // namespace dse::synthesis
