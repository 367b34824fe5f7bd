"""Whether the base of a symmetric schedule is right; by translation all other sends then are.

Whether the waves of a schedule on a mesh are right, each by itself and all together on the links.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.base.lazy import NDArray, np
from dse.collectives.check.checker import check
from dse.collectives.check.verdict import InvalidSchedule, require_valid
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.mesh import NOT_SENT, MeshSchedule, Wave
from dse.collectives.search.reductions import turned_links
from dse.collectives.search.symmetric import SymmetricSchedule

_NEVER = (1 << 63) - 1


def checked(schedule: Schedule, synthesizer: str) -> str:
    """Check a schedule that a synthesizer made; return what of it was checked: all sends, its base or rule.

    Raises:
        InvalidSchedule: it breaks a rule; names the synthesizer.
    """
    if not schedule.can_be_listed:
        if isinstance(schedule, MeshSchedule):
            kept, violations = "rule", wave_violations(schedule)
        else:
            assert isinstance(schedule, SymmetricSchedule)
            kept, violations = "base", base_violations(schedule)
        if violations:
            raise InvalidSchedule(f"the {kept} of the schedule of {synthesizer} is invalid: {violations[0]}")
        return kept
    require_valid(check(schedule), synthesizer)
    return "all sends"


def base_violations(schedule: SymmetricSchedule) -> list[str]:
    """Return what is wrong with the sends of NPU 0's chunks, one text per rule that is broken.

    A generator carries one chunk at a time; nothing leaves before it is there; every NPU adds to each sum
    once; every NPU that wants a chunk of NPU 0 gets it. A translation by s maps these sends to those of NPU
    s, and the link of a generator at u to that at u + s: over one link go sends of different s at the times
    of one generator (see `SymmetricSchedule`).
    """
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
    sends = _Placed(
        base.node.astype(np.int64) * per_npu + number,
        there * per_npu + number,
        base.start_ps,
        base.start_ps + arrival_ps[base.generator],
    )
    complete_ps = np.zeros(npus * per_npu, dtype=np.int64)
    if problem.collective.is_reducing:
        complete_ps, broken = _sums(sends.only(base.reduce), npus * per_npu, per_npu)
        found += broken
    elif base.reduce.any():
        found.append("rule 5: `reduce` where nothing is added")
    copies = sends.only(~base.reduce)
    at_ps = np.full(npus * per_npu, _NEVER)
    at_ps[:per_npu] = complete_ps[:per_npu]
    np.minimum.at(at_ps, copies.to, copies.end_ps)
    if (copies.start_ps < at_ps[copies.place]).any() or (start < 0).any():
        found.append("rule 3: a chunk leaves before it is there")
    if problem.collective.everyone_wants_all and (at_ps == _NEVER).any():
        found.append("rule 4: an NPU never gets a chunk of NPU 0")
    return found


@dataclass(frozen=True, eq=False)
class _Placed:
    """Sends from a place to another: a place is an NPU's share of one chunk."""

    place: NDArray[np.int64]
    to: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    end_ps: NDArray[np.int64]

    def only(self, mask: NDArray[np.bool_]) -> _Placed:
        return _Placed(self.place[mask], self.to[mask], self.start_ps[mask], self.end_ps[mask])


def _sums(sends: _Placed, places: int, roots: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return per place when all that is sent to it is added, and what is wrong.

    Every place but the first `roots` sends on once, after all that comes to it. As a send takes some time, no
    way leads back to where it began, so all ways end at a root, and each NPU's share is in its sum once.
    """
    complete_ps = np.zeros(places, dtype=np.int64)
    np.maximum.at(complete_ps, sends.to, sends.end_ps)
    found = []
    if (sends.start_ps < complete_ps[sends.place]).any() or (sends.end_ps <= sends.start_ps).any():
        found.append("rule 5: a sum leaves before all is added to it")
    counts = np.bincount(sends.place, minlength=places)
    if (counts[:roots] != 0).any() or (counts[roots:] != 1).any():
        found.append("rule 5: an NPU does not add to a sum of NPU 0 exactly once")
    return complete_ps, found


def wave_violations(schedule: MeshSchedule) -> list[str]:
    """Return what is wrong, one text per rule that is broken.

    The engine makes the sends of each wave once more, and looks whether each chunk comes to each NPU but its
    owner once, over a link that is free, from where it is. Run backwards such a tree adds each contribution
    once. On every link what is gathered of a wave must end before what is summed of the next begins.
    """
    found = []
    if not _links_are_right(schedule):
        found.append("rule 1: a way of the mesh is over no link of its node, or one of another kind")
    of_waves = sum((wave.first != NOT_SENT).astype(np.int64) for wave in schedule.waves)
    if len(of_waves) != schedule.problem.collective.chunks or (of_waves != 1).any():
        found.append("rule 4: a chunk is not of exactly one wave")
    for wave in schedule.waves:
        planned = wave.gather()
        broken = planned.violation(None)
        is_told = np.array_equal(planned.last_starts_ps(), wave.last_starts_ps)
        if planned.time_ps != wave.time_ps or not is_told:
            broken = "rule 1: a wave takes other times than it tells"
        if broken:
            found.append(broken)
    if found:
        return found
    free_ps = np.zeros(len(schedule.problem.graph), dtype=np.int64)
    for wave in schedule.waves:
        gathers_ps, sums_ps = _link_times(schedule, wave)
        if schedule.sums and (wave.at_ps - sums_ps < free_ps)[sums_ps > 0].any():
            found.append("rule 2: a sum is sent before 0, or while a link carries another wave")
        if schedule.gathers:
            if not schedule.sums and (wave.at_ps < free_ps).any():
                found.append("rule 2: a link carries two waves at a time")
            free_ps = np.where(gathers_ps > 0, wave.at_ps + gathers_ps, np.maximum(free_ps, wave.at_ps))
        else:
            free_ps = np.full_like(free_ps, wave.at_ps)
    return found


def _links_are_right(schedule: MeshSchedule) -> bool:
    graph, mesh = schedule.problem.graph, schedule.mesh
    nodes = np.arange(graph.nodes)
    for dimension, (size, stride) in enumerate(zip(mesh.sizes, mesh.strides, strict=True)):
        digits = nodes // stride % size
        for way, step, inside in (
            (2 * dimension, stride, digits < size - 1),
            (2 * dimension + 1, -stride, digits > 0),
        ):
            links = mesh.link_of[way, inside]
            ends = (graph.sources[links] == nodes[inside]) & (
                graph.destinations[links] == nodes[inside] + step
            )
            if not ends.all() or (graph.kind_of[links] != mesh.kind_of[dimension]).any():
                return False
    return True


def _link_times(schedule: MeshSchedule, wave: Wave) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per link for how long after the moment of a wave it gathers, and for how long before that it sums."""
    problem, mesh = schedule.problem, schedule.mesh
    last = wave.last_starts_ps.reshape(mesh.link_of.shape)
    used = (mesh.link_of >= 0) & (last >= 0)
    links = mesh.link_of[used]
    gathers_ps = np.zeros(len(problem.graph), dtype=np.int64)
    gathers_ps[links] = last[used] + problem.held_ps[links]
    sums_ps = np.zeros_like(gathers_ps)
    turned = turned_links(problem)
    assert turned is not None
    sums_ps[turned[links]] = last[used] + problem.arrival_ps[links]
    return gathers_ps, sums_ps
