#include "prediction/batch.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "prediction/pipeline/builtin_schedules.hpp"
#include "prediction/steps/shared.hpp"

namespace dse::prediction {

namespace {

constexpr std::size_t kColumns = kPlanColumns.size();
constexpr std::size_t kRows = 64;          // that a thread takes at a time
constexpr std::size_t kMostShared = 8192;  // that a thread keeps: some 30 MB

enum Column : std::size_t {
    kDp,
    kTp,
    kPp,
    kCp,
    kEp,
    kExpertTp,
    kMicroBatch,
    kChunks,
    kZero,
    kShardRanks,
    kRecomputeLayers,
    kWeightSharded,
    kSequenceParallel,
    kOverlapTp,
    kOverlapDp,
    kOverlapEp,
    kSchedule,
    kStages,
    kContext,
    kRecompute,
    kPrecision,
    kAttention,
    kOffload,
    kOrder,
    kFramework,
    kDispatcher,
    kGraphs
};

std::vector<std::string_view> words_of(std::string_view text, char between) {
    std::vector<std::string_view> words;
    for (;;) {
        const std::size_t end = text.find(between);
        words.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return words;
        text.remove_prefix(end + 1);
    }
}

std::int64_t number_of(std::string_view word) {
    std::int64_t number = 0;
    for (const char digit : word) number = 10 * number + (digit - '0');
    return number;
}

Module module_named(std::string_view name) {
    constexpr std::pair<std::string_view, Module> kModules[] = {{"core_attn", Module::kCoreAttention},
                                                                {"mla_up_proj", Module::kLatentUp},
                                                                {"mlp", Module::kMlp},
                                                                {"moe", Module::kExperts},
                                                                {"moe_act", Module::kExpertActivation},
                                                                {"layernorm", Module::kNorm},
                                                                {"shared_experts", Module::kSharedExperts},
                                                                {"moe_router", Module::kRouter},
                                                                {"moe_preprocess", Module::kPreprocess},
                                                                {"attn", Module::kAttention},
                                                                {"mamba", Module::kMamba}};
    for (const auto& [known, module] : kModules) {
        if (known == name) return module;
    }
    return Module::kNone;
}

Modules set_of(std::string_view text) {
    Modules set = 0;
    for (const auto& [name, module] : modules_of_text(text)) set |= static_cast<Modules>(module);
    return set;
}

std::array<Axis, 5> order_of(std::string_view text) {
    std::array<Axis, 5> order{};
    std::size_t place = 0;
    for (const std::string_view word : words_of(text, '-')) {
        if (place == order.size()) break;
        order[place++] = word == "tp"   ? Axis::kTp
                         : word == "cp" ? Axis::kCp
                         : word == "ep" ? Axis::kEp
                         : word == "dp" ? Axis::kDp
                                        : Axis::kPp;
    }
    return order;
}

}  // namespace

std::vector<std::pair<std::string, Module>> modules_of_text(std::string_view text) {
    std::vector<std::pair<std::string, Module>> found;
    for (const std::string_view word : words_of(text, '+')) found.emplace_back(word, module_named(word));
    return found;
}

Stages stages_of_text(std::string_view text) {
    constexpr std::pair<std::string_view, StageRule> kRules[] = {{"even", StageRule::kEven},
                                                                 {"spread", StageRule::kSpread},
                                                                 {"lighter-last", StageRule::kLighterLast},
                                                                 {"lighter-ends", StageRule::kLighterEnds},
                                                                 {"balanced", StageRule::kBalanced}};
    for (const auto& [name, rule] : kRules) {
        if (name == text) return {rule, {}};
    }
    Stages stages{StageRule::kListed, {}};
    for (const std::string_view word : words_of(text, '-')) {
        const auto parts = words_of(word, 'x');
        const std::int64_t times = parts.size() > 1 ? number_of(parts[1]) : 1;
        stages.listed.insert(stages.listed.end(), static_cast<std::size_t>(times), number_of(parts[0]));
    }
    return stages;
}

/// Texts of a batch, each looked up once for every column that has it.
struct Predictor::Texts {
    struct Looked {
        Stages stages;
        std::uint32_t number = 0;
        std::int64_t bits = 16, offloaded = 0;
        Modules modules = 0;
        std::array<Axis, 5> order{};
    };
    const std::vector<std::string>& texts;
    std::vector<std::array<std::unique_ptr<Looked>, kColumns - kFirstText>> looked;

    const Looked& at(std::int64_t text, std::size_t column) const {
        return *looked[static_cast<std::size_t>(text)][column - kFirstText];
    }
};

namespace {

/// The source, asked for schedules that the engine does not have.
BatchSource with_builtin_schedules(BatchSource source) {
    BatchSource found = source;
    found.schedule = [other = source.schedule](const std::string& name) {
        const BuiltinSchedule* own = builtin_schedule(name);
        return own != nullptr ? own->schedule() : other(name);
    };
    found.schedules.problem = [other = source.schedules.problem](const Schedule& schedule,
                                                                 std::int64_t stages, std::int64_t chunks,
                                                                 std::int64_t micro_batches) {
        const BuiltinSchedule* own = builtin_schedule(schedule.name);
        return own != nullptr ? own->problem(stages, chunks, micro_batches)
                              : other(schedule, stages, chunks, micro_batches);
    };
    found.schedules.timetable = [other = source.schedules.timetable](const Schedule& schedule,
                                                                     std::int64_t stages, std::int64_t chunks,
                                                                     std::int64_t micro_batches) {
        const BuiltinSchedule* own = builtin_schedule(schedule.name);
        return own != nullptr ? own->timetable(stages, chunks, micro_batches)
                              : other(schedule, stages, chunks, micro_batches);
    };
    return found;
}

}  // namespace

Predictor::Predictor(std::vector<Precision> precisions, BatchSource source)
    : source_(with_builtin_schedules(std::move(source))),
      orders_(source_.schedules),
      synthesizer_([this](const std::vector<Leg>& legs) -> const std::vector<ScheduleTimes>& {
          return synthesized(legs);
      }),
      setting_{std::move(precisions), {}, {}, orders_, synthesizer_} {}

const std::vector<ScheduleTimes>& Predictor::synthesized(const std::vector<Leg>& legs) {
    {
        const Lock lock(mutex_);
        if (const auto known = synthesized_.find(legs); known != synthesized_.end()) return known->second;
    }
    std::vector<ScheduleTimes> found = source_.synthesizer(legs);
    const Lock lock(mutex_);
    return synthesized_.emplace(legs, std::move(found)).first->second;
}

Plan Predictor::plan_of(const Cases& cases, std::size_t row, const Texts& texts) const {
    const std::int64_t* values = cases.plans.data() + row * kColumns;
    const auto looked = [&](Column column) -> const Texts::Looked& {
        return texts.at(values[column], column);
    };
    const auto text = [&](Column column) { return &cases.texts[static_cast<std::size_t>(values[column])]; };
    Plan plan;
    plan.dp = values[kDp];
    plan.tp = values[kTp];
    plan.pp = values[kPp];
    plan.cp = values[kCp];
    plan.ep = values[kEp];
    plan.expert_tp = values[kExpertTp];
    plan.micro_batch = values[kMicroBatch];
    plan.chunks = values[kChunks];
    plan.zero = values[kZero];
    plan.is_weight_sharded = values[kWeightSharded] != 0;
    plan.zero_stage = plan.is_weight_sharded ? 3 : plan.zero;
    plan.shard_ranks = values[kShardRanks];
    plan.recompute_layers = values[kRecomputeLayers];
    plan.sequence_parallel = values[kSequenceParallel] != 0;
    plan.overlap_tp = values[kOverlapTp] != 0;
    plan.overlap_dp = values[kOverlapDp] != 0;
    plan.overlap_ep = values[kOverlapEp] != 0;
    plan.schedule = looked(kSchedule).number;
    plan.framework = looked(kFramework).number;
    plan.stages = &looked(kStages).stages;
    plan.stages_text = text(kStages);
    const std::string& context = *text(kContext);
    plan.context = context == "ring"      ? Context::kRing
                   : context == "ulysses" ? Context::kUlysses
                                          : Context::kGather;
    plan.recompute_text = text(kRecompute);
    const std::string& recompute = *plan.recompute_text;
    plan.recompute = recompute == "none"        ? Recompute::kNone
                     : recompute == "full"      ? Recompute::kFull
                     : recompute == "selective" ? Recompute::kSelective
                                                : Recompute::kModules;
    plan.recomputed = looked(kRecompute).modules;
    plan.precision_text = text(kPrecision);
    plan.bits = looked(kPrecision).bits;
    plan.is_unfused = *text(kAttention) == "unfused";
    plan.offloads_optimizer = *text(kOffload) == "optimizer";
    plan.offloaded_layers = looked(kOffload).offloaded;
    plan.order_text = text(kOrder);
    plan.order = looked(kOrder).order;
    plan.has_default_order = plan.order == Plan{}.order;
    plan.dispatcher_text = text(kDispatcher);
    plan.is_deduplicated = *plan.dispatcher_text == "deduplicated";
    plan.graphs_text = text(kGraphs);
    plan.has_full_graphs = *plan.graphs_text == "full";
    plan.captured = looked(kGraphs).modules;
    const double* own = cases.own.data() + row * 3;
    plan.launch_us = own[0];
    plan.elementwise = own[1];
    plan.optimizer_bytes = own[2];
    return plan;
}

namespace {

template <typename Make>
std::uint32_t numbered(std::unordered_map<std::string, std::uint32_t>& known, const std::string& name,
                       Make make) {
    const auto at = known.find(name);
    return at != known.end() ? at->second : known.emplace(name, make()).first->second;
}

}  // namespace

std::uint32_t Predictor::number_of_schedule(const std::string& name) {
    return numbered(schedules_, name, [&] {
        setting_.schedules.push_back(source_.schedule(name));
        return static_cast<std::uint32_t>(setting_.schedules.size() - 1);
    });
}

std::shared_ptr<const Predictor::Texts> Predictor::read(const Cases& cases) {
    const std::size_t count = cases.model_of.size();
    auto read = std::make_shared<Texts>(Texts{cases.texts, {}});
    Texts& texts = *read;
    texts.looked.resize(cases.texts.size());
    for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t column = kFirstText; column < kColumns; ++column) {
            const auto place = static_cast<std::size_t>(cases.plans[row * kColumns + column]);
            auto& known = texts.looked.at(place)[column - kFirstText];
            if (known) continue;
            known = std::make_unique<Texts::Looked>();
            const std::string& text = cases.texts[place];
            if (column == kStages) known->stages = stages_of_text(text);
            if (column == kOrder) known->order = order_of(text);
            if (column == kGraphs) known->modules = set_of(text);
            if (column == kRecompute) {
                known->modules = set_of(text == "selective" ? "core_attn"
                                        : text == "light"   ? "layernorm+moe_act+mla_up_proj"
                                                            : text);
            }
            if (column == kPrecision) {
                for (const Precision& precision : setting_.precisions) {
                    if (precision.name == text) known->bits = precision.bits;
                }
            }
            if (column == kOffload && text.starts_with("activations")) {
                known->offloaded = text == "activations" ? kAllLayers : number_of(words_of(text, '-')[1]);
            }
            if (column == kSchedule) known->number = number_of_schedule(text);
            if (column == kFramework) {
                known->number = numbered(frameworks_, text, [&] {
                    setting_.frameworks.push_back(framework_of_json(source_.framework(text)));
                    return static_cast<std::uint32_t>(setting_.frameworks.size() - 1);
                });
            }
        }
    }
    return read;
}

Predictions Predictor::predict(const Cases& cases, std::size_t threads, bool only_feasible, Shared* kept) {
    const std::size_t count = cases.model_of.size();
    const auto read_texts = read(cases);
    const Texts& texts = *read_texts;
    Predictions found;
    found.parts_s.resize(count * kStepParts);
    found.memory_bytes.resize(count * kCategories);
    found.bubble_share.resize(count);
    found.reason_of.assign(count, -1);
    std::vector<std::string> reasons(count);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    Mutex failing;
    const auto work = [&] {
        Shared own;
        Shared& shared = kept == nullptr ? own : *kept;
        try {
            for (std::size_t start = next.fetch_add(kRows); start < count; start = next.fetch_add(kRows)) {
                if (shared.size() > kMostShared) shared = {};
                for (std::size_t row = start; row < std::min(count, start + kRows); ++row) {
                    const Model& model = *cases.models[static_cast<std::size_t>(cases.model_of[row])];
                    const Cluster& cluster = *cases.clusters[static_cast<std::size_t>(cases.cluster_of[row])];
                    try {
                        const Prediction one = prediction::predict(model, plan_of(cases, row, texts), cluster,
                                                                   setting_, shared, only_feasible);
                        std::copy(one.parts.seconds.begin(), one.parts.seconds.end(),
                                  found.parts_s.begin() + static_cast<std::ptrdiff_t>(row * kStepParts));
                        std::copy(
                            one.memory.begin(), one.memory.end(),
                            found.memory_bytes.begin() + static_cast<std::ptrdiff_t>(row * kCategories));
                        found.bubble_share[row] = one.bubble_share;
                    } catch (const Infeasible& problem) {
                        reasons[row] = problem.reason;
                        found.reason_of[row] = 0;
                    }
                }
            }
        } catch (...) {
            const Lock lock(failing);
            failure = std::current_exception();
            next = count;
        }
    };
    in_threads(kept == nullptr ? std::min(threads, count / kRows + 1) : 1, work);
    if (failure) std::rethrow_exception(failure);
    std::unordered_map<std::string, std::int32_t> numbers;
    for (std::size_t row = 0; row < count; ++row) {
        if (found.reason_of[row] < 0) continue;
        const auto [at, is_new] =
            numbers.emplace(reasons[row], static_cast<std::int32_t>(found.reasons.size()));
        if (is_new) found.reasons.push_back(reasons[row]);
        found.reason_of[row] = at->second;
    }
    return found;
}

}  // namespace dse::prediction
