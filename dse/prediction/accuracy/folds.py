"""Measured steps that are left out together when constants are checked: by source, model or scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dse.base.errors import InputError
from dse.base.suggestions import did_you_mean
from dse.prediction.measured.rows import MeasuredRow

FOLDS = ("source", "model", "scale")
_PARTS_OF_MODELS = 5
_BANDS = (0, 8, 64, 512)


def fold_names(rows: Sequence[MeasuredRow], by: str) -> list[str]:
    """Return the name of each row's fold.

    `source`: a publisher at a time, with all releases. `model`: a fifth of the models, by size in turn,
    whoever ran them. `scale`: runs on up to 8 GPUs, to 64, to 512, and more.

    Raises:
        InputError: there are no such folds.
    """
    if by not in FOLDS:
        raise InputError(f"folds is {by!r}; allowed are {', '.join(FOLDS)}{did_you_mean(by, FOLDS)}")
    if by == "source":
        return [row.publisher for row in rows]
    if by == "scale":
        return [_band(row.gpus) for row in rows]
    shapes = [(row.hidden, row.layers, row.experts or 0, row.ffn or 0) for row in rows]
    number_of = {shape: number for number, shape in enumerate(sorted(set(shapes)))}
    return [f"models {number_of[shape] % _PARTS_OF_MODELS + 1}" for shape in shapes]


def _band(gpus: int) -> str:
    for below, most in pairwise(_BANDS):
        if gpus <= most:
            return f"{below + 1} to {most} GPUs"
    return f"above {_BANDS[-1]} GPUs"
