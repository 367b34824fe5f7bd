// Passes over messages in conflict, until each has its steps of its links alone or time is up.
#include "collectives/trees/negotiated.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collectives/problem/random.hpp"
#include "collectives/schedules/compact.hpp"
#include "collectives/trees/step_grid.hpp"

namespace dse::synthesis {

namespace negotiation {
namespace {

constexpr double kWithOthers = 0.1;  // of messages in conflict: they move all that they are passed on to
constexpr Picoseconds kSlacks[] = {2, 0, 0, 1};  // sixteenths of a time in steps: the order then takes less
constexpr std::uint32_t kPhases = 60;
constexpr std::uint32_t kPasses = 400;
constexpr std::uint32_t kPassesOfTaking = 8;  // what is wanted is scheduled so often, and with few conflicts
constexpr std::size_t kFewConflicts = 5;
constexpr double kSpread = 0.4;       // of the time, of when roots have their sums
constexpr double kMostShift = 0.2;    // of the time, of when a root has its sum
constexpr std::uint32_t kRounds = 4;  // of moving sends late and early
constexpr Picoseconds kMostSteps = 400;

class Negotiation {
public:
    Negotiation(const Problem& problem, bool has_sums, const Effort& effort, const Checkpoint& checkpoint)
        : problem_(problem),
          has_sums_(has_sums),
          effort_(effort),
          checkpoint_(checkpoint),
          holder_(problem.chunks, 0),
          trees_(problem.chunks) {
        for (const Holding& held : problem.holdings) holder_[held.chunk] = held.node;
        for (const Link& link : problem.links) step_ = std::min(step_, std::max<Picoseconds>(1, link.held));
    }

    void run(Picoseconds known, std::uint64_t work) {
        best_.sends.time = known;
        step_ = std::max(step_, known / kMostSteps);
        for (std::uint32_t turn = 0; best_.sends.time > effort_.enough && done_ < work; ++turn) {
            Picoseconds steps = (best_.sends.time - 1) / step_;
            if (steps < 1) return;
            steps += steps * kSlacks[turn % std::size(kSlacks)] / 16;
            Random random(effort_.seed, turn);
            Grid grid(problem_, step_, static_cast<std::uint32_t>(steps),
                      turn % 2 == 1 ? kAnyPhase : random.below(kPhases));
            const std::uint64_t before = done_;
            const bool is_begun = begin(grid, random);
            for (std::uint32_t pass = 0; is_begun && pass < kPasses && done_ < work; ++pass) {
                const std::size_t conflicts = negotiate(grid, pass, random);
                done_ = before + grid.looked_at();
                if (conflicts == 0 || best_.sends.time <= effort_.enough) break;
            }
            done_ = before + grid.looked_at() + 1;
        }
    }

    const FoundSums& best() const { return best_; }

private:
    struct Place {
        std::uint32_t chunk;
        std::uint32_t npu;
        bool is_sum;
    };

    /// First trees of all chunks; false if time is too short for one.
    bool begin(Grid& grid, Random& random) {
        std::vector<std::uint32_t> order(problem_.chunks);
        std::iota(order.begin(), order.end(), 0U);
        random.shuffle(order);
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            checkpoint_.look();
            Trees& own = trees_[order[i]];
            own = {holder_[order[i]], 0, {}, {}};
            if (has_sums_) {
                const double rank = (i + 0.5) / static_cast<double>(order.size()) - 0.5;
                own.at = static_cast<std::uint32_t>(grid.steps() * (0.5 + kSpread * rank));
            }
            if (grow(grid, own)) continue;
            own.at = grid.steps() / 2;
            if (!has_sums_ || !grow(grid, own)) return false;
        }
        return true;
    }

    bool grow(Grid& grid, Trees& trees) const {
        if (has_sums_ && !grid.grow<true>(trees.root, trees.at, trees.sums)) return false;
        if (grid.grow<false>(trees.root, trees.at, trees.copies)) return true;
        for (const Message& message : trees.sums) grid.want(message, -1);
        trees.sums.clear();
        return false;
    }

    std::vector<Place> contested(const Grid& grid) const {
        std::vector<Place> found;
        for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk)
            for (const bool is_sum : {true, false}) {
                const Tree& tree = is_sum ? trees_[chunk].sums : trees_[chunk].copies;
                for (std::uint32_t v = 0; v < tree.size(); ++v)
                    if (grid.is_contested(tree[v])) found.push_back({chunk, v, is_sum});
            }
        return found;
    }

    template <bool kSums>
    static void join_again(Grid& grid, Tree& tree, std::uint32_t npu, bool alone) {
        if (alone)
            grid.join_again<kSums>(tree, npu);
        else
            grid.grow_again<kSums>(tree, npu);
    }

    std::size_t contested_of(const Grid& grid, std::uint32_t chunk) const {
        std::size_t count = 0;
        for (const Tree* tree : {&trees_[chunk].sums, &trees_[chunk].copies})
            for (const Message& message : *tree) count += grid.is_contested(message) ? 1 : 0;
        return count;
    }

    /// All messages in conflict look for other ways, and one of their chunks for other trees; returns how
    /// many there were.
    std::size_t negotiate(Grid& grid, std::uint32_t pass, Random& random) {
        std::vector<Place> places = contested(grid);
        if (pass % kPassesOfTaking == 0 || places.size() <= kFewConflicts) take(grid);
        if (places.empty()) return 0;
        random.shuffle(places);
        for (const Place& place : places) {
            checkpoint_();
            Tree& tree = place.is_sum ? trees_[place.chunk].sums : trees_[place.chunk].copies;
            if (!grid.is_contested(tree[place.npu])) continue;
            const bool alone = random.unit() >= kWithOthers;
            if (place.is_sum)
                join_again<true>(grid, tree, place.npu, alone);
            else
                join_again<false>(grid, tree, place.npu, alone);
        }
        grid.learn();
        grow_again(grid, places[random.below(static_cast<std::uint32_t>(places.size()))].chunk, random);
        ++best_.trials;
        return places.size();
    }

    /// Other trees of a chunk, of a sum also from another root or at another step; as before where more of
    /// its messages were in conflict then.
    void grow_again(Grid& grid, std::uint32_t chunk, Random& random) {
        const Trees before = trees_[chunk];
        const std::size_t conflicts = contested_of(grid, chunk);
        Trees& own = trees_[chunk];
        grid.want(own, -1);
        if (has_sums_) {
            if (random.below(2) == 0) own.root = random.below(problem_.npus);
            const auto steps = static_cast<double>(grid.steps());
            const double at = own.at + steps * kMostShift * (2.0 * random.unit() - 1.0);
            own.at = static_cast<std::uint32_t>(std::clamp(at, 0.0, steps));
        }
        if (grow(grid, own)) {
            if (contested_of(grid, chunk) <= conflicts) return;
            grid.want(own, -1);
        }
        own = before;
        grid.want(own, 1);
    }

    /// The schedule of what all want, one after the other where several want the same.
    void take(const Grid& grid) {
        Sends made;
        std::size_t sums = 0;
        for (const bool is_sum : {true, false}) {
            for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk)
                for (const Message& message : is_sum ? trees_[chunk].sums : trees_[chunk].copies)
                    for (const Hop& hop : message.hops)
                        made.sends.push_back({hop.link, chunk, grid.start_of(hop)});
            if (is_sum) sums = made.sends.size();
        }
        const std::vector<Picoseconds> starts =
            justified_starts(problem_.links, made.sends, waits_of(problem_.links, made.sends), kRounds,
                             effort_.seed, effort_.enough);
        for (std::size_t i = 0; i < starts.size(); ++i) {
            made.sends[i].start = starts[i];
            made.time = std::max(made.time, starts[i] + problem_.links[made.sends[i].link].arrival);
        }
        if (made.time >= best_.sends.time) return;
        best_.sends = std::move(made);
        best_.sums = sums;
    }

    const Problem& problem_;
    const bool has_sums_;
    const Effort& effort_;
    const Checkpoint& checkpoint_;
    std::vector<std::uint32_t> holder_;  ///< per chunk
    std::vector<Trees> trees_;
    Picoseconds step_ = kNever;
    FoundSums best_;
    std::uint64_t done_ = 0;
};

}  // namespace
}  // namespace negotiation

FoundSums negotiate_trees(const Problem& problem, bool has_sums, Picoseconds known, std::uint64_t work,
                          const Effort& effort, const Checkpoint& checkpoint) {
    negotiation::Negotiation search(problem, has_sums, effort, checkpoint);
    try {
        search.run(known, work);
    } catch (const Cancelled&) {
    } catch (const DeadlinePassed&) {
    }
    return search.best();
}

}  // namespace dse::synthesis
