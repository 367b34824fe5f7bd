// What the files of the Python module share.
#pragma once

#include <nanobind/nanobind.h>

void bind_traces(nanobind::module_& m);
void bind_simulation(nanobind::module_& m);
void bind_network(nanobind::module_& m);
