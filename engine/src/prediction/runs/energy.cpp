// Energy of a run: power by phase, hosts and the facility.
#include <cmath>

#include "prediction/runs/job.hpp"

namespace dse::prediction::runs {

namespace {

/// Shares of the board's limit: expected, low, high. Patel et al. 2024 (ASPLOS), training on A100: peaks near
/// the limit, troughs of communication between 20 and 75 % of it. The bounds of idling are an assumption.
constexpr Bounds kComputing{1.0, 0.9, 1.05}, kCommunicating{0.5, 0.2, 0.75}, kIdle{0.2, 0.1, 0.3};
constexpr std::array<Bounds, kParts.size()> kPhases = {
    kComputing, kCommunicating, kCommunicating, kIdle, kComputing, kIdle, kIdle, kIdle, kIdle};
constexpr double kJoulesPerMwh = 3.6e9;

}  // namespace

Bounds energy_of(const std::array<double, kParts.size()>& parts_s, const Bounds& time_s,
                 const Facility& facility, double board_power_w, double npus) {
    const auto energy_mwh = [&](double Bounds::* end) {
        double boards_s = 0.0;
        for (std::size_t part = 0; part < parts_s.size(); ++part)
            boards_s += (facility.at_limit ? 1.0 : kPhases[part].*end) * parts_s[part];
        const double joules = boards_s * board_power_w + facility.host_w * time_s.value;
        const double longer = std::isnan(time_s.*end) ? 1.0 : time_s.*end / time_s.value;
        return joules * longer * facility.pue * npus / kJoulesPerMwh;
    };
    return {energy_mwh(&Bounds::value), energy_mwh(&Bounds::low), energy_mwh(&Bounds::high)};
}

}  // namespace dse::prediction::runs
