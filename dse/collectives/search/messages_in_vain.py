"""Messages in vain where some switches copy and others only pass messages on: each is left out whole."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from dse.collectives.files.steps import ordered_steps
from dse.collectives.problem.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Place = tuple[int, int]
"""A node that keeps chunks, and a chunk."""


def sends_needed(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which sends belong to messages that bring a chunk first to where it is wanted or sent on.

    A message goes from a node that keeps chunks to the next one, through switches that pass on the oldest.
    """
    import numpy as np

    graph, collective = schedule.problem.graph, schedule.problem.collective
    sources, targets = graph.sources[schedule.link].tolist(), graph.destinations[schedule.link].tolist()
    chunks = schedule.chunk.tolist()
    sends_of: list[list[int]] = []  # by message
    origins: list[Place] = []
    message_of = [-1] * len(schedule)
    waiting: defaultdict[Place, deque[int]] = defaultdict(deque)
    bringer: dict[Place, int] = dict.fromkeys(_places(collective.holdings()), -1)
    for step in ordered_steps(schedule):
        send, chunk = step.send, chunks[step.send]
        target = targets[send], chunk
        if step.arrives:
            if target[0] in graph.cannot_copy:
                waiting[target].append(message_of[send])
            else:
                bringer.setdefault(target, message_of[send])
            continue
        source = sources[send], chunk
        if source[0] in graph.cannot_copy:
            message_of[send] = waiting[source].popleft()
            sends_of[message_of[send]].append(send)
        else:
            message_of[send] = len(sends_of)
            sends_of.append([send])
            origins.append(source)
    needed = np.zeros(len(schedule), bool)
    open_places = _places(collective.wants())
    while open_places:
        message = bringer.pop(open_places.pop(), -1)
        if message >= 0:
            needed[sends_of[message]] = True
            open_places.append(origins[message])
    return needed


def _places(pair: tuple[NDArray[np.int32], NDArray[np.int32]]) -> list[Place]:
    nodes, chunks = pair
    return list(zip(nodes.tolist(), chunks.tolist(), strict=True))
