// Packing trees: partial trees that grow by a track at a time, checked by a maximum flow.
#include "collectives/trees/tree_packing.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

constexpr Amount kUnlimited = Amount{1} << 60;

/// Equal partial trees.
struct Grove {
    PackedTree tree;
    std::vector<Picoseconds> at;     ///< per node: when a chunk alone would be there; kNever: not in the tree
    std::vector<std::uint8_t> dead;  ///< per track: no room for this grove, nor later
    std::vector<double> stretch;     ///< per track
    std::size_t reached = 1;         ///< sinks
};

class Packer {
public:
    Packer(TrackGraph graph, double noise, Random& random, const Checkpoint& checkpoint)
        : graph_(std::move(graph)),
          noise_(noise),
          random_(random),
          checkpoint_(checkpoint),
          unstarted_(graph_.supply.of) {}

    std::optional<std::vector<PackedTree>> run() {
        std::vector<std::uint32_t> roots;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v)
            if (unstarted_[v] > 0) roots.push_back(v);
        random_.shuffle(roots);
        // The trees of one root alone grow side by side, so that none takes the short ways of another; with
        // many roots they grow root by root, which asks far smaller networks.
        grows_all_ = roots.size() == 1;
        for (const std::uint32_t root : roots) {
            groves_.push_back(planted(root));
            while (!groves_.empty())
                if (!grow_one()) return std::nullopt;
        }
        return std::move(packed_);
    }

private:
    Grove planted(std::uint32_t root) {
        Grove grove;
        grove.tree = {root, std::exchange(unstarted_[root], 0), {}};
        grove.at.assign(graph_.nodes, kNever);
        grove.at[root] = 0;
        grove.dead.assign(graph_.tracks.size(), 0);
        grove.stretch.assign(graph_.tracks.size(), 1);
        for (double& factor : grove.stretch) factor += noise_ * random_.unit();
        is_stale_ = true;
        return grove;
    }

    /// Lets a grove take a track; copies that cannot take it with the others are a grove of their own then.
    /// False if no track is left for it.
    bool grow_one() {
        const auto [g, t] = next_growth();
        if (t == kNoTrack) return groves_[g].reached == graph_.supply.sinks.size() && finish(g);
        if (is_stale_) lay_network(g);
        const Amount copies = groves_[g].tree.copies;
        const Amount room = room_on(t, copies);
        if (room <= 0) {
            groves_[g].dead[t] = 1;
            return true;
        }
        std::size_t grown = g;
        if (room < copies) {
            grown = groves_.size();
            groves_.push_back(groves_[g]);
            groves_[g].tree.copies -= room;
            groves_[grown].tree.copies = room;
            is_stale_ = true;
        }
        Grove& grove = groves_[grown];
        Track& track = graph_.tracks[t];
        track.capacity -= room;
        network_.set_capacity(t, track.capacity);
        grove.at[track.to] = grove.at[track.from] + track.time;
        grove.tree.tracks.push_back(t);
        ++grove.reached;
        return true;
    }

    bool finish(std::size_t g) {
        packed_.push_back(std::move(groves_[g].tree));
        groves_.erase(groves_.begin() + static_cast<std::ptrdiff_t>(g));
        is_stale_ = true;
        return true;
    }

    /// The grove that grows, and its track; without one it has reached all, or cannot.
    std::pair<std::size_t, std::uint32_t> next_growth() const {
        if (!grows_all_) return {groves_.size() - 1, next_track(groves_.back()).second};
        std::size_t first = 0;
        std::pair<double, std::uint32_t> best{0, kNoTrack};
        for (std::size_t g = 0; g < groves_.size(); ++g) {
            const auto next = next_track(groves_[g]);
            if (next.second == kNoTrack) return {g, kNoTrack};
            if (best.second != kNoTrack && next.first >= best.first) continue;
            best = next;
            first = g;
        }
        return {first, best.second};
    }

    /// The track out of a tree, to where it has not been, that arrives first, and when.
    std::pair<double, std::uint32_t> next_track(const Grove& grove) const {
        std::pair<double, std::uint32_t> best{0, kNoTrack};
        for (std::uint32_t t = 0; t < graph_.tracks.size(); ++t) {
            const Track& track = graph_.tracks[t];
            if (track.capacity == 0 || grove.dead[t] || grove.at[track.from] == kNever ||
                grove.at[track.to] != kNever)
                continue;
            const double at = static_cast<double>(grove.at[track.from]) +
                              grove.stretch[t] * static_cast<double>(track.time);
            if (best.second == kNoTrack || at < best.first) best = {at, t};
        }
        return best;
    }

    /// Tracks, what roots have not started, and all groves but one: a set of nodes must let in, besides what
    /// it lets in for the growing grove, a copy of each tree that has no node in it.
    void lay_network(std::size_t growing) {
        network_ = FlowNetwork(graph_.nodes + 1);
        for (const Track& track : graph_.tracks) network_.add_arc(track.from, track.to, track.capacity);
        source_ = graph_.nodes;
        here_ = static_cast<std::uint32_t>(graph_.tracks.size());
        others_ = 0;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v) network_.add_arc(source_, v, 0);
        for (std::uint32_t v = 0; v < graph_.nodes; ++v) {
            if (unstarted_[v] > 0) network_.add_arc(source_, v, unstarted_[v]);
            others_ += unstarted_[v];
        }
        for (std::size_t g = 0; g < groves_.size(); ++g) {
            if (g == growing) continue;
            const Grove& grove = groves_[g];
            const std::uint32_t node = network_.add_node();
            network_.add_arc(source_, node, grove.tree.copies);
            others_ += grove.tree.copies;
            for (std::uint32_t v = 0; v < graph_.nodes; ++v)
                if (grove.at[v] != kNever) network_.add_arc(node, v, kUnlimited);
        }
        is_stale_ = grows_all_;  // the next one to grow may be another
    }

    /// How many of the copies can take a track.
    Amount room_on(std::uint32_t t, Amount copies) {
        checkpoint_();
        const Track& track = graph_.tracks[t];
        const Amount most = std::min(track.capacity, copies);
        network_.set_capacity(here_ + track.from, kUnlimited);
        const Amount flow = network_.flow(source_, track.to, others_ + most);
        network_.set_capacity(here_ + track.from, 0);
        return flow - others_;
    }

    TrackGraph graph_;
    double noise_;
    Random& random_;
    const Checkpoint& checkpoint_;
    std::vector<Amount> unstarted_;  ///< per root
    bool grows_all_ = false;
    std::vector<Grove> groves_;
    std::vector<PackedTree> packed_;
    FlowNetwork network_{0};
    bool is_stale_ = true;
    std::uint32_t source_ = 0;
    std::uint32_t here_ = 0;  ///< the arc from the source to node 0
    Amount others_ = 0;       ///< copies of all groves but the growing one
};

}  // namespace

std::optional<std::vector<PackedTree>> pack_trees(TrackGraph graph, double noise, Random& random,
                                                  const Checkpoint& checkpoint) {
    return Packer(std::move(graph), noise, random, checkpoint).run();
}

}  // namespace dse::synthesis
