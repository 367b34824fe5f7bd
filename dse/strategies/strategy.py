"""One way to spread a training step over NPUs."""

from __future__ import annotations

from dataclasses import dataclass

STRATEGY_FIELDS = ("dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute")


@dataclass(frozen=True)
class Strategy:
    """Degrees of data, tensor, sequence and pipeline parallelism, and two switches.

    `weight_sharded` stores weights sharded over dp and sp (FSDP); `activation_recompute` computes some
    forward results again in the backward pass instead of keeping them. Nothing is checked here: a bad
    strategy is a row with a status, see `dse.strategies.check`.
    """

    dp: int = 1
    tp: int = 1
    sp: int = 1
    pp: int = 1
    weight_sharded: bool = False
    activation_recompute: bool = False

    @property
    def npus(self) -> int:
        """Number of NPUs that the strategy occupies."""
        return self.dp * self.tp * self.sp * self.pp

    def label(self) -> str:
        """Return a short name for tables and file names, such as "dp8 tp1 sp8 pp1 fsdp recompute"."""
        parts = [f"dp{self.dp}", f"tp{self.tp}", f"sp{self.sp}", f"pp{self.pp}"]
        if self.weight_sharded:
            parts.append("fsdp")
        if self.activation_recompute:
            parts.append("recompute")
        return " ".join(parts)
