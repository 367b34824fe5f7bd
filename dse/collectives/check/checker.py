"""Checks of a schedule by rules 1 to 6 (docs/synthesis.md), which share no code with synthesizers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dse.base.lazy import NDArray, np
from dse.base.texts import counted
from dse.collectives.check.contributions import check_sums
from dse.collectives.check.passages import passages_of
from dse.collectives.check.verdict import Verdict, Violations
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.recorded_sends import SendTable, positions
from dse.collectives.problem.schedule import Schedule
from dse.inputs.networks.graph import LIMITS


def check(schedule: Schedule, *, most: int = 20) -> Verdict:
    """Return whether a schedule solves its problem, and its first `most` violations."""
    return check_sends(schedule.problem, SendTable.of(schedule), most=most)


def check_sends(problem: Problem, sends: SendTable, *, most: int = 20, slack_ps: int = 0) -> Verdict:
    """Return whether sends, as read from a file, solve a problem.

    Rule 1: links, chunks and times; 2: one chunk at a time on a link, and no more links at an
    NPU than it drives; 3: nothing is sent before it is there;
    4: everyone ends with what it wants; 5: each contribution once, and only whole sums are copied; 6: what
    cannot copy or add passes each message on as it came (`passages`). Sends that break rule 1 are left out of
    what follows. `slack_ps` is tolerated where a foreign file rounds.
    """
    found = Violations(sends, most)
    timed = _Timed.of(problem, sends)
    kept = timed.only(_on_links(problem, timed, found, slack_ps))
    _check_links(kept, found, slack_ps)
    for name in LIMITS:
        _check_engines(problem, kept, name, found, slack_ps)
    passages = passages_of(problem, sends, kept.rows, found, slack_ps)
    if problem.collective.is_reducing:
        check_sums(problem, sends, kept.rows, found, slack_ps, passages)
    else:
        _check_moves(problem, kept, found, slack_ps)
    return Verdict(len(sends), sends.time_ps, found.count, found.first())


@dataclass(frozen=True, eq=False)
class _Timed:
    """Some of the sends: their rows, links (-1: none), and what the links take."""

    sends: SendTable
    rows: NDArray[np.int64]
    link: NDArray[np.int64]
    arrival_ps: NDArray[np.int64]
    held_ps: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem, sends: SendTable) -> _Timed:
        graph, link = problem.graph, sends.links(problem)
        times = np.array([_times_ps(problem, kind) for kind in range(len(graph.kinds))], dtype=np.int64)
        per_link = times.reshape(-1, 2)[graph.kind_of]
        if problem.model.forwarding == "cut_through":
            _cut_through(problem, per_link)
        per_send = per_link[link] if len(graph) else np.zeros((len(sends), 2), dtype=np.int64)
        return cls(sends, np.arange(len(sends)), link, per_send[:, 0], per_send[:, 1])

    def only(self, mask: NDArray[np.bool_]) -> _Timed:
        columns = ("rows", "link", "arrival_ps", "held_ps")
        return replace(self, **{name: getattr(self, name)[mask] for name in columns})


def _times_ps(problem: Problem, number: int) -> tuple[int, int]:
    """Arrival and hold of a kind of link, by integers alone: another way than `LinkModel.times_ps`."""
    kind, model, size = problem.graph.kinds[number], problem.model, problem.chunk_bytes
    per_gb = 10**9 if model.gb == "1e9" else 2**30
    tick = 1 if model.clock == "ps" else 1000
    serial = size.numerator * 10**12 * kind.bandwidth_gbps.denominator
    below = size.denominator * kind.bandwidth_gbps.numerator * per_gb
    latency, under = kind.latency_ns.numerator * 1000, kind.latency_ns.denominator
    arrival = (latency * below + serial * under) // (under * below * tick) * tick
    return arrival, arrival if model.occupancy == "total" else serial // (below * tick) * tick


def _cut_through(problem: Problem, per_link: NDArray[np.int64]) -> None:
    """Links at switches: bytes hold them while they enter, and go on when the fastest does not run dry."""
    graph, model, size = problem.graph, problem.model, problem.chunk_bytes
    per_ps = (10**9 if model.gb == "1e9" else 2**30) / Fraction(10**12)
    tick = 1 if model.clock == "ps" else 1000
    at_switches = np.flatnonzero(np.maximum(graph.sources, graph.destinations) >= graph.npus).tolist()
    fastest: dict[int, Fraction] = {}
    for link in at_switches:
        gbps = graph.kinds[int(graph.kind_of[link])].bandwidth_gbps
        for node in (int(graph.sources[link]), int(graph.destinations[link])):
            fastest[node] = max(gbps, fastest.get(node, gbps))
    for link in at_switches:
        kind, node = graph.kinds[int(graph.kind_of[link])], int(graph.destinations[link])
        own, least = (
            int(size / (gbps * per_ps) // tick) * tick for gbps in (kind.bandwidth_gbps, fastest[node])
        )
        per_link[link, 1] = own
        if node >= graph.npus:
            per_link[link, 0] = int(kind.latency_ns * 1000 // tick) * tick + own - least


def _on_links(problem: Problem, timed: _Timed, found: Violations, slack_ps: int) -> NDArray[np.bool_]:
    """Rule 1; return which sends keep it."""
    sends, chunks = timed.sends, problem.collective.chunks
    took = sends.end_ps - sends.start_ps
    good = np.ones(len(sends), dtype=np.bool_)

    def require(holds: NDArray[np.bool_], otherwise: str) -> None:
        rows = np.flatnonzero(good & ~holds)
        found.add(1, rows, lambda i: otherwise.format(took=took[rows[i]], takes=timed.arrival_ps[rows[i]]))
        good[rows] = False

    require(timed.link >= 0, "there is no such link")
    require((sends.chunk >= 0) & (sends.chunk < chunks), f"there is no such chunk, only 0 to {chunks - 1}")
    require(sends.start_ps >= 0, "it starts before 0")
    require(abs(took - timed.arrival_ps) <= slack_ps, "it takes {took} ps, its link takes {takes} ps")
    return good


def _check_links(kept: _Timed, found: Violations, slack_ps: int) -> None:
    """Rule 2: all chunks hold a link equally long, so neighbours in order of start tell everything."""
    starts = kept.sends.start_ps[kept.rows]
    order = np.lexsort((starts, kept.link))
    first, second = order[:-1], order[1:]
    free_from = starts[first] + kept.held_ps[first]
    clash = (kept.link[first] == kept.link[second]) & (starts[second] < free_from - slack_ps)
    until = free_from[clash]
    found.add(
        2,
        kept.rows[second[clash]],
        lambda i: f"the link is busy until {until[i]} ps",
        others=kept.rows[first[clash]],
    )


def _check_engines(problem: Problem, kept: _Timed, name: str, found: Violations, slack_ps: int) -> None:
    """Rule 2 where NPUs drive few links: in order of time, no start makes them more than the limit."""
    limits = dict(getattr(problem.graph, name))
    sends, rows = kept.sends, kept.rows
    nodes = (sends.source if name == "max_sends" else sends.destination)[rows]
    for npu, most in limits.items():
        own = np.flatnonzero((nodes == npu) & (kept.held_ps > slack_ps))
        begins = sends.start_ps[rows[own]]
        if name == "max_receives":
            begins = sends.end_ps[rows[own]] - kept.held_ps[own]
        ends = begins + kept.held_ps[own] - slack_ps
        order = np.lexsort((rows[own], begins))
        driven = np.arange(1, len(own) + 1) - np.searchsorted(np.sort(ends), begins[order], side="right")
        found.add(2, rows[own[order[driven > most]]], partial(_too_many, name, npu, most))


def _too_many(name: str, npu: int, most: int, _: int) -> str:
    verb = "sends" if name == "max_sends" else "receives"
    return f"NPU {npu} {verb} over more than {counted(most, 'link', 'links')} at once"


def _check_moves(problem: Problem, kept: _Timed, found: Violations, slack_ps: int) -> None:
    """Rules 3 and 4 without sums: the first arrival of a chunk at a node counts."""
    sends, rows, chunks = kept.sends, kept.rows, max(problem.collective.chunks, 1)
    marked = rows[sends.reduce[rows]]
    found.add(5, marked, lambda _: f"`reduce` in {problem.collective.kind}, which adds nothing")
    nodes, holdings = problem.collective.holdings()
    at_first = nodes.astype(np.int64) * chunks + holdings
    places = np.concatenate([at_first, sends.destination[rows] * chunks + sends.chunk[rows]])
    times = np.concatenate([np.zeros(len(at_first), dtype=np.int64), sends.end_ps[rows]])
    bringer = np.concatenate([np.full(len(at_first), -1, dtype=np.int64), rows])
    order = np.lexsort((times, places))
    places, times, bringer = places[order], times[order], bringer[order]

    at, is_there = positions(places, sends.source[rows] * chunks + sends.chunk[rows])
    never = rows[~is_there]
    found.add(3, never, lambda i: f"{sends.source[never[i]]} never has the chunk")
    at, here = at[is_there], rows[is_there]
    early = times[at] > sends.start_ps[here] + slack_ps
    comes = times[at][early]
    found.add(3, here[early], lambda i: f"the chunk comes at {comes[i]} ps", others=bringer[at][early])

    npus, wanted = problem.collective.wants()
    lacking = np.flatnonzero(~positions(places, npus.astype(np.int64) * chunks + wanted)[1])
    found.add_missing(
        4, len(lacking), lambda i: f"NPU {npus[lacking[i]]} never gets chunk {wanted[lacking[i]]}"
    )
