"""The recorded step of several ranks: measured rows become nodes with waits, durations and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.simulation.recorded.pytorch.matching import Match
from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.pytorch.works import Work
from dse.simulation.recorded.step import Communication, Lane, NodeKind, RecordedStep

_KINDS = {"send": NodeKind.SEND, "receive": NodeKind.RECEIVE}


class _Columns:
    """The columns of a `RecordedStep`, of the ranks so far."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.lanes: list[Lane] = []
        self.rank_first, self.before_first = [0], [0]
        self.name: list[int] = []
        self.kind: list[int] = []
        self.lane: list[int] = []
        self.start: list[int] = []
        self.duration: list[int] = []
        self.gap: list[int] = []
        self.before: list[int] = []
        self.number: dict[int, int] = {}  # of a node by the identity of its work


def assembled(
    ranks: Sequence[RecordedRank],
    matches: Sequence[Match],
    world_size: int,
    clocks_agree: bool,
) -> RecordedStep:
    """Return the step of ranks in ascending order; `clocks_agree` if their times can be compared."""
    origin = min(rank.step.begin_ns for rank in ranks)
    columns, measured = _Columns(), []
    timed = _timed(matches, clocks_agree)
    latest = _latest(matches, clocks_agree)
    for rank in ranks:
        begin = origin if clocks_agree else rank.step.begin_ns
        ends = _ends(rank, timed, latest)
        _add_rank(columns, rank, begin, ends, timed)
        measured.append(max(rank.step.end_ns, max(ends)) - begin)
    communication = np.full(len(columns.name), -1, np.int32)
    waits = np.zeros(len(columns.name), np.bool_)
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
        name=np.array(columns.name, np.int32),
        kind=np.array(columns.kind, np.uint8),
        lanes=tuple(columns.lanes),
        lane=np.array(columns.lane, np.int32),
        start_ns=np.array(columns.start, np.int64),
        duration_ns=np.array(columns.duration, np.int64),
        gap_ns=np.array(columns.gap, np.int64),
        before_first=np.array(columns.before_first, np.int64),
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
    that
    no thread watched ended when its other side saw it end.
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
    begin: int,
    ends: list[int],
    timed: Mapping[int, tuple[int, bool]],
) -> None:
    nodes = rank.nodes
    _add_lanes_of_messages(rank, ends)
    order = sorted(range(len(nodes.name)), key=lambda row: (nodes.begin[row], nodes.end[row]))
    first, first_lane = len(columns.name), len(columns.lanes)
    columns.lanes += [Lane(rank.rank, name, is_device) for name, is_device in nodes.lanes.items()]
    number_of = dict(zip(order, range(first, first + len(order)), strict=True))
    works = {work.row: work for work in rank.works}
    last: dict[int, int] = {}  # the end of the last row of a lane
    for row in order:
        ready = last.get(nodes.lane[row], begin)
        before = []
        for other in sorted(nodes.before.get(row, ())):
            if number_of[other] < number_of[row]:
                before.append(number_of[other])
                ready = max(ready, ends[other])
        work = works.get(row)
        duration = ends[row] - nodes.begin[row]
        if work is not None:
            duration = timed[id(work)][0]
            columns.number[id(work)] = number_of[row]
        columns.name.append(columns.names.setdefault(nodes.name[row], len(columns.names)))
        columns.kind.append(nodes.kind[row] if work is None else _KINDS.get(work.kind, NodeKind.COLLECTIVE))
        columns.lane.append(first_lane + nodes.lane[row])
        columns.start.append(nodes.begin[row] - begin)
        columns.duration.append(duration)
        columns.gap.append(max(0, nodes.begin[row] - ready))
        columns.before += before
        columns.before_first.append(len(columns.before))
        last[nodes.lane[row]] = max(ends[row], last.get(nodes.lane[row], ends[row]))
    columns.rank_first.append(len(columns.name))


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
