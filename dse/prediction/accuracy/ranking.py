"""Whether predictions order strategies as measurements do, and what trusting their pick costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from statistics import fmean
from typing import Any

from dse.prediction.accuracy.comparison import Compared

LEAST_STRATEGIES = 5  # with fewer, the order is mostly luck; also what the published figures were made with
_equal_of = attrgetter(
    "source",
    "gpu",
    "hardware",
    "gpus",
    "layers",
    "hidden",
    "ffn",
    "gated",
    "heads",
    "kv_heads",
    "vocab",
    "experts",
    "topk",
    "moe_ffn",
    "mla",
    "head_dim",
    "tied_embeddings",
    "shared_experts",
    "first_dense_layers",
    "mtp_layers",
    "seq",
    "gbs",
)
_strategy_of = attrgetter(
    "tp",
    "pp",
    "dp",
    "cp",
    "ep",
    "zero",
    "mbs",
    "schedule",
    "vp",
    "recompute",
    "sp",
    "attention",
    "precision",
    "expert_tp",
    "offload",
    "shard_ranks",
    "context",
    "recompute_modules",
)


@dataclass(frozen=True)
class Ranking:
    """How well strategies are ordered within groups of equal model, GPUs, batch and source.

    `spearman_mean` is the mean over groups of Spearman's rank correlation of predicted with measured times.
    The pick of a group is the strategy predicted fastest (the mean of several that are predicted alike). Its
    loss is its measured time over the least measured one, less 1, in %. All are None without groups.
    """

    groups: int
    rows: int
    spearman_mean: float | None
    pick_loss_mean_pct: float | None
    pick_loss_max_pct: float | None


def ranking(compared: Iterable[Compared], least: int = LEAST_STRATEGIES) -> Ranking:
    """Return the ranking over all groups of at least `least` strategies that can be expressed."""
    groups = [group for group in ranked_groups(compared) if len(group) >= least]
    if not groups:
        return Ranking(0, 0, None, None, None)
    losses = [pick_loss_pct(*zip(*group, strict=True)) for group in groups]
    return Ranking(
        groups=len(groups),
        rows=sum(map(len, groups)),
        spearman_mean=fmean(spearman(*zip(*group, strict=True)) for group in groups),
        pick_loss_mean_pct=fmean(losses),
        pick_loss_max_pct=max(losses),
    )


def ranked_groups(compared: Iterable[Compared]) -> list[list[tuple[float, float]]]:
    """Return predicted and measured seconds of each strategy by group; equal strategies by their means."""
    keyed = [
        (_key(_equal_of(one.row)), _key(_strategy_of(one.row)), one) for one in compared if one.is_expressible
    ]
    keyed.sort(key=itemgetter(0, 1))
    return [
        [_means([one for *_, one in equal]) for _, equal in groupby(group, key=itemgetter(1))]
        for _, group in groupby(keyed, key=itemgetter(0))
    ]


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation: that of the ranks, equal values having their mean rank.

    0 where all values of one side are equal: they order nothing.
    """
    ranks = [mean_ranks(values) for values in (first, second)]
    apart = [[rank - fmean(side) for rank in side] for side in ranks]
    squares = [math.fsum(x * x for x in side) for side in apart]
    if not all(squares):
        return 0.0
    return math.fsum(x * y for x, y in zip(*apart, strict=True)) / math.sqrt(math.prod(squares))


def mean_ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, counted from 1; equal values share the mean of theirs."""
    ranks = [0.0] * len(values)
    before = 0
    for _, group in groupby(sorted(range(len(values)), key=values.__getitem__), key=values.__getitem__):
        places = list(group)
        for place in places:
            ranks[place] = before + (len(places) + 1) / 2
        before += len(places)
    return ranks


def pick_loss_pct(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """Return how much longer the strategy predicted fastest took than the fastest, in %."""
    least = min(predicted)
    picked = fmean(time for guess, time in zip(predicted, measured, strict=True) if guess == least)
    return 100 * (picked / min(measured) - 1)


def _means(equal: Sequence[Compared]) -> tuple[float, float]:
    return fmean(one.predicted_s for one in equal), fmean(one.row.iter_s for one in equal)


def _key(values: Iterable[Any]) -> tuple[Any, ...]:
    """A key that sorts and distinguishes. An unknown value comes first and differs from all others."""
    return tuple([(False, 0) if value is None else (True, value) for value in values])
