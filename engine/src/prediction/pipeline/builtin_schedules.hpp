// The schedules that the engine has: the tick at which each stage runs each operation.
//
// They are those of dse/inputs/strategies/schedules/kinds, which name the papers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "prediction/pipeline/recurrence.hpp"

namespace dse::prediction {

struct BuiltinSchedule {
    std::string_view name;
    bool splits_backward = false, is_v_shaped = false;
    std::int64_t chunks = 1;  ///< of every stage; 0: a plan chooses
    Timetable (*ticks)(std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches);
    std::string (*limit)(std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) = nullptr;

    Schedule schedule() const { return {std::string(name), splits_backward, is_v_shaped}; }

    /// Why it cannot run so many; empty if it can.
    std::string problem(std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) const;
    Timetable timetable(std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) const;
};

std::span<const BuiltinSchedule> builtin_schedules();

/// The schedule of a name; null where the engine has none.
const BuiltinSchedule* builtin_schedule(std::string_view name);

}  // namespace dse::prediction
