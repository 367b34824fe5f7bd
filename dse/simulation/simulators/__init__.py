"""Simulators behind one small interface; the native engine is the default."""

from typing import TYPE_CHECKING

from dse.base.lazy import lazily
from dse.simulation.simulators.settings import SimulatorSettings as SimulatorSettings
from dse.simulation.simulators.settings import make_simulator as make_simulator

if TYPE_CHECKING:
    from dse.simulation.simulators.astrasim import AstraSimSimulator as AstraSimSimulator
    from dse.simulation.simulators.base import BlockedNode as BlockedNode
    from dse.simulation.simulators.base import Outcome as Outcome
    from dse.simulation.simulators.base import RankMetrics as RankMetrics
    from dse.simulation.simulators.base import Simulator as Simulator
    from dse.simulation.simulators.native import NativeSimulator as NativeSimulator
    from dse.simulation.simulators.recording import NEVER as NEVER
    from dse.simulation.simulators.recording import RankRecording as RankRecording
    from dse.simulation.simulators.recording import RecordedGroup as RecordedGroup
    from dse.simulation.simulators.recording import RecordedNode as RecordedNode
    from dse.simulation.simulators.recording import RecordedTensor as RecordedTensor
    from dse.simulation.simulators.recording import Recording as Recording

__getattr__ = lazily(
    __name__,
    {
        "astrasim": "AstraSimSimulator",
        "base": "BlockedNode Outcome RankMetrics Simulator",
        "native": "NativeSimulator",
        "recording": "NEVER RankRecording RecordedGroup RecordedNode RecordedTensor Recording",
    },
)
