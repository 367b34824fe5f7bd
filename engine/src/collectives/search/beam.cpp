// States of a search that go on side by side.
#include "collectives/search/beam.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "collectives/routes/routes.hpp"
#include "collectives/schedules/prune.hpp"

namespace dse::synthesis {

namespace {

constexpr double kBeamRouteNoise = 0.2;

/// The sends of a state: a list that copies of a state share.
struct Sent {
    Send send;
    mutable std::shared_ptr<const Sent> before;  // mutable for the destructor

    Sent(const Send& sent, std::shared_ptr<const Sent> earlier) : send(sent), before(std::move(earlier)) {}
    Sent(const Sent&) = delete;
    Sent& operator=(const Sent&) = delete;

    /// Step by step: a list is as long as a schedule, too long for recursion.
    ~Sent() {
        while (before && before.use_count() == 1) {
            std::shared_ptr<const Sent> next = std::move(before->before);
            before = std::move(next);
        }
    }
};

/// A chunk on its way: the least time first.
struct Coming {
    Picoseconds at;
    std::uint32_t node;
    std::uint32_t chunk;

    bool operator>(const Coming& other) const { return at > other.at; }
};

struct State {
    BitRows have;   ///< per node: chunks that are there
    BitRows taken;  ///< per node: chunks that are there, coming, or not to come
    std::vector<Picoseconds> free_at;
    std::vector<Coming> coming;  ///< a heap
    std::shared_ptr<const Sent> sent;
    std::uint64_t left = 0;   ///< wanted deliveries that are not on their way
    std::uint64_t there = 0;  ///< deliveries that have been made
    Picoseconds last = 0;     ///< when the last wanted delivery so far is made
};

class Beam {
public:
    Beam(const Task& task, const BeamOptions& options, Random random, Picoseconds limit,
         const Checkpoint& checkpoint)
        : task_(task), options_(options), random_(random), limit_(limit), checkpoint_(checkpoint) {
        for (std::uint32_t l = 0; l < task.links.size(); ++l) links_.push_back(l);
        if (options.fitness == Fitness::kShortestPath) measure_distances();
    }

    std::optional<Sends> run() {
        std::vector<State> states(1);
        start(states[0]);
        std::optional<State> best;
        Picoseconds now = 0;
        while (!states.empty()) {
            std::vector<State> next;
            for (const State& state : states)
                for (std::uint32_t copy = 0; copy < options_.beams; ++copy) {
                    next.push_back(state);
                    arrive(next.back(), now);
                    fill(next.back(), now);
                    checkpoint_.look();
                }
            std::erase_if(next, [&](State& state) {
                if (state.last >= limit_) return true;
                if (state.left > 0) return false;
                limit_ = state.last;
                best = std::move(state);
                return true;
            });
            now = next_time(next, now);
            if (now >= limit_) break;
            states = survivors(std::move(next), now);
        }
        if (!best) return std::nullopt;
        return sends_of(*best);
    }

private:
    void start(State& state) {
        const Problem& problem = *task_.problem;
        state.have = BitRows(problem.nodes, problem.chunks);
        state.taken = task_.settled;
        state.free_at = task_.free_from;
        state.left = task_.wanted_deliveries;
        for (const Holding& held : task_.holdings) {
            if (held.at <= 0)
                insert(state.have[held.node], held.chunk);
            else
                push(state, {held.at, held.node, held.chunk});
        }
    }

    static void push(State& state, const Coming& coming) {
        state.coming.push_back(coming);
        std::push_heap(state.coming.begin(), state.coming.end(), std::greater<>());
    }

    static void arrive(State& state, Picoseconds now) {
        while (!state.coming.empty() && state.coming.front().at <= now) {
            insert(state.have[state.coming.front().node], state.coming.front().chunk);
            ++state.there;
            std::pop_heap(state.coming.begin(), state.coming.end(), std::greater<>());
            state.coming.pop_back();
        }
    }

    /// Sends at this time until no free link has anything that its receiver lacks.
    void fill(State& state, Picoseconds now) {
        random_.shuffle(links_);
        for (const std::uint32_t l : links_) {
            const Link& link = task_.links[l];
            while (state.free_at[l] <= now && send_any(state, l, link, now))
                if (link.held > 0) break;
        }
    }

    bool send_any(State& state, std::uint32_t l, const Link& link, Picoseconds now) {
        const Word* have = state.have[link.from];
        Word* taken = state.taken[link.to];
        const auto words = static_cast<std::uint32_t>(state.have.words());
        const std::uint32_t first = random_.below(task_.problem->chunks);
        for (std::uint32_t i = 0; i <= words; ++i) {
            const std::uint32_t w = (first / kWordBits + i) % words;
            Word open = have[w] & ~taken[w];
            if (i == 0) open &= ~Word{0} << (first % kWordBits);
            if (open == 0) continue;
            const std::uint32_t chunk = w * kWordBits + static_cast<std::uint32_t>(__builtin_ctzll(open));
            insert(taken, chunk);
            const Picoseconds at = now + link.arrival;
            state.free_at[l] = now + link.held;
            if (task_.is_wanted(link.to, chunk)) {
                --state.left;
                state.last = std::max(state.last, at);
            }
            state.sent = std::make_shared<const Sent>(Send{l, chunk, now}, std::move(state.sent));
            push(state, {at, link.to, chunk});
            return true;
        }
        return false;
    }

    /// When something next changes in one of the states: all move on to it, so they stay comparable.
    Picoseconds next_time(const std::vector<State>& states, Picoseconds now) const {
        Picoseconds next = kNever;
        for (const State& state : states) {
            if (!state.coming.empty()) next = std::min(next, state.coming.front().at);
            for (const Picoseconds at : state.free_at)
                if (at > now) next = std::min(next, at);
        }
        return next;
    }

    /// The fittest, or those that chance prefers.
    std::vector<State> survivors(std::vector<State> states, Picoseconds now) {
        std::vector<std::pair<double, std::uint32_t>> keys;
        for (std::uint32_t i = 0; i < states.size(); ++i) {
            arrive(states[i], now);
            double fitness = fitness_of(states[i], now);
            // Drawing without replacement by softmax is taking the largest of fitness / t + Gumbel noise.
            if (options_.temperature > 0)
                fitness = fitness / options_.temperature - std::log(-std::log(random_.unit() + 0x1p-54));
            keys.emplace_back(-fitness, i);
        }
        std::sort(keys.begin(), keys.end());
        keys.resize(std::min<std::size_t>(keys.size(), options_.beams));
        std::vector<State> kept;
        for (const auto& [_, i] : keys) kept.push_back(std::move(states[i]));
        return kept;
    }

    double fitness_of(const State& state, Picoseconds now) const {
        if (options_.fitness == Fitness::kChunkCount) return static_cast<double>(state.there);
        Picoseconds longest = 0;
        for (std::uint32_t v = 0; v < task_.problem->npus; ++v)
            for (std::uint32_t chunk = 0; chunk < task_.problem->chunks; ++chunk)
                if (task_.is_wanted(v, chunk) && !has(state.have[v], chunk))
                    longest = std::max(longest, way_left(state, v, chunk, now));
        return -static_cast<double>(longest);
    }

    Picoseconds way_left(const State& state, std::uint32_t v, std::uint32_t chunk, Picoseconds now) const {
        const std::uint32_t nodes = task_.problem->nodes;
        Picoseconds nearest = kNever;
        for (std::uint32_t u = 0; u < nodes; ++u)
            if (has(state.have[u], chunk)) nearest = std::min(nearest, distance_[std::size_t{u} * nodes + v]);
        for (const Coming& coming : state.coming) {
            const Picoseconds way = distance_[std::size_t{coming.node} * nodes + v];
            if (coming.chunk == chunk && way != kNever) nearest = std::min(nearest, coming.at - now + way);
        }
        return nearest == kNever ? 0 : nearest;
    }

    /// Shortest ways between all nodes.
    void measure_distances() {
        const std::uint32_t nodes = task_.problem->nodes;
        distance_.assign(std::size_t{nodes} * nodes, kNever);
        std::vector<std::pair<Picoseconds, std::uint32_t>> heap;
        for (std::uint32_t source = 0; source < nodes; ++source) {
            Picoseconds* row = distance_.data() + std::size_t{source} * nodes;
            row[source] = 0;
            heap.assign(1, {0, source});
            while (!heap.empty()) {
                std::pop_heap(heap.begin(), heap.end(), std::greater<>());
                const auto [at, u] = heap.back();
                heap.pop_back();
                if (at > row[u]) continue;
                for (std::uint32_t i = task_.out_of[u]; i < task_.out_of[u + 1]; ++i) {
                    const Link& link = task_.links[task_.leaving[i]];
                    if (at + link.arrival >= row[link.to]) continue;
                    row[link.to] = at + link.arrival;
                    heap.emplace_back(row[link.to], link.to);
                    std::push_heap(heap.begin(), heap.end(), std::greater<>());
                }
            }
            checkpoint_();
        }
    }

    Sends sends_of(const State& state) const {
        Sends result;
        for (const Sent* sent = state.sent.get(); sent; sent = sent->before.get())
            result.sends.push_back({task_.number_of[sent->send.link], sent->send.chunk, sent->send.start});
        result.time = state.last;
        return result;
    }

    const Task& task_;
    const BeamOptions& options_;
    Random random_;
    Picoseconds limit_;
    const Checkpoint& checkpoint_;
    std::vector<std::uint32_t> links_;
    std::vector<Picoseconds> distance_;  ///< from, to
};

}  // namespace

Found search_beam(const Problem& problem, const BeamOptions& options, const Effort& effort,
                  const Checkpoint& checkpoint) {
    return search_runs(effort, checkpoint, [&](std::uint32_t r, Picoseconds limit) -> std::optional<Columns> {
        Random random(effort.seed, r);
        BitRows relayed;
        if (!problem.everyone_wants_all)
            relayed = nodes_of_routes(problem,
                                      find_routes(problem, r == 0 ? 0 : kBeamRouteNoise, random, checkpoint));
        const Task task(problem, relayed);
        // A greedy run says who cannot be reached.
        if (r == 0) run_greedy(task, {}, random, checkpoint);
        std::optional<Sends> sends = Beam(task, options, random, limit, checkpoint).run();
        if (!sends) return std::nullopt;
        if (task.may_be_redundant) sends = compacted(problem, pruned(problem, std::move(*sends)));
        return to_columns(*sends);
    });
}

}  // namespace dse::synthesis
