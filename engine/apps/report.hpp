// ASTRA-sim's report lines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "simulation/simulators/config.hpp"
#include "simulation/simulators/result.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::apps {

struct ReportOptions {
    bool roofline = false;     ///< the lines of utilisation
    bool peak_memory = false;  ///< the line of the peak, in bytes
    const workload::Reference* reference = &workload::default_reference();
};

/// Writes the lines of every rank that finished, in order of (finish tick, rank): ranks that finish in one
/// tick are in order of rank, where ASTRA-sim has them in the order of its events. Then, on a deadlock, a
/// critical line for each node that blocks a rank.
///
/// The first line names the reference. Every line begins with `[date time.ms] [logger] [level] `. The class
/// of a time is printed if the trace has a node of it, in the fixed order GPU, CPU, Comm, Remote mem,
/// Invalid; `%` stands where some versions of ASTRA-sim print `$`.
void write_report(const workload::Workload& workload, const simulator::SimulationResult& result,
                  const ReportOptions& options, std::FILE* out);

/// A blocked node in one line, without prefix.
std::string describe(const simulator::BlockedNode& node);

}  // namespace dse::apps
