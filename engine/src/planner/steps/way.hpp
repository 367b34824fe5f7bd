// One way to run stages: a mode on GPUs of a type with a data-parallel degree and a micro-batch.
#pragma once

#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "planner/steps/question.hpp"
#include "prediction/steps/updates.hpp"

namespace dse::planner::steps {

inline constexpr std::int64_t kMostStages = 64;

/// The number of stages as a level of `Ways::links`, which their messages are no faster than.
inline std::size_t level_of(std::int64_t stages) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(stages - 1))) - 1;
}
inline const std::size_t kLevels = level_of(kMostStages) + 1;

/// A stage with the layers of the model from `first` up to, not including, `end`; the first stage has the
/// embedding, the last the head.
struct Part {
    std::int64_t first = 0, end = 0;
    bool is_first = false, is_last = false;

    auto operator<=>(const Part&) const = default;
};

/// Figures of a stage for one micro-batch, and after the last.
struct StageFigures {
    double forward_s = 0.0, backward_s = 0.0;
    double reduce_s = 0.0;  ///< of all reductions of a step
    double gather_s = 0.0, optimizer_s = 0.0;

    double both_s() const { return forward_s + backward_s; }
    /// The least time after the last backward pass, of the first stage.
    double exposed_s(std::int64_t rounds) const {
        return std::max(step::kContended * reduce_s, reduce_s - static_cast<double>(rounds) * backward_s);
    }
};

/// A part of the model on a way, with so many micro-batches in flight.
struct StagePrice {
    StageFigures figures;
    double send_s = 0.0;  ///< of a message to the next stage; 0 of the last
    step::Bytes memory{};
    double held_bytes = 0.0;
};

/// A stage of a homogeneous pipeline in this mode: a stage of a mixed plan is timed as if all were like it.
class Way {
public:
    /// Throws step::Infeasible: the mode does not suit the model.
    Way(const Question& question, const StageChoice& choice, const Rounds& rounds, bool is_pipelined);
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;

    StageFigures figures(const step::Chunk& chunk);
    /// Its forward and backward pass of a micro-batch.
    double passes_s(const step::Chunk& chunk);
    step::Bytes memory(const step::Chunk& chunk, double in_flight) const;
    /// The same of a part of the model, looked up once.
    const StagePrice& stage(const Part& part, std::int64_t in_flight);
    /// Of a message to the next stage in a pipeline of `stages` alike, or of another type.
    double send_s(std::int64_t stages, std::int64_t stage_gpus);
    double send_s(const step::Links& links) const { return links.send_s(message_bytes()); }
    /// To the next of `stages` alike.
    step::Links links(std::int64_t stages, std::int64_t stage_gpus) const;
    double far_send_s(double gpu_gbps) const;
    /// How often a step reduces gradients.
    std::int64_t rounds() const { return plan_.zero_stage == 2 ? micro_batches_ : 1; }
    const step::Plan& plan() const { return plan_; }
    std::int64_t gpus() const { return plan_.dp * plan_.tp * plan_.cp; }
    std::uint32_t type() const { return type_; }
    std::uint32_t mode() const { return mode_; }

private:
    struct Key {
        Part part;
        std::int64_t in_flight = 0;
        auto operator<=>(const Key&) const = default;
    };

    step::Weights held(const step::Chunk& chunk);
    const step::Weights& held_of(std::optional<std::uint32_t> kind, bool has_embedding, bool has_head);
    double message_bytes() const { return 2 * sizes_.tokens * sizes_.d_model / sizes_.tp; }

    const Question& question_;
    std::uint32_t type_, mode_;
    std::int64_t micro_batches_, node_gpus_;
    const step::Synthesizer& synthesizer_;
    step::Plan plan_;
    step::Cluster cluster_;
    step::Sizes sizes_;
    step::Groups groups_;
    dse::Memo<step::Links> links_;
    step::Timer timer_;
    step::Updates updates_;
    std::map<std::pair<std::int64_t, std::int64_t>, double> sends_;
    std::map<Key, StagePrice> stages_;
    std::vector<std::optional<step::Weights>> held_;
};

/// The part of the model as a chunk.
step::Chunk chunk_of(const Question& question, const step::Plan& plan, const Part& part);

/// Keeps ways that were asked for.
class Ways {
public:
    explicit Ways(const Question& question) : question_(question) {}

    /// Whether degrees and rounds suit each other: most combinations do not, and making a way is slow.
    static bool is_possible(const Question& question, const StageChoice& choice, const Rounds& rounds,
                            bool is_pipelined);
    /// Links to the next stage alike in pipelines of 2^level + 1 stages or more: as fast as any of these.
    const std::vector<step::Links>& links(const Way& way);
    /// None where the mode does not suit the model or the batch.
    Way* find(const StageChoice& choice, const Rounds& rounds, bool is_pipelined);

private:
    struct Key {
        std::uint32_t type, mode;
        std::int64_t dp;
        Rounds rounds;
        bool is_pipelined;
        auto operator<=>(const Key&) const = default;
    };
    const Question& question_;
    std::map<Key, std::unique_ptr<Way>> known_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<step::Links>> links_;  // by type and GPUs
};

}  // namespace dse::planner::steps
