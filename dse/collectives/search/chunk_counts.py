"""Into how many chunks a collective of given bytes is best cut: each number tried, the least time wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dse.base.cancellation import Deadline
from dse.base.errors import InputError
from dse.base.settings.values import Values
from dse.base.units import format_duration_ns
from dse.collectives.bounds import best_bound
from dse.collectives.problem.collective import CUSTOM
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.settings import Network, Size, chunks_of_operation, problem_of
from dse.collectives.search.fixed_algorithms import TOO_LATE
from dse.collectives.search.synthesis import Result, synthesize, with_fixed
from dse.collectives.search.synthesizers.base import Effort, Synthesizer

AUTO = "auto"
NUMBERS = (1, 2, 4, 8, 16, 32, 64)
# More chunks in all than these take minutes a number.
MOST_DELIVERIES = 2_000_000
_WORTH_A_HINT = 0.9  # of the time
_MOST_LINKS_OF_HINTS = 1_000  # more take a second
_NUMBERS_OF_HINTS = (2, 8, 32)
_LEAST_SECONDS = 0.1  # of the search for a number


@dataclass(frozen=True, eq=False)
class Cutting:
    """The data to be cut: the keys that ask for it on a network, and the bytes of the operation."""

    network: Network
    values: Values
    operation_bytes: int

    def problem(self, chunks_per_npu: int) -> tuple[Problem, Size]:
        """Return the problem with a number of chunks in place of `auto`; see problem_of."""
        return problem_of(self.network, {**self.values, "chunks_per_npu": str(chunks_per_npu)})


@dataclass(frozen=True)
class Split:
    """The best result of all numbers of chunks an NPU, its sizes, the times, and why a number has none."""

    result: Result
    size: Size
    times_ps: Mapping[int, int]
    left_out: Mapping[int, str] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """Return the object `split` of a summary."""
        return {
            "chunks_per_npu": self.result.schedule.problem.collective.chunks_per_npu,
            "times_ps": {str(number): time_ps for number, time_ps in self.times_ps.items()},
            "left_out": {str(number): why for number, why in self.left_out.items()},
        }

    def row(self) -> tuple[str, str]:
        """Return the row of a table."""
        best = self.result.schedule.problem.collective.chunks_per_npu
        times = ", ".join(
            f"{number}: {format_duration_ns(time_ps / 1000)}" for number, time_ps in self.times_ps.items()
        )
        return "split", f"{best} chunks an NPU, of {times}"


def cutting_of(network: Network, values: Values) -> Cutting | None:
    """Return what is to be cut, None where the number of chunks is not to be chosen.

    Raises:
        InputError: it is, but the bytes to be cut are not given, or wrong.
    """
    if values.get("chunks_per_npu") != AUTO or values.get("collective", "").endswith(".json"):
        return None
    if "operation_bytes" not in values:
        raise InputError(
            "chunks_per_npu is 'auto', which cuts the bytes of the operation; write operation_bytes=BYTES "
            "too, or a number of chunks"
        )
    _, size = problem_of(network, {**values, "chunks_per_npu": "1"})
    assert size.operation_bytes is not None
    return Cutting(network, values, size.operation_bytes)


def best_split(cutting: Cutting, synthesizer: str | Synthesizer, effort: Effort) -> Split:
    """Synthesize with each number of `NUMBERS` and return the fastest; of equal ones the fewest chunks.

    A number is left out if its bound is no less than the best time so far, or if it has too many or too
    small chunks. Of a time limit each number gets its share of what is left.

    Raises:
        InputError: the synthesizer cannot take the problem, or there is no way for a chunk.
    """
    deadline = effort.deadline
    best: tuple[Result, Size] | None = None
    times_ps: dict[int, int] = {}
    left_out: dict[int, str] = {}
    cpu_s, trials = 0.0, 0
    for place, number in enumerate(NUMBERS):
        if best is not None and effort.cancellation is not None and effort.cancellation.is_cancelled:
            left_out[number] = "interrupted"
            continue
        try:
            problem, size = cutting.problem(number)
        except InputError as error:
            if best is None:
                raise
            left_out[number] = str(error)
            continue
        if best is not None and deadline.is_over:
            left_out[number] = TOO_LATE
            continue
        share = deadline.part(1 / (len(NUMBERS) - place)).at_least(_LEAST_SECONDS)
        why = _obstacle(problem, size, best[0].time_ps if best else None, share.part(1 / 3))
        if why:
            left_out[number] = why
            continue
        try:
            result = synthesize(problem, synthesizer, effort.until(share), compare=False)
        except InputError:
            if best is None or not share.is_over:
                raise
            left_out[number] = TOO_LATE
            continue
        cpu_s, trials = cpu_s + result.cpu_s, trials + result.trials
        times_ps[number] = result.time_ps
        if best is None or result.time_ps < best[0].time_ps:
            best = result, size
    assert best is not None
    result = replace(best[0], cpu_s=cpu_s, trials=trials)
    return Split(with_fixed(result, None, deadline), best[1], times_ps, left_out)


def finer_hint(result: Result, values: Values) -> str | None:
    """Return what says that more and smaller chunks may be faster than one chunk per NPU; None if hardly.

    The least time that the bounds allow to some numbers of chunks must be a tenth below the schedule's.
    """
    problem = result.schedule.problem
    collective, graph = problem.collective, problem.graph
    if collective.name == CUSTOM or collective.chunks_per_npu > 1 or len(graph) > _MOST_LINKS_OF_HINTS:
        return None
    least_ps = min(_bound_ps(problem, number) for number in _NUMBERS_OF_HINTS)
    if least_ps > _WORTH_A_HINT * result.time_ps:
        return None
    operation_bytes = -(-problem.chunk_bytes * chunks_of_operation(collective) // 1)
    size = "" if "operation_bytes" in values else f" operation_bytes={operation_bytes}"
    what = "optimal for" if result.is_optimal else "for"
    return (
        f"this is {what} one chunk per NPU; smaller chunks may take as little as "
        f"{format_duration_ns(least_ps / 1000)}: chunks_per_npu=auto{size} tries them"
    )


def _bound_ps(problem: Problem, number: int) -> int:
    """A time below which no schedule of so many chunks an NPU ends."""
    smaller = replace(problem.collective, chunks_per_npu=number)
    finer = replace(problem, collective=smaller, chunk_bytes=problem.chunk_bytes / number)
    return best_bound(finer).time_ps


def _obstacle(problem: Problem, size: Size, best_ps: int | None, deadline: Deadline) -> str:
    """Why a number of chunks need not be tried; nothing for the first."""
    if best_ps is None:
        return ""
    deliveries = problem.collective.chunks * problem.graph.npus
    if deliveries > MOST_DELIVERIES:
        return f"{deliveries} deliveries are more than {MOST_DELIVERIES}"
    if size.chunk_bytes == 1 and size.padding_bytes:
        return "chunks of less than a byte"
    bound_ps = best_bound(problem, deadline).time_ps
    if bound_ps >= best_ps:
        return f"no schedule takes less than {bound_ps} ps"
    return ""
