// Multiplicative weights: chunks are routed one after the other, and again when the loads of all are known.
#include "collectives/routes/routes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "collectives/greedy/task.hpp"

namespace dse::synthesis {

namespace {

constexpr int kRounds = 3;
constexpr double kMostSteps = 1e8;         // links looked at in all rounds; chunks share trees to stay below
constexpr double kPriceOfDistance = 0.05;  // of 1 ps on the way, against 1 ps of load on the fullest link

class Router {
public:
    Router(const Problem& problem, double noise, Random& random, const Checkpoint& checkpoint)
        : problem_(problem), noise_(noise), random_(random), checkpoint_(checkpoint) {
        const std::size_t nodes = problem.nodes;
        load_.assign(problem.links.size(), 0);
        price_.resize(problem.links.size());
        distance_.resize(nodes);
        seen_.assign(nodes, 0);
        reached_.assign(nodes, 0);
        by_.resize(nodes);
        from_.resize(nodes);
        in_tree_.assign(nodes, 0);
        place_.resize(nodes);
        trees_.resize(problem.chunks);
        sort_by_chunk();
        make_batches();
    }

    Routes routes() {
        Routes best;
        double least = 0;
        for (int round = 0; round < kRounds; ++round) {
            random_.shuffle(batches_);
            for (const Batch& batch : batches_) route(batch);
            const double most = fullest();
            if (best.empty() || most < least) {
                best = collected();
                least = most;
            }
        }
        return best;
    }

private:
    /// Chunks first … first + count - 1 of `chunks_`, which share a tree of shortest ways if count > 1.
    struct Batch {
        std::uint32_t first;
        std::uint32_t count;
    };
    using Entry = std::pair<double, std::uint32_t>;

    void sort_by_chunk() {
        held_begin_.assign(problem_.chunks + 1, 0);
        want_begin_.assign(problem_.chunks + 1, 0);
        const std::size_t everyone = problem_.everyone_wants_all ? problem_.npus : 0;
        for (const Holding& held : problem_.holdings) ++held_begin_[held.chunk + 1];
        for (const Want& want : problem_.wants) ++want_begin_[want.chunk + 1];
        for (std::uint32_t c = 0; c < problem_.chunks; ++c) {
            held_begin_[c + 1] += held_begin_[c];
            want_begin_[c + 1] += want_begin_[c] + everyone;
        }
        held_.resize(held_begin_.back());
        wants_.resize(want_begin_.back());
        std::vector<std::size_t> next(held_begin_.begin(), held_begin_.end() - 1);
        for (const Holding& held : problem_.holdings) held_[next[held.chunk]++] = held;
        next.assign(want_begin_.begin(), want_begin_.end() - 1);
        for (const Want& want : problem_.wants) wants_[next[want.chunk]++] = want.node;
        for (std::uint32_t c = 0; everyone > 0 && c < problem_.chunks; ++c)
            for (std::uint32_t v = 0; v < everyone; ++v) wants_[next[c]++] = v;
    }

    bool is_idle(std::uint32_t chunk) const {
        for (std::size_t i = want_begin_[chunk]; i < want_begin_[chunk + 1]; ++i)
            if (!holds(wants_[i], chunk)) return false;
        return true;
    }

    bool holds(std::uint32_t node, std::uint32_t chunk) const {
        for (std::size_t i = held_begin_[chunk]; i < held_begin_[chunk + 1]; ++i)
            if (held_[i].node == node) return true;
        return false;
    }

    /// The only holder, or kHeld.
    std::uint32_t holder_of(std::uint32_t chunk) const {
        if (held_begin_[chunk + 1] - held_begin_[chunk] != 1) return kHeld;
        return held_[held_begin_[chunk]].node;
    }

    void make_batches() {
        for (std::uint32_t c = 0; c < problem_.chunks; ++c)
            if (!is_idle(c)) chunks_.push_back(c);
        random_.shuffle(chunks_);
        std::stable_sort(chunks_.begin(), chunks_.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return holder_of(a) < holder_of(b); });
        const double steps = static_cast<double>(chunks_.size()) * static_cast<double>(problem_.links.size());
        const auto most = static_cast<std::uint32_t>(1 + steps * kRounds / kMostSteps);
        for (std::uint32_t i = 0; i < chunks_.size();) {
            const std::uint32_t holder = holder_of(chunks_[i]);
            std::uint32_t count = 1;
            while (holder != kHeld && count < most && i + count < chunks_.size() &&
                   holder_of(chunks_[i + count]) == holder)
                ++count;
            batches_.push_back({i, count});
            i += count;
        }
    }

    double fullest() const {
        double most = 0;
        for (const double load : load_) most = std::max(most, load);
        return most;
    }

    void price_links() {
        const double most = std::max(fullest(), 1.0);
        for (std::size_t l = 0; l < price_.size(); ++l) {
            const auto held = static_cast<double>(problem_.links[l].held);
            const double share = std::min((load_[l] + held) / most, 4.0);
            const double square = share * share, fourth = square * square;
            price_[l] =
                held * fourth * fourth + kPriceOfDistance * static_cast<double>(problem_.links[l].arrival);
            if (noise_ > 0) price_[l] *= 1 + noise_ * random_.unit();
        }
    }

    void route(const Batch& batch) {
        for (std::uint32_t i = batch.first; i < batch.first + batch.count; ++i) {
            for (const Hop& hop : trees_[chunks_[i]])
                load_[hop.link] -= static_cast<double>(problem_.links[hop.link].held);
            trees_[chunks_[i]].clear();
        }
        price_links();
        if (batch.count == 1) {
            grow(chunks_[batch.first]);
        } else {
            ++epoch_;
            heap_.clear();
            const Holding& held = held_[held_begin_[chunks_[batch.first]]];
            offer(held.node, 0, kHeld);
            while (!heap_.empty()) settle();
            for (std::uint32_t i = batch.first; i < batch.first + batch.count; ++i) branch(chunks_[i]);
        }
        for (std::uint32_t i = batch.first; i < batch.first + batch.count; ++i)
            for (const Hop& hop : trees_[chunks_[i]])
                load_[hop.link] += static_cast<double>(problem_.links[hop.link].held);
        checkpoint_();
    }

    /// The ways of the tree of shortest ways to all that want the chunk.
    void branch(std::uint32_t chunk) {
        begin_tree(chunk);
        for (std::size_t i = want_begin_[chunk]; i < want_begin_[chunk + 1]; ++i) {
            if (seen_[wants_[i]] != epoch_) throw_unreachable(problem_, wants_[i], chunk);
            join(wants_[i], chunk);
        }
    }

    /// From all holders to the nearest that wants the chunk, from the tree so far to the next, and so on.
    void grow(std::uint32_t chunk) {
        ++epoch_;
        heap_.clear();
        begin_tree(chunk);
        std::size_t missing = 0;
        for (std::size_t i = want_begin_[chunk]; i < want_begin_[chunk + 1]; ++i) {
            const std::uint32_t node = wants_[i];
            if (in_tree_[node] == tree_ || reached_[node] == tree_) continue;
            reached_[node] = tree_;
            ++missing;
        }
        for (std::size_t i = held_begin_[chunk]; i < held_begin_[chunk + 1]; ++i)
            offer(held_[i].node, kPriceOfDistance * static_cast<double>(held_[i].at), kHeld);
        while (missing > 0) {
            if (heap_.empty()) break;
            const std::uint32_t node = settle();
            if (node == kHeld || reached_[node] != tree_ || in_tree_[node] == tree_) continue;
            --missing;
            const std::size_t before = trees_[chunk].size();
            join(node, chunk);
            for (std::size_t i = before; missing > 0 && i < trees_[chunk].size(); ++i)
                if (const std::uint32_t to = problem_.links[trees_[chunk][i].link].to; problem_.can_copy(to))
                    offer_again(to);
        }
        if (missing == 0) return;
        for (std::size_t i = want_begin_[chunk]; i < want_begin_[chunk + 1]; ++i)
            if (in_tree_[wants_[i]] != tree_) throw_unreachable(problem_, wants_[i], chunk);
    }

    void begin_tree(std::uint32_t chunk) {
        ++tree_;
        for (std::size_t i = held_begin_[chunk]; i < held_begin_[chunk + 1]; ++i) {
            const auto& [node, _, at] = held_[i];
            from_[node] = in_tree_[node] == tree_ ? std::min(from_[node], at) : at;
            in_tree_[node] = tree_;
            place_[node] = kHeld;
        }
    }

    /// Adds the way to a node to the tree of a chunk; a switch that cannot copy is passed by each way alone.
    void join(std::uint32_t node, std::uint32_t chunk) {
        way_.clear();
        for (; in_tree_[node] != tree_; node = problem_.links[by_[node]].from) way_.push_back(by_[node]);
        for (std::size_t i = way_.size(); i-- > 0;) {
            const Link& link = problem_.links[way_[i]];
            const std::uint32_t before = place_[link.from];
            place_[link.to] = static_cast<std::uint32_t>(trees_[chunk].size());
            if (problem_.can_copy(link.to)) in_tree_[link.to] = tree_;
            trees_[chunk].push_back({way_[i], chunk, before, before == kHeld ? from_[link.from] : 0});
        }
    }

    void offer(std::uint32_t node, double distance, std::uint32_t by) {
        if (seen_[node] == epoch_ && distance >= distance_[node]) return;
        seen_[node] = epoch_;
        distance_[node] = distance;
        by_[node] = by;
        heap_.emplace_back(distance, node);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    /// A node of the tree is a start from now on.
    void offer_again(std::uint32_t node) {
        seen_[node] = 0;
        offer(node, 0, kHeld);
    }

    /// The nearest node, whose links are then offered; kHeld if it has been nearer since.
    std::uint32_t settle() {
        const auto [distance, node] = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.pop_back();
        if (distance > distance_[node]) return kHeld;
        for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
            const std::uint32_t link = problem_.out_of.links[i];
            offer(problem_.links[link].to, distance + price_[link], link);
        }
        return node;
    }

    Routes collected() const {
        Routes all;
        for (const std::uint32_t chunk : chunks_) {
            const auto first = static_cast<std::uint32_t>(all.size());
            for (Hop hop : trees_[chunk]) {
                if (hop.before != kHeld) hop.before += first;
                all.push_back(hop);
            }
        }
        return all;
    }

    const Problem& problem_;
    double noise_;
    Random& random_;
    const Checkpoint& checkpoint_;
    std::vector<std::size_t> held_begin_, want_begin_;
    std::vector<Holding> held_;         ///< by chunk
    std::vector<std::uint32_t> wants_;  ///< nodes, by chunk
    std::vector<std::uint32_t> chunks_;
    std::vector<Batch> batches_;
    std::vector<Routes> trees_;  ///< per chunk; `before` counts within the tree
    std::vector<double> load_, price_;

    // Shortest ways: valid where the mark of a node equals the epoch, or the number of the tree.
    std::vector<Entry> heap_;
    std::vector<double> distance_;
    std::vector<std::uint32_t> by_, seen_, reached_, in_tree_, place_, way_;
    std::vector<Picoseconds> from_;
    std::uint32_t epoch_ = 0, tree_ = 0;
};

}  // namespace

Routes find_routes(const Problem& problem, double noise, Random& random, const Checkpoint& checkpoint) {
    return Router(problem, noise, random, checkpoint).routes();
}

BitRows nodes_of_routes(const Problem& problem, const Routes& routes) {
    BitRows rows(problem.nodes, problem.chunks);
    for (const Hop& hop : routes) insert(rows[problem.links[hop.link].to], hop.chunk);
    return rows;
}

}  // namespace dse::synthesis
