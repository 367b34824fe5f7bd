"""The ranks that a communicator group joins, and how it lies on the tiers of a cluster.

Ranks are numbered in mixed radix, the first axis of the order running fastest (Narayanan et al. 2021,
section 3). Attention and dense blocks see the grid tp x cp x dp x pp. Experts see expert_tp x ep x expert_dp
x pp over the same NPUs: expert_tp takes the place of tp, expert_dp that of dp, and cp has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.inputs.accelerators.cluster import Cluster
from dse.prediction.steps.checks import ORDERED, order_axes

if TYPE_CHECKING:
    import numpy as np

_OF_EXPERTS = {"tp": "expert_tp", "ep": "ep", "dp": "expert_dp", "pp": "pp"}


MOST_AT_SWITCH = 2
"""NPUs that a switch joins with a NIC; more reach it through the CPUs."""


@dataclass(frozen=True)
class Group:
    """The groups of an axis: `size` members each, `stride` ranks apart, over `ranks` ranks in all.

    Groups over two axes (`dp_cp`) may come in runs: `run` members `stride` apart, then the next run `jump`
    ranks after the start of the one before. A run of 0 is the whole group. `ranks` 0 is a single period.
    """

    size: int
    stride: int
    run: int = 0
    jump: int = 0
    ranks: int = 0

    @property
    def axes(self) -> tuple[tuple[int, int], ...]:
        """Size and stride of each progression, the inner one first."""
        if self.run in (0, self.size):
            return ((self.size, self.stride),)
        return (self.run, self.stride), (self.size // self.run, self.jump)

    @property
    def total(self) -> int:
        """Number of ranks that all groups of the axis have together."""
        return self.ranks or max(size * stride for size, stride in self.axes)

    def all_ranks(self) -> np.ndarray[Any, Any]:
        """The ranks of each group in a row, ascending: `total` ranks in all."""
        import numpy as np

        offsets = np.zeros(1, np.int64)
        firsts = np.arange(self.total)
        for size, stride in self.axes:
            offsets = (offsets[:, None] + stride * np.arange(size)).ravel()
            firsts = firsts[firsts // stride % size == 0]
        return firsts[:, None] + np.sort(offsets)


@dataclass(frozen=True)
class Span:
    """How the groups of an axis lie on one tier; where groups differ, the most of any (`fewest`: the least).

    `members` of a group lie in one unit of the tier (tier 0: in a node), `fewest` in the unit that has
    fewest of its group. A group touches `units` units. The tier joins `joins` units of the tier below
    (tier 0: NPUs) for a group: the size of its part of a hierarchical collective; 1 means that the tier has
    nothing to do. `senders` rings leave one unit below into the tier at the same time when all groups of the
    axis run (tier 0: one leaves an NPU); 0 if the tier has nothing to do.
    """

    members: int
    fewest: int
    units: int
    joins: int
    senders: int


def placement(order: str, degrees: Mapping[str, int]) -> dict[str, Group]:
    """Return the groups of every axis: tp, cp, dp, pp, dp_cp (gradients), ep, expert_tp and expert_dp.

    `order` lists the axes from the innermost, as in `tp-cp-ep-dp-pp`. `degrees` may leave out axes of
    degree 1; `expert_tp` is tp unless given.

    Raises:
        InputError: the order lacks an axis or has an unknown one, or the experts' grid does not fit: ep x
            expert_tp does not divide tp x cp x dp, or the order gives experts other pipeline stages.
    """
    names = order_axes(order)
    dense = {axis: degrees.get(axis, 1) for axis in ORDERED if axis != "ep"}
    ranks = math.prod(dense.values())
    groups = _grid([(axis, dense[axis]) for axis in names if axis != "ep"], ranks)
    groups["dp_cp"] = _joint(groups["cp"], groups["dp"], ranks)
    expert_tp = degrees.get("expert_tp") or dense["tp"]
    expert_ranks = expert_tp * degrees.get("ep", 1)
    stage = dense["tp"] * dense["cp"] * dense["dp"]
    if stage % expert_ranks:
        raise InputError(
            f"ep {degrees.get('ep', 1)} x expert_tp {expert_tp} is {expert_ranks}; it must divide "
            f"tp x cp x dp, {stage}"
        )
    of_experts = {"tp": expert_tp, "ep": degrees.get("ep", 1), "dp": stage // expert_ranks, "pp": dense["pp"]}
    experts = _grid([(_OF_EXPERTS[axis], of_experts[axis]) for axis in names if axis != "cp"], ranks)
    if expert_ranks > 1 and dense["pp"] > 1 and experts["pp"].stride != groups["pp"].stride:
        raise InputError(
            f"order {order} puts stages of experts on other NPUs than those of attention with these degrees; "
            "write pp last, as in tp-cp-ep-dp-pp"
        )
    return {**experts, **groups}


def span(group: Group, cluster: Cluster) -> tuple[Span, ...]:
    """How the groups lie on each tier of a cluster, whose NPUs the ranks fill from the first.

    In closed form where groups and units nest; otherwise the ranks are enumerated.
    """
    return _spans(group, tuple(tier.npus for tier in cluster.tiers))


def ring_bandwidth_gbps(group: Group, cluster: Cluster) -> float:
    """10^9 bytes per second and direction on the slowest link of a ring through a group, all groups at once.

    What the NPUs of a unit can send into a tier is divided among those that do (`Span.senders`): a group with
    all 8 NPUs of a node has their 8 NICs, 8 groups with one NPU each have one. Infinite for groups of one.
    """
    return min(ring_rates_gbps(group, cluster))


def ring_rates_gbps(group: Group, cluster: Cluster) -> tuple[float, ...]:
    """The same on the links of each tier; infinite where a tier has nothing to do."""
    rates = []
    below = 1
    for tier, part in zip(cluster.tiers, span(group, cluster), strict=True):
        rates.append(below * tier.bandwidth_gbps / part.senders if part.senders else math.inf)
        below = tier.npus
    return tuple(rates)


def far_rate_gbps(group: Group, cluster: Cluster) -> float | None:
    """The rate of the NICs of a ring's members in a node, if the ring leaves by one that is far; else None.

    A ring enters and leaves a node by one NIC. Where NPUs share NICs, a switch joins two of them and a NIC:
    all NPUs at a NIC are members, or the only member of a node, one of two at its NIC, receives and sends.
    Otherwise what leaves passes the CPUs of the node. Groups that lie differently count as near.
    """
    nics = cluster.nics
    if nics is None or nics.npus_each == 1:
        return None
    if all(rate == math.inf for rate in ring_rates_gbps(group, cluster)[nics.tier :]):
        return None
    at_nic, in_node = _spans(group, (nics.npus_each, cluster.npus_per_node))
    if at_nic.members != at_nic.fewest or in_node.members != in_node.fewest:
        return None
    if at_nic.members == nics.npus_each or (in_node.members == 1 and nics.npus_each <= MOST_AT_SWITCH):
        return None
    return in_node.members * nics.bandwidth_gbps


def _grid(axes: list[tuple[str, int]], ranks: int) -> dict[str, Group]:
    groups = {}
    stride = 1
    for name, degree in axes:
        groups[name] = Group(degree, stride, ranks=ranks)
        stride *= degree
    return groups


def _joint(one: Group, other: Group, ranks: int) -> Group:
    """The group over two axes; one progression where the outer continues the inner one."""
    inner, outer = sorted((one, other), key=lambda group: group.stride)
    if inner.size == 1 or outer.size == 1:
        only = outer if inner.size == 1 else inner
        return Group(only.size, only.stride, ranks=ranks)
    size = inner.size * outer.size
    if outer.stride == inner.size * inner.stride:
        return Group(size, inner.stride, ranks=ranks)
    return Group(size, inner.stride, run=inner.size, jump=outer.stride, ranks=ranks)


@lru_cache(maxsize=4096)
def _spans(group: Group, units: tuple[int, ...]) -> tuple[Span, ...]:
    inside = [_nested(group, unit) for unit in units]
    if any(count is None for count in inside):
        return _enumerated(group, units)
    counts = [count for count in inside if count is not None]
    spans = []
    for below, before, count in zip((1, *units), (1, *counts), counts, strict=False):
        joins = count // before
        spans.append(Span(count, count, group.size // count, joins, below // before if joins > 1 else 0))
    return tuple(spans)


def _nested(group: Group, unit: int) -> int | None:
    """Members of every group in a unit it touches, None if that differs among groups or units."""
    if group.total <= unit:
        return group.size
    members = 1
    for size, stride in group.axes:
        if unit % (size * stride) == 0:
            members *= size
        elif unit % stride == 0 and (size * stride) % unit == 0:
            members *= unit // stride
        elif size > 1 and stride % unit:
            return None
    return members


def _enumerated(group: Group, units: tuple[int, ...]) -> tuple[Span, ...]:
    import numpy as np

    ranks = group.all_ranks()
    after = np.roll(ranks, -1, axis=1)
    spans = []
    for below, unit in zip((1, *units), units, strict=False):
        begins = _begins(ranks // unit)  # a group is in a unit from here on
        starts = np.flatnonzero(begins)
        members = np.diff(starts, append=ranks.size)
        joins = np.add.reduceat(_begins(ranks // below).ravel(), starts, dtype=np.int64)
        hops = (ranks // unit == after // unit) & (ranks // below != after // below)
        senders = np.bincount((ranks // below)[hops], minlength=1)
        touched = begins.sum(axis=1)
        found = (members.max(), members.min(), touched.max(), joins.max(), senders.max())
        spans.append(Span(*map(int, found)))
    return tuple(spans)


def _begins(parts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where another value begins in each row."""
    import numpy as np

    begins = np.ones(parts.shape, bool)
    begins[:, 1:] = parts[:, 1:] != parts[:, :-1]
    return begins
