// Sums over the layers of profiles.
#include "planner/problem/problem.hpp"

namespace dse::planner {

namespace {

/// Appends 0 and the running sums of `values`; the order of additions is that of the layers.
void append_sums(std::vector<double>& sums, std::span<const double> values) {
    double sum = 0;
    sums.push_back(sum);
    for (const double value : values) sums.push_back(sum += value);
}

}  // namespace

void Profiles::add_up() {
    ms_before.clear();
    memory_mb_before.clear();
    for (std::size_t i = 0; i < times.size(); ++i) {
        const auto entry = static_cast<std::int32_t>(i);
        append_sums(ms_before, ms_of(entry));
        append_sums(memory_mb_before, memory_mb_of(entry));
        times[i].total_ms = ms_before.back();
    }
}

}  // namespace dse::planner
