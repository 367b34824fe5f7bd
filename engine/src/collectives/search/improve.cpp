// Large neighbourhood search.
#include "collectives/search/improve.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "collectives/schedules/prune.hpp"
#include "collectives/schedules/timelines.hpp"

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kMostFreed = 12;  // chunks or nodes at a time
constexpr Rule kRules[] = {Rule::kOldest, Rule::kNeeded, Rule::kRarest, Rule::kRandom};

class Improver {
public:
    Improver(const Problem& problem, Sends sends, std::uint64_t seed, const Checkpoint& checkpoint)
        : problem_(problem), checkpoint_(checkpoint), seed_(seed) {
        adopt(std::move(sends));
    }

    Picoseconds time() const { return score_.first; }
    Sends best() const { return timelines_->sends(); }

    void step(std::uint32_t number) {
        Random random(seed_, number);
        // Ways cost more than greedy runs.
        if (random.below(problem_.everyone_wants_all ? 4 : 16) == 0)
            solve_tail(number, random);
        else
            solve_freed(random.below(3) == 0, random);
    }

private:
    using Score = std::pair<Picoseconds, std::uint32_t>;  // time, arrivals then

    void adopt(Sends sends) {
        sends = compacted(problem_, pruned(problem_, std::move(sends)));
        timelines_.emplace(problem_, sends);
        score_ = timelines_->last_arrivals();
    }

    /// All sends from a moment on again, greedily from what is there then.
    void solve_tail(std::uint32_t number, Random& random) {
        const double share = random.unit();
        const auto moment = static_cast<Picoseconds>(static_cast<double>(score_.first) * (1 - share * share));
        Problem later = problem_;
        later.free_from.resize(problem_.links.size(), 0);
        Sends kept;
        for (const Send& send : timelines_->sends().sends) {
            if (send.start >= moment) continue;
            const Link& link = problem_.links[send.link];
            kept.sends.push_back(send);
            later.holdings.push_back({link.to, send.chunk, send.start + link.arrival});
            kept.time = std::max(kept.time, send.start + link.arrival);
            later.free_from[send.link] = std::max(later.free_from[send.link], send.start + link.held);
        }
        const Variant greedy{random.below(4) == 0 ? Approach::kForward : Approach::kArrival,
                             kRules[random.below(4)]};
        const bool has_ways = !problem_.everyone_wants_all && random.below(2) == 0;
        Runner runner(later, {has_ways ? Variant{Approach::kRoutes, Rule::kOldest} : greedy}, seed_);
        auto solved = runner.run(number, score_.first + 1, checkpoint_);
        if (!solved) return;
        const Sends added = to_sends(std::move(*solved));
        kept.sends.insert(kept.sends.end(), added.sends.begin(), added.sends.end());
        kept.time = std::max(kept.time, added.time);
        const Sends tidy = compacted(problem_, pruned(problem_, std::move(kept)));
        Timelines timelines(problem_, tidy);
        const Score score = timelines.last_arrivals();
        if (score > score_) return;
        timelines_.emplace(std::move(timelines));
        score_ = score;
    }

    /// Some chunks again, one of them late, or some deliveries into the nodes where they come late.
    void solve_freed(bool by_node, Random& random) {
        const std::vector<Send> latest = timelines_->latest();
        if (latest.empty()) return;
        const Send late = latest[random.below(static_cast<std::uint32_t>(latest.size()))];
        std::vector<std::uint32_t> chunks = {late.chunk};
        const std::uint32_t count = 1 + random.below(std::min(problem_.chunks, kMostFreed));
        const std::vector<std::uint32_t> same_link = timelines_->chunks_on(late.link);
        while (chunks.size() < count)
            chunks.push_back(random.below(2) == 0
                                 ? random.below(problem_.chunks)
                                 : same_link[random.below(static_cast<std::uint32_t>(same_link.size()))]);
        std::sort(chunks.begin(), chunks.end());
        chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
        for (const std::uint32_t chunk : chunks) {
            if (by_node)
                timelines_->remove_into(chunk, problem_.links[late.link].to);
            else
                timelines_->remove(chunk);
        }
        random.shuffle(chunks);
        for (const std::uint32_t chunk : chunks)
            if (!timelines_->insert(chunk, score_.first + 1)) return timelines_->undo();
        const Score score = timelines_->last_arrivals();
        if (score > score_) return timelines_->undo();
        timelines_->keep();
        if (score < score_) adopt(timelines_->sends());
    }

    const Problem& problem_;
    const Checkpoint& checkpoint_;
    std::uint64_t seed_;
    std::optional<Timelines> timelines_;
    Score score_;
};

}  // namespace

Found improve(const Problem& problem, const Sends& sends, const Effort& effort,
              const Checkpoint& checkpoint) {
    Found found;
    Improver improver(problem, sends, effort.seed, checkpoint);
    try {
        while (found.trials < effort.trials && improver.time() > effort.enough) {
            checkpoint.look();
            improver.step(found.trials++);
            if (effort.report) effort.report(improver.time(), found.trials);
        }
    } catch (const Cancelled&) {
    } catch (const DeadlinePassed&) {
    }
    found.sends = to_columns(improver.best());
    return found;
}

}  // namespace dse::synthesis
