"""Machines that describe themselves: documents of many formats, as graphs, systems and clusters."""

from dse.inputs.machines.given import Given
from dse.inputs.machines.machine import Machine
from dse.inputs.machines.nccl_tests import CollectiveTimes
from dse.inputs.machines.read import read_machine
from dse.inputs.machines.slurm import HostTree

__all__ = ["CollectiveTimes", "Given", "HostTree", "Machine", "read_machine"]
