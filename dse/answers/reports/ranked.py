"""The finished points of one question in the order of the ranking, and which of them a page shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dse.answers import cap_curve
from dse.answers.conventions import shown_mfu
from dse.answers.groups import variant_of
from dse.answers.reports.commands import Commands
from dse.answers.reports.runs_of_points import run_figure
from dse.answers.selection import finished_points, rank_order
from dse.answers.ties import alike_points, indistinct_points, is_predicted, plans_in, tie_words
from dse.base.lazy import np, pa, pc
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.store import Snapshot, StudyRow

RANK = "rank"
"""A column: 0 for the best point. On the page it names the point."""


_MOST_AXES = 8  # whose pairs are looked at: the degrees come first


@dataclass(frozen=True)
class Ranked:
    """`table` has the points that are ok, best first, with their `RANK`."""

    snapshot: Snapshot
    table: pa.Table

    @classmethod
    def of(cls, snapshot: Snapshot, table: pa.Table) -> Ranked:
        """Rank the rows of a table of the snapshot."""
        finished = table.take(finished_points(table))
        ordered = finished.take(rank_order(finished))
        return cls(snapshot, ordered.append_column(RANK, pa.array(np.arange(ordered.num_rows))))

    def rows(self, ranks: Sequence[int]) -> list[StudyRow]:
        """Return whole rows, in the order of `ranks`."""
        return self.snapshot.rows(self.table.take(pa.array(ranks, pa.int64()))) if ranks else []

    def has_memory(self) -> bool:
        """Whether some point has a peak memory."""
        column = self.table["peak_memory_bytes"]
        return bool(column.null_count < len(column))

    def under(self, memory_cap_bytes: int) -> Ranked:
        """Return those whose peak memory is known and at most the cap; they keep their ranks."""
        return Ranked(
            self.snapshot, self.table.filter(pc.less_equal(self.table["peak_memory_bytes"], memory_cap_bytes))
        )

    def first(self, count: int) -> list[int]:
        """Return the ranks of the best points."""
        ranks: list[int] = self.table[RANK].slice(0, count).to_pylist()
        return ranks

    def best_and_runner_up(self) -> tuple[int | None, int | None]:
        """Return the ranks of the best point and of the first that is not alike, None for none."""
        if not self.table.num_rows:
            return None, None
        first = self.first(1)[0]
        alike = alike_points(self.table, self.rows([0])[0])
        others = (~alike).nonzero()[0]
        return first, self.table[RANK][int(others[0])].as_py() if len(others) else None

    def tie_sentence(self) -> list[str]:
        """Return a sentence on plans that predictions cannot tell from the best; none without such plans."""
        if not self.table.num_rows or not is_predicted(best := self.rows([0])[0]):
            return []
        near = self.table.filter(pa.array(indistinct_points(self.table, best)))
        others = plans_in(near) - 1
        least = pc.index(near["peak_memory_bytes"], pc.min(near["peak_memory_bytes"])).as_py()
        (roomiest,) = self.snapshot.rows(near.slice(max(least, 0), 1))
        return [tie_words(best, others, roomiest)] if others else []

    def cap_steps(self) -> list[tuple[int, int]]:
        """Return (cap in bytes, rank of the best point from it on), by ascending cap: the Pareto front."""
        if not self.has_memory():
            return []
        ranks: list[int] = []

        def whole(some: pa.Table) -> list[StudyRow]:
            ranks.extend(some[RANK].to_pylist())
            return self.snapshot.rows(some)

        caps = [step.memory_cap_bytes for step in cap_curve(self.table, whole=whole)]
        return list(zip(caps, reversed(ranks), strict=True))  # the curve is the front the other way round

    def best_of_each(self, columns: Iterable[str]) -> list[tuple[tuple[Any, ...], int]]:
        """Return the values of these columns and the rank of the best point that has them, best first."""
        names = list(columns)
        grouped = self.table.group_by(names).aggregate([(RANK, "min")]).sort_by(f"{RANK}_min")
        values = zip(*(grouped[name].to_pylist() for name in names), strict=True)
        return list(zip(values, grouped[f"{RANK}_min"].to_pylist(), strict=True))

    def best_of_pairs(self) -> set[int]:
        """Return the ranks of the best points of all pairs of values, over each pair of axes that vary."""
        varied = [name for name in STRATEGY_FIELDS if len(self.table[name].unique()) > 1][:_MOST_AXES]
        return {rank for pair in combinations(varied, 2) for _, rank in self.best_of_each(pair)}

    def sample(self, needed: Iterable[int], max_points: int) -> list[int]:
        """Return about `max_points` ranks, ascending: all that are needed, then the best of each strategy.

        The rest is taken at even steps through the ranking, so that slow points are shown too. Where the best
        of strategies do not all fit, they get half of the room.
        """
        total = self.table.num_rows
        if total <= max_points:
            return list(range(total))
        kept = np.unique(np.fromiter(needed, np.int64))
        best = np.array([rank for _, rank in self.best_of_each(STRATEGY_FIELDS)], np.int64)
        for candidates, share in ((best, 2), (np.arange(total), 1)):
            others = np.setdiff1d(candidates, kept)
            room = max(0, max_points - len(kept))
            count = min(len(others), room if len(others) <= room else room // share)
            kept = np.union1d(kept, others[(np.arange(count) * len(others)) // max(count, 1)])
        return [int(rank) for rank in kept]


POINT_FIELDS = (
    *STRATEGY_FIELDS,
    *("wall_time_ns", "peak_memory_bytes", "exposed_comm_ns", "gpu_time_ns", "comm_time_ns"),
    *("wall_time_low_ns", "wall_time_high_ns"),
    *("compute_utilization_pct", "memory_utilization_pct", "compute_bound_pct", "operation_intensity"),
    *("mfu_pct", "tokens_per_s", "tokens_per_s_per_npu"),
    *("fractional", "last_rank", "rank_classes", "key"),
)
"""The fields of each point on the page; its rank, its origin and figures of runs come in addition."""


def points_of(
    rows: Mapping[int, StudyRow], commands: Commands, described: Mapping[str, str], figures: Sequence[str]
) -> tuple[list[list[Any]], list[dict[str, str]]]:
    """Each point as [rank, number of its origin, *POINT_FIELDS, *figures], and the origins."""
    numbers: dict[tuple[str, str, str], int] = {}
    points = []
    for rank, row in rows.items():
        origin = commands.origin(row)
        entry = (origin.command, origin.note, variant_of(row, described))
        number = numbers.setdefault(entry, len(numbers))
        values = [*(_field(row, name) for name in POINT_FIELDS), *(run_figure(row, name) for name in figures)]
        points.append([rank, number, *map(plain, values)])
    origins = [{"command": command, "note": note, "variant": variant} for command, note, variant in numbers]
    return points, origins


def _field(row: StudyRow, name: str) -> Any:
    """A field of a row as the page shows it: MFU is that of the precision of products."""
    return shown_mfu(row) if name == "mfu_pct" else getattr(row, name)


def plain(value: Any) -> Any:
    """A value as JSON can hold it. Percentages have three decimals, as the simulator reports them."""
    if isinstance(value, float):
        return round(value, 3) if math.isfinite(value) else None
    return value
