// Large neighbourhoods of trees of sums and copies: of an all-reduce both halves at once.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/search/restarts.hpp"

namespace dse::synthesis {

struct FoundSums {
    Sends sends;           ///< of sums first
    std::size_t sums = 0;  ///< how many these are
    std::uint32_t trials = 0;
};

/// Frees both trees of some chunks, one of them late, and puts them into the gaps again, `trials` times; a
/// step is taken if the time falls, or stays and chunks end no later in the mean. `sends` must be an
/// all-reduce by trees, of sums where `reduce` is not 0; if it is empty, chunks are inserted one by one
/// first, and steps that make it somewhat slower are taken too, ever less so. Every NPU has a contribution to
/// every chunk, or, without sums, one holder has the chunk at first, and every NPU wants it. Ends before
/// when the time is `enough` or less, or when the checkpoint ends it.
///
/// Throws InputError if a contribution cannot reach a root.
FoundSums improve_sums(const Problem& problem, bool has_sums, const Sends& sends,
                       const std::vector<std::uint8_t>& reduce, const Effort& effort,
                       const Checkpoint& checkpoint);

}  // namespace dse::synthesis
