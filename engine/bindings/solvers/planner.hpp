// Problems of planning between numpy and the engine.
#pragma once

#include "bindings/columns.hpp"
#include "planner/problem/problem.hpp"

// The module compiles as one source, where partitions have a Problem too.
using PlanningProblem = dse::planner::Problem;
