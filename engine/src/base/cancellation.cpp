// The slow path of a checkpoint.
#include "base/cancellation.hpp"

#include <utility>

#include "base/error.hpp"

namespace dse {

namespace {

constexpr std::chrono::milliseconds kBetweenPolls{50};
constexpr double kLongestSeconds = 1e9;  // what a clock can add without passing its end

}  // namespace

Cancellation Cancellation::limited_to(double seconds, std::string reason) const {
    Cancellation limited = *this;
    if (seconds >= kLongestSeconds) return limited;
    limited.deadline_ =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    limited.reason_ = std::move(reason);
    return limited;
}

void Cancellation::check() const {
    if (is_cancelled()) throw Cancelled();
    if (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_) throw DeadlinePassed(reason_);
}

void Checkpoint::look() const {
    left_ = kStride;
    if (cancellation_) cancellation_->check();
    if (!poll_) return;
    const auto now = Cancellation::Clock::now();
    if (now < next_poll_) return;
    next_poll_ = now + kBetweenPolls;
    poll_();
}

}  // namespace dse
