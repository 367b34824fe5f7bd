"""Whether the base of a symmetric all-gather is right; by translation all other sends then are."""

from __future__ import annotations

from dse.collectives.check.checker import check
from dse.collectives.check.verdict import InvalidSchedule, require_valid
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.symmetric import SymmetricSchedule


def checked(schedule: Schedule, synthesizer: str) -> str:
    """Check a schedule that a synthesizer made; return what of it was checked: all sends, or its base.

    Raises:
        InvalidSchedule: it breaks a rule; names the synthesizer.
    """
    if isinstance(schedule, SymmetricSchedule) and not schedule.can_be_listed:
        violations = base_violations(schedule)
        if violations:
            raise InvalidSchedule(f"the base of the schedule of {synthesizer} is invalid: {violations[0]}")
        return "base"
    require_valid(check(schedule), synthesizer)
    return "all sends"


def base_violations(schedule: SymmetricSchedule) -> list[str]:
    """Return what is wrong with the sends of what NPU 0 owns, one text per rule that is broken.

    A generator carries one chunk at a time; nothing leaves before it is there; every NPU gets every chunk of
    NPU 0. A translation by s maps these sends to those of NPU s, and the link of a generator at u to that at
    u + s: over one link go sends of different s at the times of one generator (see `SymmetricSchedule`).
    """
    import numpy as np

    problem, group, base = schedule.problem, schedule.group, schedule.base
    npus, per_npu = problem.graph.npus, problem.collective.chunks_per_npu
    arrival_ps, held_ps = problem.times_of_kinds[group.kind_of].T
    found = []
    order = np.lexsort((base.start_ps, base.generator))
    generator, start = base.generator[order], base.start_ps[order]
    free_ps = start + held_ps[generator]
    if ((generator[1:] == generator[:-1]) & (start[1:] < free_ps[:-1])).any():
        found.append("rule 2: a generator carries two chunks at a time")
    number = base.chunk.astype(np.int64) // npus
    there = group.add(base.node.astype(np.int64), group.generators[base.generator])
    linked = problem.graph.destinations[group.link_of[base.node, base.generator]]
    if (there != linked).any() or (base.chunk % npus).any() or (number >= per_npu).any():
        found.append("rule 1: a send is of no chunk of NPU 0, or over no link of its node")
        return found
    never = np.iinfo(np.int64).max
    at_ps = np.full(npus * per_npu, never)
    at_ps[:per_npu] = 0
    np.minimum.at(at_ps, there * per_npu + number, base.start_ps + arrival_ps[base.generator])
    if (base.start_ps < at_ps[base.node.astype(np.int64) * per_npu + number]).any() or (start < 0).any():
        found.append("rule 3: a chunk leaves before it is there")
    if (at_ps == never).any():
        found.append("rule 4: an NPU never gets a chunk of NPU 0")
    return found
