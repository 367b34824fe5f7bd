"""Lower bounds on the time of a collective: each holds for every schedule, and says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from math import gcd

from dse.base.cancellation import NEVER as NEVER_LATE
from dse.base.cancellation import Deadline
from dse.base.lazy import NDArray, np
from dse.collectives.bounds.basic import all_sends_bound, distance_bound, node_bounds
from dse.collectives.bounds.crossings import crossings_bound
from dse.collectives.bounds.engines import engine_bounds
from dse.collectives.bounds.exits import exits_bound
from dse.collectives.bounds.flows import demand_cut, flow_bound
from dse.collectives.bounds.joined import joined_problems, of_nodes
from dse.collectives.bounds.lags import lags_bound
from dse.collectives.bounds.needs import BACKWARDS
from dse.collectives.bounds.sets import MOST_NODES_OF_ALL_SETS, sets_of
from dse.collectives.bounds.spreads import spread_bound
from dse.collectives.bounds.symmetric import symmetric_bounds
from dse.collectives.bounds.useful import useful_bound
from dse.collectives.bounds.view import NEVER, NONE, View
from dse.collectives.bounds.view import Bound as Bound
from dse.collectives.bounds.weights import ways_bound
from dse.collectives.bounds.windows import set_bounds
from dse.collectives.problem.collective import SEVERAL, Collective
from dse.collectives.problem.problem import MIRRORED, Problem


def lower_bounds(problem: Problem, deadline: Deadline = NEVER_LATE) -> tuple[Bound, ...]:
    """Return the strongest bound of each name that is found by a deadline; ingress and egress always are.

    Names are ingress, egress, distance, all_sends, crossings, exits, lags, spread, useful, max_flow, cut,
    entry_window, ways and engines. A name is missing where it says nothing. Reduce-scatter and reduce are
    judged as the all-gather and the broadcast that they are backwards: what a full sum is made of is a tree
    of messages, each contribution once, which run backwards brings a chunk from the sum's place to every
    contributor.

    If every link takes a multiple of some time, so does a schedule whose sends start as early as their order
    allows, which is as short as any: bounds are rounded up to it.
    """
    if problem.collective.kind in ("reduce", "reduce_scatter"):
        return tuple(map(_turned, lower_bounds(problem.mirrored, deadline)))
    if problem.collective.kind == SEVERAL:
        return _of_several(problem, deadline)
    return tuple(_strongest(problem, deadline).values())


def _of_several(problem: Problem, deadline: Deadline) -> tuple[Bound, ...]:
    """Bounds on what all of them need together, also with nodes joined, and on each alone."""
    found = _strongest(problem, deadline)
    for joined, block in joined_problems(View(problem, deadline)):
        is_one = joined.collective.kind != SEVERAL
        bounds = lower_bounds(joined, deadline) if is_one else _strongest(joined, deadline).values()
        for bound in bounds:
            if bound.time_ps > found.get(bound.name, NONE).time_ps:
                found[bound.name] = of_nodes(bound, block)
    for number, part in enumerate(problem.collective.parts, 1):
        if deadline.is_over:
            break
        own = replace(problem, collective=Collective.of_part(part, problem.graph.npus))
        for bound in lower_bounds(own, deadline):
            if bound.time_ps > found.get(bound.name, NONE).time_ps:
                found[bound.name] = replace(bound, text=f"collective {number}, {part.name}: {bound.text}")
    return tuple(found.values())


def _strongest(problem: Problem, deadline: Deadline) -> dict[str, Bound]:
    unit = max(1, gcd(*problem.distinct_times.ravel().tolist())) if len(problem.graph) else 1
    strongest: dict[str, Bound] = {}
    view = View(replace(problem, graph=problem.graph.without_engines), deadline)
    for bound in chain(_all_bounds(view), ways_bound(view), engine_bounds(View(problem, deadline))):
        rounded = replace(bound, time_ps=-(-bound.time_ps // unit) * unit)
        if 0 < rounded.time_ps < NEVER and rounded.time_ps > strongest.get(bound.name, NONE).time_ps:
            strongest[bound.name] = rounded
    return strongest


def best_bound(problem: Problem, deadline: Deadline = NEVER_LATE) -> Bound:
    """Return the strongest of all bounds; of equal ones the first, so the easiest to check."""
    return max(lower_bounds(problem, deadline), key=lambda bound: bound.time_ps, default=NONE)


def _all_bounds(view: View) -> Iterator[Bound]:
    problem, deadline = view.problem, view.deadline
    nodes = list(node_bounds(view))
    simple = [*nodes]
    messages = (crossings_bound, exits_bound, lags_bound, spread_bound, useful_bound)
    for more in (distance_bound, all_sends_bound, *messages):
        if not deadline.is_over:
            simple += more(view)
    yield from simple
    if deadline.is_over:
        return
    known_ps = max((bound.time_ps for bound in simple if bound.time_ps < NEVER), default=0)
    flows = list(flow_bound(view, known_ps))
    yield from flows
    if view.group is not None and problem.graph.nodes > MOST_NODES_OF_ALL_SETS:
        yield from symmetric_bounds(view, view.group)
        if flows:
            yield from set_bounds(view, _masks(view, flows))
        return
    centers = [bound.nodes[0] for bound in nodes]
    yield from _bounds_of_sets(view, centers[:1], flows)
    if problem.collective.kind in BACKWARDS and not deadline.is_over:
        back = View(_backwards(problem), deadline)
        if problem.graph.cannot_copy != problem.graph.cannot_add:
            yield from map(_turned, (*all_sends_bound(back), *crossings_bound(back)))
        flows = list(flow_bound(back, known_ps))
        yield from map(_turned, flows)
        yield from map(_turned, _bounds_of_sets(back, centers[1:], flows))


def _bounds_of_sets(view: View, centers: Iterable[int], flows: Iterable[Bound]) -> Iterator[Bound]:
    """Bounds of sets round centers; those that flows found are looked at with all others."""
    found = list(_masks(view, flows))
    for center in centers:
        sets = [*found, *sets_of(view, center)]
        yield from demand_cut(view, sets)
        yield from set_bounds(view, sets)


def _masks(view: View, flows: Iterable[Bound]) -> Iterator[NDArray[np.bool_]]:
    numbers = np.arange(view.problem.graph.nodes)
    for bound in flows:
        yield np.isin(numbers, bound.nodes)


def _turned(bound: Bound) -> Bound:
    """A bound on the problem run backwards, on turned links, as one on the problem."""
    name = {"ingress": "egress", "egress": "ingress"}.get(bound.name, bound.name)
    return replace(bound, name=name, text=f"run backwards on turned links: {bound.text}")


def _backwards(problem: Problem) -> Problem:
    """The problem whose schedules, run backwards, solve this one, where every chunk has one way."""
    collective = problem.collective
    other = {**MIRRORED, "scatter": "gather"}.get(collective.kind, collective.kind)
    return replace(problem, graph=problem.graph.transposed, collective=collective.renamed(other))
