"""Whether the waves of a schedule on a mesh are right, each by itself and all together on the links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.base.cancellation import Cancellation
from dse.collectives.search.mesh import NOT_SENT, MeshSchedule, Wave
from dse.collectives.search.reductions import turned_links

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def wave_violations(schedule: MeshSchedule, cancellation: Cancellation | None = None) -> list[str]:
    """Return what is wrong, one text per rule that is broken.

    The engine makes the sends of each wave once more, and looks whether each chunk comes to each NPU but its
    owner once, over a link that is free, from where it is. Run backwards such a tree adds each contribution
    once. On every link what is gathered of a wave must end before what is summed of the next begins.
    """
    import numpy as np

    found = []
    if not _links_are_right(schedule):
        found.append("rule 1: a way of the mesh is over no link of its node, or one of another kind")
    of_waves = sum((wave.first != NOT_SENT).astype(np.int64) for wave in schedule.waves)
    if len(of_waves) != schedule.problem.collective.chunks or (of_waves != 1).any():
        found.append("rule 4: a chunk is not of exactly one wave")
    for wave in schedule.waves:
        planned = wave.gather()
        broken = planned.violation(cancellation)
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
    import numpy as np

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
    import numpy as np

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
