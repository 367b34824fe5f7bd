"""How far predictions are from measurements: by source, over all rows, and as an order of strategies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from dse.base.errors import InputError, did_you_mean
from dse.prediction.accuracy.comparison import Compared
from dse.prediction.accuracy.ranking import Ranking, ranking
from dse.prediction.measured.rows import MeasuredRow


@dataclass(frozen=True)
class SourceErrors:
    """Errors of the rows of one source, in % of what was measured; None where no row tells.

    `mape_pct`, `median_pct`, `p90_pct` (linear between ranks) and `max_pct` are of the absolute error of the
    step time, `bias_pct` is the mean error with its sign: above 0, predictions are too slow. `parts_pct` are
    the mean shares of the predicted step. `left_out_mape_pct` is the mean absolute error with constants
    that were fitted without the folds of its rows.
    """

    source: str
    rows: int
    expressible: int
    mape_pct: float | None
    median_pct: float | None
    p90_pct: float | None
    max_pct: float | None
    bias_pct: float | None
    memory_rows: int
    memory_mape_pct: float | None
    memory_max_pct: float | None
    parts_pct: Mapping[str, float]
    ranking: Ranking
    left_out_mape_pct: float | None = None


@dataclass(frozen=True)
class Accuracy:
    """Rows as compared; errors by source in the order of the rows, of all together, by columns asked for."""

    compared: Sequence[Compared]
    sources: Sequence[SourceErrors]
    total: SourceErrors
    parted: Sequence[SourceErrors] = ()
    notes: Sequence[str] = field(default=())

    @property
    def ranking(self) -> Ranking:
        """The ranking of all groups."""
        return self.total.ranking


def accuracy(
    compared: Sequence[Compared],
    by: Sequence[str] = (),
    left_out_mape_pct: Mapping[str, float] | None = None,
) -> Accuracy:
    """Return the errors of compared rows, by the columns `by` too.

    `left_out_mape_pct` are the errors of a cross-validation, by source.
    """
    left_out = left_out_mape_pct or {}
    sources = [errors(name, rows, left_out.get(name)) for name, rows in parted(compared, ["source"]).items()]
    finer = [errors(name, rows) for name, rows in parted(compared, by).items()] if by else []
    bugs = [one for one in compared if one.is_bug]
    notes = [f"{one.row.id}: {one.reason}; please report it" for one in bugs]
    return Accuracy(compared, sources, errors("all", compared), finer, notes)


def parted(compared: Sequence[Compared], columns: Sequence[str]) -> dict[str, list[Compared]]:
    """Return rows by their values in some columns, in the order of the rows."""
    parts: dict[str, list[Compared]] = {}
    for one in compared:
        values = [getattr(one.row, column) for column in columns]
        name = ", ".join("–" if value in (None, "") else str(value) for value in values)
        parts.setdefault(name, []).append(one)
    return parts


def errors(source: str, compared: Sequence[Compared], left_out_mape_pct: float | None = None) -> SourceErrors:
    """Return the errors of some rows under the name `source`."""
    known = [one for one in compared if one.is_expressible]
    sizes = [abs(one.error_pct) for one in known]
    memory = [abs(error) for one in known if (error := one.memory_error_pct) is not None]
    return SourceErrors(
        source=source,
        rows=len(compared),
        expressible=len(known),
        mape_pct=fmean(sizes) if sizes else None,
        median_pct=quantile(sizes, 0.5) if sizes else None,
        p90_pct=quantile(sizes, 0.9) if sizes else None,
        max_pct=max(sizes, default=None),
        bias_pct=fmean(one.error_pct for one in known) if known else None,
        memory_rows=len(memory),
        memory_mape_pct=fmean(memory) if memory else None,
        memory_max_pct=max(memory, default=None),
        parts_pct=mean_parts_pct(known),
        ranking=ranking(compared),
        left_out_mape_pct=left_out_mape_pct,
    )


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value below which `share` of the values are, linear between the two nearest ranks."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def parts_pct(one: Compared) -> dict[str, float]:
    """Return the parts of the predicted step of a row, in % of it."""
    if not one.predicted_s:
        return {}
    return {name: 100 * seconds / one.predicted_s for name, seconds in one.parts_s.items()}


def mean_parts_pct(known: Sequence[Compared]) -> dict[str, float]:
    """Return the means of the shares over rows."""
    shares = [parts_pct(one) for one in known]
    names = dict.fromkeys(name for share in shares for name in share)
    return {name: fmean(share.get(name, 0.0) for share in shares) for name in names}


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
