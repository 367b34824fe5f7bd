"""A training system: NPUs, network, collective algorithms; ASTRA-sim's configuration files in and out."""

from dse.inputs.systems.astrasim import read_system as read_system
from dse.inputs.systems.astrasim import write_system as write_system
from dse.inputs.systems.fields import OVER_ALL_NPUS as OVER_ALL_NPUS
from dse.inputs.systems.fields import PER_DIMENSION as PER_DIMENSION
from dse.inputs.systems.fields import CollectiveAlgorithms as CollectiveAlgorithms
from dse.inputs.systems.fields import CustomCollectives as CustomCollectives
from dse.inputs.systems.fields import Derating as Derating
from dse.inputs.systems.fields import Dimension as Dimension
from dse.inputs.systems.fields import LinkFault as LinkFault
from dse.inputs.systems.fields import NpuType as NpuType
from dse.inputs.systems.fields import RemoteMemory as RemoteMemory
from dse.inputs.systems.fields import algorithm_of as algorithm_of
from dse.inputs.systems.fields import is_synthesized as is_synthesized
from dse.inputs.systems.graph import read_graph as read_graph
from dse.inputs.systems.graph import read_routes as read_routes
from dse.inputs.systems.spec import SystemSpec as SystemSpec
from dse.inputs.systems.validation import InvalidSystem as InvalidSystem
