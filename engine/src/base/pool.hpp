// Objects addressed by index and recycled, so that the event loop does not allocate.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace dse {

inline constexpr std::uint32_t kNil = UINT32_MAX;

/// Objects of a kind that exist at a time: more would take the memory of the machine.
inline constexpr std::size_t kMostPooled = std::size_t{1} << 26;

/// References are valid until the next `add`.
template <typename T>
class Pool {
public:
    std::uint32_t add(T value) {
        if (free_.empty()) {
            if (items_.size() == kMostPooled) fail();
            items_.push_back(std::move(value));
            return static_cast<std::uint32_t>(items_.size() - 1);
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        items_[index] = std::move(value);
        return index;
    }
    /// A place whose former content is kept, so that its buffers are reused.
    std::uint32_t acquire() {
        if (free_.empty()) return add({});
        const std::uint32_t index = free_.back();
        free_.pop_back();
        return index;
    }
    void remove(std::uint32_t index) { free_.push_back(index); }

    T& operator[](std::uint32_t index) { return items_[index]; }
    const T& operator[](std::uint32_t index) const { return items_[index]; }

private:
    [[noreturn]] static void fail() {
        throw SimulationError("the simulation needs more than " + std::to_string(kMostPooled) +
                              " packets, timers or events at a time; use fewer NPUs, chunks "
                              "(preferred_dataset_splits) or packets in flight");
    }

    std::vector<T> items_;
    std::vector<std::uint32_t> free_;
};

}  // namespace dse
