// The table of versions: a new one is an entry here.
#include "simulation/workloads/reference.hpp"

#include <charconv>
#include <cstddef>
#include <limits>

#include "base/error.hpp"

namespace dse::workload {

namespace {

constexpr std::uint64_t kStreamsOfGroup = 1'000'000;

constexpr Reference kApril2025{
    .name = "astra-sim-2025-04",
    .dimensions_attribute = "involve_dims",
    .group_counts_before_dimensions = false,
    .group_of_all_ranks = "",
    .groups_have_numbers = false,
    .most_dimensions_unlisted = std::numeric_limits<std::size_t>::max(),
    .skips_tensors_without_bytes = false,
    .has_custom_collectives = false,
    .groups_run_the_listed_algorithm = false,
    .ranks_number_streams_of_all = false,
    .reports_overlap = false,
    .reports_peak_untraced = false,
};

constexpr Reference kMarch2026{
    .name = "astra-sim-2026-03",
    .dimensions_attribute = "involved_dim",
    .group_counts_before_dimensions = true,
    .group_of_all_ranks = "0",
    .groups_have_numbers = true,
    .most_dimensions_unlisted = 4,
    .skips_tensors_without_bytes = true,
    .has_custom_collectives = true,
    .groups_run_the_listed_algorithm = true,
    .ranks_number_streams_of_all = true,
    .reports_overlap = true,
    .reports_peak_untraced = true,
};

constexpr std::array kReferences = {&kApril2025, &kMarch2026};

}  // namespace

std::span<const Reference* const> references() { return kReferences; }

const Reference& default_reference() { return kApril2025; }

const Reference& reference_named(std::string_view name) {
    std::string allowed;
    for (const Reference* const reference : kReferences) {
        if (reference->name == name) return *reference;
        allowed += (allowed.empty() ? "" : ", ") + std::string(reference->name);
    }
    throw InputError("reference is '" + std::string(name) + "'; allowed are " + allowed);
}

std::optional<std::uint64_t> group_number(std::string_view name) {
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || number <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(number);
}

std::uint64_t Reference::first_stream(std::string_view group) const {
    if (!groups_have_numbers) return kStreamsOfGroup;
    return group_number(group).value_or(1) * kStreamsOfGroup;
}

}  // namespace dse::workload
