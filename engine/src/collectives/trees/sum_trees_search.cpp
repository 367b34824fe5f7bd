// Trees of sums and copies: first ones, and others for chunks that end late.
#include "collectives/trees/sum_trees_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "collectives/problem/random.hpp"
#include "collectives/trees/sum_trees_change.hpp"
#include "collectives/trees/sum_trees_schedule.hpp"
#include "collectives/trees/sum_trees_start.hpp"

namespace dse::synthesis {

namespace {

constexpr double kDepthShares[] = {0.0, 0.1, 0.3, 1.0, 3.0};
constexpr double kNoiseShares[] = {0.1, 0.5, 2.0};
constexpr double kSpreadsOfRoots[] = {0.5, 1.0};  // of the times at which they have the sums
constexpr std::uint32_t kFirstDraws = 12;
constexpr std::uint32_t kMostTurns = 8;
constexpr std::uint32_t kMostRedrawn = 8;
constexpr double kTreeSlack = 0.02;          // of the best time, at first
constexpr double kWorthAnotherOrder = 1.02;  // of what is allowed
constexpr double kMostShift = 0.2;           // of the time, of when a root has its sum

/// Trees with the starts of their hops.
struct TreesInTime {
    std::vector<AddingTree> trees;
    std::vector<Picoseconds> starts;
    Picoseconds time = kNever;
    Picoseconds total = kNever;  ///< of the ends of all chunks
};

class SumTreeSearch {
public:
    SumTreeSearch(const Problem& problem, const EndsOfChunks& ends, const GivenTrees& given,
                  std::uint64_t work, const Effort& effort, const Checkpoint& checkpoint)
        : problem_(problem),
          ends_(ends),
          given_(given),
          work_(work),
          effort_(effort),
          checkpoint_(checkpoint),
          grower_(problem, ends, given.lanes) {
        for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk)
            if (!ends.of(chunk).to.empty()) chunks_.push_back(chunk);
        for (const SumEnds& own : ends.kinds) roots_.emplace_back(problem, own);
    }

    void run() {
        take_given();
        for (std::uint32_t draw = 0; draw < kFirstDraws && goes_on(); ++draw) take(first(draw));
        adopt_best();
        while (trials_ < effort_.trials && goes_on()) {
            checkpoint_.look();
            step(Random(effort_.seed, (std::uint64_t{1} << 32) + trials_++));
            if (effort_.report) effort_.report(best_.time, trials_);
        }
    }

    FoundSums found() const {
        FoundSums found;
        found.trials = trials_;
        if (best_.time == kNever) return found;
        found.sends.time = best_.time;
        const std::vector<std::uint8_t> adds = adding();
        for (const bool sums : {true, false}) {
            std::size_t hop = 0;
            for (std::uint32_t c = 0; c < best_.trees.size(); ++c)
                for (std::size_t i = 0; i < best_.trees[c].hops.size(); ++i, ++hop)
                    if ((adds[hop] != 0) == sums)
                        found.sends.sends.push_back({best_.trees[c].hops[i].link, c, best_.starts[hop]});
            if (sums) found.sums = found.sends.sends.size();
        }
        return found;
    }

private:
    const EndsOfChunks* exchanging() const { return given_.exchange ? &ends_ : nullptr; }

    /// Marks the hops of the best trees that add: of an exchange those that leave before the other has come.
    std::vector<std::uint8_t> adding() const {
        std::vector<std::uint8_t> adds;
        for (std::uint32_t c = 0; c < best_.trees.size(); ++c) {
            const AddingTree& tree = best_.trees[c];
            const std::size_t first = adds.size();
            for (std::size_t i = 0; i < tree.hops.size(); ++i) adds.push_back(i < tree.sums ? 1 : 0);
            const Exchange own = given_.exchange ? exchange_of(problem_, ends_.of(c), tree) : Exchange{};
            if (!own.any()) continue;
            const std::size_t sum = first + own.sum, copy = first + own.copy;
            const auto comes = [&](std::size_t at, std::uint32_t hop) {
                return best_.starts[at] + problem_.links[tree.hops[hop].link].arrival;
            };
            adds[sum] = best_.starts[sum] < comes(copy, own.copy) ? 1 : 0;
            adds[copy] = best_.starts[copy] < comes(sum, own.sum) ? 1 : 0;
        }
        return adds;
    }

    /// The changes of a step, to put them back.
    struct Change {
        std::vector<std::uint32_t> chunks;  ///< in order
        std::vector<AddingTree> before;
    };

    bool goes_on() const { return best_.time == kNever || (best_.time > effort_.enough && done_ < work_); }

    void take(const TreesInTime& other) {
        if (other.time < best_.time) best_ = other;
    }

    /// The trees that are given, in each of their orders.
    void take_given() {
        if (given_.keys.empty()) return;
        const std::optional<TreesOfSends> read = trees_of(problem_, ends_, given_.sends, given_.reduce);
        if (!read) return;
        for (const std::vector<Picoseconds>& of_send : given_.keys) {
            if (!goes_on()) return;
            TreesInTime made;
            made.trees = read->trees;
            std::vector<Picoseconds> keys;
            keys.reserve(read->send_of.size());
            for (const std::size_t send : read->send_of) keys.push_back(of_send[send]);
            TreeTimes times(problem_, made.trees, given_.lanes, given_.reserved, exchanging());
            settle(times, keys, made);
            take(made);
        }
    }

    /// All trees at once; roots have their sums one after the other.
    TreesInTime first(std::uint32_t draw) {
        Random random(effort_.seed, draw);
        TreesInTime made;
        made.trees.resize(problem_.chunks);
        grower_.clear();
        std::vector<std::uint32_t> order(problem_.chunks);
        std::iota(order.begin(), order.end(), 0U);
        random.shuffle(order);
        const Growth growth{kDepthShares[(draw + 3) % std::size(kDepthShares)], kNoiseShares[0]};
        std::vector<std::vector<std::uint32_t>> roots;
        for (const NearRoots& near : roots_) roots.push_back(near.nearest(1U << (draw % 3)));
        std::vector<std::size_t> drawn(roots.size(), 0);
        for (const std::uint32_t chunk : order) {
            const std::uint32_t kind = ends_.kind_of[chunk];
            const std::size_t turn = drawn[kind]++ % roots[kind].size();
            if (turn == 0) random.shuffle(roots[kind]);
            AddingTree& tree = made.trees[chunk];
            tree = grower_.grow(chunk, roots[kind][turn], growth, random);
            grower_.add(tree);
        }
        TreeTimes times(problem_, made.trees, given_.lanes, given_.reserved, exchanging());
        std::vector<Picoseconds> keys(times.hops());
        const double spread = kSpreadsOfRoots[draw % std::size(kSpreadsOfRoots)];
        for (std::size_t i = 0; i < order.size(); ++i) {
            const double rank = (static_cast<double>(i) + 0.5) / static_cast<double>(order.size()) - 0.5;
            const double at = (0.5 + spread * rank) * static_cast<double>(grower_.most_load());
            const auto own = keys_around(problem_, made.trees[order[i]], static_cast<Picoseconds>(at));
            std::copy(own.begin(), own.end(), &keys[times.first_hop(order[i])]);
        }
        settle(times, keys, made);
        return made;
    }

    /// Schedules forwards, then backwards and forwards again while that helps.
    void settle(TreeTimes& times, const std::vector<Picoseconds>& keys, TreesInTime& made) {
        TreeStarts now = times.forwards(keys, checkpoint_);
        done_ += keys.size();
        made.time = now.time;
        made.starts = now.starts;
        std::uint32_t failed = 0;
        for (std::uint32_t turn = 0; turn < kMostTurns && failed < 2 && made.time > effort_.enough; ++turn) {
            const bool is_backwards = turn % 2 == 0;
            now = is_backwards ? times.backwards(now.starts, checkpoint_)
                               : times.forwards(now.starts, checkpoint_);
            done_ += keys.size();
            if (is_backwards && !given_.reserved.empty()) continue;  // only an order
            ++failed;
            if (now.time >= made.time) continue;
            failed = 0;
            made.time = now.time;
            made.starts = now.starts;
        }
    }

    /// Goes on from the best, with starts as early as their order allows, and with what makes the end late.
    void adopt_best() {
        now_ = best_;
        grower_.clear();
        for (const AddingTree& tree : now_.trees) grower_.add(tree);
        times_.emplace(problem_, now_.trees, given_.lanes, given_.reserved, exchanging());
        TreeStarts again = times_->forwards(now_.starts, checkpoint_);
        done_ += again.starts.size();
        if (again.time <= now_.time) {
            now_.starts = std::move(again.starts);
            now_.time = again.time;
            take(now_);
        }
        now_.total = total_of(now_.starts);
        learn_late();
    }

    Picoseconds total_of(const std::vector<Picoseconds>& starts) const {
        Picoseconds total = 0;
        std::size_t hop = 0;
        for (const AddingTree& tree : now_.trees) {
            Picoseconds last = 0;
            for (const TreeHop& h : tree.hops)
                last = std::max(last, starts[hop++] + problem_.links[h.link].arrival);
            total += last;
        }
        return total;
    }

    /// The chain of sends that makes the end late, each of which the next one waited for.
    void learn_late() {
        late_.clear();
        late_chunks_.clear();
        for (std::uint32_t hop = times_->last(); hop != kNoHop; hop = times_->cause_of(hop)) {
            late_.push_back(hop);
            late_chunks_.push_back(times_->chunk_of(hop));
        }
    }

    void step(Random random) {
        if (late_.empty()) return;
        Change change{drawn_chunks(random), {}};
        const std::vector<Picoseconds> keys = changed(change, random);
        times_->refresh();
        const Picoseconds allowed = allowed_now();
        const auto hopeless =
            static_cast<Picoseconds>(std::ceil(static_cast<double>(allowed) * kWorthAnotherOrder));
        TreeStarts made = times_->forwards(keys, checkpoint_, hopeless);
        done_ += keys.size();
        if (made.time > allowed && made.time < hopeless) {
            made = times_->forwards(times_->backwards(made.starts, checkpoint_).starts, checkpoint_,
                                    allowed + 1);
            done_ += 2 * keys.size();
        }
        if (made.time > allowed) return undo(std::move(change));
        const Picoseconds total = total_of(made.starts);
        if (made.time == now_.time && total > now_.total) return undo(std::move(change));
        now_.starts = std::move(made.starts);
        now_.time = made.time;
        now_.total = total;
        learn_late();
        take(now_);
    }

    /// Schedules somewhat longer than the best are taken too, ever less so.
    Picoseconds allowed_now() const {
        const double spent = std::max(static_cast<double>(trials_) / effort_.trials,
                                      static_cast<double>(done_) / static_cast<double>(work_));
        const double slack = kTreeSlack * std::max(0.0, 1.0 - spent);
        return std::max(now_.time,
                        best_.time + static_cast<Picoseconds>(static_cast<double>(best_.time) * slack));
    }

    /// One that makes the end late, and some of these and of all.
    std::vector<std::uint32_t> drawn_chunks(Random& random) const {
        std::uint32_t count = 1;
        const auto all = static_cast<std::uint32_t>(chunks_.size());
        while (count < std::min(all, kMostRedrawn) && random.below(2) == 0) ++count;
        std::vector<std::uint32_t> chunks;
        for (std::uint32_t i = 0; i < count; ++i)
            chunks.push_back(i == 0 || random.below(2) == 0
                                 ? late_chunks_[random.below(static_cast<std::uint32_t>(late_chunks_.size()))]
                                 : chunks_[random.below(all)]);
        std::sort(chunks.begin(), chunks.end());
        chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
        return chunks;
    }

    /// Changes trees; returns keys of all hops: when they start now, and for new trees what fits to that.
    std::vector<Picoseconds> changed(Change& change, Random& random) {
        for (const std::uint32_t chunk : change.chunks) grower_.add(now_.trees[chunk], -1);
        const bool moves = random.below(2) == 0;
        const bool only_shifts = !moves && random.below(8) == 0;
        const Growth growth{kDepthShares[random.below(std::size(kDepthShares))],
                            kNoiseShares[random.below(std::size(kNoiseShares))]};
        std::vector<Picoseconds> keys;
        keys.reserve(now_.starts.size());
        auto next = change.chunks.begin();
        std::size_t hop = 0;
        for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk) {
            AddingTree& tree = now_.trees[chunk];
            const auto first = now_.starts.begin() + static_cast<std::ptrdiff_t>(hop);
            const auto last = first + static_cast<std::ptrdiff_t>(tree.hops.size());
            hop += tree.hops.size();
            const bool is_changed = next != change.chunks.end() && *next == chunk;
            if (!is_changed) keys.insert(keys.end(), first, last);
            if (!is_changed) continue;
            ++next;
            change.before.push_back(tree);
            if (moves) {
                if (tree.hops.empty()) continue;
                std::vector<Picoseconds> own(first, last);
                const std::uint32_t late = late_hop(tree, hop - tree.hops.size(), random);
                move_hop(problem_, ends_.of(chunk), tree, late, random, own);
                keys.insert(keys.end(), own.begin(), own.end());
            } else {
                const Picoseconds* starts = now_.starts.data() + (hop - tree.hops.size());
                const Picoseconds at = complete_at(tree, starts) + shift(random);
                if (!only_shifts)
                    tree = grower_.grow(chunk, drawn_root(chunk, tree.root, random), growth, random);
                const auto own = keys_around(problem_, tree, at);
                keys.insert(keys.end(), own.begin(), own.end());
            }
            grower_.add(tree);
        }
        return keys;
    }

    std::uint32_t drawn_root(std::uint32_t chunk, std::uint32_t now, Random& random) const {
        const NearRoots& near = roots_[ends_.kind_of[chunk]];
        return random.below(2) == 0 ? now : near.draw(1 + random.below(4), random);
    }

    Picoseconds shift(Random& random) const {
        if (random.below(2) == 0) return 0;
        return static_cast<Picoseconds>(kMostShift * (2.0 * random.unit() - 1.0) *
                                        static_cast<double>(now_.time));
    }

    /// A hop of a tree, the first of which has a number, that makes the end late, if there is one.
    std::uint32_t late_hop(const AddingTree& tree, std::size_t first, Random& random) const {
        std::vector<std::uint32_t> late;
        for (const std::uint32_t hop : late_)
            if (hop >= first && hop < first + tree.hops.size())
                late.push_back(static_cast<std::uint32_t>(hop - first));
        if (late.empty() || random.below(4) == 0)
            return random.below(static_cast<std::uint32_t>(tree.hops.size()));
        return late[random.below(static_cast<std::uint32_t>(late.size()))];
    }

    /// When the root of a tree has its sum; the starts of its hops are given.
    Picoseconds complete_at(const AddingTree& tree, const Picoseconds* starts) const {
        Picoseconds at = 0;
        for (std::size_t i = 0; i < tree.sums; ++i)
            if (tree.hops[i].gate == 0)
                at = std::max(at, starts[i] + problem_.links[tree.hops[i].link].arrival);
        return at;
    }

    void undo(Change change) {
        for (std::size_t i = 0; i < change.chunks.size(); ++i) {
            AddingTree& tree = now_.trees[change.chunks[i]];
            grower_.add(tree, -1);
            tree = std::move(change.before[i]);
            grower_.add(tree);
        }
    }

    const Problem& problem_;
    const EndsOfChunks& ends_;
    const GivenTrees& given_;
    const std::uint64_t work_;
    const Effort& effort_;
    const Checkpoint& checkpoint_;
    std::vector<NearRoots> roots_;       ///< per kind of ends
    std::vector<std::uint32_t> chunks_;  ///< that have ends
    TreeGrower grower_;
    TreesInTime best_, now_;
    std::optional<TreeTimes> times_;
    std::vector<std::uint32_t> late_, late_chunks_;  ///< hops that make the end late, and their chunks
    std::uint64_t done_ = 0;                         ///< sends scheduled
    std::uint32_t trials_ = 0;
};

}  // namespace

FoundSums search_sum_trees(const Problem& problem, const EndsOfChunks& ends, const GivenTrees& given,
                           std::uint64_t work, const Effort& effort, const Checkpoint& checkpoint) {
    SumTreeSearch search(problem, ends, given, work, effort, checkpoint);
    try {
        search.run();
    } catch (const Cancelled&) {
    } catch (const DeadlinePassed&) {
    }
    return search.found();
}

}  // namespace dse::synthesis
