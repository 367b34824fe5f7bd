"""One way to spread a training step over NPUs: its axes are declared here, once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter

from dse.strategies.axes import axes_of, degree, flag


@dataclass(frozen=True)
class StrategyFields:
    """The axes of a strategy, in the order of labels, tables and ties; a row of a study has them too.

    The product of the degrees is the number of NPUs. Everything else is derived from a field's metadata:
    columns, labels, headings, keys of the configuration, spaces, rankings, reports.
    """

    dp: int = degree("degree of data parallelism")
    tp: int = degree("degree of tensor parallelism")
    sp: int = degree("degree of sequence parallelism")
    pp: int = degree("degree of pipeline parallelism", has_groups=False)
    weight_sharded: bool = flag("fsdp", "weights are stored sharded over dp and sp (FSDP)")
    activation_recompute: bool = flag(
        "recompute", "activations are recomputed in the backward pass", heading=("act.", "recomp.")
    )

    def label(self) -> str:
        """Return a short name for tables and file names, such as "dp8 tp1 sp8 pp1 fsdp recompute"."""
        words = [axis.in_label(getattr(self, axis.name)) for axis in AXES]
        return " ".join([word for word in words if word])


AXES = axes_of(StrategyFields)
STRATEGY_FIELDS = tuple([axis.name for axis in AXES])
DEGREES = tuple([axis.name for axis in AXES if axis.is_degree])
FLAGS = tuple([axis.name for axis in AXES if not axis.is_degree])
GROUPED = tuple([axis.name for axis in AXES if axis.has_groups])
"""The degrees along which ranks form communicator groups."""

strategy_values = attrgetter(*STRATEGY_FIELDS)
"""The values of all axes of a strategy or a row, as a tuple."""

_degrees = attrgetter(*DEGREES)


@dataclass(frozen=True)
class Strategy(StrategyFields):
    """Nothing is checked here: a bad strategy is a row with a status, see `dse.strategies.check`."""

    @property
    def npus(self) -> int:
        """Number of NPUs that the strategy occupies."""
        return math.prod(_degrees(self))
