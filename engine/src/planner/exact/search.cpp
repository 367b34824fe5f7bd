// The exact search, block by block.
#include "planner/exact/search.hpp"

#include <algorithm>
#include <numeric>

#include "planner/exact/best_plans.hpp"
#include "planner/exact/block_search.hpp"
#include "planner/exact/bounds.hpp"

namespace dse::planner::exact {

namespace {

/// Stage counts by least group, ascending by the first count.
std::vector<Block> blocks_of(const Problem& problem, CostModel model) {
    std::vector<Block> blocks;
    const std::uint64_t gpus = problem.gpus();
    for (std::uint64_t stages = 1; stages <= std::min<std::uint64_t>(gpus, problem.layers()); ++stages) {
        std::uint64_t least = 1;
        if (model == CostModel::compat)
            least = std::max<std::uint64_t>(
                1, std::max(gpus / stages, stages / gpus) * problem.options.group_scale);
        if (least * stages > gpus) continue;
        const std::uint32_t unit = least_power(static_cast<std::uint32_t>(least));
        if (std::uint64_t{unit} * stages > gpus) continue;
        const auto same = std::find_if(blocks.begin(), blocks.end(),
                                       [&](const Block& block) { return block.least_group == unit; });
        Block fresh;
        fresh.least_group = unit;
        (same == blocks.end() ? blocks.emplace_back(fresh) : *same)
            .stages.push_back(static_cast<std::uint32_t>(stages));
    }
    return blocks;
}

/// Tables that blocks of one type sequence and number of micro-batches share.
struct Family {
    std::unique_ptr<StageOptions> options;
    std::vector<std::unique_ptr<PrefixBounds>> bounds;  ///< per block of the family
};

}  // namespace

SearchResult search(const Problem& problem, CostModel model,
                    const std::vector<std::vector<std::uint32_t>>& sequences, const Limits& limits) {
    SearchResult result;
    LayerTables tables(problem);
    const std::vector<Block> shapes = blocks_of(problem, model);
    std::vector<std::unique_ptr<Ranks>> ranks;
    std::vector<Family> families;
    std::vector<std::pair<std::size_t, std::size_t>> place;  // family and bounds, per block
    for (const std::vector<std::uint32_t>& sequence : sequences) {
        ranks.push_back(std::make_unique<Ranks>(problem, sequence));
        for (std::uint64_t batches = problem.model.gbs; batches > 0; --batches) {
            if (problem.model.gbs % batches != 0) continue;
            Family& family = families.emplace_back();
            family.options = std::make_unique<StageOptions>(problem, model, *ranks.back(), tables, batches);
            for (const Block& shape : shapes) {
                Block block = shape;
                block.sequence = sequence;
                block.batches = batches;
                if (result.complete) {
                    family.bounds.push_back(
                        std::make_unique<PrefixBounds>(problem, model, *family.options, block, limits.stop));
                    result.complete = !family.bounds.back()->stopped();
                    if (result.complete) block.bound_ms = family.bounds.back()->root_ms();
                    if (block.bound_ms == kInfinite) block.outcome = Outcome::empty;
                }
                place.emplace_back(families.size() - 1, family.bounds.size() - 1);
                result.blocks.push_back(std::move(block));
            }
        }
    }
    std::vector<std::size_t> order(result.blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return result.blocks[a].bound_ms < result.blocks[b].bound_ms;
    });
    BestPlans best(limits);
    for (const std::size_t i : order) {
        Block& block = result.blocks[i];
        if (block.outcome == Outcome::empty || !result.complete) continue;
        if (!best.wanted(block.bound_ms)) {
            block.outcome = Outcome::pruned;
            continue;
        }
        Family& family = families[place[i].first];
        PrefixBounds& bounds = *family.bounds[place[i].second];
        bounds.turn(block);
        if (search_block(problem, model, *family.options, bounds, block, best, limits))
            block.outcome = Outcome::searched;
        else
            result.complete = limits.stop == nullptr || !limits.stop();
    }
    result.bound_ms = best.best_ms();
    for (Block& block : result.blocks)
        if (block.outcome == Outcome::open) {
            result.bound_ms = std::min(result.bound_ms, block.bound_ms);
            result.complete = false;
        }
    result.plans = best.take();
    return result;
}

}  // namespace dse::planner::exact
