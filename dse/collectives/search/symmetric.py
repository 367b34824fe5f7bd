"""Schedules that look the same from every NPU: the sends of NPU 0's chunks, and all others by translation."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

from dse.base.lazy import NDArray, np
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.kept import KeptSchedule
from dse.inputs.networks.translations import Translations


@dataclass(frozen=True, eq=False)
class BaseSends:
    """The sends of NPU 0's chunks, arrays of one length: over a generator, from a node, of a chunk, when.

    `reduce` says whether a send adds to what is there, as in `Schedule`.
    """

    generator: NDArray[np.int32]
    node: NDArray[np.int32]
    chunk: NDArray[np.int32]
    start_ps: NDArray[np.int64]
    reduce: NDArray[np.bool_]


class SymmetricSchedule(KeptSchedule):
    """A schedule kept as its base.

    What NPU s owns crosses link u + s → u + s + g when what NPU 0 owns crosses u → u + g. A generator
    carries one chunk at a time in the base, and different s use different links then, so no link is used
    twice at a time (docs/synthesis.md). `group` has the translations of the links. Of a reducing collective
    NPU 0 owns the chunks whose sums are complete there first.
    """

    group: Translations
    base: BaseSends

    def __init__(self, problem: Problem, group: Translations, base: BaseSends) -> None:
        for name, value in (("problem", problem), ("group", group), ("base", base)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """How many sends there are, of all sources."""
        return len(self.base.node) * self.problem.graph.npus

    @cached_property
    def time_ps(self) -> int:
        """When the last send has arrived; 0 without sends."""
        arrival = self.problem.times_of_kinds[self.group.kind_of, 0]
        ends = self.base.start_ps + arrival[self.base.generator]
        return int(ends.max()) if len(ends) else 0

    @cached_property
    def held_ps(self) -> int:
        """For how many ps links are held, all together."""
        held = self.problem.times_of_kinds[self.group.kind_of, 1]
        return int(held[self.base.generator].sum()) * self.problem.graph.npus

    @property
    def says_all(self) -> str:
        """Words for people about the part that is kept instead of all sends."""
        return f"its base of {len(self.base.node)} sends says all"

    def _listed(self) -> Schedule:
        graph, collective = self.problem.graph, self.problem.collective
        sources = np.arange(graph.npus, dtype=np.int64)
        rank = np.unique(self.base.start_ps, return_inverse=True)[1].astype(np.int64)
        nodes = self.group.add(self.base.node.astype(np.int64)[:, None], sources[None, :])
        link = self.group.link_of[nodes, self.base.generator[:, None]]
        chunk = self.base.chunk.astype(np.int64)[:, None]
        if collective.name == "all_to_all":
            pairs = graph.npus * graph.npus
            chunk = (
                chunk // pairs * pairs + sources * graph.npus + self.group.add(chunk % graph.npus, sources)
            )
        else:
            chunk = chunk + sources
        order = np.argsort((rank[:, None] * len(graph) + link).ravel(), kind="stable")
        return Schedule(
            self.problem,
            link.ravel()[order],
            chunk.astype(np.int32).ravel()[order],
            np.repeat(self.base.start_ps, graph.npus)[order],
            np.repeat(self.base.reduce, graph.npus)[order],
        )

    def mirrored(self, problem: Problem) -> Schedule:
        """Return it run backwards on turned links, also by its base: see Schedule.mirrored.

        `problem` may have the same links, if each has one of its kind in the other direction.
        """
        group = problem.graph.translations
        if group is None:
            return self.expand().mirrored(problem)
        zero = np.zeros(1, dtype=np.int64)
        turned = np.searchsorted(group.generators, self.group.add(zero, self.group.generators, sign=-1))
        there = self.group.add(self.base.node.astype(np.int64), self.group.generators[self.base.generator])
        arrival = self.problem.times_of_kinds[self.group.kind_of, 0][self.base.generator]
        base = BaseSends(
            turned[self.base.generator].astype(np.int32),
            there.astype(np.int32),
            self.base.chunk,
            self.time_ps - self.base.start_ps - arrival,
            np.full(len(arrival), problem.collective.is_reducing),
        )
        return SymmetricSchedule(problem, group, base)

    def then_gathered(self, problem: Problem, gathered: Schedule) -> SymmetricSchedule:
        """Return this and then, behind a barrier, an all-gather: see KeptSchedule.then_gathered."""
        assert isinstance(gathered, SymmetricSchedule)
        later = replace(gathered.base, start_ps=gathered.base.start_ps + self.time_ps)
        names = [column.name for column in fields(BaseSends)]
        columns = [np.concatenate([getattr(self.base, name), getattr(later, name)]) for name in names]
        return SymmetricSchedule(problem, self.group, BaseSends(*columns))
