// Problems of planning between numpy and the engine.
#pragma once

#include "bindings/synthesis.hpp"
#include "planner/problem.hpp"

// The module compiles as one source, where synthesis has a Problem too.
using PlanningProblem = dse::planner::Problem;
