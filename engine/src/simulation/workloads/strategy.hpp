// The axes of a strategy in one table: the degrees along which ranks form groups, other degrees, and flags.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dse::workload {

/// Degrees along which ranks form groups, in the order in which an axis is claimed. The first varies fastest
/// from rank to rank; groups are numbered by axis.
enum class Axis : std::uint8_t { kData, kTensor, kSequence };
inline constexpr std::array kAxes = {Axis::kData, Axis::kTensor, Axis::kSequence};

/// The strategy, which decides the shape of a generated graph.
struct StrategySpec {
    std::int64_t dp = 1, tp = 1, sp = 1, pp = 1;
    bool weight_sharded = false;
    bool activation_recompute = false;

    template <typename Value>
    struct Field {
        const char* name;
        Value StrategySpec::* member;
    };
    /// Degrees: those of kAxes first, in their order. The product of all is the number of ranks.
    static constexpr Field<std::int64_t> kDegrees[] = {{"dp", &StrategySpec::dp},
                                                       {"tp", &StrategySpec::tp},
                                                       {"sp", &StrategySpec::sp},
                                                       {"pp", &StrategySpec::pp}};
    static constexpr Field<bool> kFlags[] = {{"weight_sharded", &StrategySpec::weight_sharded},
                                             {"activation_recompute", &StrategySpec::activation_recompute}};

    std::int64_t degree(Axis axis) const { return this->*kDegrees[static_cast<std::size_t>(axis)].member; }

    /// Ranks of a pipeline stage.
    std::int64_t lanes() const {
        std::int64_t product = 1;
        for (const Axis axis : kAxes) product *= degree(axis);
        return product;
    }
};

}  // namespace dse::workload
