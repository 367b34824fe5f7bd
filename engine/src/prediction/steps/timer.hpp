// The passes of each chunk in seconds: kernels of its layers and the collectives inside them.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/memo.hpp"
#include "prediction/kernels/kernels.hpp"
#include "prediction/links/links.hpp"
#include "prediction/memory/weights.hpp"

namespace dse::prediction {

/// Seconds of one micro-batch; `weight_s` of the backward pass are gradients of weights.
struct Passes {
    Parts forward, backward;
    double weight_s = 0.0;
};

/// Share of its time that a collective of weights or gradients takes from the passes that hide it: kernels
/// that run meanwhile take 18.9 % longer on average (Lee et al. 2025, arXiv:2507.03114), 0.189 / 1.189.
inline constexpr double kContended = 0.16;

enum class GroupAxis : std::uint8_t { kTp, kCp, kEp, kPp, kExpertTp, kExpertDp, kDpCp, kReplicas };

/// Times the blocks of a model under a plan; each kind of block once.
class Timer {
public:
    /// `known` keeps links of groups; many plans have the same.
    Timer(const Sizes& sizes, const Cluster& cluster, const Groups& groups, const Synthesizer& synthesizer,
          Memo<Links>& known);

    Passes chunk(const Chunk& chunk);
    const Links& links(GroupAxis axis);
    const Rates& rates() const { return rates_; }
    double host_bytes_per_s() const { return host_bytes_per_s_; }

private:
    const Passes& layer(std::uint32_t kind, bool is_recomputed);
    Passes timed(const LayerKind& kind, bool is_recomputed);
    Passes end(bool is_head);
    Parts again(const LayerKind& kind, const Pass& pass, const Parts& forward, double meeting) const;
    double meeting_s();
    void exchange_context(const LayerKind& kind, Parts& forward, Parts& backward);
    void exchange_tokens(Parts& forward, Parts& backward);
    void gather_weights(const Weights& weights, Parts& forward, Parts& backward);
    double reduce_s(const Weights& weights);
    double spread_s(const Weights& weights, double bytes_each);
    double of_weights() const { return sizes_.model.lora ? 0.0 : 0.5; }

    const Sizes& sizes_;
    const Cluster& cluster_;
    const Groups& groups_;
    const Synthesizer& synthesizer_;
    Rates rates_;
    double host_bytes_per_s_;
    std::optional<double> meeting_s_;
    Memo<Links>& known_links_;
    std::array<const Links*, 8> links_{};
    std::vector<std::array<std::optional<Passes>, 2>> layers_;
    std::array<std::optional<Passes>, 2> ends_;
};

}  // namespace dse::prediction
