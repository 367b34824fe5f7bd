// Compositions of a cluster and the arrangements of their units.
#include "planner/walk/groups.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "planner/walk/units.hpp"

namespace dse::planner {

namespace {

std::uint64_t least_group(const GroupRules& rules, std::uint32_t stages) {
    return std::max(rules.gpus / stages, stages / rules.gpus) * rules.scale;
}

/// Whether `parts` powers of two of at least `shape` can add up to `sum`: splitting one in halves adds a
/// part, from the fewest (the ones of its binary form) to all of them ones.
bool can_add_up(std::uint64_t sum, std::uint32_t parts, std::uint64_t shape) {
    if (parts == 0) return sum == 0;
    const std::uint64_t shapes = sum / shape;
    return sum % shape == 0 && static_cast<std::uint32_t>(std::popcount(shapes)) <= parts && parts <= shapes;
}

/// Non-decreasing powers of two in lexicographic order; no branch is a dead end.
class Compositions {
public:
    Compositions(std::uint32_t stages, const std::function<bool(const std::vector<std::uint32_t>&)>& take)
        : stages_(stages), take_(take) {
        parts_.reserve(stages);
    }

    bool visit(std::uint64_t left, std::uint64_t least) {
        if (parts_.size() == stages_) return take_(parts_);
        const auto parts = stages_ - static_cast<std::uint32_t>(parts_.size());
        for (std::uint64_t shape = least; shape * parts <= left; shape *= 2) {
            if (!can_add_up(left - shape, parts - 1, shape)) continue;
            parts_.push_back(static_cast<std::uint32_t>(shape));
            const bool more = visit(left - shape, shape);
            parts_.pop_back();
            if (!more) return false;
        }
        return true;
    }

private:
    std::uint32_t stages_;
    const std::function<bool(const std::vector<std::uint32_t>&)>& take_;
    std::vector<std::uint32_t> parts_;
};

bool for_each_composition(const GroupRules& rules, std::uint32_t stages,
                          const std::function<bool(const std::vector<std::uint32_t>&)>& take) {
    const std::uint64_t least = least_group(rules, stages);
    return Compositions(stages, take).visit(rules.gpus, least == 0 ? 1 : std::bit_ceil(least));
}

/// The next arrangement by a prefix shift (Williams, "Loopless generation of multiset permutations using a
/// constant number of variables by prefix shifts", SODA 2009).
void shift(std::vector<std::uint32_t>& a) {
    const std::size_t n = a.size();
    const auto falls = std::is_sorted_until(a.begin(), a.end(), std::greater<>());
    const auto prefix = static_cast<std::size_t>(falls - a.begin());
    std::size_t moved = n - 1;
    if (prefix + 1 < n) moved = a[prefix + 1] <= a[prefix - 1] ? prefix + 1 : prefix;
    std::rotate(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(moved),
                a.begin() + static_cast<std::ptrdiff_t>(moved) + 1);
}

/// All distinct arrangements of the units; `take` gets them with their groups in a row.
bool for_each_arrangement(const std::vector<Unit>& units, const TakeGroups& take) {
    std::vector<Unit> kinds = units;
    std::sort(kinds.begin(), kinds.end());
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    std::vector<std::uint32_t> numbers;
    for (const Unit& unit : units)
        numbers.push_back(
            static_cast<std::uint32_t>(std::lower_bound(kinds.begin(), kinds.end(), unit) - kinds.begin()));
    std::sort(numbers.begin(), numbers.end(), std::greater<>());
    const std::vector<std::uint32_t> start = numbers;
    std::vector<std::uint32_t> groups;
    do {
        groups.clear();
        for (const std::uint32_t number : numbers)
            groups.insert(groups.end(), kinds[number].begin(), kinds[number].end());
        if (!take(groups)) return false;
        shift(numbers);
    } while (numbers != start);
    return true;
}

}  // namespace

bool has_groups(const GroupRules& rules, std::uint32_t stages) {
    return !for_each_composition(rules, stages, [](const auto&) { return false; });
}

bool for_each_groups(const GroupRules& rules, std::uint32_t stages, const TakeGroups& take) {
    return for_each_composition(rules, stages, [&](const std::vector<std::uint32_t>& composition) {
        return for_each_arrangement(merged_units(composition, rules.limit), take);
    });
}

}  // namespace dse::planner
