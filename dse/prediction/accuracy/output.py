"""The accuracy of predictions as text, as plain data for JSON, and as rows of a CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.base.texts import aligned, printable
from dse.prediction.accuracy.accuracy import Accuracy, SourceErrors, parts_pct
from dse.prediction.accuracy.comparison import GIB, Compared
from dse.prediction.accuracy.ranking import Ranking
from dse.prediction.intervals.coverage import ALLOWED_PCT, LEAST_ROWS, Coverage

if TYPE_CHECKING:
    from dse.prediction.calibration.calibration import Calibration

_DIGITS = 4
_SHOWN_IDS = 4


def to_json(accuracy: Accuracy) -> dict[str, Any]:
    """Return all figures as plain data; percentages and seconds rounded to what they can tell."""
    return {
        "sources": [_source_json(source) for source in accuracy.sources],
        "all": _source_json(accuracy.total),
        "parted": [_source_json(part) for part in accuracy.parted],
        "ranking": _rounded(asdict(accuracy.ranking)),
        "rows": [row_json(one) for one in accuracy.compared],
        "notes": list(accuracy.notes),
    }


def row_json(one: Compared) -> dict[str, Any]:
    """Return a row with its prediction, both None where there is none, and the reason."""
    known = one.is_expressible
    low_s, high_s = one.range_s or (None, None)
    return {
        "id": one.row.id,
        "source": one.row.source,
        "predicted_s": float(f"{one.predicted_s:.9g}") if known else None,
        "low_s": low_s and float(f"{low_s:.9g}"),
        "high_s": high_s and float(f"{high_s:.9g}"),
        "measured_s": one.row.iter_s or None,
        "error_pct": round(one.error_pct, _DIGITS) if known else None,
        "reason": one.reason,
        "parts_pct": _rounded(parts_pct(one)),
        "predicted_memory_gib": round(one.peak_memory_bytes / GIB, _DIGITS) if known else None,
        "measured_memory_gib": one.row.measured_memory_gib,
        "memory_error_pct": _round(one.memory_error_pct) if known else None,
        "memory_verdict": one.memory_verdict,
        "assumed": list(one.assumed),
    }


def csv_rows(accuracy: Accuracy, part_names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a line for each row: the fields of `row_json`, a column for each part."""
    lines = []
    for one in accuracy.compared:
        line = row_json(one)
        shares, assumed = line.pop("parts_pct"), line.pop("assumed")
        line |= {f"{name}_pct": shares.get(name) for name in part_names}
        lines.append({**line, "assumed": "; ".join(assumed)})
    return lines


def render(accuracy: Accuracy, *, parts: bool = False, worst: int = 0) -> str:
    """Return errors by source, ranking and rows without a prediction as text, and the tables asked for."""
    lines = [*accuracy.sources, accuracy.total] if len(accuracy.sources) > 1 else accuracy.sources
    sections = ["error of the predicted step time, and of the peak memory, in %\n" + errors_table(lines)]
    if accuracy.parted:
        sections.append(errors_table(accuracy.parted))
    sections.append(ranking_text(accuracy.ranking))
    if parts:
        sections.append(parts_table([*accuracy.sources, accuracy.total]))
    if worst:
        sections.append(worst_table(accuracy.compared, worst))
    if refused := refused_text(accuracy.compared):
        sections.append(refused)
    if missing := inexpressible_text(accuracy.compared):
        sections.append(missing)
    return "\n\n".join(sections)


def errors_table(lines: Sequence[SourceErrors]) -> str:
    """Return errors in %, a line each."""
    columns: list[tuple[str, list[str]]] = [
        ("source", [printable(line.source) for line in lines]),
        ("rows", [str(line.rows) for line in lines]),
        ("expressible", [str(line.expressible) for line in lines]),
    ]
    for title, name in (
        ("mean", "mape_pct"),
        ("median", "median_pct"),
        ("p90", "p90_pct"),
        ("largest", "max_pct"),
        ("bias", "bias_pct"),
        ("memory: mean", "memory_mape_pct"),
        ("largest", "memory_max_pct"),
        ("left out", "left_out_mape_pct"),
    ):
        values = [getattr(line, name) for line in lines]
        if not name.startswith(("memory", "left_out")) or any(value is not None for value in values):
            columns.append((title, [_shown(value, signed=name == "bias_pct") for value in values]))
    return table(columns)


def ranking_text(found: Ranking) -> str:
    """Return the ranking in a sentence."""
    if not found.groups:
        return "ranking: no group of equal model, GPUs and batch has enough strategies to compare their order"
    return (
        f"ranking within {found.groups} groups of equal model, GPUs and batch ({found.rows} strategies): "
        f"mean Spearman correlation {found.spearman_mean:.3f}; the strategy predicted fastest takes "
        f"{found.pick_loss_mean_pct:.1f} % longer than the fastest on average, "
        f"{found.pick_loss_max_pct:.1f} % at worst"
    )


def coverage_table(lines: Sequence[Coverage]) -> str:
    """Return how often steps lie in their interval, a line a kind; ! marks a share far from 80 %."""
    return "steps in the interval that is to hold 80 % of them, by kind, in %\n" + table(
        [
            ("kind", [printable(line.kind) for line in lines]),
            ("rows", [str(line.rows) for line in lines]),
            ("mean error", [_shown(line.error_pct) for line in lines]),
            ("bias", [_shown(line.bias_pct, signed=True) for line in lines]),
            ("width", [_shown(line.width_pct) for line in lines]),
            ("inside", [_inside(line) for line in lines]),
        ]
    )


def _inside(line: Coverage) -> str:
    """A share, with a mark where it is not what it is to be."""
    if line.rows < LEAST_ROWS:
        return f"({_shown(line.inside_pct)})"
    low, high = ALLOWED_PCT
    return _shown(line.inside_pct) + (" !" if not low <= line.inside_pct <= high else "")


def parts_table(sources: Sequence[SourceErrors]) -> str:
    """Return the mean split of the predicted step, in %, a line a part."""
    known = [source for source in sources if source.expressible]
    names = dict.fromkeys(name for source in known for name in source.parts_pct)
    columns = [("part", [name.replace("_", " ") for name in names])]
    columns += [
        (printable(source.source), [_shown(source.parts_pct.get(name, 0.0)) for name in names])
        for source in known
    ]
    return "mean share of the predicted step, in %\n" + table(columns)


def worst_table(compared: Sequence[Compared], count: int) -> str:
    """Return the rows with the largest errors."""
    known = [one for one in compared if one.is_expressible]
    chosen = sorted(known, key=lambda one: -abs(one.error_pct))[:count]
    return "rows with the largest errors\n" + table(
        [
            ("row", [printable(one.row.id) for one in chosen]),
            ("predicted s", [f"{one.predicted_s:.4g}" for one in chosen]),
            ("measured s", [f"{one.row.iter_s:.4g}" for one in chosen]),
            ("error %", [_shown(one.error_pct, signed=True) for one in chosen]),
        ]
    )


def refused_text(compared: Sequence[Compared]) -> str:
    """Return the rows that ran although their predicted peak does not fit; empty where all may fit."""
    known = [one for one in compared if one.is_expressible]
    ids = [one.row.id for one in known if one.memory_verdict == "does not fit"]
    if not ids:
        return ""
    more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
    shown = f"{', '.join(ids[:_SHOWN_IDS])}{more}"
    return printable(f"{len(ids)} of {len(known)} rows ran, but do not fit as predicted: {shown}")


def inexpressible_text(compared: Sequence[Compared]) -> str:
    """Return the rows without a prediction by reason, most first; empty where there are none."""
    by_reason = inexpressible_by_reason(compared)
    if not by_reason:
        return ""
    lines = [f"{sum(len(ids) for _, ids in by_reason)} of {len(compared)} rows have no prediction"]
    for reason, ids in by_reason:
        more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
        lines.append(printable(f"  {', '.join(ids[:_SHOWN_IDS])}{more}: {reason}"))
    return "\n".join(lines)


def inexpressible_by_reason(compared: Sequence[Compared]) -> list[tuple[str, list[str]]]:
    """Return reasons why rows have no prediction with the ids of the rows, most first."""
    ids: dict[str, list[str]] = {}
    for one in compared:
        if not one.is_expressible:
            ids.setdefault(one.reason, []).append(one.row.id)
    return sorted(ids.items(), key=lambda entry: -len(entry[1]))


def table(columns: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return columns side by side: the first to the left, numbers to the right."""
    return "\n".join(aligned(list(zip(*((title, *cells) for title, cells in columns), strict=True))))


def _source_json(source: SourceErrors) -> dict[str, Any]:
    return _rounded(asdict(source))


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _rounded(value) if isinstance(value, Mapping) else _round(value)
        for name, value in values.items()
    }


def _round(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value


def _shown(value: float | None, *, signed: bool = False) -> str:
    return "–" if value is None else f"{round(value, 1) + 0.0:{'+' if signed else ''}.1f}"  # no -0.0


def calibration_text(found: Calibration) -> str:
    """Return the fit of an accelerator or framework as text."""
    uncertain = ["–" if each.uncertainty is None else f"{each.uncertainty:g}" for each in found.constants]
    lines = [
        f"{found.owner.name}: {found.rows} rows of {', '.join(found.sources)}",
        f"mean error {found.before_pct:.1f} % before, {found.mape_pct:.1f} % now, "
        f"{found.cross_mape_pct:.1f} % {found.folds}",
        table(
            [
                ("constant", [each.name for each in found.constants]),
                ("value", [f"{each.value:g}" for each in found.constants]),
                ("standard uncertainty", uncertain),
            ]
        ),
    ]
    return "\n".join([*map(printable, lines[:2]), lines[2]])
