"""The exchange of tokens that sends each once to every NPU, and every node, that has one of its experts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import MixtureOfExperts
from tests.references.prediction.placement import Group, span
from tests.references.prediction.routing import mean_reached
from tests.references.prediction.tier_shares import own_rates

_NEAR_SHARE = 0.47
"""Links inside a unit reach this share of their line rate in steps. Kernels alone reach .4 to .85 on H100,
and .5 to .6 between 4 to 64 GB200."""

_START_S = 30e-6
"""One way takes this long with few tokens: kernels of DeepEP measured 26 to 59 us."""


@dataclass(frozen=True)
class Dispatcher:
    """The links that tokens take: `ranks` NPUs of which `near` share a unit of fast links.

    `near_rate` and `far_rate` are bytes per second of one NPU inside its unit and out of it.
    """

    ranks: int
    near: int
    near_rate: float
    far_rate: float
    latency_s: float

    @classmethod
    def of(cls, group: Group, cluster: Cluster) -> Dispatcher:
        """Return that of the NPUs that a token may go to."""
        spans = span(group, cluster)
        rates = zip(spans[1:], own_rates(cluster), strict=True)
        used = [tier for tier, one in zip(cluster.tiers, spans, strict=True) if one.senders]
        return cls(
            ranks=group.size,
            near=max(1, spans[0].members),
            near_rate=cluster.tiers[0].bandwidth_gbps * 1e9 * _NEAR_SHARE,
            far_rate=min((rate for one, rate in rates if one.joins > 1), default=math.inf),
            latency_s=max((tier.latency_us for tier in used), default=0.0) * 1e-6,
        )

    def one_way_s(self, size_bytes: float, experts: MixtureOfExperts) -> float:
        """Return the time to send the tokens of an NPU, `size_bytes` in all, to their experts, or back.

        A token crosses the network once to each other unit that has one of its experts; inside a unit it is
        handed to each NPU that has one. Both go on at the same time.
        """
        if self.ranks == 1:
            return 0.0
        units = self.ranks / self.near
        reached = mean_reached(experts, self.ranks)
        elsewhere = 1 - 1 / units
        handed = reached * ((self.near - 1) / self.ranks + elsewhere * (self.near - 1) / self.near)
        far_s = 0.0
        if units > 1:
            count = mean_reached(experts, units)
            far_s = count * elsewhere * size_bytes / self.far_rate
        return _START_S + self.latency_s + max(handed * size_bytes / self.near_rate, far_s)
