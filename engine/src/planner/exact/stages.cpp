// The ways to use a group as a stage: its replicas, gap and links.
#include "planner/exact/stages.hpp"

#include <algorithm>

#include "planner/exact/units.hpp"

namespace dse::planner::exact {

StageOptions::StageOptions(const Problem& problem, CostModel model, const Ranks& ranks, LayerTables& tables,
                           std::uint64_t batches)
    : problem_(&problem),
      model_(model),
      ranks_(&ranks),
      shared_(&tables),
      batches_(batches),
      layers_(problem.layers()) {
    batch_generator_ms_ = problem.model.batch_generator_ms;
    if (model_ == CostModel::compat) return;
    const std::uint32_t type = ranks.sequence().front();
    batch_generator_ms_ = kInfinite;
    for (std::uint32_t log2_tp = 0; log2_tp < problem.profiles.degrees; ++log2_tp)
        for (std::size_t batch = 1; batch < problem.profiles.row_of_batch.size(); ++batch) {
            const std::int32_t entry = problem.profiles.find(type, log2_tp, batch);
            if (entry == kMissing) continue;
            batch_generator_ms_ = problem.profiles.times[static_cast<std::size_t>(entry)].batch_generator_ms;
            return;
        }
}

const std::vector<StageOption>& StageOptions::at(std::uint32_t start, std::uint32_t gpus) {
    const std::uint64_t key = std::uint64_t{start} << 32 | gpus;
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    std::vector<StageOption>& options = made_[key];
    Shape shape{};
    shape.start = start;
    shape.gpus = gpus;
    shape.pure = ranks_->pure(start, gpus);
    if (!shape.pure && !problem_->options.allow_mixed_stages) return options;
    shape.last_first = start == 0 ? 0 : layers_ - 1;
    shape.first_end = start + gpus == ranks_->gpus() ? layers_ : 1;
    const Links* links = nullptr;
    for (std::uint32_t tp = 1; tp <= gpus && tp <= problem_->options.max_tp; tp *= 2) {
        shape.dp = gpus / tp;
        shape.tp = tp;
        shape.log2_tp = log2_of(tp);
        const std::uint64_t batch = batch_of(shape);
        if (batch < 1 || batch > problem_->options.max_batch) continue;
        if (links == nullptr) {  // the same for all degrees
            links = &links_of(start, gpus);
            if (model_ == CostModel::compat) shape.capacity_mb = capacity_mb(start, gpus);
        }
        add(options, shape, *links);
    }
    return options;
}

void StageOptions::add(std::vector<StageOption>& options, const Shape& shape, const Links& links) {
    std::vector<Replica>& replicas = replicas_;
    replicas.resize(shape.pure ? 1 : 0);
    if (!replicas_of(shape, replicas)) return;
    const StageTable* table = table_of(shape, replicas);
    if (table == nullptr) return;
    StageOption option;
    option.gpus = shape.gpus;
    option.tp = shape.tp;
    option.table = table;
    option.gap_ms = gap_of(shape, replicas);
    std::uint64_t largest = 0;
    for (const Replica& replica : replicas) largest = std::max(largest, replica.share);
    set_links(option, shape, links, largest);
    options.push_back(option);
}

bool StageOptions::split(const Shape& shape, std::uint32_t start, std::uint32_t gpus,
                         std::vector<std::uint64_t>& dealt) const {
    std::vector<double> ms;
    const std::uint32_t width = gpus / shape.dp;
    for (std::uint32_t replica = 0; replica < shape.dp; ++replica) {
        const std::int32_t entry =
            problem_->profiles.find(ranks_->type(start + replica * width), shape.log2_tp, 1);
        if (entry == kMissing) return false;
        ms.push_back(problem_->profiles.times[static_cast<std::size_t>(entry)].total_ms);
    }
    dealt = shares(ms, problem_->model.gbs / batches_);
    return true;
}

bool StageOptions::replicas_of(const Shape& shape, std::vector<Replica>& replicas) const {
    const Profiles& profiles = problem_->profiles;
    const std::uint64_t gbs = problem_->model.gbs;
    if (shape.pure) {
        if (model_ == CostModel::strict && gbs % (shape.dp * batches_) != 0) return false;
        const std::uint32_t type = ranks_->type(shape.start);
        const std::int32_t entry = profiles.find(type, shape.log2_tp, batch_of(shape));
        if (entry == kMissing) return false;
        replicas.front().type = type;
        replicas.front().share = batch_of(shape);
        replicas.front().parts.assign(1, entry);
        return true;
    }
    if (model_ == CostModel::strict)
        for (std::uint32_t replica = 0; replica < shape.dp; ++replica)
            if (!ranks_->pure(shape.start + replica * shape.tp, shape.tp)) return false;
    std::vector<std::uint64_t> dealt;
    if (!split(shape, shape.start, shape.gpus, dealt)) return false;
    for (std::uint32_t r = 0; r < shape.dp; ++r) {
        Replica replica{ranks_->type(shape.start + r * shape.tp), dealt[r], {}};
        const bool known = std::any_of(replicas.begin(), replicas.end(), [&](const Replica& other) {
            return other.type == replica.type && other.share == replica.share;
        });
        if (known) continue;
        bool missing = false;
        each_slice(replica.share, [&](std::uint64_t part) {
            const std::int32_t entry = profiles.find(replica.type, shape.log2_tp, part);
            missing |= entry == kMissing || part > problem_->options.max_batch;
            replica.parts.push_back(entry);
        });
        if (missing) return false;
        replicas.push_back(std::move(replica));
    }
    return true;
}

double StageOptions::gap_of(const Shape& shape, const std::vector<Replica>& replicas) const {
    double most = -kInfinite;
    if (model_ == CostModel::compat) {
        const std::uint32_t end = shape.start + shape.gpus;
        for (std::uint32_t rank = shape.start; rank < end; rank = ranks_->same_until(rank)) {
            const std::int32_t entry =
                problem_->profiles.find(ranks_->type(rank), shape.log2_tp, batch_of(shape));
            if (entry == kMissing) return kInfinite;
            const double gap = problem_->profiles.times[static_cast<std::size_t>(entry)].gap_ms;
            if (gap == 0) return kInfinite;
            most = std::max(most, gap);
        }
    } else {
        for (const Replica& replica : replicas) {
            if (replica.parts.empty()) continue;
            double gap = 0;
            for (const std::int32_t part : replica.parts)
                gap += problem_->profiles.times[static_cast<std::size_t>(part)].gap_ms;
            most = std::max(most, gap);
        }
    }
    return static_cast<double>(batches_) * most;
}

const StageOptions::Links& StageOptions::links_of(std::uint32_t start, std::uint32_t gpus) {
    Links& links = links_.emplace_back();
    const bool compat = model_ == CostModel::compat;
    const double unit = compat ? kMib : kBytesPerMs;
    const std::uint32_t next = start + gpus;
    for (std::uint32_t following = 1; next + following <= ranks_->gpus(); following *= 2) {
        const std::uint32_t count = gpus + following;
        const double gbps =
            compat ? ranks_->compat_gbps(start, start + count, 1) : ranks_->strict_link_gbps(start, count);
        links.bandwidth.push_back(gbps * unit);
        links.best = std::max(links.best, gbps * unit);
    }
    return links;
}

void StageOptions::set_links(StageOption& option, const Shape& shape, const Links& links,
                             std::uint64_t largest_share) const {
    const Model& model = problem_->model;
    if (model_ == CostModel::compat) {
        const std::uint64_t tokens = batch_of(shape) * model.sequence;
        option.sent = static_cast<double>(tokens * model.hidden);
        option.sent_logits = static_cast<double>(tokens * model.vocabulary) / static_cast<double>(shape.tp);
    } else {
        option.sent = 2.0 * static_cast<double>(largest_share * model.sequence * model.hidden *
                                                problem_->options.bytes_per_element);
        option.sent_logits = option.sent;
    }
    option.link_bandwidth = links.bandwidth.data();
    if (links.best > 0) option.least_link_ms = std::min(option.sent, option.sent_logits) / links.best;
}

}  // namespace dse::planner::exact
