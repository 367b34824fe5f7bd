// In a round others see what a node had when it began. A link looks at words of what its sender has and its
// receiver lacks, from any word and any bit on.
#include "collectives/greedy/any_rounds.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <utility>

#include "collectives/greedy/greedy_state.hpp"
#include "collectives/greedy/round_logs.hpp"
#include "collectives/greedy/rounds.hpp"
#include "collectives/problem/bits.hpp"

namespace dse::synthesis {

namespace {

/// Chunks and links into a node as numbers of the given types.
template <typename Chunk, typename Number>
class AnyRounds {
public:
    AnyRounds(const Task& task, const GreedyOptions& options, Random random, const Checkpoint& checkpoint)
        : task_(task),
          options_(options),
          checkpoint_(checkpoint),
          random_(random),
          round_ps_(task.links[0].arrival),
          words_(static_cast<std::uint32_t>(task.settled.words())),
          seen_(task.settled),
          taken_(task.settled),
          lacks_(task.lacks),
          wanted_left_(task.wanted_deliveries),
          logs_(std::make_unique<RoundLogs<Chunk, Number>>(task, numbered(lacks_.size()), false, 0)),
          has_gained_(lacks_.size(), 1),
          is_in_vain_(task.links.size(), 0) {
        for (const Link& link : task.links) from_.push_back(link.from);
        for (std::uint32_t v = 0; v < lacks_.size(); ++v)
            if (lacks_[v] > 0) lacking_.push_back(v);
    }

    GreedyRun run() {
        GreedyRun result;
        result.is_complete = advance();
        if (!result.is_complete) return result;
        logs_->finish(round_ps_, false);
        result.sends.size = task_.wanted_deliveries;
        result.sends.time = time_;
        result.sends.packed = std::move(logs_);
        return result;
    }

private:
    /// Until all that is wanted is on its way; false if it cannot arrive before the limit.
    bool advance() {
        for (Picoseconds now = 0; wanted_left_ > 0; now += round_ps_) {
            if (options_.limit - round_ps_ <= now) return false;
            const std::uint64_t left = wanted_left_;
            Number* const counts = logs_->begin_round();
            for (const std::uint32_t v : lacking_) {
                counts[v] = serve(v);
                checkpoint_();
            }
            if (wanted_left_ == left) throw_missing(task_, taken_, lacks_);
            show_gains();
            time_ = now + round_ps_;
        }
        return true;
    }

    /// Chunks of the round are there for others.
    void show_gains() {
        std::fill(has_gained_.begin(), has_gained_.end(), std::uint8_t{0});
        for (const std::uint32_t v : lacking_) {
            has_gained_[v] = 1;
            std::copy_n(taken_[v], words_, seen_[v]);
        }
        std::erase_if(lacking_, [&](std::uint32_t v) { return lacks_[v] == 0; });
    }

    static std::vector<std::uint32_t> numbered(std::size_t nodes) {
        std::vector<std::uint32_t> order(nodes);
        std::iota(order.begin(), order.end(), 0U);
        return order;
    }

    /// Gives a chunk to as many as possible of the links into v, from any of them on; tells how many.
    Number serve(std::uint32_t v) {
        const std::uint32_t begin = task_.into[v], end = task_.into[v + 1];
        if (begin == end) return 0;
        const std::size_t send = logs_->first_send(v) + task_.lacks[v] - lacks_[v];
        Visit visit{random_, taken_[v], &logs_->chunks[send], &logs_->links[send], begin, 0, lacks_[v]};
        const std::uint32_t first = begin + visit.random.below(end - begin);
        for (std::uint32_t l = first; l < end && visit.lacks > 0; ++l) try_link(l, visit);
        for (std::uint32_t l = begin; l < first && visit.lacks > 0; ++l) try_link(l, visit);
        random_ = visit.random;
        wanted_left_ -= visit.gains;
        lacks_[v] = visit.lacks;
        return static_cast<Number>(visit.gains);
    }

    /// The state that changes while a node is served, and that others do not see: it stays in registers.
    struct Visit {
        Random random;
        Word* taken;
        Chunk* chunks;  ///< that it gets in this round
        Number* links;
        std::uint32_t first_link;
        std::uint32_t gains;
        std::uint32_t lacks;
    };

    void try_link(std::uint32_t link, Visit& visit) {
        const std::uint32_t from = from_[link];
        if (is_in_vain_[link]) {
            if (!has_gained_[from]) return;
            is_in_vain_[link] = 0;
        }
        std::uint32_t chunk = choose(from, visit);
        if (chunk == kNone) [[unlikely]] {
            chunk = exchange(from, visit);
            if (chunk == kNone) {
                is_in_vain_[link] = 1;
                return;
            }
        }
        visit.chunks[visit.gains] = static_cast<Chunk>(chunk);
        visit.links[visit.gains] = static_cast<Number>(link - visit.first_link);
        ++visit.gains;
        --visit.lacks;
    }

    /// Any chunk that one node has and the other lacks, which then counts as taken.
    std::uint32_t choose(std::uint32_t from, Visit& visit) const {
        const Word* const seen = seen_[from];
        const std::uint64_t drawn = visit.random.next();
        const auto first = static_cast<std::uint32_t>(((drawn >> 32) * words_) >> 32);
        std::uint32_t w = first;
        Word open = seen[w] & ~visit.taken[w];
        while (open == 0) {
            if (++w == words_) w = 0;
            if (w == first) return kNone;
            open = seen[w] & ~visit.taken[w];
        }
        const int turn = static_cast<int>(drawn % kWordBits);
        const auto bit =
            static_cast<std::uint32_t>(std::countr_zero(std::rotr(open, turn)) + turn) % kWordBits;
        visit.taken[w] |= Word{1} << bit;
        return w * kWordBits + bit;
    }

    /// The chunk of a send of this round whose link can carry another one instead.
    std::uint32_t exchange(std::uint32_t from, Visit& visit) {
        for (std::uint32_t i = 0; i < visit.gains; ++i) {
            if (!has(seen_[from], visit.chunks[i])) continue;
            const std::uint32_t another = choose(from_[visit.first_link + visit.links[i]], visit);
            if (another != kNone) return std::exchange(visit.chunks[i], static_cast<Chunk>(another));
        }
        return kNone;
    }

    const Task& task_;
    const GreedyOptions& options_;
    const Checkpoint& checkpoint_;
    Random random_;
    Picoseconds round_ps_;
    std::uint32_t words_;               ///< per node
    BitRows seen_;                      ///< per node: chunks that it had when the round began
    BitRows taken_;                     ///< and those that it gets
    std::vector<std::uint32_t> lacks_;  ///< per node: how many are not taken
    std::uint64_t wanted_left_;
    Picoseconds time_ = 0;  ///< when what has been sent has arrived
    std::unique_ptr<RoundLogs<Chunk, Number>> logs_;
    std::vector<std::uint32_t> from_;       ///< per link
    std::vector<std::uint32_t> lacking_;    ///< nodes
    std::vector<std::uint8_t> has_gained_;  ///< per node: in the round before
    std::vector<std::uint8_t> is_in_vain_;  ///< per link: until its sender gains something
};

}  // namespace

bool goes_in_any_rounds(const Task& task, const GreedyOptions& options) {
    if (options.rule != Rule::kRandom || options.by_arrival || options.tells_last_arrivals) return false;
    GreedyOptions oldest = options;
    oldest.rule = Rule::kOldest;
    return goes_in_rounds(task, oldest);
}

GreedyRun run_any_rounds(const Task& task, const GreedyOptions& options, Random random,
                         const Checkpoint& checkpoint) {
    if (is_narrow(task))
        return AnyRounds<std::uint16_t, std::uint8_t>(task, options, random, checkpoint).run();
    return AnyRounds<std::uint32_t, std::uint32_t>(task, options, random, checkpoint).run();
}

}  // namespace dse::synthesis
