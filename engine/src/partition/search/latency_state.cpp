// Partial assignments under `latency`: nodes are placed in the order in which they are run.
#include "partition/search/search_state.hpp"

namespace dse::partition {

namespace {

class LatencyState : public SearchState {
public:
    explicit LatencyState(const Problem& problem)
        : SearchState(problem),
          edges_(problem),
          finish_(problem.nodes, 0.0),
          free_(problem.devices, 0.0),
          tail_(problem.nodes, 0.0),
          rest_(rests(problem, problem.order)) {
        const double fastest = *std::max_element(problem.speed.begin(), problem.speed.end());
        for (auto node = problem.order.rbegin(); node != problem.order.rend(); ++node)
            for (std::uint32_t k = edges_.out_start[*node]; k < edges_.out_start[*node + 1]; ++k) {
                const std::uint32_t next = problem.edges[edges_.out[k]].to;
                tail_[*node] = std::max(tail_[*node], tail_[next] + problem.weight[next] / fastest);
            }
        for (std::size_t v = 0; v < problem.nodes; ++v)
            critical_ = std::max(critical_, tail_[v] + problem.weight[v] / fastest);
        bounds_.push_back(critical_);
    }

    double bound() const override {
        if (placed_ == problem_.nodes) return *std::max_element(free_.begin(), free_.end());
        return std::max(bounds_.back(), fill_level(free_, problem_.speed, rest_[placed_]));
    }

protected:
    void placed(std::uint32_t node, std::uint32_t device) override {
        free_before_.push_back(free_[device]);
        double start = free_[device];
        for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
            const Edge& edge = problem_.edges[edges_.in[k]];
            const auto from = static_cast<std::uint32_t>(label_[edge.from]);
            start = std::max(start, finish_[edge.from] + problem_.transfer(from, device, edge.bytes));
        }
        free_[device] = finish_[node] = start + problem_.weight[node] / problem_.speed[device];
        bounds_.push_back(std::max(bounds_.back(), finish_[node] + tail_[node]));
    }

    void removed(std::uint32_t /*node*/, std::uint32_t device) override {
        free_[device] = free_before_.back();
        free_before_.pop_back();
        bounds_.pop_back();
    }

private:
    Incidence edges_;
    std::vector<double> finish_, free_, free_before_, bounds_;
    std::vector<double> tail_;  ///< the least time from a node's finish to the end
    double critical_ = 0;
    std::vector<double> rest_;
};

}  // namespace

std::unique_ptr<SearchState> latency_state(const Problem& problem) {
    return std::make_unique<LatencyState>(problem);
}

}  // namespace dse::partition
