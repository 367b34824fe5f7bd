"""The recorded step of several ranks: measured rows become nodes with waits, durations and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.base.lazy import NDArray
from dse.simulation.recorded.pytorch.matching import Match
from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.pytorch.works import Work
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import Communication, Lane, NodeKind, RecordedStep

_ROWS = ("name", "kind", "lane", "start", "duration", "gap")
_KINDS = {"send": NodeKind.SEND, "receive": NodeKind.RECEIVE}


class _Columns:
    """The columns of a `RecordedStep`, an array for each rank so far."""

    def __init__(self) -> None:
        self.count = 0
        self.names: dict[str, int] = {}
        self.lanes: list[Lane] = []
        self.rank_first = [0]
        self.parts: dict[str, list[NDArray[np.int64]]] = {key: [] for key in (*_ROWS, "before_count")}
        self.before: list[int] = []
        self.number: dict[int, int] = {}  # of a node by the identity of its work

    def column(self, key: str) -> NDArray[np.int64]:
        """Return a column of all ranks."""
        return np.concatenate(self.parts[key])


def assembled(
    ranks: Sequence[RecordedRank],
    matches: Sequence[Match],
    world_size: int,
    clocks_agree: bool,
    together: bool = False,
) -> RecordedStep:
    """Return the step of ranks in ascending order; `clocks_agree` if their times can be compared.

    Times count from the begin of the first rank. `together`: all ranks begin when the last one did.
    """
    begins = [rank.step.begin_ns for rank in ranks]
    origin = max(begins) if together else min(begins)
    columns, measured = _Columns(), []
    timed = _timed(matches, clocks_agree)
    latest = _latest(matches, clocks_agree)
    for rank in ranks:
        own = rank.step.begin_ns
        zero = origin if clocks_agree else own
        ends = _ends(rank, timed, latest)
        _add_rank(columns, rank, (own if together else zero, zero), ends, timed)
        measured.append(max(rank.step.end_ns, max(ends)) - zero)
    communication = np.full(columns.count, -1, np.int32)
    waits = np.zeros(columns.count, np.bool_)
    communications: list[Communication] = []
    for match in matches:
        numbers = sorted(columns.number[id(work)] for work in match.works.values())
        communication[numbers] = len(communications)
        communications.append(
            Communication(match.kind, match.size_bytes, match.group, match.members, tuple(numbers))
        )
        for work in match.works.values():
            waits[columns.number[id(work)]] = timed[id(work)][1]
    return RecordedStep(
        world_size=world_size,
        ranks=tuple(rank.rank for rank in ranks),
        rank_first=np.array(columns.rank_first, np.int64),
        names=tuple(columns.names),
        name=columns.column("name").astype(np.int32),
        kind=columns.column("kind").astype(np.uint8),
        lanes=tuple(columns.lanes),
        lane=columns.column("lane").astype(np.int32),
        start_ns=columns.column("start"),
        duration_ns=columns.column("duration"),
        gap_ns=columns.column("gap"),
        before_first=np.concatenate([[0], columns.column("before_count").cumsum()]),
        before=np.array(columns.before, np.int64),
        communication=communication,
        waits=waits,
        communications=tuple(communications),
        measured_ns=np.array(measured, np.int64),
        clocks_agree=clocks_agree,
        notes=(),
    )


def _timed(matches: Sequence[Match], clocks_agree: bool) -> dict[int, tuple[int, bool]]:
    """Return, by work, how long it lasts once the last member has begun, and whether it waits for that.

    A work that ended before another member began waited for no member: the root of a broadcast. A message
    that no thread watched ended when its other side saw it end.
    """
    timed: dict[int, tuple[int, bool]] = {}
    for match in matches:
        works = list(match.works.values())
        if not clocks_agree:
            shortest = min(work.end - work.begin for work in works)
            timed.update((id(work), (shortest, True)) for work in works)
            continue
        latest = max(work.begin for work in works)
        lasts = [work.end - latest for work in works]
        seen = [last for last in lasts if last >= 0]
        for work, last in zip(works, lasts, strict=True):
            if last < 0:
                timed[id(work)] = (work.end - work.begin, False)
            else:
                timed[id(work)] = (last if work.is_watched else min(seen), True)
    return timed


def _latest(matches: Sequence[Match], clocks_agree: bool) -> dict[int, int]:
    """Return, by work, when the last member began, on clocks that do not agree as if it began last itself."""
    latest = {}
    for match in matches:
        begin = max(work.begin for work in match.works.values())
        for work in match.works.values():
            own = work.end - min(other.end - other.begin for other in match.works.values())
            latest[id(work)] = begin if clocks_agree else own
    return latest


def _ends(rank: RecordedRank, timed: Mapping[int, tuple[int, bool]], latest: Mapping[int, int]) -> list[int]:
    """Return when the nodes of a rank ended: a message may have before a thread looked."""
    ends = list(rank.nodes.end)
    for work in rank.works:
        duration, is_waiting = timed[id(work)]
        ends[work.row] = (latest[id(work)] if is_waiting else work.begin) + duration
    return ends


def _add_rank(
    columns: _Columns,
    rank: RecordedRank,
    begin_and_zero: tuple[int, int],
    ends: list[int],
    timed: Mapping[int, tuple[int, bool]],
) -> None:
    """Add the nodes of a rank in the order of their begin; `ends` are as in `_ends`.

    Gaps count from the begin of the rank, starts from time zero of the step.
    """
    nodes, (begin, zero) = rank.nodes, begin_and_zero
    _add_lanes_of_messages(rank, ends)
    begins, end_of, lanes = (np.array(rows, np.int64) for rows in (nodes.begin, ends, nodes.lane))
    order = np.lexsort((np.array(nodes.end, np.int64), begins))
    number_of = np.empty_like(order)
    number_of[order] = np.arange(columns.count, columns.count + len(order))
    ready = _free_at(order, lanes, end_of, begin)
    counts = np.zeros(len(order), np.int64)
    for row in sorted(nodes.before, key=lambda row: int(number_of[row])):
        earlier = [other for other in nodes.before[row] if number_of[other] < number_of[row]]
        columns.before += sorted(int(number_of[other]) for other in earlier)
        counts[number_of[row] - columns.count] = len(earlier)
        ready[row] = max([ready[row], *(ends[other] for other in earlier)])
    durations, kinds = end_of - begins, np.array(nodes.kind, np.int64)
    for work in rank.works:
        durations[work.row] = timed[id(work)][0]
        kinds[work.row] = _KINDS.get(work.kind, NodeKind.COLLECTIVE)
        columns.number[id(work)] = int(number_of[work.row])
    numbers = [columns.names.setdefault(name, len(columns.names)) for name in nodes.name]
    gaps = np.maximum(0, begins - ready)
    lanes += len(columns.lanes)
    rows = (np.array(numbers, np.int64), kinds, lanes, np.maximum(0, begins - zero), durations, gaps)
    for key, values in zip(_ROWS, rows, strict=True):
        columns.parts[key].append(values[order])
    columns.parts["before_count"].append(counts)
    columns.lanes += [Lane(rank.rank, name, nodes.is_device[at]) for name, at in nodes.lanes.items()]
    columns.count += len(order)
    columns.rank_first.append(columns.count)


def _free_at(
    order: NDArray[np.int64], lanes: NDArray[np.int64], ends: NDArray[np.int64], begin: int
) -> NDArray[np.int64]:
    """Return, by row, when the row before it in its lane ended; `begin` for the first one."""
    free = np.full(len(order), begin, np.int64)
    in_lanes = order[np.argsort(lanes[order], kind="stable")]
    follows = lanes[in_lanes[1:]] == lanes[in_lanes[:-1]]
    free[in_lanes[1:][follows]] = ends[in_lanes[:-1][follows]]
    return free


def _add_lanes_of_messages(rank: RecordedRank, ends: Sequence[int]) -> None:
    """Put the messages to a rank into a lane, one after the other, or into several where they overlap."""
    free: dict[str, int] = {}
    for work in sorted(rank.works, key=lambda work: work.begin):
        if rank.nodes.lane[work.row] >= 0:
            continue
        name = _lane_name(work)
        copy = 1
        while free.get(f"{name} {copy}", work.begin) > work.begin:
            copy += 1
        free[f"{name} {copy}"] = ends[work.row]
        rank.nodes.lane[work.row] = rank.nodes.lane_of(name if copy == 1 else f"{name} ({copy})")


def _lane_name(work: Work) -> str:
    if not work.is_message:
        return "gloo"
    return f"send to rank {work.peer}" if work.kind == "send" else f"receive from rank {work.peer}"


_LEAST_DELAY_NS = 20_000
_LEAST_SHARE = 0.05
_MOST_ERROR = 0.01


def begun(
    ranks: Sequence[RecordedRank],
    matches: Sequence[Match],
    world_size: int,
    clocks_agree: bool,
    notes: list[str],
) -> RecordedStep:
    """Return the step of ranks that did not begin at the same time.

    Times count from the begin of the first rank. But steps follow each other, and the last stage of a
    pipeline ends early and begins early, to wait for the first stage: with that the step would seem too long.
    So times count from the begin of the last rank, if that was much later, and all ranks end when they did
    although they begin together.
    """
    step = assembled(ranks, matches, world_size, clocks_agree)
    begins = [rank.step.begin_ns for rank in ranks]
    delay_ns = max(begins) - min(begins)
    if not clocks_agree or delay_ns < _LEAST_DELAY_NS:
        return step
    late = ranks[begins.index(max(begins))].rank
    said = f"rank {late} began its step {delay_ns / 1e6:.3f} ms after the first rank"
    if delay_ns > _LEAST_SHARE * step.measured_ns.max():
        together = assembled(ranks, matches, world_size, clocks_agree, together=True)
        if together.measured_ns.min() > 0 and np.abs(replayed(together).errors).max() <= _MOST_ERROR:
            notes.append(f"{said}: all begin together with it, as the others only waited longer")
            return together
    notes.append(f"{said}: times are from the begin of the first one")
    return step
