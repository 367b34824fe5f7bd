#include "partition/ideals/ideals_probe.hpp"

#include <unordered_set>

namespace dse::partition {

namespace {

/// Of the ideals of all stages; those of a stage are there up to three times while it is searched.
constexpr std::size_t kMostBytes = 400'000'000;
constexpr std::size_t kBytesBeside = 64;  // of a text, and of a place in a set

}  // namespace

IdealsProbe::IdealsProbe(const Problem& problem, const std::function<bool()>& expired)
    : problem_(problem),
      expired_(expired),
      edges_(problem),
      is_first_(problem.edges.size(), false),
      is_first_out_(problem.edges.size(), false),
      heir_weight_(problem.nodes, 0.0),
      receive_(problem.devices, std::vector<double>(problem.tensors, 0.0)),
      is_cheap_(problem.devices, std::vector<bool>(problem.nodes, true)),
      total_(problem.total_weight()),
      in_ideal_(problem.nodes, 0),
      in_before_(problem.nodes, 0),
      missing_(problem.nodes, 0),
      arrived_(problem.tensors, 0) {
    mark_first_edges();
    weigh_heirs();
    find_receive_times();
    find_cheap_nodes();
}

void IdealsProbe::mark_first_edges() {
    std::vector<std::uint32_t> last(problem_.tensors, UINT32_MAX);
    for (std::uint32_t v = 0; v < problem_.nodes; ++v)
        for (std::uint32_t k = edges_.in_start[v]; k < edges_.in_start[v + 1]; ++k) {
            const std::uint32_t tensor = problem_.edges[edges_.in[k]].tensor;
            is_first_[edges_.in[k]] = last[tensor] != v;
            is_first_out_[edges_.in[k]] = last[tensor] == UINT32_MAX;
            last[tensor] = v;
        }
}

void IdealsProbe::weigh_heirs() {
    std::vector<std::uint32_t> seen(problem_.nodes, UINT32_MAX), stack;
    for (std::uint32_t v = 0; v < problem_.nodes && !expired_(); ++v) {
        stack.assign(1, v);
        seen[v] = v;
        while (!stack.empty()) {
            const std::uint32_t u = stack.back();
            stack.pop_back();
            heir_weight_[v] += problem_.weight[u];
            for (std::uint32_t k = edges_.out_start[u]; k < edges_.out_start[u + 1]; ++k) {
                const std::uint32_t next = problem_.edges[edges_.out[k]].to;
                if (seen[next] == v) continue;
                seen[next] = v;
                stack.push_back(next);
            }
        }
    }
}

void IdealsProbe::find_receive_times() {
    for (std::size_t b = 1; b < problem_.devices && !expired_(); ++b)
        for (std::size_t i = 0; i < problem_.edges.size(); ++i) {
            if (!is_first_out_[i]) continue;
            const Edge& edge = problem_.edges[i];
            double least = kInfinite;
            for (std::size_t a = 0; a < b; ++a) least = std::min(least, problem_.transfer(a, b, edge.bytes));
            receive_[b][edge.tensor] = least;
        }
}

void IdealsProbe::find_cheap_nodes() {
    for (std::size_t b = problem_.devices; b-- > 1 && !expired_();) {
        is_cheap_[b - 1] = is_cheap_[b];  // what is cheap has to be cheaper than all later stages receive it
        for (std::uint32_t v = 0; v < problem_.nodes; ++v) {
            double sent = 0;
            for (std::uint32_t k = edges_.out_start[v]; k < edges_.out_start[v + 1]; ++k)
                if (is_first_out_[edges_.out[k]]) sent += receive_[b][problem_.edges[edges_.out[k]].tensor];
            if (sent > problem_.weight[v] / problem_.speed[b]) is_cheap_[b - 1][v] = false;
        }
    }
}

ProbeResult IdealsProbe::run(double cost, std::size_t most_states) {
    cost_ = cost;
    is_cut_short_ = is_found_ = false;
    std::size_t room = kMostBytes / (sizeof(Ideal) + problem_.nodes / 8 + kBytesBeside);
    layers_.assign(1, {});
    layers_[0].push_back({std::string((problem_.nodes + 7) / 8, '\0'), 0, 0, 0});
    double later = problem_.total_speed();
    for (stage_ = 0; stage_ < problem_.devices; ++stage_) {
        later -= problem_.speed[stage_];
        need_ = total_ - cost * std::max(0.0, later) - kSlack * total_;
        if (stage_ + 1 == problem_.devices) need_ = total_ * (1 - kSlack);
        most_states_ = std::min(most_states, std::max<std::size_t>(1, room / 3));
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
        room -= std::min(room, kept.size());
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
        in_ideal_[v] = in_before_[v] = ideal.has(v);
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
    if ((++steps_ & 1023U) == 0 && expired_()) is_cut_short_ = true;
    if (is_cut_short_ && expired_()) return;
    if (next == now_.ready.size()) return finish();
    const std::uint32_t v = now_.ready[next];
    if (can_take(v)) {
        const Taken before{now_.ready.size(), now_.load, now_.memory, now_.receive};
        take(v);
        now_.is_taken.resize(now_.ready.size(), false);
        now_.is_taken[next] = true;
        decide(next + 1);
        now_.is_taken[next] = false;
        give_back(v, before);
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
        if (!is_first_[edges_.in[k]] || !in_before_[edge.from] || arrived_[edge.tensor] > 0) continue;
        total += receive_[stage_][edge.tensor];
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

void IdealsProbe::give_back(std::uint32_t node, const Taken& before) {
    now_.ready.resize(before.ready);
    now_.is_taken.resize(before.ready);
    now_.receive = before.receive;
    now_.load = before.load;
    now_.memory = before.memory;
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
    std::string bits((problem_.nodes + 7) / 8, '\0');
    for (std::size_t v = 0; v < problem_.nodes; ++v)
        if (in_ideal_[v]) bits[v / 8] = static_cast<char>(bits[v / 8] | 1 << v % 8);
    grown_.push_back({std::move(bits), from_, mass, std::max(from_worst_, busy)});
}

Labels IdealsProbe::labels_of(std::size_t last) const {
    Labels labels(problem_.nodes, 0);
    std::size_t at = last;
    for (std::size_t stage = layers_.size() - 1; stage > 0; --stage) {
        const Ideal& ideal = layers_[stage][at];
        const Ideal& before = layers_[stage - 1][ideal.parent];
        for (std::size_t v = 0; v < problem_.nodes; ++v)
            if (ideal.has(v) && !before.has(v)) labels[v] = static_cast<std::int32_t>(stage - 1);
        at = ideal.parent;
    }
    return labels;
}

}  // namespace dse::partition
