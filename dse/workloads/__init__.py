"""Workloads: generated for a model and a strategy, or read from execution traces; export of both files."""

from dse.workloads.generate import GeneratedWorkload, generate
from dse.workloads.traces import TraceCounts, Workload, read_groups, read_workload, workload_of

__all__ = [
    "GeneratedWorkload",
    "TraceCounts",
    "Workload",
    "generate",
    "read_groups",
    "read_workload",
    "workload_of",
]
