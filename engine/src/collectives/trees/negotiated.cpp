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
#include "collectives/trees/whole_sums.hpp"

namespace dse::synthesis {

namespace negotiation {
namespace {

constexpr std::uint32_t kWithoutPartner = 4;  // of so many chunks one has a root alone
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
    Negotiation(const Problem& problem, bool has_sums, const Images& images, const Effort& effort,
                const Checkpoint& checkpoint)
        : problem_(problem),
          has_sums_(has_sums),
          images_(images),
          effort_(effort),
          checkpoint_(checkpoint),
          holder_(problem.chunks, 0),
          trees_(problem.chunks) {
        for (const Holding& held : problem.holdings) holder_[held.chunk] = held.node;
        if (images_.links.empty()) {
            images_.links.push_back(numbers(problem.links.size()));
            images_.chunks.push_back(numbers(problem.chunks));
        }
        lanes_ = least(images_.links);
        const std::vector<std::uint32_t> first = least(images_.chunks);
        for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk)
            if (first[chunk] == chunk) made_.push_back(chunk);
        find_step();
    }

    void run(Picoseconds known, std::uint64_t work) {
        best_.sends.time = known;
        step_ = std::max(step_, known / kMostSteps);
        std::uint32_t begun = 0;  // the last turn that could begin
        for (std::uint32_t turn = 0; best_.sends.time > effort_.enough && done_ < work; ++turn) {
            Picoseconds steps = (best_.sends.time - 1) / step_;
            if (steps < 1) return;
            steps += steps * kSlacks[turn % std::size(kSlacks)] / 16;
            Random random(effort_.seed, turn);
            Grid grid(problem_, lanes_, step_, static_cast<std::uint32_t>(steps),
                      turn % 2 == 1 ? kAnyPhase : random.below(kPhases));
            const std::uint64_t before = done_;
            const bool is_begun = begin(grid, turn >= begun + std::size(kSlacks), random);
            if (is_begun) begun = turn;
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

    /// The step, not below the least time that a link is held, in whose multiples no time of a link gets much
    /// longer than it is.
    void find_step() {
        std::vector<Picoseconds> times;
        for (const Link& link : problem_.links) {
            step_ = std::min(step_, std::max<Picoseconds>(1, link.held));
            times.push_back(std::max<Picoseconds>(1, link.held));
            times.push_back(std::max<Picoseconds>(1, link.arrival));
        }
        std::sort(times.begin(), times.end());
        times.erase(std::unique(times.begin(), times.end()), times.end());
        const auto longer = [&](Picoseconds step) {
            double most = 1.0;
            for (const Picoseconds time : times) {
                const auto steps = static_cast<double>((time + step - 1) / step);
                most = std::max(most, steps * static_cast<double>(step) / static_cast<double>(time));
            }
            return most;
        };
        Picoseconds best = step_;
        for (const Picoseconds time : times) {
            const Picoseconds parts = std::max<Picoseconds>(1, time / step_);
            const Picoseconds step = (time + parts - 1) / parts;
            if (step >= step_ && longer(step) < longer(best)) best = step;
        }
        step_ = best;
    }

    static std::vector<std::uint32_t> numbers(std::size_t count) {
        std::vector<std::uint32_t> found(count);
        std::iota(found.begin(), found.end(), 0U);
        return found;
    }

    /// Of each number the least to which images lead it.
    static std::vector<std::uint32_t> least(const std::vector<std::vector<std::uint32_t>>& images) {
        std::vector<std::uint32_t> found = images.front();
        for (const auto& image : images)
            for (std::size_t i = 0; i < found.size(); ++i) found[i] = std::min(found[i], image[i]);
        return found;
    }

    /// First trees of all chunks that are made; false if time is too short for one. Roots have their sums in
    /// the middle; where no turn could begin so, at any later step: the steps are few.
    bool begin(Grid& grid, bool at_any, Random& random) {
        const std::uint32_t latest = at_any ? grid.steps() : grid.steps() / 2;
        std::vector<std::uint32_t> order = made_;
        random.shuffle(order);
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            checkpoint_.look();
            Trees& own = trees_[order[i]];
            own = {holder_[order[i]], 0, kNothing, {}, {}};
            if (has_sums_) {
                const double rank = (i + 0.5) / static_cast<double>(order.size()) - 0.5;
                own.at = static_cast<std::uint32_t>(grid.steps() * (0.5 + kSpread * rank));
            }
            if (grid.grow(own, has_sums_, exchanges(random))) continue;
            if (!has_sums_) return false;
            own.at = grid.steps() / 2;
            while (!grid.grow(own, has_sums_, true)) {
                checkpoint_.look();
                if (++own.at > latest) return false;
            }
        }
        return true;
    }

    bool exchanges(Random& random) const { return has_sums_ && random.below(kWithoutPartner) != 0; }

    std::vector<Place> contested(const Grid& grid) const {
        std::vector<Place> found;
        for (const std::uint32_t chunk : made_)
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
            if (place.npu == trees_[place.chunk].partner)
                place.is_sum ? grid.exchange_again<true>(trees_[place.chunk])
                             : grid.exchange_again<false>(trees_[place.chunk]);
            else if (place.is_sum)
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
        if (grid.grow(own, has_sums_, exchanges(random))) {
            if (contested_of(grid, chunk) <= conflicts) return;
            grid.want(own, -1);
        }
        own = before;
        grid.want(own, 1);
    }

    /// The schedule of what all want, one after the other where several want the same; left out if sums are
    /// not whole then, as messages pass others in switches.
    void take(const Grid& grid) {
        Sends made;
        std::vector<std::uint8_t> adds;
        std::vector<std::pair<std::uint32_t, std::size_t>> begins;  // of each image of a chunk
        for (const std::uint32_t chunk : made_)
            for (std::size_t image = 0; image < images_.links.size(); ++image) {
                begins.emplace_back(chunk, made.sends.size());
                for (const Tree* tree : {&trees_[chunk].sums, &trees_[chunk].copies})
                    for (const Message& message : *tree)
                        for (const Hop& hop : message.hops) {
                            made.sends.push_back({images_.links[image][hop.link],
                                                  images_.chunks[image][chunk], grid.start_of(hop)});
                            adds.push_back(tree == &trees_[chunk].sums ? 1 : 0);
                        }
            }
        begins.emplace_back(0, made.sends.size());
        const std::vector<Picoseconds> starts =
            justified_starts(problem_.links, made.sends, waits_of(problem_.links, made.sends), kRounds,
                             effort_.seed, effort_.enough);
        for (std::size_t i = 0; i < starts.size(); ++i) {
            made.sends[i].start = starts[i];
            made.time = std::max(made.time, starts[i] + problem_.links[made.sends[i].link].arrival);
        }
        if (made.time >= best_.sends.time) return;
        for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
            const Trees& own = trees_[begins[i].first];
            if (own.partner != kNothing &&
                !is_whole(own, made.sends, begins[i].second, begins[i + 1].second, adds))
                return;
        }
        best_.sums = static_cast<std::size_t>(std::count(adds.begin(), adds.end(), 1));
        best_.sends.time = made.time;
        best_.sends.sends.clear();
        for (const bool mark : {true, false})
            for (std::size_t i = 0; i < adds.size(); ++i)
                if ((adds[i] != 0) == mark) best_.sends.sends.push_back(made.sends[i]);
    }

    /// Marks which messages of an exchange add to what is there: a message that leaves when the other has
    /// come has the full sum. Returns whether all sums of the chunk are whole then.
    bool is_whole(const Trees& own, const std::vector<Send>& sends, std::size_t begin, std::size_t end,
                  std::vector<std::uint8_t>& adds) const {
        std::size_t comes = begin, goes = begin;  // the first sends of both messages
        for (std::uint32_t v = 0; v < own.partner; ++v) {
            comes += own.sums[v].hops.size();
            goes += own.copies[v].hops.size();
        }
        for (const Message& message : own.sums) goes += message.hops.size();
        const std::size_t hops = own.sums[own.partner].hops.size(),
                          back = own.copies[own.partner].hops.size();
        // Of sums the first hop is that of the sender, of copies the last.
        const auto arrives = [&](std::size_t i) {
            return sends[i].start + problem_.links[sends[i].link].arrival;
        };
        const bool has_come = arrives(comes + hops - 1) <= sends[goes + back - 1].start;
        const bool has_gone = arrives(goes) <= sends[comes].start;
        std::fill_n(adds.begin() + static_cast<std::ptrdiff_t>(comes), hops, has_gone ? 0 : 1);
        std::fill_n(adds.begin() + static_cast<std::ptrdiff_t>(goes), back, has_come ? 0 : 1);
        const auto part = [&](const auto& column) {
            return std::vector(column.begin() + static_cast<std::ptrdiff_t>(begin),
                               column.begin() + static_cast<std::ptrdiff_t>(end));
        };
        return sums_are_whole(problem_, part(sends), part(adds));
    }

    const Problem& problem_;
    const bool has_sums_;
    Images images_;
    std::vector<std::uint32_t> lanes_;  ///< per link
    std::vector<std::uint32_t> made_;   ///< chunks, of which the others are images
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

FoundSums negotiate_trees(const Problem& problem, bool has_sums, const Images& images, Picoseconds known,
                          std::uint64_t work, const Effort& effort, const Checkpoint& checkpoint) {
    negotiation::Negotiation search(problem, has_sums, images, effort, checkpoint);
    try {
        search.run(known, work);
    } catch (const Cancelled&) {
    } catch (const DeadlinePassed&) {
    }
    return search.best();
}

}  // namespace dse::synthesis
