"""Greedy searches to compare with: forward in time (TACOS's idea), and by arrival (BEAN TACOS's, causal)."""

from __future__ import annotations

import math

from dse.collectives.problem.problem import Problem
from dse.collectives.search.synthesizers.base import (
    Effort,
    GreedySearch,
    Synthesis,
    is_spread_by_wants,
    search_variants,
)


class Arrival(GreedySearch):
    """Runs in the order of arrivals: whichever link brings a chunk first delivers it (docs/synthesis.md)."""

    name = "arrival"
    variants = (("arrival", "oldest"), ("arrival", "needed"), ("arrival", "rarest"))


class Greedy(GreedySearch):
    """Runs forward in time: a free link takes a chunk that no link has claimed (docs/synthesis.md)."""

    name = "greedy"
    variants = (("forward", "oldest"), ("forward", "random"), ("forward", "needed"))

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        if not is_mixing(problem):
            return super().synthesize(problem, effort)
        oldest, random, needed = self.variants
        return search_variants(problem, effort, self.name, (random, oldest, needed))


def is_mixing(problem: Problem) -> bool:
    """Whether chunks soon are anywhere, so that any of them is as good as the oldest, and quicker found.

    So it is with alike links, as many per NPU as a hypercube has at least, which carry so many chunks
    each that what happens at first and at the end counts little.
    """
    graph = problem.graph
    if not is_spread_by_wants(problem) or not graph.npus:
        return False
    if len(graph) == 0 or len(set(graph.kinds)) != 1:
        return False
    links_per_npu = len(graph) / graph.npus
    rounds = problem.collective.chunks / links_per_npu
    return links_per_npu >= math.log2(graph.npus) and rounds >= 2 * links_per_npu
