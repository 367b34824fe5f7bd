"""The end-of-sweep answer, as a plain-text table and as a JSON structure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dse.answers.caps import cap_words
from dse.answers.columns import Shown, percentage, shown_columns
from dse.answers.conventions import cautions, certainty
from dse.answers.groups import variant_of
from dse.answers.optima import AxisStudy, Setting, setting_label
from dse.answers.selection import Selection
from dse.base.texts import Line, aligned, counted, printable
from dse.base.units import duration_range, format_bytes
from dse.prediction.steps.predict import margin_of
from dse.studies.store.schema import Status, StudyRow

SHOWN_SETTINGS = 40


def header(columns: Sequence[Shown]) -> tuple[Line, Line]:
    """The two lines above a table of points with these columns."""
    first, second = zip(*[column.heading for column in columns], strict=True)
    return ("", *first), ("", *second)


def render(selection: Selection, variants: Mapping[str, str] | None = None, *, exact: bool = False) -> str:
    """The best point and its runner-up without a cap, then under the cap, then the counts.

    A runner-up's percentage is its extra wall time; exposed communication is a share of the wall time. Where
    the cap changes nothing, it says so instead of showing the same points again. `exact` shows wall times in
    ns and peaks in bytes. A line of a table of simulated points is at most 110 columns wide (for wall times
    below 10,000 s, peaks below 1000 TB, and two degrees of up to four digits). `variants`
    (`describe_variants`) adds a line to a point whose system is one of several.
    """
    table = _Table(variants or {}, exact)
    table.lines.append("without a memory cap")
    if selection.optimum is None:
        table.lines.append("  no point is ok")
    else:
        table.add_best(selection.optimum)
        table.add_others(selection.optimum, _Others.of(selection))
    if selection.memory_cap_bytes is not None:
        _add_capped(table, selection, selection.memory_cap_bytes)
    named = (
        *(selection.optimum, selection.runner_up, selection.capped_optimum, selection.capped_runner_up),
        *(selection.may_fit, selection.surely_fits),
    )
    said = dict.fromkeys(
        [
            *cautions(named),
            *certainty(selection.optimum, [selection.runner_up]),
            *certainty(selection.capped_optimum, [selection.capped_runner_up]),
        ]
    )
    return "\n".join([*table.aligned(), *said, "", _counts(selection.counts), *_losses(selection)])


def render_rows(
    labelled: Sequence[tuple[str, StudyRow]],
    variants: Mapping[str, str] | None = None,
    *,
    exact: bool = False,
) -> str:
    """One point per line under the same heading, each with a label; the rest as for `render`."""
    table = _Table(variants or {}, exact)
    for label, row in labelled:
        table.add(label, row)
    return "\n".join([*table.aligned(), *cautions(row for _, row in labelled)])


def render_axes(study: AxisStudy, *, exact: bool = False) -> str:
    """The best point for every setting of the axes, without a cap and under it; `exact` as for `render`."""
    title = f"{study.model} on {study.system}, {', '.join(map(str, study.npus))} NPUs"
    lines = [
        f"{', '.join(filter(None, [title, study.fidelity]))}: the optimum against",
        *(f"  {name}" for name in study.axes),
        "",
    ]
    shown, cap = study.settings[:SHOWN_SETTINGS], study.memory_cap_bytes
    parts = zip(*(setting_label(study, setting) for setting in shown), strict=True)
    padded = [[part.ljust(max(map(len, column))) for part in column] for column in parts]
    labels = [f"  {' '.join(label).rstrip()}" for label in zip(*padded, strict=True)]
    table = _Table({}, exact)
    table.lines.append("without a memory cap")
    for label, setting in zip(labels, shown, strict=True):
        _add_setting(table, label, setting, setting.optimum)
    if cap is not None:
        words = cap_words(cap, exact=exact)
        under = "under the memory of each accelerator" if study.caps_differ else f"under {words}"
        if not study.cap_binds:
            table.lines.append(f"{under}: the cap does not bind")
        else:
            table.lines.append(under)
            for label, setting in zip(labels, shown, strict=True):
                _add_setting(table, label, setting, setting.capped_optimum)
    if more := len(study.settings) - len(shown) + study.omitted:
        table.lines.append(f"... and {more} more settings")
    said = cautions(row for setting in shown for row in (setting.optimum, setting.capped_optimum))
    return "\n".join(map(printable, [*lines, *table.aligned(), *said, "", _counts(study.counts)]))


def _add_setting(table: _Table, label: str, setting: Setting, row: StudyRow | None) -> None:
    if row is not None:
        table.add(label, row)
    elif setting.optimum is None or setting.smallest_peak_memory_bytes is None:
        table.lines.append(f"{label.rstrip()}: no point is ok")
    else:
        smallest = format_bytes(setting.smallest_peak_memory_bytes)
        table.lines.append(f"{label.rstrip()}: nothing fits: the smallest peak memory is {smallest}")


def to_json(selection: Selection) -> dict[str, Any]:
    """The same as plain data.

    Keys: best, runner_up and most_room, also under_cap, may_fit and surely_fits, each None or a dict of the
    columns of a row; tied_plans, also under_cap; memory_cap_bytes, None without a cap; counts, by status,
    zeros included.
    """
    return {
        "best": _optional(selection.optimum),
        "runner_up": _optional(selection.runner_up),
        "best_under_cap": _optional(selection.capped_optimum),
        "runner_up_under_cap": _optional(selection.capped_runner_up),
        "may_fit": _optional(selection.may_fit),
        "surely_fits": _optional(selection.surely_fits),
        "tied_plans": selection.indistinct,
        "most_room": _optional(selection.roomiest),
        "tied_plans_under_cap": selection.capped_indistinct,
        "most_room_under_cap": _optional(selection.capped_roomiest),
        "memory_cap_bytes": selection.memory_cap_bytes,
        "counts": dict(selection.counts),
    }


def _optional(row: StudyRow | None) -> dict[str, Any] | None:
    return None if row is None else row_to_json(row)


def row_to_json(row: StudyRow) -> dict[str, Any]:
    """The columns of a row; a double that JSON cannot say (infinite, not a number) becomes None."""
    values = dataclasses.asdict(row)
    unsayable = {
        name for name, value in values.items() if isinstance(value, float) and not math.isfinite(value)
    }
    return {name: None if name in unsayable else value for name, value in values.items()}


class _Table:
    """The lines of a table of points, from its heading on."""

    def __init__(self, variants: Mapping[str, str], exact: bool) -> None:
        self._variants, self.exact = variants, exact
        self.lines: list[str | tuple[str, StudyRow]] = []

    def aligned(self) -> list[str]:
        """Return the lines of text, with the columns that the points need."""
        points = [line[1] for line in self.lines if not isinstance(line, str)]
        columns = shown_columns(points, exact=self.exact)
        cells = [
            line if isinstance(line, str) else [line[0], *(column.cell(line[1]) for column in columns)]
            for line in self.lines
        ]
        return aligned([*header(columns), *cells])

    def add(self, label: str, row: StudyRow) -> None:
        """Add a point, and below it what is special about its system."""
        self.lines.append((label, row))
        if text := variant_of(row, self._variants):
            self.lines.append(f"    with {text}")

    def add_best(self, best: StudyRow) -> None:
        """Add a best point, and from when to when 80 % of such steps end."""
        self.add("  best", best)
        if best.wall_time_low_ns is not None and best.wall_time_high_ns is not None:
            self.lines.append(f"    80 %: {duration_range(best.wall_time_low_ns, best.wall_time_high_ns)}")

    def add_others(self, best: StudyRow, others: _Others) -> None:
        """Add how many points are tied with the best, of predicted ties the roomiest, and the runner-up."""
        runner_up, roomiest = others.runner_up, others.roomiest
        if others.ties:
            self.lines.append(f"    and {counted(others.ties, 'more point')} of this time and this memory")
        is_same = roomiest is not None and _are_same(roomiest, runner_up)
        if others.indistinct:
            whose = "the runner-up has" if is_same else "the one below has"
            room = f", of which {whose} most room" if roomiest is not None else ""
            self.lines.append(f"    tied with {counted(others.indistinct, 'other plan')}{room}")
        if roomiest is not None and not is_same:
            self.add(f"  most room {_extra(best, roomiest)}", roomiest)
        if runner_up is not None:
            self.add(f"  runner-up {_extra(best, runner_up)}", runner_up)


class _Others(NamedTuple):
    """The points next to a best one, as `Selection` has them."""

    runner_up: StudyRow | None
    roomiest: StudyRow | None
    ties: int
    indistinct: int

    @classmethod
    def of(cls, found: Selection) -> _Others:
        return cls(found.runner_up, found.roomiest, found.ties, found.indistinct)

    @classmethod
    def capped(cls, found: Selection) -> _Others:
        return cls(found.capped_runner_up, found.capped_roomiest, found.capped_ties, found.capped_indistinct)


def _extra(best: StudyRow, other: StudyRow) -> str:
    """How much more wall time a point has than the best."""
    extra = (other.wall_time_ns or 0) - (best.wall_time_ns or 0)
    return f"+{percentage(extra, best.wall_time_ns)} %"


def _add_capped(table: _Table, selection: Selection, memory_cap_bytes: int) -> None:
    under = f"under {cap_words(memory_cap_bytes, exact=table.exact)}"
    best, runner_up = selection.capped_optimum, selection.capped_runner_up
    if best is None:
        table.lines += [under, _nothing_fits(selection)]
        _add_may_fit(table, selection, memory_cap_bytes)
        return
    spare = percentage(memory_cap_bytes - (best.peak_memory_bytes or 0), memory_cap_bytes)
    if not _are_same(best, selection.optimum):
        table.lines.append(f"{under}: the best fits with {spare} % to spare")
        table.add_best(best)
        table.add_others(best, _Others.capped(selection))
    elif _are_same(runner_up, selection.runner_up):
        table.lines.append(f"{under}: the cap does not bind, {spare} % to spare")
    else:
        table.lines.append(f"{under}: the best is the same, {spare} % to spare")
        table.add_others(best, _Others.capped(selection))
    _add_may_fit(table, selection, memory_cap_bytes)


def _add_may_fit(table: _Table, selection: Selection, memory_cap_bytes: int) -> None:
    """Add the fastest point that surely fits, and the fastest above the memory that may fit."""
    safe, row = selection.surely_fits, selection.may_fit
    if safe is not None:
        table.lines.append(f"fits even if its peak is {100 * margin_of(safe.framework):.3g} % larger")
        table.add("  surely fits", safe)
    if row is None:
        return
    excess = percentage((row.peak_memory_bytes or 0) - memory_cap_bytes, memory_cap_bytes)
    margin = 100 * margin_of(row.framework)
    table.lines.append(
        f"may fit: faster, but {excess} % above it, where predicted peaks are off by up to {margin:.3g} %"
    )
    table.add("  may fit", row)


def _are_same(one: StudyRow | None, other: StudyRow | None) -> bool:
    """Whether two points are one; as plain data, where a missing number equals another."""
    if one == other:
        return True
    return (
        one is not None and other is not None and one.key == other.key and _optional(one) == _optional(other)
    )


def _nothing_fits(selection: Selection) -> str:
    smallest = selection.smallest_peak_memory_bytes
    if smallest is None:
        return "  no point is ok"
    return f"  nothing fits: the smallest peak memory is {format_bytes(smallest)}"


def _counts(counts: Mapping[Status, int]) -> str:
    """Such as "56 points: 54 ok, 2 infeasible"; what does not occur is left out, except ok.

    Where ranks deadlock, it names the key that says in which order they start collectives.
    """
    total = sum(counts.values())
    shown = [f"{count} {status}" for status, count in counts.items() if count or status == "ok"]
    order = " (see system.issue_order in docs/simulator.md)" if counts.get("deadlock") else ""
    return f"{total} point{'' if total == 1 else 's'}: {', '.join(shown)}{order}"


def _losses(selection: Selection) -> list[str]:
    """The reason that most points have in common for not being ok."""
    loss, total = selection.loss, sum(selection.counts.values())
    if loss is None:
        return []
    such_as = "" if loss.reason == loss.example else ", such as"
    return [
        f"note: {loss.points} of {total} points are {loss.status} for one reason{such_as}: {loss.example}"
    ]
