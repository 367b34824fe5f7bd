"""Lower bounds from weights of links: all deliveries that are needed weigh at least as much as they must.

Any weights give a bound. Let the deliveries of every schedule weigh W or more in all. By T a link of
weight w has made n(T) deliveries at most, none before the first chunk can be at its start, and none that
comes too late to go on. So the sum of w n(T) is at least W, and the least such T is a bound. Weight 1 on
the links into a set of nodes gives a cut, the time that each link is held the load of all of them.

**Ways.** Where a chunk is copied nowhere, its deliveries are a way from a holder to the NPU that wants it,
which weighs at least what the lightest way does. The best weights are the prices of the flow program: chunks
as flows from where they are to where they are wanted, in the least time by which no link has to carry more
than it can (Shahrokhi and Matula 1990). The bound is worked out from the weights alone, in whole numbers: it
needs no trust in the solver.
"""

from __future__ import annotations

from collections.abc import Iterator

from dse.base.lazy import NDArray, is_installed, np, solvers
from dse.collectives.bounds.view import NEVER, Bound, Strongest, View
from dse.collectives.problem.collective import CUSTOM

# Lightest ways are looked for if they take no more steps than this.
MOST_STEPS = 20_000_000
# A flow program has a variable for each sender and link; so many take a second or two.
MOST_FLOWS = 30_000
_SECONDS_OF_PROGRAM = 60.0
# Prices are ratios of small numbers more often than not; rounded to such a ratio they lose nothing.
_SCALES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 60, 2520, 1 << 20)
_MOST_WEIGHT = 1 << 62


def ways_bound(view: View) -> Iterator[Bound]:
    """The strongest bound of weights of links where every chunk has a way of its own; nothing elsewhere."""
    collective = view.problem.collective
    if collective.everyone_wants_all or collective.is_reducing:
        return
    if not len(view.problem.graph) or view.deadline.is_over:
        return
    held = np.maximum(view.problem.held_ps, 1)
    strongest, best = Strongest("ways"), None
    for weights in (held // np.gcd.reduce(held), *_prices(view)):
        need = weight_of_ways(view, weights)
        if view.deadline.is_over:
            break
        if strongest.raised_to(time_of_weights(view, weights, need)):
            best = Bound("ways", strongest.time_ps, (), _text(weights, need), weights=tuple(weights.tolist()))
    if best is not None:
        yield best


def _text(weights: NDArray[np.int64], need: int) -> str:
    used = int((weights > 0).sum())
    return f"the lightest ways of all chunks weigh {need} in all, over {used} links that weigh something"


def time_of_weights(view: View, weights: NDArray[np.int64], need: int) -> int:
    """When deliveries can weigh so much; 0 if the numbers are too large."""
    problem, graph = view.problem, view.problem.graph
    start, tail = view.first_ps[graph.sources], view.last_ps[graph.destinations]
    used = (weights > 0) & (start < NEVER) & (tail < NEVER)
    if not 0 < need < _MOST_WEIGHT:
        return 0
    no_limit = np.full(int(used.sum()), NEVER)
    columns = ((start + tail)[used], problem.arrival_ps[used], problem.held_ps[used], weights[used], no_limit)
    return solvers.entry_bounds(np.zeros(len(no_limit), dtype=np.int64), *columns, 1, need)[0]


def weight_of_ways(view: View, weights: NDArray[np.int64]) -> int:
    """Return the weight of the lightest ways of all chunks; 0 where that takes too long."""
    collective, graph = view.problem.collective, view.problem.graph
    k, root, npus = collective.chunks_per_npu, collective.root, collective.npus
    links = view.weighed(weights)
    if collective.name in ("scatter", "gather"):
        return k * _sum(view.ways_from(links, root, towards=collective.name == "gather"))
    if collective.name != CUSTOM:
        sources = [0] if view.group is not None else range(npus)
        if len(sources) * len(graph) > MOST_STEPS:
            return 0
        return k * npus // len(sources) * sum(_sum(view.ways_from(links, npu)) for npu in sources)
    demand = view.needs.demand
    if demand is not None:
        senders = np.flatnonzero(demand.any(axis=1)).tolist()
        return sum(_sum(demand[npu] * view.ways_from(links, npu)) for npu in senders)
    if len(view.needs.ways) * len(graph) > MOST_STEPS:
        return 0
    total = 0
    for holders, wanting, chunks in view.needs.ways:
        ways = links.distances(holders)[wanting]
        total += chunks * int(ways[ways < NEVER].max(initial=0))
    return total


def _sum(column: NDArray[np.int64]) -> int:
    return int(column.sum())


def _prices(view: View) -> Iterator[NDArray[np.int64]]:
    """Weights near the prices of the flow program, where that is small and there is a solver.

    Where all NPUs are alike the mean of a solution over all translations is one too: the flows of one NPU
    say all, and links of a generator have one price.
    """
    demand, graph, group = view.needs.demand, view.problem.graph, view.group
    if demand is None or not is_installed("highspy"):
        return
    senders = [0] if group is not None else np.flatnonzero(demand.any(axis=1)).tolist()
    if len(graph) * len(senders) > MOST_FLOWS:
        return
    class_of = np.arange(len(graph))
    if group is not None:
        class_of[group.link_of] = np.arange(len(group.generators))
    prices = _least_congestion(view, demand, senders, class_of)
    if prices is not None:
        yield from whole_weights(prices[class_of], view.problem.held_ps)


def whole_weights(prices: NDArray[np.float64], held_ps: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Weights of a delivery in whole numbers that are near prices per ps of a link, by several scales."""
    held = np.maximum(held_ps, 1)
    held = held // np.gcd.reduce(held)
    shares = np.maximum(prices, 0) / max(float(prices.max()), 1e-30)
    for scale in _SCALES:
        if scale < (1 << 40) // int(held.max()) and (shares > 0).any():
            weights = np.round(shares * scale).astype(np.int64) * held
            yield weights // np.gcd.reduce(weights)


def _least_congestion(
    view: View, demand: NDArray[np.int64], senders: list[int], class_of: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Per class of links its price in the flow program: by how much less load on it speeds up the whole."""
    from dse.base.linear_programs import Program

    problem, graph = view.problem, view.problem.graph
    start, tail = view.first_ps[graph.sources], view.last_ps[graph.destinations]
    is_used = (start < NEVER) & (tail < NEVER)
    unit = float(problem.held_ps.max(initial=1))
    ends = list(zip(graph.sources.tolist(), graph.destinations.tolist(), strict=True))
    classes = class_of.tolist()
    program = Program()
    time = program.amount(cost=1)
    loads: list[list[tuple[int, float]]] = [[(time, -1.0)] for _ in range(1 + max(classes))]
    waits = [0.0] * len(loads)
    for sender in senders:
        balance: list[list[tuple[int, float]]] = [[] for _ in range(graph.nodes)]
        for link, (there, here) in enumerate(ends):
            if here == sender or not is_used[link]:
                continue
            flow = program.amount()
            balance[here].append((flow, 1.0))
            balance[there].append((flow, -1.0))
            loads[classes[link]].append((flow, problem.held_ps[link] / unit))
            wait = start[link] + tail[link] + problem.arrival_ps[link] - problem.held_ps[link]
            waits[classes[link]] = float(wait) / unit
        for node, terms in enumerate(balance):
            if node != sender:
                program.row(terms, demand[sender, node], demand[sender, node])
    rows = [program.row(load, most=-wait) for load, wait in zip(loads, waits, strict=True)]
    found = program.minimised(view.deadline, _SECONDS_OF_PROGRAM)
    return None if found is None else -found.duals[rows]
