// Bisection over the cost of the busiest stage of a chain.
#include <algorithm>
#include <memory>
#include <optional>

#include "partition/chains/chain.hpp"
#include "partition/chains/chain_probe.hpp"

namespace dse::partition {

namespace {

constexpr double kFirstStep = 1e-3;  ///< of a cost
constexpr double kTight = 1e-12;     ///< of a cost: what is nearer is the same, up to rounding

double cost_of(const Problem& problem, const Chain& chain, const Pieces& pieces) {
    double worst = 0;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        const Piece& piece = pieces[k];
        double busy = chain.sum(piece.begin, piece.end) / problem.speed[piece.device];
        if (k + 1 < pieces.size()) busy += chain.transfer(pieces[k + 1].device, piece.device, piece.begin);
        worst = std::max(worst, busy);
    }
    return worst;
}

/// Whether it is better than what is known.
bool keep(const Problem& problem, const Chain& chain, const Pieces& pieces, ChainResult& result) {
    const double cost = cost_of(problem, chain, pieces);
    if (!result.labels.empty() && cost >= result.cost) return false;
    result.cost = cost;
    result.labels.resize(problem.nodes);
    for (const Piece& piece : pieces)
        for (std::size_t k = piece.begin; k < piece.end; ++k)
            result.labels[problem.order[k]] = static_cast<std::int32_t>(piece.device);
    return true;
}

/// More than any partition of the chain costs.
double most(const Problem& problem, const Chain& chain) {
    const double slowest = *std::min_element(problem.speed.begin(), problem.speed.end());
    double delay = 0, per_byte = 0;
    for (std::size_t a = 0; a < problem.devices; ++a)
        for (std::size_t b = 0; b < problem.devices; ++b) {
            delay = std::max(delay, problem.latency(a, b));
            per_byte = std::max(per_byte, problem.per_byte(a, b));
        }
    const double transfer = chain.most_messages() * delay + chain.most_bytes() * per_byte;
    return chain.total() / slowest + transfer;
}

/// Steps up from the bound, ever faster, to a cost that a quick search reaches, and comes back by halves.
/// Its result spares the whole search the costs far above the least, where most can be reached.
void begin_quickly(const Problem& problem, const Chain& chain, Probe& probe, double end,
                   const std::function<bool()>& expired, ChainResult& result) {
    double low = std::max(result.bound, end * 1e-9);
    for (double step = kFirstStep; result.labels.empty() && low < end && !expired(); step *= 2) {
        low = std::min(end, low * (1 + step));
        if (const auto pieces = probe.quickly_within(low, expired)) keep(problem, chain, *pieces, result);
    }
    low = result.bound;
    while (!result.labels.empty() && result.cost - low > kFirstStep * low && !expired()) {
        const double middle = low + (result.cost - low) / 2;
        const auto pieces = probe.quickly_within(middle, expired);
        if (!pieces || !keep(problem, chain, *pieces, result)) low = middle;
    }
}

}  // namespace

std::size_t order_states(const Problem& problem) {
    std::vector<std::size_t> size(problem.devices, 0);
    for (const std::uint32_t first : interchangeable(problem)) ++size[first];
    std::size_t states = 1;
    for (const std::size_t devices : size) {
        if (states > kMostOrders) break;
        states *= devices + 1;
    }
    return states;
}

ChainResult chain_bottleneck(const Problem& problem, double upper, const std::function<bool()>& expired,
                             std::size_t most_probes) {
    const Chain chain(problem);
    const std::unique_ptr<Probe> probe =
        problem.free_order ? probe_any_order(problem, chain) : probe_fixed_order(problem, chain);
    const double fastest = *std::max_element(problem.speed.begin(), problem.speed.end());
    const double heaviest = *std::max_element(problem.weight.begin(), problem.weight.end());
    ChainResult result;
    result.bound = std::max(chain.total() / problem.total_speed(), heaviest / fastest);
    double step = kFirstStep;
    double next = result.bound;
    const double end = std::min(upper, most(problem, chain));
    if (most_probes == SIZE_MAX && !problem.free_order) {
        begin_quickly(problem, chain, *probe, end, expired, result);
        if (!result.labels.empty())
            if (const auto pieces = probe->within(result.cost * (1 + kTight), expired))
                keep(problem, chain, *pieces, result);
        if (!result.labels.empty()) next = result.bound + (result.cost - result.bound) / 2;
    }
    for (std::size_t probes = 0; probes < most_probes && !expired(); ++probes) {
        if (const std::optional<Pieces> pieces = probe->within(next * (1 + kTight), expired)) {
            if (!keep(problem, chain, *pieces, result)) {
                result.complete = true;  // what lies between is rounding
                result.bound = result.cost;
                return result;
            }
        } else if (expired()) {
            break;
        } else if (result.labels.empty() && next >= end) {
            result.bound = next;
            result.complete = true;  // nothing within the limits, or nothing better than `upper`
            return result;
        } else {
            result.bound = std::max(result.bound, next);
        }
        if (result.labels.empty()) {
            next = std::min(end * (1 + kTight), std::max(result.bound * (1 + step), end * 1e-9));
            step *= 2;
            continue;
        }
        const double gap = result.cost - result.bound;
        if (gap <= kSlack * result.cost) {
            result.complete = true;
            return result;
        }
        next = result.bound + gap / 2;
    }
    if (result.labels.empty() && !problem.free_order) {
        const auto any = probe->anyhow_within(end * (1 + kTight));
        if (any) keep(problem, chain, *any, result);
    }
    return result;
}

}  // namespace dse::partition
