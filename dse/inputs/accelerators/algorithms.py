"""The algorithm of collectives for each kind of communicator group, as a cluster is configured."""

from __future__ import annotations

from dataclasses import dataclass, field

from dse.base.errors import InputError, did_you_mean
from dse.base.settings.schemas import stated

ALGORITHMS = ("auto", "ring", "tree", "hierarchical", "in_switch", "synthesized")
"""In the order of the engine's numbers (engine/src/prediction/inputs/cluster.hpp)."""

BY_TIERS = ALGORITHMS[3:]
"""The algorithms that go tier by tier."""

_KIND = {"tp": "tp", "expert_tp": "tp", "dp": "dp", "dp_cp": "dp", "expert_dp": "dp", "replicas": "dp"}


@dataclass(frozen=True)
class GroupAlgorithms:
    """Algorithms of tensor parallelism, and of gradients and sharded weights (`ALGORITHMS`).

    Exchanges of context and expert parallelism and messages between stages have one algorithm each.

    Raises:
        InputError: there is no such algorithm; names the key.
    """

    tp: str = field(
        default="auto",
        metadata=stated(
            "predicted [collectives](clusters.md#algorithms-of-collectives) of tensor parallelism: auto, "
            "ring, tree, hierarchical, in_switch, synthesized"
        ),
    )
    dp: str = field(default="auto", metadata=stated("the same of gradients and sharded weights"))

    def __post_init__(self) -> None:
        """Check both."""
        for name, value in (("tp", self.tp), ("dp", self.dp)):
            if value not in ALGORITHMS:
                allowed = ", ".join(ALGORITHMS)
                raise InputError(
                    f"system.group_algorithms.{name} is {value!r}; allowed are {allowed}"
                    + did_you_mean(str(value), ALGORITHMS)
                )

    @staticmethod
    def kind(axis: str) -> str | None:
        """The kind, `tp` or `dp`, of the groups of an axis; None for those without a choice."""
        return _KIND.get(axis)

    def of(self, axis: str) -> str:
        """The algorithm of the groups of an axis."""
        kind = self.kind(axis)
        return "auto" if kind is None else getattr(self, kind)


DEFAULT_ALGORITHMS = GroupAlgorithms()
"""The faster of ring and tree for all groups."""
