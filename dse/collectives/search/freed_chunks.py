"""All-reduces and trees of copies of which chunks are freed and put into the gaps of links again."""

from __future__ import annotations

from dse.base.lazy import np, solvers
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.reductions import halves
from dse.collectives.search.synthesizers.base import Effort, limited


def search_sums(problem: Problem, start: Schedule | None, effort: Effort, steps: int) -> Schedule:
    """Return an all-reduce of which chunks were freed, sums and copies, and put into the gaps again.

    From `start`, whose sums go up trees, or from nothing.
    """
    has_sums = problem.collective.kind == "all_reduce"
    of_copies = halves(problem)[1] if has_sums else problem
    nothing = np.empty(0, dtype=np.int32)
    columns = (nothing, nothing, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8))
    if start is not None:
        columns = (start.link, start.chunk, start.start_ps, start.reduce.astype(np.uint8))
    with limited(effort) as cancellation:
        (link, chunk, start_ps), sums, _ = solvers.search_sums(
            of_copies.native, has_sums, *columns, effort.seed, steps, effort.enough_ps, cancellation
        )
    return Schedule.of(problem, link, chunk, start_ps, np.arange(len(link)) < sums)
