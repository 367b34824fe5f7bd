"""Links and NPUs that fail, at the start or later: what is left of a problem and of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.collectives.problem.collective import CUSTOM, Collective
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.inputs.networks import LinkGraph


@dataclass(frozen=True, eq=False)
class Failure:
    """From `at_ps` on the links of a mask are gone, and with `npus` all of theirs."""

    links: NDArray[np.bool_]
    npus: tuple[int, ...] = ()
    at_ps: int = 0

    @classmethod
    def of(
        cls,
        graph: LinkGraph,
        links: Sequence[tuple[int, int]] = (),
        npus: Sequence[int] = (),
        at_ps: int = 0,
    ) -> Failure:
        """Return the failure of directed links, given by their ends, all in parallel, and of NPUs.

        Raises:
            InputError: no such link or NPU, or a time below 0.
        """
        dead = np.zeros(len(graph), dtype=np.bool_)
        for pair in links:
            if pair not in graph.number_of:
                ends = np.unique(graph.destinations[graph.sources == pair[0]])
                near = f"; links from {pair[0]} lead to {', '.join(map(str, ends))}" if len(ends) else ""
                raise InputError(f"failed_links: the topology has no link from {pair[0]} to {pair[1]}{near}")
            dead |= (graph.sources == pair[0]) & (graph.destinations == pair[1])
        for npu in npus:
            if not 0 <= npu < graph.npus:
                raise InputError(f"failed_npus: {npu} is no NPU; allowed are 0 to {graph.npus - 1}")
            dead |= (graph.sources == npu) | (graph.destinations == npu)
        if at_ps < 0:
            raise InputError(f"failed_at_ps is {at_ps}; it must be 0 or later")
        return cls(dead, tuple(sorted(set(npus))), at_ps)

    @classmethod
    def parse(cls, graph: LinkGraph, links: str = "", npus: str = "", at_ps: int = 0) -> Failure:
        """Return the failure of texts such as `3-7,8-9` (both directions), `3>7` (one), and `4,5`.

        Raises:
            InputError: a text that is neither, or as `of`.
        """
        pairs: list[tuple[int, int]] = []
        for text in filter(None, (part.strip() for part in links.split(","))):
            sign = ">" if ">" in text else "-"
            ends = text.split(sign)
            if len(ends) != 2 or not all(end.strip().isdecimal() for end in ends):
                raise InputError(f"failed_links: '{text}' is no link; write 3-7, or 3>7 for one direction")
            pair = (int(ends[0]), int(ends[1]))
            turned = (pair[1], pair[0])
            both = sign == "-" and turned in graph.number_of
            pairs += [pair, turned] if both and pair in graph.number_of else [turned] if both else [pair]
        numbers = [part.strip() for part in npus.split(",") if part.strip()]
        for number in numbers:
            if not number.isdecimal():
                raise InputError(f"failed_npus: '{number}' is no NPU; allowed are 0 to {graph.npus - 1}")
        return cls.of(graph, pairs, [int(number) for number in numbers], at_ps)


class Holdings(NamedTuple):
    """The nodes that have each chunk, and from when on: three arrays of one length."""

    node: NDArray[np.int32]
    chunk: NDArray[np.int32]
    at_ps: NDArray[np.int64]


def holdings_after(schedule: Schedule, failure: Failure) -> Holdings:
    """Return what is there at first and what sends bring, on living nodes."""
    graph = schedule.problem.graph
    npus, chunks = schedule.problem.collective.holdings()
    node = np.concatenate((npus, graph.destinations[schedule.link]))
    chunk = np.concatenate((chunks, schedule.chunk))
    at_ps = np.concatenate((np.zeros(len(npus), dtype=np.int64), schedule.end_ps))
    alive = ~np.isin(node, failure.npus)
    return Holdings(node[alive], chunk[alive], at_ps[alive])


def surviving(schedule: Schedule, failure: Failure, freed: NDArray[np.bool_] | None = None) -> Schedule:
    """Return the sends that do not depend on what has failed, nor on those of a mask.

    A send over a dead link counts if it has arrived by `at_ps`. A send counts if its chunk was there at its
    start, or a send that counts had brought it.
    """
    problem = schedule.problem
    graph, chunks = problem.graph, problem.collective.chunks
    npus, held = problem.collective.holdings()
    there = dict.fromkeys((npus.astype(np.int64) * chunks + held).tolist(), 0)
    works = ~failure.links[schedule.link] | (schedule.end_ps <= failure.at_ps)
    if freed is not None:
        works &= ~freed
    leaves = graph.sources[schedule.link].astype(np.int64) * chunks + schedule.chunk
    enters = graph.destinations[schedule.link].astype(np.int64) * chunks + schedule.chunk
    columns = (works, leaves, enters, schedule.start_ps, schedule.end_ps)
    counts = []
    for work, source, goal, start, end in zip(*(column.tolist() for column in columns), strict=True):
        count = work and there.get(source, end + 1) <= start
        if count:
            there[goal] = min(end, there.get(goal, end))
        counts.append(count)
    return only(schedule, np.array(counts, dtype=np.bool_))


def only(schedule: Schedule, kept: NDArray[np.bool_]) -> Schedule:
    """Return some of the sends of a schedule."""
    link, chunk, start_ps = schedule.link[kept], schedule.chunk[kept], schedule.start_ps[kept]
    return Schedule(schedule.problem, link, chunk, start_ps, schedule.reduce[kept])


def lost_chunks(schedule: Schedule, failure: Failure) -> tuple[int, ...]:
    """The chunks that no living node has when NPUs die: they cannot be wanted any more."""
    there = holdings_after(surviving(schedule, failure), failure)
    held = there.chunk[there.at_ps <= failure.at_ps]
    _, chunks = schedule.problem.collective.holdings()
    return tuple(np.setdiff1d(chunks, held).tolist())


def lost_at_start(problem: Problem, failure: Failure) -> tuple[int, ...]:
    """The chunks that no living NPU has before anything is sent."""
    npus, chunks = problem.collective.holdings()
    return tuple(np.setdiff1d(chunks, chunks[~np.isin(npus, failure.npus)]).tolist())


def problem_after(problem: Problem, failure: Failure, lost: Sequence[int] = ()) -> Problem:
    """Return what living NPUs still want, on the same links: nothing for dead ones, and no lost chunk.

    The graph keeps all links, so that sends before the failure have theirs; `without_dead` takes them out.
    """
    if not failure.npus:
        return problem
    npus, chunks = problem.collective.wants()
    wanted = ~np.isin(npus, failure.npus) & ~np.isin(chunks, lost)
    holders, held = problem.collective.holdings()
    custom = Collective(
        CUSTOM,
        problem.graph.npus,
        preconditions=tuple(zip(holders.tolist(), held.tolist(), strict=True)),
        postconditions=tuple(zip(npus[wanted].tolist(), chunks[wanted].tolist(), strict=True)),
    )
    return replace(problem, collective=custom)


def without_dead(problem: Problem, failure: Failure) -> Problem:
    """Return a problem on the graph that is left."""
    return replace(problem, graph=problem.graph.without(failure.links))


def on_broken_graph(schedule: Schedule, failure: Failure) -> Schedule:
    """Return a schedule that uses no dead link on the graph that is left: for failures at the start.

    Raises:
        ValueError: it has a send over a dead link.
    """
    if failure.links[schedule.link].any():
        raise ValueError("a send is over a dead link")
    numbers = np.cumsum(~failure.links, dtype=np.int32) - 1
    link = numbers[schedule.link].astype(np.int32)
    return Schedule.of(
        without_dead(schedule.problem, failure), link, schedule.chunk, schedule.start_ps, schedule.reduce
    )
