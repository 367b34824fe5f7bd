// Births and deaths are summed tick by tick.
#include "simulation/simulators/memory_tracker.hpp"

#include <algorithm>
#include <utility>

#include "base/pool.hpp"

namespace dse::simulator {

namespace {

constexpr std::uint64_t kMostTensorBytes = std::uint64_t{1} << 62;
constexpr std::size_t kManyChanges = std::size_t{1} << 18;  // fewer are sorted in some ms

}  // namespace

void MemoryTracker::read(std::span<const workload::TensorMention> mentions, Time end) {
    for (const workload::TensorMention& mention : mentions) {
        if (mention.bytes == 0 && skips_empty_) continue;
        TensorLife& tensor = tensors_[mention.tensor];
        if (!tensor.known) tensor = {mention.bytes, 0, 0, true, false};
        tensor.death = end;
        tensor.read = true;
    }
}

std::uint32_t MemoryTracker::write(std::span<const workload::TensorMention> mentions, Time start) {
    for (const workload::TensorMention& mention : mentions) {
        if (mention.bytes == 0 && skips_empty_) continue;
        TensorLife& tensor = tensors_[mention.tensor];
        if (tensor.known) return mention.tensor;
        tensor = {mention.bytes, start, 0, true, false};
    }
    return kNil;
}

std::uint64_t MemoryTracker::peak_bytes(const Checkpoint& checkpoint) const {
    std::vector<std::pair<Time, std::int64_t>> changes;
    changes.reserve(tensors_.size() * 2);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        checkpoint.every(i);
        const TensorLife& tensor = tensors_[i];
        if (!tensor.known) continue;
        if (tensor.bytes > kMostTensorBytes - all) {
            throw SimulationError("the tensors of a rank have more than " + std::to_string(kMostTensorBytes) +
                                  " bytes in all");
        }
        all += tensor.bytes;
        changes.emplace_back(tensor.birth, static_cast<std::int64_t>(tensor.bytes));
        if (tensor.read) changes.emplace_back(tensor.death, -static_cast<std::int64_t>(tensor.bytes));
    }
    if (changes.size() < kManyChanges) {
        std::sort(changes.begin(), changes.end());
    } else {
        std::sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) {
            checkpoint();
            return a < b;
        });
    }
    std::int64_t total = 0;
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        total += changes[i].second;
        const bool tick_over = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
        if (tick_over) peak = std::max(peak, total);
    }
    return static_cast<std::uint64_t>(peak);
}

}  // namespace dse::simulator
