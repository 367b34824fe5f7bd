// A new performance vector from capacities and demands.
#include "planner/walk/rebalance.hpp"

#include <cstddef>

#include "base/error.hpp"

namespace dse::planner {

namespace {

constexpr double kCut = 0.9;       // what is left to a stage that is short of memory
constexpr double kDropped = 0.01;  // need that is not worth a pass
constexpr double kNoRoom = 0.001;  // room that is not worth using

struct Spare {
    std::vector<double> free;
    std::vector<double> extra;
    double need = 0;
};

/// One pass over the stages that have room; false: none has.
bool hand_out(Spare& spare, std::span<const double> performance) {
    double total = 0;
    for (std::size_t i = 0; i < performance.size(); ++i)
        if (spare.free[i] > kNoRoom) total += performance[i];
    if (total == 0) return false;
    for (std::size_t i = 0; i < performance.size(); ++i) {
        const double ratio = spare.free[i] > kNoRoom ? performance[i] / total : 0;
        const double wanted = spare.need * ratio;
        const double given = wanted > spare.free[i] ? spare.free[i] : wanted;
        spare.extra[i] += given;
        spare.free[i] -= given;
        spare.need -= given;
    }
    return true;
}

}  // namespace

bool rebalance(std::span<double> performance, std::span<const double> capacity_mb,
               std::span<const double> demand_mb) {
    const std::size_t stages = performance.size();
    Spare spare{std::vector<double>(stages), std::vector<double>(stages), 0};
    std::vector<double> base(stages);
    double free = 0;
    for (std::size_t i = 0; i < stages; ++i) {
        const double share = performance[i];
        if (capacity_mb[i] > demand_mb[i]) {
            base[i] = share;
            spare.free[i] = share * capacity_mb[i] / demand_mb[i] - share;
        } else {
            base[i] = share * (capacity_mb[i] / demand_mb[i]) * kCut;
            spare.need += share - base[i];
        }
        free += spare.free[i];
    }
    if (free < spare.need) return false;
    while (spare.need > kDropped)
        if (!hand_out(spare, performance))
            throw InputError(
                "the walk's memory balancing never ends here: layers must still move, and no stage has room "
                "for "
                "more than a thousandth of the model; use fewer layers or GPUs, or planner=exact");
    for (std::size_t i = 0; i < stages; ++i) performance[i] = spare.extra[i] + base[i];
    return true;
}

}  // namespace dse::planner
