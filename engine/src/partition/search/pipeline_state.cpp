// Partial assignments under `pipeline_bottleneck`.
#include "partition/search/search_state.hpp"

namespace dse::partition {

namespace {

/// Bounds over every suffix of the stages are worth their time for few devices only.
constexpr std::size_t kFewDevices = 16;

class PipelineState : public SearchState {
public:
    explicit PipelineState(const Problem& problem)
        : SearchState(problem),
          edges_(problem),
          receive_(problem.devices, 0.0),
          arrived_(static_cast<std::size_t>(problem.tensors) * problem.devices, 0),
          arcs_(problem.devices * problem.devices, 0),
          latest_(problem.nodes, static_cast<std::int32_t>(problem.devices) - 1),
          rest_(rests(problem, problem.order)) {
        if (problem.free_order) return;
        for (auto node = problem.order.rbegin(); node != problem.order.rend(); ++node) {
            std::int32_t& latest = latest_[*node];
            if (problem.pinned[*node] >= 0) latest = std::min(latest, problem.pinned[*node]);
            for (std::uint32_t k = edges_.in_start[*node]; k < edges_.in_start[*node + 1]; ++k) {
                std::int32_t& before = latest_[problem.edges[edges_.in[k]].from];
                before = std::min(before, latest);
            }
        }
    }

    bool allows(std::uint32_t node, std::uint32_t device) const override {
        if (!SearchState::allows(node, device)) return false;
        if (static_cast<std::int32_t>(device) > latest_[node]) return false;
        for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
            const auto from = static_cast<std::uint32_t>(label_[problem_.edges[edges_.in[k]].from]);
            if (problem_.free_order ? from != device && reaches(device, from) : from > device) return false;
        }
        return true;
    }

    double bound() const override {
        double worst = 0;
        std::vector<double> busy(problem_.devices);
        for (std::size_t d = 0; d < problem_.devices; ++d) {
            busy[d] = load_[d] / problem_.speed[d] + receive_[d];
            worst = std::max(worst, busy[d]);
        }
        if (placed_ == problem_.nodes) return worst;
        if (!problem_.free_order && problem_.devices <= kFewDevices)
            return std::max(worst, suffix_bound(busy));
        return std::max(worst, fill_level(busy, problem_.speed, rest_[placed_]));
    }

protected:
    void placed(std::uint32_t node, std::uint32_t device) override {
        receive_before_.push_back(receive_[device]);
        for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
            const Edge& edge = problem_.edges[edges_.in[k]];
            const auto from = static_cast<std::uint32_t>(label_[edge.from]);
            if (from == device) continue;
            ++arcs_[from * problem_.devices + device];
            if (arrived_[edge.tensor * problem_.devices + device]++ == 0)
                receive_[device] += problem_.transfer(from, device, edge.bytes);
        }
    }

    void removed(std::uint32_t node, std::uint32_t device) override {
        receive_[device] = receive_before_.back();
        receive_before_.pop_back();
        for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
            const Edge& edge = problem_.edges[edges_.in[k]];
            const auto from = static_cast<std::uint32_t>(label_[edge.from]);
            if (from == device) continue;
            --arcs_[from * problem_.devices + device];
            --arrived_[edge.tensor * problem_.devices + device];
        }
    }

private:
    bool reaches(std::uint32_t from, std::uint32_t to) const {
        std::vector<std::uint32_t> stack{from};
        std::vector<bool> seen(problem_.devices, false);
        while (!stack.empty()) {
            const std::uint32_t device = stack.back();
            stack.pop_back();
            if (device == to) return true;
            if (seen[device]) continue;
            seen[device] = true;
            for (std::uint32_t next = 0; next < problem_.devices; ++next)
                if (arcs_[device * problem_.devices + next] > 0) stack.push_back(next);
        }
        return false;
    }

    /// Work that cannot go before stage k fills the stages from k on.
    double suffix_bound(const std::vector<double>& busy) const {
        std::vector<double> from(problem_.devices, 0.0);
        std::vector<std::int32_t> earliest(label_);
        for (std::size_t k = placed_; k < problem_.nodes; ++k) {
            const std::uint32_t node = problem_.order[k];
            std::int32_t first = std::max(0, problem_.pinned[node]);
            for (std::uint32_t e = edges_.in_start[node]; e < edges_.in_start[node + 1]; ++e)
                first = std::max(first, earliest[problem_.edges[edges_.in[e]].from]);
            earliest[node] = first;
            from[static_cast<std::size_t>(first)] += problem_.weight[node];
        }
        double worst = 0, amount = 0;
        for (std::size_t k = problem_.devices; k-- > 0;) {
            amount += from[k];
            if (from[k] <= 0) continue;
            const auto first = static_cast<std::ptrdiff_t>(k);
            worst =
                std::max(worst, fill_level({busy.begin() + first, busy.end()},
                                           {problem_.speed.begin() + first, problem_.speed.end()}, amount));
        }
        return worst;
    }

    Incidence edges_;
    std::vector<double> receive_, receive_before_;
    std::vector<std::uint32_t> arrived_;  ///< edges of a tensor that cross to a device
    std::vector<std::uint32_t> arcs_;     ///< cut edges between two devices
    std::vector<std::int32_t> latest_;    ///< no stage after it, for pins further down
    std::vector<double> rest_;
};

}  // namespace

std::unique_ptr<SearchState> pipeline_state(const Problem& problem) {
    return std::make_unique<PipelineState>(problem);
}

}  // namespace dse::partition
