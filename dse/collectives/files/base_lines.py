"""A symmetric schedule as JSON lines of its base: the sends of NPU 0's chunks, translated for all others."""

from __future__ import annotations

from collections.abc import Iterator

from dse.collectives.files.content import problem_to_json, to_json_text
from dse.collectives.search.symmetric import SymmetricSchedule


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
