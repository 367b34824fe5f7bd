"""One-forward-one-backward pipelines of replicas by recursion: when each pass ends, without any engine.

Times are of any unit: floats of ms for closed forms, whole ns to equal the engine to the tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dse.planner.questions.simulation.network import RING_DELAY_NS


class Pass(NamedTuple):
    """A forward or backward pass of one micro-batch."""

    is_backward: bool
    micro_batch: int


class Hand(NamedTuple):
    """A message per micro-batch between replicas of neighbouring stages, and what each way takes."""

    stage: int
    source: int
    destination: int
    forward: float
    backward: float


@dataclass(frozen=True)
class Line:
    """Stages of replicas: what a pass takes on each, None for a replica that takes no samples."""

    forward: Sequence[Sequence[float | None]]
    backward: Sequence[Sequence[float | None]]
    hands: Sequence[Hand]
    micro_batches: int


@dataclass
class Ends:
    """When the last pass of each replica ends, and when its communication slot is free after that."""

    passes: list[list[float]]
    slots: list[list[float]]


def order_of(stage: int, stages: int, micro_batches: int) -> list[Pass]:
    """Return the passes of a stage: forward ones to fill the pipeline, then one of each, then the rest.

    As PipeDream-Flush; stage i of S, from 0, holds at most S - i micro-batches.
    """
    filled = min(stages - stage, micro_batches)
    passes = [Pass(False, batch) for batch in range(filled)]
    for batch in range(micro_batches):
        passes.append(Pass(True, batch))
        if batch + filled < micro_batches:
            passes.append(Pass(False, batch + filled))
    return passes


@dataclass
class _Replica:
    times: tuple[float, float]
    order: list[Pass]
    needs: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    gives: tuple[list[tuple[int, float]], list[tuple[int, float]]] = field(default_factory=lambda: ([], []))
    done: int = 0
    free: float = 0
    slot: float = 0


def run(line: Line, *, has_slots: bool = False) -> Ends:
    """Evaluate all passes: start = max(replica free, arrival of what it needs).

    A message leaves when its pass has ended and takes what its hand says; with slots a replica sends one
    message at a time, in the order in which they became ready.
    """
    replicas = _replicas(line)
    arrivals: dict[tuple[int, int], float] = {}
    waiting = [replica for row in replicas for replica in row if replica is not None]
    while waiting:
        ran = sum(_advance(replica, arrivals, has_slots) for replica in waiting)
        if not ran:
            raise RuntimeError("the pipeline of a plan waits for itself")
        waiting = [replica for replica in waiting if replica.done < len(replica.order)]
    return Ends(
        [[0 if replica is None else replica.free for replica in row] for row in replicas],
        [[0 if replica is None else replica.slot for replica in row] for row in replicas],
    )


def _replicas(line: Line) -> list[list[_Replica | None]]:
    stages = len(line.forward)
    made: list[list[_Replica | None]] = []
    for stage, (forward, backward) in enumerate(zip(line.forward, line.backward, strict=True)):
        order = order_of(stage, stages, line.micro_batches)
        made.append(
            [
                None if ahead is None or back is None else _Replica((ahead, back), order)
                for ahead, back in zip(forward, backward, strict=True)
            ]
        )
    for number, hand in enumerate(line.hands):
        sender, taker = made[hand.stage][hand.source], made[hand.stage + 1][hand.destination]
        assert sender is not None
        assert taker is not None
        sender.gives[0].append((2 * number, hand.forward))
        taker.needs[0].append(2 * number)
        taker.gives[1].append((2 * number + 1, hand.backward))
        sender.needs[1].append(2 * number + 1)
    return made


def _advance(replica: _Replica, arrivals: dict[tuple[int, int], float], has_slots: bool) -> int:
    """Run a replica as far as it comes; return how many passes that are."""
    order, free, slot = replica.order, replica.free, replica.slot
    done = replica.done
    while done < len(order):
        way, batch = order[done]
        start = free
        try:
            for hand in replica.needs[way]:
                start = max(start, arrivals[hand, batch])
        except KeyError:
            break
        free = start + replica.times[way]
        for hand, delay in replica.gives[way]:
            leaves = max(free, slot) if has_slots else free
            arrivals[hand, batch] = leaves + delay
            slot = max(slot, leaves + delay)
        done += 1
    ran = done - replica.done
    replica.done, replica.free, replica.slot = done, free, slot
    return ran


def ring_ends(starts: Sequence[float], wires: Sequence[float], delay: float = RING_DELAY_NS) -> list[float]:
    """Return when each member of a ring has all sums: 2 (n - 1) messages, each sent when the last has come.

    `wires[r]` is what a message from member r to the next takes, `delay` what handling one takes.
    """
    sent = [start + delay for start in starts]
    count = len(starts)
    for _ in range(2 * (count - 1)):
        sent = [max(sent[r], sent[r - 1] + wires[r - 1]) + delay for r in range(count)]
    return sent
