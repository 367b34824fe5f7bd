"""Schedules of too many sends as JSON lines: the sends of NPU 0's chunks, or the rule of a mesh."""

from __future__ import annotations

from collections.abc import Iterator

from dse.collectives.files.content import problem_to_json, to_json_text
from dse.collectives.search.mesh import NOT_SENT, MeshSchedule
from dse.collectives.search.symmetric import SymmetricSchedule

_RULE = (
    "A chunk has a leg for each dimension: the first is that of its character, then the next, and so on"
    " round. In a leg it goes from every node that has it by legs before, at first its owner, along the line"
    " of the dimension both ways to the ends. Leg after leg is planned. A link takes chunks in the order in"
    " which they come to it, at equal times those along the line first, then the node's own, then those of"
    " earlier legs, upwards before downwards. A chunk waits until the link is free of others of this leg, and"
    " of all sends of legs before. A wave is gathered so from at_ps on. Sums are the same sends backwards in"
    " time on links of the other direction, and end at at_ps."
)


def base_lines(schedule: SymmetricSchedule) -> Iterator[str]:
    """Yield a line about the group and the problem, then one per send of NPU 0's chunks, by start.

    `sizes` are the dimensions of the group: a node is its digits, the first counts ones. What NPU s owns
    crosses src + s to dst + s, digit by digit without carry, at the same times; its chunk is chunk + s.
    Sends that add to what is there are marked with `reduce`, as in `schedule.jsonl`.
    """
    import numpy as np

    problem, group, base = schedule.problem, schedule.group, schedule.base
    about = {"sizes": list(group.sizes), "generators": group.generators.tolist()}
    yield to_json_text({"group": about, "problem": problem_to_json(problem)})
    order = np.lexsort((base.node, base.generator, base.start_ps))
    generator, node = base.generator[order], base.node[order]
    goal = group.add(node.astype(np.int64), group.generators[generator])
    start = base.start_ps[order]
    end = start + problem.times_of_kinds[group.kind_of, 0][generator]
    columns = (node, goal, base.chunk[order], start, end, base.reduce[order])
    for source, destination, chunk, first, last, adds in zip(*(c.tolist() for c in columns), strict=True):
        tail = f'"end_ps":{last}' + (',"reduce":true}' if adds else "}")
        yield f'{{"src":{source},"dst":{destination},"chunk":{chunk},"start_ps":{first},{tail}'


def rule_lines(schedule: MeshSchedule) -> Iterator[str]:
    """Yield a line about the mesh, the rule and the problem, then one per wave of chunks.

    `first` has a character per chunk: the dimension that it takes first, as a hexadecimal digit, or `.` where
    it is of another wave.
    """
    about = {"sizes": list(schedule.mesh.sizes), "sums": schedule.sums, "gathers": schedule.gathers}
    yield to_json_text({"mesh": about, "rule": _RULE, "problem": problem_to_json(schedule.problem)})
    for wave in schedule.waves:
        marks = "".join("." if first == NOT_SENT else f"{first:x}" for first in wave.first.tolist())
        yield to_json_text({"at_ps": wave.at_ps, "time_ps": wave.time_ps, "first": marks})
