// The versions of ASTRA-sim that a simulation may equal. All in which they differ is named here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dse::workload {

/// The rules of one version. Code asks for a rule, never for a version.
struct Reference {
    std::string_view name;

    // Traces and groups.
    std::string_view dimensions_attribute;  ///< of a collective over dimensions of the network
    bool group_counts_before_dimensions;    ///< else a list of dimensions cancels `pg_name`
    std::string_view group_of_all_ranks;    ///< this `pg_name` is no group; empty: there is no such name
    bool groups_have_numbers;               ///< names in the groups file are integers above 0
    std::size_t most_dimensions_unlisted;   ///< without a list and a group
    bool skips_tensors_without_bytes;       ///< as if they were not mentioned
    bool has_custom_collectives;            ///< from files of traces

    // Collectives.
    bool groups_run_the_listed_algorithm;  ///< if a list has one entry; else always `ring`
    bool ranks_number_streams_of_all;      ///< else all ranks are a group, with its own counter

    // The report.
    bool reports_overlap;        ///< and nothing of ranks with other nodes than GPU and Comm
    bool reports_peak_untraced;  ///< without `trace-enabled`

    /// Of a group's first stream.
    std::uint64_t first_stream(std::string_view group) const;
};

std::span<const Reference* const> references();

/// The one that holds unless another is chosen.
const Reference& default_reference();

/// Throws InputError with the known names.
const Reference& reference_named(std::string_view name);

/// The number that a name of a group is: digits only, above 0, an int of ASTRA-sim.
std::optional<std::uint64_t> group_number(std::string_view name);

}  // namespace dse::workload
