"""Time and memory of one design point, explained together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dse.answers.explain.breakdown import Breakdown, breakdown
from dse.answers.explain.memory import MemoryAtPeak, memory
from dse.prediction.steps.details import GroupCollective
from dse.simulation.simulators import Recording


@dataclass(frozen=True)
class Explanation:
    """The wall time of the rank that finishes last, and the memory of the rank with the largest peak.

    `memory` is None where memory is not tracked; `notes` say what a prediction rests on, `collectives` which
    algorithm its groups use, `range_ns` from when to when 80 % of such steps end.
    """

    label: str
    time: Breakdown
    memory: MemoryAtPeak | None
    notes: tuple[str, ...] = ()
    collectives: tuple[GroupCollective, ...] = ()
    range_ns: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data: label, wall_time_ns, breakdown, overlapped, memory."""
        return {
            "label": self.label,
            **self.time.to_json(),
            **dict(zip(("wall_time_low_ns", "wall_time_high_ns"), self.range_ns or (), strict=False)),
            "memory": None if self.memory is None else self.memory.to_json(),
            **({"collectives": [asdict(one) for one in self.collectives]} if self.collectives else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def explain(recording: Recording, label: str = "") -> Explanation:
    """Explain a recording that has the decisive ranks; `label` names the point, such as its strategy.

    Raises:
        InputError: ranks deadlock, or the decisive ranks were not recorded.
    """
    time = breakdown(recording)
    metrics = recording.last_rank().metrics
    tracked = metrics is not None and metrics.peak_memory_bytes is not None
    return Explanation(label, time, memory(recording) if tracked else None)
