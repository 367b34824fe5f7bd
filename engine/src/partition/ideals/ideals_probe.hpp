// Whether stages of at most some cost exist, over ideals.
#pragma once

#include <functional>
#include <string>

#include "partition/problem/problem.hpp"

namespace dse::partition {

struct ProbeResult {
    Labels labels;  ///< empty if none was found
    double cost = kInfinite;
    bool complete = false;  ///< without labels: there are none
};

class IdealsProbe {
public:
    /// Is of no use if `expired` said so meanwhile.
    IdealsProbe(const Problem& problem, const std::function<bool()>& expired);

    /// Looks for stages that each take at most `cost`.
    ProbeResult run(double cost, std::size_t most_states);

private:
    struct Ideal {
        std::string bits;  ///< of nodes, eight a byte
        std::uint32_t parent = 0;
        double mass = 0, worst = 0;
        bool has(std::size_t v) const { return (bits[v / 8] >> v % 8 & 1) != 0; }
    };
    struct Stage {
        std::vector<std::uint32_t> ready;
        std::vector<bool> is_taken;  ///< of `ready`
        double load = 0, memory = 0, receive = 0;
    };
    /// Of a stage before a node was taken: giving it back restores the bits.
    struct Taken {
        std::size_t ready = 0;
        double load = 0, memory = 0, receive = 0;
    };

    void mark_first_edges();
    void weigh_heirs();
    void find_receive_times();
    void find_cheap_nodes();

    void open(const Ideal& ideal);
    void decide(std::size_t next);
    void leave(std::uint32_t node, std::size_t next);
    bool can_take(std::uint32_t node) const;
    double received(std::uint32_t node) const;
    void take(std::uint32_t node);
    void give_back(std::uint32_t node, const Taken& before);
    bool is_best_left(std::uint32_t node) const;
    void finish();
    Labels labels_of(std::size_t last) const;

    const Problem& problem_;
    const std::function<bool()>& expired_;
    Incidence edges_;
    std::vector<bool> is_first_;                ///< of edges: of those of one tensor to one node
    std::vector<bool> is_first_out_;            ///< of edges: of those of one tensor
    std::vector<double> heir_weight_;           ///< of a node and all that need it
    std::vector<std::vector<double>> receive_;  ///< by stage and tensor, from the nearest sender
    std::vector<std::vector<bool>> is_cheap_;   ///< by stage: no later one would rather receive than compute
    double total_ = 0;

    double cost_ = 0, need_ = 0;
    std::uint32_t stage_ = 0;
    std::size_t most_states_ = 0;
    bool is_cut_short_ = false, is_found_ = false;
    std::size_t steps_ = 0;
    std::uint32_t from_ = 0;
    double from_mass_ = 0, from_worst_ = 0;
    std::vector<char> in_ideal_;          ///< of nodes, those of the stage included
    std::vector<char> in_before_;         ///< of nodes, at the start of the stage
    std::vector<std::uint32_t> missing_;  ///< predecessors that are not in the ideal
    std::vector<std::uint32_t> arrived_;  ///< edges of a tensor into the stage
    Stage now_;
    std::vector<std::vector<Ideal>> layers_;
    std::vector<Ideal> grown_;
};

}  // namespace dse::partition
