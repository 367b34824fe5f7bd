// The strict terms: memory by micro-batches in flight, and stages at their best place.
#include <algorithm>
#include <bit>

#include "planner/exact/stages.hpp"
#include "planner/exact/units.hpp"

namespace dse::planner::exact {

double StageOptions::optimizer_ms(std::uint32_t type, std::uint32_t log2_tp, std::uint32_t dp) const {
    const double replicas = problem_->options.shard_optimizer ? static_cast<double>(dp) : 1.0;
    for (std::size_t batch = 1; batch < problem_->profiles.row_of_batch.size(); ++batch) {
        const std::int32_t entry = problem_->profiles.find(type, log2_tp, batch);
        if (entry != kMissing)
            return problem_->profiles.times[static_cast<std::size_t>(entry)].optimizer_ms / replicas;
    }
    return kInfinite;
}

StageOptions::MemoryTerms StageOptions::memory_terms(const Replica& replica, const Shape& shape) {
    MemoryTerms terms;
    terms.parameters = shared_->parameters_bytes();
    terms.share = replica.share;
    terms.capacity = problem_->memory_mb[replica.type] * kMib * (1.0 - problem_->options.memory_reserve);
    for (const std::int32_t part : replica.parts) terms.parts.push_back(shared_->memory_mb(part));
    const auto total = [&](std::uint64_t batch) -> const double* {
        const std::int32_t entry = problem_->profiles.find(replica.type, shape.log2_tp, batch);
        return entry == kMissing ? nullptr : shared_->memory_mb(entry);
    };
    terms.batch = replica.parts.empty() ? 1 : shape.pure ? replica.share : std::bit_floor(replica.share);
    terms.total = total(terms.batch);
    terms.low = total(2 * terms.batch) != nullptr ? terms.batch : terms.batch / 2;
    terms.low_total = total(terms.low);
    terms.high_total = total(2 * terms.low);
    return terms;
}

double StageOptions::strict_bytes(const MemoryTerms& terms, const Shape& shape, std::size_t at,
                                  std::uint64_t in_flight) const {
    const Options& options = problem_->options;
    const auto tp = static_cast<double>(shape.tp);
    const auto dp = static_cast<double>(shape.dp);
    const double parameters = terms.parameters[at] / static_cast<double>(options.bytes_per_element) / tp;
    if (!options.memory_has_states) {
        const double optimizer = options.shard_optimizer ? 12.0 / dp : 12.0;
        double activations = 0;
        for (const double* part : terms.parts) activations += part[at];
        return parameters * (4.0 + optimizer) + static_cast<double>(in_flight) * (activations * kMib);
    }
    double total = terms.total[at];
    const std::uint64_t samples = terms.share * in_flight;
    if (samples > terms.batch) {
        double sample = total / static_cast<double>(terms.batch);
        if (terms.low_total != nullptr && terms.high_total != nullptr)
            sample =
                std::max(0.0, terms.high_total[at] - terms.low_total[at]) / static_cast<double>(terms.low);
        total += static_cast<double>(samples - terms.batch) * sample;
    }
    const double sharded = options.shard_optimizer ? 12.0 * (1.0 - 1.0 / dp) * parameters : 0.0;
    return total * kMib - sharded;
}

void StageOptions::fill_strict(StageTable& table, const Shape& shape, const std::vector<Replica>& replicas) {
    double optimizer = 0;
    for (const Replica& replica : replicas)
        optimizer = std::max(optimizer, optimizer_ms(replica.type, shape.log2_tp, shape.dp));
    const auto dp = static_cast<double>(shape.dp);
    const double per_byte = shape.dp > 1 ? 2.0 * (dp - 1) / (dp * (shape.reduction_gbps * kBytesPerMs)) : 0.0;
    table.optimizer_ms = optimizer;
    table.reduction_ms_per_byte = per_byte;
    table.share = shared_->share_of_bytes();
    table.bytes = shared_->split_bytes(shape.log2_tp);
    table.most_in_flight.assign(std::size_t{layers_ + 1} * (layers_ + 1), 0);
    std::vector<MemoryTerms> memory;
    for (const Replica& replica : replicas) memory.push_back(memory_terms(replica, shape));
    for (std::uint32_t first = 0; first <= shape.last_first; ++first)
        for (std::uint32_t end = std::max(first + 1, shape.first_end); end <= layers_; ++end) {
            const std::size_t at = std::size_t{first} * (layers_ + 1) + end;
            table.most_in_flight[at] = most_in_flight(memory, shape, at);
        }
}

std::uint16_t StageOptions::most_in_flight(std::span<const MemoryTerms> memory, const Shape& shape,
                                           std::size_t at) const {
    const auto fits = [&](std::uint64_t in_flight) {
        return std::all_of(memory.begin(), memory.end(), [&](const MemoryTerms& terms) {
            return strict_bytes(terms, shape, at, in_flight) <= terms.capacity;
        });
    };
    if (!fits(1)) return 0;
    const std::uint64_t most = std::min<std::uint64_t>(batches_, layers_);
    std::uint64_t low = 1;
    std::uint64_t high = most;
    while (low < high) {
        const std::uint64_t middle = (low + high + 1) / 2;
        if (fits(middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low == most ? kAnyNumber : static_cast<std::uint16_t>(low);
}

RelaxedTerms StageOptions::relaxed(std::uint32_t type, std::uint32_t gpus, std::uint32_t tp,
                                   double reduction_gbps, const std::vector<std::uint32_t>& cells) {
    RelaxedTerms terms;
    const Model& model = problem_->model;
    const Shape shape{0, gpus, gpus / tp, tp, log2_of(tp), true, layers_ - 1, 1, reduction_gbps, 0};
    const std::uint64_t batch = batch_of(shape);
    if (batch < 1 || batch > problem_->options.max_batch || model.gbs % (shape.dp * batches_) != 0)
        return terms;
    const std::int32_t entry = problem_->profiles.find(type, shape.log2_tp, batch);
    if (entry == kMissing) return terms;
    terms.execution_ms = shared_->ms(entry);
    terms.sent_bytes = 2.0 * static_cast<double>(batch * model.sequence * model.hidden *
                                                 problem_->options.bytes_per_element);
    terms.gap_ms =
        static_cast<double>(batches_) * problem_->profiles.times[static_cast<std::size_t>(entry)].gap_ms;
    terms.tail_per_byte = optimizer_ms(type, shape.log2_tp, shape.dp) / shared_->model_bytes();
    if (shape.dp > 1) {
        const auto dp = static_cast<double>(shape.dp);
        terms.tail_per_byte +=
            2.0 * (dp - 1) / (dp * (reduction_gbps * kBytesPerMs)) / static_cast<double>(tp);
    }
    const MemoryTerms memory = memory_terms({type, batch, {entry}}, shape);
    for (const std::uint32_t at : cells)
        terms.most_in_flight.push_back(most_in_flight({&memory, 1}, shape, at));
    return terms;
}

}  // namespace dse::planner::exact
