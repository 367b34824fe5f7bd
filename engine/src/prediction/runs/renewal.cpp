// Closed forms of the renewal process, and the interval at which their sum is least.
#include "prediction/runs/renewal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dse::prediction::runs {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRoundedUp = 1 + 1e-12;  // so that a copy needs no stretch more by rounding
constexpr double kLongest = 700.0;        // exp of more is infinite

/// Of a failure: the time until the job computes, the failures in it, how often it leads to storage.
struct Recovery {
    double each_s = 0.0, repeated = 0.0, back = 1.0;
};

/// A failure in a recovery begins another one, of its own class. Once a failure has lost the near copy, all
/// that interrupt its recovery read storage, too.
Recovery recovery_of(std::span<const FailureClass> classes, double rate, bool has_near) {
    if (rate <= 0) return {};
    double near = 0.0, far = 0.0, lost = 0.0, lost_share = 0.0;  // shares of recoveries that are interrupted
    for (const FailureClass& one : classes) {
        const double share = one.rate / rate, interrupted = share * -std::expm1(-rate * one.recovery_s);
        far += interrupted;
        if (has_near && one.near_recovery_s) {
            near += share * -std::expm1(-rate * *one.near_recovery_s);
        } else {
            lost += interrupted;
            lost_share += share;
        }
    }
    if (near >= 1 || (far >= 1 && lost > 0)) return {kInfinite, kInfinite, 1.0};
    const double repeated = (near + (lost > 0 ? lost / (1 - far) : 0.0)) / (1 - near);
    return {repeated / rate, repeated, std::min(1.0, lost_share / (1 - near))};
}

/// The expected stretches before one leads back, of `count`: a geometric series.
double sum_of(double stays, double count, double leads_back) {
    return leads_back > 0 && count > 0 ? -std::expm1(stays * count) / leads_back : count;
}

/// The expected failures, outside recoveries, of a cycle of `every` stretches. `first` and `again` are the
/// expected failures in a stretch, and in one after a failure; `back` is the share of failures that lead back
/// to storage. A stretch that is repeated until it ends, or leads back, is tried t times; one that begins
/// well fails (1 - exp(-first)) t times, and leads back with q of those.
double failures_of(double first, double again, double back, double every, double lag) {
    const double fails = -std::expm1(-first), fails_again = -std::expm1(-again);
    const double ends = std::exp(-again);  // of a try; 1 - fails_again would lose it
    const double tries = 1 / (ends + fails_again * back);
    const double bad = fails * tries, bad_again = fails_again * tries;
    const double leads_back = bad * back;
    const double ends_again = ends * tries;
    const double stays = leads_back < 1 ? std::log1p(-leads_back) : -kInfinite;
    if (back <= 0) return bad * every;
    if (ends_again <= 0 || -stays * (every + lag) > kLongest) return kInfinite;
    const double rest = every + lag - 1;
    const double from_storage = (bad_again + ends_again * sum_of(stays, rest, leads_back) * bad) /
                                (ends_again * std::exp(stays * rest));
    return sum_of(stays, every, leads_back) * bad - std::expm1(stays * every) * from_storage;
}

/// The expectation with every failed node replaced at once. A cycle is the stretches from one copy in storage
/// to the next, `every` of them. A failure that loses the near copy leads back over those and `lag` more, one
/// without it repeats its stretch.
Expected without_repairs(double interval_s, const Checkpoints& checkpoints,
                         std::span<const FailureClass> classes, double every, double lag) {
    const Expected endless{1.0, 0.0, kInfinite, kInfinite, kInfinite, kInfinite};
    const double rate = rate_of(classes);
    const double stretch = interval_s + checkpoints.blocking_s, again = stretch + checkpoints.writing_s;
    if (rate * again > kLongest) return endless;
    const Recovery recovery = recovery_of(classes, rate, checkpoints.flush_s.has_value());
    const double per_work = 1 / (every * interval_s);
    const double failures = failures_of(rate * stretch, rate * again, recovery.back, every, lag);
    if (std::isinf(failures) || std::isinf(recovery.each_s)) return endless;
    const double up = rate > 0 ? failures / rate : every * stretch;
    return {1.0,
            checkpoints.blocking_s / interval_s,
            std::max(0.0, up - every * stretch) * per_work,
            failures * recovery.each_s * per_work,
            0.0,
            failures * (1 + recovery.repeated) * per_work};
}

/// Where the cost is least: golden sections are cut off in the logarithm, and both ends count.
template <typename Cost>
double least(const Cost& cost, double least_s, double most_s) {
    double low = std::log(least_s), high = std::log(most_s);
    const double golden = (std::sqrt(5.0) - 1) / 2;
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double at_left = cost(std::exp(left)), at_right = cost(std::exp(right));
    while (high - low > 1e-4) {
        if (at_left <= at_right) {
            high = right;
            right = left;
            at_right = at_left;
            left = high - golden * (high - low);
            at_left = cost(std::exp(left));
        } else {
            low = left;
            left = right;
            at_left = at_right;
            right = low + golden * (high - low);
            at_right = cost(std::exp(right));
        }
    }
    const std::array<double, 3> ends = {std::exp((low + high) / 2), least_s, most_s};
    return *std::min_element(ends.begin(), ends.end(),
                             [&](double one, double other) { return cost(one) < cost(other); });
}

}  // namespace

Expected expected(double interval_s, const Checkpoints& checkpoints, std::span<const FailureClass> classes,
                  const Shop& shop) {
    const double stretch = interval_s + checkpoints.blocking_s;
    const double lag = std::ceil(checkpoints.flush_s.value_or(0.0) / stretch);
    Expected found = without_repairs(interval_s, checkpoints, classes,
                                     std::max(static_cast<double>(checkpoints.every), lag), lag);
    if (std::isinf(found.lost) || shop == Shop()) return found;
    const double longer = 1 / shop.speed, total = found.total();
    found.checkpoints *= longer;
    found.lost *= longer;
    found.recovery *= longer;
    found.waiting = total * longer * shop.waiting;
    found.failures *= longer;
    found.shrunk = longer - 1 + total * longer * shop.reconfiguring;
    return found;
}

double best_interval_s(const Checkpoints& checkpoints, std::span<const FailureClass> classes, double least_s,
                       double most_s) {
    const auto total = [&](double interval_s, double lag) {
        const double every = std::max(static_cast<double>(checkpoints.every), lag);
        return without_repairs(interval_s, checkpoints, classes, every, lag).total();
    };
    const double flush_s = checkpoints.flush_s.value_or(0.0), blocking_s = checkpoints.blocking_s;
    if (flush_s == 0) return least([&](double one) { return total(one, 0.0); }, least_s, most_s);
    const double near_s =
        least([&](double one) { return total(one, flush_s / (one + blocking_s)); }, least_s, most_s);
    const double middle = std::ceil(flush_s / (near_s + blocking_s));
    double best_s = near_s, best = kInfinite;
    bool is_first = true;
    for (double lag = std::max(1.0, middle - 2); lag < middle + 3; ++lag) {
        const double low_s = std::max(least_s, (flush_s / lag) * kRoundedUp - blocking_s);
        const double high_s = lag > 1 ? std::min(most_s, flush_s / (lag - 1) - blocking_s) : most_s;
        if (low_s > high_s) continue;
        const double here_s = least([&](double one) { return total(one, lag); }, low_s, high_s);
        const double here = expected(here_s, checkpoints, classes).total();
        if (is_first || here < best) {
            best_s = here_s;
            best = here;
        }
        is_first = false;
    }
    return best_s;
}

}  // namespace dse::prediction::runs
