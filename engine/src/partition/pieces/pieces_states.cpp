// The choice of states of a sweep that are worth keeping.
#include <cstring>

#include "partition/pieces/pieces_sweep.hpp"

namespace dse::partition {

namespace {

/// Comparisons of a state with those kept of other pieces; with those of its own pieces there are more.
constexpr std::size_t kCompared = 48;

int compare_blocks(const PieceState& a, const PieceState& b, std::size_t slots) {
    return std::memcmp(a.block.data(), b.block.data(), slots);
}

/// Whether `a`, by cutting off some of its pieces, can follow every continuation of `b` at no more cost: the
/// rest of its pieces lie inside those of b and weigh no more together.
bool dominates(const PieceState& a, const PieceState& b, const std::vector<double>& pending) {
    const double budget = b.cost - a.cost;
    if (budget < 0) return false;
    const std::size_t slots = pending.size();
    std::array<std::int32_t, kMostSlots + 1> inside;
    inside.fill(-1);
    std::array<double, kMostSlots + 1> off{}, together{};
    std::array<bool, kMostSlots + 1> is_astride{};
    for (std::size_t s = 0; s < slots; ++s) {
        std::int32_t& where = inside[a.block[s]];
        off[a.block[s]] += pending[s];
        if (where >= 0 && where != b.block[s]) is_astride[a.block[s]] = true;
        where = b.block[s];
    }
    double paid = 0;
    for (std::size_t p = 0; p < slots && inside[p] >= 0; ++p)
        if (is_astride[p])
            paid += off[p];
        else
            together[static_cast<std::size_t>(inside[p])] += a.weight[p];
    if (paid > budget) return false;
    for (std::size_t p = 0; p < slots && inside[p] >= 0; ++p) {
        if (is_astride[p]) continue;
        const auto whole = static_cast<std::size_t>(inside[p]);
        if (together[whole] > b.weight[whole]) paid += off[p];
    }
    return paid <= budget;
}

void drop_dominated(std::vector<PieceState>& states, const std::vector<double>& pending,
                    const std::function<bool()>& expired) {
    std::vector<PieceState> kept;
    kept.reserve(states.size());
    std::size_t looked_at = 0;
    for (const PieceState& state : states) {
        if ((++looked_at & 1023U) == 0 && expired()) return;
        const std::size_t count = std::min(kept.size(), kCompared);
        bool is_worse = false;
        for (std::size_t k = 0; k < count && !is_worse; ++k) is_worse = dominates(kept[k], state, pending);
        for (std::size_t k = kept.size(); k > count && !is_worse && k + kCompared > kept.size(); --k)
            is_worse = dominates(kept[k - 1], state, pending);
        if (!is_worse) kept.push_back(state);
    }
    states = std::move(kept);
}

/// Makes `into` no worse than both: pieces of one node each, which share the weight of their piece.
void meet(PieceState& into, const PieceState& other, std::size_t slots) {
    const auto apart = [&](PieceState& state) {
        std::array<std::uint8_t, kMostSlots + 1> size{};
        for (std::size_t s = 0; s < slots; ++s) ++size[state.block[s]];
        const PieceState whole = state;
        for (std::size_t s = 0; s < slots; ++s) {
            state.block[s] = static_cast<std::uint8_t>(s);
            state.weight[s] = whole.weight[whole.block[s]] / size[whole.block[s]];
        }
    };
    PieceState single = other;
    if (compare_blocks(into, other, slots) != 0) {
        apart(into);
        apart(single);
    }
    for (std::size_t p = 0; p < slots; ++p) into.weight[p] = std::min(into.weight[p], single.weight[p]);
    into.cost = std::min(into.cost, other.cost);
}

/// Keeps the most promising, and replaces the rest: of the same pieces by one, then all by one.
void replace_tail(std::vector<PieceState>& states, std::size_t slots, double heavy, std::size_t most) {
    const auto promise = [&](const PieceState& state) {
        double total = 0;
        for (std::size_t s = 0; s < slots; ++s)
            if (std::find(state.block.begin(), state.block.begin() + static_cast<std::ptrdiff_t>(s),
                          state.block[s]) == state.block.begin() + static_cast<std::ptrdiff_t>(s))
                total += state.weight[state.block[s]];
        return state.cost + heavy * total;
    };
    std::vector<std::pair<double, std::uint32_t>> by_promise;
    for (std::uint32_t k = 0; k < states.size(); ++k) by_promise.emplace_back(promise(states[k]), k);
    std::sort(by_promise.begin(), by_promise.end());
    const std::size_t head = most - most / 4;
    std::vector<PieceState> kept, tail;
    for (std::size_t k = 0; k < by_promise.size(); ++k)
        (k < head ? kept : tail).push_back(states[by_promise[k].second]);
    std::stable_sort(tail.begin(), tail.end(), [&](const PieceState& a, const PieceState& b) {
        return compare_blocks(a, b, slots) < 0;
    });
    std::vector<PieceState> groups;
    for (const PieceState& state : tail)
        if (!groups.empty() && compare_blocks(groups.back(), state, slots) == 0)
            meet(groups.back(), state, slots);
        else
            groups.push_back(state);
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const PieceState& a, const PieceState& b) { return promise(a) < promise(b); });
    const std::size_t room = std::max<std::size_t>(1, most - head);
    for (std::size_t k = room; k < groups.size(); ++k) meet(groups[room - 1], groups[k], slots);
    groups.resize(std::min(groups.size(), room));
    kept.insert(kept.end(), groups.begin(), groups.end());
    states = std::move(kept);
}

}  // namespace

bool reduce(std::vector<PieceState>& states, const std::vector<double>& pending, double heavy,
            std::size_t most, const std::function<bool()>& expired) {
    double least = kInfinite, all = 0;
    for (const PieceState& state : states) least = std::min(least, state.cost);
    for (const double cost : pending) all += cost;
    // The cheapest can cut off all it has.
    std::erase_if(states,
                  [&](const PieceState& state) { return state.cost > least && state.cost >= least + all; });
    std::sort(states.begin(), states.end(), [&](const PieceState& a, const PieceState& b) {
        if (a.cost != b.cost) return a.cost < b.cost;
        const int order = compare_blocks(a, b, pending.size());
        if (order != 0) return order < 0;
        return a.weight < b.weight;
    });
    drop_dominated(states, pending, expired);
    if (states.size() <= most) return false;
    replace_tail(states, pending.size(), heavy, most);
    return true;
}

}  // namespace dse::partition
