"""Recorded steps from PyTorch: execution traces with Kineto files, or traces of `mlc-chakra`."""

from dse.simulation.recorded.pytorch.reading import read_recorded as read_recorded
from dse.simulation.recorded.pytorch.sources import is_recorded as is_recorded
