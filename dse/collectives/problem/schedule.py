"""A schedule: which chunk crosses which link from when on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dse.base.lazy import NDArray, np
from dse.collectives.problem.problem import Problem

if TYPE_CHECKING:
    from dse.base.solvers import FoundSends

    Sends = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]


_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Schedule:
    """Sends as arrays of one length: `link` and `chunk` (int32), `start_ps` (int64), `reduce` (bool).

    A send of a reducing collective with `reduce` adds what it carries to what the receiver has of the chunk;
    without, it carries the complete sum.
    """

    problem: Problem
    link: NDArray[np.int32]
    chunk: NDArray[np.int32]
    start_ps: NDArray[np.int64]
    reduce: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        problem: Problem,
        link: NDArray[np.int32],
        chunk: NDArray[np.int32],
        start_ps: NDArray[np.int64],
        reduce: NDArray[np.bool_] | bool = False,
    ) -> Schedule:
        """Return the schedule of sends in any order; its columns are sorted by start, link and chunk."""
        marks = np.broadcast_to(np.asarray(reduce, dtype=np.bool_), np.shape(link))
        return _UnsortedSchedule(problem, len(link), lambda: (link, chunk, start_ps, marks))

    @classmethod
    def found(cls, problem: Problem, found: FoundSends) -> Schedule:
        """Return the schedule of what the engine has found: few bytes a send until a column is asked for."""

        def sends() -> Sends:
            link, chunk, start_ps = found.take_columns()
            return link, chunk, start_ps, np.broadcast_to(np.bool_(False), np.shape(link))

        schedule = _UnsortedSchedule(problem, len(found), sends)
        object.__setattr__(schedule, "time_ps", found.time_ps)
        return schedule

    def __len__(self) -> int:
        """How many sends there are."""
        return len(self.link)

    @cached_property
    def end_ps(self) -> NDArray[np.int64]:
        """When each send has arrived."""
        return self.start_ps + self.problem.arrival_ps[self.link]

    @cached_property
    def time_ps(self) -> int:
        """When the last send has arrived; 0 without sends."""
        return last_arrival_ps(self.problem, self.link, self.start_ps)

    @cached_property
    def held_ps(self) -> int:
        """For how many ps links are held, all together."""
        return int(self.problem.held_ps[self.link].sum())

    @property
    def can_be_listed(self) -> bool:
        """Whether there is memory for all sends one by one."""
        return True

    def mirrored(self, problem: Problem) -> Schedule:
        """Return it run backwards on turned links: it solves `problem`.

        `problem.mirrored` is the problem of this schedule; no delivery of it may be redundant.
        """
        return Schedule.of(
            problem, self.link, self.chunk, self.backward_starts_ps, reduce=problem.collective.is_reducing
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return src, dst, chunk, start_ps, end_ps and reduce of the sends by start, as tables have them."""
        graph = self.problem.graph
        ends = {"src": graph.sources[self.link], "dst": graph.destinations[self.link]}
        return {**ends, **{name: getattr(self, name) for name in ("chunk", "start_ps", "end_ps", "reduce")}}

    @property
    def backward_starts_ps(self) -> NDArray[np.int64]:
        """When each send starts if time runs backwards on turned links: when all of it has arrived."""
        return self.time_ps - self.start_ps - self.problem.passed_ps[self.link]


class _UnsortedSchedule(Schedule):
    """A schedule whose columns are made and sorted when one is first asked for: many are only weighed."""

    def __init__(self, problem: Problem, size: int, make: Callable[[], Sends]) -> None:
        object.__setattr__(self, "problem", problem)
        object.__setattr__(self, "_size", size)
        object.__setattr__(self, "_make", make)

    @cached_property
    def sends(self) -> Sends:
        """All columns, in any order."""
        make: Callable[[], Sends] = self.__dict__["_make"]
        made = make()
        self.__dict__.pop("_make", None)  # what it holds is not kept
        return made

    def __len__(self) -> int:
        """How many sends there are."""
        size: int = self.__dict__["_size"]
        return size

    @cached_property
    def time_ps(self) -> int:
        """When the last send has arrived; 0 without sends."""
        link, _, start_ps, _ = self.sends
        return last_arrival_ps(self.problem, link, start_ps)

    @cached_property
    def _sorted(self) -> Sends:
        link, chunk, start_ps, marks = self.sends
        order = _order(link, chunk, start_ps, len(self.problem.graph))
        found = link[order], chunk[order], start_ps[order], marks[order]
        object.__setattr__(self, "sends", found)  # the others are not kept
        return found

    @cached_property
    def link(self) -> NDArray[np.int32]:
        """The link of each send."""
        return self._sorted[0]

    @cached_property
    def chunk(self) -> NDArray[np.int32]:
        """The chunk of each send."""
        return self._sorted[1]

    @cached_property
    def start_ps(self) -> NDArray[np.int64]:
        """When each send starts."""
        return self._sorted[2]

    @cached_property
    def reduce(self) -> NDArray[np.bool_]:
        """Whether each send adds to what the receiver has."""
        return self._sorted[3]


def last_arrival_ps(problem: Problem, link: NDArray[np.int32], start_ps: NDArray[np.int64]) -> int:
    """Return when the last send has arrived, 0 without sends; needs no column of all arrivals."""
    blocks = (slice(first, first + _BLOCK) for first in range(0, len(link), _BLOCK))
    return max((int((start_ps[b] + problem.arrival_ps[link[b]]).max()) for b in blocks), default=0)


def _order(
    link: NDArray[np.int32], chunk: NDArray[np.int32], start_ps: NDArray[np.int64], links: int
) -> NDArray[np.intp]:
    """Return the order by start, link and chunk; by one number a send where no two share start and link."""
    if len(link) and int(start_ps.min()) >= 0 and int(start_ps.max()) < 2**62 // max(links, 1):
        key = start_ps * np.int64(links)
        key += link
        order = np.argsort(key)
        key = key[order]
        if (key[1:] != key[:-1]).all():
            return order
        del key, order
    return np.lexsort((chunk, link, start_ps))
