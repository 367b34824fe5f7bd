// Partitions from which a search answers with the best that keeps all constraints.
#pragma once

#include "partition/cuts/cut_cycles.hpp"
#include "partition/search/search.hpp"

namespace dse::partition {

/// Moves the best of the members into the result, where it is better and keeps every limit and pin.
void keep_best(const Problem& problem, std::vector<Member>& population, SearchResult& result);

}  // namespace dse::partition
