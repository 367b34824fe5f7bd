// A node takes part in round r when its neighbours have done so in round r-1, wherever they are by now: what
// a node may see of a neighbour is kept for the rounds of a sweep. So a sweep over the nodes, in an order in
// which neighbours are near, does some rounds at once, each a few nodes behind the one before it.
#include "collectives/greedy/sweeps.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "collectives/greedy/greedy_state.hpp"
#include "collectives/greedy/round_logs.hpp"
#include "collectives/problem/bits.hpp"
#include "collectives/problem/node_order.hpp"

namespace dse::synthesis {

namespace {

constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 31;  // in logs

/// Chunks and links into a node as numbers of the given types.
template <typename Chunk, typename Number>
class Sweeps {
public:
    Sweeps(const Task& task, const GreedyOptions& options, Random random, const Checkpoint& checkpoint,
           std::size_t cache_bytes)
        : task_(task),
          options_(options),
          checkpoint_(checkpoint),
          round_ps_(task.links[0].arrival),
          taken_(task.settled),
          wanted_left_(task.wanted_deliveries) {
        order_nodes(cache_bytes);
        logs_ = std::make_unique<RoundLogs<Chunk, Number>>(task, order_, true, kWindow);
        log_ = &logs_->chunks[0];
        begin_nodes(random);
    }

    GreedyRun run() {
        GreedyRun result;
        result.is_complete = advance();
        if (!result.is_complete) return result;
        logs_->finish(round_ps_, true);
        result.sends.size = task_.wanted_deliveries;
        result.sends.time = static_cast<Picoseconds>(last_gain_) * round_ps_;
        result.sends.packed = std::move(logs_);
        return result;
    }

private:
    using Place = std::uint32_t;  // in the logs of all nodes

    static constexpr std::uint32_t kMostRounds = 15;  // in a sweep
    static constexpr std::uint32_t kSlots = kMostRounds + 1;
    static constexpr std::uint32_t kAhead = 3;   // so many nodes are prepared
    static constexpr std::uint32_t kWindow = 4;  // so many chunks of a log are looked at without a branch

    /// Masks of the first places of a window: behind the end of a log there is anything.
    static constexpr auto kSeen = [] {
        std::array<std::array<Chunk, kWindow>, kWindow + 1> masks{};
        for (std::size_t seen = 0; seen <= kWindow; ++seen)
            for (std::size_t i = 0; i < seen; ++i) masks[seen][i] = static_cast<Chunk>(~Chunk{0});
        return masks;
    }();

    struct Lane {
        Place next;          ///< what the link has not seen of its sender's log
        std::uint32_t from;  ///< the sender's rank
    };

    struct Node {
        Place end;  ///< of its log: what it held, then what it got
        std::uint32_t lacks;
        std::size_t next_send;
        Word* taken;
        Random random;
        std::uint32_t lane;  ///< the first of its lanes
        std::uint32_t lanes;
    };

    /// The part of the log that a link may see as its receiver's turn comes.
    struct View {
        Place end;
        std::uint32_t open;  ///< bits of chunks of the window that the receiver lacks
        Chunk window[kWindow];
    };

    struct Pick {
        std::uint32_t link;  ///< of those into the node
        std::uint32_t chunk;
        Place next_before;
    };

    void order_nodes(std::size_t cache_bytes) {
        const std::uint32_t nodes = task_.problem->nodes;
        const std::size_t lines = 2 + 2 * task_.links.size() / nodes;  // ends of logs, places in others
        const std::size_t bytes = taken_.words() * sizeof(Word) + 64 * lines;
        if (nodes * bytes > cache_bytes) {
            NodeOrder order = order_near_neighbours(nodes, task_.links);
            const std::size_t rounds = cache_bytes / bytes / std::max<std::uint32_t>(1, order.reach);
            if (rounds > 1) {
                lag_ = std::max<std::uint32_t>(1, order.reach);
                rounds_ = static_cast<std::uint32_t>(std::min<std::size_t>(rounds, kMostRounds));
                order_ = std::move(order.nodes);
                return;
            }
        }
        order_.resize(nodes);
        for (std::uint32_t v = 0; v < nodes; ++v) order_[v] = v;
    }

    void begin_nodes(Random random) {
        const std::uint32_t nodes = task_.problem->nodes;
        std::vector<std::uint32_t> rank(nodes);
        for (std::uint32_t i = 0; i < nodes; ++i) rank[order_[i]] = i;
        nodes_.resize(nodes, {0, 0, 0, nullptr, random, 0, 0});
        std::vector<Place> first_place(nodes);
        for (std::uint32_t v = 0; v < nodes; ++v) {
            const std::uint32_t held = task_.held_begin[v + 1] - task_.held_begin[v];
            const std::size_t end = logs_->first_chunk(v);
            Chunk* const log = log_ + end - held;
            for (std::uint32_t i = 0; i < held; ++i)
                log[i] = static_cast<Chunk>(task_.holdings[task_.held_begin[v] + i].chunk);
            random.shuffle(log, held);
            Node& node = nodes_[rank[v]];
            node.end = static_cast<Place>(end);
            node.lacks = task_.lacks[v];
            node.next_send = logs_->first_send(v);
            node.taken = taken_[v];
            first_place[v] = node.end - held;
        }
        const std::vector<Random> randoms = randoms_of_nodes(random, nodes);
        std::uint32_t most_links = 0;
        for (std::uint32_t i = 0; i < nodes; ++i) {
            const std::uint32_t v = order_[i];
            Node& node = nodes_[i];
            node.random = randoms[v];
            node.lane = static_cast<std::uint32_t>(lanes_.size());
            node.lanes = task_.into[v + 1] - task_.into[v];
            most_links = std::max(most_links, node.lanes);
            for (std::uint32_t l = task_.into[v]; l < task_.into[v + 1]; ++l)
                lanes_.push_back({first_place[task_.links[l].from], rank[task_.links[l].from]});
        }
        ends_.resize(std::size_t{nodes} * kSlots);
        for (std::uint32_t i = 0; i < nodes; ++i) ends_[slot(i, 0) + kSlots - 1] = nodes_[i].end;
        ready_.resize(most_links);
        views_.resize(most_links);
        picks_.resize(most_links);
    }

    static std::size_t slot(std::uint32_t rank, std::uint64_t round) {
        return std::size_t{rank} * kSlots + round % kSlots;
    }

    /// Until all that is wanted is on its way; false if the limit is reached before.
    bool advance() {
        const auto nodes = static_cast<std::uint32_t>(nodes_.size());
        // Sends of a round must have arrived before the limit.
        const auto most_rounds =
            static_cast<std::uint64_t>(std::max<Picoseconds>(0, (options_.limit - 1) / round_ps_));
        for (std::uint64_t first = 0; wanted_left_ > 0; first += rounds_) {
            if (first >= most_rounds) return false;
            const auto rounds =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(rounds_, most_rounds - first));
            last_gain_ = 0;
            Number* counts[kMostRounds];
            for (std::uint32_t j = 0; j < rounds; ++j) counts[j] = logs_->begin_round();
            const std::uint64_t steps = nodes + std::uint64_t{lag_} * (rounds - 1);
            for (std::uint64_t step = 0; step < steps; ++step) {
                for (std::uint32_t j = 0; j < rounds && std::uint64_t{j} * lag_ <= step; ++j) {
                    const std::uint64_t rank = step - std::uint64_t{j} * lag_;
                    if (rank >= nodes) continue;
                    if (rank + kAhead < nodes) prepare(static_cast<std::uint32_t>(rank) + kAhead);
                    counts[j][rank] = serve(static_cast<std::uint32_t>(rank), first + j);
                }
                checkpoint_();
            }
            if (wanted_left_ > 0 && !gained_in(first + rounds - 1)) throw_missing_chunk();
        }
        return true;
    }

    bool gained_in(std::uint64_t round) const { return last_gain_ == round + 1; }

    [[noreturn]] void throw_missing_chunk() const {
        std::vector<std::uint32_t> lacks(nodes_.size());
        for (std::size_t i = 0; i < nodes_.size(); ++i) lacks[order_[i]] = nodes_[i].lacks;
        throw_missing(task_, taken_, lacks);
    }

    /// Soon a node is served: what its links see next comes from memory meanwhile.
    void prepare(std::uint32_t rank) const {
        const Node& node = nodes_[rank];
        if (node.lacks == 0) return;
        __builtin_prefetch(log_ + node.end, 1);
        __builtin_prefetch(&logs_->links[node.next_send], 1);
        for (std::uint32_t l = node.lane; l < node.lane + node.lanes; ++l)
            __builtin_prefetch(log_ + lanes_[l].next);
    }

    /// Gives a chunk to as many as possible of the links into a node; tells how many.
    Number serve(std::uint32_t rank, std::uint64_t round) {
        Node& node = nodes_[rank];
        std::uint32_t gains = 0;
        const std::size_t count = node.lacks > 0 ? view_links(node, round) : 0;
        if (count > 0) {
            std::uint32_t* const ready = ready_.data();
            node.random.shuffle(ready, count);
            for (std::uint32_t i = 0; i < count; ++i) {
                Lane& lane = lanes_[node.lane + ready[i]];
                Pick pick{ready[i], kNone, lane.next};
                if (gains < node.lacks) {
                    const View& view = views_[ready[i]];
                    pick.chunk = choose_in(lane, view, node.taken);
                    // A chunk that another link took now, and this one could have carried, was open.
                    const bool may_exchange = view.open != 0 || view.end - pick.next_before > kWindow;
                    if (pick.chunk == kNone && may_exchange) exchange(pick, i, node);
                    if (pick.chunk != kNone) {
                        insert(node.taken, pick.chunk);
                        ++gains;
                    }
                }
                picks_[i] = pick;
            }
        }
        if (gains > 0) {
            Chunk* const chunks = log_ + node.end;
            Number* const links = &logs_->links[node.next_send];
            for (std::uint32_t i = 0, sent = 0; sent < gains; ++i) {
                chunks[sent] = static_cast<Chunk>(picks_[i].chunk);
                links[sent] = static_cast<Number>(picks_[i].link);
                sent += picks_[i].chunk != kNone;
            }
            node.end += gains;
            node.next_send += gains;
            node.lacks -= gains;
            wanted_left_ -= gains;
            last_gain_ = std::max(last_gain_, round + 1);
        }
        ends_[slot(rank, round)] = node.end;
        return static_cast<Number>(gains);
    }

    /// Finds the links into a node whose sender has something that they have not seen, or that have just
    /// carried something; and what they see.
    std::size_t view_links(const Node& node, std::uint64_t round) {
        std::size_t count = 0;
        const Lane* const lanes = &lanes_[node.lane];
        const Word* const taken = node.taken;
        for (std::uint32_t l = 0; l < node.lanes; ++l) {
            View& view = views_[l];
            const Place next = lanes[l].next;
            view.end = ends_[slot(lanes[l].from, round + kSlots - 1)];
            ready_[count] = l;
            count += next != view.end;
            const std::uint32_t seen = std::min(view.end - next, kWindow);
            Chunk window[kWindow];
            std::memcpy(window, log_ + next, sizeof window);
            for (std::uint32_t i = 0; i < kWindow; ++i) window[i] &= kSeen[seen][i];
            std::memcpy(view.window, window, sizeof window);
            std::uint32_t members = 0;
            for (std::uint32_t i = kWindow; i-- > 0;) members = 2 * members + has(taken, window[i]);
            view.open = ~members & ((1U << seen) - 1);
        }
        return count;
    }

    /// The oldest chunk that a link can carry; it stays the next one: the link is ready again.
    std::uint32_t choose_in(Lane& lane, const View& view, const Word* taken) const {
        for (std::uint32_t open = view.open; open != 0; open &= open - 1) {
            const auto i = static_cast<std::uint32_t>(std::countr_zero(open));
            if (has(taken, view.window[i])) continue;  // another link has taken it meanwhile
            lane.next += i;
            return view.window[i];
        }
        if (view.end - lane.next <= kWindow) {
            lane.next = view.end;
            return kNone;
        }
        lane.next += kWindow;
        return choose(lane, view.end, taken);
    }

    /// The same without a view.
    std::uint32_t choose(Lane& lane, Place end, const Word* taken) const {
        lane.next = static_cast<Place>(skip_members<Chunk>(log_ + lane.next, log_ + end, taken) - log_);
        return lane.next != end ? log_[lane.next] : kNone;
    }

    /// Takes over the chunk of one of the first `count` picks whose link can carry another one.
    void exchange(Pick& pick, std::size_t count, Node& node) {
        const Place end = views_[pick.link].end;
        for (std::size_t i = 0; i < count; ++i) {
            Pick& other = picks_[i];
            if (other.chunk == kNone ||
                std::find(log_ + pick.next_before, log_ + end, static_cast<Chunk>(other.chunk)) == log_ + end)
                continue;
            Lane& lane = lanes_[node.lane + other.link];
            const std::uint32_t another = choose(lane, views_[other.link].end, node.taken);
            if (another == kNone) {
                --lane.next;  // what carries something is ready again, though it sees nothing
                continue;
            }
            insert(node.taken, another);
            pick.chunk = std::exchange(other.chunk, another);
            lanes_[node.lane + pick.link].next = end - 1;
            return;
        }
    }

    const Task& task_;
    const GreedyOptions& options_;
    const Checkpoint& checkpoint_;
    Picoseconds round_ps_;
    BitRows taken_;  ///< per node: chunks that it has, or that are claimed
    std::uint64_t wanted_left_;
    std::uint32_t rounds_ = 1;     ///< in a sweep
    std::uint32_t lag_ = 1;        ///< so many nodes a round is behind the one before it
    std::uint64_t last_gain_ = 0;  ///< the last round in which something was sent, from 1 on
    std::vector<std::uint32_t> order_;
    std::unique_ptr<RoundLogs<Chunk, Number>> logs_;
    Chunk* log_ = nullptr;     ///< of the first node; the others are behind it
    std::vector<Node> nodes_;  ///< by rank
    std::vector<Place> ends_;  ///< by rank: the end of its log after each of the last rounds
    std::vector<Lane> lanes_;  ///< by rank of the destination
    std::vector<std::uint32_t> ready_;
    std::vector<View> views_;  ///< per link into the node that is served
    std::vector<Pick> picks_;
};

}  // namespace

bool goes_in_sweeps(const Task& task, const GreedyOptions& options) {
    if (options.by_arrival || options.tells_last_arrivals) return false;
    if (task.wanted_deliveries + task.holdings.size() > kMostPlaces) return false;
    return std::none_of(task.links.begin(), task.links.end(), [&](const Link& link) {
        return task.held_begin[link.from] == task.held_begin[link.from + 1];
    });
}

GreedyRun run_sweeps(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint, std::size_t cache_bytes) {
    if (is_narrow(task))
        return Sweeps<std::uint16_t, std::uint8_t>(task, options, random, checkpoint, cache_bytes).run();
    return Sweeps<std::uint32_t, std::uint32_t>(task, options, random, checkpoint, cache_bytes).run();
}

}  // namespace dse::synthesis
