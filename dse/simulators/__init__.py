"""Simulators behind one small interface; the native engine is the default."""

from dse.simulators.base import BlockedNode, Outcome, RankMetrics, Simulator
from dse.simulators.native import NativeSimulator

__all__ = ["BlockedNode", "NativeSimulator", "Outcome", "RankMetrics", "Simulator"]
