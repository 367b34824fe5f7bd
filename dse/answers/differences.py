"""Two studies compared: the best points of both, and every strategy that both have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dse.answers.groups import DIGEST_DIGITS, Group, flat_texts, names_alone
from dse.answers.selection import Selection, Whole, finished_points, select
from dse.answers.texts import texts_of
from dse.base.errors import InputError
from dse.base.lazy import pa
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.store.schema import as_rows

StrategyValues: TypeAlias = "tuple[int | str, ...]"
"""Those of `STRATEGY_FIELDS`."""


@dataclass(frozen=True)
class StrategyChange:
    """One strategy in both studies; of variants of a system the fastest counts."""

    strategy: StrategyValues
    first_wall_time_ns: int
    second_wall_time_ns: int
    first_peak_memory_bytes: int | None
    second_peak_memory_bytes: int | None

    @property
    def change(self) -> float:
        """The second wall time over the first, minus 1: below 0 the second is faster."""
        return self.second_wall_time_ns / self.first_wall_time_ns - 1


@dataclass(frozen=True)
class InputChange:
    """A field of model, system or options in which the studies differ, with all its values as JSON."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True)
class StudyComparison:
    """Two groups of rows, of studies with `names`.

    `changes` are sorted by `change`, the greatest gain of the second first.
    """

    title: str
    names: tuple[str, str]
    first: Selection
    second: Selection
    inputs: tuple[InputChange, ...]
    changes: tuple[StrategyChange, ...]
    only_first: int
    only_second: int
    fidelities: tuple[str, str] = ("", "")

    @property
    def heading(self) -> str:
        """The title, and how the points of both were computed."""
        one, other = self.fidelities
        return ", ".join(filter(None, [self.title, one if one == other else f"{one} -> {other}"]))


def pairs(first: Sequence[Group], second: Sequence[Group]) -> list[tuple[Group, Group]]:
    """Groups of two studies that belong together: of one title, or the only group of each.

    Raises:
        InputError: no title is in both.
    """
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    others = {group.title: group for group in second}
    found = [(group, others[group.title]) for group in first if group.title in others]
    if not found:
        raise InputError(
            f"the studies have nothing in common: {_titles(first)} in the first, "
            f"{_titles(second)} in the second"
        )
    return found


def compare_groups(
    first: Group,
    second: Group,
    *,
    names: tuple[str, str] = ("first", "second"),
    memory_cap_bytes: int | None = None,
    whole: tuple[Whole, Whole] = (as_rows, as_rows),
) -> StudyComparison:
    """Compare two groups of rows of studies with `names`; `whole` as for `select`, one for each.

    Raises:
        InputError: a cap is asked for and no point of a study has a peak memory.
    """
    fastest = [_fastest(group.table) for group in (first, second)]
    common = [strategy for strategy in fastest[0] if strategy in fastest[1]]
    changes = [
        StrategyChange(
            strategy,
            fastest[0][strategy][0],
            fastest[1][strategy][0],
            fastest[0][strategy][1],
            fastest[1][strategy][1],
        )
        for strategy in common
    ]
    same = first.title == second.title
    return StudyComparison(
        title=first.title if same else f"{first.title} -> {second.title}",
        names=names,
        first=select(first.table, memory_cap_bytes=memory_cap_bytes, whole=whole[0]),
        second=select(second.table, memory_cap_bytes=memory_cap_bytes, whole=whole[1]),
        inputs=tuple(input_changes(first.table, second.table)),
        changes=tuple(sorted(changes, key=lambda change: (change.change, change.strategy))),
        only_first=len(fastest[0]) - len(common),
        only_second=len(fastest[1]) - len(common),
        fidelities=(first.fidelity, second.fidelity),
    )


def _fastest(table: pa.Table) -> dict[StrategyValues, tuple[int, int | None]]:
    """Wall time and peak memory of the fastest point that is ok of each strategy."""
    points = table.take(finished_points(table))
    columns = (*STRATEGY_FIELDS, "wall_time_ns", "peak_memory_bytes")
    order = [(name, "descending") for name in columns[-2:]]
    rows = points.select(columns).sort_by(order).to_pydict()
    return {values[:-2]: values[-2:] for values in zip(*rows.values(), strict=True)}


def input_changes(first: pa.Table, second: pa.Table) -> list[InputChange]:
    """The fields whose sets of values differ; names are left out, and digests of files of other names."""
    found = []
    for column, prefix in (("model_spec", "model"), ("system_spec", "system"), ("options", "options")):
        found += changed_fields(*(flat_texts(texts_of(table[column]), prefix) for table in (first, second)))
    return found


def changed_fields(first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]]) -> list[InputChange]:
    """The same for the fields of texts (`flat_texts`)."""
    found = []
    one, other = _values(first), _values(second)
    named = names_alone([*first, *second])
    for name in dict.fromkeys([*one, *other]):
        before, after = one.get(name, ()), other.get(name, ())
        if set(before) != set(after) and name not in named:
            found.append(InputChange(name, before, after))
    return found


def _values(specs: Sequence[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    values: dict[str, dict[str, None]] = {}
    for spec in specs:
        for name, value in spec.items():
            whole = isinstance(value, float) and value.is_integer()
            digest = name.endswith("_sha256") and isinstance(value, str)
            shown = value[:DIGEST_DIGITS] if digest else json.dumps(int(value) if whole else value)
            values.setdefault(name, {})[shown] = None
    return {name: tuple(listed) for name, listed in values.items()}


def _titles(groups: Sequence[Group]) -> str:
    return ", ".join(group.title for group in groups)
