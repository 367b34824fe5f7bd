"""Plans that predictions cannot tell apart: how large a difference has to be to say which plan is faster.

Predictions of two plans of one model on one cluster err alike, so that their order is surer than their times.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from dse.prediction.intervals.unseen import DATA

TOLD = 2 / 3
"""Share of pairs of plans in the right order from which on predictions are said to tell them apart."""

_PATH = DATA / "ties.csv"
_HEADINGS = ("gap", "pairs", "groups")


@lru_cache(maxsize=1)
def tie_gap() -> float:
    """Return by what share of the faster time two plans have to differ; 0 where no plans were compared."""
    if not _PATH.is_file():
        return 0.0
    lines = [line for line in _PATH.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return float(next(csv.DictReader(lines))["gap"])


def written(gap: float, pairs: int, groups: int, comment: str) -> str:
    """Return the text of the file that `tie_gap` reads."""
    return f"# {comment}\n{','.join(_HEADINGS)}\n{gap:.3g},{pairs},{groups}\n"


def pairs_of(groups: Iterable[Sequence[tuple[float, float]]]) -> list[tuple[float, bool]]:
    """Return for pairs of plans by how much they were predicted to differ, and whether in the right order.

    Groups have the predicted and the measured times of plans that compete. Equal times have no order.
    """
    found = []
    for group in groups:
        for (first, measured), (second, other) in combinations(sorted(group), 2):
            if second > first and measured != other:
                found.append((second / first - 1, other > measured))
    return found


def telling_gap(pairs: Iterable[tuple[float, bool]]) -> float:
    """Return from which difference on at least `TOLD` of the pairs are in the right order; inf for none.

    The share of right pairs is fitted as a function of the difference that never falls (isotonic regression
    by pooling adjacent violators: Ayer et al., 1955).
    """
    blocks: list[tuple[float, float, int]] = []  # least difference, right pairs, pairs
    for gap, is_right in sorted(pairs):
        block = (gap, float(is_right), 1)
        while blocks and blocks[-1][1] * block[2] >= block[1] * blocks[-1][2]:
            first, right, count = blocks.pop()
            block = (first, right + block[1], count + block[2])
        blocks.append(block)
    return next((gap for gap, right, count in blocks if right >= TOLD * count), math.inf)
