// Probes a cost for stages in any order of the devices.
#include <iterator>
#include <utility>

#include "partition/chains/chain_probe.hpp"

namespace dse::partition {

namespace {

/// Devices in any order. A state is how many devices of each kind work; kinds are classes of devices that
/// are interchangeable.
class AnyOrder : public Probe {
public:
    AnyOrder(const Problem& problem, const Chain& chain)
        : problem_(problem), chain_(chain), only_last_(chain.cuts_are_free()), cover_(chain.size()) {
        const std::vector<std::uint32_t> first = interchangeable(problem);
        std::vector<std::size_t> kind_of(problem.devices);
        for (std::size_t d = 0; d < problem.devices; ++d) {
            if (first[d] == d) {
                kind_of[d] = kinds_.size();
                kinds_.emplace_back();
            } else {
                kind_of[d] = kind_of[first[d]];
            }
            kinds_[kind_of[d]].push_back(d);
        }
        for (const auto& kind : kinds_) {
            stride_.push_back(states_);
            states_ *= kind.size() + 1;
        }
    }

    std::optional<Pieces> within(double cost, const std::function<bool()>& expired) override {
        const std::size_t kinds = kinds_.size();
        reached_.assign(states_ * kinds, {});
        if (chain_.first_with_rest(cost * problem_.total_speed()) > 0) return std::nullopt;
        for (std::size_t state = 1; state < states_; ++state) {
            if (expired()) return std::nullopt;
            const std::size_t low = chain_.first_with_rest(cost * speeds_left(state));
            for (std::size_t kind = 0; kind < kinds; ++kind) {
                if (used(state, kind) == 0) continue;
                const std::size_t before = state - stride_[kind];
                if (before == 0) cover_.add(0, chain_.furthest(0, kinds_[kind][0], cost));
                for (std::size_t last = 0; last < kinds; ++last)
                    for (const std::uint32_t i : reached_[before * kinds + last])
                        cover_.add(i, chain_.furthest(i, kinds_[kind][0], cost - transfer(last, kind, i)));
                Positions& here = reached_[state * kinds + kind] = cover_.take(low, only_last_);
                if (!here.empty() && here.back() == chain_.size()) return trace(state, kind, cost);
            }
        }
        return std::nullopt;
    }

private:
    std::size_t used(std::size_t state, std::size_t kind) const {
        return state / stride_[kind] % (kinds_[kind].size() + 1);
    }

    double speeds_left(std::size_t state) const {
        double total = 0;
        for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
            total += static_cast<double>(kinds_[kind].size() - used(state, kind)) *
                     problem_.speed[kinds_[kind][0]];
        return total;
    }

    double transfer(std::size_t last, std::size_t kind, std::size_t i) const {
        if (last != kind) return chain_.transfer(kinds_[last][0], kinds_[kind][0], i);
        return kinds_[kind].size() < 2 ? 0 : chain_.transfer(kinds_[kind][0], kinds_[kind][1], i);
    }

    Pieces trace(std::size_t state, std::size_t kind, double cost) const {
        Pieces pieces;
        std::size_t end = chain_.size();
        while (true) {
            const std::size_t device = kinds_[kind][used(state, kind) - 1];
            state -= stride_[kind];
            if (state == 0) {
                pieces.push_back({0, end, device});
                return pieces;
            }
            const auto [begin, before] = previous(state, kind, end, cost);
            pieces.push_back({begin, end, device});
            end = begin;
            kind = before;
        }
    }

    std::pair<std::size_t, std::size_t> previous(std::size_t state, std::size_t kind, std::size_t end,
                                                 double cost) const {
        for (std::size_t last = 0; last < kinds_.size(); ++last) {
            const Positions& positions = reached_[state * kinds_.size() + last];
            for (auto i = positions.rbegin(); i != positions.rend(); ++i)
                if (*i < end && chain_.furthest(*i, kinds_[kind][0], cost - transfer(last, kind, *i)) >= end)
                    return {*i, last};
        }
        return {0, 0};  // never: the position was reached from one of them
    }

    const Problem& problem_;
    const Chain& chain_;
    bool only_last_;
    Cover cover_;
    std::vector<std::vector<std::size_t>> kinds_;
    std::vector<std::size_t> stride_;
    std::size_t states_ = 1;
    std::vector<Positions> reached_;
};

}  // namespace

std::unique_ptr<Probe> probe_any_order(const Problem& problem, const Chain& chain) {
    return std::make_unique<AnyOrder>(problem, chain);
}

}  // namespace dse::partition
