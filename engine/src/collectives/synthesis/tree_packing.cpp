// Packing trees: partial trees that grow by a track at a time, checked by a maximum flow.
#include "collectives/synthesis/tree_packing.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

constexpr Amount kUnlimited = Amount{1} << 60;

/// Equal partial trees.
struct Grove {
    PackedTree tree;
    std::vector<Picoseconds> at;  ///< per node: when a chunk alone would be there; kNever: not in the tree
    std::size_t reached = 1;      ///< sinks
};

class Packer {
public:
    Packer(TrackGraph graph, double noise, Random& random, const Checkpoint& checkpoint)
        : graph_(std::move(graph)),
          noise_(noise),
          random_(random),
          checkpoint_(checkpoint),
          unstarted_(graph_.supply.of),
          others_(graph_.supply.total()) {}

    std::optional<std::vector<PackedTree>> run() {
        std::vector<std::uint32_t> roots;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v)
            if (unstarted_[v] > 0) roots.push_back(v);
        random_.shuffle(roots);
        for (const std::uint32_t root : roots) {
            started_.push_back(planted(root));
            while (!started_.empty()) {
                Grove grove = std::move(started_.back());
                started_.pop_back();
                if (!grow(grove)) return std::nullopt;
                packed_.push_back(std::move(grove.tree));
            }
        }
        return std::move(packed_);
    }

private:
    Grove planted(std::uint32_t root) {
        Grove grove;
        grove.tree = {root, std::exchange(unstarted_[root], 0), {}};
        grove.at.assign(graph_.nodes, kNever);
        grove.at[root] = 0;
        return grove;
    }

    /// Lets a grove reach all sinks; copies that cannot take a track with the others go on later.
    bool grow(Grove& grove) {
        others_ -= grove.tree.copies;
        dead_.assign(graph_.tracks.size(), false);
        stretch_.assign(graph_.tracks.size(), 1);
        for (double& factor : stretch_) factor += noise_ * random_.unit();
        lay_network();
        while (grove.reached < graph_.supply.sinks.size()) {
            const std::uint32_t t = next_track(grove);
            if (t == kNoTrack) return false;
            Track& track = graph_.tracks[t];
            const Amount room = room_on(t, grove.tree.copies);
            if (room <= 0) {
                dead_[t] = true;
                continue;
            }
            if (room < grove.tree.copies) divide(grove, room);
            track.capacity -= room;
            network_.set_capacity(t, track.capacity);
            grove.at[track.to] = grove.at[track.from] + track.time;
            grove.tree.tracks.push_back(t);
            ++grove.reached;
        }
        return true;
    }

    /// The track out of a tree, to where it has not been, that arrives first.
    std::uint32_t next_track(const Grove& grove) const {
        std::uint32_t best = kNoTrack;
        double best_at = 0;
        for (std::uint32_t t = 0; t < graph_.tracks.size(); ++t) {
            const Track& track = graph_.tracks[t];
            if (track.capacity == 0 || dead_[t] || grove.at[track.from] == kNever ||
                grove.at[track.to] != kNever)
                continue;
            const double at =
                static_cast<double>(grove.at[track.from]) + stretch_[t] * static_cast<double>(track.time);
            if (best != kNoTrack && at >= best_at) continue;
            best = t;
            best_at = at;
        }
        return best;
    }

    /// Splits off the copies that stay behind.
    void divide(Grove& grove, Amount room) {
        started_.push_back(grove);
        started_.back().tree.copies -= room;
        others_ += started_.back().tree.copies;
        grove.tree.copies = room;
        lay_network();
    }

    /// Tracks, what roots have not started, and the other groves: a set of nodes must let in, beside what it
    /// lets in for the growing grove, a copy of each tree that has no node in it.
    void lay_network() {
        network_ = FlowNetwork(graph_.nodes + 1);
        for (const Track& track : graph_.tracks) network_.add_arc(track.from, track.to, track.capacity);
        source_ = graph_.nodes;
        here_ = static_cast<std::uint32_t>(graph_.tracks.size());
        for (std::uint32_t v = 0; v < graph_.nodes; ++v) network_.add_arc(source_, v, 0);
        for (std::uint32_t v = 0; v < graph_.nodes; ++v)
            if (unstarted_[v] > 0) network_.add_arc(source_, v, unstarted_[v]);
        for (const Grove& grove : started_) {
            const std::uint32_t node = network_.add_node();
            network_.add_arc(source_, node, grove.tree.copies);
            for (std::uint32_t v = 0; v < graph_.nodes; ++v)
                if (grove.at[v] != kNever) network_.add_arc(node, v, kUnlimited);
        }
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
    Amount others_;                  ///< copies that are neither packed nor growing now
    std::vector<Grove> started_;
    std::vector<PackedTree> packed_;
    std::vector<bool> dead_;       ///< per track: no room for the growing grove, nor later
    std::vector<double> stretch_;  ///< per track
    FlowNetwork network_{0};
    std::uint32_t source_ = 0;
    std::uint32_t here_ = 0;  ///< the arc from the source to node 0
};

}  // namespace

std::optional<std::vector<PackedTree>> pack_trees(TrackGraph graph, double noise, Random& random,
                                                  const Checkpoint& checkpoint) {
    return Packer(std::move(graph), noise, random, checkpoint).run();
}

}  // namespace dse::synthesis
