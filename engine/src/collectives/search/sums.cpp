// Large neighbourhood search of all-reduces.
#include "collectives/search/sums.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "collectives/problem/random.hpp"
#include "collectives/schedules/compact.hpp"
#include "collectives/schedules/sum_timelines.hpp"

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kMostChunks = 12;  // chunks at a time
constexpr double kSlack = 0.05;            // of the best time, at first
constexpr double kThrifts[] = {0.0, 0.25, 1.0, 4.0};

using Score = std::pair<Picoseconds, Picoseconds>;  // time, and that of all chunks together

double thrift_of(Random& random) { return kThrifts[random.below(4)]; }

/// Where copies of a chunk begin when there are no sums: at its first holder.
const Holding& holding_of(const Problem& problem, std::uint32_t chunk) {
    return *std::find_if(problem.holdings.begin(), problem.holdings.end(),
                         [&](const Holding& held) { return held.chunk == chunk; });
}

/// The trees of each chunk; its root is the node that gets sums and sends none on, or its first holder.
std::vector<SumTrees> trees_of(const Problem& problem, const Sends& sends,
                               const std::vector<std::uint8_t>& reduce) {
    std::vector<SumTrees> trees(problem.chunks);
    for (std::size_t i = 0; i < sends.sends.size(); ++i) {
        SumTrees& own = trees[sends.sends[i].chunk];
        (reduce[i] != 0 ? own.sums : own.copies).push_back(sends.sends[i]);
    }
    std::vector<std::uint8_t> has_sent(problem.nodes);
    for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk) {
        SumTrees& own = trees[chunk];
        own.root = holding_of(problem, chunk).node;
        std::fill(has_sent.begin(), has_sent.end(), std::uint8_t{0});
        for (const Send& send : own.sums) has_sent[problem.links[send.link].from] = 1;
        for (const Send& send : own.sums)
            if (has_sent[problem.links[send.link].to] == 0) own.root = problem.links[send.link].to;
    }
    return trees;
}

/// Puts a chunk in: sums to a root and copies from there, or copies from its first holder alone.
bool inserted(SumTimelines& timelines, const Problem& problem, bool has_sums, std::uint32_t chunk,
              std::uint32_t root, double thrift, Picoseconds limit) {
    if (has_sums) return timelines.insert(chunk, root, thrift, limit);
    const Holding& held = holding_of(problem, chunk);
    return timelines.insert_copies(chunk, held.node, held.at, thrift, limit);
}

class SumImprover {
public:
    SumImprover(const Problem& problem, bool has_sums, std::vector<SumTrees> trees, std::uint64_t seed)
        : problem_(problem), has_sums_(has_sums), seed_(seed) {
        adopt(std::move(trees));
    }

    Picoseconds time() const { return best_time_; }

    /// `slack` is how much longer than the best a schedule may be that is taken.
    void step(std::uint32_t number, double slack) {
        Random random(seed_, number);
        const std::vector<Send> latest = timelines_->latest();
        if (latest.empty()) return;
        std::vector<std::uint32_t> chunks = freed(latest, random);
        std::vector<SumTrees> before;
        for (const std::uint32_t chunk : chunks) {
            before.push_back(timelines_->trees()[chunk]);
            timelines_->remove(chunk);
        }
        const auto undo = [&] {
            for (const std::uint32_t chunk : chunks) timelines_->remove(chunk);
            for (std::size_t i = 0; i < chunks.size(); ++i) timelines_->put_back(chunks[i], before[i]);
        };
        const auto longest = best_time_ + static_cast<Picoseconds>(static_cast<double>(best_time_) * slack);
        const Score allowed = slack > 0.0 ? std::max(score_, {longest, kNever}) : score_;
        const double thrift = thrift_of(random);
        std::vector<std::uint32_t> order(chunks.size());
        std::iota(order.begin(), order.end(), 0U);
        random.shuffle(order);
        for (const std::uint32_t i : order) {
            const std::uint32_t root = random.below(4) == 0 ? random.below(problem_.npus) : before[i].root;
            if (!inserted(*timelines_, problem_, has_sums_, chunks[i], root, thrift, allowed.first + 1))
                return undo();
        }
        const Score score = scored();
        if (score > allowed) return undo();
        score_ = score;
        if (score.first < best_time_) adopt(timelines_->trees());
    }

    FoundSums best() const {
        FoundSums found;
        for (const SumTrees& own : best_)
            found.sends.sends.insert(found.sends.sends.end(), own.sums.begin(), own.sums.end());
        found.sums = found.sends.sends.size();
        for (const SumTrees& own : best_)
            found.sends.sends.insert(found.sends.sends.end(), own.copies.begin(), own.copies.end());
        found.sends.time = best_time_;
        return found;
    }

private:
    void adopt(std::vector<SumTrees> trees) {
        compact(trees);
        timelines_.emplace(problem_, std::move(trees));
        score_ = scored();
        if (score_.first >= best_time_) return;
        best_time_ = score_.first;
        best_ = timelines_->trees();
    }

    /// Makes sends start as early as their order on the links allows.
    void compact(std::vector<SumTrees>& trees) const {
        std::vector<Send> sends;
        for (const SumTrees& own : trees) {
            sends.insert(sends.end(), own.sums.begin(), own.sums.end());
            sends.insert(sends.end(), own.copies.begin(), own.copies.end());
        }
        const std::vector<Picoseconds> starts =
            earliest_starts(problem_.links, sends, waits_of(problem_.links, sends));
        std::size_t next = 0;
        for (SumTrees& own : trees) {
            for (Send& send : own.sums) send.start = starts[next++];
            for (Send& send : own.copies) send.start = starts[next++];
        }
    }

    Score scored() const {
        Score score{0, 0};
        for (const SumTrees& own : timelines_->trees()) {
            Picoseconds last = 0;
            for (const Send& send : own.copies)
                last = std::max(last, send.start + problem_.links[send.link].arrival);
            score.first = std::max(score.first, last);
            score.second += last;
        }
        return score;
    }

    /// A late chunk, some on the same link, and some of all.
    std::vector<std::uint32_t> freed(const std::vector<Send>& latest, Random& random) const {
        const Send late = latest[random.below(static_cast<std::uint32_t>(latest.size()))];
        const auto same_link = timelines_->on(late.link);
        std::vector<std::uint32_t> chunks = {late.chunk};
        const std::uint32_t count = 1 + random.below(std::min(problem_.chunks, kMostChunks));
        while (chunks.size() < count)
            chunks.push_back(
                random.below(2) == 0
                    ? random.below(problem_.chunks)
                    : same_link[random.below(static_cast<std::uint32_t>(same_link.size()))].chunk);
        std::sort(chunks.begin(), chunks.end());
        chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
        return chunks;
    }

    const Problem& problem_;
    const bool has_sums_;
    std::uint64_t seed_;
    std::optional<SumTimelines> timelines_;
    Score score_;
    Picoseconds best_time_ = kNever;
    std::vector<SumTrees> best_;
};

/// Chunks put in one by one, in a random order, each with the root of its number.
std::vector<SumTrees> first_trees(const Problem& problem, bool has_sums, std::uint64_t seed) {
    Random random(seed);
    SumTimelines timelines(problem, std::vector<SumTrees>(problem.chunks));
    std::vector<std::uint32_t> chunks(problem.chunks);
    std::iota(chunks.begin(), chunks.end(), 0U);
    random.shuffle(chunks);
    const double thrift = thrift_of(random);
    for (const std::uint32_t chunk : chunks)
        if (!inserted(timelines, problem, has_sums, chunk, chunk % problem.npus, thrift, kNever))
            throw InputError("an NPU cannot reach another");
    return timelines.trees();
}

}  // namespace

FoundSums improve_sums(const Problem& problem, bool has_sums, const Sends& sends,
                       const std::vector<std::uint8_t>& reduce, const Effort& effort,
                       const Checkpoint& checkpoint) {
    SumImprover improver(
        problem, has_sums,
        sends.sends.empty() ? first_trees(problem, has_sums, effort.seed) : trees_of(problem, sends, reduce),
        effort.seed);
    // From nothing a search first goes where it gets slower too; what is good already it only improves.
    const double slack = sends.sends.empty() ? kSlack : 0.0;
    std::uint32_t trials = 0;
    try {
        while (trials < effort.trials && improver.time() > effort.enough) {
            checkpoint.look();
            const double left = 1.0 - static_cast<double>(trials) / effort.trials;
            improver.step(trials++, slack * left);
            if (effort.report) effort.report(improver.time(), trials);
        }
    } catch (const Cancelled&) {
    } catch (const DeadlinePassed&) {
    }
    FoundSums found = improver.best();
    found.trials = trials;
    return found;
}

}  // namespace dse::synthesis
