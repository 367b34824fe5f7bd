// Depth first, with restarts.
#include "collectives/exact/exact.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "collectives/exact/windows.hpp"
#include "collectives/problem/random.hpp"

namespace dse::synthesis {

namespace {

constexpr std::uint64_t kFirstFails = 100;  // until it starts again
constexpr double kGrowthOfFails = 1.3;
constexpr double kNoiseOfPlaces = 0.5;  // of how urgent a place seems

class Decider {
public:
    Decider(const Problem& problem, Picoseconds within, std::uint64_t seed, std::uint64_t most_fails,
            const Checkpoint& checkpoint)
        : problem_(problem),
          checkpoint_(checkpoint),
          windows_(problem, within),
          random_(seed),
          most_fails_(most_fails) {}

    Decision run() {
        using enum Decision::Answer;
        Decision made;
        if (!windows_.settle()) return {kRefuted, {}, 0};
        const std::size_t root = windows_.mark();
        for (auto allowed = static_cast<double>(kFirstFails);
             made.answer == kUndecided && fails_ < most_fails_; allowed *= kGrowthOfFails) {
            until_ = std::min(most_fails_, fails_ + static_cast<std::uint64_t>(allowed));
            made.answer = descend();
            if (made.answer == kFound) made.sends = sends();
            windows_.undo(root);
        }
        made.fails = fails_;
        return made;
    }

private:
    struct Place {
        std::uint32_t chunk, node;
    };
    struct Pair {
        std::uint32_t link = 0, chunk = 0, later = 0;  ///< the same chunk twice: none
    };

    /// Both sides of a decision, the more hopeful one first.
    Decision::Answer descend() {
        using enum Decision::Answer;
        while (true) {
            checkpoint_();
            const std::optional<Place> place = most_urgent();
            const Pair pair = place ? Pair{} : tightest();
            if (!place && pair.chunk == pair.later) return kFound;
            const std::uint32_t link = place ? soonest(*place) : pair.link;
            const std::size_t mark = windows_.mark();
            if (follows(place ? windows_.send(place->chunk, link)
                              : windows_.send_before(link, pair.chunk, pair.later))) {
                const Decision::Answer answer = descend();
                if (answer != kRefuted) return answer;
            }
            windows_.undo(mark);
            if (fails_ >= until_) return kUndecided;
            if (!follows(place ? windows_.leave_out(place->chunk, link)
                               : windows_.send_before(link, pair.later, pair.chunk)))
                return kRefuted;
        }
    }

    bool follows(bool is_consistent) {
        if (is_consistent && windows_.settle()) return true;
        ++fails_;
        return false;
    }

    std::optional<Place> most_urgent() {
        std::optional<Place> best;
        double most = 0.0;
        for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk)
            for (std::uint32_t node = 0; node < problem_.nodes; ++node) {
                if (!windows_.is_open(chunk, node)) continue;
                double ways = 0.0;
                for (std::uint32_t i = problem_.into.begin[node]; i < problem_.into.begin[node + 1]; ++i)
                    if (windows_.use(chunk, problem_.into.links[i]) != Windows::kNot) ways += 1.0;
                const double urgency =
                    windows_.blame(chunk, node) / ways * (1.0 + kNoiseOfPlaces * random_.unit());
                if (urgency <= most) continue;
                most = urgency;
                best = {chunk, node};
            }
        return best;
    }

    std::uint32_t soonest(const Place& place) {
        std::uint32_t best = 0, ties = 0;
        Picoseconds least = kNever;
        for (std::uint32_t i = problem_.into.begin[place.node]; i < problem_.into.begin[place.node + 1];
             ++i) {
            const std::uint32_t link = problem_.into.links[i];
            if (windows_.use(place.chunk, link) == Windows::kNot) continue;
            const Picoseconds time = windows_.first(place.chunk, link) + problem_.links[link].arrival;
            if (time > least) continue;
            ties = time < least ? 1 : ties + 1;
            if (random_.below(ties) == 0) best = link;
            least = time;
        }
        return best;
    }

    /// The two chunks on a link that have the least time together, the one that is likely first.
    Pair tightest() const {
        Pair best;
        Picoseconds least = kNever;
        for (std::uint32_t link = 0; link < problem_.links.size(); ++link) {
            if (problem_.links[link].held == 0) continue;
            for (std::uint32_t one = 0; one < problem_.chunks; ++one) {
                if (windows_.use(one, link) != Windows::kSent) continue;
                for (std::uint32_t other = one + 1; other < problem_.chunks; ++other) {
                    if (windows_.use(other, link) != Windows::kSent) continue;
                    if (windows_.is_before(link, one, other) || windows_.is_before(link, other, one))
                        continue;
                    const Picoseconds firsts = windows_.first(one, link) - windows_.first(other, link);
                    const Picoseconds lasts = windows_.last(one, link) - windows_.last(other, link);
                    const Picoseconds room = windows_.last(one, link) - windows_.first(one, link) +
                                             windows_.last(other, link) - windows_.first(other, link);
                    if (room >= least) continue;
                    least = room;
                    best = firsts + lasts <= 0 ? Pair{link, one, other} : Pair{link, other, one};
                }
            }
        }
        return best;
    }

    /// All sends as early as they can start.
    Sends sends() const {
        Sends made;
        for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk)
            for (std::uint32_t link = 0; link < problem_.links.size(); ++link) {
                if (windows_.use(chunk, link) != Windows::kSent) continue;
                const Picoseconds start = windows_.first(chunk, link);
                made.sends.push_back({link, chunk, start});
                made.time = std::max(made.time, start + problem_.links[link].arrival);
            }
        return made;
    }

    const Problem& problem_;
    const Checkpoint& checkpoint_;
    Windows windows_;
    Random random_;
    std::uint64_t most_fails_, until_ = 0, fails_ = 0;
};

}  // namespace

Decision decide(const Problem& problem, Picoseconds within, std::uint64_t seed, std::uint64_t most_fails,
                const Checkpoint& checkpoint) {
    try {
        return Decider(problem, within, seed, most_fails, checkpoint).run();
    } catch (const Cancelled&) {
    } catch (const DeadlinePassed&) {
    }
    return {};
}

}  // namespace dse::synthesis
