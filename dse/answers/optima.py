"""The optimum against axes: the best point for every setting of the inputs that vary in a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.answers.fidelities import fidelity_of_rows
from dse.answers.groups import question_of, shown_field, varying
from dse.answers.selection import RANKING_COLUMNS, Whole, counts_by_status, finished_points
from dse.answers.texts import combined, texts_of
from dse.base.texts import shared_json
from dse.inputs.models import CHOICES
from dse.inputs.systems.values import memory_of_spec, own_fields, shown
from dse.studies.store.order import row_order
from dse.studies.store.schema import Status, StudyRow, as_rows

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

OPTIMA_COLUMNS = ("model_spec", "system_spec", "options")
"""Columns besides those of the ranking that distinguish settings."""

NOT_AXES = ("options.result_version", "options.engine", *(f"model.{name}" for name in CHOICES))
"""Fields that may vary in a study without being asked about, and choices, which compete."""


@dataclass(frozen=True)
class Setting:
    """One value of every axis (None means that this one lacks the field), and what is best there.

    `optimum` is None where no point is ok, `capped_optimum` where none fits or there is no cap.
    `smallest_peak_memory_bytes` says by how much a cap is missed.
    """

    values: tuple[Any, ...]
    npus: int
    optimum: StudyRow | None
    capped_optimum: StudyRow | None
    smallest_peak_memory_bytes: int | None


@dataclass(frozen=True)
class AxisStudy:
    """The settings of one model on one system (by their names), in the order of the values of the axes.

    Where each setting has the memory of its own accelerator as its cap, and these differ (`caps_differ`),
    `memory_cap_bytes` is the smallest. `fidelity` says how the points were computed.
    """

    model: str
    system: str
    axes: tuple[str, ...]
    settings: tuple[Setting, ...]
    memory_cap_bytes: int | None
    counts: Mapping[Status, int]
    caps_differ: bool = False
    fidelity: str = ""

    @property
    def short_axes(self) -> tuple[str, ...]:
        """The shortest ends of the dotted names that tell them apart."""
        return tuple(_short(name, self.axes) for name in self.axes)


def axis_studies(
    table: pa.Table,
    *,
    memory_cap_bytes: int | None = None,
    by_system: bool = False,
    whole: Whole = as_rows,
) -> list[AxisStudy]:
    """Return the axis study of each model and system, by name, whose inputs vary; usually none or one.

    With `by_system`, and a cap, that of a setting is the memory of an NPU of its system.

    `table` may lack columns that are neither of the ranking nor `OPTIMA_COLUMNS` nor `npus`, if `whole` gets
    whole rows. Rows of schema version 1, which do not say their inputs, are no axis study.
    """
    import numpy as np
    import pyarrow as pa

    codes = _setting_codes(table)
    if codes is None:
        return []
    encoded = pa.array(codes).dictionary_encode()  # np.unique would sort a million of them
    codes = encoded.indices.to_numpy()
    firsts = np.zeros(len(encoded.dictionary), np.int64)
    firsts[codes[::-1]] = np.arange(len(codes))[::-1]
    studies: dict[tuple[str, str], list[int]] = {}
    heads = table.take(firsts)
    names = zip(heads["model"].to_pylist(), heads["system"].to_pylist(), strict=True)
    for setting, pair in enumerate(names):
        studies.setdefault(pair, []).append(setting)
    found = {pair: members for pair, members in studies.items() if len(members) > 1}
    if not found:
        return []
    fields = _varying_fields(table, heads)
    caps: list[int | None] = [memory_cap_bytes] * len(heads)
    if by_system and memory_cap_bytes is not None:
        caps = [memory_of_spec(text) for text in heads["system_spec"].to_pylist()]
    bests = {cap: _bests(table, codes, cap, whole) for cap in set(caps)}
    texts = [heads[name].to_pylist() for name in OPTIMA_COLUMNS]
    npus = heads["npus"].to_pylist()
    answers = []
    for (model, system), members in sorted(found.items()):
        values = {
            number: {name: value for column in texts for name, value in fields[column[number]].items()}
            for number in members
        }
        axes = tuple(dict.fromkeys(name for entry in values.values() for name in entry))
        if not axes:  # only files differ, or what has no name
            continue
        members.sort(key=lambda number: [_order(values[number].get(name)) for name in axes])
        settings = tuple(
            Setting(
                tuple(values[number].get(name) for name in axes), npus[number], *bests[caps[number]](number)
            )
            for number in members
        )
        rows = table if len(members) == len(heads) else table.filter(pa.array(np.isin(codes, members)))
        counts = counts_by_status(rows)
        own = {caps[number] for number in members}
        cap = None if None in own else min(cap for cap in own if cap is not None)
        answers.append(
            AxisStudy(model, system, axes, settings, cap, counts, len(own) > 1, fidelity_of_rows(rows))
        )
    return answers


def optima_of(study: AxisStudy) -> list[StudyRow]:
    """Return the best points of all settings."""
    found = (row for setting in study.settings for row in (setting.optimum, setting.capped_optimum))
    return [row for row in found if row is not None]


def setting_label(study: AxisStudy, setting: Setting) -> list[str]:
    """Such as ["seq_len=512", "bandwidth_gbps=100"]."""
    pairs = zip(study.short_axes, setting.values, strict=True)
    return [f"{name}=-" if value is None else shown_field(name, value) for name, value in pairs]


def _setting_codes(table: pa.Table) -> np.ndarray[Any, Any] | None:
    """A number for each row, equal for rows with the same inputs but for the strategy; None if unknown."""
    import numpy as np

    codes = np.zeros(table.num_rows, np.int64)
    for name in OPTIMA_COLUMNS:
        texts = combined(table[name])
        if texts.null_count or not len(texts):
            return None
        inputs = texts.dictionary.to_pylist()
        if name == "model_spec":  # ways to run a model compete
            inputs = [question_of(text) for text in inputs]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(inputs))}
        own = np.array([numbers[text] for text in inputs], np.int64)
        codes = codes * len(numbers) + own[texts.indices.to_numpy()]
    return codes


def _varying_fields(table: pa.Table, heads: pa.Table) -> dict[str, dict[str, Any]]:
    """For each text its fields by dotted names that differ among the texts of the same name."""
    found: dict[str, dict[str, Any]] = {}
    for column, prefix in zip(OPTIMA_COLUMNS, ("model", "system", "options"), strict=True):
        of_name: dict[str, dict[str, None]] = {}
        # Systems and options in the order of `describe_variants`, which asks for the same.
        for text in texts_of((heads if column == "model_spec" else table)[column]):
            of_name.setdefault(shared_json(text).get("name", ""), {})[text] = None
        for same in of_name.values():
            fields = varying(list(same), prefix)
            for text, values in (own_fields(fields) if prefix == "system" else fields).items():
                found[text] = {name: value for name, value in values.items() if name not in NOT_AXES}
    return found


class _Bests:
    """For a setting its best point, the best one that fits, and the smallest peak."""

    def __init__(
        self, optima: dict[int, StudyRow], capped: dict[int, StudyRow], smallest: dict[int, int | None]
    ) -> None:
        self._found = (optima, capped, smallest)

    def __call__(self, setting: int) -> tuple[StudyRow | None, StudyRow | None, int | None]:
        optima, capped, smallest = self._found
        return optima.get(setting), capped.get(setting), smallest.get(setting)


def _bests(table: pa.Table, codes: np.ndarray[Any, Any], cap: int | None, whole: Whole) -> _Bests:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    points = finished_points(table).to_numpy()
    peaks = table["peak_memory_bytes"].take(pa.array(points)).combine_chunks()
    fitting = points[:0]
    if cap is not None:
        fitting = points[pc.fill_null(pc.less_equal(peaks, cap), False).to_numpy(zero_copy_only=False)]
    least = pa.table({"setting": codes[points], "peak": peaks}).group_by("setting")
    least = least.aggregate([("peak", "min")])
    smallest = dict(zip(least["setting"].to_pylist(), least["peak_min"].to_pylist(), strict=True))
    found = [_first_of_each(table, codes, some) for some in (points, fitting)]
    rows = iter(whole(table.take(pa.array(np.concatenate([places for _, places in found])))))
    first, capped = ({setting: next(rows) for setting in settings.tolist()} for settings, _ in found)
    return _Bests(first, capped, smallest)


def _first_of_each(table: pa.Table, codes: Any, points: Any) -> tuple[Any, Any]:
    """Return the settings of some points, and the best point of each: only the fastest ones are ranked."""
    import numpy as np
    import pyarrow as pa

    walls = table["wall_time_ns"].take(pa.array(points)).to_numpy()
    least = np.full(int(codes.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, codes[points], walls)
    fastest = points[walls == least[codes[points]]]
    ranked = fastest[row_order(table.select([*RANKING_COLUMNS]).take(pa.array(fastest)), RANKING_COLUMNS)]
    settings, firsts = np.unique(codes[ranked], return_index=True)
    return settings, ranked[firsts]


def _order(value: Any) -> tuple[int, float, str]:
    """Missing values first, then numbers, then texts."""
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, int | float):
        return (1, float(value), "")
    return (2, 0.0, shown(value))


def _short(name: str, names: Sequence[str]) -> str:
    parts = name.split(".")
    for count in range(1, len(parts)):
        end = ".".join(parts[-count:])
        if parts[-count].isdecimal():
            continue
        if sum(other == end or other.endswith(f".{end}") for other in names) == 1:
            return end
    return name
