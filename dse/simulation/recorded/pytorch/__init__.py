"""Recorded steps from PyTorch: execution traces with Kineto files, or traces of `mlc-chakra`."""

from dse.simulation.recorded.pytorch.reading import read_recorded
from dse.simulation.recorded.pytorch.sources import is_recorded

__all__ = ["is_recorded", "read_recorded"]
