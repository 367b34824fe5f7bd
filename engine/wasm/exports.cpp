// The C interface of the engine in a page: one request at a time, figures as arrays, errors as codes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "answers/explorer/plan_explorer.hpp"
#include "answers/explorer/rows.hpp"
#include "answers/explorer/run_explorer.hpp"
#include "base/error.hpp"
#include "base/result_version.hpp"

#define DSE_EXPORT(name) extern "C" __attribute__((export_name(#name))) auto name

namespace {

using namespace dse;

/// JSON of the versions of package and results and of how many figures and texts a row has. It stands in the
/// module as text: dse/answers/explorer/page.py reads it there, without running anything.
constexpr auto kVersions = [] {
    std::array<char, 160> text{};
    std::size_t size = 0;
    const auto say = [&](std::string_view part) {
        for (const char each : part) text.at(size++) = each;
    };
    const auto count = [&](int value) {
        int unit = 1;
        while (value / unit >= 10) unit *= 10;
        for (; unit > 0; unit /= 10) text.at(size++) = static_cast<char>('0' + value / unit % 10);
    };
    say(R"({"version":")" DSE_VERSION R"(","result_version":)");
    count(kResultVersion);
    say(R"(,"figures":)");
    count(static_cast<int>(explorer::kFigures));
    say(R"(,"texts":)");
    count(explorer::kTexts);
    say("}");
    return text;
}();

/// The error of the last call; 0 means none.
enum class Problem : std::int32_t { kNone, kInput, kSimulation, kMemory, kOther };

constexpr std::size_t kKeptBytes = std::size_t{256} << 20;  // of workloads; the lab's 56 take some 80

struct State {
    explorer::WorkloadCache cache{kKeptBytes};
    std::optional<explorer::Explorer> explorer;
    std::optional<explorer::PlanExplorer> plans;
    std::optional<explorer::RunExplorer> runs;
    explorer::Row row{};
    std::string text;
    Problem problem = Problem::kNone;
};

State& state() {
    static State state;
    return state;
}

void fail(Problem problem, const char* message) {
    state().problem = problem;
    state().text = message;
}

/// Calls `function` and remembers what it throws.
template <typename Function>
void guarded(Function function) {
    state().problem = Problem::kNone;
    try {
        function();
    } catch (const InputError& error) {
        fail(Problem::kInput, error.what());
    } catch (const SimulationError& error) {
        fail(Problem::kSimulation, error.what());
    } catch (const std::bad_alloc&) {
        fail(Problem::kMemory, explorer::kNoMemory);
    } catch (const std::length_error&) {
        fail(Problem::kMemory, explorer::kNoMemory);
    } catch (const std::exception& error) {
        fail(Problem::kOther, error.what());
    }
}

}  // namespace

DSE_EXPORT(dse_allocate)(std::size_t bytes)->void* { return std::malloc(bytes); }
DSE_EXPORT(dse_free)(void* pointer)->void { std::free(pointer); }

/// Number of strategies of the request; see dse_problem.
DSE_EXPORT(dse_open)(const char* request, std::size_t length)->std::uint32_t {
    guarded([&] {
        state().explorer.reset();
        state().explorer.emplace(std::string_view(request, length), &state().cache);
    });
    return state().problem == Problem::kNone ? static_cast<std::uint32_t>(state().explorer->size()) : 0;
}

/// The figures of a strategy; its reason is the text.
DSE_EXPORT(dse_point)(std::uint32_t index)->const double* {
    guarded([&] {
        state().row = state().explorer.value().row(index);
        state().text = state().row.reason;
    });
    return state().row.figures.data();
}

/// The same, and the text is the JSON of what happened.
DSE_EXPORT(dse_record)(std::uint32_t index)->const double* {
    guarded([&] { state().row = state().explorer.value().record(index, state().text); });
    return state().row.figures.data();
}

/// Why the last recorded point is not ok becomes the text.
DSE_EXPORT(dse_reason)()->void { state().text = state().row.reason; }

/// Doubts about the time of the last point become the text: two lines, empty where there is
/// nothing.
DSE_EXPORT(dse_doubts)()->void {
    state().text = state().row.understated_comm + "\n" + state().row.impossible_split;
}

/// Reads a model and a cluster, of which plans are predicted; see dse_problem.
DSE_EXPORT(dse_open_plans)(const char* request, std::size_t length)->void {
    guarded([&] {
        state().plans.reset();
        state().plans.emplace(std::string_view(request, length));
    });
}

/// The figures of plans, `kPlanFigures` each; the text is the reasons why some cannot run, a line each.
DSE_EXPORT(dse_predict)(const std::int64_t* plans, std::size_t count)->const double* {
    const double* figures = nullptr;
    guarded([&] {
        explorer::PlanExplorer& explorer = state().plans.value();
        figures = explorer.predict({plans, count * prediction::kPlanColumns.size()}).data();
        state().text.clear();
        for (const std::string& reason : explorer.reasons()) state().text += reason + "\n";
    });
    return figures;
}

/// Reads what is asked of a training run, its model and its cluster; see dse_problem.
DSE_EXPORT(dse_open_runs)(const char* request, std::size_t length)->void {
    guarded([&] {
        state().runs.reset();
        state().runs.emplace(std::string_view(request, length));
    });
}

/// The columns of the runs of steps, `kRunInputs` figures each.
DSE_EXPORT(dse_runs)(const double* steps, std::size_t count)->const double* {
    const double* figures = nullptr;
    guarded([&] { figures = state().runs.value().runs({steps, count * explorer::kRunInputs}).data(); });
    return figures;
}

DSE_EXPORT(dse_problem)()->std::int32_t { return static_cast<std::int32_t>(state().problem); }
DSE_EXPORT(dse_text)()->const char* { return state().text.data(); }
DSE_EXPORT(dse_text_length)()->std::size_t { return state().text.size(); }

/// `kVersions` become the text.
DSE_EXPORT(dse_versions)()->void { state().text = kVersions.data(); }
