"""The answer of `dse point` about a predicted step, as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.answers.explain.predicted_point import predicted_data, predicted_text
from dse.base.displays import Displayed
from dse.base.lazy import pd
from dse.studies.points import DesignPoint


def predicted_step(point: DesignPoint) -> PredictedStep:
    """Predict the step of a point whose system is a cluster, under model.fidelity=realistic.

    Raises:
        InfeasibleStrategy: the strategy cannot run.
        InputError: a setting has no effect on predictions.
    """
    return PredictedStep(point, predicted_data(point))


@dataclass(frozen=True, repr=False, eq=False)
class PredictedStep(Displayed):
    """The predicted time and memory of a training step; times are in ns, sizes in bytes."""

    point: DesignPoint
    _data: Mapping[str, Any]

    @property
    def wall_time_ns(self) -> int:
        """The time of a step."""
        return int(self._data["wall_time_ns"])

    @property
    def parts_ns(self) -> dict[str, int]:
        """Where the time goes; the parts sum to `wall_time_ns`."""
        return {entry["part"]: entry["ns"] for entry in self._data["breakdown"]}

    @property
    def peak_memory_bytes(self) -> int:
        """The most that an NPU of the fullest stage holds."""
        return int(self._data["peak_memory_bytes"])

    @property
    def memory_verdict(self) -> str:
        """Whether that fits into the memory of an NPU: fits, may fit (within the error), or does not fit."""
        return str(self._data["memory_verdict"])

    @property
    def memory_bytes(self) -> dict[str, int]:
        """The peak memory by category; the categories sum to it."""
        return {entry["category"]: entry["bytes"] for entry in self._data["memory"]["categories"]}

    @property
    def tokens_per_s(self) -> float:
        """Tokens that all NPUs train on in a second."""
        return float(self._data["tokens_per_s"])

    @property
    def mfu_pct(self) -> float:
        """Operations of the model as a share of what all NPUs can do in 16 bit."""
        return float(self._data["mfu_pct"])

    @property
    def notes(self) -> tuple[str, ...]:
        """How far the prediction can be believed."""
        return tuple(self._data["notes"])

    def data(self) -> dict[str, Any]:
        """Return the prediction as plain data."""
        return dict(self._data)

    def text(self) -> str:
        """Return the prediction as `dse point` prints it."""
        return predicted_text(self.point, self.data())

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per part of the time: part, time_ns, share_pct."""
        rows = [(part, ns, 100 * ns / self.wall_time_ns) for part, ns in self.parts_ns.items()]
        parts: pd.DataFrame = pd.DataFrame(rows, columns=["part", "time_ns", "share_pct"])
        return parts
