"""The winning strategies: the fastest points of a study, with and without a memory cap, in a total order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple, TypeAlias

from dse.answers.texts import rows_with
from dse.answers.ties import alike_points, indistinct_points, is_predicted, plans_in, tie_columns, tied_points
from dse.answers.verdicts import points_that_fit, points_that_may_fit, verdict_of
from dse.base.errors import InputError
from dse.base.lazy import pa, pc
from dse.base.settings import check_type
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.store.order import row_order
from dse.studies.store.reasons import Reason, reasons_of
from dse.studies.store.schema import STATUSES, Rows, Status, StudyRow, as_rows, as_table

RANKING_COLUMNS = (
    "wall_time_ns",
    "peak_memory_bytes",
    *STRATEGY_FIELDS,
    "model",
    "system",
)
"""The order of points, best first: ascending, a column breaking the ties of those before it; nulls last."""


SELECTION_COLUMNS = ("status", *RANKING_COLUMNS)
"""What `select` looks at."""

Whole: TypeAlias = "Callable[[pa.Table], list[StudyRow]]"


_TIE_BREAKERS = ("model_spec", "system_spec", "options")  # of points on variants of a system


@dataclass(frozen=True)
class Selection:
    """The answer to "which strategy?"; None where there is no such point.

    The capped points are None without a cap. The smallest peak, over all points that are ok, says by how much
    a cap is missed. A runner-up differs from the best in time or memory, as they are printed; `ties` and
    `capped_ties` count the points that do not. Of predictions it is another plan, too: `indistinct` counts
    the other plans that predictions cannot tell from the best, `roomiest` is the point of all these that
    needs least memory, None where that is the best; so `capped_indistinct` and `capped_roomiest`. `loss` is
    the reason why most of all points are not ok, if one is. `may_fit` is the fastest predicted point that is
    faster than the capped one and exceeds the memory of its accelerator, which is the cap, by no more than
    predictions are off. `surely_fits` is the fastest that fits even if its peak is larger by that; None where
    the capped one does.
    """

    optimum: StudyRow | None
    runner_up: StudyRow | None
    memory_cap_bytes: int | None
    capped_optimum: StudyRow | None
    capped_runner_up: StudyRow | None
    smallest_peak_memory_bytes: int | None
    counts: Mapping[Status, int]
    ties: int = 0
    capped_ties: int = 0
    loss: Reason | None = None
    may_fit: StudyRow | None = None
    surely_fits: StudyRow | None = None
    indistinct: int = 0
    roomiest: StudyRow | None = None
    capped_indistinct: int = 0
    capped_roomiest: StudyRow | None = None


def select(rows: Rows, *, memory_cap_bytes: int | None = None, whole: Whole = as_rows) -> Selection:
    """Both optima, their runners-up, and the number of points by status.

    A table may have only `SELECTION_COLUMNS` if `whole` gets the whole rows of a few of its rows.

    Raises:
        InputError: a cap is asked for and no point has a peak memory, or the cap is no number of bytes.
    """
    check_type("select: memory_cap_bytes", memory_cap_bytes, (Integral, type(None)), "a whole number or None")
    memory_cap_bytes = None if memory_cap_bytes is None else int(memory_cap_bytes)  # that of numpy, too
    if memory_cap_bytes is not None and not abs(memory_cap_bytes) < 2**63:
        raise InputError("select: memory_cap_bytes must be a number of bytes below 2^63, or None for no cap")
    table = as_table(rows)
    finished = finished_points(table)
    best = _best_and_runner_up(table, finished, whole)
    capped, may_fit = _Best(), None
    if memory_cap_bytes is not None:
        fitting = _fitting(table, finished, memory_cap_bytes)
        all_fit = len(fitting) == len(finished)
        capped = best if all_fit else _best_and_runner_up(table, fitting, whole)
        may_fit = _fastest_that_may_fit(table, memory_cap_bytes, capped.optimum, whole)
    return Selection(
        optimum=best.optimum,
        runner_up=best.runner_up,
        memory_cap_bytes=memory_cap_bytes,
        capped_optimum=capped.optimum,
        capped_runner_up=capped.runner_up,
        smallest_peak_memory_bytes=pc.min(table["peak_memory_bytes"].take(finished)).as_py(),
        counts=counts_by_status(table),
        ties=best.ties,
        capped_ties=capped.ties,
        loss=_loss(table),
        may_fit=may_fit,
        surely_fits=_fastest_that_surely_fits(table, memory_cap_bytes, capped.optimum, whole),
        indistinct=best.indistinct,
        roomiest=best.roomiest,
        capped_indistinct=capped.indistinct,
        capped_roomiest=capped.roomiest,
    )


def _fastest_that_surely_fits(
    table: pa.Table, memory_cap_bytes: int | None, best: StudyRow | None, whole: Whole
) -> StudyRow | None:
    """Return the point that `Selection.surely_fits` is, of points with the fields of strategies."""
    if memory_cap_bytes is None or best is None or verdict_of(best, memory_cap_bytes) != "may fit":
        return None
    return next(iter(_ranked(table, points_that_fit(table, memory_cap_bytes), 1, whole)), None)


def _fastest_that_may_fit(
    table: pa.Table, memory_cap_bytes: int, best: StudyRow | None, whole: Whole
) -> StudyRow | None:
    """Return the point that `Selection.may_fit` is, of points with the fields of strategies."""
    points = points_that_may_fit(table, memory_cap_bytes, None if best is None else best.wall_time_ns)
    first = _ranked(table, points, 1, whole)
    return first[0] if first and verdict_of(first[0], memory_cap_bytes) == "may fit" else None


def _loss(table: pa.Table) -> Reason | None:
    """The reason that more than half of the points have in common."""
    reasons = reasons_of(table) if "reason" in table.column_names else []
    return reasons[0] if reasons and 2 * reasons[0].points > table.num_rows else None


class _Best(NamedTuple):
    optimum: StudyRow | None = None
    runner_up: StudyRow | None = None
    ties: int = 0
    indistinct: int = 0
    roomiest: StudyRow | None = None


def _best_and_runner_up(table: pa.Table, points: pa.Array, whole: Whole) -> _Best:
    """The first of these points, the first that is not alike, and how many are tied with it."""
    first = _ranked(table, points, 1, whole)
    if not first:
        return _Best()
    best, roomiest, indistinct = first[0], None, 0
    candidates = table.select([*tie_columns(best)])
    if len(points) < table.num_rows:
        candidates = candidates.take(points)
    others = points.filter(pa.array(~alike_points(candidates, best)))
    second = _ranked(table, others, 1, whole)
    ties = int(tied_points(candidates, best).sum()) - 1
    if is_predicted(best):
        near = points.filter(pa.array(indistinct_points(candidates, best)))
        indistinct, roomiest = _indistinct(table.take(near), best, whole)
    return _Best(best, second[0] if second else None, ties, indistinct, roomiest)


def _indistinct(near: pa.Table, best: StudyRow, whole: Whole) -> tuple[int, StudyRow | None]:
    """How many other plans predictions cannot tell from the best, and the roomiest point of all these."""
    order = rank_order(near, ["peak_memory_bytes", *RANKING_COLUMNS])
    (roomiest,) = whole(near.take(order[:1]))
    is_same = roomiest.peak_memory_bytes == best.peak_memory_bytes
    return plans_in(near) - 1, None if is_same else roomiest


def best(rows: Rows, *, memory_cap_bytes: int | None = None) -> StudyRow | None:
    """The point that is ok with the least wall time (and a peak memory of at most the cap); see `ranking`."""
    return next(iter(ranking(rows, memory_cap_bytes=memory_cap_bytes, limit=1)), None)


def runner_up(rows: Rows, *, memory_cap_bytes: int | None = None) -> StudyRow | None:
    """The first of the ranking whose time or memory is not printed as that of the best, or another plan."""
    selection = select(rows, memory_cap_bytes=memory_cap_bytes)
    return selection.runner_up if memory_cap_bytes is None else selection.capped_runner_up


def ranking(rows: Rows, *, memory_cap_bytes: int | None = None, limit: int | None = None) -> list[StudyRow]:
    """The points that are ok, best first by `RANKING_COLUMNS`, at most `limit` of them.

    With a cap, only those whose peak memory is known and at most `memory_cap_bytes`.

    Raises:
        InputError: a cap is asked for and no point has a peak memory.
    """
    table = as_table(rows)
    points = finished_points(table)
    if memory_cap_bytes is not None:
        points = _fitting(table, points, memory_cap_bytes)
    return _ranked(table, points, limit, as_rows)


def counts_by_status(rows: Rows) -> dict[Status, int]:
    """The number of points of every status, zeros included, in the order of `STATUSES`."""
    counted = pc.value_counts(as_table(rows)["status"]).to_pylist()
    found = {entry["values"]: int(entry["counts"]) for entry in counted}
    return {status: found.get(status, 0) for status in STATUSES}


def finished_points(table: pa.Table) -> pa.Array:
    """The indices of the points that are ok."""
    ok = pc.and_(rows_with(table["status"], "ok"), pc.is_valid(table["wall_time_ns"]))
    return _indices(ok)


def _fitting(table: pa.Table, finished: pa.Array, memory_cap_bytes: int) -> pa.Array:
    peaks = table["peak_memory_bytes"].take(finished)
    if len(finished) and peaks.null_count == len(finished):
        raise InputError(
            "a memory cap needs peak memories, and no point has one: "
            "turn on track_local_memory in the system and sweep again, or ask without a cap"
        )
    return finished.take(_indices(pc.less_equal(peaks, memory_cap_bytes)))


def _ranked(table: pa.Table, points: pa.Array, limit: int | None, whole: Whole) -> list[StudyRow]:
    """The first `limit` points; only those that are as fast as the last of them are sorted by all columns."""
    count = len(points) if limit is None else min(limit, len(points))
    if count < len(points):
        walls = table["wall_time_ns"].take(points).combine_chunks()
        if count == 1:  # a tenth of the time
            slowest = pc.min(walls)
        else:
            few = pc.select_k_unstable(pa.table({"wall": walls}), count, sort_keys=[("wall", "ascending")])
            slowest = pc.max(walls.take(few)) if count else pa.scalar(-1, pa.int64())
        points = points.take(_indices(pc.less_equal(walls, slowest)))
    candidates = table.take(points)
    return whole(candidates.take(rank_order(candidates)[:count]))


def rank_order(table: pa.Table, columns: Sequence[str] = RANKING_COLUMNS) -> pa.Array:
    """The indices of the rows of a table, best first; of rows with equal columns the inputs decide."""
    inputs = [name for name in _TIE_BREAKERS if name in table.column_names]
    return pa.array(row_order(table, list(dict.fromkeys([*columns, *inputs]))))


def ranks_of_texts(column: pa.ChunkedArray) -> pa.Array:
    """For each row the place of its text among all of them: texts are long, and many rows share them."""
    texts = pc.dictionary_encode(column).unify_dictionaries().combine_chunks()
    if isinstance(texts, pa.ChunkedArray):  # no chunk at all
        return pa.array([], pa.int32())
    return pc.rank(texts.dictionary, tiebreaker="dense").take(texts.indices)


def _indices(mask: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Where a mask is true; nulls are not."""
    filled = pc.fill_null(mask, False)
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    return pc.cast(pc.indices_nonzero(filled), pa.int64())
