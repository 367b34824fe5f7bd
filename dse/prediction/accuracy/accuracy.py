"""How far predictions are from measurements: by source, over all rows, and as an order of strategies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from dse.prediction.accuracy.comparison import Compared
from dse.prediction.accuracy.ranking import Ranking, ranking


@dataclass(frozen=True)
class SourceErrors:
    """Errors of the rows of one source, in % of what was measured; None where no row tells.

    `mape_pct`, `median_pct`, `p90_pct` (linear between ranks) and `max_pct` are of the absolute error of the
    step time, `bias_pct` is the mean error with its sign: above 0, predictions are too slow. `parts_pct` are
    the mean shares of the predicted step. `left_out_mape_pct` is the mean absolute error with constants
    that were fitted without the folds of its rows (`dse.prediction.accuracy.folds`).
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
