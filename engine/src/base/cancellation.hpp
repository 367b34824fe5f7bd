// Ending a call of the engine early: by another thread, by a deadline, or by whoever polls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dse {

/// Cancels every call that has a copy; calls may run in any threads.
class Cancellation {
public:
    using Clock = std::chrono::steady_clock;

    Cancellation() : cancelled_(std::make_shared<std::atomic<bool>>(false)) {}

    /// The same, and a deadline in `seconds` from now; `reason` is what DeadlinePassed then says.
    Cancellation limited_to(double seconds, std::string reason) const;

    void cancel() const { cancelled_->store(true, std::memory_order_relaxed); }
    bool is_cancelled() const { return cancelled_->load(std::memory_order_relaxed); }

    /// Throws Cancelled or DeadlinePassed.
    void check() const;

private:
    std::shared_ptr<std::atomic<bool>> cancelled_;
    Clock::time_point deadline_ = Clock::time_point::max();
    std::string reason_;
};

/// Every loop of the engine that can run long passes through `checkpoint()`. One per call, for one
/// thread. It counts, looks only at every 256th pass, and throws there if the call is to end.
class Checkpoint {
public:
    /// Never ends a call.
    Checkpoint() = default;

    /// `poll`, if any, is called every 50 ms at most, and may throw.
    explicit Checkpoint(std::optional<Cancellation> cancellation, std::function<void()> poll = {})
        : cancellation_(std::move(cancellation)), poll_(std::move(poll)) {}

    void operator()() const {
        if (--left_ == 0) look();
    }

    /// The same for pass `i` of a loop that counts by itself, which is cheaper; loops around it need their
    /// own.
    void every(std::size_t i) const {
        if (i % kStride == kStride - 1) look();
    }

    /// The same without counting, before a step of some ms.
    void look() const;

private:
    static constexpr std::uint32_t kStride = 256;

    std::optional<Cancellation> cancellation_;
    std::function<void()> poll_;
    mutable std::uint32_t left_ = kStride;
    mutable Cancellation::Clock::time_point next_poll_ = Cancellation::Clock::time_point::min();
};

}  // namespace dse
