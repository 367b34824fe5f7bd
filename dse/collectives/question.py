"""The question of `dse synthesize`: a schedule for a collective on a network, from keys to the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.base.cancellation import Cancellation, Deadline
from dse.base.displays import Displayed
from dse.base.errors import Cancelled, InputError
from dse.base.lazy import pd
from dse.base.settings.values import Values
from dse.collectives.check.symmetric import checked
from dse.collectives.files.exports import Exported
from dse.collectives.files.folder import NOTHING, write_folder
from dse.collectives.files.summary import summary, summary_text
from dse.collectives.problem.arguments import ROBUST_KEYS
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.reachability import require_ways
from dse.collectives.problem.schedule import Schedule
from dse.collectives.problem.settings import (
    MOST_DELIVERIES,
    Network,
    Size,
    deliveries_of,
    network_of,
    problem_of,
)
from dse.collectives.robust.answer import Robust, robust
from dse.collectives.robust.failures import Failure
from dse.collectives.robust.settings import Draws, draws_of, failure_of, slack_of
from dse.collectives.search.chunk_counts import Cutting, Split, best_split, cutting_of, finer_hint
from dse.collectives.search.mesh import MOST_LISTED_SENDS
from dse.collectives.search.settings import effort_of, notes_of, synthesizer_of
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort, Synthesizer
from dse.inputs.systems import SystemSpec


@dataclass(frozen=True)
class CollectiveQuestion:
    """A question in keys: a problem on a network, the effort, failures and varying links.

    `slack` is by what share of its time a repair may be slower to keep more.
    `cutting` says how to cut the bytes where the number of chunks is not given; None means that it is.
    """

    values: Values
    network: Network
    problem: Problem
    size: Size
    cutting: Cutting | None
    synthesizer: Synthesizer
    effort: Effort
    failure: Failure | None
    draws: Draws | None
    slack: float = 0.0


def question_of(
    values: Values, system: Callable[[], SystemSpec] | None, cancellation: Cancellation | None = None
) -> CollectiveQuestion:
    """Return what keys ask; the time limit runs from here on, and `cancellation` ends the search.

    Raises:
        InputError: a wrong value, a key without effect, or a network without a way.
    """
    synthesizer, effort = synthesizer_of(values), effort_of(values)
    deadline = Deadline.after(effort.time_limit_s, cancellation or Cancellation())
    network = network_of(values, system, deadline)
    cutting = cutting_of(network, values)
    if cutting is not None:
        problem, size = cutting.problem(1)
    else:
        problem, size = problem_of(network, values, may_stay_base=True)
    require_ways(problem)
    _check_listed(problem, values)
    failure, slack, draws = failure_of(problem, values), slack_of(values), draws_of(problem, values)
    _check_time(network, deadline, effort)
    effort = replace(effort.until(deadline), cancellation=cancellation)
    return CollectiveQuestion(
        values, network, problem, size, cutting, synthesizer, effort, failure, draws, slack
    )


def synthesized(question: CollectiveQuestion, effort: Effort | None = None) -> SynthesizedCollective:
    """Search, repair and draw as asked, and check the schedule; `effort` replaces that of the question.

    Raises:
        InputError: the synthesizer cannot take the problem, or nothing is left to repair with.
        InvalidSchedule: a schedule breaks a rule, which is a defect of the synthesizer.
    """
    effort = effort or question.effort
    split, size = None, question.size
    if question.cutting is not None:
        split = best_split(question.cutting, question.synthesizer, effort)
        result, size = split.result, split.size
    else:
        result = synthesize(question.problem, question.synthesizer, effort)
    is_cut = effort.cancellation is not None and effort.cancellation.is_cancelled
    try:
        found = (
            Robust(result)
            if is_cut
            else robust(result, question.failure, question.draws, question.effort, question.slack)
        )
    except Cancelled:
        found = Robust(result)
    what = checked(found.result.schedule, found.result.synthesizer)
    return SynthesizedCollective(
        question.network, found, size, split, what, tuple(_notes(question, found, split, size))
    )


@dataclass(frozen=True, repr=False, eq=False)
class SynthesizedCollective(Displayed):
    """A schedule for a collective, its bound, and the times of fixed algorithms on the same links.

    `found` has the result of the search, and what a failure or varying links do to it. `checked` says what of
    the schedule was checked: all sends, or the base of a symmetric one. Times are in ps.
    """

    network: Network
    found: Robust
    size: Size
    split: Split | None
    checked: str
    notes: tuple[str, ...] = ()

    @property
    def schedule(self) -> Schedule:
        """The sends, with the problem that they solve."""
        return self.found.result.schedule

    @property
    def time_ps(self) -> int:
        """When the last chunk has arrived."""
        return self.found.result.time_ps

    @property
    def bound_ps(self) -> int:
        """A time that no schedule beats."""
        return self.found.result.bound_ps

    @property
    def gap(self) -> float:
        """By what share of the bound the schedule takes longer than it."""
        return self.found.result.gap

    @property
    def is_optimal(self) -> bool:
        """Whether the schedule takes as long as the bound."""
        return self.found.result.is_optimal

    @property
    def synthesizer(self) -> str:
        """The search that found the schedule."""
        return self.found.result.synthesizer

    def data(self, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the summary as plain data; `more` are entries of exported files."""
        found = summary(self.found.result, self.network, self.size)
        split = {"split": self.split.data()} if self.split else {}
        return {**found, "checked": self.checked, **self.found.data, **(more or {}), **split}

    def text(self, exported: tuple[tuple[str, str], ...] = ()) -> str:
        """Return the summary as `dse synthesize` prints it, with the rows of exported files."""
        split = [self.split.row()] if self.split else []
        return summary_text(self.data(), [*split, *self.found.rows, *exported])

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per send by start: src, dst, chunk, start_ps, end_ps, reduce.

        Raises:
            InputError: the schedule is kept as its base, because it has too many sends to list.
        """
        if not self.schedule.can_be_listed:
            raise InputError(f"the {len(self.schedule)} sends of this schedule are too many for a table")
        table: pd.DataFrame = pd.DataFrame(self.schedule.columns())
        return table

    def write(self, folder: str | Path, exported: Exported = NOTHING) -> list[Path]:
        """Write the files of `dse synthesize -o FOLDER`, and return their paths.

        Raises:
            InputError: they cannot be written.
        """
        data, repaired = self.data(exported.data), self.found.repaired
        return write_folder(Path(folder), self.schedule, self.network, data, exported, repaired)


def _notes(question: CollectiveQuestion, found: Robust, split: Split | None, size: Size) -> list[str]:
    notes = notes_of(question.values)
    if size.padding_bytes:
        notes.append(f"operation_bytes does not divide: {size.padding_bytes} bytes of padding are sent too")
    if not split and (hint := finer_hint(found.result, question.values)):
        notes.append(hint)
    return notes


def _check_time(network: Network, deadline: Deadline, effort: Effort) -> None:
    """Refuse a time limit that the making of the network has used up."""
    if deadline.is_over:
        raise InputError(
            f"time_limit_s is {effort.time_limit_s:g}, and was over when the {len(network.graph)} links of "
            f"{network.name} were made; give it more seconds, or take a smaller network"
        )


def _check_listed(problem: Problem, values: Values) -> None:
    """Refuse what needs all sends one by one where only a base can be listed."""
    deliveries, most = deliveries_of(problem.collective), MOST_DELIVERIES
    is_mesh = problem.graph.mesh is not None and problem.graph.translations is None
    if is_mesh and values.get("synthesizer", "auto") in ("auto", "fast", "mesh"):
        most = MOST_LISTED_SENDS
    for key in (*ROBUST_KEYS, "export"):
        if deliveries > most and key in values:
            raise InputError(
                f"{key}={values[key]} needs every send, and {deliveries} deliveries are more than the "
                f"{most} that can be listed; leave {key} out, or take a smaller network"
            )
