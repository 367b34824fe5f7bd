"""A slow replay of a recorded step: sweeps over all nodes until none can begin any more."""

from __future__ import annotations

from dse.simulation.recorded.step import RecordedStep


def swept(step: RecordedStep) -> tuple[list[int], list[int], list[int]]:
    """Return when each node could begin, runs and ends; -1 for what never does."""
    count = step.node_count
    start, run, end = [-1] * count, [-1] * count, [-1] * count
    before = [_before(step, node) for node in range(count)]
    members: dict[int, list[int]] = {}
    for node, number in enumerate(step.communication.tolist()):
        members.setdefault(number, []).append(node)
    moved = True
    while moved:
        moved = False
        for node in range(count):
            number = int(step.communication[node])
            if start[node] < 0 and all(end[other] >= 0 for other in before[node]):
                start[node] = max([0, *[end[other] for other in before[node]]]) + int(step.gap_ns[node])
                moved = True
            others = members[number] if step.waits[node] and number >= 0 else [node]
            if run[node] < 0 and all(start[other] >= 0 for other in others):
                run[node] = max(start[other] for other in others)
                end[node] = run[node] + int(step.duration_ns[node])
                moved = True
    return start, run, end


def _before(step: RecordedStep, node: int) -> list[int]:
    listed = step.before[step.before_first[node] : step.before_first[node + 1]].tolist()
    same_lane = [other for other in range(node) if step.lane[other] == step.lane[node]]
    return listed + same_lane[-1:]
