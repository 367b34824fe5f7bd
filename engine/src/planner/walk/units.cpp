// Fusing units of device groups until there are few enough to be arranged.
#include "planner/walk/units.hpp"

#include <algorithm>
#include <numeric>

namespace dse::planner {

namespace {

std::uint32_t total_of(const Unit& unit) { return std::accumulate(unit.begin(), unit.end(), 0U); }

/// The leading units that are like the first, and the one after them.
std::int64_t leading_units(const std::vector<Unit>& units) {
    const auto other = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u != units[0]; });
    return other == units.end() ? std::ssize(units) : other - units.begin() + 1;
}

/// One walk over the pairs of neighbours; pairs that are not fused use up an index too.
std::vector<Unit> fused(const std::vector<Unit>& units, std::int64_t need) {
    const std::uint32_t total = total_of(units[0]);
    std::vector<Unit> result;
    std::size_t at = 0;
    for (std::int64_t pair = 0; pair < need && at + 1 < units.size(); ++pair, at += 2) {
        result.push_back(units[at]);
        const Unit& second = units[at + 1];
        if (total_of(units[at]) == total && total_of(second) == total)
            result.back().insert(result.back().end(), second.begin(), second.end());
        else
            result.push_back(second);
    }
    result.insert(result.end(), units.begin() + static_cast<std::ptrdiff_t>(at), units.end());
    return result;
}

}  // namespace

std::vector<Unit> merged_units(const std::vector<std::uint32_t>& composition, std::uint64_t limit) {
    std::vector<Unit> units;
    for (const std::uint32_t gpus : composition) units.push_back({gpus});
    const auto excess = [&] { return std::ssize(units) - static_cast<std::int64_t>(limit); };
    std::int64_t need = excess();
    while (need > 0) {
        need = std::max(need, leading_units(units) / 2);
        units = fused(units, need);
        if (need == excess()) break;
        need = excess();
    }
    return units;
}

}  // namespace dse::planner
