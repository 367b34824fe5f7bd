#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "partition/chain.hpp"

namespace dse::partition {

namespace {

using Positions = std::vector<std::uint32_t>;  ///< ascending; i: the first i nodes are done

constexpr double kTight = 1e-12;     ///< of a cost: what is nearer is the same
constexpr double kRounding = 4e-16;  ///< of a sum

/// Sums along the chain.
class Chain {
public:
    explicit Chain(const Problem& problem)
        : problem_(problem),
          sum_(problem.nodes + 1, 0.0),
          memory_(problem.nodes + 1, 0.0),
          messages_(problem.nodes + 1, 0.0),
          bytes_(problem.nodes + 1, 0.0),
          pin_(problem.nodes + 1),
          other_pin_(problem.nodes + 1) {
        const std::size_t n = problem.nodes;
        std::vector<std::uint32_t> place(n);
        for (std::uint32_t k = 0; k < n; ++k) {
            place[problem.order[k]] = k;
            sum_[k + 1] = sum_[k] + problem.weight[problem.order[k]];
            memory_[k + 1] = memory_[k] + problem.memory[problem.order[k]];
        }
        std::vector<bool> seen(problem.tensors, false);
        for (const Edge& edge : problem.edges) {
            if (seen[edge.tensor]) continue;
            seen[edge.tensor] = true;
            messages_[place[edge.to]] += 1;
            bytes_[place[edge.to]] += edge.bytes;
        }
        pin_[n] = other_pin_[n] = static_cast<std::uint32_t>(n);
        for (std::size_t k = n; k-- > 0;) {
            const std::int32_t pin = problem.pinned[problem.order[k]];
            const std::uint32_t next = pin_[k + 1];
            if (pin < 0) {
                pin_[k] = next;
                continue;
            }
            pin_[k] = static_cast<std::uint32_t>(k);
            other_pin_[k] = next < n && problem.pinned[problem.order[next]] == pin ? other_pin_[next] : next;
        }
    }

    std::size_t size() const { return problem_.nodes; }
    double sum(std::size_t i) const { return sum_[i]; }

    double most_messages() const { return *std::max_element(messages_.begin(), messages_.end()); }
    double most_bytes() const { return *std::max_element(bytes_.begin(), bytes_.end()); }

    /// ns to bring what crosses position i from device a to device b.
    double transfer(std::size_t a, std::size_t b, std::size_t i) const {
        if (i == 0) return 0;
        return messages_[i] * problem_.latency(a, b) + bytes_[i] * problem_.per_byte(a, b);
    }

    /// The furthest end of a piece from i on a device with `time_ns` for its work; i if none.
    std::size_t furthest(std::size_t i, std::size_t device, double time_ns) const {
        if (time_ns < 0) return i;
        std::size_t end = last_within(sum_, i, sum_[i] + time_ns * problem_.speed[device]);
        if (problem_.capacity[device] < kInfinite)
            end = std::min(end, last_within(memory_, i, memory_[i] + problem_.capacity[device]));
        const std::uint32_t pin = pin_[i];
        if (pin == size()) return end;
        const bool own = problem_.pinned[problem_.order[pin]] == static_cast<std::int32_t>(device);
        return std::min<std::size_t>(end, own ? other_pin_[pin] : pin);
    }

    /// The first position from which devices of these speeds together can do the rest.
    std::size_t first_within(double cost, double speeds) const {
        const double done = sum_.back() - cost * speeds * (1 + kSlack);
        return static_cast<std::size_t>(std::lower_bound(sum_.begin(), sum_.end(), done) - sum_.begin());
    }

    /// No cut costs anything: only the furthest position matters.
    bool cuts_are_free() const {
        for (std::size_t a = 0; a < problem_.devices; ++a)
            for (std::size_t b = 0; b < problem_.devices; ++b)
                if (a != b && (problem_.latency(a, b) > 0 || problem_.per_byte(a, b) > 0)) return false;
        return true;
    }

private:
    static std::size_t last_within(const std::vector<double>& sums, std::size_t i, double limit) {
        limit += kRounding * sums.back();
        const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(i);
        return i + static_cast<std::size_t>(std::upper_bound(begin, sums.end(), limit) - begin) - 1;
    }

    const Problem& problem_;
    std::vector<double> sum_, memory_, messages_, bytes_;
    std::vector<std::uint32_t> pin_, other_pin_;  ///< the next pinned node, and the next with another pin
};

/// Marks intervals (i, end] for ascending i, and yields their union from `low` on.
class Cover {
public:
    explicit Cover(std::size_t size) : marks_(size + 2, 0) {}

    void add(std::size_t i, std::size_t end) {
        if (end <= i) return;
        ++marks_[i + 1];
        --marks_[end + 1];
        first_ = std::min(first_, i + 1);
        last_ = std::max(last_, end);
    }
    Positions take(std::size_t low, bool only_last) {
        Positions out;
        int open = 0;
        for (std::size_t i = first_; i <= last_; ++i) {
            open += marks_[i];
            marks_[i] = 0;
            if (open > 0 && i >= low) out.push_back(static_cast<std::uint32_t>(i));
        }
        if (first_ <= last_) marks_[last_ + 1] = 0;
        if (only_last && out.size() > 1) out = {out.back()};
        first_ = marks_.size();
        last_ = 0;
        return out;
    }

private:
    std::vector<int> marks_;
    std::size_t first_ = SIZE_MAX, last_ = 0;
};

struct Piece {
    std::size_t begin, end, device;
};
using Pieces = std::vector<Piece>;

/// Whether every device can stay within a cost.
class Probe {
public:
    virtual ~Probe() = default;
    virtual std::optional<Pieces> within(double cost) = 0;
};

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

    std::optional<Pieces> within(double cost) override {
        reached_.assign(problem_.devices, {});
        std::vector<std::pair<std::size_t, Positions>> sources;  // last device that works, positions
        sources.emplace_back(0, Positions{0});
        for (std::size_t k = 0; k < problem_.devices; ++k) {
            const std::size_t low = chain_.first_within(cost, speeds_after_[k]);
            drop_before(sources, low);
            if (sources.empty()) return std::nullopt;
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

    std::optional<Pieces> within(double cost) override {
        const std::size_t kinds = kinds_.size();
        reached_.assign(states_ * kinds, {});
        if (chain_.first_within(cost, problem_.total_speed()) > 0) return std::nullopt;
        for (std::size_t state = 1; state < states_; ++state) {
            const std::size_t low = chain_.first_within(cost, speeds_left(state));
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

/// `pieces` are from the last to the first.
double cost_of(const Problem& problem, const Chain& chain, const Pieces& pieces) {
    double worst = 0;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        const Piece& piece = pieces[k];
        double busy = (chain.sum(piece.end) - chain.sum(piece.begin)) / problem.speed[piece.device];
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
    return chain.sum(problem.nodes) / slowest + transfer;
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

ChainResult chain_bottleneck(const Problem& problem, double upper, const std::function<bool()>& expired) {
    const Chain chain(problem);
    std::unique_ptr<Probe> probe;
    if (problem.free_order)
        probe = std::make_unique<AnyOrder>(problem, chain);
    else
        probe = std::make_unique<FixedOrder>(problem, chain);
    const double fastest = *std::max_element(problem.speed.begin(), problem.speed.end());
    const double heaviest = *std::max_element(problem.weight.begin(), problem.weight.end());
    ChainResult result;
    result.bound = std::max(chain.sum(problem.nodes) / problem.total_speed(), heaviest / fastest);
    double step = 0.01;
    double next = result.bound;
    const double end = std::min(upper, most(problem, chain));
    while (!expired()) {
        if (const std::optional<Pieces> pieces = probe->within(next)) {
            if (!keep(problem, chain, *pieces, result)) {
                result.complete = true;  // what lies between is rounding
                result.bound = result.cost;
                return result;
            }
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
    return result;
}

}  // namespace dse::partition
