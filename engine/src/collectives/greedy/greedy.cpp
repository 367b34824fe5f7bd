// One event loop for both greedy searches: they differ in when a chunk is claimed, and in what a link could
// have sent by then.
#include "collectives/greedy/greedy.hpp"

#include <algorithm>
#include <utility>

#include "collectives/greedy/any_rounds.hpp"
#include "collectives/greedy/choice.hpp"
#include "collectives/greedy/flights.hpp"
#include "collectives/greedy/greedy_state.hpp"
#include "collectives/greedy/rounds.hpp"
#include "collectives/greedy/sweeps.hpp"
#include "collectives/problem/calendar.hpp"
#include "collectives/problem/copy_engines.hpp"
#include "collectives/problem/number_sorter.hpp"

namespace dse::synthesis {

namespace {

constexpr std::size_t kCacheBytes = std::size_t{3} << 20;  // such as are near a core on most machines
constexpr std::size_t kAhead = 16;                         // so many links or flights are prepared

class Greedy {
public:
    Greedy(const Task& task, const GreedyOptions& options, Random random, const Checkpoint& checkpoint)
        : task_(task),
          options_(options),
          checkpoint_(checkpoint),
          state_(task, options, random),
          choice_(state_),
          flights_(task),
          engines_(task.problem->engines, task.links),
          sorter_(task.links.size()),
          wanted_left_(task.wanted_deliveries),
          free_at_(task.free_from),
          is_waiting_(task.links.size(), 0),
          waiting_(task.problem->nodes, 0) {}

    GreedyRun run() {
        start();
        GreedyRun result;
        result.is_complete = advance();
        if (options_.tells_last_arrivals) result.last_arrival = last_arrivals(state_, flights_);
        if (result.is_complete) {
            flights_.each([&](const Flight& flight) { flight.link != kNone ? note(flight) : void(); });
            result.sends = state_.logs.take_sends(task_);
        }
        return result;
    }

private:
    /// The chunk that a link takes now, if any.
    struct Pick {
        std::uint32_t link;
        std::uint32_t chunk;
        std::uint32_t cursor_before;
    };

    // Items of the calendar: a link to try, or a flight that arrives.
    static std::uint32_t item_of_link(std::uint32_t link) { return 2 * link; }
    static std::uint32_t item_of_flight(std::uint32_t flight) { return 2 * flight + 1; }

    void start() {
        for (std::uint32_t v = 0; v < task_.problem->nodes; ++v) {
            const Holding* first = task_.holdings.data() + task_.held_begin[v];
            const Holding* last = task_.holdings.data() + task_.held_begin[v + 1];
            const Holding* held = first;
            for (; held != last && held->at <= 0; ++held) note({kNone, v, held->chunk, 0});
            state_.logs.shuffle(v, state_.random);
            for (; held != last; ++held) fly({kNone, v, held->chunk, held->at});
        }
        if (goes_in_rounds(task_, options_))
            random_of_node_ = randoms_of_nodes(state_.random, task_.problem->nodes);
        for (std::uint32_t l = 0; l < task_.links.size(); ++l) {
            if (options_.by_arrival)
                schedule(l);
            else
                calendar_.add(free_at_[l], item_of_link(l));
        }
    }

    /// Until all that is wanted is on its way; false if the limit is reached before.
    bool advance() {
        while (wanted_left_ > 0) {
            if (calendar_.empty()) throw_missing(task_, state_.taken, state_.lacks);
            const Picoseconds now = calendar_.take(items_);
            if (now >= options_.limit) return false;
            ready_.clear();
            for (std::size_t i = 0; i < items_.size(); ++i) {
                if (i + kAhead < items_.size()) prepare(items_[i + kAhead]);
                if (items_[i] % 2 == 0)
                    ready_.push_back(items_[i] / 2);
                else
                    land(items_[i] / 2);
            }
            sorter_.sort(ready_);
            if (engines_.any()) {
                if (!serve_in_any_order(now)) return false;
                continue;
            }
            std::size_t prepared = 0;
            for (std::size_t i = 0; i < ready_.size() && wanted_left_ > 0;) {
                const std::uint32_t v = task_.links[ready_[i]].to;
                std::size_t end = i + 1;
                while (end < ready_.size() && task_.links[ready_[end]].to == v) ++end;
                for (; prepared < std::min(end + kAhead, ready_.size()); ++prepared)
                    choice_.prepare(ready_[prepared]);
                if (state_.lacks[v] > 0 && !serve(v, i, end, now)) return false;
                i = end;
                checkpoint_();
            }
        }
        return true;
    }

    /// Nodes whose neighbours have few engines take turns: none is always the first.
    bool serve_in_any_order(Picoseconds now) {
        turns_.clear();
        for (std::size_t i = 0, end = 0; i < ready_.size(); i = end) {
            while (end < ready_.size() && task_.links[ready_[end]].to == task_.links[ready_[i]].to) ++end;
            turns_.emplace_back(i, end);
        }
        state_.random.shuffle(turns_);
        for (const auto& [i, end] : turns_) {
            const std::uint32_t v = task_.links[ready_[i]].to;
            if (wanted_left_ > 0 && state_.lacks[v] > 0 && !serve(v, i, end, now)) return false;
            checkpoint_();
        }
        return true;
    }

    /// Soon the item is taken: what it needs comes from memory meanwhile.
    void prepare(std::uint32_t item) const {
        if (item % 2 == 0) return;
        const std::uint32_t node = flights_.node(item / 2);
        if (node != kNone) state_.logs.prepare_note(node);
    }

    /// Gives a chunk to as many as possible of the ready links i … end-1, all into v.
    bool serve(std::uint32_t v, std::size_t i, std::size_t end, Picoseconds now) {
        picks_.clear();
        std::uint32_t taken = 0;
        Random& random = random_of_node_.empty() ? state_.random : random_of_node_[v];
        if (end - i > 1) random.shuffle(ready_.data() + i, end - i);
        for (; i < end; ++i) {
            const std::uint32_t link = ready_[i];
            if (!has_engines(link, now)) continue;
            Pick pick{link, kNone, choice_.cursor(link)};
            if (state_.lacks[v] > taken) {
                pick.chunk = choice_.choose(link, now);
                if (pick.chunk == kNone && !picks_.empty()) exchange(pick, v, now);
                if (pick.chunk != kNone) {
                    insert(state_.taken[v], pick.chunk);
                    ++taken;
                    if (engines_.any()) engines_.take(link, now);
                }
            }
            picks_.push_back(pick);
        }
        for (const Pick& pick : picks_) {
            if (pick.chunk != kNone && !send(pick.link, pick.chunk, now)) return false;
            if (options_.by_arrival)
                schedule(pick.link);
            else if (pick.chunk == kNone)
                wait(pick.link);
        }
        return true;
    }

    /// Whether both ends of a link have an engine for it now; it is tried again when they have.
    bool has_engines(std::uint32_t link, Picoseconds now) {
        if (!engines_.any()) return true;
        const Picoseconds start = engines_.earliest(link, now);
        if (start > now) calendar_.add(start, item_of_link(link));
        return start == now;
    }

    /// Takes over the chunk of an earlier pick whose link can carry another one.
    void exchange(Pick& pick, std::uint32_t v, Picoseconds now) {
        for (Pick& other : picks_) {
            if (other.chunk == kNone || !choice_.could_carry(pick.link, pick.cursor_before, other.chunk, now))
                continue;
            const std::uint32_t another = choice_.choose(other.link, now);
            if (another == kNone) continue;
            insert(state_.taken[v], another);
            pick.chunk = other.chunk;
            other.chunk = another;
            return;
        }
    }

    /// False if that is too late.
    bool send(std::uint32_t link, std::uint32_t chunk, Picoseconds now) {
        const Link& by = task_.links[link];
        --state_.lacks[by.to];
        const bool is_wanted = !task_.may_be_redundant || task_.is_wanted(by.to, chunk);
        wanted_left_ -= is_wanted;
        if (options_.by_arrival) {
            free_at_[link] = now - by.arrival + by.held;
            note({link, by.to, chunk, now});
            wake(by.to, now);
            return true;
        }
        free_at_[link] = now + by.held;
        fly({link, by.to, chunk, now + by.arrival});
        if (by.held != by.arrival) calendar_.add(now + by.held, item_of_link(link));
        return !is_wanted || now + by.arrival < options_.limit;
    }

    /// Whether a link carries one chunk at a time.
    bool is_held_until_arrival(std::uint32_t link) const {
        return task_.links[link].held == task_.links[link].arrival;
    }

    void fly(const Flight& flight) {
        const bool is_only = flight.link != kNone && is_held_until_arrival(flight.link);
        calendar_.add(flight.at, item_of_flight(flights_.add(flight, is_only)));
    }

    void land(std::uint32_t number) {
        const Flight flight = flights_.take(number);
        note(flight);
        wake(flight.node, flight.at);
        if (flight.link != kNone && !options_.by_arrival && is_held_until_arrival(flight.link))
            ready_.push_back(flight.link);
    }

    void note(const Flight& flight) {
        state_.logs.note(flight.node, flight.link, flight.chunk, flight.at);
        choice_.note(flight.chunk);
    }

    void wait(std::uint32_t link) {
        is_waiting_[link] = 1;
        ++waiting_[task_.links[link].from];
    }

    /// A node has got something: what waited for it goes on.
    void wake(std::uint32_t node, Picoseconds now) {
        if (waiting_[node] == 0) return;
        waiting_[node] = 0;
        for (std::uint32_t i = task_.out_of[node]; i < task_.out_of[node + 1]; ++i) {
            const std::uint32_t link = task_.leaving[i];
            if (is_waiting_[link] == 0) continue;
            is_waiting_[link] = 0;
            if (options_.by_arrival)
                calendar_.add(std::max(free_at_[link], now) + task_.links[link].arrival, item_of_link(link));
            else
                ready_.push_back(link);
        }
    }

    /// By arrival: when the link could next deliver something that its receiver lacks.
    void schedule(std::uint32_t link) {
        const Link& by = task_.links[link];
        if (state_.lacks[by.to] == 0) return;
        const Picoseconds since = choice_.ready_since(link);
        if (since == kNever)
            wait(link);
        else
            calendar_.add(std::max(free_at_[link], since) + by.arrival, item_of_link(link));
    }

    const Task& task_;
    const GreedyOptions& options_;
    const Checkpoint& checkpoint_;
    GreedyState state_;
    Choice choice_;
    Flights flights_;
    CopyEngines engines_;
    Calendar calendar_;
    NumberSorter sorter_;

    std::uint64_t wanted_left_;
    std::vector<Random> random_of_node_;  ///< where other ways to the same run may serve nodes in any order
    std::vector<Picoseconds> free_at_;
    std::vector<std::uint8_t> is_waiting_;  ///< per link: until its sender gets something
    std::vector<std::uint32_t> waiting_;    ///< per node: how many of its links wait
    std::vector<std::uint32_t> items_, ready_;
    std::vector<Pick> picks_;
    std::vector<std::pair<std::size_t, std::size_t>> turns_;  ///< of nodes: their links in `ready_`
};

}  // namespace

GreedyRun run_events(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint) {
    return Greedy(task, options, random, checkpoint).run();
}

GreedyRun run_greedy(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint) {
    if (goes_in_rounds(task, options)) {
        if (goes_in_sweeps(task, options)) return run_sweeps(task, options, random, checkpoint, kCacheBytes);
        return run_rounds(task, options, random, checkpoint);
    }
    if (goes_in_any_rounds(task, options)) return run_any_rounds(task, options, random, checkpoint);
    return run_events(task, options, random, checkpoint);
}

}  // namespace dse::synthesis
