"""Recorded steps for tests: by hand from short rows, and drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from dse.simulation.recorded.step import Communication, Lane, NodeKind, RecordedStep


@dataclass(frozen=True)
class Row:
    """A node for `step_of`: `before` counts nodes of its own rank from 0."""

    name: str
    duration_ns: int
    gap_ns: int = 0
    lane: str = "main"
    before: tuple[int, ...] = ()
    communication: int = -1
    kind: NodeKind = NodeKind.HOST
    waits: bool = True


def step_of(
    *ranks: Sequence[Row],
    communications: Sequence[tuple[str, int, tuple[int, ...]]] = (),
    world_size: int | None = None,
    numbers: Sequence[int] | None = None,
) -> RecordedStep:
    """Return the step of some ranks: `communications` have kind, bytes and members; `numbers` name the ranks.

    Lanes whose name begins with `stream` are those of a device. The measured times are those of the replay.
    """
    numbers = tuple(numbers or range(len(ranks)))
    rows = [row for rank in ranks for row in rank]
    names = sorted({row.name for row in rows})
    first = np.cumsum([0, *map(len, ranks)])
    pairs = [(rank, row.lane) for rank, own in zip(numbers, ranks, strict=True) for row in own]
    lanes = sorted(set(pairs))
    edges = [[first[rank] + other for other in row.before] for rank, own in enumerate(ranks) for row in own]
    nodes = [
        tuple(node for node, row in enumerate(rows) if row.communication == number)
        for number in range(len(communications))
    ]
    step = RecordedStep(
        world_size=world_size or len(ranks),
        ranks=numbers,
        rank_first=first.astype(np.int64),
        names=tuple(names),
        name=np.array([names.index(row.name) for row in rows], dtype=np.int32),
        kind=np.array([row.kind for row in rows], dtype=np.uint8),
        lanes=tuple(Lane(rank, name, name.startswith("stream")) for rank, name in lanes),
        lane=np.array([lanes.index(pair) for pair in pairs], dtype=np.int32),
        start_ns=np.zeros(len(rows), dtype=np.int64),
        duration_ns=np.array([row.duration_ns for row in rows], dtype=np.int64),
        gap_ns=np.array([row.gap_ns for row in rows], dtype=np.int64),
        before_first=np.cumsum([0, *map(len, edges)]).astype(np.int64),
        before=np.array([other for row in edges for other in row], dtype=np.int64),
        communication=np.array([row.communication for row in rows], dtype=np.int32),
        waits=np.array([row.waits and row.communication >= 0 for row in rows], dtype=np.bool_),
        communications=tuple(
            Communication(kind, size, f"group{'_'.join(map(str, members))}", members, own)
            for (kind, size, members), own in zip(communications, nodes, strict=True)
        ),
        measured_ns=np.zeros(len(ranks), dtype=np.int64),
        clocks_agree=True,
        notes=(),
    )
    return measured(step)


def measured(step: RecordedStep) -> RecordedStep:
    """Return the step with the starts and ends of its replay as the measured ones."""
    from dse.simulation.recorded.replay import replayed

    played = replayed(step)
    return replace(step, start_ns=np.array(played.start_ns), measured_ns=played.rank_end_ns)


def two_ranks(late_ns: int = 9) -> RecordedStep:
    """Two ranks with work and an all-reduce of 8 bytes, for which the second rank is late."""
    return step_of(
        [
            Row("aten::mm", 5, gap_ns=1),
            Row("gloo:all_reduce", 7, **_reduces(0)),
            Row("aten::add_", 2, before=(1,)),
        ],
        [
            Row("aten::mm", late_ns),
            Row("gloo:all_reduce", 7, gap_ns=2, **_reduces(0)),
            Row("aten::add_", 2, before=(1,)),
        ],
        communications=[("all_reduce", 8, (0, 1))],
    )


def _reduces(before: int) -> dict[str, object]:
    return {"lane": "gloo", "before": (before,), "communication": 0, "kind": NodeKind.COLLECTIVE}


_NAMES = ("aten::mm", "aten::add_", "aten::gelu", "Optimizer.step#SGD.step", "aten::copy_", "aten::view")


@st.composite
def steps(draw: st.DrawFn, *, in_order: bool = True) -> RecordedStep:
    """A step of one to four ranks. `in_order`: communications are in one order, so that it ends."""
    ranks = draw(st.integers(1, 4))
    communications, wanted = [], [[] for _ in range(ranks)]
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["all_reduce", "all_gather", "reduce_scatter", "barrier", "message"]))
        members = tuple(sorted(draw(st.sets(st.integers(0, ranks - 1), min_size=1, max_size=ranks))))
        if kind == "message":
            if ranks == 1:
                continue
            members = tuple(draw(st.permutations(range(ranks)))[:2])
        for place, member in enumerate(members):
            wanted[member].append((len(communications), kind, place))
        size = 0 if kind == "barrier" else draw(st.integers(1, 10**6))
        communications.append((kind, size, members))
    rows = [draw(_rows(own if in_order else draw(st.permutations(own)))) for own in wanted]
    return step_of(*rows, communications=communications)


@st.composite
def _rows(draw: st.DrawFn, wanted: Sequence[tuple[int, str, int]]) -> list[Row]:
    """The nodes of a rank: its communications in the given order, with work between them."""
    rows: list[Row] = []
    device = draw(st.booleans())
    lanes = ["main", "stream 7"] if device else ["main", "autograd"]
    for communication in [*wanted, None]:
        for _ in range(draw(st.integers(0, 3))):
            lane = draw(st.sampled_from(lanes))
            kind = NodeKind.KERNEL if lane.startswith("stream") else NodeKind.HOST
            rows.append(_row(draw, len(rows), name=draw(st.sampled_from(_NAMES)), lane=lane, kind=kind))
        if communication is not None:
            number, name, place = communication
            kind = NodeKind.COLLECTIVE
            if name == "message":
                kind = NodeKind.RECEIVE if place else NodeKind.SEND
            waits = kind != NodeKind.SEND or draw(st.booleans())
            lane = draw(st.sampled_from([*lanes, "comm"]))
            rows.append(
                _row(draw, len(rows), name=name, lane=lane, kind=kind, communication=number, waits=waits)
            )
    return rows


def _row(draw: st.DrawFn, place: int, **fields: object) -> Row:
    times = st.integers(0, 1000)
    before = draw(st.sets(st.integers(0, place - 1), max_size=2)) if place else set()
    return Row(duration_ns=draw(times), gap_ns=draw(times), before=tuple(sorted(before)), **fields)  # type: ignore[arg-type]
