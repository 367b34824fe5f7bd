// Simulated time: its unit, its end, and arithmetic that does not pass the end unnoticed.
#pragma once

#include <cstdint>

namespace dse {

using Time = std::uint64_t;  ///< nanoseconds

/// 2^53 ns, 104 days: later times are lost by the reference, whose clock passes through a double. No event is
/// scheduled from here on, so that every sum of two times fits into a Time.
inline constexpr Time kEndOfTime = Time{1} << 53;

/// Whole ns of a duration; the end of time for what does not end before it, infinity and NaN included.
inline Time whole_ns(double ns) {
    return ns < static_cast<double>(kEndOfTime) ? static_cast<Time>(ns) : kEndOfTime;
}

/// `count` durations one after the other, the end of time at most.
inline Time in_sequence(std::uint64_t count, Time duration) {
    return duration != 0 && count > kEndOfTime / duration ? kEndOfTime : count * duration;
}

}  // namespace dse
