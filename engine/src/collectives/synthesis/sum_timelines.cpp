// Trees of sums, latest first, and of copies, earliest first, through the gaps of links.
#include "collectives/synthesis/sum_timelines.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNoneBefore = ~std::uint32_t{0};
constexpr std::uint32_t kNoNode = ~std::uint32_t{0};
constexpr int kFewDelays = 8;

}  // namespace

SumTimelines::SumTimelines(const Problem& problem, std::vector<SumTrees> trees)
    : problem_(problem),
      slots_(problem.links),
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
    for (const Send& send : trees_[chunk].sums) slots_.take(send);
    for (const Send& send : trees_[chunk].copies) slots_.take(send);
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
        // What lacks before 0 is added behind; gaps may make it more than that, but not behind the last send.
        const Picoseconds first = sums_until(chunk, root, thrift, full, trees.sums);
        if (trees.sums.size() + 1 != problem_.npus) return false;
        if (first >= 0) break;
        full += delays < kFewDelays ? -first : std::max(-first, full / 16);
        if (full >= limit) return false;
    }
    Picoseconds there = 0;
    for (const Send& send : trees.sums) {
        const Link& link = problem_.links[send.link];
        if (link.to == root) there = std::max(there, send.start + link.arrival);
        slots_.add(send);
    }
    if (!copies_from(chunk, root, thrift, there, limit, trees.copies)) {
        for (const Send& send : trees.sums) slots_.take(send);
        return false;
    }
    for (const Send& send : trees.copies) slots_.add(send);
    trees_[chunk] = std::move(trees);
    return true;
}

/// Sends that bring every contribution to the root by `until`, each as late as what it is added to allows;
/// returns the first start, which may be below 0.
Picoseconds SumTimelines::sums_until(std::uint32_t chunk, std::uint32_t root, double thrift,
                                     Picoseconds until, std::vector<Send>& sums) {
    sums.clear();
    begin(root, until);
    Picoseconds first = until;
    for (std::uint32_t node = next(); node != kNoNode; node = next()) {
        if (by_[node] != kNoneBefore) {
            sums.push_back({by_[node], chunk, start_[node]});
            first = std::min(first, start_[node]);
        }
        for (std::uint32_t i = problem_.into.begin[node]; i < problem_.into.begin[node + 1]; ++i) {
            const std::uint32_t l = problem_.into.links[i];
            const Link& link = problem_.links[l];
            if (done_[link.from] == epoch_) continue;
            const Picoseconds start = slots_.latest(l, at_[node]);
            const double key = static_cast<double>(-start) + thrift * static_cast<double>(link.held);
            offer(link.from, start, key, l, start);
        }
    }
    return first;
}

bool SumTimelines::copies_from(std::uint32_t chunk, std::uint32_t root, double thrift, Picoseconds from,
                               Picoseconds limit, std::vector<Send>& copies) {
    begin(root, from);
    for (std::uint32_t node = next(); node != kNoNode; node = next()) {
        if (at_[node] >= limit) return false;
        if (by_[node] != kNoneBefore) copies.push_back({by_[node], chunk, start_[node]});
        for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
            const std::uint32_t l = problem_.out_of.links[i];
            const Link& link = problem_.links[l];
            if (done_[link.to] == epoch_) continue;
            const Picoseconds start = slots_.earliest(l, at_[node]);
            const Picoseconds at = start + link.arrival;
            const double key = static_cast<double>(at) + thrift * static_cast<double>(link.held);
            offer(link.to, at, key, l, start);
        }
    }
    return copies.size() + 1 == problem_.npus;
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

/// The node that joins the tree, the one of the least key; none if all that can be reached have.
std::uint32_t SumTimelines::next() {
    while (!heap_.empty()) {
        const Candidate best = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end());
        heap_.pop_back();
        if (done_[best.node] == epoch_) continue;
        done_[best.node] = epoch_;
        return best.node;
    }
    return kNoNode;
}

}  // namespace dse::synthesis
