"""Simulators behind one small interface; the native engine is the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.lazy import lazily
from dse.simulators.settings import SimulatorSettings as SimulatorSettings
from dse.simulators.settings import make_simulator as make_simulator

if TYPE_CHECKING:
    from dse.simulators.astrasim import AstraSimSimulator as AstraSimSimulator
    from dse.simulators.base import BlockedNode as BlockedNode
    from dse.simulators.base import Outcome as Outcome
    from dse.simulators.base import RankMetrics as RankMetrics
    from dse.simulators.base import Simulator as Simulator
    from dse.simulators.native import NativeSimulator as NativeSimulator
    from dse.simulators.recording import NEVER as NEVER
    from dse.simulators.recording import RankRecording as RankRecording
    from dse.simulators.recording import RecordedGroup as RecordedGroup
    from dse.simulators.recording import RecordedNode as RecordedNode
    from dse.simulators.recording import RecordedTensor as RecordedTensor
    from dse.simulators.recording import Recording as Recording

__getattr__ = lazily(
    __name__,
    {
        "astrasim": "AstraSimSimulator",
        "base": "BlockedNode Outcome RankMetrics Simulator",
        "native": "NativeSimulator",
        "recording": "NEVER RankRecording RecordedGroup RecordedNode RecordedTensor Recording",
    },
)
