// A round takes as long as a link does. What a node gets is written at once to where the schedule has it in
// the end, and is its log too: others see only what was there before the round.
#include "collectives/greedy/rounds.hpp"

#include <algorithm>
#include <utility>

#include "collectives/greedy/arrival_logs.hpp"
#include "collectives/greedy/greedy_state.hpp"
#include "collectives/problem/bits.hpp"

namespace dse::synthesis {

namespace {

using Place = const std::uint32_t*;  // in a log

template <bool kByArrival>
class Rounds {
public:
    Rounds(const Task& task, const GreedyOptions& options, Random random, const Checkpoint& checkpoint)
        : task_(task),
          options_(options),
          checkpoint_(checkpoint),
          round_ps_(task.links[0].arrival),
          taken_(task.settled),
          lacks_(task.lacks),
          wanted_left_(task.wanted_deliveries),
          sends_(task.wanted_deliveries + task.holdings.size()) {
        begin_logs(random);
        std::uint32_t most_links = 0;
        for (const Link& link : task.links)
            lanes_.push_back({logs_[link.from].begin, link.from, Turn::kNext});
        for (std::uint32_t v = 0; v < logs_.size(); ++v) {
            if (lacks_[v] > 0) lacking_.push_back(v);
            most_links = std::max(most_links, task.into[v + 1] - task.into[v]);
        }
        ready_.resize(most_links);
        picks_.resize(most_links);
    }

    GreedyRun run() {
        GreedyRun result;
        result.is_complete = advance();
        if (options_.tells_last_arrivals) result.last_arrival = last_arrivals();
        if (result.is_complete) result.sends = take_sends();
        return result;
    }

private:
    /// Whether a link is tried in the next round.
    enum class Turn : std::uint8_t {
        kWaits,  ///< if its sender gets something in this one
        kNext,
        kMissed,  ///< no: by arrival, its sender has got what it gets in this round already
    };

    struct Lane {
        Place next;  ///< what the link has not seen of its sender's log
        std::uint32_t from;
        Turn turn;
    };

    /// The chunks that a node held, then those that it got.
    struct Log {
        std::uint32_t* begin;
        std::uint32_t* got;
        std::uint32_t* visible;  ///< the end of what was there when the round began
        std::uint32_t* end;
        std::size_t first_send;   ///< where the links and starts of what it got begin
        bool has_gained = false;  ///< in the round before
    };

    struct Pick {
        std::uint32_t link;
        std::uint32_t chunk;
        Place next_before;
    };

    void begin_logs(Random random) {
        std::uint32_t* next = &sends_.chunk[0];
        std::size_t sends = 0;
        for (std::uint32_t v = 0; v < lacks_.size(); ++v) {
            std::uint32_t* const begin = next;
            for (std::uint32_t i = task_.held_begin[v]; i < task_.held_begin[v + 1]; ++i)
                *next++ = task_.holdings[i].chunk;
            random.shuffle(begin, static_cast<std::size_t>(next - begin));
            logs_.push_back({begin, next, next, next, sends});
            next += lacks_[v];
            sends += lacks_[v];
        }
        random_ = randoms_of_nodes(random, lacks_.size());
    }

    /// Until all that is wanted is on its way; false if the limit is reached before.
    bool advance() {
        if (wanted_left_ == 0) return true;
        Picoseconds now = 0;
        if (kByArrival) {
            for (const std::uint32_t v : lacking_)
                for (std::uint32_t l = task_.into[v]; l < task_.into[v + 1]; ++l) schedule(l, v);
            now = round_ps_;
        }
        for (;; now += round_ps_) {
            if (now >= options_.limit) return false;
            starts_ = kByArrival ? now - round_ps_ : now;
            const std::uint64_t left = wanted_left_;
            for (std::size_t i = 0; i < lacking_.size(); ++i) {
                if (i + kAhead < lacking_.size()) prepare(lacking_[i + kAhead]);
                if (!serve(lacking_[i])) return false;
                if (wanted_left_ == 0) return true;
                checkpoint_();
            }
            if (wanted_left_ == left) throw_missing(task_, taken_, lacks_);
            std::erase_if(lacking_, [&](std::uint32_t v) { return lacks_[v] == 0; });
            for (Log& log : logs_) {
                log.has_gained = log.visible != log.end;
                log.visible = log.end;
            }
        }
    }

    /// Soon v is served: what its links see next comes from memory meanwhile.
    void prepare(std::uint32_t v) const {
        const Log& log = logs_[v];
        const std::size_t i = log.first_send + static_cast<std::size_t>(log.end - log.got);
        __builtin_prefetch(log.end, 1);
        __builtin_prefetch(&sends_.link[i], 1);
        __builtin_prefetch(&sends_.start[i], 1);
        for (std::uint32_t l = task_.into[v]; l < task_.into[v + 1]; ++l) __builtin_prefetch(lanes_[l].next);
    }

    /// Gives a chunk to as many as possible of the links into v whose turn it is; false if that is too late.
    bool serve(std::uint32_t v) {
        const std::size_t count = find_ready(v);
        if (count > 1) random_[v].shuffle(ready_.data(), count);
        Word* const taken = taken_[v];
        std::uint32_t left = lacks_[v];
        for (std::size_t i = 0; i < count; ++i) {
            Pick pick{ready_[i], kNone, lanes_[ready_[i]].next};
            if (left > 0) {
                pick.chunk = choose(lanes_[pick.link], taken);
                if (pick.chunk == kNone && i > 0) exchange(pick, i, taken);
                if (pick.chunk != kNone) {
                    insert(taken, pick.chunk);
                    --left;
                }
            }
            picks_[i] = pick;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const Pick& pick = picks_[i];
            if (pick.chunk != kNone && !send(pick, v)) return false;
            if (kByArrival)
                schedule(pick.link, v);
            else
                lanes_[pick.link].turn = pick.chunk == kNone ? Turn::kWaits : Turn::kNext;
        }
        return true;
    }

    std::size_t find_ready(std::uint32_t v) {
        std::size_t count = 0;
        for (std::uint32_t l = task_.into[v]; l < task_.into[v + 1]; ++l) {
            Lane& lane = lanes_[l];
            ready_[count] = l;
            if (lane.turn == Turn::kNext)
                ++count;
            else if (kByArrival && lane.turn == Turn::kMissed)
                lane.turn = Turn::kWaits;
            else
                count += logs_[lane.from].has_gained;
        }
        return count;
    }

    std::uint32_t choose(Lane& lane, const Word* taken) {
        const Place end = logs_[lane.from].visible;
        lane.next = skip_members(lane.next, end, taken);
        return lane.next != end ? *lane.next : kNone;
    }

    /// Takes over the chunk of one of the first `count` picks whose link can carry another one.
    void exchange(Pick& pick, std::size_t count, Word* taken) {
        const Place end = logs_[lanes_[pick.link].from].visible;
        for (std::size_t i = 0; i < count; ++i) {
            Pick& other = picks_[i];
            if (other.chunk == kNone || std::find(pick.next_before, end, other.chunk) == end) continue;
            const std::uint32_t another = choose(lanes_[other.link], taken);
            if (another == kNone) continue;
            insert(taken, another);
            pick.chunk = std::exchange(other.chunk, another);
            return;
        }
    }

    /// False if that is too late.
    bool send(const Pick& pick, std::uint32_t v) {
        Log& log = logs_[v];
        const std::size_t i = log.first_send + static_cast<std::size_t>(log.end - log.got);
        *log.end++ = pick.chunk;
        sends_.link[i] = task_.number_of[pick.link];
        sends_.start[i] = starts_;
        --lacks_[v];
        --wanted_left_;
        return starts_ + round_ps_ < options_.limit;
    }

    /// By arrival: whether the link can deliver something in the next round.
    void schedule(std::uint32_t link, std::uint32_t v) {
        Lane& lane = lanes_[link];
        const Place end = logs_[lane.from].end;
        lane.next = skip_members(lane.next, end, taken_[v]);
        lane.turn = lane.next != end ? Turn::kNext : lane.from < v ? Turn::kMissed : Turn::kWaits;
    }

    Columns take_sends() {
        if (!kByArrival) order_last_round();
        for (const Log& log : logs_) std::copy(log.got, log.end, &sends_.chunk[log.first_send]);
        sends_.size = task_.wanted_deliveries;
        if (sends_.size > 0) sends_.time = starts_ + round_ps_;
        return std::move(sends_);
    }

    /// Forward in time, sends that are on their way when all is sent are given by link.
    void order_last_round() {
        for (const Log& log : logs_) {
            const auto count = log.end - log.visible;
            std::uint32_t* const links = &sends_.link[log.first_send] + (log.visible - log.got);
            for (std::ptrdiff_t i = 0; i < count; ++i)
                for (std::ptrdiff_t j = i; j > 0 && links[j] < links[j - 1]; --j) {
                    std::swap(links[j], links[j - 1]);
                    std::swap(log.visible[j], log.visible[j - 1]);
                }
        }
    }

    std::vector<Picoseconds> last_arrivals() const {
        std::vector<Picoseconds> last(task_.problem->chunks, 0);
        for (const Log& log : logs_) {
            const Picoseconds* start = &sends_.start[log.first_send];
            for (Place place = log.got; place != log.end; ++place, ++start)
                last[*place] = std::max(last[*place], *start + round_ps_);
        }
        mark_missing(taken_, lacks_, last);
        return last;
    }

    static constexpr std::size_t kAhead = 3;  // so many nodes are prepared

    const Task& task_;
    const GreedyOptions& options_;
    const Checkpoint& checkpoint_;
    std::vector<Random> random_;  ///< per node, whatever the order in which nodes are served
    Picoseconds round_ps_;
    Picoseconds starts_ = 0;            ///< what is sent in this round
    BitRows taken_;                     ///< per node: chunks that it has, or that are claimed
    std::vector<std::uint32_t> lacks_;  ///< per node: how many are not taken
    std::uint64_t wanted_left_;
    Columns sends_;  ///< its chunks are the logs, with what nodes held
    std::vector<Log> logs_;
    std::vector<Lane> lanes_;
    std::vector<std::uint32_t> lacking_;  ///< nodes, those that had all before this round not among them
    std::vector<std::uint32_t> ready_;
    std::vector<Pick> picks_;
};

}  // namespace

bool goes_in_rounds(const Task& task, const GreedyOptions& options) {
    if (options.rule != Rule::kOldest || task.links.empty()) return false;
    if (!task.problem->everyone_wants_all || task.may_be_redundant) return false;
    if (!task.problem->engines.empty()) return false;
    const Link& first = task.links.front();
    if (first.arrival <= 0) return false;
    for (const Link& link : task.links)
        if (link.arrival != first.arrival || link.held != first.arrival) return false;
    const auto is_late = [](Picoseconds at) { return at > 0; };
    return std::none_of(task.free_from.begin(), task.free_from.end(), is_late) &&
           std::none_of(task.holdings.begin(), task.holdings.end(),
                        [&](const Holding& held) { return is_late(held.at); });
}

GreedyRun run_rounds(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint) {
    if (options.by_arrival) return Rounds<true>(task, options, random, checkpoint).run();
    return Rounds<false>(task, options, random, checkpoint).run();
}

}  // namespace dse::synthesis
