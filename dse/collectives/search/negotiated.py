"""Trees past switches that only pass messages on: chunks negotiate for links, step of time by step."""

from __future__ import annotations

from dse.base.lazy import np, solvers
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.images import Images, images_of
from dse.collectives.search.reductions import halves
from dse.collectives.search.synthesizers.base import Effort, limited

_KINDS = ("all_gather", "broadcast", "all_reduce")
_STATES_OF_A_TRIAL = 1_000_000  # of nodes and steps of time, a tenth of a second or two
_STEPS_OF_A_MESSAGE = 64  # that it looks at, at each node, when trees are first made


def takes(problem: Problem) -> bool:
    """Whether all NPUs want all, and each chunk has one holder at first or is a sum of all."""
    return problem.collective.kind in _KINDS and not problem.collective.parts


def negotiated(problem: Problem, known: Schedule, effort: Effort) -> Schedule | None:
    """Return one faster than `known`; None if none is found, NPUs are many, or a switch copies or adds.

    Of an all-reduce sums and copies negotiate together; reduce-scatter and reduce are solved backwards.
    """
    graph, collective = problem.graph, problem.collective
    switches = frozenset(range(graph.npus, graph.nodes))
    is_passive = bool(switches) and switches == graph.cannot_copy == graph.cannot_add
    if not is_passive or not takes(problem):
        return None
    has_sums = collective.kind == "all_reduce"
    messages = (graph.npus - 1) * collective.chunks * (2 if has_sums else 1)
    work = effort.trials * _STATES_OF_A_TRIAL
    if messages * graph.nodes * _STEPS_OF_A_MESSAGE > work:
        return None
    best, deadline = None, effort.deadline
    groups = list(images_of(problem))
    for images in (*groups, None):
        if deadline.is_over or (best or known).time_ps <= effort.enough_ps:
            break
        share = work if images is None else work // len(groups)
        best = _made(problem, images, best or known, effort.until(deadline), share) or best
    return best


def _made(
    problem: Problem, images: Images | None, known: Schedule, effort: Effort, work: int
) -> Schedule | None:
    """Return a schedule faster than `known` that images keep; None if none is found."""
    has_sums = problem.collective.kind == "all_reduce"
    of_copies = halves(problem)[1] if has_sums else problem
    with limited(effort) as cancellation:
        (link, chunk, start_ps), sums, _ = solvers.negotiate_trees(
            of_copies.native,
            has_sums,
            [] if images is None else images.links.tolist(),
            [] if images is None else images.chunks.tolist(),
            known.time_ps,
            work,
            effort.seed,
            effort.enough_ps,
            cancellation,
        )
    if not len(link):
        return None
    return Schedule.of(problem, link, chunk, start_ps, np.arange(len(link)) < sums)
