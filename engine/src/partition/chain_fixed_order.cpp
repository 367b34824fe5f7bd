// Probes a cost for stages in the order of the devices.
#include <iterator>
#include <utility>

#include "partition/chain_probe.hpp"

namespace dse::partition {

namespace {

/// Devices in their own order; some may stay empty.
class FixedOrder : public Probe {
public:
    FixedOrder(const Problem& problem, const Chain& chain)
        : problem_(problem), chain_(chain), only_last_(chain.cuts_are_free()), cover_(chain.size()) {
        speeds_after_.assign(problem.devices + 1, 0.0);
        for (std::size_t k = problem.devices; k-- > 0;)
            speeds_after_[k] = speeds_after_[k + 1] + problem.speed[k];
        for (std::size_t b = 0; b < problem.devices; ++b) {
            bool same = true;
            for (std::size_t a = 1; a < b; ++a)
                same = same && problem.latency(a, b) == problem.latency(0, b) &&
                       problem.per_byte(a, b) == problem.per_byte(0, b);
            same_senders_ = same_senders_ && same;
        }
    }

    std::optional<Pieces> within(double cost, const std::function<bool()>& expired) override {
        reached_.assign(problem_.devices, {});
        std::vector<std::pair<std::size_t, Positions>> sources;  // last device that works, positions
        sources.emplace_back(0, Positions{0});
        for (std::size_t k = 0; k < problem_.devices; ++k) {
            const std::size_t low = chain_.first_within(cost, speeds_after_[k]);
            drop_before(sources, low);
            if (sources.empty() || expired()) return std::nullopt;
            for (const auto& [last, positions] : sources)
                for (const std::uint32_t i : positions)
                    cover_.add(i, chain_.furthest(i, k, cost - chain_.transfer(last, k, i)));
            reached_[k] = cover_.take(chain_.first_within(cost, speeds_after_[k + 1]), only_last_);
            if (!reached_[k].empty() && reached_[k].back() == chain_.size()) return trace(k, cost);
            add(sources, k);
        }
        return std::nullopt;
    }

private:
    static void drop_before(std::vector<std::pair<std::size_t, Positions>>& sources, std::size_t low) {
        for (auto& [last, positions] : sources)
            positions.erase(positions.begin(), std::lower_bound(positions.begin(), positions.end(), low));
        std::erase_if(sources, [](const auto& source) { return source.second.empty(); });
    }

    /// Where all senders are the same to a receiver, one set of positions is enough.
    void add(std::vector<std::pair<std::size_t, Positions>>& sources, std::size_t device) {
        if (reached_[device].empty()) return;
        if (!same_senders_ || sources.empty()) {
            sources.emplace_back(device, reached_[device]);
            return;
        }
        Positions both;
        std::set_union(sources[0].second.begin(), sources[0].second.end(), reached_[device].begin(),
                       reached_[device].end(), std::back_inserter(both));
        sources[0].second = only_last_ ? Positions{both.back()} : std::move(both);
    }

    Pieces trace(std::size_t device, double cost) const {
        Pieces pieces;
        std::size_t end = chain_.size();
        while (true) {
            if (chain_.furthest(0, device, cost) >= end) {
                pieces.push_back({0, end, device});
                return pieces;
            }
            const auto [begin, before] = previous(device, end, cost);
            pieces.push_back({begin, end, device});
            end = begin;
            device = before;
        }
    }

    std::pair<std::size_t, std::size_t> previous(std::size_t device, std::size_t end, double cost) const {
        for (std::size_t last = device; last-- > 0;)
            for (auto i = reached_[last].rbegin(); i != reached_[last].rend(); ++i)
                if (*i < end && chain_.furthest(*i, device, cost - chain_.transfer(last, device, *i)) >= end)
                    return {*i, last};
        return {0, 0};  // never: the position was reached from one of them
    }

    const Problem& problem_;
    const Chain& chain_;
    bool only_last_, same_senders_ = true;
    Cover cover_;
    std::vector<double> speeds_after_;
    std::vector<Positions> reached_;
};

}  // namespace

std::unique_ptr<Probe> probe_fixed_order(const Problem& problem, const Chain& chain) {
    return std::make_unique<FixedOrder>(problem, chain);
}

}  // namespace dse::partition
