// The queue of Fiduccia and Mattheyses (1982): nodes in buckets by gain, last in first out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace dse::partition {

/// Gains are real numbers: a bucket is a range of them, so the order inside one is arbitrary.
class GainBuckets {
public:
    explicit GainBuckets(std::size_t nodes) : bucket_(nodes, kNone), next_(nodes), previous_(nodes) {}

    /// Empties it; gains will be about -`largest` to `largest`.
    void reset(double largest) {
        std::fill(bucket_.begin(), bucket_.end(), kNone);
        std::fill(std::begin(head_), std::end(head_), kNone);
        // Finite even for the smallest gains: 0 times infinity is no bucket.
        scale_ = largest > 0 ? std::min(kHalf / largest, std::numeric_limits<double>::max()) : 0;
        top_ = -1;
    }
    void clear() {
        for (std::int32_t bucket = 0; pop(bucket) >= 0;) {
        }
    }
    std::int32_t bucket_of(double gain) const {
        return static_cast<std::int32_t>(std::clamp(std::floor(gain * scale_), -kHalf, kHalf) + kHalf);
    }
    void put(std::int32_t node, double gain) {
        const std::int32_t bucket = bucket_of(gain);
        if (bucket_[at(node)] == bucket) return;
        erase(node);
        bucket_[at(node)] = bucket;
        next_[at(node)] = head_[at(bucket)];
        previous_[at(node)] = kNone;
        if (head_[at(bucket)] != kNone) previous_[at(head_[at(bucket)])] = node;
        head_[at(bucket)] = node;
        top_ = std::max(top_, bucket);
    }
    void erase(std::int32_t node) {
        const std::int32_t bucket = bucket_[at(node)];
        if (bucket == kNone) return;
        const std::int32_t before = previous_[at(node)], after = next_[at(node)];
        (before == kNone ? head_[at(bucket)] : next_[at(before)]) = after;
        if (after != kNone) previous_[at(after)] = before;
        bucket_[at(node)] = kNone;
    }
    /// A node of the highest bucket, or -1; `bucket` is where it was.
    std::int32_t pop(std::int32_t& bucket) {
        while (top_ >= 0 && head_[at(top_)] == kNone) --top_;
        if (top_ < 0) return -1;
        const std::int32_t node = head_[at(top_)];
        bucket = top_;
        erase(node);
        return node;
    }

private:
    static constexpr std::int32_t kNone = -1;
    static constexpr double kHalf = 1024;
    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    std::int32_t head_[2 * 1024 + 1];
    std::vector<std::int32_t> bucket_, next_, previous_;
    double scale_ = 0;
    std::int32_t top_ = -1;
};

}  // namespace dse::partition
