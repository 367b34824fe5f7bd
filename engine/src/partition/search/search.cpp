#include "partition/search/search.hpp"

#include <unordered_map>
#include <utility>

#include "partition/search/search_state.hpp"

namespace dse::partition {

bool SearchState::allows(std::uint32_t node, std::uint32_t device) const {
    const std::uint32_t leader = problem_.leader[node];
    if (leader != node && label_[leader] != static_cast<std::int32_t>(device)) return false;
    if (problem_.pinned[node] >= 0 && problem_.pinned[node] != static_cast<std::int32_t>(device))
        return false;
    return fits(memory_[device] + problem_.memory[node], problem_.capacity[device]) &&
           fits(load_[device] + problem_.weight[node], problem_.weight_limit);
}

std::vector<double> SearchState::rests(const Problem& problem, const std::vector<std::uint32_t>& order) {
    std::vector<double> rest(order.size() + 1, 0.0);
    for (std::size_t k = order.size(); k-- > 0;) rest[k] = rest[k + 1] + problem.weight[order[k]];
    return rest;
}

void SearchState::place(std::uint32_t node, std::uint32_t device) {
    before_.emplace_back(load_[device], memory_[device]);
    label_[node] = static_cast<std::int32_t>(device);
    load_[device] += problem_.weight[node];
    memory_[device] += problem_.memory[node];
    ++used_[device];
    ++placed_;
    placed(node, device);
}

void SearchState::remove(std::uint32_t node) {
    const auto device = static_cast<std::uint32_t>(label_[node]);
    removed(node, device);
    std::tie(load_[device], memory_[device]) = before_.back();
    before_.pop_back();
    label_[node] = -1;
    --used_[device];
    --placed_;
}

namespace {

/// States remembered; more would take the memory of the machine.
constexpr std::size_t kMostRemembered = 1U << 21;
constexpr std::size_t kWorkPerLook = 1U << 16;

class Search {
public:
    Search(const Problem& problem, SearchState& state, double upper, const std::function<bool()>& expired)
        : problem_(problem), state_(state), expired_(expired), class_(interchangeable(problem)) {
        improve_to(upper);
    }

    SearchResult run() {
        const double root = state_.bound();
        open_ = kInfinite;
        if (!hopeless(root)) extend(0, root);
        result_.complete = !stopped_;
        // Bounds are of partitions that cost less than the one known.
        result_.bound = std::min(std::max(root, open_), result_.cost);
        return std::move(result_);
    }

private:
    void improve_to(double cost) {
        result_.cost = cost;
        slack_ = problem_.slack(cost);
    }

    bool hopeless(double bound) const { return result_.cost < kInfinite && bound >= result_.cost - slack_; }

    bool is_known() {
        std::string key = state_.key();
        if (key.empty()) return false;
        const double paid = state_.paid();
        const auto found = seen_.find(key);
        if (found == seen_.end()) {
            if (seen_.size() < kMostRemembered) seen_.emplace(std::move(key), paid);
            return false;
        }
        if (found->second <= paid) return true;
        found->second = paid;
        return false;
    }

    /// Of devices that are interchangeable and empty only the first is tried.
    bool is_first_of_its_kind(std::uint32_t device) const {
        if (state_.is_used(device)) return true;
        for (std::uint32_t other = class_[device]; other < device; ++other)
            if (class_[other] == class_[device] && !state_.is_used(other)) return false;
        return true;
    }

    /// The clock is looked at by work, since a bound of a large problem takes long.
    bool is_late() {
        work_ += problem_.nodes * problem_.devices;
        if (work_ < kWorkPerLook) return false;
        work_ = 0;
        return expired_();
    }

    /// `here` is the bound of what is placed.
    void extend(std::size_t depth, double here) {
        if (depth == problem_.nodes) {
            const double cost = state_.bound();
            if (cost < result_.cost) {
                improve_to(cost);
                result_.labels = state_.labels();
            }
            return;
        }
        ++result_.visited;
        const std::uint32_t node = state_.sequence()[depth];
        std::vector<std::pair<double, std::uint32_t>> children;
        for (std::uint32_t device = 0; device < problem_.devices; ++device) {
            if (!is_first_of_its_kind(device) || !state_.allows(node, device)) continue;
            if (stopped_ || is_late()) {
                stopped_ = true;
                open_ = std::min(open_, here);
                return;
            }
            state_.place(node, device);
            const double bound = state_.bound();
            state_.remove(node);
            if (!hopeless(bound)) children.emplace_back(bound, device);
        }
        std::sort(children.begin(), children.end());
        for (const auto& [bound, device] : children) {
            if (hopeless(bound)) break;
            if (stopped_) {
                open_ = std::min(open_, bound);
                break;
            }
            state_.place(node, device);
            if (depth + 1 == problem_.nodes || !is_known()) extend(depth + 1, bound);
            state_.remove(node);
        }
    }

    const Problem& problem_;
    SearchState& state_;
    const std::function<bool()>& expired_;
    std::vector<std::uint32_t> class_;
    std::unordered_map<std::string, double> seen_;
    SearchResult result_;
    double open_ = kInfinite, slack_ = 0;
    std::size_t work_ = 0;
    bool stopped_ = false;
};

}  // namespace

SearchResult branch_and_bound(const Problem& problem, double upper, const std::function<bool()>& expired) {
    std::unique_ptr<SearchState> state;
    switch (problem.objective) {
        case Objective::kPipelineBottleneck:
            state = pipeline_state(problem);
            break;
        case Objective::kLatency:
            state = latency_state(problem);
            break;
        default:
            state = cut_state(problem, upper, expired);
    }
    return Search(problem, *state, upper, expired).run();
}

}  // namespace dse::partition
