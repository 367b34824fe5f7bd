"""Stages of the checker's relaxed problem as flat arrays, and the least price of each in a region."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.planner.proofs.stages import Matrix
from dse.planner.proofs.ways import RelaxedWay


class Region(NamedTuple):
    """Longest stage time, and largest update and reduction."""

    period_low: float
    period_high: float
    tail_low: float
    tail_high: float


class Steps:
    """Ways with the ranges of layers that they can have: entries, those that fit the most in flight first.

    `least_gap_ms` is the least of what a last stage adds once a micro-batch, and at most 0.
    """

    def __init__(self, ways: Sequence[RelaxedWay], kinds: Sequence[int], layers: int, most: int) -> None:
        self._layers, self._most = layers, most
        firsts, ends = np.triu_indices(layers + 1, 1)
        places = (ends - firsts - 1) * (layers + 1) + ends
        none = np.zeros(0, dtype=int)
        found: list[tuple[NDArray[Any], ...]] = [(none,) * 6]
        self.least_gap_ms = 0.0
        for number, (way, kind) in enumerate(zip(ways, kinds, strict=True)):
            total, in_flight = way.sum_ms[firsts, ends], way.in_flight[firsts, ends]
            period = way.period_ms[firsts, ends]
            last = np.isfinite(total) & (ends == layers)
            self.least_gap_ms = min(self.least_gap_ms, (total[last] - period[last]).min(initial=0.0))
            some = np.flatnonzero(np.isfinite(total) & (in_flight >= 1))
            found.append(
                (
                    np.minimum(in_flight[some], most).astype(int),
                    np.full(len(some), number),
                    kind * layers * (layers + 1) + places[some],
                    period[some],
                    total[some],
                    way.tail_ms[firsts, ends][some],
                )
            )
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        order = np.argsort(-columns[0], kind="stable")
        levels, self._way, self._place, self._period, self._sum, self._tail = (
            column[order] for column in columns
        )
        self._begin = np.searchsorted(-levels, -np.arange(most, -1, -1))

    def levels(self, region: Region, fees: Matrix, kinds: int) -> Iterator[tuple[int, Matrix]]:
        """Yield micro-batches in flight, the most first, and the least time and fee of stages that hold them.

        By kind, layers less one, and end; the array is the same one each time. It ends with the most layers
        that a stage of the region can have.
        """
        layers = self._layers
        fits = (self._period <= above(region.period_high)) & (self._tail <= above(region.tail_high))
        chosen = np.flatnonzero(fits)
        places = self._place[chosen]
        prices = self._sum[chosen] + fees[self._way[chosen]]
        begin = np.searchsorted(chosen, self._begin)
        longest = 1 + int((places // (layers + 1) % layers).max(initial=0))
        flat = np.full(kinds * layers * (layers + 1), np.inf)
        least = flat.reshape(kinds, layers, layers + 1)[:, :longest]
        for number in range(self._most):
            level = slice(begin[number], begin[number + 1])
            np.minimum.at(flat, places[level], prices[level])
            yield self._most - number, least


SLACK = 1e-9
"""Relative; the search allows twice as much at the edges of its boxes."""


def above(value: float) -> float:
    """Return what a number, of any sign, may be at most after rounding."""
    return value + SLACK * abs(value)


def below(value: float) -> float:
    """Return what a number, of any sign, may be at least after rounding."""
    return value - SLACK * abs(value)
