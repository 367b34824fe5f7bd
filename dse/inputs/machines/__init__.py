"""Machines that describe themselves: documents of many formats, as graphs, systems and clusters."""

from dse.inputs.machines.given import Given as Given
from dse.inputs.machines.machine import Machine as Machine
from dse.inputs.machines.nccl_tests import CollectiveTimes as CollectiveTimes
from dse.inputs.machines.read import read_machine as read_machine
from dse.inputs.machines.slurm import HostTree as HostTree
