// Probes a cost for stages in the order of the devices.
#include <iterator>
#include <utility>

#include "partition/chains/chain_probe.hpp"

namespace dse::partition {

namespace {

/// Devices in their own order; some may stay empty.
class FixedOrder : public Probe {
public:
    FixedOrder(const Problem& problem, const Chain& chain)
        : problem_(problem), chain_(chain), only_last_(chain.cuts_are_free()), cover_(chain.size()) {
        for (std::size_t b = 0; b < problem.devices; ++b) {
            bool same = true;
            for (std::size_t a = 1; a < b; ++a)
                same = same && problem.latency(a, b) == problem.latency(0, b) &&
                       problem.per_byte(a, b) == problem.per_byte(0, b);
            same_senders_ = same_senders_ && same;
        }
    }

    std::optional<Pieces> within(double cost, const std::function<bool()>& expired) override {
        const std::optional<std::size_t> last = run(cost, expired, SIZE_MAX, only_last_);
        if (!last) return std::nullopt;
        Pieces pieces = trace(*last, cost);
        if (!only_last_) find_useful(cost);
        return pieces;
    }

    std::optional<Pieces> quickly_within(double cost, const std::function<bool()>& expired) override {
        const std::optional<std::size_t> last = run(cost, expired, kFew, true);
        return last ? std::optional(trace(*last, cost)) : std::nullopt;
    }

    std::optional<Pieces> anyhow_within(double cost) override {
        const std::optional<std::size_t> last = run(cost, [] { return false; }, SIZE_MAX, true);
        return last ? std::optional(trace(*last, cost)) : std::nullopt;
    }

private:
    using Sources = std::vector<std::pair<std::size_t, Positions>>;  ///< last device that works, positions

    static constexpr std::size_t kFew = 16;  ///< ends of a device's piece that a quick search goes on from

    /// Fills `reached_`, no further than that if it `stops`, and returns the first device that can end the
    /// chain. Of what each can reach, the furthest `most` positions count.
    std::optional<std::size_t> run(double cost, const std::function<bool()>& expired, std::size_t most,
                                   bool stops) {
        reached_.assign(problem_.devices, {});
        set_work(cost);
        std::optional<std::size_t> done;  // the first device that can end the chain
        Sources sources;
        sources.emplace_back(0, Positions{0});
        for (std::size_t k = 0; k < problem_.devices; ++k) {
            drop_before(sources, first_from_[k]);
            if (expired()) return std::nullopt;
            if (sources.empty()) break;
            reach(k, sources, cost);
            if (reached_[k].size() > most)
                reached_[k].erase(reached_[k].begin(), reached_[k].end() - static_cast<std::ptrdiff_t>(most));
            if (!done && !reached_[k].empty() && reached_[k].back() == chain_.size()) done = k;
            if (done && stops) break;
            add(sources, k);
        }
        return done;
    }

    /// Sets how much the devices after k can do within a cost, k being the last that works, and from
    /// where those from k on can do the rest: each that works must receive something first.
    void set_work(double cost) {
        const std::size_t devices = problem_.devices;
        work_after_.assign(devices, 0.0);
        first_from_.assign(devices, 0);
        double most = 0;
        for (std::size_t k = devices; k-- > 0;) {
            for (std::size_t next = k + 1; next < devices; ++next) {
                const double time_ns = cost - chain_.least_transfer(k, next);
                const double work = time_ns * problem_.speed[next] + work_after_[next];
                if (time_ns > 0) work_after_[k] = std::max(work_after_[k], work);
            }
            most = std::max(most, cost * problem_.speed[k] + work_after_[k]);
            first_from_[k] = chain_.first_with_rest(most);
        }
    }

    /// Sets where device k can end, as far as the devices after it can do the rest.
    void reach(std::size_t k, const Sources& sources, double cost) {
        const std::size_t low = chain_.first_with_rest(work_after_[k]);
        for (const auto& [last, positions] : sources)
            for (const std::uint32_t i : positions) {
                const double time_ns = cost - chain_.transfer(last, k, i);
                if (chain_.reaches(i, low, k, time_ns)) cover_.add(i, chain_.furthest(i, k, time_ns));
            }
        reached_[k] = cover_.take(low, only_last_);
        if (cost <= useful_within_) keep_useful(k);
    }

    /// Of what is reached, notes that from which the end is reached. A lower cost needs no other.
    void find_useful(double cost) {
        useful_.assign(problem_.devices, {});
        useful_within_ = cost;
        for (std::size_t k = problem_.devices; k-- > 0;)
            for (const std::uint32_t i : reached_[k])
                if (i == chain_.size() || leads_on(k, i, cost)) useful_[k].push_back(i);
    }

    bool leads_on(std::size_t last, std::uint32_t i, double cost) const {
        for (std::size_t k = last + 1; k < problem_.devices && i >= first_from_[k]; ++k) {
            const auto next = std::upper_bound(useful_[k].begin(), useful_[k].end(), i);
            if (next == useful_[k].end()) continue;
            const double time_ns = cost - chain_.transfer(last, k, i);
            if (chain_.reaches(i, *next, k, time_ns) && chain_.furthest(i, k, time_ns) >= *next) return true;
        }
        return false;
    }

    void keep_useful(std::size_t k) {
        Positions both;
        std::set_intersection(reached_[k].begin(), reached_[k].end(), useful_[k].begin(), useful_[k].end(),
                              std::back_inserter(both));
        reached_[k] = std::move(both);
    }

    static void drop_before(Sources& sources, std::size_t low) {
        for (auto& [last, positions] : sources)
            positions.erase(positions.begin(), std::lower_bound(positions.begin(), positions.end(), low));
        std::erase_if(sources, [](const auto& source) { return source.second.empty(); });
    }

    /// Where all senders are the same to a receiver, one set of positions is enough.
    void add(Sources& sources, std::size_t device) {
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
    std::vector<double> work_after_;
    std::vector<std::size_t> first_from_;
    std::vector<Positions> reached_, useful_;
    double useful_within_ = -1;  ///< the cost that `useful_` is of
};

}  // namespace

std::unique_ptr<Probe> probe_fixed_order(const Problem& problem, const Chain& chain) {
    return std::make_unique<FixedOrder>(problem, chain);
}

}  // namespace dse::partition
