// Cuts of large graphs: partitions through clusters and flows, merged in pairs of equal effort.
#include <utility>

#include "partition/heuristics/multilevel.hpp"
#include "partition/heuristics/population.hpp"

namespace dse::partition {

namespace {

constexpr int kMostCycles = 6;  ///< of one merger; it ends with the first that gains nothing
/// Splits in a row that fail, after which a partition is left as it is: at most, and one for each device,
/// since a few of few devices are most of the graph.
constexpr std::size_t kFailedSplits = 10;

/// Two partitions of equal effort make one of the next rank, as carries do in a binary counter. They are then
/// about equally good and, from starts of their own, unlike each other: combinations of such two gain most.
/// One population becomes alike, and a start that comes later is too bad for it; here any time brings new
/// ones.
class Tournament {
public:
    Tournament(const Problem& problem, const Effort& effort, const std::function<bool()>& expired)
        : levels_(problem, cut_graph(problem), effort.seed, expired),
          expired_(expired),
          devices_(problem.devices),
          starts_(effort.starts),
          cycles_(effort.cycles) {
        if (!effort.known.empty()) ranked_.push_back({levels_.improve(effort.known), 0});
    }

    std::vector<Member> run() {
        while (starts_ + cycles_ > 0 && (ranked_.empty() || !expired_())) {
            const std::size_t count = ranked_.size();
            const bool has_pair =
                count > 1 && (starts_ <= 0 || ranked_[count - 1].rank >= ranked_[count - 2].rank);
            if (has_pair)
                merge();
            else if (starts_ > 0)
                start();
            else
                advance(ranked_.back().member, nullptr);
        }
        std::vector<Member> members;
        for (Ranked& ranked : ranked_) members.push_back(std::move(ranked.member));
        return members;
    }

private:
    struct Ranked {
        Member member;
        int rank;
    };

    void start() {
        --starts_;
        ranked_.push_back({levels_.deep_cycle(nullptr, nullptr), 0});
    }

    void merge() {
        Ranked last = std::move(ranked_.back());
        ranked_.pop_back();
        Ranked& kept = ranked_.back();
        if (last.member.better_than(kept.member)) std::swap(last.member, kept.member);
        kept.rank = std::max(kept.rank, last.rank) + 1;
        for (int k = 0; k < kMostCycles && cycles_ > 0 && !expired_(); ++k)
            if (!advance(kept.member, &last.member)) break;
        split(kept.member);
    }

    /// Whether a cycle that keeps the member, and another, brings a better one.
    bool advance(Member& member, const Member* other) {
        --cycles_;
        Member child = levels_.deep_cycle(&member, other);
        const bool gains = child.better_than(member);
        if (!member.better_than(child)) member = std::move(child);
        return gains;
    }

    void split(Member& member) {
        const std::size_t most = std::min(kFailedSplits, devices_);
        for (std::size_t failed = 0; failed < most && !expired_();) {
            const double before = member.cost;
            levels_.split_deep(member);
            failed = member.cost < before ? 0 : failed + 1;
        }
    }

    CutCycles levels_;
    const std::function<bool()>& expired_;
    std::size_t devices_;
    int starts_, cycles_;
    std::vector<Ranked> ranked_;
};

}  // namespace

SearchResult deep_cut(const Problem& problem, const Effort& effort, const std::function<bool()>& expired) {
    std::vector<Member> members = Tournament(problem, effort, expired).run();
    SearchResult result;
    keep_best(problem, members, result);
    return result;
}

}  // namespace dse::partition
