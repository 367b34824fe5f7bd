"""Trees of NPU 0 whose translations are those of all others, where all NPUs have the same links."""

from __future__ import annotations

import time

from dse.base.errors import InputError
from dse.base.lazy import np, solvers
from dse.collectives.problem.problem import Problem
from dse.collectives.search.symmetric import BaseSends, SymmetricSchedule
from dse.collectives.search.synthesizers.base import Effort, Progress, Synthesis, Synthesizer
from dse.inputs.networks.translations import Translations

# A trial is as many runs as look at so many pairs of a chunk's place and a generator.
PAIRS_PER_TRIAL = 10_000_000
MOST_RUNS_PER_TRIAL = 1000
HOPS_OF_A_WAY = 8
MOST_ROUTES = 200_000


class Symmetric(Synthesizer):
    """All-gather and all-to-all where nodes are numbered so that every node has the same links.

    Rings, tori, hypercubes, cliques, unrolled switches and their products are such graphs. Each generator is
    a channel of the trees of NPU 0, which carries one chunk at a time; the rest are translations
    (docs/synthesis.md). A run is greedy; as it has to do with the chunks of one NPU only, a trial
    has many.
    """

    name = "symmetric"

    def obstacle(self, problem: Problem) -> str | None:
        """Why it cannot take a problem, None if it can."""
        collective = problem.collective
        if collective.name not in ("all_gather", "all_to_all"):
            return f"{collective.kind} does not look the same from every NPU"
        if problem.graph.translations is None:
            return "the links do not look the same from every NPU, in any numbering by digits"
        if collective.name == "all_to_all" and collective.npus * collective.chunks_per_npu > MOST_ROUTES:
            return f"it routes at most {MOST_ROUTES} chunks a NPU"
        return None

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found, kept as its base; see Synthesizer.synthesize."""
        obstacle = self.obstacle(problem)
        group = problem.graph.translations
        if obstacle or group is None:
            raise InputError(f"synthesizer is {self.name}, but {obstacle}; allowed here: synthesizer=auto")
        search = _search_of(problem, group, effort.seed)
        trials = _run(search, problem, effort)
        if search.time_ps == _NOTHING:
            raise InputError("NPU 0 has no way to some NPU over the links of the topology")
        base = _base_of(search, problem)
        shape = "ways" if problem.collective.name == "all_to_all" else "trees"
        why = f"{shape} of NPU 0 over {len(group.generators)} kinds of links, translated; {search.runs} runs"
        return Synthesis(SymmetricSchedule(problem, group, base), self.name, trials, why=why)


_NOTHING = (1 << 63) - 1


def _search_of(problem: Problem, group: Translations, seed: int) -> solvers.TreeSearch | solvers.RouteSearch:
    times = problem.times_of_kinds[group.kind_of]
    search = solvers.RouteSearch if problem.collective.name == "all_to_all" else solvers.TreeSearch
    return search(
        problem.graph.npus,
        problem.graph.destinations[group.link_of].ravel(),
        (times[:, 0].copy(), times[:, 1].copy()),
        problem.collective.chunks_per_npu,
        seed,
    )


def _base_of(search: solvers.TreeSearch | solvers.RouteSearch, problem: Problem) -> BaseSends:
    """The best sends with the numbers of the chunks of NPU 0."""
    generator, node, number, start_ps = search.sends()
    npus, k = problem.graph.npus, problem.collective.chunks_per_npu
    if problem.collective.name == "all_gather":
        chunk = number * npus
    else:
        chunk = number % k * (npus * npus) + number // k + 1
    return BaseSends(generator, node, chunk, start_ps, np.zeros(len(chunk), dtype=np.bool_))


def _run(search: solvers.TreeSearch | solvers.RouteSearch, problem: Problem, effort: Effort) -> int:
    """Make runs until the effort is spent; return the trials."""
    pairs = problem.collective.chunks_per_npu * len(problem.graph)
    if problem.collective.name == "all_to_all":
        pairs *= HOPS_OF_A_WAY
    runs = max(1, min(MOST_RUNS_PER_TRIAL, PAIRS_PER_TRIAL // max(1, pairs)))
    ends = None if effort.time_limit_s is None else time.monotonic() + effort.time_limit_s
    for trial in range(effort.trials):
        search.search(runs, effort.enough_ps)
        found = search.time_ps != _NOTHING
        effort.report(Progress(search.time_ps if found else None, trial + 1))
        cancelled = effort.cancellation is not None and effort.cancellation.is_cancelled
        late = ends is not None and time.monotonic() > ends
        if cancelled or late or not found or search.time_ps <= effort.enough_ps:
            return trial + 1
    return effort.trials
