// A node takes part in round r when its neighbours have done so in round r-1, wherever they are by now: what
// a node may see of a neighbour is kept for the rounds of a sweep. So a sweep over the nodes, in an order in
// which neighbours are near, does some rounds at once, each a few nodes behind the one before it.
#include "collectives/synthesis/sweeps.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "collectives/synthesis/bits.hpp"
#include "collectives/synthesis/greedy_state.hpp"
#include "collectives/synthesis/node_order.hpp"

namespace dse::synthesis {

namespace {

/// Chunks as numbers of the given type, in logs that lie where the schedule has the chunks in the end.
template <typename Chunk>
class Sweeps {
public:
    Sweeps(const Task& task, const GreedyOptions& options, Random random, const Checkpoint& checkpoint,
           std::size_t cache_bytes)
        : task_(task),
          options_(options),
          checkpoint_(checkpoint),
          round_ps_(task.links[0].arrival),
          taken_(task.settled),
          wanted_left_(task.wanted_deliveries),
          sends_(task.wanted_deliveries + task.holdings.size()) {
        order_nodes(cache_bytes);
        begin_nodes(random);
    }

    GreedyRun run() {
        GreedyRun result;
        result.is_complete = advance();
        if (result.is_complete) result.sends = take_sends();
        return result;
    }

private:
    using Place = const Chunk*;  // in a log

    static constexpr std::uint32_t kMostRounds = 15;  // in a sweep
    static constexpr std::uint32_t kSlots = kMostRounds + 1;
    static constexpr std::uint32_t kAhead = 3;  // so many nodes are prepared
    static constexpr std::uint32_t kPlaceBits = 32;

    struct Lane {
        Place next;          ///< what the link has not seen of its sender's log
        std::uint32_t from;  ///< the sender's rank
    };

    struct Node {
        Chunk* end;                ///< of its log: what it held, then what it got
        std::uint64_t* next_send;  ///< round and link of what it gets next
        Word* taken;
        Random random;
        std::uint32_t lacks;
        std::uint32_t lane;  ///< the first of its lanes
        std::uint32_t lanes;
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
        nodes_.resize(nodes, {nullptr, nullptr, nullptr, random, 0, 0, 0});
        first_log_.resize(nodes);
        std::size_t place = 0, sends = 0;
        for (std::uint32_t v = 0; v < nodes; ++v) {
            const std::uint32_t held = task_.held_begin[v + 1] - task_.held_begin[v];
            place += held + task_.lacks[v];
            // The log is the end of its place in the schedule: when it is spread, it moves away from itself.
            Chunk* const log = reinterpret_cast<Chunk*>(&sends_.chunk[0] + place) - held - task_.lacks[v];
            for (std::uint32_t i = 0; i < held; ++i)
                log[i] = static_cast<Chunk>(task_.holdings[task_.held_begin[v] + i].chunk);
            random.shuffle(log, held);
            Node& node = nodes_[rank[v]];
            node.end = log + held;
            node.next_send = reinterpret_cast<std::uint64_t*>(&sends_.start[sends]);
            node.taken = taken_[v];
            node.lacks = task_.lacks[v];
            first_log_[v] = log;
            sends += task_.lacks[v];
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
                lanes_.push_back({first_log_[task_.links[l].from], rank[task_.links[l].from]});
        }
        ends_.resize(std::size_t{nodes} * kSlots);
        for (std::uint32_t i = 0; i < nodes; ++i) ends_[slot(i, 0) + kSlots - 1] = nodes_[i].end;
        ready_.resize(most_links);
        visible_.resize(most_links);
        picks_.resize(most_links);
    }

    static std::size_t slot(std::uint32_t rank, std::uint64_t round) {
        return std::size_t{rank} * kSlots + round % kSlots;
    }

    /// Until all that is wanted is on its way; false if the limit is reached before.
    bool advance() {
        const auto nodes = static_cast<std::uint32_t>(nodes_.size());
        // What is sent in a round must have arrived before the limit.
        const auto most_rounds =
            static_cast<std::uint64_t>(std::max<Picoseconds>(0, (options_.limit - 1) / round_ps_));
        for (std::uint64_t first = 0; wanted_left_ > 0; first += rounds_) {
            if (first >= most_rounds) return false;
            const auto rounds =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(rounds_, most_rounds - first));
            last_gain_ = 0;
            const std::uint64_t steps = nodes + std::uint64_t{lag_} * (rounds - 1);
            for (std::uint64_t step = 0; step < steps; ++step) {
                for (std::uint32_t j = 0; j < rounds && std::uint64_t{j} * lag_ <= step; ++j) {
                    const std::uint64_t rank = step - std::uint64_t{j} * lag_;
                    if (rank >= nodes) continue;
                    if (rank + kAhead < nodes) prepare(static_cast<std::uint32_t>(rank) + kAhead);
                    serve(static_cast<std::uint32_t>(rank), first + j);
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
        __builtin_prefetch(node.end, 1);
        __builtin_prefetch(node.next_send, 1);
        for (std::uint32_t l = node.lane; l < node.lane + node.lanes; ++l) __builtin_prefetch(lanes_[l].next);
    }

    /// Gives a chunk to as many as possible of the links into a node.
    void serve(std::uint32_t rank, std::uint64_t round) {
        Node& node = nodes_[rank];
        if (node.lacks > 0) {
            const std::size_t count = find_ready(node, round);
            if (count > 1) node.random.shuffle(ready_.data(), count);
            const std::uint32_t lacked = node.lacks;
            for (std::size_t i = 0; i < count; ++i) {
                Lane& lane = lanes_[node.lane + ready_[i]];
                Pick pick{ready_[i], kNone, lane.next};
                if (node.lacks > 0) {
                    pick.chunk = choose(lane, visible_[ready_[i]], node.taken);
                    if (pick.chunk == kNone && i > 0) exchange(pick, i, node);
                    if (pick.chunk != kNone) {
                        insert(node.taken, pick.chunk);
                        --node.lacks;
                    }
                }
                picks_[i] = pick;
            }
            for (std::size_t i = 0; i < count; ++i) {
                if (picks_[i].chunk == kNone) continue;
                *node.end++ = static_cast<Chunk>(picks_[i].chunk);
                *node.next_send++ = round << kPlaceBits | picks_[i].link;
            }
            if (node.lacks != lacked) {
                wanted_left_ -= lacked - node.lacks;
                last_gain_ = std::max(last_gain_, round + 1);
            }
        }
        ends_[slot(rank, round)] = node.end;
    }

    /// The links into a node whose sender has something that they have not seen, or that have just carried
    /// something.
    std::size_t find_ready(const Node& node, std::uint64_t round) {
        std::size_t count = 0;
        const Lane* const lanes = &lanes_[node.lane];
        for (std::uint32_t l = 0; l < node.lanes; ++l) {
            const Place end = ends_[slot(lanes[l].from, round + kSlots - 1)];
            visible_[l] = end;
            ready_[count] = l;
            count += lanes[l].next != end;
        }
        return count;
    }

    /// The oldest chunk that a link can carry; it stays the next one: the link is ready again.
    static std::uint32_t choose(Lane& lane, Place end, const Word* taken) {
        lane.next = skip_members(lane.next, end, taken);
        return lane.next != end ? *lane.next : kNone;
    }

    /// Takes over the chunk of one of the first `count` picks whose link can carry another one.
    void exchange(Pick& pick, std::size_t count, Node& node) {
        const Place end = visible_[pick.link];
        for (std::size_t i = 0; i < count; ++i) {
            Pick& other = picks_[i];
            if (other.chunk == kNone ||
                std::find(pick.next_before, end, static_cast<Chunk>(other.chunk)) == end)
                continue;
            Lane& lane = lanes_[node.lane + other.link];
            const std::uint32_t another = choose(lane, visible_[other.link], node.taken);
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

    Columns take_sends() {
        std::size_t s = 0;
        for (std::uint32_t v = 0; v < nodes_.size(); ++v) {
            const std::size_t end = s + task_.lacks[v];
            const std::uint32_t held = task_.held_begin[v + 1] - task_.held_begin[v];
            const auto* from = reinterpret_cast<const unsigned char*>(first_log_[v] + held);
            const std::size_t first = s;
            for (; s < end; ++s, from += sizeof(Chunk)) {
                Chunk chunk;
                std::memcpy(&chunk, from, sizeof chunk);
                const auto sent = static_cast<std::uint64_t>(sends_.start[s]);
                sends_.chunk[s] = chunk;
                sends_.link[s] = task_.number_of[task_.into[v] + static_cast<std::uint32_t>(sent)];
                sends_.start[s] = static_cast<Picoseconds>(sent >> kPlaceBits) * round_ps_;
            }
            order_last_round(first, end);
        }
        sends_.size = s;
        if (s > 0) sends_.time = static_cast<Picoseconds>(last_gain_) * round_ps_;
        return std::move(sends_);
    }

    /// Sends that are on their way when all is sent are told by link.
    void order_last_round(std::size_t first, std::size_t end) {
        const Picoseconds last = static_cast<Picoseconds>(last_gain_ - 1) * round_ps_;
        std::size_t begin = end;
        while (begin > first && sends_.start[begin - 1] == last) --begin;
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = i; j > begin && sends_.link[j] < sends_.link[j - 1]; --j) {
                std::swap(sends_.link[j], sends_.link[j - 1]);
                std::swap(sends_.chunk[j], sends_.chunk[j - 1]);
            }
    }

    const Task& task_;
    const GreedyOptions& options_;
    const Checkpoint& checkpoint_;
    Picoseconds round_ps_;
    BitRows taken_;  ///< per node: chunks that it has, or that are claimed
    std::uint64_t wanted_left_;
    Columns sends_;
    std::uint32_t rounds_ = 1;     ///< in a sweep
    std::uint32_t lag_ = 1;        ///< so many nodes a round is behind the one before it
    std::uint64_t last_gain_ = 0;  ///< the last round in which something was sent, from 1 on
    std::vector<std::uint32_t> order_;
    std::vector<Chunk*> first_log_;  ///< per node: where its log begins
    std::vector<Node> nodes_;        ///< by rank
    std::vector<Place> ends_;        ///< by rank: the end of its log after each of the last rounds
    std::vector<Lane> lanes_;        ///< by rank of the destination
    std::vector<std::uint32_t> ready_;
    std::vector<Place> visible_;  ///< per link into the node that is served: what it may see
    std::vector<Pick> picks_;
};

}  // namespace

bool goes_in_sweeps(const Task& task, const GreedyOptions& options) {
    if (options.by_arrival || options.tells_last_arrivals) return false;
    return std::none_of(task.links.begin(), task.links.end(), [&](const Link& link) {
        return task.held_begin[link.from] == task.held_begin[link.from + 1];
    });
}

GreedyRun run_sweeps(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint, std::size_t cache_bytes) {
    if (task.problem->chunks <= std::uint32_t{1} << 16)
        return Sweeps<std::uint16_t>(task, options, random, checkpoint, cache_bytes).run();
    return Sweeps<std::uint32_t>(task, options, random, checkpoint, cache_bytes).run();
}

}  // namespace dse::synthesis
