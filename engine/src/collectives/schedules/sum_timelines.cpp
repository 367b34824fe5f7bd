// Trees of sums, latest first, and of copies, earliest first, through the gaps of links.
#include "collectives/schedules/sum_timelines.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNoneBefore = ~std::uint32_t{0};
constexpr std::uint32_t kNoNode = ~std::uint32_t{0};
constexpr int kFewDelays = 8;

}  // namespace

SumTimelines::SumTimelines(const Problem& problem, std::vector<SumTrees> trees,
                           std::vector<std::uint32_t> lanes)
    : problem_(problem),
      slots_(problem.links, std::move(lanes)),
      trees_(problem.chunks),
      key_(problem.nodes),
      at_(problem.nodes),
      start_(problem.nodes),
      by_(problem.nodes),
      seen_(problem.nodes, 0),
      done_(problem.nodes, 0) {
    for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk) put_back(chunk, std::move(trees[chunk]));
}

std::vector<Send> SumTimelines::latest() const {
    Picoseconds last = 0;
    std::vector<Send> found;
    for (std::uint32_t l = 0; l < problem_.links.size(); ++l) {
        if (slots_.on(l).empty()) continue;
        const LinkSlots::Slot& slot = slots_.on(l).back();
        const Picoseconds at = slot.start + problem_.links[l].arrival;
        if (at > last) found.clear();
        if (at >= last) found.push_back({l, slot.chunk, slot.start});
        last = std::max(last, at);
    }
    return found;
}

void SumTimelines::remove(std::uint32_t chunk) {
    take(trees_[chunk].sums);
    take(trees_[chunk].copies);
    trees_[chunk].sums.clear();
    trees_[chunk].copies.clear();
}

void SumTimelines::put_back(std::uint32_t chunk, SumTrees trees) {
    remove(chunk);
    trees_[chunk] = std::move(trees);
    for (const Send& send : trees_[chunk].sums) slots_.add(send);
    for (const Send& send : trees_[chunk].copies) slots_.add(send);
}

bool SumTimelines::insert(std::uint32_t chunk, std::uint32_t root, double thrift, Picoseconds limit) {
    SumTrees trees{root, {}, {}};
    Picoseconds full = 0;
    for (int delays = 0;; ++delays) {
        // Time that lacks before 0 is added behind; gaps may make it more than that, but not behind the last
        // send.
        const Picoseconds first = sums_until(chunk, root, thrift, full, trees.sums);
        const bool is_complete = trees.sums.size() + 1 == problem_.npus;
        if (is_complete && first >= 0) break;
        take(trees.sums);
        if (!is_complete) return false;
        full += delays < kFewDelays ? -first : std::max(-first, full / 16);
        if (full >= limit) return false;
    }
    Picoseconds there = 0;
    for (const Send& send : trees.sums) {
        const Link& link = problem_.links[send.link];
        if (link.to == root) there = std::max(there, send.start + link.arrival);
    }
    if (!copies_from(chunk, root, thrift, there, limit, trees.copies)) {
        take(trees.sums);
        take(trees.copies);
        return false;
    }
    trees_[chunk] = std::move(trees);
    return true;
}

void SumTimelines::take(const std::vector<Send>& sends) {
    for (const Send& send : sends) slots_.take(send);
}

/// Sends that bring every contribution to the root by `until`, each as late as what it is added to allows,
/// and takes their slots; returns the first start, which may be below 0.
Picoseconds SumTimelines::sums_until(std::uint32_t chunk, std::uint32_t root, double thrift,
                                     Picoseconds until, std::vector<Send>& sums) {
    sums.clear();
    begin(root, until);
    Picoseconds first = until;
    for (std::uint32_t node = next(); node != kNoNode; node = next()) {
        if (by_[node] != kNoneBefore) {
            const std::uint32_t by = by_[node];
            if (slots_.latest(by, at_[problem_.links[by].to]) != start_[node]) {
                // Another send of this tree has taken the slot, in the same lane.
                seen_[node] = 0;
                for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i)
                    if (done_[problem_.links[problem_.out_of.links[i]].to] == epoch_)
                        offer_sum(problem_.out_of.links[i], thrift);
                continue;
            }
            sums.push_back({by, chunk, start_[node]});
            slots_.add(sums.back());
            first = std::min(first, start_[node]);
        }
        join(node);
        for (std::uint32_t i = problem_.into.begin[node]; i < problem_.into.begin[node + 1]; ++i) {
            const std::uint32_t l = problem_.into.links[i];
            if (done_[problem_.links[l].from] != epoch_) offer_sum(l, thrift);
        }
    }
    return first;
}

/// The source of a link could send its sum to the node at the end, which is in the tree.
void SumTimelines::offer_sum(std::uint32_t l, double thrift) {
    const Link& link = problem_.links[l];
    const Picoseconds start = slots_.latest(l, at_[link.to]);
    const double key = static_cast<double>(-start) + thrift * static_cast<double>(link.held);
    offer(link.from, start, key, l, start);
}

bool SumTimelines::copies_from(std::uint32_t chunk, std::uint32_t root, double thrift, Picoseconds from,
                               Picoseconds limit, std::vector<Send>& copies) {
    begin(root, from);
    for (std::uint32_t node = next(); node != kNoNode; node = next()) {
        if (at_[node] >= limit) return false;
        if (by_[node] != kNoneBefore) {
            const std::uint32_t by = by_[node];
            if (slots_.earliest(by, at_[problem_.links[by].from]) != start_[node]) {
                seen_[node] = 0;
                for (std::uint32_t i = problem_.into.begin[node]; i < problem_.into.begin[node + 1]; ++i)
                    if (done_[problem_.links[problem_.into.links[i]].from] == epoch_)
                        offer_copy(problem_.into.links[i], thrift);
                continue;
            }
            copies.push_back({by, chunk, start_[node]});
            slots_.add(copies.back());
        }
        join(node);
        for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
            const std::uint32_t l = problem_.out_of.links[i];
            if (done_[problem_.links[l].to] != epoch_) offer_copy(l, thrift);
        }
    }
    return copies.size() + 1 == problem_.npus;
}

/// The source of a link, which is in the tree, could send a copy to the node at the end.
void SumTimelines::offer_copy(std::uint32_t l, double thrift) {
    const Link& link = problem_.links[l];
    const Picoseconds start = slots_.earliest(l, at_[link.from]);
    const Picoseconds at = start + link.arrival;
    const double key = static_cast<double>(at) + thrift * static_cast<double>(link.held);
    offer(link.to, at, key, l, start);
}

void SumTimelines::begin(std::uint32_t root, Picoseconds at) {
    ++epoch_;
    heap_.clear();
    offer(root, at, 0.0, kNoneBefore, 0);
}

void SumTimelines::offer(std::uint32_t node, Picoseconds at, double key, std::uint32_t by,
                         Picoseconds start) {
    if (seen_[node] == epoch_ && key >= key_[node]) return;
    seen_[node] = epoch_;
    key_[node] = key;
    at_[node] = at;
    by_[node] = by;
    start_[node] = start;
    heap_.push_back({key, node});
    std::push_heap(heap_.begin(), heap_.end());
}

/// The node outside the tree of the least key; none if all that can be reached are in it.
std::uint32_t SumTimelines::next() {
    while (!heap_.empty()) {
        const Candidate best = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end());
        heap_.pop_back();
        if (done_[best.node] != epoch_ && best.key == key_[best.node]) return best.node;
    }
    return kNoNode;
}

}  // namespace dse::synthesis
