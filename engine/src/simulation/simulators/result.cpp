// Ranks of equal traces and figures are listed once.
#include "simulation/simulators/result.hpp"

#include <unordered_map>
#include <utility>

#include "base/pool.hpp"

namespace dse::simulator {

void merge_equal_classes(const workload::Workload& workload, SimulationResult& result,
                         const Checkpoint& checkpoint) {
    std::unordered_multimap<std::uint64_t, std::uint32_t> merged_by_time;
    std::vector<RankResult> merged;
    std::vector<std::uint32_t> trace_of_merged;
    std::vector<std::uint32_t> merged_of_class(result.classes.size(), kNil);
    for (std::uint32_t rank = 0; rank < result.class_of_rank.size(); ++rank) {
        checkpoint();
        std::uint32_t& place = merged_of_class[result.class_of_rank[rank]];
        if (place == kNil) {
            const RankResult& figures = result.classes[result.class_of_rank[rank]];
            const auto [first, last] = merged_by_time.equal_range(figures.finish_ns);
            for (auto it = first; it != last && place == kNil; ++it) {
                checkpoint();
                const bool same_trace = trace_of_merged[it->second] == workload.trace_of_rank[rank];
                if (same_trace && merged[it->second] == figures) place = it->second;
            }
            if (place == kNil) {
                place = static_cast<std::uint32_t>(merged.size());
                merged.push_back(figures);
                trace_of_merged.push_back(workload.trace_of_rank[rank]);
                merged_by_time.emplace(figures.finish_ns, place);
            }
        }
        result.class_of_rank[rank] = place;
    }
    result.classes = std::move(merged);
}

}  // namespace dse::simulator
