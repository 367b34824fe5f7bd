#include "partition/ideals_probe.hpp"

#include <unordered_set>

namespace dse::partition {

IdealsProbe::IdealsProbe(const Problem& problem)
    : problem_(problem),
      edges_(problem),
      heir_weight_(problem.nodes, 0.0),
      total_(problem.total_weight()),
      in_ideal_(problem.nodes, 0),
      in_before_(problem.nodes, 0),
      missing_(problem.nodes, 0),
      arrived_(problem.tensors, 0) {
    std::vector<std::uint32_t> seen(problem.nodes, UINT32_MAX), stack;
    for (std::uint32_t v = 0; v < problem.nodes; ++v) {
        stack.assign(1, v);
        seen[v] = v;
        while (!stack.empty()) {
            const std::uint32_t u = stack.back();
            stack.pop_back();
            heir_weight_[v] += problem.weight[u];
            for (std::uint32_t k = edges_.out_start[u]; k < edges_.out_start[u + 1]; ++k) {
                const std::uint32_t next = problem.edges[edges_.out[k]].to;
                if (seen[next] == v) continue;
                seen[next] = v;
                stack.push_back(next);
            }
        }
    }
    receive_.assign(problem.devices, std::vector<double>(problem.tensors, 0.0));
    for (std::size_t b = 1; b < problem.devices; ++b)
        for (const Edge& edge : problem.edges) {
            double least = kInfinite;
            for (std::size_t a = 0; a < b; ++a) least = std::min(least, problem.transfer(a, b, edge.bytes));
            receive_[b][edge.tensor] = least;
        }
    is_cheap_.assign(problem.devices, std::vector<bool>(problem.nodes, true));
    for (std::size_t stage = 0; stage < problem.devices; ++stage)
        for (std::uint32_t v = 0; v < problem.nodes; ++v)
            for (std::size_t b = stage + 1; b < problem.devices && is_cheap_[stage][v]; ++b) {
                double sent = 0;
                std::vector<std::uint32_t> tensors;
                for (std::uint32_t k = edges_.out_start[v]; k < edges_.out_start[v + 1]; ++k) {
                    const std::uint32_t tensor = problem.edges[edges_.out[k]].tensor;
                    if (std::find(tensors.begin(), tensors.end(), tensor) != tensors.end()) continue;
                    tensors.push_back(tensor);
                    sent += receive_[b][tensor];
                }
                if (sent > problem.weight[v] / problem.speed[b]) is_cheap_[stage][v] = false;
            }
}

ProbeResult IdealsProbe::run(double cost, std::size_t most_states, const std::function<bool()>& expired) {
    cost_ = cost;
    most_states_ = most_states;
    expired_ = &expired;
    is_cut_short_ = is_found_ = false;
    layers_.assign(1, {});
    layers_[0].push_back({std::string(problem_.nodes, '\0'), 0, 0, 0});
    double later = problem_.total_speed();
    for (stage_ = 0; stage_ < problem_.devices; ++stage_) {
        later -= problem_.speed[stage_];
        need_ = total_ - cost * std::max(0.0, later) - kSlack * total_;
        if (stage_ + 1 == problem_.devices) need_ = total_ * (1 - kSlack);
        grown_.clear();
        std::unordered_set<std::string> seen;
        std::vector<Ideal> kept;
        for (from_ = 0; from_ < layers_[stage_].size(); ++from_) {
            open(layers_[stage_][from_]);
            decide(0);
            for (Ideal& ideal : grown_)
                if (kept.size() >= most_states_)
                    is_cut_short_ = true;
                else if (seen.insert(ideal.bits).second)
                    kept.push_back(std::move(ideal));
            grown_.clear();
            if (kept.size() >= most_states_) is_cut_short_ = true;
            if (is_found_ || is_cut_short_) break;
        }
        layers_.push_back(std::move(kept));
        if (is_found_ || layers_.back().empty()) break;
    }
    ProbeResult result;
    result.complete = is_found_ || !is_cut_short_;
    if (is_found_) {
        const std::size_t last = layers_.back().size() - 1;
        result.cost = layers_.back()[last].worst;
        result.labels = labels_of(last);
    }
    return result;
}

void IdealsProbe::open(const Ideal& ideal) {
    from_mass_ = ideal.mass;
    from_worst_ = ideal.worst;
    now_ = {};
    std::fill(arrived_.begin(), arrived_.end(), 0U);
    for (std::uint32_t v = 0; v < problem_.nodes; ++v) {
        in_ideal_[v] = in_before_[v] = ideal.bits[v];
        missing_[v] = 0;
    }
    for (const Edge& edge : problem_.edges) missing_[edge.to] += !in_ideal_[edge.from];
    for (const std::uint32_t v : problem_.order)
        if (!in_ideal_[v] && missing_[v] == 0) now_.ready.push_back(v);
    now_.is_taken.assign(now_.ready.size(), false);
}

/// Takes or leaves the ready node `next`; each set of decisions is an ideal of its own.
void IdealsProbe::decide(std::size_t next) {
    if (is_found_ || grown_.size() > most_states_) {
        is_cut_short_ = true;
        return;
    }
    if ((++steps_ & 1023U) == 0 && (*expired_)()) is_cut_short_ = true;
    if (is_cut_short_ && (*expired_)()) return;
    if (next == now_.ready.size()) return finish();
    const std::uint32_t v = now_.ready[next];
    if (can_take(v)) {
        const std::size_t ready = now_.ready.size();
        const double receive = now_.receive;
        take(v);
        now_.is_taken.resize(now_.ready.size(), false);
        now_.is_taken[next] = true;
        decide(next + 1);
        now_.is_taken[next] = false;
        give_back(v, ready, receive);
    }
    leave(v, next);
}

void IdealsProbe::leave(std::uint32_t node, std::size_t next) {
    const std::int32_t pin = problem_.pinned[node];
    if (pin >= 0 && pin <= static_cast<std::int32_t>(stage_)) return;
    if (total_ - heir_weight_[node] < need_ || stage_ + 1 == problem_.devices) return;
    const bool is_free = problem_.weight[node] <= 0 && problem_.memory[node] <= 0 && received(node) <= 0;
    if (is_free && !is_best_left(node)) return;
    decide(next + 1);
}

double IdealsProbe::received(std::uint32_t node) const {
    double total = 0;
    for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
        const Edge& edge = problem_.edges[edges_.in[k]];
        if (!in_before_[edge.from] || arrived_[edge.tensor] > 0) continue;
        bool is_first = true;  // of two edges of one tensor to this node
        for (std::uint32_t j = edges_.in_start[node]; j < k && is_first; ++j)
            is_first = problem_.edges[edges_.in[j]].tensor != edge.tensor;
        if (is_first) total += receive_[stage_][edge.tensor];
    }
    return total;
}

bool IdealsProbe::can_take(std::uint32_t node) const {
    const std::int32_t pin = problem_.pinned[node];
    if (pin >= 0 && pin != static_cast<std::int32_t>(stage_)) return false;
    if (!fits(now_.memory + problem_.memory[node], problem_.capacity[stage_])) return false;
    const double busy = (now_.load + problem_.weight[node]) / problem_.speed[stage_];
    return busy + now_.receive + received(node) <= cost_;
}

void IdealsProbe::take(std::uint32_t node) {
    now_.receive += received(node);
    now_.load += problem_.weight[node];
    now_.memory += problem_.memory[node];
    in_ideal_[node] = 1;
    for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
        const Edge& edge = problem_.edges[edges_.in[k]];
        arrived_[edge.tensor] += in_before_[edge.from] != 0;
    }
    for (std::uint32_t k = edges_.out_start[node]; k < edges_.out_start[node + 1]; ++k) {
        const std::uint32_t to = problem_.edges[edges_.out[k]].to;
        if (--missing_[to] == 0) now_.ready.push_back(to);
    }
}

void IdealsProbe::give_back(std::uint32_t node, std::size_t ready, double receive) {
    now_.ready.resize(ready);
    now_.is_taken.resize(ready);
    now_.receive = receive;
    now_.load -= problem_.weight[node];
    now_.memory -= problem_.memory[node];
    in_ideal_[node] = 0;
    for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
        const Edge& edge = problem_.edges[edges_.in[k]];
        arrived_[edge.tensor] -= in_before_[edge.from] != 0;
    }
    for (std::uint32_t k = edges_.out_start[node]; k < edges_.out_start[node + 1]; ++k)
        ++missing_[problem_.edges[edges_.out[k]].to];
}

/// Whether a node that could be taken had better be left to a later stage.
bool IdealsProbe::is_best_left(std::uint32_t node) const {
    return problem_.pinned[node] >= 0 || !is_cheap_[stage_][node] || !can_take(node);
}

void IdealsProbe::finish() {
    const double mass = from_mass_ + now_.load;
    if (mass < need_) return;
    if (stage_ + 1 == problem_.devices)
        for (std::size_t k = 0; k < now_.ready.size(); ++k)
            if (!now_.is_taken[k]) return;
    for (std::size_t k = 0; k < now_.ready.size(); ++k)
        if (!now_.is_taken[k] && !is_best_left(now_.ready[k])) return;
    is_found_ = std::all_of(in_ideal_.begin(), in_ideal_.end(), [](char in) { return in != 0; });
    const double busy = now_.load / problem_.speed[stage_] + now_.receive;
    grown_.push_back(
        {std::string(in_ideal_.begin(), in_ideal_.end()), from_, mass, std::max(from_worst_, busy)});
}

Labels IdealsProbe::labels_of(std::size_t last) const {
    Labels labels(problem_.nodes, 0);
    std::size_t at = last;
    for (std::size_t stage = layers_.size() - 1; stage > 0; --stage) {
        const Ideal& ideal = layers_[stage][at];
        const Ideal& before = layers_[stage - 1][ideal.parent];
        for (std::size_t v = 0; v < problem_.nodes; ++v)
            if (ideal.bits[v] && !before.bits[v]) labels[v] = static_cast<std::int32_t>(stage - 1);
        at = ideal.parent;
    }
    return labels;
}

}  // namespace dse::partition
