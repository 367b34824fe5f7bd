"""Schedules on meshes whose sends follow from a rule: waves of chunks that take the dimensions in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from dse.base.cancellation import Cancellation
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.kept import KeptSchedule
from dse.inputs.networks.meshes import Mesh

# More take minutes to list and check one by one, and their rule some seconds.
MOST_LISTED_SENDS = 1 << 25
NOT_SENT = 255  # as the engine has it
_COUNTS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)  # of waves, each by half more than the one before


@dataclass(frozen=True, eq=False)
class Wave:
    """Chunks of an all-gather, and a moment: it begins then, and its reversal, a reduce-scatter, ends then.

    `first` has per chunk the dimension that it takes first, NOT_SENT where it is of another wave. `gather`
    plans the sends once more, as they may take a GB; it tells the time, the sends along each dimension and
    the last starts on links, by way and node.
    """

    first: NDArray[np.int32]
    at_ps: int
    gather: Callable[[], solvers.MeshGather]
    time_ps: int
    sends_along: NDArray[np.int64]
    last_starts_ps: NDArray[np.int64]

    @cached_property
    def sent(self) -> int:
        """How many chunks are of the wave."""
        return int((self.first != NOT_SENT).sum())


class MeshSchedule(KeptSchedule):
    """A schedule whose waves are each gathered by a rule (`MeshGather`), summed by its reversal, or both.

    `mesh` has the links. An all-gather or a reduce-scatter is one wave. In an all-reduce the chunks of a wave
    are summed until a moment, and gathered from it on, while those of the next are summed.
    """

    mesh: Mesh
    waves: tuple[Wave, ...]

    def __init__(self, problem: Problem, mesh: Mesh, waves: tuple[Wave, ...]) -> None:
        for name, value in (("problem", problem), ("mesh", mesh), ("waves", waves)):
            object.__setattr__(self, name, value)

    @property
    def sums(self) -> bool:
        """Whether waves are summed before their moments."""
        return self.problem.collective.is_reducing

    @property
    def gathers(self) -> bool:
        """Whether waves are gathered after their moments."""
        return self.problem.collective.everyone_wants_all

    def __len__(self) -> int:
        """How many sends there are."""
        npus = self.problem.graph.npus
        return (self.sums + self.gathers) * (npus - 1) * sum(wave.sent for wave in self.waves)

    @cached_property
    def time_ps(self) -> int:
        """When the last send has arrived."""
        return max(wave.at_ps + (wave.time_ps if self.gathers else 0) for wave in self.waves)

    @cached_property
    def held_ps(self) -> int:
        """For how many ps links are held, all together."""
        held = times_along(self.problem, self.mesh)[1]
        return (self.sums + self.gathers) * sum(int((wave.sends_along * held).sum()) for wave in self.waves)

    @property
    def most_sends(self) -> int:
        """How many sends can be listed one by one."""
        return MOST_LISTED_SENDS

    @property
    def says_all(self) -> str:
        """Words for people about the part that is kept instead of all sends."""
        return "the rule that makes them says all"

    def _listed(self) -> Schedule:
        parts = [part for wave in self.waves for part in self._sends(wave)]
        link, chunk, start_ps, reduce = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Schedule.of(self.problem, link, chunk, start_ps, reduce)

    def _sends(
        self, wave: Wave
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]]:
        way, node, chunk, start_ps = wave.gather().sends()
        if self.gathers:
            none = np.zeros(len(way), dtype=np.bool_)
            yield self.mesh.link_of[way, node], chunk, wave.at_ps + start_ps, none
        if self.sums:
            arrival = times_along(self.problem, self.mesh)[0][way // 2]
            there = node + np.array(self.mesh.strides)[way // 2] * np.where(way % 2, -1, 1)
            all_sums = np.ones(len(way), dtype=np.bool_)
            yield self.mesh.link_of[way ^ 1, there], chunk, wave.at_ps - start_ps - arrival, all_sums

    def mirrored(self, problem: Problem) -> Schedule:
        """Return it run backwards: see Schedule.mirrored. All links of a mesh have one the other way."""
        mesh = problem.graph.mesh
        if mesh is None:
            return self.expand().mirrored(problem)
        waves = tuple(replace(wave, at_ps=wave.time_ps) for wave in self.waves)
        return MeshSchedule(problem, mesh, waves)

    def then_gathered(self, problem: Problem, gathered: Schedule) -> MeshSchedule:  # noqa: ARG002 (the same)
        """Return the all-reduce with a barrier: see KeptSchedule.then_gathered."""
        return MeshSchedule(problem, self.mesh, self.waves)

    def overlapped(self, cancellation: Cancellation | None) -> MeshSchedule:
        """Return an all-reduce at least as fast, in waves: see KeptSchedule.overlapped.

        The number of waves grows while their first two promise a shorter time.
        """
        first = self.waves[0].first
        promised, best = self.time_ps, 1
        for count in _COUNTS:
            if count > self.problem.collective.chunks // 2:
                break
            now = _waves(self.problem, self.mesh, first, count, 2, cancellation)
            time_ps = now[1].at_ps * (count - 1) - now[0].at_ps * (count - 2) + now[1].time_ps
            if time_ps >= promised:
                break
            promised, best = time_ps, count
        if best == 1:
            return self
        waves = _waves(self.problem, self.mesh, first, best, best, cancellation)
        found = MeshSchedule(self.problem, self.mesh, waves)
        return found if found.time_ps < self.time_ps else self


def times_along(problem: Problem, mesh: Mesh) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return per dimension after how many ps a chunk arrives, and how long it holds a link."""
    times = problem.times_of_kinds[mesh.kind_of]
    return times[:, 0].copy(), times[:, 1].copy()


def gathered(
    problem: Problem, mesh: Mesh, first: NDArray[np.int32], cancellation: Cancellation | None
) -> Wave:
    """Return the all-gather of the chunks that have a first dimension, from 0 on."""
    sizes, times_ps = np.array(mesh.sizes, dtype=np.int64), times_along(problem, mesh)

    def plan() -> solvers.MeshGather:
        return solvers.MeshGather(sizes, times_ps, first, cancellation)

    made = plan()
    return Wave(first, 0, plan, made.time_ps, made.sends_along(), made.last_starts_ps())


def _waves(
    problem: Problem,
    mesh: Mesh,
    first: NDArray[np.int32],
    count: int,
    made: int,
    cancellation: Cancellation | None,
) -> tuple[Wave, ...]:
    """The first `made` of `count` waves of chunks, each with as many from everywhere."""
    chunks = np.arange(len(first))
    npus = problem.graph.npus
    step = _step(len(mesh.sizes) + 1)
    key = chunks // npus * step
    for place, (size, stride) in enumerate(zip(mesh.sizes, mesh.strides, strict=True)):
        key = key + chunks % npus // stride % size * step ** (place + 2)
    rank = np.argsort(np.argsort(key % 1.0, kind="stable"), kind="stable")
    waves: list[Wave] = []
    for number in range(made):
        of_wave = rank * count // len(first) == number
        wave = gathered(problem, mesh, np.where(of_wave, first, NOT_SENT).astype(np.int32), cancellation)
        at_ps = waves[-1].at_ps + spacing_ps(problem, mesh, waves[-1], wave) if waves else wave.time_ps
        waves.append(replace(wave, at_ps=at_ps))
    return tuple(waves)


def _step(count: int) -> float:
    """The step whose first `count` powers spread points evenly along as many axes (M. Roberts 2018)."""
    root = 1.0
    for _ in range(64):
        root = (1 + root) ** (1 / (count + 1))
    return 1 / root


def spacing_ps(problem: Problem, mesh: Mesh, before: Wave, after: Wave) -> int:
    """Return how long after the moment of a wave that of the next can be, so that no link has both at a time.

    A link carries what is gathered of the one until its last send, and what is summed of the other from so
    long before its moment on as the link of the other direction takes to gather that.
    """
    arrival, held = times_along(problem, mesh)
    last = before.last_starts_ps.reshape(len(mesh.sizes), 2, -1)
    other = after.last_starts_ps.reshape(len(mesh.sizes), 2, -1)
    most = 0
    for dimension, stride in enumerate(mesh.strides):
        gathers = np.where(last[dimension] >= 0, last[dimension] + held[dimension], 0)
        sums = np.where(other[dimension] >= 0, other[dimension] + arrival[dimension], 0)
        # The link up from node u is turned into that down from u + stride.
        up, down = gathers[0, : gathers.shape[1] - stride], gathers[1, stride:]
        turned_up, turned_down = sums[1, stride:], sums[0, : sums.shape[1] - stride]
        most = max(most, int((up + turned_up).max(initial=0)), int((down + turned_down).max(initial=0)))
    return most
