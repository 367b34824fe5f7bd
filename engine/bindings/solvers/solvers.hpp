// The parts of the module dse.native._solvers.
#pragma once

#include <nanobind/nanobind.h>

void bind_planner(nanobind::module_& m);
void bind_planner_exact(nanobind::module_& m);
void bind_planner_walk(nanobind::module_& m);
void bind_planner_steps(nanobind::module_& m);
void bind_partition(nanobind::module_& m);
void bind_synthesis(nanobind::module_& m);
void bind_synthesis_search(nanobind::module_& m);
void bind_synthesis_fixed(nanobind::module_& m);
void bind_synthesis_bounds(nanobind::module_& m);
void bind_synthesis_trees(nanobind::module_& m);
