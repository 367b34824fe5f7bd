// Shares of a batch by speed, with the largest remainders.
#include "planner/walk/split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dse::planner {

std::vector<std::uint64_t> split_batch(std::span<const double> speeds, std::uint64_t batch) {
    double sum = 0;
    for (const double speed : speeds) sum += speed;
    std::vector<std::uint64_t> shares;
    std::vector<double> fractions;
    std::uint64_t rest = batch;
    for (const double speed : speeds) {
        const double share = static_cast<double>(batch) * (speed / sum);
        shares.push_back(static_cast<std::uint64_t>(share));
        fractions.push_back(share - std::floor(share));
        rest -= std::min(rest, shares.back());
    }
    std::vector<std::size_t> order(speeds.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return fractions[a] > fractions[b]; });
    for (std::size_t i = 0; i < order.size() && rest > 0; ++i, --rest) ++shares[order[i]];
    return shares;
}

}  // namespace dse::planner
