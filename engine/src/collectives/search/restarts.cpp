// Runs of several variants, and what they learn about chunks that come late.
#include "collectives/search/restarts.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "collectives/greedy/passing.hpp"
#include "collectives/routes/routes.hpp"
#include "collectives/schedules/prune.hpp"

namespace dse::synthesis {

namespace {

constexpr double kDecay = 0.9;  // of lateness, per run
constexpr double kRouteNoise = 0.2;
constexpr double kOrderNoise = 0.1;
constexpr double kPrices[] = {0.0, 0.3, 1.0, -1.0};  // of ways past switches

/// Whether a search that only gives chunks to nodes that want them is complete.
bool needs_no_relays(const Problem& problem) {
    return problem.everyone_wants_all && problem.nodes == problem.npus;
}

}  // namespace

Runner::Runner(const Problem& problem, std::vector<Variant> variants, std::uint64_t seed)
    : problem_(problem), variants_(std::move(variants)), seed_(seed) {
    if (problem.everyone_wants_all) task_.emplace(problem);
    for (const Variant& variant : variants_) learns_ |= variant.rule == Rule::kWeighted;
    if (learns_) lateness_.assign(problem.chunks, 0);
}

std::optional<Columns> Runner::run(std::uint32_t r, Picoseconds limit, const Checkpoint& checkpoint) {
    Variant variant = variants_[r % variants_.size()];
    Random random(seed_, r);
    if (!problem_.can_copy_everywhere()) {
        // Greedy searches let every node copy, but for this one.
        if (r % 2 == 0 && can_pass(problem_)) return passed(r / 2, random, limit, checkpoint);
        variant.approach = Approach::kRoutes;
    }
    // Switches that get every chunk make good schedules where most NPUs want most chunks.
    const bool floods = task_ && (needs_no_relays(problem_) || r / variants_.size() % 2 == 0);
    if (variant.approach != Approach::kRoutes && floods)
        return run_greedy_on(*task_, variant, random, limit, checkpoint);
    const bool is_first = r < variants_.size();
    const Routes routes = find_routes(problem_, is_first ? 0 : kRouteNoise, random, checkpoint);
    if (variant.approach != Approach::kRoutes) {
        const Task task(problem_, nodes_of_routes(problem_, routes));
        return run_greedy_on(task, variant, random, limit, checkpoint);
    }
    Sends sends = schedule_routes(problem_, routes, is_first ? 0 : kOrderNoise, random, limit, checkpoint);
    if (sends.time >= limit) return std::nullopt;
    return to_columns(sends);
}

std::optional<Columns> Runner::passed(std::uint32_t r, Random& random, Picoseconds limit,
                                      const Checkpoint& checkpoint) const {
    const Passing passing{kPrices[r / 2 % std::size(kPrices)], r % 2 == 0};
    const Sends sends = pass_greedily(problem_, passing, random, limit, checkpoint);
    if (sends.time >= limit) return std::nullopt;
    return to_columns(sends);
}

std::optional<Columns> Runner::run_greedy_on(const Task& task, Variant variant, Random& random,
                                             Picoseconds limit, const Checkpoint& checkpoint) {
    GreedyOptions options;
    options.rule = variant.rule;
    options.by_arrival = variant.approach == Approach::kArrival;
    options.limit = limit;
    options.tells_last_arrivals = learns_;
    std::vector<std::uint32_t> order;
    if (variant.rule == Rule::kWeighted) {
        for (std::uint32_t c = 0; c < problem_.chunks; ++c) order.push_back(c);
        random.shuffle(order);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return lateness_[a] > lateness_[b]; });
        options.order = &order;
    }
    GreedyRun run = run_greedy(task, options, random, checkpoint);
    if (learns_) learn(run.last_arrival);
    if (!run.is_complete) return std::nullopt;
    if (!task.may_be_redundant) return std::move(run.sends);
    Sends needed = pruned(problem_, to_sends(std::move(run.sends)));
    return to_columns(problem_.engines.empty() ? compacted(problem_, std::move(needed)) : std::move(needed));
}

void Runner::learn(const std::vector<Picoseconds>& last_arrival) {
    Picoseconds latest = 1;
    for (const Picoseconds at : last_arrival)
        if (at != kNever) latest = std::max(latest, at);
    for (std::size_t c = 0; c < last_arrival.size(); ++c) {
        const Picoseconds at = std::min(last_arrival[c], latest);
        lateness_[c] = kDecay * lateness_[c] + static_cast<double>(at) / static_cast<double>(latest);
    }
}

Found search_runs(const Effort& effort, const Checkpoint& checkpoint,
                  const std::function<std::optional<Columns>(std::uint32_t, Picoseconds)>& run) {
    Found found;
    found.sends.time = kNever;
    const auto best = [&] {
        return found.sends.time == kNever ? std::nullopt : std::optional(found.sends.time);
    };
    try {
        while (found.trials < effort.trials && found.sends.time > effort.enough) {
            checkpoint.look();
            std::optional<Columns> sends = run(found.trials, found.sends.time);
            ++found.trials;
            if (sends && sends->time < found.sends.time) found.sends = std::move(*sends);
            if (effort.report) effort.report(best(), found.trials);
        }
    } catch (const Cancelled&) {
        if (!best()) throw;
    } catch (const DeadlinePassed&) {
        if (!best()) throw;
    }
    return found;
}

Found search_restarts(const Problem& problem, const std::vector<Variant>& variants, const Effort& effort,
                      const Checkpoint& checkpoint) {
    Runner runner(problem, variants, effort.seed);
    return search_runs(effort, checkpoint,
                       [&](std::uint32_t r, Picoseconds limit) { return runner.run(r, limit, checkpoint); });
}

}  // namespace dse::synthesis
