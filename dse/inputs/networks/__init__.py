"""Graphs of directed links between NPUs and switches, which systems, synthesis and partitions share."""

from dse.inputs.networks.graph import LinkGraph as LinkGraph
from dse.inputs.networks.graph import LinkKind as LinkKind
