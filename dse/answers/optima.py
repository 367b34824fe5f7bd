"""The optimum against axes: the best point for every setting of the inputs that vary in a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dse.answers.fidelities import fidelity_of_rows
from dse.answers.groups import question_of, shown_field, varying
from dse.answers.selection import RANKING_COLUMNS, Whole, counts_by_status, finished_points
from dse.answers.texts import combined, texts_of
from dse.base.lazy import np, pa, pc
from dse.base.texts import shared_json
from dse.inputs.models import CHOICES
from dse.inputs.systems.values import memory_of_spec, own_fields, shown
from dse.studies.store.order import row_order
from dse.studies.store.schema import Status, StudyRow, as_rows

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
    optimum: StudyRow | None
    capped_optimum: StudyRow | None
    smallest_peak_memory_bytes: int | None


@dataclass(frozen=True)
class AxisStudy:
    """The settings of one model on one system (by their names), in the order of the values of the axes.

    Where each setting has the memory of its own accelerator as its cap, and these differ (`caps_differ`),
    `memory_cap_bytes` is the smallest. `fidelity` says how the points were computed. Of many settings the
    last ones may be left out: `omitted` of them, which `npus` and `cap_binds` count too.
    """

    model: str
    system: str
    axes: tuple[str, ...]
    settings: tuple[Setting, ...]
    npus: tuple[int, ...]
    memory_cap_bytes: int | None
    counts: Mapping[Status, int]
    cap_binds: bool
    caps_differ: bool = False
    fidelity: str = ""
    omitted: int = 0

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
    most: int | None = None,
) -> list[AxisStudy]:
    """Return the axis study of each model and system, by name, whose inputs vary; usually none or one.

    With `by_system`, and a cap, that of a setting is the memory of an NPU of its system. Each study has
    `most` settings at most.

    `table` may lack columns that are neither of the ranking nor `OPTIMA_COLUMNS` nor `npus`, if `whole` gets
    whole rows. Rows of schema version 1, which do not say their inputs, are no axis study.
    """
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
    bests = {cap: _bests(table, codes, cap) for cap in set(caps)}
    texts = [heads[name].to_pylist() for name in OPTIMA_COLUMNS]
    npus = heads["npus"].to_pylist()
    found_axes = []
    for pair, members in sorted(found.items()):
        values = {
            number: {name: value for column in texts for name, value in fields[column[number]].items()}
            for number in members
        }
        axes = tuple(dict.fromkeys(name for entry in values.values() for name in entry))
        if axes:  # otherwise only files differ, or what has no name
            members.sort(key=lambda number: [_order(values[number].get(name)) for name in axes])
            shown = [(number, tuple(values[number].get(name) for name in axes)) for number in members[:most]]
            found_axes.append((pair, axes, members, shown))
    places = [
        place
        for *_, shown in found_axes
        for number, _ in shown
        for place in bests[caps[number]].places(number)
    ]
    rows = dict(zip(places, whole(table.take(pa.array(places, pa.int64()))), strict=True))
    answers = []
    for (model, system), axes, members, shown in found_axes:
        settings = tuple(Setting(own, *bests[caps[number]].of(number, rows)) for number, own in shown)
        some = table if len(members) == len(heads) else table.filter(pa.array(np.isin(codes, members)))
        own = {caps[number] for number in members}
        cap = None if None in own else min(cap for cap in own if cap is not None)
        answers.append(
            AxisStudy(
                model,
                system,
                axes,
                settings,
                npus=tuple(sorted({npus[number] for number in members})),
                memory_cap_bytes=cap,
                counts=counts_by_status(some),
                cap_binds=cap is not None
                and any(bests[caps[number]].cap_binds(number) for number in members),
                caps_differ=len(own) > 1,
                fidelity=fidelity_of_rows(some),
                omitted=len(members) - len(settings),
            )
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
    codes = np.zeros(table.num_rows, np.int64)
    for name in OPTIMA_COLUMNS:
        texts = combined(table[name])
        if texts.null_count or not len(texts):
            return None
        inputs = texts.dictionary.to_pylist()
        if name == "model_spec":  # ways to run a model compete
            inputs = [question_of(text) for text in inputs]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(inputs))}
        if len(numbers) == 1:
            continue
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


class _Bests(NamedTuple):
    """For each setting the places of its best point and of the best one that fits, and the smallest peak.

    Settings without such a point are not in it.
    """

    optima: dict[int, int]
    capped: dict[int, int]
    smallest: dict[int, int | None]

    def cap_binds(self, setting: int) -> bool:
        """Whether the best point of a setting does not fit."""
        return self.optima.get(setting) != self.capped.get(setting)

    def places(self, setting: int) -> list[int]:
        """The places of the points of a setting."""
        return [some[setting] for some in (self.optima, self.capped) if setting in some]

    def of(
        self, setting: int, rows: Mapping[int, StudyRow]
    ) -> tuple[StudyRow | None, StudyRow | None, int | None]:
        """The points and the smallest peak of a setting, given the rows at the places."""
        first, capped = (
            rows[some[setting]] if setting in some else None for some in (self.optima, self.capped)
        )
        return first, capped, self.smallest.get(setting)


def _bests(table: pa.Table, codes: np.ndarray[Any, Any], cap: int | None) -> _Bests:
    points = finished_points(table).to_numpy()
    peaks = table["peak_memory_bytes"].take(pa.array(points)).combine_chunks()
    least = pa.table({"setting": codes[points], "peak": peaks}).group_by("setting")
    least = least.aggregate([("peak", "min")])
    smallest = dict(zip(least["setting"].to_pylist(), least["peak_min"].to_pylist(), strict=True))
    optima = _first_of_each(table, codes, points)
    if cap is None:
        return _Bests(optima, {}, smallest)
    fitting = points[pc.fill_null(pc.less_equal(peaks, cap), False).to_numpy(zero_copy_only=False)]
    capped = optima if len(fitting) == len(points) else _first_of_each(table, codes, fitting)
    return _Bests(optima, capped, smallest)


def _first_of_each(table: pa.Table, codes: Any, points: Any) -> dict[int, int]:
    """Return the place of the best of some points for each setting: only the fastest ones are ranked."""
    walls = table["wall_time_ns"].take(pa.array(points)).to_numpy()
    least = np.full(int(codes.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, codes[points], walls)
    fastest = points[walls == least[codes[points]]]
    ranked = fastest[row_order(table.select([*RANKING_COLUMNS]).take(pa.array(fastest)), RANKING_COLUMNS)]
    settings, firsts = np.unique(codes[ranked], return_index=True)
    return dict(zip(settings.tolist(), ranked[firsts].tolist(), strict=True))


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
