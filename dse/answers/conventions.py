"""Notes once below answers: what MFU counts, and which points are no better than others for certain."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from dse.inputs.models import RELATIVE_ERROR, counted_by
from dse.prediction.intervals.ties import tie_gap
from dse.studies.points import PREDICTION, SIMULATION, method_of_options
from dse.studies.store.schema import StudyRow

PREDICTED = (
    "predicted, not measured: plans within {gap:.1f} % of each other are ties: none is known to be faster "
    "(docs/accuracy.md)"
)
"""What to say of points that are predicted."""

_SIXTEEN_BIT = ("bf16", "fp16")

MFU_PREDICTED = (
    "a multiply-add is two FLOPs; recompute does not count; the peak is that of dense 16-bit products"
)
MFU_PREDICTED_IN = (
    "a multiply-add is two FLOPs; recompute does not count; the peak is that of dense {precision} products, "
    "which are most of those under precision={precision} (column mfu_pct has the share of the 16-bit peak)"
)

CUT = (
    "MFU and tokens per s are left out where shards are cut to whole numbers: such a step does less than the "
    "model needs (column fractional)"
)
NO_PEAK = (
    "MFU is left out where another program makes the workload, and where compute times do not follow the peak"
)


def shown_mfu(row: StudyRow) -> float | None:
    """Return the MFU of a row in per cent of the peak of its most products; None without one."""
    factor = _peak_factor(row)
    return row.mfu_pct if row.mfu_pct is None or factor is None else row.mfu_pct / factor


def mfu_convention(row: StudyRow) -> str | None:
    """Return what `shown_mfu` of a row counts; None where it has none."""
    return None if row.mfu_pct is None or row.model_spec is None else convention_of(row).mfu(row)


def _peak_factor(row: StudyRow) -> float | None:
    """How many times the 16-bit peak that of the precision of a row is; None if it is the same."""
    if row.precision in _SIXTEEN_BIT or row.system_spec is None:
        return None
    peaks = (_model(row.system_spec).get("accelerator") or {}).get("peak_tflops") or {}
    own, common = peaks.get(row.precision), peaks.get("bf16") or peaks.get("fp16")
    return own / common if own and common else None


def missing_figures(rows: Iterable[StudyRow | None]) -> list[str]:
    """Return why some of the rows have no MFU, or no tokens per second."""
    found: dict[str, None] = {}
    for row in rows:
        if row is None or row.status != "ok" or row.mfu_pct is not None or row.options is None:
            continue
        if row.fractional:
            found[CUT] = None
        elif row.tokens_per_s is not None:
            found[NO_PEAK] = None
    return list(found)


def mfu_conventions(rows: Iterable[StudyRow | None]) -> list[str]:
    """Return a line for each way of counting among the rows, and why figures are missing."""
    some = [row for row in rows if row is not None]
    found = dict.fromkeys(map(mfu_convention, some))
    return [*(mfu_line(text) for text in found if text is not None), *missing_figures(some)]


def mfu_line(counted: str) -> str:
    """Return the line that says what an MFU counts."""
    return f"MFU: {counted}"


def model_error(row: StudyRow) -> float | None:
    """Return how far wall times of a row's fidelity may be off against each other, or None if not known."""
    if row.model_spec is None:
        return 0.0  # rows of schema version 1 are of the reference's model
    model = _model(row.model_spec)
    if any(value is not None for value in (model.get("repairs") or {}).values()):
        return None
    return RELATIVE_ERROR[model.get("fidelity", "stage")]


def certainty(best: StudyRow | None, others: Sequence[StudyRow | None]) -> list[str]:
    """Say which of the other points are tied with the best one within the error of the model.

    Nothing where the model has none, or where there is nothing to compare.
    """
    compared = [row for row in others if row is not None]
    if best is None or not compared or best.wall_time_ns is None:
        return []
    return convention_of(best).certainty(best, compared)


def _tied(best: StudyRow, compared: Sequence[StudyRow]) -> list[str]:
    error = model_error(best)
    if error is None:
        return ["times of this fidelity are not calibrated: how small a difference still counts is not known"]
    limit = (best.wall_time_ns or 0) * (1 + error)
    tied = [row.label() for row in compared if error and (row.wall_time_ns or 0) <= limit]
    return [f"tied with the best within the model's error of {100 * error:g} %: {', '.join(tied)}"] * bool(
        tied
    )


def _mfu_counted(row: StudyRow) -> str:
    return counted_by(_model(row.model_spec or "{}"))


def _mfu_predicted(row: StudyRow) -> str:
    own_peak = _peak_factor(row) is not None
    return MFU_PREDICTED_IN.format(precision=row.precision) if own_peak else MFU_PREDICTED


class Convention(NamedTuple):
    """The notes on points of a method: what their MFU counts, and how sure the best one is.

    A table of such points leaves out `idle_axes` where they have their defaults.
    """

    mfu: Callable[[StudyRow], str]
    certainty: Callable[[StudyRow, Sequence[StudyRow]], list[str]]
    idle_axes: tuple[str, ...] = ()


_CONVENTIONS = {
    # cp, tp and recompute say more than the axes that few predictions have.
    PREDICTION.name: Convention(
        _mfu_predicted,
        lambda _best, _compared: [PREDICTED.format(gap=100 * tie_gap())],
        ("sp", "activation_recompute"),
    ),
    SIMULATION.name: Convention(_mfu_counted, _tied),
}


def convention_of(row: StudyRow) -> Convention:
    """Return what notes say of a row."""
    return _CONVENTIONS[method_of_options(row.options).name]


@functools.lru_cache(maxsize=64)
def _model(text: str) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(text)
    return model


_CHARGED = re.compile(r"(?P<axis>\w+ \d+) is charged for dimension (?P<charged>.+), not for (?P<crossed>.+)")


def cautions(rows: Iterable[StudyRow | None]) -> list[str]:
    """Return a line for each thing that the rows say of themselves, each once, in the order of the rows."""
    lines = []
    for row in rows:
        if row is not None:
            lines += caution_lines(row.impossible_split, row.understated_comm)
            lines += note_lines(row.prediction_notes)
    return [line for line in dict.fromkeys(lines) if not any(_says_more(other, line) for other in lines)]


def _says_more(other: str, line: str) -> bool:
    return other != line and other.startswith(f"{line},")


def note_lines(prediction_notes: str | None) -> list[str]:
    """Return the lines for the value of this column."""
    return [f"note: {text}" for text in prediction_notes.split("; ")] if prediction_notes else []


def caution_lines(impossible_split: str | None, understated_comm: str | None) -> list[str]:
    """Return the lines for the values of these columns."""
    splits = impossible_split.split("; ") if impossible_split else []
    texts = understated_comm.split("; ") if understated_comm else []
    return [
        *(f"warning: no program can split this: {split}" for split in splits),
        *(f"warning: {understated_words(text)}" for text in texts),
    ]


def understated_words(text: str) -> str:
    """Return the meaning of an entry of `understated_comm`: "dp 32 is charged for dimension 0, not for 1"."""
    match = _CHARGED.fullmatch(text)
    if match is None:
        return f"{text}, as in the reference: slower links are not in this time"
    crossing = f"{match['axis']} crosses slower links (dimension {match['crossed']})"
    return f"{crossing} but is timed on dimension {match['charged']}, as in ASTRA-sim"
