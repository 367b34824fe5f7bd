"""Simulators behind one small interface; the native engine is the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.errors import InputError
from dse.simulators.astrasim import AstraSimSimulator
from dse.simulators.base import BlockedNode, Outcome, RankMetrics, Simulator
from dse.simulators.native import NativeSimulator
from dse.simulators.recording import (
    NEVER,
    RankRecording,
    RecordedGroup,
    RecordedNode,
    RecordedTensor,
    Recording,
)

if TYPE_CHECKING:
    from dse.config import SimulatorSettings

__all__ = [
    "NEVER",
    "AstraSimSimulator",
    "BlockedNode",
    "NativeSimulator",
    "Outcome",
    "RankMetrics",
    "RankRecording",
    "RecordedGroup",
    "RecordedNode",
    "RecordedTensor",
    "Recording",
    "Simulator",
    "make_simulator",
]


def make_simulator(settings: SimulatorSettings) -> Simulator:
    """Return the simulator that the configuration names.

    Raises:
        InputError: it needs a program and there is none.
    """
    if settings.name == "native":
        return NativeSimulator(settings.engine)
    if settings.binary is None:
        raise InputError(
            "simulator.binary is null; simulator=astrasim needs your ASTRA-sim program: simulator.binary=PATH"
        )
    return AstraSimSimulator(settings.binary, settings.timeout_s, settings.log_dir)
