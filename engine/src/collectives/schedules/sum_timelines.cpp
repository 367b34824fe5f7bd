// Trees of sums, latest first, and of copies, earliest first, through the gaps of links.
#include "collectives/schedules/sum_timelines.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNoNode = ~std::uint32_t{0};
constexpr int kFewDelays = 8;

}  // namespace

SumTimelines::SumTimelines(const Problem& problem, std::vector<SumTrees> trees)
    : problem_(problem),
      slots_(problem.links),
      trees_(problem.chunks),
      key_(problem.nodes),
      thrifts_(problem.nodes),
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
        const bool is_complete = npus_in_tree_ == problem_.npus;
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
    if (!grow<false>(chunk, root, there, thrift, limit, trees.copies)) {
        take(trees.sums);
        take(trees.copies);
        return false;
    }
    trees_[chunk] = std::move(trees);
    return true;
}

bool SumTimelines::insert_copies(std::uint32_t chunk, std::uint32_t root, Picoseconds from, double thrift,
                                 Picoseconds limit) {
    SumTrees trees{root, {}, {}};
    if (!grow<false>(chunk, root, from, thrift, limit, trees.copies)) {
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
    grow<true>(chunk, root, until, thrift, kNever, sums);
    Picoseconds first = until;
    for (const Send& send : sums) first = std::min(first, send.start);
    return first;
}

/// Joins all NPUs to the root, the one of the least key next, and takes the slots of their ways; false if one
/// has no way, or a copy would come at `limit` or later.
template <bool kSums>
bool SumTimelines::grow(std::uint32_t chunk, std::uint32_t root, Picoseconds at, double thrift,
                        Picoseconds limit, std::vector<Send>& sends) {
    ++epoch_;
    heap_.clear();
    in_tree_.clear();
    npus_in_tree_ = 0;
    at_[root] = at;
    join(root);
    offer_beyond<kSums>(root, thrift);
    while (npus_in_tree_ < problem_.npus) {
        const std::uint32_t node = next();
        if (node == kNoNode || (!kSums && at_[node] >= limit)) return false;
        if (node >= problem_.npus) {
            offer_beyond<kSums>(node, thrift);
            continue;
        }
        const bool is_alone = is_in_tree(inner<kSums>(by_[node]));
        if (!take_way<kSums>(node, chunk, sends) || !is_alone) {
            offer_again<kSums>(is_alone ? node : kNoNode, thrift);
            continue;
        }
        offer_beyond<kSums>(node, thrift);
    }
    return true;
}

/// Takes the slots of the way from the tree to an NPU, if all of them are free yet: a send of this tree may
/// have taken one.
template <bool kSums>
bool SumTimelines::take_way(std::uint32_t node, std::uint32_t chunk, std::vector<Send>& sends) {
    way_.clear();
    for (std::uint32_t at = node; !is_in_tree(at); at = inner<kSums>(by_[at])) {
        if (best_start<kSums>(by_[at]) != start_[at]) return false;
        way_.push_back(at);
    }
    for (const std::uint32_t on_way : way_) {
        sends.push_back({by_[on_way], chunk, start_[on_way]});
        slots_.add(sends.back());
        if (on_way < problem_.npus || branches(problem_, on_way, kSums)) join(on_way);
    }
    return true;
}

/// All that could join over a node, which is in the tree or at the end of a way from it.
template <bool kSums>
void SumTimelines::offer_beyond(std::uint32_t node, double thrift) {
    const LinksPerNode& near = kSums ? problem_.into : problem_.out_of;
    for (std::uint32_t i = near.begin[node]; i < near.begin[node + 1]; ++i)
        if (!is_in_tree(outer<kSums>(near.links[i]))) offer_over<kSums>(near.links[i], thrift);
}

/// A node whose slot is taken, or all of them where ways past switches may have lost theirs.
template <bool kSums>
void SumTimelines::offer_again(std::uint32_t node, double thrift) {
    if (node == kNoNode) {
        heap_.clear();
        std::fill(seen_.begin(), seen_.end(), 0U);
        for (const std::uint32_t from : in_tree_) offer_beyond<kSums>(from, thrift);
        return;
    }
    seen_[node] = 0;
    const LinksPerNode& near = kSums ? problem_.out_of : problem_.into;
    for (std::uint32_t i = near.begin[node]; i < near.begin[node + 1]; ++i)
        if (is_in_tree(inner<kSums>(near.links[i]))) offer_over<kSums>(near.links[i], thrift);
}

/// Sums leave as late as possible, copies arrive as early as possible.
template <bool kSums>
void SumTimelines::offer_over(std::uint32_t l, double thrift) {
    const std::uint32_t from = inner<kSums>(l), to = outer<kSums>(l);
    const Picoseconds start = best_start<kSums>(l);
    const Picoseconds at = kSums ? start : start + problem_.links[l].arrival;
    const double more =
        (is_in_tree(from) ? 0.0 : thrifts_[from]) + thrift * static_cast<double>(problem_.links[l].held);
    const double key = static_cast<double>(kSums ? -at : at) + more;
    if (seen_[to] == epoch_ && key >= key_[to]) return;
    thrifts_[to] = more;
    offer(to, at, key, l, start);
}

void SumTimelines::join(std::uint32_t node) {
    done_[node] = epoch_;
    in_tree_.push_back(node);
    if (node < problem_.npus) ++npus_in_tree_;
}

void SumTimelines::offer(std::uint32_t node, Picoseconds at, double key, std::uint32_t by,
                         Picoseconds start) {
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
