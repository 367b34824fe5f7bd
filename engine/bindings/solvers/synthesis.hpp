// Arrays of schedules between numpy and the engine.
#pragma once

#include "bindings/columns.hpp"
#include "collectives/problem/problem.hpp"

/// Sends as numpy arrays: link (int32), chunk (int32), start in ps (int64).
nanobind::tuple to_numpy(const dse::synthesis::Sends& sends);

/// Links that nodes drive at once, per node or empty: sends and receives.
dse::synthesis::EngineLimits engine_limits_of(const Column<std::int32_t>& sends,
                                              const Column<std::int32_t>& receives);
